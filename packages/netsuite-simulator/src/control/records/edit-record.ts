// Edits a record as raw values: nothing is computed from them, and only the modification time that `touch`
// names moves.
import type { PoolClient } from 'pg';
import { z } from 'zod';
import { parseColumnValue, parseTime, VALUE_HINTS } from '../../tables/column-value.ts';
import type { CustomField } from '../../tables/custom-fields.ts';
import type { RoleVisibility } from '../../tables/role-visibility.ts';
import { type AccountTable, quoteSqlName, SQL_TYPE, storedValue } from '../../tables/table.ts';
import { type ErrorDetail, invalid, notFound } from '../control-error.ts';
import type { RecordTable } from './record-tables.ts';

const Scalar = z.union(
  [z.string(), z.number(), z.boolean(), z.null()],
  'must be a text, a number, true, false or null',
);
export const GivenFields = z.record(z.string(), Scalar);
export type GivenFields = z.output<typeof GivenFields>;

const Touch = z
  .string('must be a text')
  .refine((text) => ['header', 'lines', 'none'].includes(text) || parseTime(text) !== undefined, {
    error: 'must be "header", "lines", "none" or a time such as "2011-08-22T09:30:00Z"',
  });
export const RecordEdit = z.strictObject({
  fields: GivenFields.optional(),
  lines: z.array(z.strictObject({ line: z.int(), fields: GivenFields })).optional(),
  touch: Touch.default('header'),
});
export type RecordEdit = z.output<typeof RecordEdit>;

/** What to write to a base row: values by column with their SQL types, and values in `extra` by name. */
export type RowChange = {
  columns: Map<string, { value: string | null; sqlType: string }>;
  extra: Map<string, string | null>;
};

/**
 * Throws ControlError 422, with the path below `path`, for an unknown or computed column and for a value that
 * doesn't fit.
 */
export function parseFields(
  role: RoleVisibility,
  table: AccountTable,
  fields: GivenFields,
  path: string,
): RowChange {
  const change: RowChange = { columns: new Map(), extra: new Map() };
  const problems: ErrorDetail[] = [];
  for (const [name, given] of Object.entries(fields)) {
    const problem = (message: string) => problems.push({ path: `${path}.${name}`, message });
    const column = table.columns.find((known) => known.name === name);
    const stored = column && storedValue(column);
    if (!column) problem(`is no column of ${table.name}`);
    else if (!stored) problem('is computed by the account and can’t be edited');
    else if (name === 'id' || name === 'uniquekey') problem('identifies the record and can’t be edited');
    else {
      const custom = role.customFields(table.name).find((field) => field.name === name);
      const value = parseColumnValue(column.kind, custom ? choiceId(custom, given) : given);
      if (value === undefined)
        problem(
          `must be ${VALUE_HINTS[column.kind]}${custom?.type === 'list' ? ' or an entry of the list' : ''}`,
        );
      else if (stored.place === 'extra') change.extra.set(stored.name, value);
      else change.columns.set(stored.name, { value, sqlType: SQL_TYPE[column.kind] });
    }
  }
  if (problems.length > 0) throw invalid(...problems);
  return change;
}

/** An entry of a list may be given by its name. */
const choiceId = ({ type, values }: CustomField, given: unknown): unknown =>
  (type === 'list' && values.find(({ name }) => name === given)?.id) || given;

/**
 * Applies the edit. Throws ControlError: 404 for an absent record, 422 for a bad value or an unknown line.
 * `now` is the account's time.
 */
export async function editRecord(
  client: PoolClient,
  role: RoleVisibility,
  { table, modified, hasLines }: RecordTable,
  id: string,
  edit: RecordEdit,
  now: Date,
): Promise<void> {
  const header = parseFields(role, table, edit.fields ?? {}, 'fields');
  if (edit.lines && !hasLines)
    throw invalid({ path: 'lines', message: `can’t be edited: records of ${table.name} have none` });
  if (edit.touch === 'lines' && !hasLines)
    throw invalid({ path: 'touch', message: `is "lines", and records of ${table.name} have none` });
  const at = edit.touch === 'header' || edit.touch === 'lines' ? now : parseTime(edit.touch);
  if (at && edit.touch !== 'lines')
    header.columns.set(modified, { value: at.toISOString(), sqlType: 'timestamptz' });
  const isFound = await updateRow(client, table.name, header, 'id = $1', [id]);
  if (!isFound) throw notFound(`The account has no ${table.name} with the id ${id}.`);
  const lineTable = role.known('transactionline');
  for (const [i, { line, fields }] of (edit.lines ?? []).entries()) {
    if (!lineTable) break;
    const change = parseFields(role, lineTable, fields, `lines[${i}].fields`);
    if (at && edit.touch !== 'header') touchLine(change, at);
    const isLineFound = await updateRow(
      client,
      'transactionline',
      change,
      'transaction = $1 AND linesequencenumber = $2',
      [id, line],
    );
    if (!isLineFound)
      throw invalid({
        path: `lines[${i}].line`,
        message: `is ${line}, and transaction ${id} has no such line`,
      });
  }
  if (at && edit.touch === 'lines' && hasLines && !edit.lines) {
    const all: RowChange = { columns: new Map(), extra: new Map() };
    touchLine(all, at);
    await updateRow(client, 'transactionline', all, 'transaction = $1', [id]);
  }
}

const touchLine = (change: RowChange, at: Date): unknown =>
  change.columns.set('linelastmodifieddate', { value: at.toISOString(), sqlType: 'timestamptz' });

/** Whether there is such a row. */
async function updateRow(
  client: PoolClient,
  table: string,
  change: RowChange,
  where: string,
  keys: unknown[],
): Promise<boolean> {
  const sets: string[] = [];
  const values = [...keys];
  const bind = (value: unknown, sqlType: string): string => `$${values.push(value)}::${sqlType}`;
  for (const [name, { value, sqlType }] of change.columns)
    sets.push(`${quoteSqlName(name)} = ${bind(value, sqlType)}`);
  if (change.extra.size > 0) {
    const patch = bind(JSON.stringify(Object.fromEntries(change.extra)), 'jsonb');
    sets.push(`extra = NULLIF(jsonb_strip_nulls(COALESCE(extra, '{}') || ${patch}), '{}')`);
  }
  const text =
    sets.length === 0
      ? `SELECT 1 FROM ledger.${quoteSqlName(table)} WHERE ${where}`
      : `UPDATE ledger.${quoteSqlName(table)} SET ${sets.join(', ')} WHERE ${where}`;
  return ((await client.query(text, values)).rowCount ?? 0) > 0;
}
