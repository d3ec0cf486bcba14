// The lines of a transaction type that this connector doesn't know by name: all rows of transactionline, of
// whichever kind, so that sums over them are those of the ledger.
import type { FieldMetadata } from '../../connector.ts';
import { maxRowsPerQuery, type SuiteqlRow } from '../requests/suiteql.ts';
import { linesProbeQuery } from '../types/queries.ts';
import { readStored } from '../types/read-plan.ts';
import type { StoredDefinition } from '../types/stored-definition.ts';
import type { Account } from './account.ts';
import { findCandidates } from './candidates.ts';
import type { CatalogueSchema } from './catalogue.ts';
import { type Candidate, describeColumns } from './describe-columns.ts';

const table = 'transactionline';
const parent = 'transaction';
const [key, modified] = ['id', 'linelastmodifieddate'];
const sums = ['quantity', 'netamount', 'foreignamount'];

/** By which the lines of all records are in order. */
const lineKey = [parent, key].map((column) => ({ column, digits: 9 }));

/** Offered even where no line has a value yet. */
const core: ReadonlySet<string> = new Set([
  key,
  modified,
  ...sums,
  ...`linesequencenumber uniquekey mainline taxline iscogs item memo rate
    entity department class location`.split(/\s+/),
]);

/**
 * The field `lines`; not syncable, with the reason, where this role can't read lines. Columns without a value
 * in the first lines are left out, because each would be in every line: `transactionline` as a record type
 * has them. Rejects as `describeType`.
 */
export async function describeTransactionLines(
  account: Account,
  stored: StoredDefinition,
  name: string,
  schema: CatalogueSchema | null,
): Promise<FieldMetadata> {
  const described = { name: 'lines', label: 'Lines', type: 'lines' as const, custom: false, volatile: false };
  const from = `${table} l INNER JOIN ${parent} t ON t.id = l.transaction WHERE t.${stored.filter?.column} = '${stored.filter?.value}'`;
  const found = await account.findRows({ from, alias: 'l', key: lineKey, limit: maxRowsPerQuery });
  if ('error' in found) {
    if (found.error.kind === 'down') throw found.error;
    return {
      ...described,
      syncable: false,
      reason: `The role of this connection cannot read lines: ${found.error.message}`,
      fields: [],
    };
  }
  const candidates = (await findCandidates(account.lists, table, schema?.lines ?? [], found.rows)).filter(
    (column) => column.name !== parent,
  );
  const before = account.last.get(name)?.fields.find((field) => field.name === described.name);
  const wasRead = (column: Candidate): boolean =>
    before?.fields?.some((field) => field.name === column.name && field.syncable) === true;
  const fields = await describeFields(
    account,
    stored,
    name,
    { from, rows: found.rows },
    candidates.map((column) => (wasRead(column) ? column : leaveOutEmpty(column, found.rows))),
  );
  const keyField = fields.find((field) => field.name === key);
  const isReadable = keyField?.syncable === true;
  const reason = isReadable
    ? null
    : `Lines cannot be paginated without ${key}: ${keyField?.reason ?? 'it is missing'}`;
  return {
    ...described,
    syncable: isReadable,
    reason,
    fields: fields.map(({ target, ...field }) => ({ ...field, ...(target !== undefined && { target }) })),
  };
}

function leaveOutEmpty(column: Candidate, rows: readonly SuiteqlRow[]): Candidate {
  const isFilled = rows.some((row) => row[column.name] !== undefined);
  if (isFilled || column.custom || core.has(column.name) || column.excluded !== null) return column;
  const excluded = `None of the first ${rows.length} lines has a value. The record type ${table} has all columns of lines`;
  return { ...column, excluded };
}

function describeFields(
  account: Account,
  stored: StoredDefinition,
  name: string,
  found: { readonly from: string; readonly rows: readonly SuiteqlRow[] },
  candidates: readonly Candidate[],
): Promise<FieldMetadata[]> {
  const source = readStored(name, {
    ...stored,
    lines: { label: 'Lines', table, parent, key, sums: [], modified: null },
  });
  const { lines = null } = source ?? {};
  if (source === undefined || lines === null) throw new TypeError(`no lines of ${name}`);
  return describeColumns(
    account,
    {
      ...{ ...found, table, alias: 'l', toColumn: (field: string) => field },
      probe: (fields) => linesProbeQuery(source, lines, fields),
      read: (fields) => `${linesProbeQuery(source, lines, fields)} ORDER BY l.${parent} ASC, l.${key} ASC`,
    },
    candidates,
  );
}

/** How these lines are read. */
export function storedLines({ label, fields = [] }: FieldMetadata): NonNullable<StoredDefinition['lines']> {
  const isReadable = (name: string): boolean => fields.some((field) => field.name === name && field.syncable);
  return {
    label,
    table,
    parent,
    key,
    sums: sums.filter(isReadable),
    modified: isReadable(modified) ? modified : null,
  };
}
