// The bench's numbers as a table, held against their goals, and its place in RESULTS.md.
import { readFile, writeFile } from 'node:fs/promises';
import { cpus, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Pool } from 'pg';
import type { ReadsResult } from './sync-reads.ts';
import { quantilesOf } from './sync-reads.ts';
import type { Round } from './sync-throughput.ts';

const file = fileURLToPath(new URL('./RESULTS.md', import.meta.url));
const begin = '<!-- npm run bench:sync writes from here -->';
const end = '<!-- to here -->';

export type Measured = {
  readonly records: number;
  readonly rounds: readonly Round[];
  readonly parsing: readonly number[];
  readonly memory: readonly { readonly count: number; readonly idle: number; readonly peak: number }[];
  readonly resume: { readonly leaseMs: number; readonly kills: readonly { readonly totalMs: number; readonly leaseLeftMs: number }[] };
  readonly reads: readonly ReadsResult[];
};

type Goal = { readonly target: number; readonly floor: number; readonly atMost?: boolean };
type Line = {
  readonly measure: string;
  readonly goal: Goal | null;
  readonly unit: string;
  readonly values: readonly number[];
  readonly digits: number;
};

const median = (values: readonly number[]): number => quantilesOf(values).p50;
const shown = (value: number, { digits, unit }: Line): string => `${value.toFixed(digits)}${unit}`;

function gotOf(line: Line): string {
  const { values } = line;
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return values.length === 1
    ? shown(low, line)
    : `${shown(median(values), line)} (${low.toFixed(line.digits)}–${high.toFixed(line.digits)})`;
}
/** By the median: met, above the floor at least, or missed. */
function verdictOf({ goal, values }: Line): 'met' | 'above the floor' | 'missed' | '' {
  if (goal === null) return '';
  const got = median(values);
  const reaches = (bound: number): boolean => (goal.atMost === true ? got <= bound : got >= bound);
  return reaches(goal.target) ? 'met' : reaches(goal.floor) ? 'above the floor' : 'missed';
}

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

async function machineText(admin: Pool): Promise<string> {
  const { rows } = await admin.query<{ name: string; value: string }>(
    'select name, current_setting(name) as value from unnest($1::text[]) with ordinality s(name, n) order by n',
    [settingNames],
  );
  const [cpu] = cpus();
  return [
    `${cpus().length} cores (${cpu?.model.trim()}), ${Math.round(totalmem() / 2 ** 30)} GB; Node.js ${process.versions.node} with ${process.execArgv.join(' ') || 'no flags'};`,
    `embedded PostgreSQL on the same machine: ${rows.map(({ name, value }) => `${name} ${value}`).join(', ')}.`,
  ].join('\n');
}

/** Prints the table and puts it into RESULTS.md; whether no floor was missed. */
export async function report(measured: Measured, admin: Pool, atDay: string): Promise<boolean> {
  const lines = linesOf(measured);
  const bound = (value: number | undefined, { goal }: Line, { unit }: Line): string =>
    value === undefined ? '' : `${goal?.atMost === true ? '≤' : '≥'} ${value}${unit}`;
  const table = [
    '| measure | target | floor | got: median (min–max) | |',
    '|---|---|---|---|---|',
    ...lines.map(
      (line) =>
        `| ${line.measure} | ${bound(line.goal?.target, line, line)} | ${bound(line.goal?.floor, line, line)} | ${gotOf(line)} | ${verdictOf(line)} |`,
    ),
  ].join('\n');
  const heading = `Run of ${atDay}: ${measured.records} records of 40 columns, 3 indexes, ${measured.rounds.length} rounds.`;
  const text = `${heading}\n${await machineText(admin)}\n\n${table}`;
  console.log(`\n${text}`);
  const before = await readFile(file, 'utf8');
  const [from, to] = [before.indexOf(begin), before.indexOf(end)];
  if (from === -1 || to === -1) throw new Error('RESULTS.md has no place for the table');
  await writeFile(file, `${before.slice(0, from + begin.length)}\n${text}\n${before.slice(to)}`);
  return lines.every((line) => verdictOf(line) !== 'missed');
}
