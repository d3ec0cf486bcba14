// The indexes that published versions need: stored per record type, built without blocking readers or
// writers, and created on every table that goes live. An interrupted concurrent build leaves an invalid
// index, which is dropped and built again.
import { createHash } from 'node:crypto';
import type { Knex } from 'knex';
import type { PoolClient } from 'pg';
import { onKnexConnection } from '../db/driver/knex-pool.ts';
import { sqlState } from '../db/pg-errors.ts';
import { isNameOrShard, quoteIdentifier } from './table.ts';
import { orPending } from './tables-pending.ts';

/** `expression`: the SQL in the parentheses, of physical column names alone, never a caller's text. */
export type IndexSpec = { readonly method: 'btree' | 'gin'; readonly expression: string };

const indexName = (table: string, { method, expression }: IndexSpec): string =>
  `${table.slice(0, 40)}_${createHash('sha256').update(`${method} ${expression}`).digest('hex').slice(0, 12)}`;

/** Until the transaction ends, no other transaction can change which indexes the organization wants. */
const lockWantedIndexes = (tx: Knex.Transaction, schema: string) =>
  tx.raw('select pg_advisory_xact_lock(hashtextextended(?, 3))', [schema]);

export const insertWantedIndexes = (
  control: Knex,
  schema: string,
  recordType: string,
  specs: readonly IndexSpec[],
): Promise<void> =>
  control.transaction(async (tx) => {
    await lockWantedIndexes(tx, schema);
    for (const { method, expression } of specs) {
      await tx.raw(
        `insert into ${schema}.record_indexes (record_type, method, expression) values (?, ?, ?) on conflict do nothing`,
        [recordType, method, expression],
      );
    }
  });

/**
 * Deletes wanted indexes that `readNeeded` doesn't return, by record type. It runs under the lock that keeps
 * others from adding any.
 */
export async function deleteWantedIndexesExcept(
  tx: Knex.Transaction,
  schema: string,
  readNeeded: () => Promise<ReadonlyMap<string, readonly IndexSpec[]>>,
): Promise<void> {
  await lockWantedIndexes(tx, schema);
  const needed = [...(await readNeeded())].flatMap(([recordType, specs]) =>
    specs.map((spec) => [recordType, spec] as const),
  );
  await tx.raw(
    `delete from ${schema}.record_indexes as r where not exists (select from unnest(?::text[], ?::text[], ?::text[]) as n(record_type, method, expression)
       where n.record_type = r.record_type and n.method = r.method and n.expression = r.expression)`,
    [
      needed.map(([recordType]) => recordType),
      needed.map(([, { method }]) => method),
      needed.map(([, { expression }]) => expression),
    ],
  );
}

export async function listWantedIndexes(
  control: Knex,
  schema: string,
  recordType: string,
): Promise<IndexSpec[]> {
  const { rows } = await control.raw<{ rows: IndexSpec[] }>(
    `select method, expression from ${schema}.record_indexes where record_type = ? order by 1, 2`,
    [recordType],
  );
  return rows;
}

/** Those of the wanted indexes that the table lacks or that are invalid after an interrupted build. */
export async function listMissingIndexes(
  control: Knex,
  schema: string,
  table: string,
  wanted: readonly IndexSpec[],
): Promise<IndexSpec[]> {
  const { rows } = await control.raw<{ rows: { name: string }[] }>(
    `select c.relname as name from pg_index i join pg_class c on c.oid = i.indexrelid join pg_class t on t.oid = i.indrelid
     join pg_namespace n on n.oid = t.relnamespace where n.nspname = ? and t.relname = ? and i.indisvalid`,
    [schema, table],
  );
  const valid = new Set(rows.map(({ name }) => name));
  return wanted.filter((spec) => !valid.has(indexName(table, spec)));
}

type Session = Pick<PoolClient, 'query'>;

