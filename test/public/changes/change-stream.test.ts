// Events of the change feed over HTTP and real syncs: one for each publish that a reader can see, and none for
// others; resumed without a gap; at an end as soon as the reader may read something else. That its events agree
// with random scopes, masks and versions: test/access.
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../../src/app.ts';
import type { Ctx, ReadEngine } from '../../../src/core/ctx.ts';
import type { RowScopes } from '../../../src/core/record-access.ts';
import { inTransaction } from '../../../src/db/transaction.ts';
import { enterVersions } from '../../../src/platform/api-schemas/shown-columns.ts';
import { createReadEngine } from '../../../src/public/index.ts';
import { pruneTombstones } from '../../../src/sync/deletions/prune-tombstones.ts';
import { testDatabase, testSettings } from '../../setup/database.ts';
import { type OpenStream, openStream, type StreamEvent, serve } from '../../setup/event-stream.ts';
import { makeKey } from '../../setup/organization.ts';
import { endsWithin, until } from '../../setup/until.ts';
import { useStarted } from '../../setup/use-started.ts';
import { asAdmin, field, memoryErp, noSignal, type SyncFixture, syncFixture } from '../../sync/fixture.ts';
import { callerHeaders, publicApp, publishVersion } from '../fixture.ts';

type Changed = { version: string; resource: string; generation: number; next: string };
type Page = { data: { op: string; id: string }[]; next: string; hasMore: boolean };
type Key = Awaited<ReturnType<typeof makeKey>>;

const endpoint = {
  name: 'things',
  recordType: 'thing',
  fields: [
    { name: 'name', source: 'name' },
    { name: 'customerId', source: 'customer', scopable: true },
  ],
};
const ofCustomer = (customer: string): { rows: RowScopes } => ({
  rows: {
    resources: {
      things: {
        recordType: 'thing',
        conditions: [{ field: 'customerId', source: 'customer', in: [customer] }],
      },
    },
    others: false,
  },
});

const database = useStarted(() => testDatabase());
const closing: (() => unknown)[] = [];
let fixture: SyncFixture;

beforeAll(async () => {
  fixture = await syncFixture(
    database.ctx,
    memoryErp([field('name'), field('customer'), field('modified', 'time')]),
  );
  fixture.erp.deleted = new Map();
  fixture.erp.put(1, { customer: 'A' });
  await fixture.sync();
  await publishVersion(database.ctx, fixture.organizationId, { endpoints: [endpoint] });
  await enterVersions(fixture.tenant);
  await fixture.sync();
});
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

type Settings = Partial<Ctx['settings']['changeStreams']>;
const withStreams = (settings: Settings): Ctx => ({
  ...database.ctx,
  settings: { ...database.ctx.settings, changeStreams: { ...testSettings.changeStreams, ...settings } },
});
/** A process that serves the public interface. */
async function start(settings: Settings = {}, reads?: ReadEngine, more: object = {}) {
  const ctx = { ...withStreams(settings), ...more };
  const site = await serve(publicApp(ctx, undefined, reads ?? createReadEngine(ctx)));
  closing.push(site.stop);
  return { ...site, url: `${site.url}/api/public` };
}
const makeReader = (scopes: Parameters<typeof makeKey>[2] = {}): Promise<Key> =>
  makeKey(database.ctx, fixture.organizationId, scopes);
const headersOf = ({ secret }: { secret: string }): Record<string, string> =>
  callerHeaders({ secret, organizationId: fixture.organizationId });
async function follow(
  url: string,
  key: { secret: string },
  { since, id, path = '/v1/things/changes' }: { since?: string; id?: string; path?: string } = {},
): Promise<OpenStream> {
  const query = since === undefined ? '' : `?since=${since}`;
  const stream = await openStream(`${url}${path}${query}`, {
    ...headersOf(key),
    ...(id !== undefined && { 'last-event-id': id }),
  });
  closing.push(stream.close);
  return stream;
}
const read = async (
  url: string,
  key: { secret: string },
  path = '/api/public/v1/things/changes?limit=1000',
): Promise<Page> =>
  (await (await fetch(`${new URL(url).origin}${path}`, { headers: headersOf(key) })).json()) as Page;
const publish = async (id: number, customer: string, name = `name ${Math.random()}`): Promise<void> => {
  fixture.erp.put(id, { customer, name });
  await fixture.sync('incremental');
};
const changed = (event: StreamEvent | undefined): Changed => event?.data as Changed;
/** Whether the stream sends no event within this time, which is longer than a poll takes. */
const isSilent = async (stream: OpenStream): Promise<boolean> =>
  !(await endsWithin(
    stream.next().catch(() => undefined),
    2_500,
  ));
