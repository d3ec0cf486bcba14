// The dependencies: licences that are on the list pass and all others are named, the bill of materials, and
// exact versions.
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { Component } from '../../scripts/bill-of-materials.ts';
import { findForbidden, isAllowed } from '../../scripts/check-licences.ts';

const allowed = ['MIT', 'ISC'];

describe('an SPDX expression is allowed', () => {
  it.each([
    ['MIT', true],
    ['GPL-3.0', false],
    ['MIT OR GPL-3.0', true],
    ['MIT AND GPL-3.0', false],
    ['(MIT OR GPL-3.0) AND ISC', true],
    ['(MIT AND GPL-3.0) OR (ISC AND AGPL-3.0)', false],
    ['GPL-3.0 OR MIT AND ISC', true],
    ['UNLICENSED', false],
    ['', false],
  ])('%s: %s', (expression, expected) => {
    expect(isAllowed(expression, allowed)).toBe(expected);
  });
});

it('names components without a licence or with one that is not on the list', () => {
  const listed: Omit<Component, 'bom-ref'>[] = [
    { name: 'good', version: '1.0.0', licenses: [{ license: { id: 'MIT' } }] },
    { name: 'either', version: '1.0.0', licenses: [{ expression: '(GPL-2.0 OR ISC)' }] },
    { name: 'bad', version: '2.1.0', licenses: [{ license: { id: 'AGPL-3.0' } }] },
    { name: 'named', version: '1.0.0', licenses: [{ license: { name: 'Custom' } }] },
    { name: 'none', version: '3.0.0' },
    { name: 'client', version: '4.0.0' },
  ];
  const components = listed.map((one) => ({ ...one, 'bom-ref': `${one.name}@${one.version}` }));
  // npm names a workspace by its folder, which may be the name of a package.
  components.push({ name: 'client', version: '0.1.0', 'bom-ref': 'ours@0.1.0' });
  expect(findForbidden({ components }, allowed, ['ours@0.1.0'])).toEqual([
    'bad 2.1.0: AGPL-3.0',
    'named 1.0.0: Custom',
    'none 3.0.0: no licence',
    'client 4.0.0: no licence',
  ]);
});

it('npm run sbom prints what production installs, in the CycloneDX format', async () => {
  const { stdout } = await promisify(execFile)('npm', ['run', '--silent', 'sbom'], { maxBuffer: 64 << 20 });
  const bill = JSON.parse(stdout);
  expect([bill.bomFormat, bill.metadata.component.type]).toEqual(['CycloneDX', 'application']);
  const names: string[] = bill.components.map((component: { 'bom-ref': string }) =>
    component['bom-ref'].replace(/@[^@]+$/, ''),
  );
  const { dependencies } = JSON.parse(await readFile('package.json', 'utf8'));
  expect(Object.keys(dependencies).filter((name) => !names.includes(name))).toEqual([]);
  expect(names).toEqual(
    expect.arrayContaining([
      'body-parser',
      'pg-pool',
      'thread-stream',
      'preact',
      '@preact/signals',
      '@preact/signals-core',
      'preact-render-to-string',
      'intl-messageformat',
    ]),
  );
  for (const name of [
    'vitest',
    'vite',
    'openapi-fetch',
    'typescript',
    'oidc-provider',
    'koa',
    'portal-demo',
    'netsuite-simulator',
    'odata-simulator',
  ])
    expect(names).not.toContain(name);
});

it('versions are exact', async () => {
  const workspaces = [
    'demo',
    'packages/client',
    'packages/netsuite-simulator',
    'packages/odata-simulator',
    'web/console',
    'web/portal',
  ];
  for (const file of ['package.json', ...workspaces.map((folder) => `${folder}/package.json`)]) {
    const { dependencies, devDependencies, optionalDependencies } = JSON.parse(await readFile(file, 'utf8'));
    const all = Object.entries<string>({ ...dependencies, ...devDependencies, ...optionalDependencies });
    expect(all.filter(([, version]) => !/^(?:npm:[\w@/-]+@)?\d+\.\d+\.\d+[\w.-]*$/.test(version))).toEqual(
      [],
    );
  }
});
