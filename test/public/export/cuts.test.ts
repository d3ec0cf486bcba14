// Exports whose client stalls or disconnects, whose database connection breaks, or whose table a writer
// needs.
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Pool } from 'pg';
import pino from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Settings } from '../../../src/core/settings.ts';
import { openDb, openKnex } from '../../../src/db/connect.ts';
import { adoptMessageClasses, createMessageClasses } from '../../../src/http/driver/message-classes.ts';
import { createSlowReaderCheck } from '../../../src/public/export/slow-reader.ts';
import { startUsageCounter } from '../../../src/public/index.ts';
import { applyColumnChanges, dropRetiredTables } from '../../../src/warehouse/table.ts';
import { listAccount } from '../../setup/erp-account.ts';
import { makeKey } from '../../setup/organization.ts';
import { listenLocally, readToClose } from '../../setup/sockets.ts';
import { until } from '../../setup/until.ts';
import { useStarted } from '../../setup/use-started.ts';
import { field, memoryErp, syncFixture } from '../../sync/fixture.ts';
import {
  type Caller,
  callerHeaders,
  createCaller,
  listIds,
  loadInvoices,
  openSite,
  publicApp,
  publishVersion,
} from '../fixture.ts';

// More than the buffers of a connection hold, so that a client that does not read blocks the whole pipeline.
const count = 3_000;
const characters = 10_000;

// A list that waited for the client of an export would get 503 here; nothing else takes that long.
const database = useStarted(() => openSite({ settings: { readTimeoutMs: 30_000 } }));
const usage = useStarted(async () => startUsageCounter(database.ctx, { flushEveryMs: 3_600_000 }));
let admin: ReturnType<typeof openKnex>;
let caller: Caller;
let table: string;
let schema: string;
const servers: Server[] = [];
const sockets: Socket[] = [];
const lines: string[] = [];

async function fill(): Promise<string> {
  const made = await loadInvoices(database.ctx, caller.organizationId, []);
  // With the settings of a patient client: this may take longer than a read.
  await admin.raw(
    `insert into ${schema}.${made} (id, generation, content_hash, f_tranid) select n, 1, '\\x00', repeat('x', ${characters}) from generate_series(1, ${count}) n`,
  );
  await database.ctx.db.data.query(`update ${schema}.record_state set row_count = ${count}`);
  return made;
}

beforeAll(async () => {
  admin = openKnex(database.address, null, 2);
  caller = { organizationId: database.organizationId, secret: (await database.key()).secret };
  ({ schema } = database);
  table = await fill();
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) server.close();
  await until(async () => (await backends()).length === 0);
  lines.length = 0;
});
afterAll(() => admin.destroy());

type Changed = { readonly cacheTtlMs?: number; readonly data?: Pool };

async function serve(exports: Partial<Settings['exports']> = {}, changed: Changed = {}): Promise<number> {
  const { ctx } = database;
  const { cacheTtlMs = ctx.settings.cacheTtlMs, data = ctx.db.data } = changed;
  const log = pino({}, { write: (line: string) => lines.push(line) });
  const settings = { ...ctx.settings, cacheTtlMs, exports: { ...ctx.settings.exports, ...exports } };
  const messages = createMessageClasses();
  const app = publicApp({ ...ctx, db: { ...ctx.db, data }, log, settings }, usage);
  adoptMessageClasses(app, messages);
  const server = createServer({ ...messages }, app);
  servers.push(server);
  return listenLocally(server);
}

function send(port: number, query: string, more = '', as = caller, resource = 'invoices'): Socket {
  const socket = connect(port, '127.0.0.1');
  sockets.push(socket);
  socket.on('error', () => undefined);
  socket.write(
    `GET /api/public/v1/${resource}${query} HTTP/1.1\r\nHost: x\r\nAccept: application/x-ndjson\r\n${more}Authorization: Bearer ${as.secret}\r\nx-tenant-id: ${as.organizationId}\r\n\r\n`,
  );
  return socket;
}

/** Requests the whole list and reads only the first chunk. */
async function ask(port: number, query = '?fields=number', more = '', as = caller, resource = 'invoices') {
  const socket = send(port, query, more, as, resource);
  const [first] = (await once(socket, 'data')) as [Buffer];
  socket.pause();
  return { socket, head: first.toString().split('\r\n\r\n')[0] ?? '' };
}

const endsCleanly = (text: string): boolean => text.endsWith('0\r\n\r\n');

const backends = async (): Promise<{ pid: number; wait: string | null }[]> =>
  (
    await admin.raw<{ rows: { pid: number; wait: string | null }[] }>(
      "select pid, wait_event as wait from pg_stat_activity where datname = current_database() and state = 'active' and query like 'copy (%'",
    )
  ).rows;