const generation = async (): Promise<number> => Number((await fixture.state())?.generation);

describe('GET /{version}/{resource}/changes as an event stream', () => {
  it('sends an event for each publish from now on, whose address has the changes', async () => {
    const { url } = await start();
    const key = await makeReader();
    const stream = await follow(url, key);
    expect(stream.response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(stream.response.headers.get('x-accel-buffering')).toBe('no');
    await publish(2, 'A');
    const first = await stream.next();
    expect(first).toEqual({
      event: 'changed',
      id: expect.stringMatching(/^[\w.-]+$/),
      data: {
        version: 'v1',
        resource: 'things',
        generation: await generation(),
        next: expect.stringMatching(/^\/api\/public\/v1\/things\/changes\?since=[\w.-]+$/),
      },
    });
    expect(await read(url, key, changed(first).next)).toMatchObject({ data: [{ op: 'upsert', id: '2' }] });
    fixture.erp.drop(2);
    await publish(3, 'A');
    const second = await stream.next();
    expect((await read(url, key, changed(second).next)).data.map(({ op, id }) => `${op} ${id}`)).toEqual([
      'upsert 3',
      'delete 2',
    ]);
    expect((await read(url, key, `/api/public/v1/things/changes?since=${second?.id}`)).data).toEqual([]);
  });

  it('sends none for a sync that changed nothing, and none for other customers', async () => {
    const { url } = await start();
    const [a, b] = [await makeReader(ofCustomer('A')), await makeReader(ofCustomer('B'))];
    await publish(10, 'A', 'same');
    const [streamA, streamB] = [await follow(url, a), await follow(url, b)];
    await fixture.sync('incremental');
    await publish(10, 'A', 'other');
    expect(changed(await streamA.next()).generation).toBe(await generation());
    await publish(11, 'B');
    expect(changed(await streamB.next()).generation).toBe(await generation());
    // It leaves one scope and enters the other.
    await publish(11, 'A');
    const [left, entered] = [changed(await streamB.next()), changed(await streamA.next())];
    expect([left.generation, entered.generation]).toEqual([await generation(), await generation()]);
    expect(await read(url, b, left.next)).toMatchObject({ data: [{ op: 'delete', id: '11' }] });
    expect(await read(url, a, entered.next)).toMatchObject({ data: [{ op: 'upsert', id: '11' }] });
    await publish(11, 'A', 'of A alone');
    expect(await isSilent(streamB)).toBe(true);
  });

  it('resumes after the last event or `since`, with one event for all that was missed', async () => {
    const { url } = await start();
    const key = await makeReader();
    const before = await read(url, key);
    const walking = await read(url, key, '/api/public/v1/things/changes?limit=1');
    for (const id of [20, 21]) await publish(id, 'A');
    const missed = await (await follow(url, key, { since: before.next })).next();
    expect(changed(missed).generation).toBe(await generation());
    expect((await read(url, key, changed(missed).next)).data.map(({ id }) => id)).toEqual(['20', '21']);
    // An EventSource keeps the address with which it began.
    const resumed = await follow(url, key, { since: before.next, id: String(missed?.id) });
    await publish(22, 'A');
    const next = await resumed.next();
    expect((await read(url, key, changed(next).next)).data.map(({ id }) => id)).toEqual(['22']);
    const rest = changed(await (await follow(url, key, { since: walking.next })).next()).next;
    expect(await read(url, key, rest)).toEqual(
      await read(url, key, `/api/public/v1/things/changes?since=${walking.next}`),
    );
    const limited = await follow(url, key, { path: `/v1/things/changes?limit=7&since=${before.next}` });
    expect(changed(await limited.next()).next).toMatch(/&limit=7$/);
    expect(await isSilent(await follow(url, key, { since: String(next?.id) }))).toBe(true);
  });

  it('gives the id to resume with before the first event', async () => {
    const { url } = await start();
    const key = await makeReader();
    const response = await fetch(`${url}/v1/things/changes`, {
      headers: { ...headersOf(key), accept: 'text/event-stream' },
    });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    const id = /^id: (\S+)\n\n$/.exec((await reader?.read())?.value ?? '')?.[1] ?? '';
    await reader?.cancel();
    await publish(25, 'A');
    const missed = await (await follow(url, key, { id })).next();
    expect((await read(url, key, changed(missed).next)).data.map(({ id: one }) => one)).toEqual(['25']);
  });

  it('hears of a publish at once by its notification, and within about a second without', async () => {
    const [slow, quick] = [await start({ pollMs: 60_000 }), await start()];
    const key = await makeReader();
    const [notified, polled] = [await follow(slow.url, key), await follow(quick.url, key)];
    // The first poll, and the connection that listens.
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    await publish(30, 'A');
    expect(await endsWithin(Promise.all([notified.next(), polled.next()]), 1_000)).toBe(true);
    await asAdmin(database, (admin) => admin.raw('alter table sync_runs disable trigger tell_followers'));
    closing.push(() =>
      asAdmin(database, (admin) => admin.raw('alter table sync_runs enable trigger tell_followers')),
    );
    await publish(30, 'A');
    expect(await endsWithin(polled.next(), 2_000)).toBe(true);
    expect(await isSilent(notified)).toBe(true);
  });
});

describe('the end of a stream', () => {
  const update = (key: Key, values: Record<string, unknown>) =>
    inTransaction(fixture.tenant, (tx) => tx('api_keys').where({ id: key.id }).update(values));

  it.each([
    ['is revoked', { revoked_at: new Date('2026-01-01') }, 401],
    ['has expired', { expires_at: new Date('2026-01-01') }, 401],
    ['may read other records', { scope_rows: JSON.stringify(ofCustomer('A').rows) }, 410],
    ['may no longer read the version', { scope_versions: ['v9'] }, 403],
  ])('comes without a further event when its key %s', async (_what, values, status) => {
    const { url } = await start({ heartbeatMs: 60_000 });
    const key = await makeReader();
    const stream = await follow(url, key);
    await publish(40, 'A');
    const { id = '' } = (await stream.next()) ?? {};
    await update(key, values);
    // Keys are trusted for a second.
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    await publish(40, 'A');
    expect(await stream.next()).toBeUndefined();
    expect((await follow(url, key, { id })).response.status).toBe(status);
  });

  it('comes within a heartbeat when nothing is published', async () => {
    const { url } = await start({ heartbeatMs: 200 });
    const [revoked, kept] = [await makeReader(), await makeReader()];
    const [ended, open] = [await follow(url, revoked), await follow(url, kept)];
    const silent = open.next().catch(() => undefined);
    await until(async () => open.comments.length >= 2);
    expect(open.comments[0]).toBe('still here');
    await update(revoked, { revoked_at: new Date() });
    expect(await ended.next()).toBeUndefined();
    open.close();
    await silent;
  });

  it('comes with the retirement of the version and with a reload of the records', async () => {
    const { url } = await start({ heartbeatMs: 200 });
    const key = await makeReader();
    const id = await publishVersion(database.ctx, fixture.organizationId, {
      version: 'v2',
      endpoints: [endpoint],
    });
    const stream = await follow(url, key, { path: '/v2/things/changes' });
    await inTransaction(fixture.tenant, (tx) =>
      tx('api_schemas').where({ id }).update({ status: 'retired' }),
    );
    expect(await stream.next()).toBeUndefined();
    expect((await follow(url, key, { path: '/v2/things/changes' })).response.status).toBe(410);
    const { next } = await read(url, key);
    const other = await follow(url, key);
    await fixture.query(`update ${fixture.schema}.record_state set epoch = 'another'`);
    expect(await other.next()).toBeUndefined();
    const refused = await follow(url, key, { since: next });
    expect([refused.response.status, refused.errorBody]).toEqual([
      410,
      expect.stringContaining('token_expired'),
    ]);
  });

  it('comes when its time is over and when the service stops', async () => {
    const stopping = new AbortController();
    const site = await serve(createApp(withStreams({}), { streams: { stopping: stopping.signal } }));
    closing.push(site.stop);
    const key = await makeReader();
    const brief = await start({ maxOpenMs: 300 });
    expect(await (await follow(brief.url, key)).next()).toBeUndefined();
    const stream = await follow(`${site.url}/api/public`, key);
    stopping.abort();
    expect(await stream.next()).toBeUndefined();
    const { response } = await follow(`${site.url}/api/public`, key);
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '2']);
  });
});

