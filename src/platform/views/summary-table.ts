// The summary of a view as people see it in a mail: its rows under the ERP's labels.
import type { TenantCtx } from '../../core/ctx.ts';
import { parseExact } from '../../core/text/exact-json.ts';
import type { CallerRights, RecordReader, SummaryColumn } from '../../public/index.ts';
import { findDescription } from '../../sync/index.ts';
import { toSummaryQuery } from './view-summary.ts';
import {
  createLabeler,
  type Fields,
  maxRecordsInMail,
  readViewTable,
  type ViewColumn,
  type ViewTable,
} from './view-table.ts';
import type { ViewRow } from './views.store.ts';

type Row = Readonly<Record<string, unknown>>;

const words = {
  sum: 'Sum of',
  avg: 'Average of',
  min: 'Minimum of',
  max: 'Maximum of',
  count_distinct: 'Distinct values of',
} as const;
const toKey = ({ path }: SummaryColumn): string => path.join('.');

function labelOfColumn({ source, function: name, period }: SummaryColumn, label: (source: string) => string) {
  if (source === null || name === 'count') return 'Records';
  if (name !== null) return `${words[name]} ${label(source)}`;
  return period === null ? label(source) : `${label(source)} (${period})`;
}

/** How a column's values are written. Periods are texts such as `2026-10`. */
function typeOfColumn({ function: name, period, type }: SummaryColumn): string | null {
  if (name === 'count' || name === 'count_distinct') return 'integer';
  return period === null ? type : 'text';
}

function toViewColumns(columns: readonly SummaryColumn[], fields: Fields): ViewColumn[] {
  const label = createLabeler(fields, {
    columns: columns.flatMap(({ source, function: name }) =>
      source === null || name !== null ? [] : [source],
    ),
  });
  const amounts = new Map(
    fields.flatMap(({ name, currency }) => (currency === undefined ? [] : [[name, currency]])),
  );
  const groups = new Set(columns.filter(({ function: name }) => name === null).map(toKey));
  return columns.map((column) => {
    const { source, function: name } = column;
    const currency =
      name === null || name === 'count_distinct' || source === null ? undefined : amounts.get(source);
    const named = currency && groups.has(`${currency}.name`) ? `${currency}.name` : null;
    const amount = currency === undefined ? null : { currency: named, isNamed: named !== null };
    return {
      name: toKey(column),
      source: name === 'count' ? null : source,
      label: labelOfColumn(column, label),
      type: typeOfColumn(column),
      amount,
      ...(name === null && { empty: '(none)' }),
    };
  });
}

const valueAt = (row: unknown, path: readonly string[]): unknown =>
  path.reduce((part, key) => (part as Row | undefined)?.[key], row);

/**
 * What mails and the portal show of the view: the first rows of its summary, or its first records when it has none.
 * Throws 503 while the records can't be read.
 */
export async function readViewContent(
  records: RecordReader,
  tenant: TenantCtx,
  view: ViewRow,
  rights: CallerRights,
  page = { page: 1, pageSize: maxRecordsInMail },
): Promise<ViewTable> {
  const query = toSummaryQuery(view);
  if (query === undefined) return readViewTable(records, tenant, view, rights, page);
  const fields = (await findDescription(tenant, view.record_type))?.fields ?? [];
  const shown = { ...query, limit: Math.min(query.limit, maxRecordsInMail) };
  const { rows, columns, total, syncedAt, problems } = await records.summarize(tenant, shown, rights);
  return {
    unit: 'row',
    columns: toViewColumns(columns, fields),
    records: (parseExact(rows) as Row[]).map((row) =>
      Object.fromEntries(columns.map((column) => [toKey(column), valueAt(row, column.path)])),
    ),
    total: Math.min(total, query.limit),
    syncedAt,
    problems: problems.map(({ message }) => message),
  };
}
