// Compares the results of the read benchmark with their goals.
import type { Pool } from 'pg';
import type { ExportResult } from './reads-export.ts';
import type { Depth, Round } from './reads-measure.ts';
import { customers, type ScopedReads } from './reads-scoped.ts';
import { describeMachine, type Goal, type Line, writeTable } from './table.ts';

export type MeasuredReads = {
  readonly records: number;
  readonly rounds: readonly Round[];
  readonly depth: Depth;
  readonly scoped: ScopedReads;
  readonly memory: { readonly idle: number; readonly peak: number };
  readonly exports: readonly ExportResult[];
  readonly startMs: readonly number[];
};

const atLeast = (target: number, floor: number): Goal => ({ target, floor });
const atMost = (target: number, floor: number): Goal => ({ target, floor, lowerIsBetter: true });

const ratios = (rates: readonly number[], others: readonly number[]): number[] =>
  rates.map((rate, index) => rate / (others[index] ?? Number.NaN));
const thousands = (rates: readonly number[]): number[] => rates.map((rate) => rate / 1000);

function exportLines(exports: readonly ExportResult[]): Line[] {
  if (exports.length === 0)
    return [{ measure: 'exports: not measured', goal: null, unit: '', values: [], digits: 0 }];
  return exports.flatMap(({ type, perSecond, copyPerSecond, sameSelectPerSecond, peakMegabytes }): Line[] => [
    {
      measure: `export as ${type}, rows/s / COPY of the same projection`,
      goal: atLeast(0.6, 0.4),
      unit: '',
      digits: 2,
      values: ratios(perSecond, copyPerSecond),
    },
    {
      measure: `export as ${type}, rows/s / COPY of the same select, in its order`,
      goal: null,
      unit: '',
      digits: 2,
      values: ratios(perSecond, sameSelectPerSecond),
    },
    {
      measure: `export as ${type}, thousand rows/s`,
      goal: null,
      unit: '',
      digits: 1,
      values: thousands(perSecond),
    },
    {
      measure: 'COPY of the same projection, thousand rows/s',
      goal: null,
      unit: '',
      digits: 1,
      values: thousands(copyPerSecond),
    },
    {
      measure: 'COPY of the same select, thousand rows/s',
      goal: null,
      unit: '',
      digits: 1,
      values: thousands(sameSelectPerSecond),
    },
    {
      measure: `RSS, peak during exports as ${type}`,
      goal: atMost(220, 256),
      unit: ' MB',
      digits: 0,
      values: [peakMegabytes],
    },
  ]);
}

type LineOfRounds = (
  measure: string,
  goal: Goal | null,
  unit: string,
  digits: number,
  of: (round: Round) => number,
) => Line;

const lineOfRounds =
  (rounds: readonly Round[]): LineOfRounds =>
  (measure, goal, unit, digits, of) => ({ measure, goal, unit, digits, values: rounds.map(of) });

function rateLines(line: LineOfRounds, kind: 'list' | 'single'): Line[] {
  return [
    line(
      `${kind}, requests/s / baseline server, 16 connections`,
      kind === 'list' ? atLeast(0.85, 0.7) : atLeast(0.75, 0.6),
      '',
      2,
      ({ at16 }) => at16[kind].service.perSecond / at16[kind].baseline.perSecond,
    ),
    line(
      `${kind}, requests/s / baseline server, 64 connections`,
      null,
      '',
      2,
      ({ at64 }) => at64[kind].service.perSecond / at64[kind].baseline.perSecond,
    ),
    line(
      `${kind}, CPU time of Node.js added to the baseline server's`,
      atMost(70, 120),
      ' µs',
      0,
      ({ at16 }) => at16[kind].service.cpuUs - at16[kind].baseline.cpuUs,
    ),
    line(`${kind}, CPU time of Node.js per request`, null, ' µs', 0, ({ at16 }) => at16[kind].service.cpuUs),
    line(
      `${kind}, CPU time of the baseline server per request`,
      null,
      ' µs',
      0,
      ({ at16 }) => at16[kind].baseline.cpuUs,
    ),
    line(
      `${kind}, requests/s of the service, 16 connections`,
      null,
      '',
      0,
      ({ at16 }) => at16[kind].service.perSecond,
    ),
    line(
      `${kind}, p99 at 16 connections / baseline server's`,
      atMost(2, 3),
      '',
      2,
      ({ at16 }) => at16[kind].service.p99Ms / at16[kind].baseline.p99Ms,
    ),
    line(`${kind}, p99 at 64 connections`, null, ' ms', 1, ({ at64 }) => at64[kind].service.p99Ms),
  ];
}

