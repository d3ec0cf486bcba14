// Several servers in one address: connections go to the one that it asks for, and follow it through a
// failover while requests run.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { connectClient, type OpenDb, openDb, openKnex, poolConfig } from '../../src/db/connect.ts';
import { freezeServer } from '../ops/machine.ts';
import { openScratchFolder } from '../setup/scratch-folder.ts';
import { until } from '../setup/until.ts';
import { startMovingAddress } from './harness/proxy.ts';
import { type Server, type Servers, startPair } from './harness/servers.ts';

/** The limit of the issue for reads after the new primary takes connections. */
const maxReturnMs = 5_000;

let servers: Servers;
let stop = async (): Promise<void> => undefined;
const login = { user: 'portal_login', password: 'p@ss:w/rd?#%41' };
const opened: OpenDb[] = [];

const authority = (list: readonly Server[]): string =>
  list.map(({ connection }) => `${connection.host}:${connection.port}`).join(',');
const buildUrl = (list: readonly Server[], target: string): string =>
  `postgres://${login.user}:${encodeURIComponent(login.password)}@${authority(list)}/portal?target_session_attrs=${target}`;
const both = (): Server[] => [servers.primary, ...servers.standbys];

const setUp = [
  'create role portal_service nologin noinherit',
  `create role ${login.user} login noinherit password '${login.password}'`,
  `grant portal_service to ${login.user} with inherit false, set true`,
  'create table kept (id integer primary key)',
  'insert into kept values (0)',
  'grant select, insert on kept to portal_service',
];

afterEach(async () => {
  for (const db of opened.splice(0)) await db.close();
});

async function startServers(): Promise<void> {
  const { folder, remove } = await openScratchFolder('portal-hosts-');
  servers = await startPair(folder);
  await servers.primary.query('create database portal');
  for (const sql of setUp) await servers.primary.query(sql, [], 'portal');
  await servers.caughtUp();
  stop = async () => {
    await servers.stop();
    await remove();
  };
}

function open(url: string): OpenDb {
  const db = openDb(url, url, { control: 2, data: 4, lookups: 1, exports: 1 }, 10_000);
  opened.push(db);
  return db;
}

const readPort = async (db: OpenDb): Promise<number> =>
  (await db.data.query<{ port: string }>("select current_setting('port') as port")).rows.map(({ port }) =>
    Number(port),
  )[0] ?? 0;

const pause = (ms: number): Promise<undefined> =>
  new Promise((resolve) => setTimeout(() => resolve(undefined), ms));

/** When the server first took writes. */
const takesWrites = (server: Server): Promise<number> =>
  until(async () => {
    const [row] = await server
      .query<{ standby: boolean }>('select pg_is_in_recovery() as standby')
      .catch(() => []);
    return row?.standby === false ? performance.now() : undefined;
  });

/** Clients that read and write all the time. */
function startTraffic(db: OpenDb) {
  let isOver = false;
  let next = 1;
  const acknowledged = new Set<number>();
  const readsEndedAt: number[] = [];
  const read = async (): Promise<void> => {
    while (!isOver) {
      const done = await db.data.query('select count(*) from kept').then(
        () => true,
        () => false,
      );
      if (done) readsEndedAt.push(performance.now());
      await pause(5);
    }
  };
  const write = async (): Promise<void> => {
    while (!isOver) {
      const id = (next += 1);
      await db.control.raw('insert into kept values (?)', [id]).then(
        () => acknowledged.add(id),
        () => undefined,
      );
      await pause(20);
    }
  };
  const clients = [read(), read(), read(), write()];
  return {
    acknowledged,
    /** The first read that ended after this moment. */
    firstReadAfter: (atMs: number) => until(async () => readsEndedAt.find((ended) => ended > atMs)),
    end: async () => {
      isOver = true;
      await Promise.all(clients);
    },
  };
}

