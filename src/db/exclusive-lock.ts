// One of a kind at a time: a lock that its connection holds and that goes with it, whatever becomes of the process.
import { Client } from 'pg';
import { type Address, poolConfig } from './connect.ts';

/** Keeps others with this name out until the function that it returns is called; undefined when another holds it. */
export async function holdExclusive(address: Address, name: string): Promise<(() => Promise<void>) | undefined> {
  const client = new Client(poolConfig(address, null));
  // A connection that breaks gives the lock up; what goes on without it must bear a second one beside it.
  client.on('error', () => undefined);
  await client.connect();
  try {
    const { rows } = await client.query<{ held: boolean }>('select pg_try_advisory_lock(hashtextextended($1, 3)) as held', [name]);
    if (rows[0]?.held === true) return () => client.end();
  } catch (error) {
    await client.end();
    throw error;
  }
  await client.end();
  return undefined;
}
