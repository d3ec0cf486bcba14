// Server-sent events, tested by following a run: no event lost, none sent twice, and no connection left open.
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import { inTransaction } from '../../src/db/transaction.ts';
import type { StreamOptions } from '../../src/http/event-stream.ts';
import { insertRunEvent, writeRunEvent } from '../../src/sync/queue/run-events.store.ts';
import { base } from '../setup/api.ts';
import { testDatabase, testSettings } from '../setup/database.ts';
import { type OpenStream, openStream, type StreamEvent, serve } from '../setup/event-stream.ts';
import { makeKey, makeMember, makeOrganization, makeSession } from '../setup/organization.ts';
import { listenLocally } from '../setup/sockets.ts';
import { useStarted } from '../setup/use-started.ts';
import { asAdmin, endOpenRuns, type SyncFixture, syncFixture, until } from '../sync/fixture.ts';

/** Without a notification nothing would be seen for a minute. */
const slowPolling: StreamOptions = { pollMs: 60_000, heartbeatMs: 60_000, recheckMs: 60_000 };

const database = useStarted(() =>
  testDatabase({ settings: { sync: { ...testSettings.sync, pageSize: 2 } } }),
);
let fixture: SyncFixture;
let key: { id: string; secret: string };
const closing: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  await endOpenRuns(database);
});

async function start(
  options: StreamOptions = slowPolling,
): Promise<Pick<Awaited<ReturnType<typeof serve>>, 'url' | 'port' | 'open'>> {
  fixture = await syncFixture(database.ctx);
  fixture.erp.put(1);
  key = await makeKey(database.ctx, fixture.organizationId);
  const site = await serve(createApp(database.ctx, { streams: options }));
  closing.push(site.stop);
  return { ...site, url: `${site.url}${base}` };
}
async function followAs(headers: Record<string, string>, url: string, runId: string): Promise<OpenStream> {
  const stream = await openStream(`${url}/sync-runs/${runId}/events`, headers);
  closing.push(stream.close);
  return stream;
}
const follow = (url: string, runId: string, headers: Record<string, string> = {}) =>
  followAs({ authorization: `Bearer ${key.secret}`, ...headers }, url, runId);
/** A stream that follows a run in the queue. */
async function followQueued(options?: StreamOptions) {
  const site = await startQueued(options);
  return { ...site, stream: await follow(site.url, site.runId) };
}
/** Of a run in the queue that each stream asks for by itself. */
async function startQueued(options?: StreamOptions) {
  const site = await start(options);
  return { ...site, runId: await fixture.queue() };
}
const isLog = ({ event }: StreamEvent): boolean => event === 'log';
const listMessages = (events: readonly StreamEvent[]): string[] =>
  events.filter(isLog).map(({ data }) => (data as { message: string }).message);
const writeLog = (runId: string, message: string) => writeRunEvent(fixture.tenant, runId, 'info', message);
/** Database backends that LISTEN; here only streams do. */
const listening = () =>
  asAdmin(database, async (admin) => {
    const { rows } = await admin.raw<{ rows: { pid: number }[] }>(
      "select pid from pg_stat_activity where application_name = 'portal-service listening' and datname = current_database()",
    );
    return rows.map(({ pid }) => pid);
  });

