// Loads a data folder into the account's database: one PostgreSQL transaction creates the tables, fills them,
// derives what the data lack and records the checksum. A database that already holds the same data is left
// unchanged.
import { createHash } from 'node:crypto';
import type { Pool, PoolClient } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { BUSINESS_OFFSET } from '../business-time.ts';
import { READER_ROLE } from '../database/account-database.ts';
import { listCustomFields } from '../database/custom-field-store.ts';
import { ORACLE_FUNCTIONS } from '../database/functions.ts';
import { PROFILE_FIELDS } from '../profile/custom-fields.ts';
import { profileStatements } from '../profile/profile.ts';
import { FILE_LINES, type ProfileName } from '../profile/profile-name.ts';
import { STOCK_STATEMENTS } from '../profile/stock.ts';
import { accountTables } from '../tables/all-tables.ts';
import { type CustomField, choiceTables } from '../tables/custom-fields.ts';
import { addCustomFields } from '../tables/role-visibility.ts';
import { quoteSqlName, viewSql } from '../tables/table.ts';
import {
  checksumFolder,
  copyFile,
  DATA_FILES,
  type DataFile,
  DataFolderError,
  findLine,
} from './csv-folder.ts';
import { holdBackStatements, openBooksStatement, STARTS_AT } from './held-days.ts';
import {
  DATA_TIME_ZONE,
  LEDGER_ADDITIONS,
  LEDGER_INDEXES,
  LEDGER_KEYS,
  LEDGER_SEQUENCES,
  LEDGER_SETTINGS,
  LEDGER_TABLES,
} from './ledger.ts';
import { LIST_TABLES } from './list-tables.ts';
import { SETTLE_ALL } from './settle.ts';

export type OnLoadProgress = (step: string, done: number, total: number) => void;
/** `loaded`: whether the data were loaded now; `startsAt`: where business time starts with these data. */
export type LoadOutcome = { loaded: boolean; startsAt: Date };
export type LoadOptions = {
  folder: string;
  /** YYYY-MM-DD: rows changed on or after this day are held back. */
  replayFrom: string | undefined;
  /** What is generated in addition to the folder's records; undefined: nothing. */
  profile?: ProfileName | undefined;
  onProgress: OnLoadProgress;
};

const viewStatements = (profile: ProfileName | undefined, fields: readonly CustomField[]): string[] => [
  ...ORACLE_FUNCTIONS,
  ...accountTables(profile).map((table) => viewSql(addCustomFields(table, fields))),
  ...choiceTables(fields).map(viewSql),
  `GRANT USAGE ON SCHEMA suiteql TO ${READER_ROLE}`,
  `GRANT SELECT ON ALL TABLES IN SCHEMA suiteql TO ${READER_ROLE}`,
];
const FILE_TABLES = DATA_FILES.map(({ table }) => `ledger.${table}`).join(', ');
const LOAD_LOCK = 7_311_001; // an advisory lock key that nothing else in this database uses

type Checksums = { data: string; views: string };

async function computeChecksums(
  folder: string,
  profile: ProfileName | undefined,
  from: string,
): Promise<Checksums> {
  const [ddl, views] = [
    [LEDGER_TABLES, LIST_TABLES, ...LEDGER_KEYS, ...LEDGER_INDEXES],
    viewStatements(profile, PROFILE_FIELDS),
  ];
  const data = checksum([
    await checksumFolder(folder),
    ...ddl,
    ...profileStatements(profile),
    ...derivationSteps(from, profile),
  ]);
  return { data, views: checksum([data, ...LEDGER_ADDITIONS, ...views]) };
}

async function storeLoaded(client: PoolClient, { data, views }: Checksums, startsAt: Date | undefined) {
  await client.query('DELETE FROM setup.loaded');
  await client.query('INSERT INTO setup.loaded (data, views, startsat) VALUES ($1, $2, $3)', [
    data,
    views,
    startsAt,
  ]);
}

/**
 * Loads the folder unless the database holds the same data. Rejects with DataFolderError, which names file
 * and line, and with RangeError when `replayFrom` is not a day; the database is then unchanged.
 */
