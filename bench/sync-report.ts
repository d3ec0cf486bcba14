// Compares the results of the sync benchmark with their goals.
import type { Pool } from 'pg';
import type { ReadsResult } from './sync-reads.ts';
import { computeQuantiles } from './sync-reads.ts';
import type { Round } from './sync-throughput.ts';
import { describeMachine, type Goal, type Line, median, writeTable } from './table.ts';

export type Measured = {
  readonly records: number;
  readonly rounds: readonly Round[];
  readonly parsing: readonly number[];
  readonly memory: readonly { readonly count: number; readonly idle: number; readonly peak: number }[];
  readonly resume: {
    readonly leaseMs: number;
    readonly kills: readonly { readonly totalMs: number; readonly leaseLeftMs: number }[];
  };
  readonly reads: readonly ReadsResult[];
};

const plain = (measure: string, unit: string, digits: number, values: readonly number[]): Line => ({
  measure,
  goal: null,
  unit,
  values,
  digits,
});
const goal = (
  measure: string,
  unit: string,
  digits: number,
  wanted: Goal,
  values: readonly number[],
): Line => ({
  ...plain(measure, unit, digits, values),
  goal: wanted,
});
const ratio = (measure: string, wanted: Goal, values: readonly number[]): Line =>
  goal(measure, '', 2, wanted, values);
const atMost = (bound: number): Goal => ({ target: bound, floor: bound, lowerIsBetter: true });

function goalLines({ rounds, parsing, memory, reads, records }: Measured): Line[] {
  const ratios = (of: (round: Round) => number): number[] => rounds.map(of);
  const parsed = median(parsing);
  return [
    ratio(
      'first load, received page → published, rate / COPY',
      { target: 0.65, floor: 0.55 },
      ratios(({ seconds }) => seconds.copyFirstLoad / seconds.firstLoad),
    ),
    plain(
      'first load with NetSuite parsing added, rate / COPY',
      '',
      2,
      ratios(({ seconds }) => seconds.copyFirstLoad / (seconds.firstLoad + parsed)),
    ),
    plain(
      'new rows merged into a live table, rate / COPY',
      '',
      2,
      ratios(({ seconds }) => seconds.copyNewRows / seconds.newRows),
    ),
    plain(
      're-sync, 1 % changed, rate / COPY',
      '',
      2,
      ratios(({ seconds }) => seconds.copyFirstLoad / seconds.resync),
    ),
    // An ERP delivers some thousand records a second: what a record costs counts, not how fast all could be.
    goal(
      're-sync, 1 % changed, CPU time of Node.js per record',
      ' µs',
      1,
      { target: 25, floor: 30, lowerIsBetter: true },
      rounds.map(({ cpu }) => (cpu.resync.node * 1e6) / records),
    ),
    ratio(
      'WAL of that re-sync / of an ON CONFLICT merge',
      atMost(0.2),
      ratios(({ walBytes }) => walBytes.resync / walBytes.merge),
    ),
    goal('RSS, peak of the service, largest of the three sizes', ' MB', 0, atMost(200), [
      Math.max(...memory.map(({ peak }) => peak)),
    ]),
    ratio(
      'reads at 30 % of saturation: p99 during a publish of half of the records and one second after / idle p99',
      atMost(2),
      reads.map(({ publish, idle }) => publish.p99 / idle.p99),
    ),
    plain(
      '… p99 over the whole run, with reading and staging / idle p99',
      '',
      2,
      reads.map(({ run, idle }) => run.p99 / idle.p99),
    ),
  ];
}

function processLines({ rounds, memory, resume: { leaseMs, kills } }: Measured): Line[] {
  const commits = (quantile: 'p50' | 'p99'): number[] =>
    rounds.map(({ commitsMs }) => computeQuantiles(commitsMs)[quantile]);
  const seconds = (of: (kill: Measured['resume']['kills'][number]) => number): number[] =>
    kills.map((kill) => of(kill) / 1000);
  return [
    ...memory.map(({ count, idle, peak }) =>
      plain(`RSS, peak at ${count} records (idle ${idle.toFixed(0)} MB)`, ' MB', 0, [peak]),
    ),
    plain('page of 1,000 committed, p50 of each round', ' ms', 1, commits('p50')),
    plain('page of 1,000 committed, p99 of each round', ' ms', 1, commits('p99')),
    plain(
      `kill -9 → first page of another process, including the lease of ${leaseMs / 1000} s`,
      ' s',
      2,
      seconds(({ totalMs }) => totalMs),
    ),
    plain(
      '… of which remaining lease',
      ' s',
      2,
      seconds(({ leaseLeftMs }) => leaseLeftMs),
    ),
    plain(
      '… of which the rest',
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
  const cpu = (measure: string, of: keyof Round['cpu'], where: 'node' | 'postgres'): Line =>
    plain(
      `CPU time per row, ${measure}`,
      ' µs',
      1,
      rounds.map((round) => (round.cpu[of][where] * 1e6) / records),
    );
  return [
    rate('COPY', 'copyFirstLoad'),
    rate('first load', 'firstLoad'),
    rate('COPY into the live table', 'copyNewRows'),
    rate('new rows merged', 'newRows'),
    rate('re-sync', 'resync'),
    rate('ON CONFLICT merge of the same rows', 'merge'),
    cpu('COPY, PostgreSQL', 'copyFirstLoad', 'postgres'),
    cpu('first load, PostgreSQL', 'firstLoad', 'postgres'),
    cpu('first load, Node.js', 'firstLoad', 'node'),
    cpu('new rows merged, PostgreSQL', 'newRows', 'postgres'),
    cpu('new rows merged, Node.js', 'newRows', 'node'),
    cpu('re-sync, PostgreSQL', 'resync', 'postgres'),
    cpu('re-sync, Node.js', 'resync', 'node'),
    plain(
      'WAL of the re-sync',
      ' MB',
      1,
      rounds.map(({ walBytes }) => walBytes.resync / 2 ** 20),
    ),
    plain(
      'NetSuite parsing, µs per record',
      '',
      1,
      parsing.map((seconds) => (seconds / records) * 1e6),
    ),
    plain('reads at saturation, requests/s', '', 0, [median(reads.map(({ saturation }) => saturation))]),
    plain(
      'reads at 30 % of saturation, idle p99',
      ' ms',
      1,
      reads.map(({ idle }) => idle.p99),
    ),
  ];
}

const createLines = (measured: Measured): Line[] => [
  ...goalLines(measured),
  ...processLines(measured),
  ...rateLines(measured),
];

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

/** Prints the table and writes it to RESULTS.md. Resolves to whether no floor was missed. */
export async function reportSync(measured: Measured, admin: Pool, atDay: string): Promise<boolean> {
  const heading = `Run of ${atDay}: ${measured.records} records of 40 columns, 3 indexes, ${measured.rounds.length} rounds.`;
  return writeTable(
    'sync',
    `${heading}\n${await describeMachine(admin, settingNames)}`,
    createLines(measured),
  );
}
