// What mutants and switched-off checks replace is still there, so that none is ever played unchanged.
import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { platformSwitchOffs } from '../access/platform-switch-offs.ts';
import { switchOffs } from '../access/switch-offs.ts';
import { mutants } from '../chaos/mutants/catalog.ts';
import { replaceFunction } from '../setup/replace-function.ts';

it.each([...mutants, ...switchOffs, ...platformSwitchOffs])(
  '$replaces of $file is one function, and what replaces it another',
  (replacement) => {
    const source = readFileSync(new URL(`../../${replacement.file}`, import.meta.url), 'utf8');
    expect(() => stripTypeScriptTypes(replaceFunction(source, replacement))).not.toThrow();
    expect(typeof runInNewContext(replacement.instead)(() => undefined)).toBe('function');
  },
);

it('refuses a file that has no such function, or two', () => {
  const replacement = { file: 'a.ts', replaces: 'b', instead: '() => () => 1' };
  expect(() => replaceFunction('const a = b();', replacement)).toThrow('0 functions b');
  expect(() => replaceFunction('const b = 1;\nfunction b() {}', replacement)).toThrow('2 functions b');
});