function cacheLines(line: LineOfRounds): Line[] {
  return [
    line(
      'cached list, requests/s / list read',
      atLeast(4, 3),
      '',
      2,
      ({ cached, at16 }) => cached.perSecond / at16.list.service.perSecond,
    ),
    line(
      '304, requests/s / list read',
      atLeast(4, 3),
      '',
      2,
      ({ notModified, at16 }) => notModified.perSecond / at16.list.service.perSecond,
    ),
    line('cached list, CPU time per request', null, ' µs', 0, ({ cached }) => cached.cpuUs),
    line('304, CPU time per request', null, ' µs', 0, ({ notModified }) => notModified.cpuUs),
  ];
}

function depthLines(depth: MeasuredReads['depth']): Line[] {
  return [
    {
      measure: 'page 20,000 / page 1, p50, with anchors built',
      goal: atMost(3, 10),
      unit: '',
      digits: 2,
      values: depth.deepMs.map((ms, index) => ms / (depth.shallowMs[index] ?? Number.NaN)),
    },
    { measure: 'page 1, p50', goal: null, unit: ' ms', digits: 2, values: depth.shallowMs },
    {
      measure: 'first deep page of a generation, including building its anchors',
      goal: null,
      unit: ' ms',
      digits: 0,
      values: [depth.firstDeepMs],
    },
  ];
}

function scopedLines({ steady, syncing, peak, now, mintedPerSecond }: ScopedReads): Line[] {
  const ratio = (rates: ScopedReads['steady']): number[] =>
    rates.map(({ filtered, scoped }) => scoped / filtered);
  const line = (
    measure: string,
    values: readonly number[],
    goal: Goal | null,
    digits = 2,
    unit = '',
  ): Line => ({
    measure,
    goal,
    unit,
    digits,
    values,
  });
  return [
    line(
      `a customer's list with a token of its own (${customers} of them), requests/s / one key with a filter`,
      ratio(steady),
      atLeast(0.9, 0.9),
    ),
    line(
      '… while a sync publishes every 250 ms, so that most pages are the first of their list',
      ratio(syncing),
      atLeast(0.9, 0.9),
    ),
    line(
      '… requests/s with tokens',
      steady.map(({ scoped }) => scoped),
      null,
      0,
    ),
    line('… RSS, peak with tokens / with one key', [peak.scoped / peak.filtered], atMost(1.05, 1.1)),
    line(
      `… RSS after ${customers} tokens / after ${customers / 4}`,
      [now.all / now.quarter],
      atMost(1.05, 1.1),
    ),
    line('tokens minted in requests of 100, per second', [mintedPerSecond], null, 0),
  ];
}

function createLines({ rounds, depth, scoped, memory, exports, startMs }: MeasuredReads): Line[] {
  const line = lineOfRounds(rounds);
  return [
    ...rateLines(line, 'list'),
    ...rateLines(line, 'single'),
    ...cacheLines(line),
    ...depthLines(depth),
    ...scopedLines(scoped),
    {
      measure: `RSS, peak at 64 connections, without page cache (idle ${memory.idle.toFixed(0)} MB)`,
      goal: atMost(180, 256),
      unit: ' MB',
      digits: 0,
      values: [memory.peak],
    },
    ...exportLines(exports),
    {
      measure: 'start to first response, existing database',
      goal: atMost(800, 1_500),
      unit: ' ms',
      digits: 0,
      values: startMs,
    },
  ];
}

/** Prints the table and writes it to RESULTS.md. Resolves to whether no floor was missed. */
export async function reportReads(measured: MeasuredReads, admin: Pool, day: string): Promise<boolean> {
  const { records, rounds } = measured;
  const heading = `Run of ${day}: ${records} invoices of 40 columns with 3 lines each, ${rounds.length} rounds.`;
  return writeTable('reads', `${heading}\n${await describeMachine(admin)}`, createLines(measured));
}