/** Resolves when that many exports wait for their client to read. */
const stalled = (wanted: number) =>
  until(async () => {
    const found = (await backends()).filter(({ wait }) => wait === 'ClientWrite');
    return found.length === wanted && found;
  });
/** Number of calls counted as failed so far. */
async function failures(): Promise<number> {
  await usage.flush();
  const { rows } = await admin.raw<{ rows: { failed: string }[] }>(
    'select sum(failed) as failed from api_key_usage',
  );
  return Number(rows[0]?.failed);
}
const entries = () => lines.map((line) => JSON.parse(line));
const logged = (message: string) => entries().filter(({ msg }) => msg === message);

describe('a client', () => {
  it('that stalls uses no more memory, and gets the rest when it reads again', async () => {
    const { socket, head } = await ask(await serve(), '?fields=number', 'Connection: close\r\n');
    expect(head).toContain(`X-Total-Count: ${count}`);
    await stalled(1);
    const text = await readToClose(socket);
    expect(endsCleanly(text)).toBe(true);
    expect(text.length).toBeGreaterThan(count * characters - 200_000);
  });

  it('that disconnects frees its connection and permit at once', async () => {
    const port = await serve({ maxRunning: 1, maxWaiting: 1 });
    for (let round = 0; round < 5; round += 1) (await ask(port)).socket.destroy();
    const { socket } = await ask(port);
    await stalled(1);
    const asked = ask(port);
    socket.destroy();
    const next = await asked;
    await stalled(1);
    next.socket.destroy();
    await until(async () => (await backends()).length === 0);
    expect(entries().filter(({ level }) => level >= 40)).toEqual([]);
  });

  it('that disconnects before its request is parsed takes no permit and no place in the queue', async () => {
    const port = await serve({ maxRunning: 1, maxWaiting: 1 }, { cacheTtlMs: 0 });
    const held = await ask(port);
    const holder = await admin.transaction();
    await holder.raw('lock table api_keys in access exclusive mode');
    const gone = send(port, '?fields=number');
    await until(async () => {
      const waiting = await admin.raw(
        "select 1 from pg_locks where not granted and relation = 'api_keys'::regclass",
      );
      return waiting.rows.length > 0;
    });
    gone.destroy();
    await until(async () => logged('request').length > 0);
    await holder.rollback();
    // A client that connects now and takes the same way is handled after the one that disconnected.
    const list = `http://127.0.0.1:${port}/api/public/v1/invoices?pageSize=1`;
    expect((await fetch(list, { headers: callerHeaders(caller) })).status).toBe(200);
    const next = ask(port);
    await new Promise((resolve) => setTimeout(resolve, 200));
    held.socket.destroy();
    expect((await next).head).toMatch(/^HTTP\/1.1 200 /);
    expect(entries().filter(({ level }) => level >= 40)).toEqual([]);
  });

  it('whose records are still being counted delays no list, and fails none when it disconnects', async () => {
    const { ctx, address } = database;
    const hurried = openDb(address, address, { control: 1, data: 1 }, 400);
    onTestFinished(() => hurried.close());
    let current = hurried.data;
    const data = new Proxy(ctx.db.data, {
      get: (_, name) => {
        const held: unknown = Reflect.get(current, name, current);
        return typeof held === 'function' ? held.bind(current) : held;
      },
    });
    const port = await serve({}, { data });
    const holder = await admin.transaction();
    await holder.raw(`lock table ${schema}.${table} in access exclusive mode`);
    const leaving = send(port, '?number=counted');
    const waiting = async (like: string): Promise<number> => {
      const text = "select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like ?";
      return (await admin.raw<{ rows: unknown[] }>(text, [like])).rows.length;
    };
    const counting = (wanted: number) => until(async () => (await waiting('select count(%')) === wanted);
    await counting(1);
    const headers = callerHeaders(caller);
    const asList = () => fetch(`http://127.0.0.1:${port}/api/public/v1/invoices?number=counted`, { headers });
    expect((await asList()).status).toBe(503);
    current = ctx.db.data;
    const list = asList();
    await until(async () => (await waiting('%row_to_json%')) === 1);
    leaving.destroy();
    await counting(0);
    await holder.rollback();
    expect((await list).status).toBe(200);
  });

  it('503 with Retry-After when too many wait; lists are still served', async () => {
    const port = await serve({ maxRunning: 1, maxWaiting: 0 });
    const { socket } = await ask(port);
    const refused = await ask(port);
    expect(refused.head).toMatch(/^HTTP\/1.1 503 /);
    expect(refused.head).toMatch(/Retry-After: \d+/);
    expect(logged('Too many exports in progress; try again later').map(({ level }) => level)).toEqual([40]);
    const get = createCaller(publicApp(database.ctx), caller);
    expect(listIds(await get('/v1/invoices?pageSize=1').expect(200))).toEqual(['1']);
    socket.destroy();
  });

  it('of one organization gets at most half of the permits and of the queue, and does not keep others out', async () => {
    const port = await serve({ maxRunning: 2, maxWaiting: 2 });
    const { socket } = await ask(port);
    const more = [ask(port), ask(port)];
    expect((await Promise.race(more)).head).toMatch(/^HTTP\/1.1 503 /);
    const other = await database.another({ rows: [{ id: 1 }] });
    const { secret } = await other.key();
    const headers = { ...callerHeaders({ ...other, secret }), accept: 'application/x-ndjson' };
    const asked = await fetch(`http://127.0.0.1:${port}/api/public/v1/invoices?fields=number`, { headers });
    expect(await asked.text()).toBe('{"id":"1","number":null}\n');
    socket.destroy();
    expect((await Promise.all(more)).map(({ head }) => head.slice(0, 12)).sort()).toEqual([
      'HTTP/1.1 200',
      'HTTP/1.1 503',
    ]);
  });

  it('that reads too slowly, or for too long, is cut off, which counts as a failure', async () => {
    const before = await failures();
    const slow = await ask(await serve({ maxSlowMs: 100, minBytesPerSecond: 1_000_000_000 }));
    await until(async () => logged('export was cut off').length === 1);
    expect(endsCleanly(await readToClose(slow.socket))).toBe(false);
    const long = await ask(await serve({ maxDurationMs: 4_000 }));
    await until(async () => logged('export was cut off').length === 2);
    expect(endsCleanly(await readToClose(long.socket))).toBe(false);
    expect(logged('export was cut off').map(({ reason }) => reason)).toEqual(['slow caller', 'time limit']);
    expect((await failures()) - before).toBe(2);
  });
});

