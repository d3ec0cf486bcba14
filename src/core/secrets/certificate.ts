// Creates a key pair and a self-signed X.509 v3 certificate for it, as an ERP requires for certificate-based
// authentication. DER is encoded by hand here because node:crypto reads certificates but can't create one.
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

export type CertificateOptions = {
  commonName: string;
  days: number;
  keyType: 'ec-p256' | 'rsa-3072';
  now: Date;
};
export type Certificate = { certificatePem: string; privateKeyPem: string; notAfter: Date };

const TAG = {
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  utf8: 0x0c,
  utcTime: 0x17,
  time: 0x18,
  sequence: 0x30,
  set: 0x31,
};
const OID = {
  ecdsaWithSha256: '2a8648ce3d040302',
  rsaWithSha256: '2a864886f70d01010b',
  commonName: '550403',
  subjectKeyId: '551d0e',
  keyUsage: '551d0f',
  basicConstraints: '551d13',
};
const DAY_MS = 86_400_000;
const MAX_COMMON_NAME_LENGTH = 64; // ub-common-name of RFC 5280

/**
 * Creates a self-signed certificate for digital signatures only, valid from `now` for `days`. Throws
 * RangeError when the common name is empty or longer than 64 characters, or `days` isn't positive.
 */
export function createCertificate(options: CertificateOptions): Certificate {
  if (options.commonName.length < 1 || options.commonName.length > MAX_COMMON_NAME_LENGTH)
    throw new RangeError('The common name must have 1 to 64 characters.');
  if (!(options.days > 0)) throw new RangeError('A certificate must be valid for more than 0 days.');
  const notBefore = new Date(Math.floor(options.now.getTime() / 1000) * 1000);
  const notAfter = new Date(notBefore.getTime() + options.days * DAY_MS);
  const { publicKey, privateKey } =
    options.keyType === 'rsa-3072'
      ? generateKeyPairSync('rsa', { modulusLength: 3072 })
      : generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const algorithm =
    options.keyType === 'rsa-3072'
      ? sequence(der(TAG.oid, hex(OID.rsaWithSha256)), der(TAG.null))
      : sequence(der(TAG.oid, hex(OID.ecdsaWithSha256)));
  const toSign = certificateToSign(options.commonName, notBefore, notAfter, publicKey, algorithm);
  // node:crypto returns ECDSA signatures in DER form, which is what a certificate holds.
  const certificate = sequence(toSign, algorithm, bitString(sign('sha256', toSign, privateKey)));
  return {
    certificatePem: pem('CERTIFICATE', certificate),
    privateKeyPem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    notAfter,
  };
}

function certificateToSign(
  commonName: string,
  notBefore: Date,
  notAfter: Date,
  publicKey: KeyObject,
  algorithm: Buffer,
): Buffer {
  const publicKeyInfo = publicKey.export({ type: 'spki', format: 'der' });
  const keyId = createHash('sha1').update(publicKeyInfo).digest();
  const name = sequence(
    der(TAG.set, sequence(der(TAG.oid, hex(OID.commonName)), der(TAG.utf8, Buffer.from(commonName)))),
  );
  const version3 = explicit(0, der(TAG.integer, Buffer.from([2])));
  return sequence(
    version3,
    serialNumber(),
    algorithm,
    name,
    sequence(time(notBefore), time(notAfter)),
    name,
    publicKeyInfo,
    explicit(
      3,
      sequence(
        extension(OID.basicConstraints, true, sequence()),
        extension(OID.keyUsage, true, der(TAG.bitString, Buffer.from([7, 0x80]))), // digitalSignature only
        extension(OID.subjectKeyId, false, der(TAG.octetString, keyId)),
      ),
    ),
  );
}

/**
 * 16 random bytes. The first bit is cleared so that the number is positive, the second is set so that DER
 * drops no leading byte.
 */
function serialNumber(): Buffer {
  const bytes = randomBytes(16);
  bytes.writeUInt8((bytes.readUInt8(0) & 0x7f) | 0x40, 0);
  return der(TAG.integer, bytes);
}

function extension(oid: string, critical: boolean, value: Buffer): Buffer {
  const isCritical = critical ? [Buffer.from([0x01, 0x01, 0xff])] : [];
  return sequence(der(TAG.oid, hex(oid)), ...isCritical, der(TAG.octetString, value));
}

/** RFC 5280 requires two-digit years (UTCTime) through 2049, four-digit ones (GeneralizedTime) from 2050. */
function time(at: Date): Buffer {
  const digits = `${at.toISOString().slice(0, 19).replace(/[-T:]/g, '')}Z`;
  return at.getUTCFullYear() < 2050
    ? der(TAG.utcTime, Buffer.from(digits.slice(2)))
    : der(TAG.time, Buffer.from(digits));
}

function der(tag: number, ...content: Buffer[]): Buffer {
  const body = Buffer.concat(content);
  if (body.length < 0x80) return Buffer.concat([Buffer.from([tag, body.length]), body]);
  const digits = body.length.toString(16);
  const length = hex(digits.length % 2 ? `0${digits}` : digits);
  return Buffer.concat([Buffer.from([tag, 0x80 | length.length]), length, body]);
}

const sequence = (...content: Buffer[]): Buffer => der(TAG.sequence, ...content);
const explicit = (number: number, content: Buffer): Buffer => der(0xa0 | number, content);
const bitString = (content: Buffer): Buffer => der(TAG.bitString, Buffer.from([0]), content);
const hex = (digits: string): Buffer => Buffer.from(digits, 'hex');

function pem(label: string, content: Buffer): string {
  const lines = content.toString('base64').match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ''].join('\n');
}
