// The account's database with the demo's slice of data is loaded once per test run and profile and copied: a
// load takes seconds.
import { Client } from 'pg';
import { inject } from 'vitest';
import { startNetsuiteAccount } from '../src/account.ts';
import type { ProfileName } from '../src/profile/profile-name.ts';

const toTemplateName = (profile: ProfileName | undefined): string => `netsuite_template_${profile ?? 'none'}`;
/** Key of the advisory lock under which the first caller loads the template. */
const TEMPLATE_LOCK = 7_311_003;

/**
 * Creates a database in which `startNetsuiteAccount` finds this folder's data, at the business time at which
 * the data end.
 */
export async function createLoadedDatabase(
  database: string,
  dataFolder: string,
  profile?: ProfileName,
): Promise<void> {
  const template = toTemplateName(profile);
  await asAdmin(inject('pg').database, async (client) => {
    await client.query('SELECT pg_advisory_lock($1)', [TEMPLATE_LOCK]);
    const { rows } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [template]);
    if (rows.length === 0) await loadTemplate(template, dataFolder, profile);
    await client.query('SELECT pg_advisory_unlock($1)', [TEMPLATE_LOCK]);
  });
  await copyDatabase(template, database);
}

/** Creates a database with the contents of one without connections. */
export const copyDatabase = (from: string, database: string): Promise<unknown> =>
  asAdmin(inject('pg').database, (client) =>
    client.query(`CREATE DATABASE "${database}" TEMPLATE "${from}" STRATEGY file_copy`),
  );

async function loadTemplate(
  template: string,
  dataFolder: string,
  profile: ProfileName | undefined,
): Promise<void> {
  const account = await startNetsuiteAccount({
    admin: inject('pg'),
    database: template,
    dataFolder,
    accountId: 'TEMPLATE',
    ...(profile !== undefined && { profile }),
  });
  await account.stop();
  // Time starts when a copy is started for the first time.
  await asAdmin(template, (client) => client.query('DELETE FROM setup.setting'));
}

export async function asAdmin<T>(database: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ ...inject('pg'), database });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** A checksum of every base table of the books; numbers are compared by value. */
export const computeChecksums = (database: string): Promise<Record<string, string>> =>
  asAdmin(database, async (client) => {
    const { rows: tables } = await client.query<{ name: string; row: string }>(
      `SELECT table_name AS name, 'row(' || string_agg(CASE data_type WHEN 'numeric' THEN 'trim_scale(' || quote_ident(column_name) || ')'
           ELSE quote_ident(column_name) END, ', ' ORDER BY column_name) || ')::text' AS row
       FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
       WHERE table_schema = 'ledger' AND table_type = 'BASE TABLE' GROUP BY table_name`,
    );
    const sums: Record<string, string> = {};
    for (const { name, row } of tables) {
      const { rows } = await client.query<{ sum: string }>(
        `SELECT count(*) || ' ' || md5(string_agg(${row}, '|' ORDER BY ${row})) AS sum FROM ledger.${name}`,
      );
      sums[name] = rows[0]?.sum ?? '';
    }
    return sums;
  });
