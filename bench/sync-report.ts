// The sync bench's numbers held against their goals.
import type { Pool } from 'pg';
import type { ReadsResult } from './sync-reads.ts';
import { quantilesOf } from './sync-reads.ts';
import type { Round } from './sync-throughput.ts';
import { type Goal, type Line, machineText, median, writeTable } from './table.ts';

export type Measured = {
  readonly records: number;
  readonly rounds: readonly Round[];
  readonly parsing: readonly number[];
  readonly memory: readonly { readonly count: number; readonly idle: number; readonly peak: number }[];
  readonly resume: { readonly leaseMs: number; readonly kills: readonly { readonly totalMs: number; readonly leaseLeftMs: number }[] };
  readonly reads: readonly ReadsResult[];
};

const plain = (measure: string, unit: string, digits: number, values: readonly number[]): Line => ({
  measure,
  goal: null,
  unit,
  values,
  digits,
});
const goal = (measure: string, unit: string, digits: number, wanted: Goal, values: readonly number[]): Line => ({
  ...plain(measure, unit, digits, values),
  goal: wanted,
});
const ratio = (measure: string, wanted: Goal, values: readonly number[]): Line => goal(measure, '', 2, wanted, values);
const atMost = (bound: number): Goal => ({ target: bound, floor: bound, atMost: true });

function goalLines({ rounds, parsing, memory, reads }: Measured): Line[] {
  const ratios = (of: (round: Round) => number): number[] => rounds.map(of);
  const parsed = median(parsing);
  return [
    ratio(
      'first load, received page → published, rate / COPY',
      { target: 0.65, floor: 0.55 },
      ratios(({ seconds }) => seconds.copyFirst / seconds.first),
    ),
    plain(
      "first load with NetSuite's parsing added",
      '',
      2,
      ratios(({ seconds }) => seconds.copyFirst / (seconds.first + parsed)),
    ),
    ratio(
      'new rows merged into a live table, rate / COPY',
      { target: 0.5, floor: 0.5 },
      ratios(({ seconds }) => seconds.copyNew / seconds.added),
    ),
    ratio(
      're-sync, 1 % changed, rate / COPY',
      { target: 2, floor: 1.5 },
      ratios(({ seconds }) => seconds.copyFirst / seconds.again),
    ),
    ratio(
      'WAL of that re-sync / of an ON CONFLICT merge',
      atMost(0.2),
      ratios(({ walBytes }) => walBytes.again / walBytes.merge),
    ),
    goal('RSS, peak of the service, largest of the three sizes', ' MB', 0, atMost(200), [Math.max(...memory.map(({ peak }) => peak))]),
    ratio(
      'p99 of reads at 30 % of saturation while half of the records are published, and a second on / idle p99',
      atMost(2),
      reads.map(({ publish, idle }) => publish.p99 / idle.p99),
    ),
    plain(
      'the same over the whole run, reading and staging included',
      '',
      2,
      reads.map(({ run, idle }) => run.p99 / idle.p99),
    ),
  ];
}

function processLines({ rounds, memory, resume: { leaseMs, kills } }: Measured): Line[] {
  const commits = (quantile: 'p50' | 'p99'): number[] => rounds.map(({ commitsMs }) => quantilesOf(commitsMs)[quantile]);
  const seconds = (of: (kill: Measured['resume']['kills'][number]) => number): number[] => kills.map((kill) => of(kill) / 1000);
  return [
    ...memory.map(({ count, idle, peak }) => plain(`RSS, peak at ${count} records (idle ${idle.toFixed(0)} MB)`, ' MB', 0, [peak])),
    plain('page of 1,000 committed, p50 of each round', ' ms', 1, commits('p50')),
    plain('page of 1,000 committed, p99 of each round', ' ms', 1, commits('p99')),
    plain(
      `kill -9 → first page of another process, lease of ${leaseMs / 1000} s included`,
      ' s',
      2,
      seconds(({ totalMs }) => totalMs),
    ),
    plain(
      'of which what was left of the lease',
      ' s',
      2,
      seconds(({ leaseLeftMs }) => leaseLeftMs),
    ),
    plain(
      'and the rest',
      ' s',
      2,
      seconds(({ totalMs, leaseLeftMs }) => totalMs - leaseLeftMs),
    ),
  ];
}

function rateLines({ records, rounds, parsing, reads }: Measured): Line[] {
  const rate = (measure: string, of: keyof Round['seconds']): Line =>
    plain(
      `${measure}, thousand rows/s`,
      '',
      1,
      rounds.map(({ seconds }) => records / seconds[of] / 1000),
    );
  const cpu = (measure: string, of: keyof Round['cpu'], where: 'here' | 'postgres'): Line =>
    plain(
      `processor time per row, ${measure}`,
      ' µs',
      1,
      rounds.map((round) => (round.cpu[of][where] * 1e6) / records),
    );
  return [
    rate('COPY', 'copyFirst'),
    rate('first load', 'first'),
    rate('COPY into the live table', 'copyNew'),
    rate('new rows merged', 'added'),
    rate('re-sync', 'again'),
    rate('ON CONFLICT merge of the same rows', 'merge'),
    cpu('COPY, PostgreSQL', 'copyFirst', 'postgres'),
    cpu('first load, PostgreSQL', 'first', 'postgres'),
    cpu('first load, Node.js', 'first', 'here'),
    cpu('new rows merged, PostgreSQL', 'added', 'postgres'),
    cpu('new rows merged, Node.js', 'added', 'here'),
    cpu('re-sync, PostgreSQL', 'again', 'postgres'),
    cpu('re-sync, Node.js', 'again', 'here'),
    plain(
      'WAL of the re-sync',
      ' MB',
      1,
      rounds.map(({ walBytes }) => walBytes.again / 2 ** 20),
    ),
    plain(
      "NetSuite's parsing, µs per record",
      '',
      1,
      parsing.map((seconds) => (seconds / records) * 1e6),
    ),
    plain('saturation, requests/s', '', 0, [median(reads.map(({ saturation }) => saturation))]),
    plain(
      'idle p99',
      ' ms',
      1,
      reads.map(({ idle }) => idle.p99),
    ),
  ];
}

const linesOf = (measured: Measured): Line[] => [...goalLines(measured), ...processLines(measured), ...rateLines(measured)];

const settingNames = [
  'server_version',
  'fsync',
  'synchronous_commit',
  'full_page_writes',
  'wal_level',
  'wal_compression',
  'shared_buffers',
  'work_mem',
  'maintenance_work_mem',
  'max_wal_size',
  'checkpoint_timeout',
];

/** Prints the table and puts it into RESULTS.md; whether no floor was missed. */
export async function report(measured: Measured, admin: Pool, atDay: string): Promise<boolean> {
  const heading = `Run of ${atDay}: ${measured.records} records of 40 columns, 3 indexes, ${measured.rounds.length} rounds.`;
  return writeTable('bench:sync', `${heading}\n${await machineText(admin, settingNames)}`, linesOf(measured));
}
