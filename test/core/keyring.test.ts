import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { openKeyring, UnreadableBox } from '../../src/core/keyring.ts';

const newKey = (id: string) => ({ id, bytes: randomBytes(32) });

describe('openKeyring', () => {
  it('opens what it closed, also after a new key was put in front', () => {
    const [old, current] = [newKey('old'), newKey('new')];
    const box = openKeyring([old]).seal('a secret', 'org/purpose');
    expect(box).not.toContain('secret');
    const rotated = openKeyring([current, old]);
    expect(rotated.open(box, 'org/purpose')).toBe('a secret');
    expect(rotated.seal('x', 'y')).toMatch(/^new\./);
    expect(rotated.seal('x', 'y')).not.toBe(rotated.seal('x', 'y'));
  });

  it('opens nothing under another key, for another purpose, or changed', () => {
    const keyring = openKeyring([newKey('k')]);
    const box = keyring.seal('a secret', 'org/purpose');
    const [id, iv, tag, text] = box.split('.');
    const changed = [box.replace('k.', 'other.'), `${id}.${iv}.${tag}.AAAA`, `${id}.${iv}..${text}`, `${id}`, '', 'k....'];
    for (const wrong of changed) expect(() => keyring.open(wrong, 'org/purpose'), wrong).toThrow(UnreadableBox);
    expect(() => keyring.open(box, 'other/purpose')).toThrow(UnreadableBox);
    expect(() => openKeyring([newKey('k')]).open(box, 'org/purpose')).toThrow(UnreadableBox);
    expect(() => keyring.open(`${id}.${iv}.${tag?.slice(0, 6)}.${text}`, 'org/purpose')).toThrow(UnreadableBox);
  });
});
