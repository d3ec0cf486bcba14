// Encryption at rest: AES-256-GCM under a key from the environment. Each box names the key that closed it, so that a new
// key can be put in front while old boxes still open. The associated text binds a box to its row and purpose.
import { createCipheriv, createDecipheriv, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

export type Keyring = {
  /** The key that closes, and after it those that only open. */
  readonly keyIds: readonly [string, ...string[]];
  /** For each of them a number that tells it from others, also of the same id, and says nothing of its bytes: 32 bits with a sign, not 0. */
  readonly marks: readonly [number, ...number[]];
  /** Boxes are `<key id>.<iv>.<tag>.<cipher text>`, base64url. */
  seal(plain: string, bindTo: string): string;
  /** Throws UnreadableBox when the key is unknown, the box was changed, or it was sealed for something else. */
  open(box: string, bindTo: string): string;
  /** Signs a text that anyone may read: `<text>.<signature>`, base64url, the same for the same text under the same key. */
  sign(plain: string, bindTo: string): string;
  /** The text that was signed; undefined when it was changed, or signed for something else or under an unknown key. */
  verify(signed: string, bindTo: string): string | undefined;
};

export class UnreadableBox extends Error {
  override readonly name = 'UnreadableBox';
}

/** The id of the key that closed the box. */
export const keyIdOf = (box: string): string => box.slice(0, box.indexOf('.'));

export type EncryptionKey = { readonly id: string; readonly bytes: Buffer };

export function openKeyring(keys: readonly [EncryptionKey, ...EncryptionKey[]]): Keyring {
  const [current] = keys;
  // Never the encryption key itself: one key, one purpose.
  const signingKeys = keys.map(({ bytes }) => createHmac('sha256', bytes).update('sign').digest());
  const signature = (key: Buffer, plain: string, bindTo: string): Buffer =>
    createHmac('sha256', key)
      .update(JSON.stringify([bindTo, plain]))
      .digest()
      .subarray(0, 16);
  const markOf = ({ id, bytes }: EncryptionKey): number =>
    createHmac('sha256', bytes)
      .update(JSON.stringify(['mark', id]))
      .digest()
      .readInt32BE() || 1;
  const [, ...former] = keys;
  return {
    keyIds: [current.id, ...former.map(({ id }) => id)],
    marks: [markOf(current), ...former.map(markOf)],
    sign(plain, bindTo) {
      const [key = Buffer.alloc(0)] = signingKeys;
      return [Buffer.from(plain), signature(key, plain, bindTo)].map((part) => part.toString('base64url')).join('.');
    },
    verify(signed, bindTo) {
      const [text = '', given = ''] = signed.split('.');
      const plain = Buffer.from(text, 'base64url').toString();
      for (const key of signingKeys) {
        const made = signature(key, plain, bindTo);
        // Compared as they are written, so that one signature has one spelling.
        const spelled = [Buffer.from(plain), made].map((part) => part.toString('base64url')).join('.');
        const held = Buffer.from(given, 'base64url');
        if (held.length === made.length && timingSafeEqual(held, made) && spelled === signed) return plain;
      }
      return undefined;
    },
    seal(plain, bindTo) {
      const iv = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', current.bytes, iv).setAAD(Buffer.from(bindTo));
      const text = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
      return [current.id, ...[iv, cipher.getAuthTag(), text].map((part) => part.toString('base64url'))].join('.');
    },
    open(box, bindTo) {
      const [id = '', iv = '', tag = '', text = ''] = box.split('.');
      const key = keys.find((candidate) => candidate.id === id);
      if (key === undefined) throw new UnreadableBox(`no encryption key named ${id}`);
      try {
        const decipher = createDecipheriv('aes-256-gcm', key.bytes, Buffer.from(iv, 'base64url'), { authTagLength: 16 })
          .setAAD(Buffer.from(bindTo))
          .setAuthTag(Buffer.from(tag, 'base64url'));
        return Buffer.concat([decipher.update(Buffer.from(text, 'base64url')), decipher.final()]).toString('utf8');
      } catch (error) {
        throw new UnreadableBox(`the encryption key ${id} does not open it`, { cause: error });
      }
    },
  };
}
