// Checks whether the warehouse holds what the account held. People keep changing the account during a run, so a record may be as it
// was at any moment of the run; untouched records must be exactly equal. Pure.
import { isDeepStrictEqual } from 'node:util';
import type { RecordColumn } from '../../src/warehouse/columns.ts';
import type { RecordTypeName } from './plan.ts';
import type { TrueLine, TrueRecord, Truth } from './truth.ts';
import type { View, ViewRow } from './warehouse-view.ts';

/** What a green run guarantees beyond changes that have a modification time. See docs/decisions/sync.md on labels inside lines. */
export type Claim = {
  /** Labels inside lines. */
  readonly lineLabels: boolean;
  /** Labels, and values that change without a modification time, of records that were closed when they were last read. */
  readonly closedRecords: boolean;
};
export const claimOf = (run: { mode: string; proof: readonly { check: string }[] }): Claim => ({
  lineLabels: run.mode === 'full',
  closedRecords: run.mode === 'full' || run.proof.some(({ check }) => check === 'scan'),
});

const silentFields = new Set(['closedate', 'foreignamountpaid', 'foreignamountunpaid', 'status', 'voided']);
const isBehind = ({ part, field }: RecordColumn): boolean => part === 'label' || silentFields.has(field);

function isClosed(recordType: RecordTypeName, { columns }: View, row: ViewRow): boolean {
  const cell = (field: string): string | null =>
    row.cells[columns.findIndex((column) => column.field === field && column.part === 'value')] ?? null;
  if (recordType === 'invoice' || recordType === 'creditMemo') return cell('foreignamountunpaid') === '0';
  return recordType === 'customerPayment' && ['C', 'R'].includes(cell('status') ?? '');
}

type Line = Readonly<Record<string, string | number | boolean>>;
type LineFields = NonNullable<RecordColumn['lineFields']>;

function expectedLine(line: TrueLine, fields: LineFields, claim: Claim): Line {
  const shown = fields.filter(({ name }) => claim.lineLabels || !name.endsWith('.name'));
  return Object.fromEntries(
    shown.flatMap(({ name, type }): [string, Line[string]][] => {
      const text = line.get(name) ?? null;
      if (text === null) return [];
      if (type === 'number' || type === 'integer') return [[name, Number(text)]];
      return [[name, type === 'boolean' ? text === 'true' : text]];
    }),
  );
}

const storedLine = (line: Line, claim: Claim): Line =>
  claim.lineLabels ? line : Object.fromEntries(Object.entries(line).filter(([name]) => !name.endsWith('.name')));

const byText = (a: unknown, b: unknown): number => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1);
/** Applications of a payment have no order of their own. */
const inOrder = (recordType: RecordTypeName, lines: readonly Line[]): readonly Line[] =>
  recordType === 'customerPayment' ? lines.toSorted(byText) : lines;

function hasLines(recordType: RecordTypeName, cell: string | null, column: RecordColumn, record: TrueRecord, claim: Claim): boolean {
  const stored = (JSON.parse(cell ?? '[]') as Line[]).map((line) => storedLine(line, claim));
  const expected = (record.lines ?? []).map((line) => expectedLine(line, column.lineFields ?? [], claim));
  return isDeepStrictEqual(inOrder(recordType, stored), inOrder(recordType, expected));
}

function hasCell(recordType: RecordTypeName, cell: string | null, column: RecordColumn, record: TrueRecord, claim: Claim): boolean {
  if (column.part === 'lines') return hasLines(recordType, cell, column, record, claim);
  return cell === (record.cells.get(column.part === 'label' ? `${column.field}.name` : column.field) ?? null);
}

const shorten = (text: string | null): string => (text === null ? 'nothing' : text.length > 160 ? `${text.slice(0, 160)}…` : text);

/** Descriptions of differences, at most a few; none when the warehouse is right. The last of `versions` is the account's present state. */
export function differences(recordType: RecordTypeName, view: View, versions: readonly Truth[], claim: Claim): string[] {
  const found: string[] = [];
  if (view.rowCount !== view.rows.size) found.push(`${recordType}: says ${view.rowCount} rows and has ${view.rows.size}`);
  for (const id of versions[0]?.keys() ?? [])
    if (!view.rows.has(id) && versions.every((version) => version.has(id)))
      found.push(`${recordType} ${id} is in the account and not here`);
  for (const [id, row] of view.rows) {
    const records = versions.flatMap((version) => version.get(id) ?? []);
    if (records.length === 0) found.push(`${recordType} ${id} is here and not in the account`);
    const behindIsOpen = claim.closedRecords || !isClosed(recordType, view, row);
    for (const [index, column] of records.length === 0 ? [] : view.columns.entries()) {
      if (column.state !== 'live' || (!behindIsOpen && isBehind(column))) continue;
      const cell = row.cells[index] ?? null;
      if (records.some((record) => hasCell(recordType, cell, column, record, claim))) continue;
      const last = records.at(-1);
      const wanted =
        column.part === 'lines' ? JSON.stringify(last?.lines?.map((line) => [...line].filter(([, value]) => value !== null))) : undefined;
      const name = column.part === 'label' ? `${column.field}.name` : column.field;
      found.push(`${recordType} ${id} ${name}: here ${shorten(cell)}, in the account ${shorten(wanted ?? last?.cells.get(name) ?? null)}`);
    }
  }
  return found.slice(0, 8);
}
