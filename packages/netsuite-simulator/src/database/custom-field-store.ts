// The account's custom fields, kept in the table that SuiteQL shows as customfield, and the views with their columns.
import type { Pool, PoolClient } from 'pg';
import { ALL_TABLES } from '../tables/all-tables.ts';
import { CUSTOM_FIELD_TYPES, type CustomField } from '../tables/custom-fields.ts';
import { addCustomFields } from '../tables/role-visibility.ts';
import { quoteSqlName, viewSql } from '../tables/table.ts';
import { READER_ROLE } from './account-database.ts';

/** In the order in which they were created. */
export async function listCustomFields(client: Pool | PoolClient): Promise<CustomField[]> {
  const { rows } = await client.query<CustomField>(
    `SELECT tablename AS "table", lower(scriptid) AS name, kind AS type, name AS label, choices AS "values" FROM ledger.customfield
     WHERE tablename IS NOT NULL ORDER BY internalid`,
  );
  return rows;
}

export async function insertCustomField(client: PoolClient, { table, name, type, label, values }: CustomField): Promise<void> {
  const { fieldType, valueType } = CUSTOM_FIELD_TYPES[type];
  await client.query(
    `INSERT INTO ledger.customfield (internalid, scriptid, name, fieldtype, fieldvaluetype, tablename, kind, choices)
     SELECT COALESCE(max(internalid), 0) + 1, $1, $2, $3, $4, $5, $6, $7 FROM ledger.customfield`,
    [name, label, fieldType, valueType, table, type, JSON.stringify(values)],
  );
}

export async function updateCustomField(client: PoolClient, { table, name, type, label, values }: CustomField): Promise<void> {
  const { fieldType, valueType } = CUSTOM_FIELD_TYPES[type];
  await client.query(
    `UPDATE ledger.customfield SET name = $3, fieldtype = $4, fieldvaluetype = $5, kind = $6, choices = $7 WHERE tablename = $1 AND scriptid = $2`,
    [table, name, label, fieldType, valueType, type, JSON.stringify(values)],
  );
}

/** Deletes the field with its values. */
export async function deleteCustomField(client: PoolClient, table: string, name: string): Promise<void> {
  await client.query('DELETE FROM ledger.customfield WHERE tablename = $1 AND scriptid = $2', [table, name]);
  await client.query(`UPDATE ledger.${quoteSqlName(table)} SET extra = NULLIF(extra - $1, '{}') WHERE extra ? $1`, [name]);
}

/** Creates the view of a table again, with these custom fields. Waits for the queries that read it. */
export async function recreateView(client: Pool | PoolClient, tableName: string, fields: readonly CustomField[]): Promise<void> {
  const table = ALL_TABLES.find(({ name }) => name === tableName);
  if (!table) return;
  await client.query(`DROP VIEW IF EXISTS suiteql.${quoteSqlName(tableName)};
    ${viewSql(addCustomFields(table, fields))};
    GRANT SELECT ON suiteql.${quoteSqlName(tableName)} TO ${READER_ROLE}`);
}

/** Recreates the views of all tables with custom fields, which a start with changed views has lost. Resolves to the fields. */
export async function loadCustomFields(pool: Pool): Promise<CustomField[]> {
  const fields = await listCustomFields(pool);
  for (const table of new Set(fields.map((field) => field.table))) await recreateView(pool, table, fields);
  return fields;
}
