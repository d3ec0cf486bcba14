// knex's connection pool, tarn, and the class of its connections, which are no part of its interface.
// test/db/driver/knex.test.ts fails when a new version of knex changes it.
import type { Knex } from 'knex';
import type { Client, ClientConfig } from 'pg';

type Tarn = { numUsed(): number; numFree(): number; numPendingAcquires(): number };

export function knexPoolUsage({ client }: Knex): {
  readonly used: number;
  readonly idle: number;
  readonly waiting: number;
} {
  const pool = client.pool as Tarn;
  return { used: pool.numUsed(), idle: pool.numFree(), waiting: pool.numPendingAcquires() };
}

/**
 * Runs `work` on one connection of the pool, outside a transaction. Rejects with the error of `work`, or when
 * no connection is free.
 */
export async function onKnexConnection<T>({ client }: Knex, work: (connection: Client) => Promise<T>) {
  const connection = (await client.acquireConnection()) as Client;
  try {
    return await work(connection);
  } finally {
    await client.releaseConnection(connection);
  }
}

/** Lets the pool open its connections as objects of this class. Call it before the first query. */
export function useClientClass({ client }: Knex, Class: new (config: ClientConfig) => Client): void {
  const holder = client as { driver: { readonly Client: unknown } };
  holder.driver = { ...holder.driver, Client: Class };
}
