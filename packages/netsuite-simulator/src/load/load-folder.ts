// Loads a data folder into the account's database: one PostgreSQL transaction creates the tables, fills them, derives what the data lack
// and records the checksum. A database that already holds the same data is left unchanged.
import { createHash } from 'node:crypto';
import type { Pool, PoolClient } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { BUSINESS_OFFSET } from '../business-time.ts';
import { READER_ROLE } from '../database/account-database.ts';
import { ORACLE_FUNCTIONS } from '../database/functions.ts';
import { ALL_TABLES } from '../tables/all-tables.ts';
import { quoteSqlName, viewSql } from '../tables/table.ts';
import { checksumFolder, copyFile, DATA_FILES, type DataFile, DataFolderError, findLine } from './csv-folder.ts';
import { holdBackStatements, openBooksStatement, STARTS_AT } from './held-days.ts';
import { DATA_TIME_ZONE, LEDGER_ADDITIONS, LEDGER_INDEXES, LEDGER_SEQUENCES, LEDGER_SETTINGS, LEDGER_TABLES } from './ledger.ts';
import { SETTLE_ALL } from './settle.ts';

export type OnLoadProgress = (step: string, done: number, total: number) => void;
/** `loaded`: whether the data were loaded now; `startsAt`: where business time starts with these data. */
export type LoadOutcome = { loaded: boolean; startsAt: Date };
export type LoadOptions = {
  folder: string;
  /** YYYY-MM-DD: rows changed on or after this day are held back. */
  replayFrom: string | undefined;
  onProgress: OnLoadProgress;
};

const VIEWS = [
  ...LEDGER_ADDITIONS,
  ...ORACLE_FUNCTIONS,
  ...ALL_TABLES.map(viewSql),
  `GRANT USAGE ON SCHEMA suiteql TO ${READER_ROLE}`,
  `GRANT SELECT ON ALL TABLES IN SCHEMA suiteql TO ${READER_ROLE}`,
];
const LOAD_LOCK = 7_311_001; // an advisory lock key that nothing else in this database uses

/**
 * Loads the folder unless the database holds the same data. Rejects with DataFolderError, which names file and line, and with RangeError
 * when `replayFrom` is not a day; the database is then unchanged.
 */
export async function loadFolder(pool: Pool, options: LoadOptions): Promise<LoadOutcome> {
  const from = parseReplayFrom(options.replayFrom);
  const data = checksum([await checksumFolder(options.folder), LEDGER_TABLES, ...LEDGER_INDEXES, ...derivationSteps(from)]);
  const views = checksum([data, ...VIEWS]);
  const client = await pool.connect();
  let lost: Error | undefined;
  try {
    await client.query('BEGIN');
    await client.query('SELECT pg_advisory_xact_lock($1)', [LOAD_LOCK]);
    await client.query(`SET LOCAL TimeZone = '${DATA_TIME_ZONE}'`);
    const found = await client.query<{ data: string; views: string }>('SELECT data, views FROM setup.loaded');
    const present = found.rows[0];
    const loaded = present?.data !== data;
    if (loaded) await fillLedger(client, options, from);
    if (loaded || present.views !== views) {
      await createViews(client);
      const { rows: starts } = await client.query<{ startsat: Date }>(loaded ? STARTS_AT : 'SELECT startsat FROM setup.loaded');
      await client.query('DELETE FROM setup.loaded');
      await client.query('INSERT INTO setup.loaded (data, views, startsat) VALUES ($1, $2, $3)', [data, views, starts[0]?.startsat]);
    }
    // The business time of the previous data no longer applies.
    if (loaded) await client.query('DELETE FROM setup.setting WHERE name = $1', [BUSINESS_OFFSET]);
    const { rows } = await client.query<{ startsat: Date }>('SELECT startsat FROM setup.loaded');
    await client.query('COMMIT');
    return { loaded, startsAt: rows[0]?.startsat ?? new Date(0) };
  } catch (error) {
    await client.query('ROLLBACK').catch((reason: Error) => {
      lost = reason;
    });
    throw error;
  } finally {
    client.release(lost);
  }
}

