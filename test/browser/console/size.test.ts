// What a browser loads: all files of the console together, compressed as they are served.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, inject, it } from 'vitest';
import { productionNames, readBill, toComponent } from '../../../scripts/bill-of-materials.ts';

/** No browser loads it: it is there for the licences, which require their texts. */
const isLicences = (name: string): boolean => /^licences-[\w-]+\.txt$/.test(name);

const unloaded = new Set(['.built-from', 'manifest.json']);

const readSizes = (folder: string): Map<string, number> =>
  new Map(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !unloaded.has(entry.name) && !isLicences(entry.name))
      .map((entry) => path.join(entry.parentPath, entry.name))
      .map((file) => [path.relative(folder, file), gzipSync(readFileSync(file), { level: 9 }).length]),
  );
const sum = (sizes: Iterable<number>): number => [...sizes].reduce((total, size) => total + size, 0);

const isFont = (name: string): boolean => name.endsWith('.woff2');

it('all files of the console have at most 160 kB, besides a typeface of 60 kB', () => {
  const all = readSizes(inject('consoleFolder'));
  const sizes = new Map([...all].filter(([name]) => !isFont(name)));
  const fonts = [...all].filter(([name]) => isFont(name)).map(([, size]) => size);
  expect([fonts.length, sum(fonts) <= 60_000]).toEqual([1, true]);
  const largest = [...sizes].sort(([, a], [, b]) => b - a).slice(0, 15);
  expect(sum(sizes.values()), JSON.stringify(largest)).toBeLessThanOrEqual(160_000);
});

type Chunk = Readonly<
  Record<'file', string> & Record<'imports' | 'dynamicImports' | 'css' | 'assets', string[]>
>;

it('whichever screen is first, it loads at most 60 kB, besides the typeface', () => {
  const folder = inject('consoleFolder');
  const sizes = readSizes(folder);
  const chunks: Readonly<Record<string, Partial<Chunk>>> = JSON.parse(
    readFileSync(path.join(folder, '.vite/manifest.json'), 'utf8'),
  );
  const namesOf = (key: string): string[] => {
    const { file = key, imports = [], css = [], assets = [] } = chunks[key] ?? {};
    return [file, ...css, ...assets, ...imports.flatMap(namesOf)];
  };
  const loads = (keys: readonly string[]): number => {
    const names = new Set(
      [...keys, ...keys.flatMap(namesOf)].filter((name) => !(name in chunks) && !isFont(name)),
    );
    return sum([...names].map((name) => sizes.get(name) ?? Number.NaN));
  };
  const areas = Object.keys(chunks).flatMap((key) =>
    (chunks[key]?.dynamicImports ?? []).map((area) => [area, loads(['index.html', key, area])] as const),
  );
  expect(areas.length).toBeGreaterThan(8);
  expect(
    areas.filter(([, size]) => !(size <= 60_000)),
    JSON.stringify(areas),
  ).toEqual([]);
});

it('the page loads its own files alone, and the session', () => {
  const folder = inject('consoleFolder');
  const page = readFileSync(path.join(folder, 'index.html'), 'utf8');
  const named = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address = '']) => address);
  expect(named).not.toEqual([]);
  expect(named.filter((address) => !address.startsWith('/console/assets/'))).toEqual(['/auth/session']);
});

it('has the licences of the packages in the bundle, each of which is in the bill of materials', () => {
  const assets = path.join(inject('consoleFolder'), 'assets');
  const [file = '', ...others] = readdirSync(assets).filter(isLicences);
  const text = readFileSync(path.join(assets, file), 'utf8');
  const packages = [...text.matchAll(/^(\S+) (\d+\.\d+\.\d+)$/gm)].map(
    ([, name, version]) => `${name}@${version}`,
  );
  const listed = toComponent(readBill(), productionNames()).components.map(
    (component) => component['bom-ref'],
  );
  expect([others, packages.filter((one) => !listed.includes(one))]).toEqual([[], []]);
  expect(packages.map((one) => one.replace(/@[^@]+$/, '')).sort()).toEqual([
    '@preact/signals',
    '@preact/signals-core',
    'preact',
  ]);
  // Those of the typeface and of the icons, whose files are in this repository, grant it as well.
  expect(text.match(/Permission is hereby granted/g)).toHaveLength(packages.length + 2);
  for (const copied of ['SIL Open Font License', 'Lucide Icons']) expect(text).toContain(copied);
  expect(readFileSync(path.join(assets, '../index.html'), 'utf8')).toContain(
    `rel="license" href="/console/assets/${file}"`,
  );
});
