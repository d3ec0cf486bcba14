import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { decisionsIndex } from '../../scripts/decisions-index.ts';

describe('docs/decisions/README.md', () => {
  it('lists every decision; refresh it with: npm run generate', () => {
    expect(readFileSync('docs/decisions/README.md', 'utf8')).toBe(decisionsIndex());
  });
});