describe('the request for a stream', () => {
  it('is refused as the feed is, and for a malformed id', async () => {
    const { url } = await start();
    const key = await makeReader();
    const early = await read(url, key);
    await publish(50, 'A');
    fixture.erp.drop(50);
    await fixture.sync('incremental');
    await fixture.query(`update ${fixture.schema}.tombstones set deleted_at = now() - interval '31 days'`);
    await pruneTombstones(database.ctx, noSignal);
    const statuses = await Promise.all(
      [
        follow(url, key, { since: early.next }),
        follow(url, key, { id: early.next }),
        follow(url, key, { since: 'x' }),
        follow(url, key, { id: 'x' }),
        follow(url, key, { path: '/v1/things/changes?page=1' }),
        follow(url, key, { path: '/v1/nothing/changes' }),
        follow(url, { secret: 'psk_none' }),
        follow(url, await makeReader(ofCustomer('A')), { since: early.next }),
      ].map(async (stream) => (await stream).response.status),
    );
    expect(statuses).toEqual([410, 410, 400, 400, 400, 404, 401, 410]);
    expect((await follow(url, key, { id: 'x' })).errorBody).toContain('"path":"Last-Event-ID"');
  });

  it('must name the type: other requests are answered as before', async () => {
    const { url } = await start();
    const key = await makeReader();
    const ask = async (accept: string, method = 'GET') => {
      const answer = await fetch(`${url}/v1/things/changes`, {
        method,
        headers: { ...headersOf(key), accept },
      });
      return [answer.status, answer.headers.get('content-type'), await answer.text()] as const;
    };
    for (const accept of [
      '*/*',
      'application/json',
      'text/event-stream, application/json',
      'text/event-stream;q=0.5, */*',
    ])
      expect((await ask(accept)).slice(0, 2)).toEqual([200, 'application/json; charset=utf-8']);
    const [status, , text] = await ask('text/*');
    expect([status, text]).toEqual([
      406,
      expect.stringContaining('Available media types: application/json"'),
    ]);
    expect((await ask('text/event-stream', 'HEAD'))[0]).toBe(406);
  });
});

