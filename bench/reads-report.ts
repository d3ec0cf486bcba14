// The read bench's numbers held against their goals.
import type { Pool } from 'pg';
import type { Exported } from './reads-export.ts';
import type { Depth, Round } from './reads-measure.ts';
import { type Goal, type Line, machineText, writeTable } from './table.ts';

export type MeasuredReads = {
  readonly records: number;
  readonly rounds: readonly Round[];
  readonly depth: Depth;
  readonly memory: { readonly idle: number; readonly peak: number };
  readonly exports: readonly Exported[];
  readonly startMs: readonly number[];
};

const atLeast = (target: number, floor: number): Goal => ({ target, floor });
const atMost = (target: number, floor: number): Goal => ({ target, floor, atMost: true });

const ratios = (rates: readonly number[], others: readonly number[]): number[] =>
  rates.map((rate, index) => rate / (others[index] ?? Number.NaN));
const thousands = (rates: readonly number[]): number[] => rates.map((rate) => rate / 1000);

function exportLines(exports: readonly Exported[]): Line[] {
  if (exports.length === 0) return [{ measure: 'exports: not there', goal: null, unit: '', values: [], digits: 0 }];
  return exports.flatMap(({ type, perSecond, copyPerSecond, samePerSecond, peak }): Line[] => [
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
      values: ratios(perSecond, samePerSecond),
    },
    { measure: `export as ${type}, thousand rows/s`, goal: null, unit: '', digits: 1, values: thousands(perSecond) },
    { measure: 'COPY of the same projection, thousand rows/s', goal: null, unit: '', digits: 1, values: thousands(copyPerSecond) },
    { measure: 'COPY of the same select, thousand rows/s', goal: null, unit: '', digits: 1, values: thousands(samePerSecond) },
    { measure: `RSS, peak during exports as ${type}`, goal: atMost(220, 256), unit: ' MB', digits: 0, values: [peak] },
  ]);
}

function linesOf({ rounds, depth, memory, exports, startMs }: MeasuredReads): Line[] {
  const line = (measure: string, goal: Goal | null, unit: string, digits: number, of: (round: Round) => number): Line => ({
    measure,
    goal,
    unit,
    digits,
    values: rounds.map(of),
  });
  const kinds = ['list', 'single'] as const;
  const rates = kinds.flatMap((kind): Line[] => [
    line(
      `${kind}, requests/s / least server, 16 connections`,
      kind === 'list' ? atLeast(0.85, 0.7) : atLeast(0.75, 0.6),
      '',
      2,
      ({ at16 }) => at16[kind].ours.perSecond / at16[kind].least.perSecond,
    ),
    line(
      `${kind}, requests/s / least server, 64 connections`,
      null,
      '',
      2,
      ({ at64 }) => at64[kind].ours.perSecond / at64[kind].least.perSecond,
    ),
    line(
      `${kind}, processor time of Node.js added to the least server's`,
      atMost(70, 120),
      ' µs',
      0,
      ({ at16 }) => at16[kind].ours.cpuUs - at16[kind].least.cpuUs,
    ),
    line(`${kind}, processor time of Node.js per request`, null, ' µs', 0, ({ at16 }) => at16[kind].ours.cpuUs),
    line(`${kind}, the least server's`, null, ' µs', 0, ({ at16 }) => at16[kind].least.cpuUs),
    line(`${kind}, requests/s of the service, 16 connections`, null, '', 0, ({ at16 }) => at16[kind].ours.perSecond),
    line(`${kind}, p99 at 16 / least server's`, atMost(2, 3), '', 2, ({ at16 }) => at16[kind].ours.p99Ms / at16[kind].least.p99Ms),
    line(`${kind}, p99 at 64`, null, ' ms', 1, ({ at64 }) => at64[kind].ours.p99Ms),
  ]);
  return [
    ...rates,
    line('list with its page kept / list read', atLeast(4, 3), '', 2, ({ kept, at16 }) => kept.perSecond / at16.list.ours.perSecond),
    line('304 / list read', atLeast(4, 3), '', 2, ({ notModified, at16 }) => notModified.perSecond / at16.list.ours.perSecond),
    line('page kept, processor time per request', null, ' µs', 0, ({ kept }) => kept.cpuUs),
    line('304, processor time per request', null, ' µs', 0, ({ notModified }) => notModified.cpuUs),
    {
      measure: 'page 20,000 / page 1, p50, anchors there',
      goal: atMost(3, 10),
      unit: '',
      digits: 2,
      values: depth.deepMs.map((ms, index) => ms / (depth.shallowMs[index] ?? Number.NaN)),
    },
    { measure: 'page 1 · p50', goal: null, unit: ' ms', digits: 2, values: depth.shallowMs },
    { measure: 'first deep page of a generation, anchors built', goal: null, unit: ' ms', digits: 0, values: [depth.firstDeepMs] },
    {
      measure: `RSS, peak at 64 connections, no pages kept (idle ${memory.idle.toFixed(0)} MB)`,
      goal: atMost(180, 256),
      unit: ' MB',
      digits: 0,
      values: [memory.peak],
    },
    ...exportLines(exports),
    { measure: 'start to first answer, existing database', goal: atMost(800, 1_500), unit: ' ms', digits: 0, values: startMs },
  ];
}

/** Prints the table and puts it into RESULTS.md; whether no floor was missed. */
export async function reportReads(measured: MeasuredReads, admin: Pool, day: string): Promise<boolean> {
  const { records, rounds } = measured;
  const heading = `Run of ${day}: ${records} invoices of 40 columns with 3 lines each, ${rounds.length} rounds.`;
  return writeTable('bench', `${heading}\n${await machineText(admin)}`, linesOf(measured));
}
