// One transaction for everything that a change to the books brings with it. Changes wait for one another, so that derived amounts are
// always reckoned from what is there; readers see all of a change or nothing.
import type { Pool, PoolClient } from 'pg';

const WRITE_LOCK = 7_311_003;

export async function inWrite<T>(pool: Pool, timeZone: string, work: (client: PoolClient) => Promise<T>): Promise<T> {
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
