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
  const admin = inject('pg');
  const client = new Client(admin);
  await client.connect();
  try {
    await client.query('SELECT pg_advisory_lock($1)', [TEMPLATE_LOCK]);
    const { rows } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [template]);
    if (rows.length === 0) await loadTemplate(template, dataFolder, profile);
    await client.query('SELECT pg_advisory_unlock($1)', [TEMPLATE_LOCK]);
    await client.query(`CREATE DATABASE "${database}" TEMPLATE ${template} STRATEGY file_copy`);
  } finally {
    await client.end();
  }
}

async function loadTemplate(
  template: string,
  dataFolder: string,
  profile: ProfileName | undefined,
): Promise<void> {
  const admin = inject('pg');
  const account = await startNetsuiteAccount({
    admin,
    database: template,
    dataFolder,
    accountId: 'TEMPLATE',
    ...(profile !== undefined && { profile }),
  });
  await account.stop();
  const client = new Client({ ...admin, database: template });
  await client.connect();
  // Time starts when a copy is started for the first time.
  await client.query('DELETE FROM setup.setting');
  await client.end();
}
