// The production image: what Dockerfile copies and npm installs there is what the service needs, and nothing
// else.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { migrations, type Source, src } from './architecture/sources.ts';

const toPackageName = (target: string): string =>
  target
    .split('/')
    .slice(0, target.startsWith('@') ? 2 : 1)
    .join('/');
const listPackages = (sources: readonly Source[]): string[] => {
  const targets = sources.flatMap(({ imports }) => imports.map(({ target }) => target));
  return [
    ...new Set(
      targets.filter((target) => !target.includes('.ts') && !target.startsWith('node:')).map(toPackageName),
    ),
  ];
};
/** Served to browsers from their packages' folders. */
const servedPackages: readonly string[] = [];

/** The last stage is the image; the one before builds the console and the portal, with development's packages. */
const [, buildStage = '', image = ''] = readFileSync('Dockerfile', 'utf8').split(/^FROM .*$/m);
const workspaces = ['web/console', 'web/portal', 'packages/client'];
const copiedBy = (stage: string): string[] =>
  [...stage.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, from = '']) => from.split(' '));
const built = [...image.matchAll(/^COPY --from=web \/app\/(\S+) (\S+)$/gm)].map(
  ([, from = '', to = '']) => [from, to] as const,
);
const inImage = [...copiedBy(image), ...built.map(([, to]) => to)];
const isInside = (file: string, folders: readonly string[]): boolean =>
  folders.some((folder) => file === folder || file.startsWith(`${folder}/`));

/** The files and folders of the repository that the service reads while it runs. */
const filesRead = src.flatMap(({ file, code }) =>
  [...code.matchAll(/(new URL|inRoot)\('([^']+)'(?:, import\.meta\.url)?\)/g)].map(([, by, target = '']) =>
    by === 'inRoot' ? target : path.posix.join(path.posix.dirname(file), target),
  ),
);

describe('the production image', () => {
  it('has the packages that the service imports, and no others', () => {
    const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      dependencies: Record<string, string>;
    };
    expect(Object.keys(dependencies).sort()).toEqual([...listPackages(src), ...servedPackages].sort());
    expect(Object.keys(dependencies)).toEqual(expect.arrayContaining(listPackages(migrations)));
  });

  it('has the files that the service reads', () => {
    expect(filesRead).toEqual(
      expect.arrayContaining(['db/functions', 'migrations', 'package.json', 'web/reference/']),
    );
    expect(filesRead.filter((file) => !isInside(file.replace(/\/$/, ''), inImage))).toEqual([]);
  });

  it('has the bundle and the built console, portal and client, and neither their sources nor what builds them', () => {
    const folders = [...workspaces.map((folder) => `${folder}/dist`), 'dist/service'];
    expect(built).toEqual(folders.map((folder) => [folder, folder]));
    const devDependencies = workspaces.flatMap((folder) => {
      const read = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8')) as {
        devDependencies: Record<string, string>;
      };
      return Object.keys(read.devDependencies);
    });
    const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      dependencies: Record<string, string>;
    };
    expect(devDependencies.filter((name) => name in dependencies)).toEqual([]);
    expect(
      inImage.filter(
        (file) =>
          workspaces.some((folder) => isInside(`${folder}/src`, [file])) || file.startsWith('scripts/build'),
      ),
    ).toEqual([]);
    expect(buildStage).toContain('RUN node scripts/build.mjs');
  });

  it('is built from what .dockerignore lets through', () => {
    const [first, ...lines] = readFileSync('.dockerignore', 'utf8').trim().split('\n');
    const folders = ['web', 'packages/client'];
    const all = [...copiedBy(buildStage), ...copiedBy(image)];
    const copied = [
      ...new Set(all.map((from) => folders.find((folder) => isInside(from, [folder])) ?? from)),
    ];
    expect(first).toBe('*');
    expect(
      lines
        .filter((line) => line.startsWith('!'))
        .map((line) => line.slice(1))
        .sort(),
    ).toEqual(copied.sort());
    // What the build makes must not come from the machine on which the image is built.
    expect(lines.filter((line) => !line.startsWith('!'))).toEqual(
      workspaces.flatMap((folder) => [`${folder}/dist`, `${folder}/.generated`]),
    );
  });
});