describe('a failure', () => {
  it.each(['', 'Accept-Encoding: gzip\r\n'])(
    'after the first byte resets the connection, and the reason is logged: "%s"',
    async (more) => {
      const { socket } = await ask(await serve(), '?fields=number', more);
      const ended = once(socket, 'end');
      for (const { pid } of await stalled(1)) await admin.raw('select pg_terminate_backend(?::int)', [pid]);
      socket.resume();
      await expect(ended).rejects.toMatchObject({ code: 'ECONNRESET' });
      const [failure] = await until(async () => {
        const found = entries().filter(({ level }) => level === 50);
        return found.length > 0 && found;
      });
      expect(failure).toMatchObject({ err: { message: expect.stringContaining('terminat') } });
    },
  );

  it('before the first byte is an error response', async () => {
    const client = await database.ctx.db.data.connect();
    await client.query(`begin; lock table ${schema}.${table} in access exclusive mode`);
    const { head } = await ask(await serve({ maxDurationMs: 200 }));
    await client.query('rollback');
    client.release();
    expect(head).toMatch(/^HTTP\/1.1 503 /);
    await database.ctx.db.data.query(`alter table ${schema}.${table} rename column f_status to f_gone`);
    const missing = await ask(await serve(), '');
    await database.ctx.db.data.query(`alter table ${schema}.${table} rename column f_gone to f_status`);
    expect(missing.head).toMatch(/^HTTP\/1.1 503 /);
  });
});

