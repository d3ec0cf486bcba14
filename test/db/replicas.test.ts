// Replicas that can't be used: the operator learns why, once.
import { rm } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { createId } from '../../src/core/id.ts';
import type { Log } from '../../src/core/log.ts';
import { startEmbedded } from '../../src/db/embedded/embedded.ts';
import { openReplicas } from '../../src/db/replicas.ts';
import { testDatabase } from '../setup/database.ts';
import { databaseUrl } from '../setup/database-url.ts';
import { createScratchFolder } from '../setup/scratch-folder.ts';
import { connectToPostgres, listenLocally } from '../setup/sockets.ts';
import { asSuperuser } from '../setup/superuser.ts';
import { until } from '../setup/until.ts';
import { useDatabase } from '../setup/use-database.ts';

const login = { user: `replicas_${createId().replaceAll('-', '')}`, password: 'for-replicas' };
const database = useDatabase();

beforeAll(() =>
  database.admin.raw(
    `create role ${login.user} login noinherit password '${login.password}' connection limit 1;
     grant portal_service to ${login.user}`,
  ),
);
afterAll(() => database.admin.raw(`drop role ${login.user}`));

type Line = {
  readonly replica?: string;
  readonly powers?: readonly string[];
  readonly err?: Error;
  readonly connections?: number;
};

function open(url: string) {
  const lines: Line[] = [];
  const log = { warn: (line: Line) => lines.push(line) } as unknown as Log;
  const parts = { sizes: { data: 2, exports: 1 }, readTimeoutMs: 5_000, clock: systemClock, log };
  const { all, close } = openReplicas([url], database.ctx.db.data, parts);
  const [replica] = all;
  if (replica === undefined) throw new Error('no replica');
  return {
    replica,
    close,
    ofReplica: () => lines.filter((line) => line.replica !== undefined),
    isUnresponsive: () => lines.some(({ connections }) => connections !== undefined),
  };
}

/** An address far away: everything arrives `delayMs` later, and nothing while it is frozen. */
async function startFarAddress(delayMs: number) {
  const sockets = new Set<Socket>();
  let isFrozen = false;
  const forward = (from: Socket, to: Socket): void => {
    sockets.add(from);
    from.on('data', (bytes: Buffer) =>
      setTimeout(() => isFrozen || to.destroyed || to.write(bytes), delayMs),
    );
    from.on('error', () => undefined).on('close', () => to.destroy());
  };
  const server = createServer((client) => {
    const upstream = connectToPostgres(database.service);
    forward(client, upstream);
    forward(upstream, client);
  });
  return {
    port: await listenLocally(server),
    setFrozen: (value: boolean) => void (isFrozen = value),
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

describe('a replica', () => {
  it('far away is used again after it was frozen', async () => {
    const address = await startFarAddress(60);
    const { replica, close, isUnresponsive } = open(
      databaseUrl({ ...database.service, host: '127.0.0.1', port: address.port }),
    );
    const inUse = (wanted: boolean) => until(async () => replica.isInUse() === wanted);
    await inUse(true);
    address.setFrozen(true);
    await until(async () => isUnresponsive());
    address.setFrozen(false);
    await inUse(true);
    await close();
    address.close();
  });

  it('whose address names a file that does not exist is left out, and the log names the file', async () => {
    const { replica, close, ofReplica } = open(
      `${databaseUrl(database.service)}${database.service.host.startsWith('/') ? '&' : '?'}sslrootcert=/nowhere.pem`,
    );
    await until(async () => ofReplica().length > 0);
    expect(ofReplica()[0]?.err?.message).toContain('/nowhere.pem');
    expect(replica.isInUse()).toBe(false);
    await close();
  });

  it('in another database is left out, and the log names both', async () => {
    const other = await testDatabase();
    const { replica, close, ofReplica } = open(databaseUrl(other.service));
    await until(async () => ofReplica().length > 0);
    const [, named, wanted] =
      /names the database (\S+) of the server \d+, and the records are in the database (\S+) of/.exec(
        ofReplica()[0]?.err?.message ?? '',
      ) ?? [];
    expect([named, wanted]).toEqual([other.service.database, database.service.database]);
    expect(replica.isInUse()).toBe(false);
    await close();
    await other.close();
  });

  it('on another server is left out, also with a database of that name', async () => {
    const folder = await createScratchFolder('other-server-');
    const { connection, stop } = await startEmbedded(folder);
    await asSuperuser(connection, async (client) => {
      await client.query(`create database ${database.service.database}`);
      await client.query(`create role portal_service nologin; grant portal_service to ${connection.user}`);
    });
    const { replica, close, ofReplica } = open(
      databaseUrl({ ...connection, database: database.service.database }),
    );
    await until(async () => ofReplica().length > 0);
    const servers = [...(ofReplica()[0]?.err?.message ?? '').matchAll(/of the server (\d+)/g)].map(
      ([, server]) => server,
    );
    expect([servers.length, new Set(servers).size, replica.isInUse()]).toEqual([2, 2, false]);
    await close();
    await stop();
    await rm(folder, { recursive: true, force: true });
  });

  it('whose login may do more than the service is in use, with one warning', async () => {
    const { replica, close, ofReplica } = open(databaseUrl(database.address));
    await until(async () => replica.isInUse());
    expect(ofReplica()).toMatchObject([{ powers: expect.arrayContaining(['superuser']) }]);
    await close();
  });

  it('that responds and refuses reads again and again is reported once', async () => {
    // The connection that probes takes the only one.
    const { replica, close, ofReplica } = open(databaseUrl({ ...database.service, ...login }));
    for (let failures = 0; failures < 5; failures += 1) {
      await until(async () => replica.isInUse());
      await replica.data.query('select').catch(replica.leaveOut);
    }
    await until(async () => replica.isInUse());
    expect(ofReplica().map(({ err }) => err?.message)).toEqual([
      expect.stringContaining('too many connections for role'),
      undefined,
    ]);
    await close();
  });
});
