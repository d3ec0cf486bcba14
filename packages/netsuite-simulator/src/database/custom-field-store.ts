// The account's custom fields, kept in the table that SuiteQL shows as customfield, and the views with their
// columns.
import type { Pool, PoolClient } from 'pg';
import { accountTables } from '../tables/all-tables.ts';
import { type Choice, CUSTOM_FIELD_TYPES, type CustomField, choiceTables } from '../tables/custom-fields.ts';
import { addCustomFields } from '../tables/role-visibility.ts';
import { quoteSqlName, viewSql } from '../tables/table.ts';
import { READER_ROLE } from './account-database.ts';

/** In the order in which they were created. */
export async function listCustomFields(client: Pool | PoolClient): Promise<CustomField[]> {
  const { rows } = await client.query<{ field: CustomField }>(
    `SELECT jsonb_strip_nulls(jsonb_build_object('table', tablename, 'name', lower(scriptid), 'type', kind, 'label', name, 'values', choices,
       'list', list, 'target', target, 'refusal', refusal, 'isOnlyInQueries', isonlyinqueries)) AS field
     FROM ledger.customfield WHERE tablename IS NOT NULL ORDER BY internalid`,
  );
  return rows.map(({ field }) => field);
}

/**
 * SQL that adds fields to the table, with ids after those that are there. `fields`: SQL of a JSON array of
 * `fieldRow`.
 */
export const insertFieldsSql = (fields: string): string =>
  `INSERT INTO ledger.customfield (internalid, scriptid, name, fieldtype, fieldvaluetype, tablename, kind, choices, list, target, refusal, isonlyinqueries)
   SELECT (SELECT COALESCE(max(internalid), 0) FROM ledger.customfield) + row_number() OVER (ORDER BY f.n), f.scriptid, f.label, f.fieldtype,
     f.valuetype, f.tablename, f.kind, f.choices, f.list, f.target, f.refusal, f.isonlyinqueries
   FROM ROWS FROM (jsonb_to_recordset(${fields}::jsonb) AS (scriptid text, label text, fieldtype text, valuetype text, tablename text, kind text,
     choices jsonb, list text, target text, refusal text, isonlyinqueries boolean)) WITH ORDINALITY
     AS f(scriptid, label, fieldtype, valuetype, tablename, kind, choices, list, target, refusal, isonlyinqueries, n)`;

export async function insertCustomField(client: PoolClient, field: CustomField): Promise<void> {
  await client.query(insertFieldsSql('$1'), [JSON.stringify([fieldRow(field)])]);
}

/** The field as `insertFieldsSql` reads it. */
export const fieldRow = ({ table, name, type, values, isOnlyInQueries, ...rest }: CustomField): object => ({
  scriptid: name,
  fieldtype: CUSTOM_FIELD_TYPES[type].fieldType,
  valuetype: CUSTOM_FIELD_TYPES[type].valueType,
  tablename: table,
  kind: type,
  choices: values,
  isonlyinqueries: isOnlyInQueries,
  ...rest,
});

export async function updateCustomField(
  client: PoolClient,
  { table, name, type, label, values }: CustomField,
): Promise<void> {
  const { fieldType, valueType } = CUSTOM_FIELD_TYPES[type];
  await client.query(
    `UPDATE ledger.customfield SET name = $3, fieldtype = $4, fieldvaluetype = $5, kind = $6, choices = $7
     WHERE tablename = $1 AND lower(scriptid) = $2`,
    [table, name, label, fieldType, valueType, type, JSON.stringify(values)],
  );
}

/**
 * Renames the entries of the list, also for every field that chooses from it; those that the list lacks are
 * ignored.
 */
export async function renameEntries(
  client: PoolClient,
  list: string,
  values: readonly Choice[],
): Promise<void> {
  const entries = JSON.stringify(values);
  await client.query(
    `UPDATE ledger.customlistvalue v SET name = e.name FROM jsonb_to_recordset($2::jsonb) e(id text, name text) WHERE v.list = $1 AND v.id::text = e.id`,
    [list, entries],
  );
  await client.query('UPDATE ledger.customfield SET choices = $2 WHERE list = $1', [list, entries]);
}

/** Deletes the field with its values. */
export async function deleteCustomField(client: PoolClient, table: string, name: string): Promise<void> {
  await client.query('DELETE FROM ledger.customfield WHERE tablename = $1 AND lower(scriptid) = $2', [
    table,
    name,
  ]);
  await client.query(
    `UPDATE ledger.${quoteSqlName(table)} SET extra = NULLIF(extra - $1, '{}') WHERE extra ? $1`,
    [name],
  );
}

/**
 * Creates the views of a table again, with these custom fields. Waits for the queries that read it. Without a
 * profile they also get the columns that only profiles have, which queries can't name there.
 */
export async function recreateView(
  client: Pool | PoolClient,
  tableName: string,
  fields: readonly CustomField[],
): Promise<void> {
  const table = accountTables('oneworld').find(({ name }) => name === tableName);
  if (!table) return;
  const own = fields.filter((field) => field.table === tableName);
  const { rows } = await client.query<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.views WHERE table_schema = 'suiteql' AND starts_with(table_name, $1)`,
    [`map_${tableName}_`],
  );
  const views = [addCustomFields(table, own), ...choiceTables(own)];
  const stale = [tableName, ...rows.map(({ name }) => name)].map((name) => `suiteql.${quoteSqlName(name)}`);
  await client.query(`DROP VIEW IF EXISTS ${stale.join(', ')};
    ${views.map(viewSql).join(';')};
    GRANT SELECT ON ${views.map(({ name }) => `suiteql.${quoteSqlName(name)}`).join(', ')} TO ${READER_ROLE}`);
}
