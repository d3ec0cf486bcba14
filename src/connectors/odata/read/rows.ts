// From the entities of a response to records, or to the reason why one is rejected.
import type { RecordPage } from '../../connector.ts';
import { parseValue } from '../../http/json-value.ts';
import type { RecordRejection, SourceLine, SourceRecord, SourceValue } from '../../source-records.ts';
import { idField } from '../metadata/definition.ts';
import type { JsonObject, OdataHttp } from '../requests/http.ts';
import { toId, valueAt } from './keys.ts';
import { type IdentifiedRow, type RowPage, readLines } from './pages.ts';
import type { Column, Plan } from './plan.ts';

/** The name of an enumeration's member as people read it: Business Central writes spaces as `_x0020_`. */
const memberLabel = (member: SourceValue): SourceValue =>
  member?.replaceAll(/_x([\dA-Fa-f]{4})_/g, (_whole, code) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  ) ?? null;

function parseColumns(row: JsonObject, columns: readonly Column[], id: string | null) {
  const values: Record<string, SourceValue> = {};
  const labels: Record<string, SourceValue> = {};
  let problem: string | null = null;
  for (const { name, path, type } of columns) {
    const raw = name === idField && id !== null ? id : valueAt(row, path);
    const value = parseValue(raw, type);
    if (value === undefined)
      problem ??= raw === undefined ? `${name} is missing` : `${name} is not a valid ${type}`;
    else values[name] = value;
    if (type === 'list' || type === 'reference')
      labels[name] = type === 'list' ? memberLabel(value ?? null) : null;
  }
  return { values, labels, problem };
}

/** The lines with each label next to its value, or the first problem. Rejects as `readLines`. */
async function parseLines(
  http: OdataHttp,
  row: IdentifiedRow,
  { navigation, key, columns }: NonNullable<Plan['lines']>,
  signal: AbortSignal,
): Promise<SourceLine[] | string> {
  const { rows, counted } = await readLines(http, row, navigation, signal);
  if (counted !== null && counted !== rows.length)
    return `the ERP counts ${counted} lines and returned ${rows.length}`;
  const parts = key.map((path) => ({ path }));
  const ids = new Set(rows.map((line) => toId(parts, line)));
  if (key.length > 0 && ids.size < rows.length) return 'the ERP returned a line more than once';
  const lines: SourceLine[] = [];
  for (const line of rows) {
    const { values, labels, problem } = parseColumns(line, columns, null);
    if (problem !== null) return `line ${lines.length + 1}: ${problem}`;
    for (const [name, label] of Object.entries(labels)) values[`${name}.name`] = label;
    lines.push(values);
  }
  return lines;
}

async function toRecord(
  http: OdataHttp,
  { columns, modified, lines: ofLines }: Plan,
  identified: IdentifiedRow,
  signal: AbortSignal,
): Promise<SourceRecord | RecordRejection> {
  const { id, row } = identified;
  const { values, labels, problem } = parseColumns(row, columns, id);
  const reject = (code: string, message: string) => ({ id, code, message, values });
  if (problem !== null) return reject('VALUE_UNREADABLE', problem);
  const modifiedAt = modified === null ? null : (values[modified.name] ?? null);
  const lines = ofLines === null ? null : await parseLines(http, identified, ofLines, signal);
  if (typeof lines !== 'string') return { id, values, labels, modifiedAt, lines };
  return reject(lines.startsWith('line ') ? 'VALUE_UNREADABLE' : 'LINES_MISMATCH', lines);
}

/** The page's records, with all of their lines. Rejects as `readLines`. */
export async function toPage(
  http: OdataHttp,
  plan: Plan,
  { rows, hasMore, isUnordered, changeToken = null }: RowPage,
  signal: AbortSignal,
): Promise<RecordPage> {
  const records: SourceRecord[] = [];
  const rejected: RecordRejection[] = [];
  for (const row of rows) {
    const read = await toRecord(http, plan, row, signal);
    if ('labels' in read) records.push(read);
    else rejected.push(read);
  }
  const order = { lastId: rows.at(-1)?.id ?? null, hasMore, ...(isUnordered && { isUnordered }) };
  return { records, rejected, ...order, ...(changeToken !== null && { changeToken }) };
}
