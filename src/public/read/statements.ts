// Runs statements on the connections to the warehouse. Texts are written once and cached; a text that is used again is prepared by name, so
// that PostgreSQL does not parse it again. Each connection keeps a bounded number of prepared statements, because each takes memory of its
// backend; the least recently used one is deallocated first.
import { hash } from 'node:crypto';
import { DatabaseError, type Pool, type PoolClient, type QueryResultRow } from 'pg';
import { createHitCounter, type HitCounter } from '../core/hit-counter.ts';
import { sqlState } from '../db/pg-errors.ts';
import { createByteCache } from './byte-cache.ts';
import type { FairQueue } from './fair-queue.ts';
import type { Statement } from './sql.ts';

export type StatementRunner = {
  /**
   * Returns the first row, within the share of the owner. Rejects with 503 when too many wait, and with errors of PostgreSQL, except those
   * that only mean that a prepared statement is stale or gone.
   */
  run<Row extends QueryResultRow>(owner: string, statement: Statement): Promise<Row | undefined>;
};

type Shape = { readonly name: string; readonly text: string; uses: number };
/** Internals of pg: the prepared statements of a connection by name. It has no API to remove one. */
type Prepared = {
  connection: { parsedStatements: Record<string, string | undefined>; submittedNamedStatements: Record<string, string | undefined> };
};

const maxNamed = 200;
/** Result type changed by DDL; no such statement; already exists. The last two occur behind a pooler that mixes sessions. */
const stale = /^(0A000|26000|42P05)$/;

/**
 * `maxTextBytes` bounds the cached texts, `maxPerConnection` the prepared statements of one connection. Running a statement rejects with
 * 503 when too many wait, and with the error of PostgreSQL.
 */
export function createStatementRunner(
  pool: Pick<Pool, 'connect'>,
  queue: FairQueue,
  maxTextBytes: number,
  maxPerConnection = maxNamed,
  counter: HitCounter = createHitCounter(),
): StatementRunner {
  const shapes = createByteCache<Shape>(maxTextBytes, ({ text }) => text.length);
  /** Names of the prepared statements of each connection, least recently used first. */
  const named = new WeakMap<PoolClient, Set<string>>();

  const shapeOf = ({ key, write }: Statement): Shape => {
    const cached = shapes.get(key);
    if (cached !== undefined) {
      cached.uses += 1;
      counter.hits += 1;
      return cached;
    }
    counter.misses += 1;
    const text = write();
    const shape = { name: `r_${hash('sha256', text, 'base64url').slice(0, 32)}`, text, uses: 1 };
    shapes.set(key, shape);
    return shape;
  };

  const deallocate = async (client: PoolClient, names: Set<string>, name: string): Promise<void> => {
    names.delete(name);
    const { connection } = client as unknown as Prepared;
    delete connection.parsedStatements[name];
    delete connection.submittedNamedStatements[name];
    await client.query(`deallocate "${name}"`).catch((error: unknown) => {
      if (sqlState(error) !== '26000') throw error;
    });
  };

  const queryNamed = async <Row extends QueryResultRow>(
    client: PoolClient,
    { name, text }: Shape,
    values: unknown[],
  ): Promise<Row | undefined> => {
    const names = named.get(client) ?? new Set<string>();
    named.set(client, names);
    const [oldest] = names;
    if (!names.delete(name) && names.size >= maxPerConnection && oldest !== undefined) await deallocate(client, names, oldest);
    names.add(name);
    try {
      return (await client.query<Row>({ name, text, values })).rows[0];
    } catch (error) {
      if (!stale.test(sqlState(error) ?? '')) throw error;
      await deallocate(client, names, name);
      return (await client.query<Row>(text, values)).rows[0];
    }
  };

  const runOn = async <Row extends QueryResultRow>(shape: Shape, values: unknown[]): Promise<Row | undefined> => {
    const client = await pool.connect();
    let failure: unknown;
    try {
      if (shape.uses > 1) return await queryNamed<Row>(client, shape, values);
      return (await client.query<Row>(shape.text, values)).rows[0];
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      // An error reported by the server leaves the connection usable.
      client.release(failure !== undefined && !(failure instanceof DatabaseError));
    }
  };
  return {
    async run<Row extends QueryResultRow>(owner: string, statement: Statement): Promise<Row | undefined> {
      const shape = shapeOf(statement);
      const releasePermit = queue.tryAcquire(owner) ?? (await queue.acquire(owner));
      try {
        return await runOn<Row>(shape, statement.values as unknown[]);
      } finally {
        releasePermit();
      }
    },
  };
}
