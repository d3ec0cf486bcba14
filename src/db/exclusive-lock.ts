// Mutual exclusion among processes: an advisory lock held by a connection of its own, which releases it even
// when the process dies.
import { connectClient, type DatabaseAddress, poolConfig } from './connect.ts';

/**
 * Takes the lock of this name and returns the function that releases it; undefined when another process holds
 * it. Rejects with PostgreSQL's or the network's error when the database can't be reached.
 */
export async function tryExclusiveLock(address: DatabaseAddress, name: string) {
  const client = await connectClient(poolConfig(address, null))();
  // When the connection breaks, the lock is lost silently: the caller's work must tolerate a second process
  // doing the same.
  client.on('error', () => undefined);
  try {
    const { rows } = await client.query<{ held: boolean }>(
      'select pg_try_advisory_lock(hashtextextended($1, 3)) as held',
      [name],
    );
    if (rows[0]?.held === true) return () => client.end();
  } catch (error) {
    await client.end();
    throw error;
  }
  await client.end();
  return undefined;
}
