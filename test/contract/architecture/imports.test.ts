// Imports lead to lower layers, and no imports form a circle.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  demo,
  everything,
  isInRepository,
  packages,
  programs,
  type Source,
  src,
  tools,
  web,
} from './sources.ts';

/** The folder or file of `src` that a file belongs to. */
const findPart = (file: string): string => file.split('/')[1] ?? '';

/** Each part imports parts of lines above its own. */
const layers: readonly (readonly string[])[] = [
  ['core'],
  ['db', 'connectors', 'templates', 'pdf', 'config.ts'],
  ['gateways', 'identity', 'warehouse', 'open-database.ts', 'run-command.ts'],
  ['mail', 'webhooks', 'http', 'public', 'move'],
  ['sync', 'operate'],
  ['platform'],
  ['mcp', 'portal'],
  ['app.ts'],
  ['service.ts'],
  ['processes'],
  ['admin'],
  ['main.ts'],
];
const findLayer = (part: string): number => layers.findIndex((layer) => layer.includes(part));

/** Used through their index.ts, except by the parts that put the service together or stand in for an operator. */
const behindIndex: readonly string[] = [
  'mail',
  'webhooks',
  'pdf',
  'public',
  'sync',
  'platform',
  'portal',
  'admin',
];
const composing: readonly string[] = ['app.ts', 'service.ts', 'admin'];

function isAllowed(from: string, to: string): boolean {
  const [importer, part] = [findPart(from), findPart(to)];
  if (findLayer(part) >= findLayer(importer)) return false;
  if (behindIndex.includes(part) && !composing.includes(importer)) return to === `src/${part}/index.ts`;
  // An ERP is known through the contract; only the management interface knows what its connection is.
  return !/^src\/connectors\/\w+\//.test(to) || importer === 'platform';
}

const listTargets = ({ imports }: Source): string[] => imports.map(({ target }) => target);
/** Each import of a file of this repository from outside of the importing part, as `file → file`. */
const crossings = (sources: readonly Source[], toPart: (file: string) => string): [string, string][] =>
  sources.flatMap((source) =>
    listTargets(source)
      .filter((target) => isInRepository(target) && toPart(target) !== toPart(source.file))
      .map((target): [string, string] => [source.file, target]),
  );
const written = (edges: readonly (readonly [string, string])[]): string[] =>
  edges.map(([from, to]) => `${from} → ${to}`);

