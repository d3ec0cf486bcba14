// Formats a benchmark's results as a Markdown table with goals and verdicts, and writes it to its place in
// RESULTS.md.
import { readFile, writeFile } from 'node:fs/promises';
import { cpus, loadavg, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Pool } from 'pg';

const file = fileURLToPath(new URL('./RESULTS.md', import.meta.url));
const end = '<!-- to here -->';

/** `floor` is the worst acceptable value, `target` the wanted one. */
export type Goal = { readonly target: number; readonly floor: number; readonly lowerIsBetter?: boolean };
export type Line = {
  readonly measure: string;
  readonly goal: Goal | null;
  readonly unit: string;
  /** One per round. When empty, the row shows only `measure`. */
  readonly values: readonly number[];
  readonly digits: number;
};

/** A row with the values of several rounds, or with one value. */
export const toLine = (
  measure: string,
  values: number | readonly number[],
  unit: string,
  digits: number,
  goal: Goal | null = null,
): Line => ({
  measure,
  goal,
  unit,
  values: [values].flat(),
  digits,
});

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

export const p95 = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.ceil(values.length * 0.95) - 1] ?? Number.NaN;

function formatResult({ values, digits, unit }: Line): string {
  if (values.length === 0) return '';
  const shown = (value: number): string => value.toFixed(digits);
  const spread = values.length === 1 ? '' : ` (${shown(Math.min(...values))}–${shown(Math.max(...values))})`;
  return `${shown(median(values))}${unit}${spread}`;
}

/** Compares the median with the goal. */
function verdict({ goal, values }: Line): 'met' | 'floor met' | 'missed' | '' {
  if (goal === null || values.length === 0) return '';
  const got = median(values);
  const reaches = (bound: number): boolean => (goal.lowerIsBetter === true ? got <= bound : got >= bound);
  return reaches(goal.target) ? 'met' : reaches(goal.floor) ? 'floor met' : 'missed';
}

const readSettings = [
  'server_version',
  'shared_buffers',
  'work_mem',
  'effective_cache_size',
  'random_page_cost',
  'jit',
  'fsync',
  'max_parallel_workers_per_gather',
];

export function describeComputer(): string {
  const flags = process.execArgv.join(' ');
  return `${cpus().length} cores (${cpus()[0]?.model.trim()}), ${Math.round(totalmem() / 2 ** 30)} GB; Node.js ${process.versions.node}${flags === '' ? '' : ` with ${flags}`}`;
}

/** A line about other work on the machine; empty without any. */
export function describeLoad(): string {
  const [load = 0] = loadavg();
  return load > 1 ? `\nThe machine was shared: the load average was ${load.toFixed(1)}.` : '';
}

export async function describeMachine(
  admin: Pick<Pool, 'query'>,
  settingNames: readonly string[] = readSettings,
): Promise<string> {
  const { rows } = await admin.query<{ name: string; value: string }>(
    'select name, current_setting(name) as value from unnest($1::text[]) with ordinality s(name, n) order by n',
    [settingNames],
  );
  return [
    `${describeComputer()};`,
    `embedded PostgreSQL on the same machine: ${rows.map(({ name, value }) => `${name} ${value}`).join(', ')}.`,
  ].join('\n');
}

function formatRow(line: Line): string {
  const { goal, unit, measure } = line;
  const bound = (value: number | undefined): string =>
    value === undefined ? '' : `${goal?.lowerIsBetter === true ? '≤' : '≥'} ${value}${unit}`;
  return `| ${measure} | ${bound(goal?.target)} | ${bound(goal?.floor)} | ${formatResult(line)} | ${verdict(line)} |`;
}

/**
 * Prints the table and replaces the one in RESULTS.md after the marker of `npm run bench -- <name>`. Resolves to
 * whether no floor was missed. Throws when RESULTS.md has no such marker.
 */
export async function writeTable(name: string, heading: string, lines: readonly Line[]): Promise<boolean> {
  const rows = [
    '| measure | target | floor | result: median (min–max) | verdict |',
    '|---|---|---|---|---|',
    ...lines.map(formatRow),
  ];
  const text = `${heading}\n\n${rows.join('\n')}`;
  console.log(`\n${text}`);
  const before = await readFile(file, 'utf8');
  const begin = `<!-- npm run bench -- ${name} writes from here -->`;
  const from = before.indexOf(begin);
  const to = before.indexOf(end, from);
  if (from === -1 || to === -1) throw new Error(`RESULTS.md has no marker for the table of ${name}`);
  await writeFile(file, `${before.slice(0, from + begin.length)}\n${text}\n${before.slice(to)}`);
  return lines.every((line) => verdict(line) !== 'missed');
}
