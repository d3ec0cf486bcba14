// Random invoices, and summaries of them as SQL written by hand: nothing here is shared with what it judges.
import { createRandom } from '../../setup/random.ts';
import { fieldsWith, type InvoiceRow, invoicesEndpoint } from '../fixture.ts';

const functions = ['sum', 'avg', 'min', 'max', 'count_distinct'];
const periods = ['day', 'week', 'month', 'quarter', 'year'];

/** The status serves as the currency where the metadata says so. */
export const summarizedInvoices = {
  ...invoicesEndpoint,
  fields: fieldsWith({ customer: { scopable: true }, status: { scopable: true } }),
  filters: [
    ...invoicesEndpoint.filters,
    { field: 'customer', operators: ['eq', 'not', 'null'] },
    { field: 'lines.item', operators: ['eq'] },
    { field: 'lines.quantity', operators: ['gt'] },
  ],
  search: ['number', 'customerName'],
  or: true,
  aggregates: [
    { field: 'total', functions },
    { field: 'seq', functions, currency: 'none' },
    { field: 'date', functions: ['min', 'max', 'count_distinct'] },
    { field: 'modified', functions: ['min', 'max', 'count_distinct'] },
    { field: 'customerName', functions: ['count_distinct'] },
    { field: 'paid', functions: ['count_distinct'] },
  ],
  groups: [
    'number',
    'status',
    'paid',
    'seq',
    'total',
    'customer',
    { field: 'date', periods },
    { field: 'modified', periods },
  ],
};

const two = (value: number): string => String(value).padStart(2, '0');

export function randomInvoices(count: number, seed: number): InvoiceRow[] {
  const { below, pick } = createRandom(seed);
  const day = (): string => `${2024 + below(3)}-${two(1 + below(12))}-${two(1 + below(28))}`;
  return Array.from({ length: count }, (_, index) => {
    const customer = below(9);
    return {
      id: index + 1,
      tranid: `INV-${below(40)}`,
      status: pick(['USD', 'EUR', 'a "quoted" \\ one', null]),
      total: pick([
        null,
        `${below(9) - 4}.${two(below(100))}`,
        `${below(1000)}`,
        '12345678901234567890.123456789',
        '-0.10',
      ]),
      seq: pick([null, String(below(6)), '9007199254740993']),
      paid: pick([true, false, null]),
      trandate: pick([null, day(), day(), day()]),
      lastmodified: pick([null, `${day()}T${two(below(24))}:${two(below(60))}:07.25Z`, `${day()}T23:30:00Z`]),
      entity: customer === 0 ? null : `c${customer}`,
      entityName: customer === 0 ? null : `Customer ${customer % 4}`,
      lines: pick([
        null,
        '[]',
        JSON.stringify([
          { item: pick(['a', 'b']), quantity: below(5) },
          { item: 'c', quantity: below(9) },
        ]),
      ]),
    };
  });
}

const columns: Readonly<Record<string, string>> = {
  number: 'f_tranid',
  status: 'f_status',
  total: 'f_total',
  seq: 'f_seq',
  paid: 'f_paid',
  customer: 'f_entity',
  customerName: 'l_entity',
};

const periodSql: Readonly<Record<string, (day: string) => string>> = {
  day: (day) => `to_char(${day}, 'YYYY-MM-DD')`,
  week: (day) => `to_char(${day} - (extract(isodow from ${day})::int - 1), 'YYYY-MM-DD')`,
  month: (day) => `to_char(${day}, 'YYYY-MM')`,
  quarter: (day) => `extract(year from ${day}) || '-Q' || ceil(extract(month from ${day}) / 3.0)`,
  year: (day) => `extract(year from ${day})::text`,
};

/** `utcOffsetMinutes`: of the days of times. */
export function keySql(name: string, utcOffsetMinutes: number): string {
  const [field = '', period] = name.split('.');
  if (period === undefined) return columns[field] ?? '';
  const shifted = `(f_lastmodified at time zone 'UTC' + ${utcOffsetMinutes} * interval '1 minute')::date`;
  return `(${periodSql[period]?.(field === 'date' ? 'f_trandate' : shifted)}) collate "C"`;
}

const timeText = (sql: string): string =>
  `to_char(${sql} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** Numbers and dates as text; a time with milliseconds; of an average, the values. */
export function functionSql(name: string, field: string): string {
  const column = columns[field] ?? (field === 'date' ? 'f_trandate' : 'f_lastmodified');
  if (name === 'count_distinct') return `count(distinct ${column})::int`;
  if (name === 'avg') return `array_agg(${column}::text)`;
  if (field === 'total' && name !== 'sum') return `trim_scale(${name}(${column}))::text`;
  return field === 'modified' ? timeText(`${name}(${column})`) : `${name}(${column})::text`;
}

/** Filters as a query and as SQL. */
export const filters: readonly (readonly [string, string])[] = [
  ['', 'true'],
  ['status=USD&status=EUR', "f_status in ('USD', 'EUR')"],
  ['paid=true', 'f_paid'],
  ['total_gte=0&total_lt=500', 'f_total >= 0 and f_total < 500'],
  ['date_after=2025-03-31&seq_null=false', "f_trandate > '2025-03-31' and f_seq is not null"],
  ['customerName_contains=mer%202', "l_entity ilike '%mer 2%'"],
  ['number_starts_with=INV-1', "f_tranid ilike 'INV-1%'"],
  ['customer_not=c1&customer_not=c2', "(f_entity is null or f_entity not in ('c1', 'c2'))"],
  ['modified_before=2025-06-15', "f_lastmodified < '2025-06-15T00:00:00Z'"],
  ['status=none', 'false'],
  ['q=mer%201', "(f_tranid ilike '%mer 1%' or l_entity ilike '%mer 1%')"],
  ['or=(status:eq:USD,seq:gt:3)&paid=false', "(f_status = 'USD' or f_seq > 3) and not f_paid"],
  ['lines.item=a', `exists (select from jsonb_array_elements(f_lines) as l where l ->> 'item' = 'a')`],
  [
    'lines.quantity_gt=5&total_gt=0',
    `exists (select from jsonb_array_elements(f_lines) as l where (l ->> 'quantity')::int > 5) and f_total > 0`,
  ],
];

export const aggregateNames: readonly (readonly [name: string, field: string])[] =
  summarizedInvoices.aggregates.flatMap(({ field, functions: names }) =>
    names.map((name) => [name, field] as const),
  );

export const groupNames: readonly string[] = summarizedInvoices.groups.flatMap((group) =>
  typeof group === 'string' ? [group] : group.periods.map((period) => `${group.field}.${period}`),
);
