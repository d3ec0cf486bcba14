// Runs statements on the tenants' connections. A text is written once and remembered; one that comes again is prepared by name,
// so that PostgreSQL need not parse it again. A connection holds at most so many prepared statements, as each costs its backend
// memory: the least recently used one makes room.
import { hash } from 'node:crypto';
import { DatabaseError, type Pool, type PoolClient, type QueryResultRow } from 'pg';
import { openTally, type Tally } from '../core/tally.ts';
import { sqlState } from '../db/pg-errors.ts';
import { openByteCache } from './byte-cache.ts';
import type { Statement } from './sql.ts';
import type { Turns } from './turns.ts';

export type Statements = {
  /**
   * The first row, in the owner's turn. Errors of PostgreSQL pass through, but for those that only say that a prepared statement is
   * stale or gone. Throws 503 when too many wait.
   */
  run<Row extends QueryResultRow>(owner: string, statement: Statement): Promise<Row | undefined>;
};

type Shape = { readonly name: string; readonly text: string; uses: number };
/** What pg keeps of a connection's prepared statements, by name; it has no way of its own to let go of one. */
type Prepared = {
  connection: { parsedStatements: Record<string, string | undefined>; submittedNamedStatements: Record<string, string | undefined> };
};

const mostNamed = 200;
/** The plan's result changed by DDL; no such statement; it exists already: the last two behind a pooler that mixes sessions. */
const stale = /^(0A000|26000|42P05)$/;

export function openStatements(
  pool: Pick<Pool, 'connect'>,
  turns: Turns,
  maxTextBytes: number,
  most = mostNamed,
  tally: Tally = openTally(),
): Statements {
  const shapes = openByteCache<Shape>(maxTextBytes, ({ text }) => text.length);
  /** By connection the names it holds, the least recently used first. */
  const named = new WeakMap<PoolClient, Set<string>>();

  const shapeOf = ({ key, write }: Statement): Shape => {
    const held = shapes.get(key);
    if (held !== undefined) {
      held.uses += 1;
      tally.hits += 1;
      return held;
    }
    tally.misses += 1;
    const text = write();
    const shape = { name: `r_${hash('sha256', text, 'base64url').slice(0, 32)}`, text, uses: 1 };
    shapes.set(key, shape);
    return shape;
  };

  const forget = async (client: PoolClient, names: Set<string>, name: string): Promise<void> => {
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
    if (!names.delete(name) && names.size >= most && oldest !== undefined) await forget(client, names, oldest);
    names.add(name);
    try {
      return (await client.query<Row>({ name, text, values })).rows[0];
    } catch (error) {
      if (!stale.test(sqlState(error) ?? '')) throw error;
      await forget(client, names, name);
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
      // What the server itself refused leaves the connection as it was.
      client.release(failure !== undefined && !(failure instanceof DatabaseError));
    }
  };
  return {
    async run<Row extends QueryResultRow>(owner: string, statement: Statement): Promise<Row | undefined> {
      const shape = shapeOf(statement);
      const endTurn = turns.begin(owner) ?? (await turns.await(owner));
      try {
        return await runOn<Row>(shape, statement.values as unknown[]);
      } finally {
        endTurn();
      }
    },
  };
}