describe('streams under load', () => {
  it('have limits of their own, for a key, an organization and the process', async () => {
    const { url } = await start({ maxPerCredential: 2, maxOpen: 6 }, undefined, {
      settings: {
        ...withStreams({ maxPerCredential: 2, maxOpen: 6 }).settings,
        publicLoad: { ...testSettings.publicLoad, maxRequests: 2 },
      },
    });
    const [one, other] = [await makeReader(), await makeReader()];
    const streams = [await follow(url, one), await follow(url, one), await follow(url, other)];
    const ofKey = await follow(url, one);
    expect([ofKey.response.status, JSON.parse(ofKey.errorBody).error]).toMatchObject([
      429,
      { code: 'RATE_LIMIT_EXCEEDED', details: [{ code: 'too_many_streams' }] },
    ]);
    const ofProcess = await follow(url, other);
    expect([ofProcess.response.status, ofProcess.response.headers.get('retry-after')]).toEqual([503, '5']);
    // Three streams hold none of the two requests that may be in progress.
    expect((await read(url, one)).data.length).toBeGreaterThan(0);
    streams[0]?.close();
    await until(async () => (await follow(url, one)).response.status === 200);
  });

  it('read the state once for all followers, and the changes once for all at the same position', async () => {
    const reads = createReadEngine(database.ctx);
    const { url } = await start({ maxPerCredential: 200 }, reads);
    const key = await makeReader();
    const streams = await Promise.all(Array.from({ length: 150 }, () => follow(url, key)));
    let statements = 0;
    const count = (): void => {
      statements += 1;
    };
    database.ctx.db.data.on('acquire', count);
    closing.push(() => database.ctx.db.data.off('acquire', count));
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect(statements).toBeLessThanOrEqual(5);
    await publish(60, 'A');
    const published = statements;
    statements = 0;
    const events = await Promise.all(streams.map((stream) => stream.next()));
    expect(new Set(events.map((event) => changed(event).generation))).toEqual(new Set([await generation()]));
    expect([published, statements].every((one) => one < 75)).toBe(true);
  });

  it('are one successful call each in the usage of their key', async () => {
    const { url } = await start();
    const key = await makeReader();
    const stream = await follow(url, key);
    await publish(70, 'A');
    await stream.next();
    stream.close();
    const rows = await until(async () => {
      const found = await inTransaction(fixture.tenant, (tx) =>
        tx('api_key_usage').where({ api_key_id: key.id }).select('resource', 'succeeded', 'failed'),
      );
      return found.length > 0 && found;
    });
    expect(rows).toMatchObject([{ resource: 'things', failed: expect.anything() }]);
    expect(rows.map(({ succeeded, failed }) => [Number(succeeded), Number(failed)])).toEqual([[1, 0]]);
  });
});