describe('while an export stalls', () => {
  it('its table is swapped, no list waits, and it continues with its snapshot until the table may be dropped', async () => {
    const { socket } = await ask(await serve(), '?fields=number', 'Connection: close\r\n');
    await stalled(1);
    const get = createCaller(publicApp(database.ctx), caller);
    await get('/v1/invoices?pageSize=1').expect(200);
    let swapping = true;
    const reading = (async () => {
      while (swapping) await get('/v1/invoices?pageSize=1').expect(200);
    })();
    const old = table;
    table = await fill();
    await database.ctx.db.control.raw(`insert into ${schema}.retired_tables (table_name) values (?)`, [old]);
    expect(await dropRetiredTables(database.ctx.db.control, schema, 0)).toBe(0);
    swapping = false;
    await reading;
    expect(endsCleanly(await readToClose(socket))).toBe(true);
    expect(await dropRetiredTables(database.ctx.db.control, schema, 0)).toBe(1);
  });

  it('a sync adds columns to its table and swaps it: an earlier export is cut off, a concurrent one completes, and no list waits', async () => {
    const fixture = await syncFixture(database.ctx, memoryErp());
    const records = 10_050;
    for (let id = 1; id <= records; id += 1) fixture.erp.put(id, { name: 'x'.repeat(2_500) });
    expect(await fixture.sync()).toMatchObject({ status: 'succeeded' });
    const fields = [{ name: 'name', source: 'name' }];
    const { organizationId } = fixture;
    const endpoints = [{ name: 'things', recordType: 'thing', fields }];
    await publishVersion(database.ctx, organizationId, { endpoints });
    const reader = { organizationId, secret: (await makeKey(database.ctx, organizationId)).secret };
    const port = await serve();
    const before = await ask(port, '', '', reader, 'things');
    await stalled(1);
    fixture.erp.fields = [...fixture.erp.fields, field('extra')];
    await listAccount(fixture.tenant, fixture.erp.connector);
    const during = Promise.withResolvers<Awaited<ReturnType<typeof ask>>>();
    fixture.erp.onCall = async ({ operation }) => {
      if (operation !== 'readPage') return;
      fixture.erp.onCall = () => undefined;
      // The export that blocked the new column is cut off before the first page is read.
      expect(logged('export was cut off')).toMatchObject([{ reason: 'a writer waits for its table' }]);
      during.resolve(await ask(port, '', 'Connection: close\r\n', reader, 'things'));
      await stalled(1);
    };
    const get = createCaller(publicApp(database.ctx), reader);
    const changes = (await get('/v1/things/changes?limit=1').expect(200)).body.next;
    const generations: number[] = [];
    const look = async () =>
      generations.push(
        Number((await get('/v1/things?pageSize=1&fields=id').expect(200)).headers['x-data-generation']),
      );
    await look();
    let syncing = true;
    const reading = (async () => {
      while (syncing) await look();
    })();
    const run = await fixture.sync();
    expect(run).toMatchObject({ status: 'succeeded', generation: '2' });
    expect((await fixture.state())?.activeTable).toBe('thing_2');
    // The run has finished, and the stalled client is still connected.
    await stalled(1);
    expect(logged('export was cut off')).toHaveLength(1);
    await until(async () => generations.at(-1) === 2);
    syncing = false;
    await reading;
    expect(generations[0]).toBe(1);
    // A client that follows the changes of the old table must start over.
    const { body } = await get(`/v1/things/changes?since=${changes}`).expect(410);
    expect(body.error.message).toContain('have been reloaded');
    expect(endsCleanly(await readToClose(before.socket))).toBe(false);
    const { socket, head } = await during.promise;
    expect(head).toContain(`X-Total-Count: ${records}`);
    expect(await dropRetiredTables(database.ctx.db.control, fixture.schema, 0)).toBe(0);
    const text = await readToClose(socket);
    expect(endsCleanly(text)).toBe(true);
    expect(text.match(/"id":"\d+"/g)?.length).toBeGreaterThan(records - 100);
    expect(await dropRetiredTables(database.ctx.db.control, fixture.schema, 0)).toBe(1);
  });

  it('a writer that needs its table gets it soon: the export is cut off', async () => {
    const { socket } = await ask(await serve());
    await stalled(1);
    const column = { column: 'f_new', field: 'new', part: 'value', type: 'text' } as const;
    const changes = { added: [{ ...column, state: 'loading', lineFields: null } as const], changed: [] };
    await applyColumnChanges(database.ctx.db.control, schema, 'invoice', [table], changes, 99);
    expect(logged('export was cut off')).toMatchObject([{ reason: 'a writer waits for its table' }]);
    expect(endsCleanly(await readToClose(socket))).toBe(false);
    const another = await ask(await serve());
    await stalled(1);
    await database.ctx.db.control.transaction(async (tx) => {
      await tx.raw("set local lock_timeout = '60s'");
      await tx.raw(`alter table ${schema}.${table} drop column f_new`);
    });
    expect(endsCleanly(await readToClose(another.socket))).toBe(false);
  });
});

it('a client that stops reading is slow one window later, whatever it read before', () => {
  const { checkEveryMs: lookEveryMs, isSlow } = createSlowReaderCheck({
    maxSlowMs: 60_000,
    minBytesPerSecond: 10,
  });
  expect(lookEveryMs).toBe(5_000);
  expect(Array.from({ length: 12 }, (_, look) => isSlow(look === 0 ? 0 : 9_000))).not.toContain(true);
  expect([isSlow(9_000), isSlow(9_599), isSlow(9_600)]).toEqual([false, true, false]);
});