/**
 * Runs `work` on one connection of the control pool: DDL may run only there, and session locks end with the
 * session. When `signal` aborts, the connection is closed in the middle of a statement; the server finishes
 * the statement, so that an index build is not lost.
 */
const onOneConnection = <T>(control: Knex, work: (session: Session) => Promise<T>, signal?: AbortSignal) =>
  onKnexConnection(control, async (connection) => {
    let closed: Promise<void> | undefined;
    const closeConnection = (): void => {
      closed ??= connection.end();
    };
    signal?.addEventListener('abort', closeConnection);
    try {
      return await work(connection);
    } finally {
      signal?.removeEventListener('abort', closeConnection);
      // The pool must not get it back while it can't tell that it is closed.
      await closed;
    }
  });

const lockPollMs = 200;
/**
 * Allows one builder per table: a second one would mistake a half-built index for a broken one. Polls instead
 * of waiting for the lock, because a concurrent build waits for every statement that is running. Throws the
 * signal's reason when `signal` aborts, and `TablesPending`.
 */
async function withBuilderLock(
  control: Knex,
  table: string,
  signal: AbortSignal | undefined,
  work: (session: Session) => Promise<void>,
): Promise<void> {
  const tryBuild = async (session: Session): Promise<boolean> => {
    const { rows } = await session.query<{ locked: boolean }>(
      'select pg_try_advisory_lock(hashtextextended($1, 1)) as locked',
      [table],
    );
    if (rows[0]?.locked !== true) return false;
    try {
      await work(session);
    } finally {
      await session
        .query('select pg_advisory_unlock(hashtextextended($1, 1))', [table])
        .catch(() => undefined);
    }
    return true;
  };
  for (;;) {
    signal?.throwIfAborted();
    if (await orPending(() => onOneConnection(control, tryBuild, signal))) return;
    await new Promise((resolve) => setTimeout(resolve, lockPollMs));
  }
}

/**
 * A value is too long for an index (over 2,704 bytes in a btree). The index is omitted: results stay correct,
 * but queries are slower.
 */
const isTooLong = (error: unknown): boolean => sqlState(error) === '54000';

/**
 * Builds the missing indexes one at a time, `concurrently` for tables that readers use. Looks for them under
 * the builder lock, when no other process is building or dropping indexes. Returns how many were missing.
 * Throws the signal's reason when `signal` aborts, `TablesPending`, and any other database error except a
 * value that is too long, for which the index is omitted.
 */
export async function buildIndexes(
  control: Knex,
  schema: string,
  table: string,
  wanted: readonly IndexSpec[],
  concurrently: boolean,
  onBuilt: (done: number, of: number) => Promise<void> | void = () => undefined,
  signal?: AbortSignal,
): Promise<number> {
  const option = concurrently ? 'concurrently ' : '';
  let missingCount = 0;
  await withBuilderLock(control, `${schema}.${table}`, signal, async (session) => {
    const missing = await listMissingIndexes(control, schema, table, wanted);
    missingCount = missing.length;
    for (const [index, spec] of missing.entries()) {
      const name = quoteIdentifier(indexName(table, spec));
      await session.query(`drop index ${option}if exists ${schema}.${name}`);
      try {
        await session.query(
          `create index ${option}${name} on ${schema}.${quoteIdentifier(table)} using ${spec.method} (${spec.expression})`,
        );
      } catch (error) {
        if (!isTooLong(error)) throw error;
        await session.query(`drop index ${option}if exists ${schema}.${name}`);
      }
      await onBuilt(index + 1, missing.length);
    }
  });
  return missingCount;
}

/** Dropping waits for every running statement, exports included; after this long the next call does it. */
const dropLockTimeout = '10s';

/**
 * Drops our indexes that are no longer wanted, half-built ones included. Returns how many; fewer than
 * possible when running statements block it for longer than the lock timeout. Throws the signal's reason when
 * `signal` aborts, and `TablesPending`.
 */
