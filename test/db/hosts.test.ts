// Addresses as operators write them: which server a connection reaches, and how it proves to be that server.
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { TLSSocket } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createId } from '../../src/core/id.ts';
import { createCertificate } from '../../src/core/secrets/certificate.ts';
import { openDb, openKnex } from '../../src/db/connect.ts';
import { connectToPostgres, listenLocally } from '../setup/sockets.ts';
import { asSuperuser } from '../setup/superuser.ts';
import { useDatabase } from '../setup/use-database.ts';

/** What has to be encoded in a URL. */
const password = 'p@ss:w/rd?#%41 ü';
const user = `hosts_${createId().replaceAll('-', '')}`;

const database = useDatabase();
let folder: string;
const closing: (() => unknown)[] = [];

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'portal-hosts-'));
  await asAdmin(
    `create role ${user} login noinherit password '${password}'; grant portal_service to ${user}`,
  );
});
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});
afterAll(async () => {
  await asAdmin(`drop role ${user}`);
  await rm(folder, { recursive: true, force: true });
});

const asAdmin = (sql: string) => asSuperuser(database.address, (client) => client.query(sql));

/** A port on `host` that leads to the server of the test run; `accept` may put something in between. */
async function forward(
  host: string,
  accept: (client: Socket) => Promise<Socket> = async (client) => client,
): Promise<number> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((client) => {
    client.on('error', () => undefined);
    sockets.add(client);
    accept(client).then(
      (accepted) => {
        const upstream = connectToPostgres(database.address);
        accepted.on('error', () => upstream.destroy()).on('close', () => upstream.destroy());
        upstream.on('error', () => client.destroy()).on('close', () => client.destroy());
        accepted.pipe(upstream).pipe(accepted);
      },
      () => client.destroy(),
    );
  }).listen(0, host);
  await once(server, 'listening');
  closing.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** Nothing listens there. */
async function closedPort(): Promise<number> {
  const server = createServer();
  const port = await listenLocally(server);
  server.close();
  await once(server, 'close');
  return port;
}

const urlTo = (hosts: string, parameters = 'target_session_attrs=read-write'): string =>
  `postgres://${user}:${encodeURIComponent(password)}@${hosts}/${database.address.database}?${parameters}`;

/** Through a pool of each kind. */
async function whoConnects(url: string): Promise<unknown[]> {
  const db = openDb(url, url, { control: 1, data: 1, lookups: 1, exports: 1 }, 5_000);
  closing.push(() => db.close());
  const sql = 'select session_user as login, current_user as role';
  return Promise.all([db.control.raw(sql), db.data.query(sql)].map(async (work) => (await work).rows[0]));
}
const asService = Array.from({ length: 2 }, () => ({ login: user, role: 'portal_service' }));

describe('an address', () => {
  it('may have an encoded password, and a port for each host', async () => {
    const port = await forward('127.0.0.1');
    expect(await whoConnects(urlTo(`127.0.0.1:${port}`, ''))).toEqual(asService);
    expect(await whoConnects(urlTo(`127.0.0.1:${await closedPort()},127.0.0.1:${port}`))).toEqual(asService);
    expect(await whoConnects(urlTo(`127.0.0.1:${port},127.0.0.1:${await closedPort()}`))).toEqual(asService);
  });

  it('may have IPv6 hosts', async () => {
    const port = await forward('::1');
    expect(await whoConnects(urlTo(`[::1]:${port}`, ''))).toEqual(asService);
    expect(await whoConnects(urlTo(`127.0.0.1:${await closedPort()},[::1]:${port}`))).toEqual(asService);
  });

  it('may have hosts as parameters, such as the folder of a socket', async () => {
    const port = await forward('127.0.0.1');
    const { host, port: own } = database.address;
    const parameters = `target_session_attrs=primary&host=${encodeURIComponent(host)},127.0.0.1&port=${await closedPort()},${port}`;
    expect(await whoConnects(urlTo('', parameters))).toEqual(asService);
    expect(await whoConnects(urlTo('', `host=${encodeURIComponent(host)}&port=${own}`))).toEqual(asService);
  });

  it('is proved by the certificate of the host that was found, not of the first one', async () => {
    const { certificatePem: cert, privateKeyPem: key } = createCertificate({
      commonName: 'localhost',
      days: 2,
      keyType: 'ec-p256',
      now: new Date(),
    });
    const file = path.join(folder, 'root.pem');
    await writeFile(file, cert);
    const names: unknown[] = [];
    const port = await forward('127.0.0.1', async (client) => {
      // The request for TLS: eight bytes, answered by one.
      await once(client, 'data');
      client.pause();
      const secure = new TLSSocket(client, { isServer: true, cert, key });
      client.write('S');
      client.resume();
      await once(secure, 'secure');
      names.push(secure.servername);
      return secure;
    });
    const tls = `sslmode=verify-full&sslrootcert=${encodeURIComponent(file)}`;
    const closed = await closedPort();
    expect(
      await whoConnects(
        urlTo(`127.0.0.1:${closed},localhost:${port}`, `target_session_attrs=read-write&${tls}`),
      ),
    ).toEqual(asService);
    expect(new Set(names)).toEqual(new Set(['localhost']));
    const wrong = openKnex(urlTo(`127.0.0.1:${port}`, tls), 'portal_service', 1);
    closing.push(() => wrong.destroy());
    await expect(Promise.resolve(wrong.raw('select'))).rejects.toMatchObject({
      code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    });
  });

  it('is refused with the reason of each host when none can be used', async () => {
    const [first, second] = [await closedPort(), await closedPort()];
    const knex = openKnex(urlTo(`127.0.0.1:${first},127.0.0.1:${second}`), 'portal_service', 1);
    closing.push(() => knex.destroy());
    await expect(Promise.resolve(knex.raw('select'))).rejects.toThrow(
      `No server accepts connections with target_session_attrs=read-write: 127.0.0.1:${first} ECONNREFUSED, 127.0.0.1:${second} ECONNREFUSED`,
    );
  });
});
