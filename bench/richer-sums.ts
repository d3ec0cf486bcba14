// Compares random summaries with SQL written here, to the last digit: filters, `q`, `or`, filters on lines,
// groups and functions. Shares nothing with the code that writes the service's SQL.
import type { Pool } from 'pg';
import type { Invoices } from './reads-data.ts';
import { dates, statuses } from './reads-data.ts';
import { numberFunctions, periods, resource } from './richer-data.ts';

type Filter = { readonly parameter: string; readonly sql: string };
type Group = { readonly name: string; readonly sql: string };
type Measure = { readonly name: string; readonly field: string; readonly sql: string };
type Question = {
  readonly filters: readonly Filter[];
  readonly groups: readonly Group[];
  readonly measures: readonly Measure[];
};
type Row = Readonly<Record<string, unknown>>;

const below = (limit: number): number => Math.floor(Math.random() * limit);
const pick = <T>(list: readonly T[]): T => list[below(list.length)] as T;
const some = <T>(list: readonly T[], max: number): T[] =>
  [...list].sort(() => Math.random() - 0.5).slice(0, below(max + 1));

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;
const lineMatches = (condition: string): string =>
  `exists (select from jsonb_array_elements(f_lines) as l where ${condition})`;
const contains = (column: string, text: string): string =>
  `position(${quoted(text.toLowerCase())} in lower(${column})) > 0`;

/** Each filter with the SQL that selects the same records. */
const filters: readonly (() => Filter)[] = [
  () => {
    const chosen = [pick(statuses), pick(statuses)];
    return {
      parameter: chosen.map((status) => `statusName=${encodeURIComponent(status)}`).join('&'),
      sql: `l_status in (${chosen.map(quoted).join()})`,
    };
  },
  () => {
    const date = pick(dates);
    return { parameter: `trandate_after=${date}`, sql: `f_trandate > ${quoted(date)}` };
  },
  () => {
    const customer = String(below(10_000));
    return { parameter: `entity=${customer}`, sql: `f_entity = ${quoted(customer)}` };
  },
  () => {
    const total = `${below(90_000)}.${10 + below(90)}`;
    return { parameter: `total_gt=${total}`, sql: `f_total > ${total}` };
  },
  () => {
    const item = String(below(5_000));
    return { parameter: `lines.item=${item}`, sql: lineMatches(`l ->> 'item' = ${quoted(item)}`) };
  },
  () => {
    const rate = `${below(90_000)}.5`;
    return { parameter: `lines.rate_gt=${rate}`, sql: lineMatches(`(l ->> 'rate')::numeric > ${rate}`) };
  },
  () => {
    const text = pick([`lantern ${1 + below(999)}`, `ENTITY ${below(400)}`, `tranid-${below(5_000)}`]);
    const columns = ['f_tranid', 'l_entity', 'f_memo'];
    return {
      parameter: `q=${encodeURIComponent(text)}`,
      sql: `(${columns.map((column) => contains(column, text)).join(' or ')})`,
    };
  },
  () => {
    const [status, total, item] = [pick(statuses), below(90_000), String(below(5_000))];
    const text = `(statusName:eq:"${status}",total:gt:${total},lines.item:eq:${item})`;
    const conditions = [
      `l_status = ${quoted(status)}`,
      `f_total > ${total}`,
      lineMatches(`l ->> 'item' = ${quoted(item)}`),
    ];
    return { parameter: `or=${encodeURIComponent(text)}`, sql: `(${conditions.join(' or ')})` };
  },
];

const formats = {
  day: 'YYYY-MM-DD',
  week: 'YYYY-MM-DD',
  month: 'YYYY-MM',
  quarter: 'YYYY-"Q"Q',
  year: 'YYYY',
} as const;
const groups: readonly Group[] = [
  { name: 'statusName', sql: 'l_status' },
  { name: 'entity', sql: 'f_entity' },
  { name: 'paid', sql: 'f_paid' },
  ...['trandate', 'duedate'].flatMap((field) =>
    periods.map((period) => ({
      name: `${field}.${period}`,
      sql: `to_char(date_trunc('${period}', f_${field}::timestamp), '${formats[period]}')`,
    })),
  ),
];

