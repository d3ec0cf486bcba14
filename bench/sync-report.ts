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

function linesOf({ records, rounds, parsing, memory, resume, reads }: Measured): Line[] {
  const ratio = (measure: string, goal: Goal | null, of: (round: Round) => number): Line => ({
    measure,
    goal,
    unit: '',
    values: rounds.map(of),
    digits: 2,
  });
  const plain = (measure: string, unit: string, digits: number, values: readonly number[]): Line => ({
    measure,
    goal: null,
    unit,
    values,
    digits,
  });
  const parsed = median(parsing);
  const sizes = memory.map(({ peak }) => peak);
  const thousand = (of: keyof Round['seconds']): number[] => rounds.map(({ seconds }) => records / seconds[of] / 1000);
  return [
    ratio(
      'first load, received page → published, rate / COPY',
      { target: 0.65, floor: 0.55 },
      ({ seconds }) => seconds.copyFirst / seconds.first,
    ),
    ratio("first load with NetSuite's parsing added", null, ({ seconds }) => seconds.copyFirst / (seconds.first + parsed)),
    ratio('new rows merged into a live table, rate / COPY', { target: 0.5, floor: 0.5 }, ({ seconds }) => seconds.copyNew / seconds.added),
    ratio('re-sync, 1 % changed, rate / COPY', { target: 2, floor: 1.5 }, ({ seconds }) => seconds.copyFirst / seconds.again),
    ratio(
      'WAL of that re-sync / of an ON CONFLICT merge',
      { target: 0.2, floor: 0.2, atMost: true },
      ({ walBytes }) => walBytes.again / walBytes.merge,
    ),
    {
      measure: 'RSS, peak of the service, largest of the three sizes',
      goal: { target: 200, floor: 200, atMost: true },
      unit: ' MB',
      values: [Math.max(...sizes)],
      digits: 0,
    },
    {
      measure: 'p99 of reads at 30 % of saturation while half of the records are published, and a second on / idle p99',
      goal: { target: 2, floor: 2, atMost: true },
      unit: '',
      values: reads.map(({ publish, idle }) => publish.p99 / idle.p99),
      digits: 2,
    },
    plain(
      'the same over the whole run, reading and staging included',
      '',
      2,
      reads.map(({ run, idle }) => run.p99 / idle.p99),
    ),
    ...memory.map(({ count, idle, peak }) => plain(`RSS, peak at ${count} records (idle ${idle.toFixed(0)} MB)`, ' MB', 0, [peak])),
    plain(
      'page of 1,000 committed, p50 of each round',
      ' ms',
      1,
      rounds.map(({ commitsMs }) => quantilesOf(commitsMs).p50),
    ),
    plain(
      'page of 1,000 committed, p99 of each round',
      ' ms',
      1,
      rounds.map(({ commitsMs }) => quantilesOf(commitsMs).p99),
    ),
    plain(
      `kill -9 → first page of another process, lease of ${resume.leaseMs / 1000} s included`,
      ' s',
      2,
      resume.kills.map(({ totalMs }) => totalMs / 1000),
    ),
    plain(
      'of which what was left of the lease',
      ' s',
      2,
      resume.kills.map(({ leaseLeftMs }) => leaseLeftMs / 1000),
    ),
    plain(
      'and the rest',
      ' s',
      2,
      resume.kills.map(({ totalMs, leaseLeftMs }) => (totalMs - leaseLeftMs) / 1000),
    ),
    plain('COPY, thousand rows/s', '', 1, thousand('copyFirst')),
    plain('first load, thousand rows/s', '', 1, thousand('first')),
    plain('COPY into the live table, thousand rows/s', '', 1, thousand('copyNew')),
    plain('new rows merged, thousand rows/s', '', 1, thousand('added')),
    plain('re-sync, thousand rows/s', '', 1, thousand('again')),
    plain('ON CONFLICT merge of the same rows, thousand rows/s', '', 1, thousand('merge')),
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