describe('imports', () => {
  it('lead to lower layers, to an index where there is one, and to the contract of ERPs', () => {
    const between = crossings(src, (file) => file.split('/').slice(0, 2).join('/')).filter(([, to]) =>
      to.startsWith('src/'),
    );
    expect(written(between.filter(([from, to]) => !isAllowed(from, to)))).toEqual([]);
    const parts = new Set(src.map(({ file }) => findPart(file)));
    expect([...parts].sort()).toEqual(layers.flat().sort());
  });

  it('of packages and of the service stay among themselves', () => {
    const outside = crossings([...src, ...packages], (file) =>
      file.startsWith('src/') ? 'src' : file.split('/').slice(0, 2).join('/'),
    );
    expect(written(outside)).toEqual([]);
  });

  it('of what programs load of the client lead to none of its command line', () => {
    const loaded = new Set(['packages/client/src/index.ts', 'packages/client/src/node.ts']);
    for (const file of loaded)
      for (const { target } of programs.find((source) => source.file === file)?.imports ?? [])
        loaded.add(target);
    expect(loaded.size).toBeGreaterThan(10);
    expect([...loaded].filter((file) => /\/(cli|config|generate)\//.test(file))).toEqual([]);
  });

  it('of the demo are what it needs of the service, and packages', () => {
    // The demo acts as a customer, an ERP and an operator at once.
    const allowed =
      /^(packages\/|src\/(config|open-database|run-command|service)\.ts$|src\/(core|db|identity)\/|src\/platform\/organizations\/organizations\.service\.ts$)/;
    expect(
      written(crossings(demo, (file) => file.split('/')[0] ?? '').filter(([, to]) => !allowed.test(to))),
    ).toEqual([]);
  });

  it('of programs are no tests, tools or browser code', () => {
    const edges = crossings(programs, (file) => file.split('/')[0] ?? '');
    expect(written(edges.filter(([, to]) => /^(test|bench|scripts|db|web)\//.test(to)))).toEqual([]);
  });

  it('name files with their extension', () => {
    const bare = everything.flatMap((source) =>
      listTargets(source).filter((target) => isInRepository(target) && !/\.\w+$/.test(target)),
    );
    expect(bare).toEqual([]);
  });
});

/** The circles of a graph: its strongly connected components (Tarjan's algorithm) with more than one node. */
function listCycles(graph: ReadonlyMap<string, Iterable<string>>): string[][] {
  const circles: string[][] = [];
  const path: string[] = [];
  const numbers = new Map<string, number>();
  const finished = new Set<string>();
  const visit = (node: string): number => {
    const own = numbers.size;
    numbers.set(node, own);
    path.push(node);
    let lowest = own;
    for (const next of graph.get(node) ?? [])
      if (graph.has(next) && !finished.has(next)) lowest = Math.min(lowest, numbers.get(next) ?? visit(next));
    if (lowest < own) return lowest;
    const component = path.splice(path.indexOf(node));
    for (const member of component) finished.add(member);
    if (component.length > 1) circles.push(component.sort());
    return lowest;
  };
  for (const node of graph.keys()) if (!numbers.has(node)) visit(node);
  return circles;
}

/** The graph of the groups of files; a file without a group counts in none. */
function buildGraph(
  sources: readonly Source[],
  findGroup: (file: string) => string | undefined,
): Map<string, Set<string>> {
  const graph = new Map<string, Set<string>>();
  for (const source of sources) {
    const group = findGroup(source.file);
    if (group === undefined) continue;
    const targets = graph.get(group) ?? new Set();
    graph.set(group, targets);
    for (const target of listTargets(source).map(findGroup))
      if (target !== undefined && target !== group) targets.add(target);
  }
  return graph;
}

/** The files and folders of a folder, and which of them each imports. */
const buildParts = (folder: string): Map<string, Set<string>> =>
  buildGraph(src, (file) =>
    file.startsWith(`${folder}/`) ? file.slice(folder.length + 1).split('/')[0] : undefined,
  );

/** Imports of types count: one file of a circle can only be understood with all others. */
describe('circles', () => {
  it('are found, also long ones and several', () => {
    const graph = {
      a: ['b'],
      b: ['c', 'x'],
      c: ['a'],
      x: ['y', 'a-package'],
      y: ['z'],
      z: ['y'],
      alone: ['a'],
    };
    expect(listCycles(new Map(Object.entries(graph)))).toEqual([
      ['y', 'z'],
      ['a', 'b', 'c'],
    ]);
  });

  it('do not exist between files, except for a grammar', () => {
    // SuiteQL is a recursive language: a query contains expressions, which contain queries.
    const grammar = ['call', 'expression', 'from', 'query'].map(
      (name) => `packages/netsuite-simulator/src/suiteql/${name}.ts`,
    );
    expect(listCycles(buildGraph([...programs, ...tools, ...web], (file) => file))).toEqual([grammar]);
  });

  it.each(['src', 'src/core', 'src/http', 'src/platform', 'src/platform/pay', 'src/portal'])(
    'do not exist between the parts of %s',
    (folder) => {
      expect(listCycles(buildParts(folder))).toEqual([]);
    },
  );
});

/** The rooms of a folder and what each imports, as the table below `heading` in docs/architecture.md says. */
function readRooms(heading: string): Map<string, Set<string>> {
  const [, page = ''] = readFileSync('docs/architecture.md', 'utf8').split(heading);
  const [table = ''] = page.slice(page.indexOf('| Room |')).split('\n\n');
  const rooms = new Map<string, Set<string>>();
  for (const [, room = '', imports = ''] of table.matchAll(/^\| `(\S+)` \|[^|]+\|([^|]*)\|$/gm)) {
    const named = [...imports.matchAll(/`(\S+)`/g)].map(([, name = '']) => name);
    const isRest = imports.includes('all above');
    rooms.set(room, new Set(isRest ? [...rooms.keys()].filter((above) => !named.includes(above)) : named));
  }
  return rooms;
}

describe('rooms', () => {
  it.each([
    ['src/public', '## A read'],
    ['src/public/read', 'The rooms of `src/public/read`'],
    ['src/sync', '## A sync run'],
    ['src/connectors/netsuite', '## The NetSuite connector'],
  ])('of %s import those above them that docs/architecture.md names', (folder, heading) => {
    const rooms = readRooms(heading);
    const toSorted = (graph: ReadonlyMap<string, Iterable<string>>) =>
      Object.fromEntries([...graph].map(([room, targets]) => [room, [...targets].sort()]));
    const parts = buildParts(folder);
    parts.delete('index.ts');
    expect(toSorted(parts)).toEqual(toSorted(rooms));
    const names = [...rooms.keys()];
    const isBelow = ([room, targets]: [string, Set<string>]) =>
      [...targets].some((target) => names.indexOf(target) >= names.indexOf(room));
    expect([...rooms].filter(isBelow)).toEqual([]);
  });
});
