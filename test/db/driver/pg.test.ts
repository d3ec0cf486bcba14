// What src/db/driver relies on inside node-postgres. When this fails after an upgrade, change src/db/driver
// first.
import { createServer, Socket } from 'node:net';
import { Client, type Connection, Pool, type PoolClient } from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { poolConfig } from '../../../src/db/connect.ts';
import { copyOut } from '../../../src/db/driver/copy-out.ts';
import { isClientClosed, isConnectionLost, isConnectTimeout } from '../../../src/db/driver/error-messages.ts';
import {
  aimAt,
  backendPid,
  getStream,
  sendNoSettings,
  watchMessages,
} from '../../../src/db/driver/pg-client.ts';
import { type Prepared, runPrepared } from '../../../src/db/driver/prepared-query.ts';
import { listenLocally } from '../../setup/sockets.ts';
import { useDatabase } from '../../setup/use-database.ts';

const database = useDatabase();
let socket: Socket;
let pool: Pool;
let client: PoolClient;

beforeEach(async () => {
  socket = new Socket();
  pool = new Pool(
    poolConfig(database.address, null, { max: 1, connectionTimeoutMillis: 2_000, stream: () => socket }),
  );
  pool.on('error', () => undefined);
  client = await pool.connect();
  client.on('error', () => undefined);
});
afterEach(async () => {
  client.release(true);
  await pool.end();
});

const catchMessage = (work: Promise<unknown>): Promise<string> => work.then(() => 'no error', String);

describe('a client of pg', () => {
  it('connects the socket that the option `stream` returns', () => {
    expect(
      socket.bytesRead,
      'pg no longer uses the sockets of the option `stream`: see src/db/liveness.ts',
    ).toBeGreaterThan(0);
  });

  it('has the process id of its backend in `processID`', async () => {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    expect(backendPid(client), 'pg no longer has client.processID: see backendPid').toBe(rows[0]?.pid);
  });

  it("runs a prepared statement whose result it had described once, with pg's own values and types", async () => {
    const text = 'select $1::text as a, $2::int4 as b, $3::text[] as c, $4::int8 as d, null as e, true as f';
    const values = ['ü', 7, ['x', 'y z', null], 9_007_199_254_740_993n];
    const prepared: Prepared = { name: 'canary', text };
    const changed = 'pg calls its queries in another way: see PreparedQuery';
    const { rows } = await client.query(text, values);
    for (const _run of [1, 2]) expect(await runPrepared(client, prepared, values), changed).toEqual(rows);
    const fresh: Prepared = { name: 'fresh', text: 'select 7 / $1::int4 as n' };
    await expect(runPrepared(client, fresh, ['seven']), changed).rejects.toMatchObject({ code: '22P02' });
    expect(await runPrepared(client, fresh, [7]), changed).toEqual([{ n: 1 }]);
    const wrong = ['ü', 'seven', [], 1];
    await expect(runPrepared(client, prepared, wrong), changed).rejects.toMatchObject({ code: '22P02' });
    await expect(runPrepared(client, prepared, [{}]), changed).rejects.toThrow('is an object');
    expect(await runPrepared(client, prepared, values), changed).toEqual(rows);
    await client.query('deallocate canary');
    await expect(runPrepared(client, prepared, values), changed).rejects.toMatchObject({ code: '26000' });
    socket.destroy();
    await expect(runPrepared(client, prepared, values), changed).rejects.toThrow(Error);
  });

  it('ends a prepared statement at the time limit of the client', async () => {
    const limited = new Client(poolConfig(database.address, null, { query_timeout: 100 }));
    await limited.connect();
    const prepared: Prepared = { name: 'slow', text: 'select pg_sleep(5)' };
    await expect(runPrepared(limited, prepared, [])).rejects.toThrow('Query read timeout');
    await limited.end();
  });

  it('sends the settings and connects to the host that it has when it connects', async () => {
    const late = new Client(
      poolConfig({ ...database.address, host: '192.0.2.1', port: 1 }, null, { statement_timeout: 7_000 }),
    );
    aimAt(late, database.address);
    sendNoSettings(late);
    await late.connect();
    const { rows } = await late.query(
      "select current_setting('statement_timeout') as timeout, current_setting('search_path') as path",
    );
    expect(rows, 'pg reads its settings elsewhere: see sendNoSettings').toEqual([
      { timeout: '0', path: '"$user", public' },
    ]);
    expect(getStream(late).destroyed, 'pg has its socket elsewhere: see streamOf').toBe(false);
    await late.end();
  });

  it('reports errors of the server, and when it is outside a transaction', async () => {
    const seen: unknown[] = [];
    watchMessages(
      client,
      (code) => seen.push(code),
      () => seen.push('idle'),
    );
    await client.query('begin read only');
    await client.query('create table none ()').catch(() => undefined);
    await client.query('rollback');
    expect(seen, 'pg emits other messages: see watchMessages').toEqual(['25006', 'idle']);
  });

  it('hands its connection to a query object, with one listener for data', async () => {
    let listeners = 0;
    const ended = Promise.withResolvers<void>();
    client.query({
      submit: (connection: Connection) => {
        listeners = connection.stream.listenerCount('data');
        connection.query('select');
      },
      handleError: ended.reject,
      handleRowDescription: () => undefined,
      handleDataRow: () => undefined,
      handleCommandComplete: () => undefined,
      handleReadyForQuery: () => ended.resolve(),
    });
    await ended.promise;
    expect(
      listeners,
      'pg no longer reads its connection with one `data` listener: see src/db/driver/copy-out.ts',
    ).toBe(1);
  });

  it('serves other queries after COPY has read its stream', async () => {
    const { pieces, rowCount } = copyOut(client, 'copy (select generate_series(1, 3)) to stdout');
    let text = '';
    for await (const piece of pieces) text += piece.toString();
    expect([text, rowCount()], 'pg handles COPY differently: see src/db/driver/copy-out.ts').toEqual([
      '1\n2\n3\n',
      3,
    ]);
    expect((await client.query('select 4 as n')).rows).toEqual([{ n: 4 }]);
  });
});

describe('the messages of pg', () => {
  const reworded = 'pg words this failure differently: see src/db/driver/error-messages.ts';

  it('tell that a connection broke', async () => {
    const running = catchMessage(client.query('select pg_sleep(60)'));
    socket.destroy();
    expect(await running, reworded).toSatisfy(isConnectionLost);
    expect(await catchMessage(client.query('select')), reworded).toSatisfy(isConnectionLost);
  });

  it('tell that a client was closed', async () => {
    const closed = new Client(poolConfig(database.address, null));
    await closed.connect();
    await closed.end();
    expect(await catchMessage(closed.query('select')), reworded).toSatisfy(isClientClosed);
  });

  it('tell that a server accepted the connection but did not respond', async () => {
    const silent = createServer(() => undefined);
    const port = await listenLocally(silent);
    const address = { host: '127.0.0.1', port, user: 'nobody', database: 'none' };
    const waiting = new Client(poolConfig(address, null, { connectionTimeoutMillis: 50 }));
    const error = await waiting.connect().catch((failure: Error) => failure.message);
    silent.close();
    expect(error, reworded).toSatisfy(isConnectTimeout);
  });

  it('tell that all connections of a pool are in use', async () => {
    expect(await catchMessage(pool.connect()), reworded).toSatisfy(isConnectTimeout);
  });
});
