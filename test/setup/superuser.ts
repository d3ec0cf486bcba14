import { Client } from 'pg';
import { inject } from 'vitest';
import type { TestServer } from './global.ts';

/** Runs `work` as the superuser: in this database of the tests' cluster, or at this address. */
export async function asSuperuser<T>(
  database: string | TestServer,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const client = new Client(typeof database === 'string' ? { ...inject('pg'), database } : database);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
