import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createKeyring, DecryptionError } from '../../src/core/secrets/keyring.ts';

const newKey = (id: string) => ({ id, bytes: randomBytes(32) });

describe('createKeyring', () => {
  it('decrypts what it encrypted, also after a new key was put first', () => {
    const [old, current] = [newKey('old'), newKey('new')];
    const box = createKeyring([old]).encrypt('a secret', 'org/purpose');
    expect(box).not.toContain('secret');
    const rotated = createKeyring([current, old]);
    expect(rotated.decrypt(box, 'org/purpose')).toBe('a secret');
    expect(rotated.encrypt('x', 'y')).toMatch(/^new\./);
    expect(rotated.encrypt('x', 'y')).not.toBe(rotated.encrypt('x', 'y'));
  });

  it('decrypts nothing with another key or binding, or after a change', () => {
    const keyring = createKeyring([newKey('k')]);
    const box = keyring.encrypt('a secret', 'org/purpose');
    const [id, iv, tag, text] = box.split('.');
    const shortTag = `${id}.${iv}.${tag?.slice(0, 6)}.${text}`;
    const changed = [box.replace('k.', 'other.'), `${id}.${iv}.${tag}.AAAA`, `${id}.${iv}..${text}`];
    for (const wrong of [...changed, shortTag, `${id}`, '', 'k....'])
      expect(() => keyring.decrypt(wrong, 'org/purpose'), wrong).toThrow(DecryptionError);
    expect(() => keyring.decrypt(box, 'other/purpose')).toThrow(DecryptionError);
    expect(() => createKeyring([newKey('k')]).decrypt(box, 'org/purpose')).toThrow(DecryptionError);
  });
});
