// The indexes that published versions need: remembered per record type, built without blocking anyone, and made again on every
// table that goes live. An interrupted concurrent build leaves an invalid index: it is dropped and built anew.
import { createHash } from 'node:crypto';
import type { Knex } from 'knex';
import type { Client, PoolClient } from 'pg';
import { sqlState } from '../db/pg-errors.ts';
import { quoted } from './table.ts';

/** `expression` is what stands between the parentheses: physical column names of ours and nothing a caller wrote. */
export type IndexSpec = { readonly method: 'btree' | 'gin'; readonly expression: string };

const indexName = (table: string, { method, expression }: IndexSpec): string =>
  `${table.slice(0, 40)}_${createHash('sha256').update(`${method} ${expression}`).digest('hex').slice(0, 12)}`;

/** Until the transaction ends, nobody else decides which indexes the organization wants. */
const holdWanted = (tx: Knex.Transaction, schema: string) => tx.raw('select pg_advisory_xact_lock(hashtextextended(?, 3))', [schema]);

export const rememberIndexes = (control: Knex, schema: string, recordType: string, specs: readonly IndexSpec[]): Promise<void> =>
  control.transaction(async (tx) => {
    await holdWanted(tx, schema);
    for (const { method, expression } of specs) {
      await tx.raw(`insert into ${schema}.record_indexes (record_type, method, expression) values (?, ?, ?) on conflict do nothing`, [
        recordType,
        method,
        expression,
      ]);
    }
  });

/** Forgets all that `readNeeded` doesn't name, by record type; it is asked when nobody can want anything more in between. */
export async function forgetIndexesBut(
  tx: Knex.Transaction,
  schema: string,
  readNeeded: () => Promise<ReadonlyMap<string, readonly IndexSpec[]>>,
): Promise<void> {
  await holdWanted(tx, schema);
  const needed = [...(await readNeeded())].flatMap(([recordType, specs]) => specs.map((spec) => [recordType, spec] as const));
  await tx.raw(
    `delete from ${schema}.record_indexes as r where not exists (select from unnest(?::text[], ?::text[], ?::text[]) as n(record_type, method, expression)
       where n.record_type = r.record_type and n.method = r.method and n.expression = r.expression)`,
    [needed.map(([recordType]) => recordType), needed.map(([, { method }]) => method), needed.map(([, { expression }]) => expression)],
  );
}

export async function wantedIndexes(control: Knex, schema: string, recordType: string): Promise<IndexSpec[]> {
  const { rows } = await control.raw<{ rows: IndexSpec[] }>(
    `select method, expression from ${schema}.record_indexes where record_type = ? order by 1, 2`,
    [recordType],
  );
  return rows;
}

/** Which of the wanted indexes the table lacks or holds half built. */
export async function missingIndexes(control: Knex, schema: string, table: string, wanted: readonly IndexSpec[]): Promise<IndexSpec[]> {
  const { rows } = await control.raw<{ rows: { name: string }[] }>(
    `select c.relname as name from pg_index i join pg_class c on c.oid = i.indexrelid join pg_class t on t.oid = i.indrelid
     join pg_namespace n on n.oid = t.relnamespace where n.nspname = ? and t.relname = ? and i.indisvalid`,
    [schema, table],
  );
  const held = new Set(rows.map(({ name }) => name));
  return wanted.filter((spec) => !held.has(indexName(table, spec)));
}

type Session = Pick<PoolClient, 'query'>;

/**
 * A connection of the control door for itself: DDL goes where it may run, and session locks end with the session. `signal` gives the
 * connection up in the middle of a statement; the server goes on with it, so that a build is not lost.
 */
async function onOneConnection<T>(control: Knex, work: (session: Session) => Promise<T>, signal?: AbortSignal): Promise<T> {
  const connection = (await control.client.acquireConnection()) as Client;
  const giveUp = (): void => void connection.end();
  signal?.addEventListener('abort', giveUp);
  try {
    return await work(connection);
  } finally {
    signal?.removeEventListener('abort', giveUp);
    await control.client.releaseConnection(connection);
  }
}

const lockPollMs = 200;
/**
 * One builder per table: another would take its half-built index for a broken one. It asks again and again instead of waiting
 * in the lock, because a concurrent build waits for every statement that is under way.
 */
async function asOnlyBuilder(
  control: Knex,
  table: string,
  signal: AbortSignal | undefined,
  work: (session: Session) => Promise<void>,
): Promise<void> {
  const tryBuild = async (session: Session): Promise<boolean> => {
    const { rows } = await session.query<{ held: boolean }>('select pg_try_advisory_lock(hashtextextended($1, 1)) as held', [table]);
    if (rows[0]?.held !== true) return false;
    try {
      await work(session);
    } finally {
      await session.query('select pg_advisory_unlock(hashtextextended($1, 1))', [table]).catch(() => undefined);
    }
    return true;
  };
  for (;;) {
    signal?.throwIfAborted();
    if (await onOneConnection(control, tryBuild, signal)) return;
    await new Promise((resolve) => setTimeout(resolve, lockPollMs));
  }
}

