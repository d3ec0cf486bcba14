import { Client } from 'pg';
import { inject } from 'vitest';

/** Runs `work` as the superuser of the tests' cluster in this database. */
export async function asSuperuser<T>(database: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ ...inject('pg'), database });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
