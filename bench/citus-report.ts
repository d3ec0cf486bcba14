// The table of the benchmark of Citus.
import type { Compared, Through } from './citus-compare.ts';
import type { Many, ManyOnCitus } from './citus-many.ts';
import type { Moved, Watched } from './citus-moves.ts';
import type { Kind, SideRound } from './citus-reads.ts';
import type { Load } from './citus-writes.ts';
import { type Goal, type Line, toLine } from './table.ts';

const sides = ['plain', 'through the coordinator', 'through a worker'] as const;
const maxPauseMs = 2_000;
const none: Goal = { target: 0, floor: 0, lowerIsBetter: true };
const pause: Goal = { target: maxPauseMs, floor: maxPauseMs, lowerIsBetter: true };

const ratios = (of: readonly number[], to: readonly number[]): number[] =>
  of.map((value, index) => value / (to[index] ?? Number.NaN));

/** What a side took, and for Citus its ratio to plain PostgreSQL in the same round. */
function readLines(
  reads: readonly (readonly SideRound[])[],
  measure: string,
  pick: (round: SideRound) => number,
  unit: string,
  digits: number,
) {
  const [plain = [], ...others] = reads.map((rounds) => rounds.map(pick));
  return [
    toLine(`${measure}, plain PostgreSQL`, plain, unit, digits),
    ...others.map((values, index) => toLine(`… ${sides[index + 1]} / plain`, ratios(values, plain), '', 2)),
  ];
}

function kindLines(reads: Compared['reads'], kind: Kind): Line[] {
  const of = (measure: string, pick: (load: SideRound[Kind]) => number, unit: string, digits: number) =>
    readLines(reads, `${kind}: ${measure}`, (round) => pick(round[kind]), unit, digits);
  return [
    ...of('p50, one connection', ({ alone }) => alone.p50Ms, ' ms', 2),
    ...of('requests/s, 16 connections', ({ together }) => together.perSecond, '/s', 0),
    ...of('CPU time of Node.js', ({ together }) => together.cpuUs, ' µs', 0),
    ...of('CPU time of all database servers', ({ together }) => together.databaseUs, ' µs', 0),
  ];
}

/** Each organization on Citus, compared with the same one on plain PostgreSQL. */
function besidePlain(
  { loads }: Compared,
  measure: string,
  { plain, citus }: Readonly<Record<'plain' | 'citus', readonly number[]>>,
  unit: string,
  digits: number,
): Line[] {
  const of = (through: Through) =>
    ratios(citus, plain).filter((_ratio, index) => loads.citus[index]?.through === through);
  return [
    toLine(`${measure}, plain PostgreSQL`, plain, unit, digits),
    toLine('… through the coordinator / plain', of('coordinator'), '', 2),
    toLine('… through a worker / plain', of('worker'), '', 2),
  ];
}

function loadLines(
  compared: Compared,
  measure: string,
  pick: (load: Load) => number,
  unit: string,
  digits: number,
): Line[] {
  const { plain, citus } = compared.loads;
  return besidePlain(compared, measure, { plain: plain.map(pick), citus: citus.map(pick) }, unit, digits);
}

export const compareLines = (compared: Compared): Line[] => [
  ...kindLines(compared.reads, 'list'),
  ...kindLines(compared.reads, 'record'),
  ...readLines(
    compared.reads,
    'export as NDJSON',
    ({ exportPerSecond }) => exportPerSecond / 1_000,
    ' thousand rows/s',
    1,
  ),
  ...loadLines(compared, 'page of 1,000 committed, p50', ({ pageMs }) => pageMs, ' ms', 1),
  ...loadLines(compared, 'publish of a first load', ({ publishMs }) => publishMs, ' ms', 1),
  ...besidePlain(compared, 'publish of 1 % of the records', compared.publishesMs, ' ms', 0),
  ...loadLines(compared, 'first load, thousand records/s', ({ perSecond }) => perSecond, '', 1),
];

function watchedLines(name: string, watched: readonly Watched[]): Line[] {
  const of = (
    measure: string,
    pick: (each: Watched) => number,
    unit: string,
    digits: number,
    goal: Goal | null = null,
  ): Line => toLine(measure, watched.map(pick), unit, digits, goal);
  return [
    of(name, ({ ms }) => ms / 1_000, ' s', 1),
    of('… reads meanwhile', ({ reads }) => reads, '', 0),
    of('… of them failed', ({ failed }) => failed, '', 0, none),
    of('… the slowest', ({ slowestMs }) => slowestMs, ' ms', 0, pause),
    of('… runs of the sync', ({ runs }) => runs, '', 0),
    of('… of them failed', ({ failedRuns }) => failedRuns, '', 0, none),
  ];
}

export const moveLines = ({ moves, rebalance, outage, wrong }: Moved): Line[] => [
  ...watchedLines('organization moved to another worker while it syncs', moves),
  toLine('organizations that the rebalance moved', rebalance.schemas, '', 0),
  ...watchedLines('rebalance', [rebalance]),
  toLine('worker killed for 10 s: reads of organizations on the other worker', outage.others.reads, '', 0),
  toLine('… of them failed', outage.others.failed, '', 0, none),
  toLine('… the slowest', outage.others.slowestMs, ' ms', 0, pause),
  toLine('worker killed for 10 s: reads of its own organizations', outage.own.reads, '', 0),
  toLine('… of them answered 503', outage.own.refused, '', 0),
  toLine('… the slowest', outage.own.slowestMs, ' ms', 0),
  toLine('… first answer after the worker takes connections again', outage.backAfterMs, ' ms', 0),
  toLine('wrong answers in all of these reads', wrong.length, '', 0, none),
];

function manyLines(name: string, count: number, many: Many): Line[] {
  const { before, after } = many.memory;
  const perSchema = (megabytes: number): number => (1_024 * megabytes) / count;
  return [
    toLine(`${name}: an organization created and loaded, the first`, many.firstMs, ' ms', 0),
    toLine(`${name}: the same, the last of ${count}`, many.lastMs, ' ms', 0),
    toLine(`${name}: relations`, many.catalog.relations, '', 0),
    toLine(`${name}: size of the system catalogue`, many.catalog.megabytes, ' MB', 0),
    toLine(`${name}: start to first response`, many.startMs, ' ms', 0),
    toLine(`${name}: hourly pruning of tombstones, per organization`, many.tombstonesMs / count, ' ms', 2),
    toLine(`${name}: hourly check of indexes, per organization`, many.indexesMs / count, ' ms', 2),
    toLine(`${name}: memory of a new connection`, before.own + before.workers, ' MB', 1),
    toLine(`${name}: … its growth per schema that it has read`, perSchema(after.own - before.own), ' KB', 0),
  ];
}

export const createManyLines = (count: number, plain: Many, citus: ManyOnCitus): Line[] => [
  ...manyLines('plain PostgreSQL', count, plain),
  ...manyLines('coordinator', count, citus),
  toLine(
    'workers: growth of its connections per schema',
    (1_024 * (citus.memory.after.workers - citus.memory.before.workers)) / count,
    ' KB',
    0,
  ),
  toLine('worker: relations', citus.workerCatalog.relations, '', 0),
  toLine('worker: size of the system catalogue', citus.workerCatalog.megabytes, ' MB', 0),
  toLine('copy of the catalogue to a worker, as when one is added', citus.resyncMs / 1_000, ' s', 1),
];
