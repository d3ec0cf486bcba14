import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { describe, expect, it } from 'vitest';
import { Environment, readConfig } from '../../src/config.ts';

const text = readFileSync('.env.example', 'utf8');
const given = parseEnv(text);

describe('.env.example', () => {
  it('names exactly the variables that the service reads', () => {
    expect(Object.keys(given).sort()).toEqual(Object.keys(Environment.shape).sort());
  });

  it('is usable unchanged and shows the defaults', () => {
    expect(readConfig(given)).toEqual(readConfig({}));
  });

  it('explains every variable', () => {
    const blocks = text.split(/\n\s*\n/).filter((block) => /^[A-Z_]+=/m.test(block));
    for (const block of blocks) expect(block.trimStart()).toMatch(/^#/);
  });
});
