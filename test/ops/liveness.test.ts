// A TCP proxy in front of PostgreSQL that can drop all data, as a broken network does: no connection breaks,
// and no response arrives.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import type { Knex } from 'knex';
import { Pool } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { connectClient, openKnex, poolConfig } from '../../src/db/connect.ts';
import { type LivenessMonitor, monitorDatabaseLiveness } from '../../src/db/liveness.ts';
import { createNotificationListener } from '../../src/db/notifications.ts';
import { isTransientError } from '../../src/db/pg-errors.ts';
import { until } from '../setup/until.ts';
import { useDatabase } from '../setup/use-database.ts';

/** The server counts as unresponsive after ten of these. */
const checkEveryMs = 250;

const database = useDatabase();
let server: Server;
let address: typeof database.address;
let monitor: LivenessMonitor;
let pool: Pool;
let knex: Knex;
/** In the order of creation; a blocked link drops data in both directions. */
const links: { readonly ends: readonly Socket[]; blocked: boolean }[] = [];
let blockNew = false;
/** Number of links of earlier tests. */
let earlier = 0;

beforeAll(async () => {
  const { host, port } = database.address;
  server = createServer((client) => {
    const upstream = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
    const link = { ends: [client, upstream], blocked: blockNew };
    links.push(link);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      from.on('error', () => undefined);
      from.on('data', (chunk) => void (link.blocked || to.write(chunk)));
      from.on('close', () => to.destroy());
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  address = { ...database.address, host: '127.0.0.1', port: (server.address() as AddressInfo).port };
});
afterAll(() => {
  for (const socket of links.flatMap(({ ends }) => ends)) socket.destroy();
  server.close();
});

beforeEach(() => {
  blockNew = false;
  earlier = links.length;
  monitor = monitorDatabaseLiveness(poolConfig(address, 'portal_service'), undefined, checkEveryMs);
  const stream = monitor.openSocket;
  pool = new Pool(poolConfig(address, 'portal_service', { stream, max: 4 }));
  pool.on('error', () => undefined);
  knex = openKnex(address, 'portal_service', 4, { stream });
});
afterEach(async () => {
  await Promise.all([knex.destroy(), pool.end()]);
  await monitor.close();
});

const blockAll = (): void => {
  for (const link of links) link.blocked = true;
};
/** True when the query fails with a transient error. */
const failsTransiently = (query: Promise<unknown>): Promise<unknown> =>
  query.then(() => 'succeeded', isTransientError);

it('lets a statement run for any time while the server responds', async () => {
  const seconds = (checkEveryMs * 15) / 1_000;
  await expect(pool.query('select pg_sleep($1)', [seconds])).resolves.toBeDefined();
});

describe('an unresponsive server', () => {
  it('running and new queries fail, and everything works again when the server responds', async () => {
    let noticed = Promise.withResolvers<void>();
    const listener = createNotificationListener(
      connectClient(poolConfig(address, 'portal_service', { stream: monitor.openSocket })),
    );
    const unsubscribe = listener.subscribe('words', () => noticed.resolve());
    await noticed.promise;
    const open = await knex.transaction();
    await open.raw('select');
    blockNew = true;
    blockAll();
    const running = [pool.query('select'), knex.raw('select'), open.raw('select')].map(failsTransiently);
    expect(await Promise.all(running)).toEqual([true, true, true]);
    // It is known by now: none of these waits for a connection.
    expect(
      await Promise.all([pool.query('select'), knex.raw('select'), knex.transaction()].map(failsTransiently)),
    ).toEqual([true, true, true]);
    await open.rollback().catch(() => undefined);

    noticed = Promise.withResolvers();
    blockNew = false;
    // The callback runs once when listening is restored.
    await noticed.promise;
    await expect(Promise.all([pool.query('select'), knex.raw('select')])).resolves.toHaveLength(2);
    await unsubscribe();
  });

  it('queries on blocked connections fail while new connections work', async () => {
    const running = pool.query('select pg_sleep(600)');
    await pool.query('select');
    // The monitor has a connection of its own by then, which is lost together with these two.
    await until(async () => links.length >= earlier + 3);
    blockAll();
    expect(await failsTransiently(running)).toBe(true);
    const again = () => pool.query('select').catch(() => undefined);
    expect((await until(again)).command).toBe('SELECT');
  });
});