describe('following a run', () => {
  it('sends its progress from the queue to its end as it happens, and then closes', async () => {
    const { url } = await start();
    for (let id = 2; id <= 5; id += 1) fixture.erp.put(id);
    const runId = await fixture.queue();
    const stream = await follow(url, runId);
    expect(stream.response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(stream.response.headers.get('cache-control')).toBe('no-store');
    const queued = { id: runId, status: 'queued', progress: null };
    expect(await stream.next()).toMatchObject({ event: 'run', id: undefined, data: queued });
    // The run stops after its first page until the stream has shown it.
    const seen = stream.until(
      ({ event, data }) => event === 'run' && (data as { progress: unknown }).progress !== null,
    );
    fixture.erp.onCall = async ({ operation, afterId }) => {
      if (operation === 'readPage' && afterId === '2') await seen;
    };
    const driven = fixture.drive(runId);
    const events = [...(await seen), ...(await stream.rest())];
    await driven;
    expect(listMessages(events)).toEqual(['reading started', 'run succeeded']);
    const end = { status: 'succeeded', counts: { inserted: 5 } };
    expect(events.at(-1)).toMatchObject({ event: 'end', data: end });
    expect(events.filter(({ event }) => event === 'end')).toHaveLength(1);
    const progress = expect.objectContaining({ phase: 'reading' });
    const data = expect.objectContaining({ status: 'running', progress });
    expect(events).toContainEqual(expect.objectContaining({ event: 'run', data }));
  });

  it('that has ended sends its log and the end', async () => {
    const { url } = await start();
    const { id } = await fixture.sync();
    const events = await (await follow(url, id)).rest();
    expect(events.map(({ event }) => event)).toEqual(['log', 'log', 'end']);
    const list = await fetch(`${url}/sync-runs/${id}/events`, {
      headers: { authorization: `Bearer ${key.secret}` },
    });
    expect(events.filter(isLog).map(({ data }) => data)).toEqual(
      ((await list.json()) as { data: unknown[] }).data,
    );
  });

  it('works for an EventSource of a browser: with the cookie of a session, and without an Origin', async () => {
    const { url } = await start();
    const { id } = await fixture.sync();
    const person = await makeMember(database.ctx, fixture.organizationId, ['sync:read']);
    const { cookie } = await makeSession(database.ctx, person.id, fixture.organizationId);
    const read = async (headers: Record<string, string>) => (await followAs(headers, url, id)).rest();
    const events = await read({ cookie });
    expect(events.map(({ event }) => event)).toEqual(['log', 'log', 'end']);
    // It reconnects with the last id, and then knows each line.
    expect(await read({ cookie, 'last-event-id': events[1]?.id ?? '' })).toMatchObject([{ event: 'end' }]);
  });

  it('resumes after the last event seen: none lost, none twice', async () => {
    const { url, runId } = await startQueued();
    for (let n = 1; n <= 450; n += 1) await writeLog(runId, `line ${n}`);
    const seen: StreamEvent[] = [];
    for (const upTo of ['line 7', 'line 200', 'line 333']) {
      const last = seen.at(-1)?.id;
      const stream = await follow(url, runId, last === undefined ? {} : { 'last-event-id': last });
      seen.push(
        ...(await stream.until(({ data }) => (data as { message: string }).message === upTo)).filter(isLog),
      );
      stream.close();
    }
    await writeLog(runId, 'line 451');
    await endOpenRuns(database);
    const stream = await follow(url, runId, { 'last-event-id': seen.at(-1)?.id ?? '' });
    seen.push(...(await stream.rest()));
    expect(listMessages(seen)).toEqual(Array.from({ length: 451 }, (_, index) => `line ${index + 1}`));
  });

  it('never skips an event that another one overtook: they are written one after the other', async () => {
    const { runId, stream } = await followQueued();
    let overtaking: Promise<void> | undefined;
    await inTransaction(fixture.tenant, async (tx) => {
      await tx('sync_runs').where({ id: runId }).update({ attempt: 1 });
      await insertRunEvent(tx, fixture.organizationId, runId, { level: 'info', message: 'first' });
      overtaking = writeLog(runId, 'second');
      await until(() =>
        asAdmin(database, async (admin) => {
          const { rows } = await admin.raw<{ rows: unknown[] }>(
            "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
          );
          return rows.length > 0;
        }),
      );
    });
    await overtaking;
    expect(
      listMessages(await stream.until(({ data }) => (data as { message: string }).message === 'second')),
    ).toEqual(['first', 'second']);
  });

  it('polls for changes without a notification', async () => {
    const { runId, stream } = await followQueued({ ...slowPolling, pollMs: 50 });
    await stream.next();
    await asAdmin(database, async (admin) => {
      await admin.raw('alter table sync_run_events disable trigger tell_followers');
      const event = { run_id: runId, level: 'info', message: 'silent' };
      await admin('sync_run_events').insert({ organization_id: fixture.organizationId, ...event });
      await admin.raw('alter table sync_run_events enable trigger tell_followers');
    });
    expect(listMessages(await stream.until(isLog))).toEqual(['silent']);
  });

  it('sends heartbeat comments, so that the connection is known to be alive', async () => {
    const { runId, stream } = await followQueued({ ...slowPolling, heartbeatMs: 20 });
    const waiting = stream.until(isLog);
    await until(async () => stream.comments.length >= 3);
    await writeLog(runId, 'still there');
    expect(listMessages(await waiting)).toEqual(['still there']);
  });
});

describe('one listening connection', () => {
  it('serves all streams of a process, and is closed after the last one', async () => {
    const { url, runId } = await startQueued();
    const streams = await Promise.all([1, 2, 3].map(() => follow(url, runId)));
    for (const stream of streams) await stream.next();
    await until(async () => (await listening()).length === 1);
    await writeLog(runId, 'to all');
    for (const stream of streams) expect(listMessages(await stream.until(isLog))).toEqual(['to all']);
    for (const stream of streams) stream.close();
    await until(async () => (await listening()).length === 0);
  });

  it('may break without losing events', async () => {
    const { runId, stream } = await followQueued();
    await stream.next();
    const [pid] = await until(async () => {
      const pids = await listening();
      return pids.length === 1 && pids;
    });
    await asAdmin(database, (admin) => admin.raw('select pg_terminate_backend(?::int)', [pid ?? 0]));
    await writeLog(runId, 'unheard');
    expect(listMessages(await stream.until(isLog))).toEqual(['unheard']);
  });
});

describe('before the first event', () => {
  const statusAndType = async (url: string, runId: string, headers: Record<string, string>) => {
    const { response } = await follow(url, runId, headers);
    return [response.status, response.headers.get('content-type')?.split(';')[0]];
  };
  const json = 'application/json';

  it('a failure is an ordinary error response', async () => {
    const { url, runId } = await startQueued();
    const foreign = await makeOrganization(database.ctx);
    const other = await makeKey(database.ctx, foreign.id);
    const blind = await makeMember(database.ctx, fixture.organizationId, ['team:read']);
    const blindKey = await makeKey(database.ctx, fixture.organizationId, { createdBy: blind.id });
    for (const [status, headers, run = runId] of [
      [401, { authorization: 'Bearer psk_no' }],
      [403, { authorization: `Bearer ${blindKey.secret}` }],
      [404, { authorization: `Bearer ${other.secret}` }],
      [400, {}, 'x'],
      [400, { 'last-event-id': 'abc' }],
      [400, { 'last-event-id': '9'.repeat(30) }],
      [406, { accept: 'text/html' }],
    ] as const)
      expect(await statusAndType(url, run, headers)).toEqual([status, json]);
  });

  it('Accept decides whether it is a stream', async () => {
    const { url, runId } = await startQueued();
    for (const [accept, type] of [
      ['*/*', json],
      ['text/event-stream;q=0.5, application/json', json],
      ['text/event-stream, */*', 'text/event-stream'],
    ] as const)
      expect(await statusAndType(url, runId, { accept })).toEqual([200, type]);
  });
});

describe('a stream ends', () => {
  it('soon after its key is revoked', async () => {
    const { stream } = await followQueued({ ...slowPolling, recheckMs: 50 });
    await stream.next();
    await inTransaction(fixture.tenant, (tx) =>
      tx('api_keys').where({ id: key.id }).update({ revoked_at: tx.fn.now() }),
    );
    expect(await stream.rest()).toMatchObject([
      { event: 'error', data: { error: { code: 'UNAUTHORIZED' } } },
    ]);
  });

  it('soon after the permission is removed', async () => {
    const { url } = await start({ ...slowPolling, recheckMs: 50 });
    const member = await makeMember(database.ctx, fixture.organizationId, ['sync:read']);
    key = await makeKey(database.ctx, fixture.organizationId, { createdBy: member.id });
    const stream = await follow(url, await fixture.queue());
    await stream.next();
    await inTransaction(fixture.tenant, (tx) => tx('memberships').where({ user_id: member.id }).delete());
    expect(await stream.rest()).toMatchObject([{ event: 'error', data: { error: { code: 'FORBIDDEN' } } }]);
  });

  it('cleanly when the service stops, and new ones get 503', async () => {
    const stopping = new AbortController();
    const { url, runId, stream } = await followQueued({ ...slowPolling, stopping: stopping.signal });
    await stream.next();
    stopping.abort();
    expect(await stream.rest()).toEqual([]);
    expect((await follow(url, runId)).response.status).toBe(503);
  });

  it('when its client does not read', async () => {
    const { url, port, open, runId } = await startQueued({ ...slowPolling, stallMs: 100 });
    await asAdmin(database, (admin) =>
      admin.raw(
        `insert into sync_run_events (organization_id, run_id, level, message, data)
         select ?, ?, 'info', 'long', jsonb_build_object('text', repeat('x', 500000)) from generate_series(1, 60)`,
        [fixture.organizationId, runId],
      ),
    );
    const socket = connect(port, '127.0.0.1');
    closing.push(() => socket.destroy());
    // It reads the beginning of the stream, and nothing after that.
    const started = once(socket, 'data').then(() => socket.pause());
    const path = new URL(`${url}/sync-runs/${runId}/events`).pathname;
    socket.write(
      `GET ${path} HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\nAuthorization: Bearer ${key.secret}\r\n\r\n`,
    );
    await started;
    await until(async () => (await open()) === 0);
    await until(async () => (await listening()).length === 0);
    socket.resume();
    await once(socket, 'close');
  });
});

/** A proxy between a client and the service. After `vanish` it forwards nothing more and closes nothing. */
async function openLine(port: number): Promise<{ port: number; vanish(): void }> {
  const ends: Socket[] = [];
  const line = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    const forward = (from: Socket, to: Socket) =>
      ends.push(from.on('error', () => undefined).on('data', (bytes) => to.write(bytes)));
    forward(near, far);
    forward(far, near);
  });
  closing.push(() => {
    for (const end of ends) end.destroy();
    line.close();
  });
  return {
    port: await listenLocally(line),
    vanish: () => {
      for (const end of ends) end.removeAllListeners('data').pause();
    },
  };
}