describe('an address with several hosts', () => {
  beforeAll(() => startServers());
  afterAll(() => stop());

  it('connects each kind of connection to the server that takes writes, in any order of the hosts', async () => {
    for (const list of [both(), both().reverse()]) {
      const url = buildUrl(list, 'read-write');
      const db = open(url);
      const port = servers.primary.connection.port;
      expect(await readPort(db)).toBe(port);
      const sql = "select current_setting('port')::int as port, current_user as role";
      expect((await db.control.raw(sql)).rows).toEqual([{ port, role: 'portal_service' }]);
      expect((await db.exports.query(sql)).rows).toEqual([{ port, role: 'portal_service' }]);
      const client = await connectClient(poolConfig(url, null))();
      expect((await client.query(sql)).rows).toEqual([{ port, role: login.user }]);
      await client.end();
      const notified = Promise.withResolvers<string | undefined>();
      const unsubscribe = db.notifications.subscribe(
        'portal_hosts',
        (payload) => payload !== undefined && notified.resolve(payload),
      );
      await until(async () => {
        await db.control.raw("select pg_notify('portal_hosts', 'from the primary')");
        return Promise.race([notified.promise.then(() => true), pause(50)]);
      });
      await unsubscribe();
    }
  });

  it.each([
    ['standby', 'standby'],
    ['read-only', 'standby'],
    ['prefer-standby', 'standby'],
    ['primary', 'primary'],
  ] as const)('target_session_attrs=%s finds the %s', async (target, name) => {
    expect(await readPort(open(buildUrl(both(), target)))).toBe(servers[name].connection.port);
  });

  it('prefer-standby takes the primary when there is no standby, and any the only host', async () => {
    expect(await readPort(open(buildUrl([servers.primary], 'prefer-standby')))).toBe(
      servers.primary.connection.port,
    );
    expect(await readPort(open(buildUrl([servers.standby], 'any')))).toBe(servers.standby.connection.port);
  });

  it('says of each host why it was not used', async () => {
    const knex = openKnex(
      buildUrl([servers.standby], 'read-write').replace('/portal?', ',127.0.0.1:1/portal?'),
      null,
      1,
    );
    const failure = await Promise.resolve(knex.raw('select')).catch((error: Error) => error.message);
    expect(failure).toContain(
      `127.0.0.1:${servers.standby.connection.port} is a standby, 127.0.0.1:1 ECONNREFUSED`,
    );
    await knex.destroy();
  });

  it('gives a connection up whose server takes no writes any more, and connects again through the same address', async () => {
    const moving = await startMovingAddress(servers.standby.connection);
    const db = open(
      buildUrl([servers.primary], 'any').replace(
        authority([servers.primary]),
        `${moving.host}:${moving.port}`,
      ),
    );
    await expect(Promise.resolve(db.control.raw('insert into kept values (-1)'))).rejects.toMatchObject({
      code: '25006',
    });
    // The connection to the standby is closed by the service, not by the address that moved.
    await until(async () => moving.connections <= 1);
    moving.moveTo(servers.primary.connection);
    const written = await until(async () =>
      db.control.raw('insert into kept values (-1)').catch(() => undefined),
    );
    expect(written.rowCount).toBe(1);
    await db.close();
    opened.pop();
    await moving.close();
  });
});

describe('a failover while requests run', () => {
  beforeAll(() => startServers());
  afterAll(() => stop());

  it('continues on the promoted server, within the limit and without losing an acknowledged write', async () => {
    const db = open(buildUrl(both(), 'read-write'));
    expect(await readPort(db)).toBe(servers.primary.connection.port);
    const traffic = startTraffic(db);
    await until(async () => traffic.acknowledged.size > 20);
    const promoted = servers.standby;
    // Acknowledged means received: the standby is synchronous.
    await servers.primary.query("alter system set synchronous_standby_names = '*'");
    await servers.primary.query('select pg_reload_conf()');
    await servers.primary.query('create table synced ()');
    const before = traffic.acknowledged.size;
    await until(async () => traffic.acknowledged.size > before + 20);
    await servers.killPrimary();
    const killedMs = performance.now();
    const [reachableMs] = await Promise.all([takesWrites(promoted), servers.promote()]);
    const back = (await traffic.firstReadAfter(killedMs)) - reachableMs;
    console.log(`failover: reads back ${Math.round(back)} ms after the new primary was reachable`);
    expect(back).toBeLessThan(maxReturnMs);
    const known = traffic.acknowledged.size;
    await promoted.query("alter system set synchronous_standby_names = ''");
    await promoted.query('select pg_reload_conf()');
    await until(async () => traffic.acknowledged.size > known + 5);
    await traffic.end();
    const { rows } = await db.data.query<{ id: number }>('select id from kept');
    const there = new Set(rows.map(({ id }) => id));
    expect([...traffic.acknowledged].filter((id) => !there.has(id))).toEqual([]);
    expect(await readPort(db)).toBe(promoted.connection.port);
  });

  it('leaves a frozen server as soon as another one of the address takes writes', async () => {
    const standby = await servers.addStandby();
    await servers.caughtUp(standby);
    const frozen = servers.primary;
    const db = open(buildUrl([frozen, standby], 'read-write'));
    expect(await readPort(db)).toBe(frozen.connection.port);
    const traffic = startTraffic(db);
    await until(async () => traffic.acknowledged.size > 5);
    const thaw = await freezeServer(await frozen.pid());
    await standby.query('select pg_promote()');
    const reachableMs = await takesWrites(standby);
    const back = (await traffic.firstReadAfter(reachableMs)) - reachableMs;
    console.log(`frozen primary: reads back ${Math.round(back)} ms after the new primary was reachable`);
    expect(back).toBeLessThan(maxReturnMs);
    expect(await readPort(db)).toBe(standby.connection.port);
    await traffic.end();
    thaw();
  });
});
