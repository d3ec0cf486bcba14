// npm run sbom: prints a software bill of materials (CycloneDX, JSON) of what production installs, and of the
// packages whose code is in the built files of the console and of the portal. npm writes the bill of everything
// that is installed here; its own --omit=dev leaves out packages that development needs too, so the part of
// production is found by the dependencies.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

type Licence = {
  readonly expression?: string;
  readonly license?: { readonly id?: string; readonly name?: string };
};
export type Component = {
  readonly name: string;
  readonly version: string;
  /** `<name>@<version>`; `name` alone is the folder of a workspace. */
  readonly 'bom-ref': string;
  readonly licenses?: readonly Licence[];
};
/** A CycloneDX document. */
export type Bill = {
  readonly metadata: { readonly component: { readonly 'bom-ref': string } };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
};

/** The bill of everything that is installed, development and workspaces included. Throws when npm fails. */
export function readBill(): Bill {
  const args = ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application'];
  return JSON.parse(
    execFileSync('npm', args, {
      encoding: 'utf8',
      maxBuffer: 64 << 20,
      stdio: ['ignore', 'pipe', 'inherit'],
    }),
  );
}

/** The workspaces whose built files production has. */
const built = ['portal-service-console', 'portal-service-portal'];
const parseName = (ref: string): string => ref.slice(0, ref.lastIndexOf('@'));

/**
 * The part of a bill that the root and what is built need through `direct`, the names of their dependencies in
 * production.
 */
export function toComponent(bill: Bill, direct: readonly string[]): Bill {
  const needs = new Map(bill.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]));
  const root = bill.metadata.component['bom-ref'];
  const workspaces = (needs.get(root) ?? []).filter((ref) => built.includes(parseName(ref)));
  const ofRoot = [root, ...workspaces]
    .flatMap((of) => needs.get(of) ?? [])
    .filter((ref) => direct.includes(parseName(ref)));
  const found = new Set(ofRoot);
  // A Set's iteration also visits values added while it runs.
  for (const ref of found) for (const needed of needs.get(ref) ?? []) found.add(needed);
  return {
    ...bill,
    components: bill.components.filter((component) => found.has(component['bom-ref'])),
    dependencies: bill.dependencies
      .filter(({ ref }) => ref === root || found.has(ref))
      .map((dependency) => (dependency.ref === root ? { ...dependency, dependsOn: ofRoot } : dependency)),
  };
}

/**
 * The names of the packages that the service depends on in production. Those in `dependencies` of the console
 * and of the portal are in their built files.
 */
export function productionNames(): string[] {
  const read = (folder: string) =>
    JSON.parse(readFileSync(new URL(`../${folder}package.json`, import.meta.url), 'utf8'));
  const { dependencies, optionalDependencies } = read('');
  const bundled = ['web/console/', 'web/portal/'].map((folder) => read(folder).dependencies);
  return Object.keys(Object.assign({}, dependencies, optionalDependencies, ...bundled));
}

if (import.meta.main) console.log(JSON.stringify(toComponent(readBill(), productionNames()), undefined, 2));
