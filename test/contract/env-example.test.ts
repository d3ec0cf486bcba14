import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { describe, expect, it } from 'vitest';
import { environmentExample, readConfig } from '../../src/config.ts';

const text = readFileSync('.env.example', 'utf8');

describe('.env.example', () => {
  it('is what the settings declare; refresh it with: npm run generate', () => {
    expect(text).toBe(environmentExample());
  });

  it('is usable unchanged and shows the defaults', () => {
    expect(readConfig(parseEnv(text))).toEqual(readConfig({}));
  });

  it('explains every variable', () => {
    const blocks = text.split(/\n\s*\n/).filter((block) => /^[A-Z_]+=/m.test(block));
    for (const block of blocks) expect(block.trimStart()).toMatch(/^#/);
  });
});
