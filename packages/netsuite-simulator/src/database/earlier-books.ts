// The books as they were before the last edit, for answers that are out of date: an exported snapshot, held
// by a transaction of its own that locks no table.
import type { Pool, PoolClient } from 'pg';

export type EarlierBooks = {
  /** Keeps the present books, in place of those kept before. */
  keep(): Promise<void>;
  /** Identifies the snapshot, for SET TRANSACTION SNAPSHOT; undefined when none is kept. */
  snapshot(): string | undefined;
  /** Keeps none. */
  close(): Promise<void>;
};

export function createEarlierBooks(pool: Pool): EarlierBooks {
  let client: PoolClient | undefined;
  let snapshot: string | undefined;
  let last: Promise<void> = Promise.resolve();
  /** One at a time: concurrent edits must not each hold a connection. */
  const runSerially = (work: () => Promise<void>): Promise<void> => {
    const result = last.then(work);
    last = result.catch(() => undefined);
    return result;
  };
  const release = async (): Promise<void> => {
    const held = client;
    [client, snapshot] = [undefined, undefined];
    await held?.query('ROLLBACK').catch(() => undefined); // the connection may be lost, and the snapshot with it
    held?.release();
  };
  return {
    keep: () =>
      runSerially(async () => {
        await release();
        client = await pool.connect();
        await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
        const { rows } = await client.query<{ id: string }>('SELECT pg_export_snapshot() AS id');
        snapshot = rows[0]?.id;
      }),
    snapshot: () => snapshot,
    close: () => runSerially(release),
  };
}