export async function loadFolder(pool: Pool, options: LoadOptions): Promise<LoadOutcome> {
  const from = parseReplayFrom(options.replayFrom);
  const { folder, profile } = options;
  const checksums = await computeChecksums(folder, profile, from);
  const client = await pool.connect();
  let lost: Error | undefined;
  try {
    await client.query('BEGIN');
    await client.query('SELECT pg_advisory_xact_lock($1)', [LOAD_LOCK]);
    await client.query(`SET LOCAL TimeZone = '${DATA_TIME_ZONE}'`);
    const found = await client.query<{ data: string; views: string }>('SELECT data, views FROM setup.loaded');
    const present = found.rows[0];
    const loaded = present?.data !== checksums.data;
    if (loaded) await fillLedger(client, options, from);
    if (loaded || present.views !== checksums.views) {
      await createViews(client, profile);
      const { rows: starts } = await client.query<{ startsat: Date }>(
        loaded ? STARTS_AT : 'SELECT startsat FROM setup.loaded',
      );
      await storeLoaded(client, checksums, starts[0]?.startsat);
    }
    // The business time of the previous data no longer applies.
    if (loaded) await client.query('DELETE FROM setup.setting WHERE name = $1', [BUSINESS_OFFSET]);
    const { rows } = await client.query<{ startsat: Date }>('SELECT startsat FROM setup.loaded');
    await client.query('COMMIT');
    // Marks the inserted rows as visible to all transactions, which COPY FREEZE does for those of the files.
    // The account answers without it, only more slowly: nothing waits for it, and autovacuum repeats what
    // fails.
    if (loaded && profile !== undefined) pool.query(`VACUUM (FREEZE) ${FILE_TABLES}`).catch(() => undefined);
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

/**
 * The statements to run once the rows are loaded and checked. The id sequences come first, before any row is
 * held back.
 */
const derivationSteps = (from: string, profile: ProfileName | undefined): string[] => [
  ...LEDGER_SEQUENCES,
  ...(profile === undefined ? LEDGER_SETTINGS : []),
  openBooksStatement(from),
  ...holdBackStatements(from, profile),
  ...SETTLE_ALL,
  ...(profile === undefined ? [] : STOCK_STATEMENTS),
];

/** Where the rows of a file are copied to. A profile inserts the lines itself, with what it adds to them. */
const chooseTarget = ({ table }: DataFile, profile: ProfileName | undefined): string =>
  profile !== undefined && table === 'transactionline' ? FILE_LINES : `ledger.${quoteSqlName(table)}`;

async function fillLedger(client: PoolClient, options: LoadOptions, from: string): Promise<void> {
  const { folder, profile, onProgress } = options;
  await client.query('DROP SCHEMA IF EXISTS suiteql CASCADE');
  await client.query('DROP SCHEMA IF EXISTS ledger CASCADE');
  await client.query(LEDGER_TABLES);
  await client.query(LIST_TABLES);
  await copyFiles(client, options);
  const [generated, steps] = [profileStatements(profile), derivationSteps(from, profile)];
  const total = LEDGER_KEYS.length + generated.length + LEDGER_INDEXES.length + steps.length;
  let done = 0;
  const run = async (statements: readonly string[]): Promise<void> => {
    for (const statement of statements) {
      await client.query(statement);
      done += 1;
      onProgress('indexes and derived amounts', done, total);
    }
  };
  await reportDuplicates(folder, () => run(LEDGER_KEYS));
  const { rows } = await client.query('SELECT 1 FROM ledger.transaction LIMIT 1');
  if (rows.length === 0) throw new DataFolderError('transaction.csv.gz has no rows');
  // Smaller samples suffice to plan the queries of a profile, whose tables are larger.
  if (profile !== undefined)
    await client.query('SET LOCAL default_statistics_target = 20; SET LOCAL jit = off');
  for (const data of DATA_FILES) await client.query(`ANALYZE ${chooseTarget(data, profile)}`);
  for (const data of DATA_FILES) await assertReferences(client, folder, data, profile);
  await run(generated);
  await reportDuplicates(folder, () => run(LEDGER_INDEXES));
  if (profile !== undefined) await client.query(`ANALYZE ${FILE_TABLES}, ledger.application`);
  await run(steps);
  const left = await client.query('SELECT 1 FROM ledger.transaction LIMIT 1');
  if (left.rows.length === 0)
    throw new DataFolderError(`transaction.csv.gz has no rows changed before ${from}, the day of replayFrom`);
}

async function copyFiles(client: PoolClient, { folder, profile, onProgress }: LoadOptions): Promise<void> {
  for (const data of DATA_FILES) {
    const [target, names] = [
      chooseTarget(data, profile),
      data.columns.map((column) => quoteSqlName(column.name)).join(', '),
    ];
    if (target === FILE_LINES)
      await client.query(
        `CREATE TEMPORARY TABLE ${FILE_LINES} ON COMMIT DROP AS SELECT ${names} FROM ledger.${data.table} WITH NO DATA`,
      );
    // FREEZE marks the rows as visible to all transactions, which index-only scans need. Allowed because this
    // transaction created the table.
    const copy = client.query(copyFrom(`COPY ${target} (${names}) FROM STDIN WITH (FREEZE)`));
    await copyFile(folder, data, copy, (done, total) => onProgress(data.file, done, total));
  }
}

async function reportDuplicates(folder: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    const data = DATA_FILES.find(
      ({ table, key }) =>
        error instanceof Error && 'constraint' in error && error.constraint === `${table}_${key}_is_unique`,
    );
    if (!data || !(error instanceof Error)) throw error;
    const value = /=\((-?\d+)\)/.exec('detail' in error ? String(error.detail) : '')?.[1] ?? '';
    const line = await findLine(folder, data, data.key, value);
    throw new DataFolderError(`${data.file} line ${line}: ${data.key} ${value} occurs more than once`, {
      cause: error,
    });
  }
}

async function assertReferences(
  client: PoolClient,
  folder: string,
  data: DataFile,
  profile: ProfileName | undefined,
): Promise<void> {
  for (const { column, to } of data.references) {
    const { rows } = await client.query<{
      value: string;
    }>(`SELECT r.${quoteSqlName(column)}::text AS value FROM ${chooseTarget(data, profile)} r
      WHERE r.${quoteSqlName(column)} IS NOT NULL AND NOT EXISTS (SELECT FROM ledger.${quoteSqlName(to.table)} o WHERE o.id = r.${quoteSqlName(column)}) LIMIT 1`);
    const value = rows[0]?.value;
    if (value === undefined) continue;
    const line = await findLine(folder, data, column, value);
    throw new DataFolderError(`${data.file} line ${line}: ${column} ${value} is not in ${to.file}`);
  }
}

async function createViews(client: PoolClient, profile: ProfileName | undefined): Promise<void> {
  await client.query('DROP SCHEMA IF EXISTS suiteql CASCADE');
  await client.query('CREATE SCHEMA suiteql');
  for (const statement of LEDGER_ADDITIONS) await client.query(statement);
  for (const statement of viewStatements(profile, await listCustomFields(client)))
    await client.query(statement);
}

const checksum = (parts: readonly string[]): string =>
  createHash('sha256').update(parts.join('\n')).digest('hex');