const functionSql = (name: string, column: string): string => {
  if (name === 'count_distinct') return `count(distinct ${column})::int`;
  // PostgreSQL's own average keeps about 16 digits.
  if (name === 'avg')
    return `trim_scale(round((sum(${column}) + 0::numeric(60, 30)) / nullif(count(${column}), 0), 6))::text`;
  const isNumber = ['f_total', 'f_balance'].includes(column) && name !== 'sum';
  return isNumber ? `trim_scale(${name}(${column}))::text` : `${name}(${column})::text`;
};
const measures: readonly Measure[] = [
  ...['total', 'balance', 'seq'].flatMap((field) => numberFunctions.map((name) => ({ name, field }))),
  ...['min', 'max', 'count_distinct'].map((name) => ({ name, field: 'trandate' })),
].map(({ name, field }) => ({ name, field, sql: functionSql(name, `f_${field}`) }));

/**
 * At most one of each kind of filter: a second `q` or `or` is refused, and a repeated filter means any of its
 * values.
 */
const randomQuestion = (): Question => ({
  filters: some(filters, 3).map((make) => make()),
  groups: some(groups, 2),
  measures: some(measures, 4),
});

const buildPath = ({ filters: chosen, groups: by, measures: computed }: Question): string => {
  const parts = [
    'count=true',
    ...by.map(({ name }) => `by=${name}`),
    ...computed.map(({ name, field }) => `${name}=${field}`),
    ...chosen.map(({ parameter }) => parameter),
  ];
  return `/api/public/v1/${resource}/summary?${parts.join('&')}`;
};

async function expectedRows(admin: Pool, { schema, table }: Invoices, question: Question): Promise<Row[]> {
  const { groups: by, measures: computed, filters: chosen } = question;
  const keys = by.map(({ sql }, at) => `${sql} as k${at}`);
  const columns = [...keys, 'count(*)::int as n', ...computed.map(({ sql }, at) => `${sql} as m${at}`)];
  const where = chosen.length === 0 ? '' : ` where ${chosen.map(({ sql }) => sql).join(' and ')}`;
  const grouped = by.length === 0 ? '' : ` group by ${by.map((_group, at) => at + 1).join()}`;
  const inOrder = by.map(({ name }, at) => `k${at}${name === 'paid' ? '' : ' collate "C"'} nulls last`);
  const order = by.length === 0 ? '' : ` order by ${inOrder.join()}`;
  const { rows } = await admin.query<Row>(
    `select * from (select ${columns.join(', ')} from ${schema}.${table}${where}${grouped}) as g${order}`,
  );
  return rows.map((row) => {
    const shown: Record<string, unknown> = {};
    for (const [at, { name }] of by.entries()) shown[name] = row[`k${at}`];
    shown['count'] = row['n'];
    for (const [at, { name, field }] of computed.entries())
      shown[name] = { ...(shown[name] as object | undefined), [field]: row[`m${at}`] };
    return shown;
  });
}

const sorted = (value: unknown): unknown =>
  typeof value === 'object' && value !== null
    ? Object.fromEntries(
        Object.entries(value)
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([name, one]) => [name, sorted(one)]),
      )
    : value;
const toText = (rows: readonly Row[]): string => rows.map((row) => JSON.stringify(sorted(row))).join('\n');

const maxGroups = 1_000;

/** Every group: as JSON lines when there are more than one JSON response may have. */
async function readRows(
  url: string,
  headers: Readonly<Record<string, string>>,
  path: string,
): Promise<Row[]> {
  const response = await fetch(url + path, { headers });
  if (response.status === 200) return ((await response.json()) as { data: Row[] }).data;
  const text = await response.text();
  if (!text.includes('too_many_groups')) throw new Error(`${path}: ${response.status} ${text}`);
  const streamed = await fetch(url + path, { headers: { ...headers, Accept: 'application/x-ndjson' } });
  const rows = (await streamed.text())
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Row);
  if (streamed.status !== 200 || rows.length <= maxGroups)
    throw new Error(`${path}: ${streamed.status} with ${rows.length} rows`);
  return rows;
}

/** Rejects when a summary differs from the SQL; resolves to how many of them had any record. */
export async function compareSummaries(
  { url, headers }: { readonly url: string; readonly headers: Readonly<Record<string, string>> },
  admin: Pool,
  invoices: Invoices,
  count: number,
): Promise<number> {
  let filled = 0;
  for (let n = 0; n < count; n += 1) {
    const question = randomQuestion();
    const path = buildPath(question);
    const [found, expected] = [
      await readRows(url, headers, path),
      await expectedRows(admin, invoices, question),
    ];
    if (toText(found) !== toText(expected))
      throw new Error(
        `${path}\n${toText(found).slice(0, 1_000)}\ninstead of\n${toText(expected).slice(0, 1_000)}`,
      );
    if (expected.some((row) => row['count'] !== 0)) filled += 1;
  }
  return filled;
}