export async function dropUnwantedIndexes(
  control: Knex,
  schema: string,
  { recordType, table }: { readonly recordType: string; readonly table: string },
  signal: AbortSignal,
): Promise<number> {
  let dropped = 0;
  await withBuilderLock(control, `${schema}.${table}`, signal, async (session) => {
    const wanted = new Set(
      (await listWantedIndexes(control, schema, recordType)).map((spec) => indexName(table, spec)),
    );
    const { rows } = await session.query<{ name: string }>(
      `select c.relname as name from pg_index i join pg_class c on c.oid = i.indexrelid join pg_class t on t.oid = i.indrelid
       join pg_namespace n on n.oid = t.relnamespace
       where n.nspname = $1 and t.relname = $2 and not i.indisprimary and starts_with(c.relname, $3) and substr(c.relname, length($3) + 1) ~ '^[0-9a-f]{12}$'`,
      [schema, table, indexName(table, { method: 'btree', expression: '' }).slice(0, -12)],
    );
    await session.query(`set lock_timeout = '${dropLockTimeout}'`);
    try {
      for (const { name } of rows.filter((row) => !wanted.has(row.name))) {
        signal.throwIfAborted();
        await session.query(`drop index concurrently if exists ${schema}.${quoteIdentifier(name)}`);
        dropped += 1;
      }
    } catch (error) {
      if (sqlState(error) !== '55P03') throw error;
    } finally {
      await session.query('reset lock_timeout');
    }
  });
  return dropped;
}

/** Values longer than this may be too long for an index, compressed or not. */
const suspectBytes = 2_000;

/** The rows that were about to be written: those that a run staged, or (`runId` null) all rows of a table. */
export type RowSource = { readonly table: string; readonly runId: string | null };

/**
 * After a publish that failed because a value is too long for an index: drops the index that the error names,
 * or else those over columns with long values in the source. Returns their names; none when the error has
 * another cause.
 */
export async function dropIndexesRefusingRow(
  control: Knex,
  schema: string,
  table: string,
  source: RowSource,
  error: unknown,
): Promise<string[]> {
  if (!isTooLong(error)) return [];
  const named = (error as { constraint?: string }).constraint;
  return onOneConnection(control, async (session) => {
    const long = named === undefined ? await listLongColumns(session, schema, source) : [];
    const { rows } = await session.query<{ name: string; definition: string }>(
      `select c.relname as name, pg_get_indexdef(c.oid) as definition from pg_index i join pg_class c on c.oid = i.indexrelid
       join pg_class t on t.oid = i.indrelid join pg_namespace n on n.oid = t.relnamespace
       where n.nspname = $1 and t.relname = $2 and not i.indisprimary`,
      [schema, table],
    );
    const refusing = rows.filter(({ name, definition }) =>
      named === undefined
        ? long.some((column) => new RegExp(`\\b${column}\\b`).test(definition))
        : isNameOrShard(name, named),
    );
    for (const { name } of refusing)
      await session.query(`drop index concurrently if exists ${schema}.${quoteIdentifier(name)}`);
    return refusing.map(({ name }) => name);
  });
}

async function listLongColumns(session: Session, schema: string, { table, runId }: RowSource) {
  const source = `${schema}.${quoteIdentifier(table)}`;
  const texts = await session.query<{ name: string }>(
    `select attname as name from pg_attribute where attrelid = $1::regclass and attnum > 0 and not attisdropped and atttypid = 'text'::regtype`,
    [source],
  );
  if (texts.rows.length === 0) return [];
  const tests = texts.rows.map(
    ({ name }, index) => `bool_or(octet_length(${quoteIdentifier(name)}) > ${suspectBytes}) as c${index}`,
  );
  const { rows } = await session.query<Record<string, boolean | null>>(
    `select ${tests.join(', ')} from ${source} ${runId === null ? '' : 'where run_id = $1'}`,
    runId === null ? [] : [runId],
  );
  return texts.rows.flatMap(({ name }, index) => (rows[0]?.[`c${index}`] === true ? [name] : []));
}
