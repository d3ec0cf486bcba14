// The production image: what Dockerfile copies and npm installs there is what the service needs, and nothing else.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { migrations, type Source, src } from './architecture/sources.ts';

const packageOf = (target: string): string =>
  target
    .split('/')
    .slice(0, target.startsWith('@') ? 2 : 1)
    .join('/');
const packagesOf = (sources: readonly Source[]): string[] => {
  const targets = sources.flatMap(({ imports }) => imports.map(({ target }) => target));
  return [...new Set(targets.filter((target) => !target.includes('.ts') && !target.startsWith('node:')).map(packageOf))];
};
/** Served to browsers from their packages' folders. */
const servedPackages = ['marked', 'swagger-ui-dist'];

const copied = [...readFileSync('Dockerfile', 'utf8').matchAll(/^COPY (.+) \S+$/gm)].flatMap(([, sources = '']) => sources.split(' '));
const isInside = (file: string, folders: readonly string[]): boolean =>
  folders.some((folder) => file === folder || file.startsWith(`${folder}/`));

/** The files and folders of the repository that the service reads while it runs. */
const filesRead = src.flatMap(({ file, code }) =>
  [...code.matchAll(/new URL\('(\.[^']+)', import\.meta\.url\)/g)].map(([, target = '']) =>
    path.posix.join(path.posix.dirname(file), target),
  ),
);

describe('the production image', () => {
  it('has the packages that the service imports, and no others', () => {
    const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as { dependencies: Record<string, string> };
    expect(Object.keys(dependencies).sort()).toEqual([...packagesOf(src), ...servedPackages].sort());
    expect(Object.keys(dependencies)).toEqual(expect.arrayContaining(packagesOf(migrations)));
  });

  it('has the files that the service reads', () => {
    expect(filesRead).toEqual(expect.arrayContaining(['db/functions', 'migrations', 'package.json', 'web/reference/']));
    expect(filesRead.filter((file) => !isInside(file.replace(/\/$/, ''), copied))).toEqual([]);
  });

  it('is built from what .dockerignore lets through', () => {
    const [first, ...allowed] = readFileSync('.dockerignore', 'utf8').trim().split('\n');
    expect([first, ...allowed.map((line) => line.slice(1))].sort()).toEqual(['*', ...copied].sort());
  });
});