/** A value is longer than an index can hold (2,704 bytes in a btree). Such an index is done without: answers stay right, and slower. */
const isTooLong = (error: unknown): boolean => sqlState(error) === '54000';

/**
 * Builds what is missing, one at a time; `concurrently` for tables that readers use. What is there is looked for as the only builder:
 * whoever drops indexes has ended then. Says how many were missing; throws when `signal` ends it.
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
  const way = concurrently ? 'concurrently ' : '';
  let lacked = 0;
  await asOnlyBuilder(control, `${schema}.${table}`, signal, async (session) => {
    const missing = await missingIndexes(control, schema, table, wanted);
    lacked = missing.length;
    for (const [index, spec] of missing.entries()) {
      const name = quoted(indexName(table, spec));
      await session.query(`drop index ${way}if exists ${schema}.${name}`);
      try {
        await session.query(`create index ${way}${name} on ${schema}.${quoted(table)} using ${spec.method} (${spec.expression})`);
      } catch (error) {
        if (!isTooLong(error)) throw error;
        await session.query(`drop index ${way}if exists ${schema}.${name}`);
      }
      await onBuilt(index + 1, missing.length);
    }
  });
  return lacked;
}

/** Dropping waits for every statement that is under way, exports too; whoever waits longer leaves it to the next time. */
const dropPatience = '10s';

/** Drops the indexes of ours that nobody wants any more, half built ones too. Says how many; fewer when readers are in the way. */
export async function dropUnwantedIndexes(
  control: Knex,
  schema: string,
  { recordType, table }: { readonly recordType: string; readonly table: string },
  signal: AbortSignal,
): Promise<number> {
  let dropped = 0;
  await asOnlyBuilder(control, `${schema}.${table}`, signal, async (session) => {
    const wanted = new Set((await wantedIndexes(control, schema, recordType)).map((spec) => indexName(table, spec)));
    const { rows } = await session.query<{ name: string }>(
      `select c.relname as name from pg_index i join pg_class c on c.oid = i.indexrelid join pg_class t on t.oid = i.indrelid
       join pg_namespace n on n.oid = t.relnamespace
       where n.nspname = $1 and t.relname = $2 and not i.indisprimary and starts_with(c.relname, $3) and substr(c.relname, length($3) + 1) ~ '^[0-9a-f]{12}$'`,
      [schema, table, indexName(table, { method: 'btree', expression: '' }).slice(0, -12)],
    );
    await session.query(`set lock_timeout = '${dropPatience}'`);
    try {
      for (const { name } of rows.filter((row) => !wanted.has(row.name))) {
        signal.throwIfAborted();
        await session.query(`drop index concurrently if exists ${schema}.${quoted(name)}`);
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

/** Longer values than this may be too long for an index, compressed or not. */
const suspectBytes = 2_000;

/** Rows on their way into a table: those that a run staged, or all of a table. */
export type RowSource = { readonly table: string; readonly runId: string | null };

/**
 * After a publish that an index refused: drops the index that the error names, or else those over columns of which the source has
 * long values. Says which ones; none when the error is about something else.
 */
export async function dropRefusingIndexes(
  control: Knex,
  schema: string,
  table: string,
  source: RowSource,
  error: unknown,
): Promise<string[]> {
  if (!isTooLong(error)) return [];
  const named = (error as { constraint?: string }).constraint;
  return onOneConnection(control, async (session) => {
    const long = named === undefined ? await longColumns(session, schema, source) : [];
    const { rows } = await session.query<{ name: string; definition: string }>(
      `select c.relname as name, pg_get_indexdef(c.oid) as definition from pg_index i join pg_class c on c.oid = i.indexrelid
       join pg_class t on t.oid = i.indrelid join pg_namespace n on n.oid = t.relnamespace
       where n.nspname = $1 and t.relname = $2 and not i.indisprimary`,
      [schema, table],
    );
    const refusing = rows.filter(({ name, definition }) =>
      named === undefined ? long.some((column) => new RegExp(`\\b${column}\\b`).test(definition)) : name === named,
    );
    for (const { name } of refusing) await session.query(`drop index concurrently if exists ${schema}.${quoted(name)}`);
    return refusing.map(({ name }) => name);
  });
}

async function longColumns(session: Session, schema: string, { table, runId }: RowSource): Promise<string[]> {
  const place = `${schema}.${quoted(table)}`;
  const texts = await session.query<{ name: string }>(
    `select attname as name from pg_attribute where attrelid = $1::regclass and attnum > 0 and not attisdropped and atttypid = 'text'::regtype`,
    [place],
  );
  if (texts.rows.length === 0) return [];
  const tests = texts.rows.map(({ name }, index) => `bool_or(octet_length(${quoted(name)}) > ${suspectBytes}) as c${index}`);
  const { rows } = await session.query<Record<string, boolean | null>>(
    `select ${tests.join(', ')} from ${place} ${runId === null ? '' : 'where run_id = $1'}`,
    runId === null ? [] : [runId],
  );
  return texts.rows.flatMap(({ name }, index) => (rows[0]?.[`c${index}`] === true ? [name] : []));
}
