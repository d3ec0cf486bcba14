// The key pair and the self-signed certificate of a service that signs in to the account.
import 'reflect-metadata'; // @peculiar/x509 needs it
import { X509CertificateGenerator } from '@peculiar/x509';

export type KeyType = 'ec-p256' | 'rsa-3072';
export type TestCertificate = { certificatePem: string; privateKeyPem: string };

const ALGORITHMS = {
  'ec-p256': { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' },
  'rsa-3072': {
    name: 'RSASSA-PKCS1-v1_5',
    modulusLength: 3072,
    publicExponent: new Uint8Array([1, 0, 1]),
    hash: 'SHA-256',
  },
};

/** Valid from `now` for `days`. */
export async function createCertificate(options: {
  days: number;
  keyType: KeyType;
  now: Date;
}): Promise<TestCertificate> {
  const algorithm = ALGORITHMS[options.keyType];
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: 'CN=Portal Service',
    notBefore: options.now,
    notAfter: new Date(options.now.getTime() + options.days * 86_400_000),
    signingAlgorithm: algorithm,
    keys,
  });
  const pkcs8 = Buffer.from(await crypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64');
  const privateKeyPem = `-----BEGIN PRIVATE KEY-----\n${pkcs8.replaceAll(/.{64}(?=.)/g, '$&\n')}\n-----END PRIVATE KEY-----\n`;
  return { certificatePem: certificate.toString('pem'), privateKeyPem };
}