function parseReplayFrom(day: string | undefined): string {
  if (day === undefined) return 'infinity';
  const isDay = /^\d{4}-\d\d-\d\d$/.test(day) && new Date(`${day}T00:00:00Z`).toJSON()?.startsWith(day);
  if (!isDay) throw new RangeError(`replayFrom must be a day (YYYY-MM-DD), not ${day}.`);
  return day;
}

/** The statements to run once the rows are loaded and checked. The id sequences come first, before any row is held back. */
const derivationSteps = (from: string): string[] => [
  ...LEDGER_SEQUENCES,
  ...LEDGER_SETTINGS,
  openBooksStatement(from),
  ...holdBackStatements(from),
  ...SETTLE_ALL,
];

async function fillLedger(client: PoolClient, { folder, onProgress }: LoadOptions, from: string): Promise<void> {
  await client.query('DROP SCHEMA IF EXISTS suiteql CASCADE');
  await client.query('DROP SCHEMA IF EXISTS ledger CASCADE');
  await client.query(LEDGER_TABLES);
  for (const data of DATA_FILES) {
    // FREEZE marks the rows as visible to all transactions, which index-only scans need. Allowed because this transaction created the
    // table.
    const names = data.columns.map((column) => quoteSqlName(column.name)).join(', ');
    const target = client.query(copyFrom(`COPY ledger.${quoteSqlName(data.table)} (${names}) FROM STDIN WITH (FREEZE)`));
    await copyFile(folder, data, target, (done, total) => onProgress(data.file, done, total));
  }
  const [indexes, steps] = [LEDGER_INDEXES, derivationSteps(from)];
  const run = async (statements: readonly string[], before: number): Promise<void> => {
    for (const [index, statement] of statements.entries()) {
      await client.query(statement);
      onProgress('indexes and derived amounts', before + index + 1, indexes.length + steps.length);
    }
  };
  await reportDuplicates(folder, () => run(indexes, 0));
  const { rows } = await client.query('SELECT 1 FROM ledger.transaction LIMIT 1');
  if (rows.length === 0) throw new DataFolderError('transaction.csv.gz has no rows');
  for (const data of DATA_FILES) await assertReferences(client, folder, data);
  for (const data of DATA_FILES) await client.query(`ANALYZE ledger.${quoteSqlName(data.table)}`);
  await run(steps, indexes.length);
  const left = await client.query('SELECT 1 FROM ledger.transaction LIMIT 1');
  if (left.rows.length === 0) throw new DataFolderError(`transaction.csv.gz has no rows changed before ${from}, the day of replayFrom`);
}

async function reportDuplicates(folder: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    const data = DATA_FILES.find(
      ({ table, key }) => error instanceof Error && 'constraint' in error && error.constraint === `${table}_${key}_is_unique`,
    );
    if (!data || !(error instanceof Error)) throw error;
    const value = /=\((-?\d+)\)/.exec('detail' in error ? String(error.detail) : '')?.[1] ?? '';
    const line = await findLine(folder, data, data.key, value);
    throw new DataFolderError(`${data.file} line ${line}: ${data.key} ${value} occurs more than once`, { cause: error });
  }
}

async function assertReferences(client: PoolClient, folder: string, data: DataFile): Promise<void> {
  for (const { column, to } of data.references) {
    const { rows } = await client.query<{
      value: string;
    }>(`SELECT r.${quoteSqlName(column)}::text AS value FROM ledger.${quoteSqlName(data.table)} r
      WHERE r.${quoteSqlName(column)} IS NOT NULL AND NOT EXISTS (SELECT FROM ledger.${quoteSqlName(to.table)} o WHERE o.id = r.${quoteSqlName(column)}) LIMIT 1`);
    const value = rows[0]?.value;
    if (value === undefined) continue;
    const line = await findLine(folder, data, column, value);
    throw new DataFolderError(`${data.file} line ${line}: ${column} ${value} is not in ${to.file}`);
  }
}

async function createViews(client: PoolClient): Promise<void> {
  await client.query('DROP SCHEMA IF EXISTS suiteql CASCADE');
  await client.query('CREATE SCHEMA suiteql');
  for (const statement of VIEWS) await client.query(statement);
}

const checksum = (parts: readonly string[]): string => createHash('sha256').update(parts.join('\n')).digest('hex');
