// Loads a data folder into the account's database, all or nothing: one PostgreSQL transaction makes the tables, fills them, derives
// what the data lack and notes the checksum. A database that holds the same data already is left as it is.
import { createHash } from 'node:crypto';
import type { Pool, PoolClient } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { FUNCTIONS } from '../database/functions.ts';
import { ALL_TABLES } from '../tables/all-tables.ts';
import { quote, viewSql } from '../tables/table.ts';
import { checksumFolder, copyFile, DATA_FILES, type DataFile, DataFolderError, findLine } from './csv-folder.ts';
import { DATA_TIME_ZONE, DERIVE, LEDGER_INDEXES, LEDGER_TABLES } from './ledger.ts';

export type Progress = (step: string, done: number, total: number) => void;
export type LoadOutcome = { loaded: boolean; lastChange: Date };

const VIEWS = [...FUNCTIONS, ...ALL_TABLES.map(viewSql)];
const LOAD_LOCK = 7_311_001; // any number that nothing else in this database uses

/** Throws DataFolderError, naming file and line, and leaves the database as it was. */
export async function loadFolder(pool: Pool, folder: string, onProgress: Progress): Promise<LoadOutcome> {
  const data = sum([await checksumFolder(folder), LEDGER_TABLES, ...LEDGER_INDEXES, ...DERIVE]);
  const views = sum([data, ...VIEWS]);
  const client = await pool.connect();
  let lost: Error | undefined;
  try {
    await client.query('BEGIN');
    await client.query('SELECT pg_advisory_xact_lock($1)', [LOAD_LOCK]);
    await client.query(`SET LOCAL TimeZone = '${DATA_TIME_ZONE}'`);
    const found = await client.query<{ data: string; views: string }>('SELECT data, views FROM setup.load');
    const present = found.rows[0];
    const loaded = present?.data !== data;
    if (loaded) await fillLedger(client, folder, onProgress);
    if (loaded || present?.views !== views) await makeViews(client);
    if (loaded || present?.views !== views) {
      await client.query('DELETE FROM setup.load');
      await client.query('INSERT INTO setup.load (data, views, lastchange) SELECT $1, $2, max(lastmodifieddate) FROM ledger.transaction', [data, views]);
    }
    const { rows } = await client.query<{ ms: string }>('SELECT extract(epoch FROM lastchange) * 1000 AS ms FROM setup.load');
    await client.query('COMMIT');
    return { loaded, lastChange: new Date(Number(rows[0]?.ms)) };
  } catch (error) {
    await client.query('ROLLBACK').catch((reason: Error) => { lost = reason; });
    throw error;
  } finally {
    client.release(lost);
  }
}

async function fillLedger(client: PoolClient, folder: string, onProgress: Progress): Promise<void> {
  await client.query('DROP SCHEMA IF EXISTS suiteql CASCADE');
  await client.query('DROP SCHEMA IF EXISTS ledger CASCADE');
  await client.query(LEDGER_TABLES);
  for (const data of DATA_FILES) {
    // FREEZE marks rows as visible to all at once, which index-only scans need; allowed as the table was made in this transaction.
    const names = data.columns.map((column) => quote(column.name)).join(', ');
    const target = client.query(copyFrom(`COPY ledger.${quote(data.table)} (${names}) FROM STDIN WITH (FREEZE)`));
    await copyFile(folder, data, target, (done, total) => onProgress(data.file, done, total));
  }
  const steps = [...LEDGER_INDEXES, ...DERIVE];
  await explainDuplicates(folder, async () => {
    for (const [index, step] of steps.entries()) {
      await client.query(step);
      onProgress('indexes and derived amounts', index + 1, steps.length);
    }
  });
  const { rows } = await client.query('SELECT 1 FROM ledger.transaction LIMIT 1');
  if (rows.length === 0) throw new DataFolderError('transaction.csv.gz has no rows');
  for (const data of DATA_FILES) await checkReferences(client, folder, data);
  for (const data of DATA_FILES) await client.query(`ANALYZE ledger.${quote(data.table)}`);
}

async function explainDuplicates(folder: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    const data = DATA_FILES.find(({ table, key }) => error instanceof Error && 'constraint' in error && error.constraint === `${table}_${key}_is_unique`);
    if (!data || !(error instanceof Error)) throw error;
    const value = /=\((-?\d+)\)/.exec('detail' in error ? String(error.detail) : '')?.[1] ?? '';
    const line = await findLine(folder, data, data.key, value);
    throw new DataFolderError(`${data.file} line ${line}: ${data.key} ${value} occurs more than once`, { cause: error });
  }
}

async function checkReferences(client: PoolClient, folder: string, data: DataFile): Promise<void> {
  for (const { column, to } of data.references) {
    const { rows } = await client.query<{ value: string }>(`SELECT r.${quote(column)}::text AS value FROM ledger.${quote(data.table)} r
      WHERE r.${quote(column)} IS NOT NULL AND NOT EXISTS (SELECT FROM ledger.${quote(to.table)} o WHERE o.id = r.${quote(column)}) LIMIT 1`);
    const value = rows[0]?.value;
    if (value === undefined) continue;
    const line = await findLine(folder, data, column, value);
    throw new DataFolderError(`${data.file} line ${line}: ${column} ${value} is not in ${to.file}`);
  }
}

async function makeViews(client: PoolClient): Promise<void> {
  await client.query('DROP SCHEMA IF EXISTS suiteql CASCADE');
  await client.query('CREATE SCHEMA suiteql');
  for (const statement of VIEWS) await client.query(statement);
  await client.query('GRANT USAGE ON SCHEMA suiteql TO portal_simulator');
  await client.query('GRANT SELECT ON ALL TABLES IN SCHEMA suiteql TO portal_simulator');
}

const sum = (parts: readonly string[]): string => createHash('sha256').update(parts.join('\n')).digest('hex');
