// One transaction for a change to the books and everything derived from it. An advisory lock serializes
// changes, so that derived amounts are always computed from committed data; readers see all of a change or
// nothing.
import type { Pool, PoolClient } from 'pg';

const WRITE_LOCK = 7_311_003;

/** Commits what `work` did; rolls back and rejects with its error when it rejects. */
export async function inWriteTransaction<T>(
  pool: Pool,
  timeZone: string,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  let lost: Error | undefined;
  try {
    await client.query('BEGIN');
    await client.query('SELECT pg_advisory_xact_lock($1)', [WRITE_LOCK]);
    await client.query("SELECT set_config('TimeZone', $1, true)", [timeZone]);
    const result = await work(client);
    await client.query('COMMIT');
    return result;
  } catch (error) {
    await client.query('ROLLBACK').catch((reason: Error) => {
      lost = reason;
    });
    throw error;
  } finally {
    client.release(lost);
  }
}
