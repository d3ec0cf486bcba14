// Runs statements on the connections to the warehouse. Texts are written once and cached; a text that is used
// again is prepared by name, so that PostgreSQL does not parse it again. Each connection keeps a bounded
// number of prepared statements, because each takes memory of its backend; the least recently used one is
// deallocated first.
import { hash } from 'node:crypto';
import { DatabaseError, type Pool, type PoolClient, type QueryResultRow } from 'pg';
import { createCache } from '../../../core/work/cache.ts';
import type { HitCounter } from '../../../core/work/hit-counter.ts';
import type { Semaphore } from '../../../core/work/semaphore.ts';
import { forgetParsed } from '../../../db/driver/pg-client.ts';
import { type Prepared, runPrepared } from '../../../db/driver/prepared-query.ts';
import { sqlState } from '../../../db/pg-errors.ts';
import { isPooled, keepsPrepared } from '../../../db/routed-client.ts';
import type { Statement } from '../sql/list-sql.ts';

export type StatementRunner = {
  /**
   * Returns the rows, within the share of the owner. Rejects with 503 when too many wait, and with errors of
   * PostgreSQL, except those that only mean that a prepared statement is stale or gone.
   */
  run<Row extends QueryResultRow>(owner: string, statement: Statement): Promise<Row[]>;
  /**
   * As `run`, with a few rows at a time from the database: of rows of many bytes, the event loop handles no
   * more in one turn.
   */
  runInSteps<Row extends QueryResultRow>(owner: string, statement: Statement): Promise<Row[]>;
  /** Runs the same texts on another server. */
  on(pool: Pick<Pool, 'connect'>, queue: Semaphore): StatementRunner;
};

type Shape = { readonly name: string; readonly text: string; uses: number };

const maxNamed = 200;
/**
 * Result type changed by DDL; no such statement; already exists. The last two occur behind a pooler that
 * mixes sessions.
 */
const stale = /^(0A000|26000|42P05)$/;

/** Writes the text of a statement once, and counts how often each text was used. */
function createTexts(maxBytes: number, counter?: HitCounter): (statement: Statement) => Shape {
  const shapes = createCache<Shape>({ maxBytes, countBytes: ({ text }) => text.length, counter });
  return ({ key, write }) => {
    const cached = shapes.find(key);
    if (cached !== undefined) {
      cached.uses += 1;
      return cached;
    }
    const text = write();
    const shape = { name: `r_${hash('sha256', text, 'base64url').slice(0, 32)}`, text, uses: 1 };
    shapes.put(key, shape);
    return shape;
  };
}

type QueryRows = <Row extends QueryResultRow>(
  client: PoolClient,
  shape: Shape,
  values: unknown[],
) => Promise<Row[]>;

/**
 * The returned function runs a statement prepared by name; a stale one is deallocated and run without its
 * name.
 */
function createNamedQueries(maxPerConnection: number): QueryRows {
  /** The prepared statements of each connection by name, least recently used first. */
  const named = new WeakMap<PoolClient, Map<string, Prepared>>();
  const deallocate = async (client: PoolClient, all: Map<string, Prepared>, name: string): Promise<void> => {
    // A pooler bounds the server's statements itself, doesn't notice this one, and would close a connection
    // that prepares a name again.
    if (isPooled(client)) return;
    all.delete(name);
    forgetParsed(client, name);
    await client.query(`deallocate "${name}"`).catch((error: unknown) => {
      if (sqlState(error) !== '26000') throw error;
    });
  };
  return async <Row extends QueryResultRow>(client: PoolClient, { name, text }: Shape, values: unknown[]) => {
    const all = named.get(client) ?? new Map<string, Prepared>();
    named.set(client, all);
    const prepared = all.get(name) ?? { name, text };
    const [oldest] = all.keys();
    if (!all.delete(name) && all.size >= maxPerConnection && oldest !== undefined)
      await deallocate(client, all, oldest);
    all.set(name, prepared);
    try {
      return await runPrepared<Row>(client, prepared, values);
    } catch (error) {
      if (!stale.test(sqlState(error) ?? '')) throw error;
      await deallocate(client, all, name);
      return (await client.query<Row>(text, values)).rows;
    }
  };
}

const rowsPerFetch = 8;

/** All rows come from one snapshot. */
async function queryInSteps<Row extends QueryResultRow>(
  client: PoolClient,
  { text }: Shape,
  values: unknown[],
): Promise<Row[]> {
  await client.query('begin');
  try {
    await client.query(`declare large no scroll cursor for ${text}`, values);
    const rows: Row[] = [];
    for (let isOver = false; !isOver; ) {
      const { rows: found } = await client.query<Row>(`fetch ${rowsPerFetch} from large`);
      rows.push(...found);
      isOver = found.length < rowsPerFetch;
    }
    await client.query('commit');
    return rows;
  } catch (error) {
    // Fails when the connection is lost, which the error says.
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
}

async function runOn<Row extends QueryResultRow>(
  pool: Pick<Pool, 'connect'>,
  shape: Shape,
  values: unknown[],
  queryRows: QueryRows,
): Promise<Row[]> {
  const client = await pool.connect();
  let failure: unknown;
  try {
    return await queryRows<Row>(client, shape, values);
  } catch (error) {
    failure = error;
    throw error;
  } finally {
    // An error reported by the server leaves the connection usable.
    client.release(failure !== undefined && !(failure instanceof DatabaseError));
  }
}

/**
 * `maxTextBytes` bounds the cached texts, `maxPerConnection` the prepared statements of one connection.
 * Running a statement rejects with 503 when too many wait, and with the error of PostgreSQL.
 */
export function createStatementRunner(
  primary: Pick<Pool, 'connect'>,
  reads: Semaphore,
  maxTextBytes: number,
  maxPerConnection = maxNamed,
  counter?: HitCounter,
): StatementRunner {
  const loadShape = createTexts(maxTextBytes, counter);
  const queryNamed = createNamedQueries(maxPerConnection);
  const query: QueryRows = <Row extends QueryResultRow>(
    client: PoolClient,
    shape: Shape,
    values: unknown[],
  ): Promise<Row[]> =>
    shape.uses > 1 && keepsPrepared(client)
      ? queryNamed<Row>(client, shape, values)
      : client.query<Row>(shape.text, values).then(({ rows }) => rows);
  const on: StatementRunner['on'] = (pool, queue) => {
    const runWith =
      (queryRows: QueryRows) =>
      <Row extends QueryResultRow>(owner: string, statement: Statement): Promise<Row[]> => {
        const shape = loadShape(statement);
        return queue.run(owner, () => runOn<Row>(pool, shape, statement.values as unknown[], queryRows));
      };
    return { run: runWith(query), runInSteps: runWith(queryInSteps), on };
  };
  return on(primary, reads);
}
