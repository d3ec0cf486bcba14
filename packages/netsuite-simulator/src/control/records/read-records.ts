// Reads the account's truth: records with their lines, whatever is hidden. Values are texts as in SuiteQL,
// but exact: times in UTC, days as YYYY-MM-DD. An empty column is left out.
import type { PoolClient } from 'pg';
import { textTypes } from '../../database/snapshot.ts';
import type { RoleVisibility } from '../../tables/role-visibility.ts';
import { type AccountColumn, type AccountTable, quoteSqlName } from '../../tables/table.ts';
import { getKeyColumn } from './record-tables.ts';

export type Fields = Record<string, string>;
export type RecordLine = { line: number; fields: Fields };
/** `lines` only of transactions. */
export type TrueRecord = { table: string; id: string; fields: Fields; lines?: RecordLine[] };

function columnSql({ name, kind }: AccountColumn): string {
  const column = quoteSqlName(name);
  if (kind === 'datetime') return `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`;
  if (kind === 'date') return `to_char(${column}, 'YYYY-MM-DD')`;
  return kind === 'decimal' ? `trim_scale(${column})` : column;
}

async function readRows(
  client: PoolClient,
  table: AccountTable,
  rest: string,
  values: unknown[],
): Promise<Fields[]> {
  const { rows } = await client.query<(string | null)[]>({
    text: `SELECT ${table.columns.map(columnSql).join(', ')} FROM suiteql.${quoteSqlName(table.name)} ${rest}`,
    values,
    rowMode: 'array',
    types: textTypes,
  });
  return rows.map((row) => {
    const fields: Fields = {};
    for (const [i, { name }] of table.columns.entries()) {
      const value = row[i];
      if (value !== null && value !== undefined && value !== '') fields[name] = value;
    }
    return fields;
  });
}

/** The lines of these transactions by their ids, in the order of their numbers. */
async function readLines(
  client: PoolClient,
  role: RoleVisibility,
  ids: readonly string[],
): Promise<Map<string, RecordLine[]>> {
  const lines = new Map<string, RecordLine[]>(ids.map((id) => [id, []]));
  const table = role.known('transactionline');
  if (!table || ids.length === 0) return lines;
  const rows = await readRows(
    client,
    table,
    'WHERE "transaction" = ANY($1) ORDER BY "transaction", linesequencenumber',
    [ids],
  );
  for (const fields of rows) {
    lines.get(fields['transaction'] ?? '')?.push({ line: Number(fields['linesequencenumber']), fields });
  }
  return lines;
}

async function withLines(
  client: PoolClient,
  role: RoleVisibility,
  table: AccountTable,
  rows: readonly Fields[],
): Promise<TrueRecord[]> {
  const records = rows.map((fields) => ({
    table: table.name,
    id: fields[getKeyColumn(table)] ?? '',
    fields,
  }));
  if (table.name !== 'transaction') return records;
  const lines = await readLines(
    client,
    role,
    records.map(({ id }) => id),
  );
  return records.map((record) => ({ ...record, lines: lines.get(record.id) ?? [] }));
}

/** Undefined if there is no such record. */
export async function findRecord(
  client: PoolClient,
  role: RoleVisibility,
  table: AccountTable,
  id: string,
): Promise<TrueRecord | undefined> {
  const rows = await readRows(client, table, `WHERE ${quoteSqlName(getKeyColumn(table))} = $1`, [id]);
  return (await withLines(client, role, table, rows))[0];
}

/** In the order of their ids. `next` is the id after which to go on; null on the last page. */
export async function listRecords(
  client: PoolClient,
  role: RoleVisibility,
  table: AccountTable,
  { after, limit }: { after: string | undefined; limit: number },
): Promise<{ records: TrueRecord[]; next: string | null }> {
  const key = quoteSqlName(getKeyColumn(table));
  const where = after === undefined ? '' : `WHERE ${key} > $1`;
  const rows = await readRows(
    client,
    table,
    `${where} ORDER BY ${key} LIMIT ${limit + 1}`,
    after === undefined ? [] : [after],
  );
  const records = await withLines(client, role, table, rows.slice(0, limit));
  return { records, next: rows.length > limit ? (records.at(-1)?.id ?? null) : null };
}