describe('the maximum duration of a stream', () => {
  const brief: StreamOptions = { ...slowPolling, maxOpenMs: 300, perCredential: 1 };

  it('frees the slot of a client that vanished', async () => {
    const { url, port, runId } = await startQueued({ ...brief, heartbeatMs: 20 });
    const line = await openLine(port);
    void (await follow(url.replace(`:${port}/`, `:${line.port}/`), runId)).rest().catch(() => undefined);
    line.vanish();
    await until(async () => (await follow(url, runId)).response.status === 200);
  });

  it('loses nothing for a client that resumes with another stream', async () => {
    const { url, runId } = await startQueued(brief);
    const seen: StreamEvent[] = [];
    const readOne = async (): Promise<void> => {
      const last = seen.findLast(({ id }) => id !== undefined)?.id;
      const stream = await follow(url, runId, last === undefined ? {} : { 'last-event-id': last });
      seen.push(...(await stream.rest()));
    };
    for (const line of ['one', 'two', 'three']) {
      await writeLog(runId, line);
      await readOne();
      expect(seen.some(({ event }) => event === 'end')).toBe(false);
    }
    await endOpenRuns(database);
    while (!seen.some(({ event }) => event === 'end')) await readOne();
    expect(listMessages(seen)).toEqual(['one', 'two', 'three']);
  });
});

