// A wire to PostgreSQL that swallows what it is given, as a network does that lost its way: nothing breaks, and nothing comes.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import type { Knex } from 'knex';
import { Pool } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openLog } from '../../src/core/log.ts';
import { openKnex, poolConfig } from '../../src/db/connect.ts';
import { listen } from '../../src/db/listen.ts';
import { isNotNow } from '../../src/db/pg-errors.ts';
import { type SilenceWatch, watchSilence } from '../../src/db/silence.ts';
import { type TestDatabase, testDatabase } from '../setup/database.ts';
import { until } from '../setup/until.ts';

/** An answer may be ten times as late before the server counts as silent. */
const lookEveryMs = 250;

let database: TestDatabase;
let server: Server;
let address: TestDatabase['address'];
let watch: SilenceWatch;
let pool: Pool;
let knex: Knex;
/** By the moment they were made in; of a deaf one nothing passes, either way. */
const wires: { readonly ends: readonly Socket[]; deaf: boolean }[] = [];
let deafToNew = false;
/** Wires of the tests before. */
let earlier = 0;

beforeAll(async () => {
  database = await testDatabase();
  const { host, port } = database.address;
  server = createServer((client) => {
    const upstream = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
    const wire = { ends: [client, upstream], deaf: deafToNew };
    wires.push(wire);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      from.on('error', () => undefined);
      from.on('data', (chunk) => void (wire.deaf || to.write(chunk)));
      from.on('close', () => to.destroy());
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  address = { ...database.address, host: '127.0.0.1', port: (server.address() as AddressInfo).port };
});
afterAll(async () => {
  for (const socket of wires.flatMap(({ ends }) => ends)) socket.destroy();
  server.close();
  await database.close();
});

beforeEach(() => {
  deafToNew = false;
  earlier = wires.length;
  watch = watchSilence(poolConfig(address, 'portal_service'), undefined, lookEveryMs);
  const stream = watch.openSocket;
  pool = new Pool(poolConfig(address, 'portal_service', { stream, max: 4 }));
  pool.on('error', () => undefined);
  knex = openKnex(address, 'portal_service', 4, { stream });
});
afterEach(async () => {
  await Promise.all([knex.destroy(), pool.end()]);
  await watch.close();
});

const swallow = (): void => {
  for (const wire of wires) wire.deaf = true;
};
/** What is asked forever now, and of whom nobody would ever hear. */
const whyNot = (asked: Promise<unknown>): Promise<unknown> => asked.then(() => 'answered', isNotNow);

it('lets a statement last as long as it likes while the server answers', async () => {
  const seconds = (lookEveryMs * 15) / 1_000;
  await expect(pool.query('select pg_sleep($1)', [seconds])).resolves.toBeDefined();
});

describe('nothing comes any more', () => {
  it('ends what was asked, and what is asked then, and goes on when there are answers again', async () => {
    let noticed = Promise.withResolvers<void>();
    const deaf = listen({ db: { ...database.ctx.db, control: knex }, log: openLog('silent') }, 'words', () => noticed.resolve());
    await noticed.promise;
    const open = await knex.transaction();
    await open.raw('select');
    deafToNew = true;
    swallow();
    const asked = [pool.query('select'), knex.raw('select'), open.raw('select')].map(whyNot);
    expect(await Promise.all(asked)).toEqual([true, true, true]);
    // Known by now: none of these waits for a connection that isn't to be had.
    expect(await Promise.all([pool.query('select'), knex.raw('select'), knex.transaction()].map(whyNot))).toEqual([true, true, true]);
    await open.rollback().catch(() => undefined);

    noticed = Promise.withResolvers();
    deafToNew = false;
    // Heard once more as soon as it listens again.
    await noticed.promise;
    await expect(Promise.all([pool.query('select'), knex.raw('select')])).resolves.toHaveLength(2);
    await deaf();
  });

  it('ends what hears nothing where new connections are answered', async () => {
    const asked = pool.query('select pg_sleep(600)');
    await pool.query('select');
    // The watch has a connection of its own by then, which is lost with these two.
    await until(async () => (wires.length >= earlier + 3 ? true : undefined));
    swallow();
    expect(await whyNot(asked)).toBe(true);
    const again = () => pool.query('select').catch(() => undefined);
    expect((await until(again)).command).toBe('SELECT');
  });
});
