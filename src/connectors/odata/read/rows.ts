// From the entities of a response to records, or to the reason why one is rejected.
import type { RecordPage } from '../../connector.ts';
import type { RecordRejection, SourceLine, SourceRecord, SourceValue } from '../../source-records.ts';
import { idField } from '../metadata/definition.ts';
import type { JsonObject, OdataHttp } from '../requests/http.ts';
import { valueAt } from './keys.ts';
import { type IdentifiedRow, type RowPage, readLines } from './pages.ts';
import type { Column, Plan } from './plan.ts';
import { memberLabel, parseValue } from './values.ts';

function parseColumns(row: JsonObject, columns: readonly Column[], id: string | null) {
  const values: Record<string, SourceValue> = {};
  const labels: Record<string, SourceValue> = {};
  let problem: string | null = null;
  for (const { name, path, type } of columns) {
    const value = parseValue(name === idField && id !== null ? id : valueAt(row, path), type);
    if (value === undefined) problem ??= `${name} is not a valid ${type}`;
    else values[name] = value;
    if (type === 'list' || type === 'reference')
      labels[name] = type === 'list' ? memberLabel(value ?? null) : null;
  }
  return { values, labels, problem };
}

/** With each label next to its value, or the first problem. */
function parseLine(row: JsonObject, columns: readonly Column[]): SourceLine | string {
  const { values, labels, problem } = parseColumns(row, columns, null);
  const named = Object.entries(labels).map(([name, label]) => [`${name}.name`, label]);
  return problem ?? { ...values, ...Object.fromEntries(named) };
}

async function toRecord(
  http: OdataHttp,
  { columns, modified, lines: lineColumns, definition }: Plan,
  { id, row }: IdentifiedRow,
  signal: AbortSignal,
): Promise<SourceRecord | RecordRejection> {
  const { values, labels, problem } = parseColumns(row, columns, id);
  const reject = (message: string) => ({ id, code: 'VALUE_UNREADABLE', message, values });
  if (problem !== null) return reject(problem);
  const header = {
    id,
    values,
    labels,
    modifiedAt: modified === null ? null : (values[modified.name] ?? null),
  };
  if (lineColumns === null || definition.lines === null) return { ...header, lines: null };
  const rows = await readLines(http, row, definition.lines, signal);
  const lines = rows.map((line) => parseLine(line, lineColumns));
  const index = lines.findIndex((line) => typeof line === 'string');
  if (index !== -1) return reject(`line ${index + 1}: ${String(lines[index])}`);
  return { ...header, lines: lines.filter((line) => typeof line !== 'string') };
}

/** The page's records, with all of their lines. Rejects as `readLines`. */
export async function toPage(
  http: OdataHttp,
  plan: Plan,
  { rows, hasMore, deltaLink = null }: RowPage,
  signal: AbortSignal,
): Promise<RecordPage> {
  const records: SourceRecord[] = [];
  const rejected: RecordRejection[] = [];
  for (const row of rows) {
    const read = await toRecord(http, plan, row, signal);
    if ('labels' in read) records.push(read);
    else rejected.push(read);
  }
  const lastId = rows.at(-1)?.id ?? null;
  return { records, rejected, lastId, hasMore, ...(deltaLink !== null && { changeToken: deltaLink }) };
}