describe('the open streams of one credential', () => {
  it('are limited; closing one frees its slot', async () => {
    const { url, runId } = await startQueued({ ...slowPolling, perCredential: 2 });
    const [first] = [await follow(url, runId), await follow(url, runId)];
    const third = await follow(url, runId);
    expect([third.response.status, third.response.headers.get('retry-after')]).toEqual([429, '5']);
    expect(JSON.parse(third.errorBody).error).toMatchObject({
      code: 'RATE_LIMIT_EXCEEDED',
      details: [{ code: 'too_many_streams' }],
    });
    const other = await makeKey(database.ctx, fixture.organizationId);
    expect((await follow(url, runId, { authorization: `Bearer ${other.secret}` })).response.status).toBe(200);
    first.close();
    await until(async () => (await follow(url, runId)).response.status === 200);
  });

  it('count for its organization as well, but for sessions', async () => {
    const { url, runId } = await startQueued({ ...slowPolling, perOrganization: 2 });
    const followByAnother = async () => {
      const { secret } = await makeKey(database.ctx, fixture.organizationId);
      return followAs({ authorization: `Bearer ${secret}` }, url, runId);
    };
    const [first] = [await followByAnother(), await followByAnother()];
    const third = await followByAnother();
    expect(third.response.status).toBe(429);
    expect(JSON.parse(third.errorBody).error.details).toMatchObject([
      { code: 'too_many_streams', message: /organization/ },
    ]);
    const { id } = await makeMember(database.ctx, fixture.organizationId, 'viewer');
    const { headers } = await makeSession(database.ctx, id, fixture.organizationId);
    expect((await followAs(headers, url, runId)).response.status).toBe(200);
    first.close();
    await until(async () => (await followByAnother()).response.status === 200);
  });
});
