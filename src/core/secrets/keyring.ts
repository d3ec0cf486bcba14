// Encryption at rest: AES-256-GCM with keys from the environment. Each ciphertext names its key, so that a
// new key can be put first while values under the old keys can still be decrypted. The associated data binds
// a ciphertext to its row and purpose.
import { createCipheriv, createDecipheriv, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

export type Keyring = {
  /** The key that encrypts, followed by the former keys, which only decrypt. */
  readonly keyIds: readonly [string, ...string[]];
  /**
   * One per key, in the same order: a signed 32-bit number other than 0, derived from id and bytes. It
   * distinguishes keys, also those with the same id, and reveals nothing of their bytes.
   */
  readonly fingerprints: readonly [number, ...number[]];
  /** Returns `<key id>.<iv>.<tag>.<cipher text>`, the last three in base64url. */
  encrypt(plain: string, bindTo: string): string;
  /** Throws DecryptionError for an unknown key, a changed ciphertext, or another `bindTo`. */
  decrypt(ciphertext: string, bindTo: string): string;
  /** Signs a text without hiding it: `<text>.<signature>`, both base64url; deterministic per text and key. */
  sign(plain: string, bindTo: string): string;
  /** The signed text; undefined when it was changed, or signed with another `bindTo` or an unknown key. */
  verify(signed: string, bindTo: string): string | undefined;
};

export class DecryptionError extends Error {
  override readonly name = 'DecryptionError';
}

/** The id of the key that encrypted the value. */
export const parseKeyId = (ciphertext: string): string => ciphertext.slice(0, ciphertext.indexOf('.'));

export type EncryptionKey = { readonly id: string; readonly bytes: Buffer };

type Keys = readonly [EncryptionKey, ...EncryptionKey[]];

const computeFingerprint = ({ id, bytes }: EncryptionKey): number =>
  createHmac('sha256', bytes)
    .update(JSON.stringify(['mark', id]))
    .digest()
    .readInt32BE() || 1;

const signature = (key: Buffer, plain: string, bindTo: string): Buffer =>
  createHmac('sha256', key)
    .update(JSON.stringify([bindTo, plain]))
    .digest()
    .subarray(0, 16);

function createSigner(keys: Keys): Pick<Keyring, 'sign' | 'verify'> {
  // Derived keys, never the encryption keys themselves: one key, one purpose.
  const signingKeys = keys.map(({ bytes }) => createHmac('sha256', bytes).update('sign').digest());
  return {
    sign(plain, bindTo) {
      const [key = Buffer.alloc(0)] = signingKeys;
      return [Buffer.from(plain), signature(key, plain, bindTo)]
        .map((part) => part.toString('base64url'))
        .join('.');
    },
    verify(signed, bindTo) {
      const [text = '', given = ''] = signed.split('.');
      const plain = Buffer.from(text, 'base64url').toString();
      for (const key of signingKeys) {
        const expected = signature(key, plain, bindTo);
        // The encoded texts are compared too, because base64url decodes several spellings to the same bytes.
        const canonical = [Buffer.from(plain), expected].map((part) => part.toString('base64url')).join('.');
        const received = Buffer.from(given, 'base64url');
        if (
          received.length === expected.length &&
          timingSafeEqual(received, expected) &&
          canonical === signed
        )
          return plain;
      }
      return undefined;
    },
  };
}

/** The first key encrypts and signs. `decrypt` throws DecryptionError when a value can't be decrypted. */
export function createKeyring(keys: Keys): Keyring {
  const [current, ...former] = keys;
  return {
    keyIds: [current.id, ...former.map(({ id }) => id)],
    fingerprints: [computeFingerprint(current), ...former.map(computeFingerprint)],
    ...createSigner(keys),
    encrypt(plain, bindTo) {
      const iv = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', current.bytes, iv).setAAD(Buffer.from(bindTo));
      const text = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
      return [current.id, ...[iv, cipher.getAuthTag(), text].map((part) => part.toString('base64url'))].join(
        '.',
      );
    },
    decrypt(ciphertext, bindTo) {
      const [id = '', iv = '', tag = '', text = ''] = ciphertext.split('.');
      const key = keys.find((candidate) => candidate.id === id);
      if (key === undefined) throw new DecryptionError(`There is no encryption key with the id ${id}`);
      try {
        const decipher = createDecipheriv('aes-256-gcm', key.bytes, Buffer.from(iv, 'base64url'), {
          authTagLength: 16,
        })
          .setAAD(Buffer.from(bindTo))
          .setAuthTag(Buffer.from(tag, 'base64url'));
        return Buffer.concat([decipher.update(Buffer.from(text, 'base64url')), decipher.final()]).toString(
          'utf8',
        );
      } catch (error) {
        throw new DecryptionError(`The value can't be decrypted with the encryption key ${id}`, {
          cause: error,
        });
      }
    },
  };
}
