import { createPrivateKey, createPublicKey, sign, verify, X509Certificate } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createCertificate } from '../../src/core/secrets/certificate.ts';

const now = new Date('2026-11-20T10:00:00.400Z');

describe('createCertificate', () => {
  it.each([
    ['ec-p256', { namedCurve: 'prime256v1' }],
    ['rsa-3072', { modulusLength: 3072 }],
  ] as const)('signs its own %s certificate, and the private key belongs to it', (keyType, details) => {
    const made = createCertificate({ commonName: 'Portal Service', days: 700, keyType, now });
    const certificate = new X509Certificate(made.certificatePem);
    const { subject, issuer, ca, publicKey } = certificate;
    expect([subject, issuer, ca]).toEqual(['CN=Portal Service', 'CN=Portal Service', false]);
    expect(certificate.verify(publicKey)).toBe(true);
    expect(certificate.checkPrivateKey(createPrivateKey(made.privateKeyPem))).toBe(true);
    expect(publicKey.asymmetricKeyDetails).toMatchObject(details);
    const signature = sign('sha256', Buffer.from('text'), made.privateKeyPem);
    expect(verify('sha256', Buffer.from('text'), createPublicKey(made.certificatePem), signature)).toBe(true);
  });

  it('is valid from now, in whole seconds, for the requested time', () => {
    const made = createCertificate({ commonName: 'Portal', days: 30, keyType: 'ec-p256', now });
    const certificate = new X509Certificate(made.certificatePem);
    expect(new Date(certificate.validFrom)).toEqual(new Date('2026-11-20T10:00:00Z'));
    expect(new Date(certificate.validTo)).toEqual(made.notAfter);
    expect(made.notAfter).toEqual(new Date('2026-12-20T10:00:00Z'));
  });

  it('writes years after 2049 with four digits', () => {
    const late = { days: 3, now: new Date('2049-12-30T00:00:00Z') };
    const made = createCertificate({ commonName: 'Portal', keyType: 'ec-p256', ...late });
    expect(new Date(new X509Certificate(made.certificatePem).validTo)).toEqual(new Date('2050-01-02'));
  });

  it('gives every certificate a unique serial number and accepts any characters in the name', () => {
    const given = { commonName: 'Bücher & Söhne, 東京', days: 1, keyType: 'ec-p256', now } as const;
    const made = Array.from({ length: 8 }, () => createCertificate(given));
    const numbers = made.map(({ certificatePem }) => new X509Certificate(certificatePem).serialNumber);
    expect(new Set(numbers).size).toBe(8);
    expect(numbers.every((number) => number.length === 32)).toBe(true);
  });

  it('throws RangeError for an invalid common name or duration', () => {
    for (const [commonName, days] of [
      ['', 1],
      ['x'.repeat(65), 1],
      ['x', 0],
    ] as const)
      expect(() => createCertificate({ commonName, days, keyType: 'ec-p256', now })).toThrow(RangeError);
  });
});
