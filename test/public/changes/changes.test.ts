// The change feed: a client that starts without `since` and follows it has the contents of the list, whatever
// was synced meanwhile. A token is valid only where it was issued, and only as long as tombstones are kept.
import type { Express } from 'express';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ReadEngine } from '../../../src/core/ctx.ts';
import { createReadEngine, publicMetrics } from '../../../src/public/index.ts';
import { pruneTombstones } from '../../../src/sync/deletions/prune-tombstones.ts';
import { testDatabase } from '../../setup/database.ts';
import { makeKey } from '../../setup/organization.ts';
import { useStarted } from '../../setup/use-started.ts';
import { datedFields, memoryErp, noSignal, type SyncFixture, syncFixture } from '../../sync/fixture.ts';
import { createCaller, loadInvoices, publicApp, publishVersion } from '../fixture.ts';

type Change = { op: 'upsert' | 'delete'; id: string; at: string; record: Record<string, unknown> | null };
type Page = { data: Change[]; next: string; hasMore: boolean };
type Get = ReturnType<typeof createCaller>;

const endpoint = {
  name: 'things',
  recordType: 'thing',
  fields: ['name', 'total'].map((name) => ({ name, source: name })),
};

const database = useStarted(() => testDatabase({ settings: { cacheTtlMs: 0 } }));
let app: Express;
let reads: ReadEngine;
let fixture: SyncFixture;
let get: Get;

async function openFixture(): Promise<{ fixture: SyncFixture; get: Get }> {
  const made = await syncFixture(database.ctx, memoryErp(datedFields));
  // Its list of deletions confirms them, however many there are.
  made.erp.deleted = new Map();
  made.erp.put(1);
  await made.sync();
  await publishVersion(database.ctx, made.organizationId, {
    endpoints: [endpoint, { ...endpoint, name: 'others' }],
  });
  await publishVersion(database.ctx, made.organizationId, { version: 'v2', endpoints: [endpoint] });
  const { secret } = await makeKey(database.ctx, made.organizationId);
  return { fixture: made, get: createCaller(app, { secret, organizationId: made.organizationId }) };
}

beforeAll(async () => {
  reads = createReadEngine(database.ctx);
  app = publicApp(database.ctx, undefined, reads);
  ({ fixture, get } = await openFixture());
});

const page = async (since: string | null, limit = 1_000, from: Get = get): Promise<Page> =>
  (await from(`/v1/things/changes?limit=${limit}${since === null ? '' : `&since=${since}`}`).expect(200))
    .body;

/** Follows the feed to its end, applying the changes to a copy. */
async function follow(copy: Map<string, unknown>, since: string | null, limit: number): Promise<string> {
  const reported: string[] = [];
  for (let token = since; ; ) {
    const { data, next, hasMore } = await page(token, limit);
    expect(data.length).toBeLessThanOrEqual(limit);
    if (hasMore) expect(data).toHaveLength(limit);
    for (const { op, id, record } of data) {
      if (op === 'upsert') copy.set(id, record);
      else copy.delete(id);
    }
    reported.push(...data.map(({ id }) => id));
    token = next;
    if (hasMore) continue;
    // Nothing was synced in between, so each record was reported once.
    expect(new Set(reported).size).toBe(reported.length);
    return next;
  }
}

const listed = async (): Promise<Record<string, unknown>[]> => {
  const { text } = await get('/v1/things', { accept: 'text/csv' }).expect(200);
  const lines = text.split('\r\n').slice(1, -1);
  const { body } = await get('/v1/things?pageSize=100').expect(200);
  expect(lines).toHaveLength(body.pagination.total);
  return body.data;
};
const sorted = (records: Iterable<unknown>) =>
  [...records].sort((a, b) => Number((a as { id: string }).id) - Number((b as { id: string }).id));

describe('GET /{version}/{resource}/changes', () => {
  it('keeps a copy equal to the list through inserts, updates, deletions and re-creations', async () => {
    const copy = new Map<string, unknown>();
    let since: string | null = null;
    const step = fc.record({
      id: fc.integer({ min: 1, max: 12 }),
      act: fc.constantFrom('write', 'write', 'drop'),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 8 }),
        fc.integer({ min: 1, max: 5 }),
        fc.constantFrom('full', 'incremental'),
        async (steps, limit, mode) => {
          for (const { id, act } of steps) {
            if (act === 'write')
              fixture.erp.put(id, { total: `${fixture.erp.calls.length}.1234567890123456789` });
            else if (fixture.erp.records.size > 1) fixture.erp.drop(id);
          }
          await fixture.sync(mode === 'full' ? 'full' : 'incremental');
          since = await follow(copy, since, limit);
          expect(sorted(copy.values())).toEqual(await listed());
          const fresh = new Map<string, unknown>();
          await follow(fresh, null, limit);
          expect(sorted(fresh.values())).toEqual(await listed());
        },
      ),
      { numRuns: 12 },
    );
  });

  it('lists changes in the order of the syncs, each record once at its latest change, deletions without a record', async () => {
    for (const id of [...fixture.erp.records.keys()]) fixture.erp.drop(id);
    for (const id of [1, 2, 3]) fixture.erp.put(id);
    await fixture.sync();
    const { next } = await page(null);
    fixture.erp.put(2, { name: 'first' });
    await fixture.sync();
    fixture.erp.put(4);
    fixture.erp.drop('1');
    await fixture.sync();
    fixture.erp.put(2, { name: 'second' });
    await fixture.sync();
    const { data, hasMore } = await page(next);
    expect(data.map(({ op, id }) => `${op} ${id}`)).toEqual(['upsert 4', 'delete 1', 'upsert 2']);
    expect(data[1]?.record).toBeNull();
    expect(data[2]?.record).toEqual({ id: '2', name: 'second', total: 2.5 });
    expect(data.every(({ at }) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(at))).toBe(true);
    expect(data.map(({ at }) => at)).toEqual(data.map(({ at }) => at).sort());
    expect(hasMore).toBe(false);
    const one = await get(`/v1/things/changes?since=${next}&limit=1`).expect(200);
    expect(one.headers['link']).toBe(
      `</api/public/v1/things/changes?since=${one.body.next}&limit=1>; rel="next"`,
    );
    const rest = await page(one.body.next);
    expect(rest.data).toEqual(data.slice(1));
    expect(await page(rest.next)).toEqual({ data: [], next: rest.next, hasMore: false });
  });

  it('reports a re-created record as an upsert, whether or not the client saw its deletion', async () => {
    fixture.erp.put(40, { name: 'before' });
    await fixture.sync();
    const { next: held } = await page(null);
    fixture.erp.drop('40');
    await fixture.sync();
    const gone = await page(held);
    expect(gone.data).toMatchObject([{ op: 'delete', id: '40', record: null }]);
    fixture.erp.put(40, { name: 'after' });
    await fixture.sync();
    for (const since of [held, gone.next])
      expect((await page(since)).data).toMatchObject([{ op: 'upsert', id: '40', record: { name: 'after' } }]);
    expect((await page(null)).data.filter(({ id }) => id === '40')).toMatchObject([{ op: 'upsert' }]);
    // Updated and deleted between two requests: only the deletion is reported.
    fixture.erp.put(40, { name: 'last' });
    await fixture.sync();
    fixture.erp.drop('40');
    await fixture.sync();
    expect((await page(gone.next)).data).toMatchObject([{ op: 'delete', id: '40' }]);
  });

  it('304 until something is synced, and the same response for the same token', async () => {
    const { next } = await page(null);
    const path = `/v1/things/changes?since=${next}`;
    const first = await get(path).expect(200);
    const held = { 'if-none-match': String(first.headers['etag']) };
    await fixture.sync();
    await get(path, held).expect(304).expect('x-data-generation', String(first.headers['x-data-generation']));
    expect((await get(path).expect(200)).text).toBe(first.text);
    fixture.erp.put(1, { name: 'moved' });
    await fixture.sync();
    const moved = await get(path, held).expect(200);
    expect(moved.body.data).toMatchObject([{ op: 'upsert', id: '1', record: { name: 'moved' } }]);
    expect((await get('/v1/things/changes').expect(200)).headers['etag']).not.toBe(moved.headers['etag']);
  });

  it('caches a page for the next equal request, gzipped or not, with its Link header', async () => {
    for (const id of [1, 2, 3, 4, 5, 6, 7, 8, 9]) fixture.erp.put(id, { name: `kept ${id}`.repeat(30) });
    await fixture.sync();
    const hits = (): number => publicMetrics({ reads }).caches['bodies']?.hits ?? 0;
    const before = hits();
    for (const coding of ['identity', 'gzip']) {
      const ask = () => get('/v1/things/changes?limit=8', { 'accept-encoding': coding }).expect(200);
      const [first, second] = [await ask(), await ask()];
      const { date: _date, 'x-request-id': _id, ...kept } = first.headers;
      expect(second.headers).toMatchObject(kept);
      expect(second.headers['link']).toContain(second.body.next);
      expect(second.text).toBe(first.text);
    }
    expect(hits()).toBe(before + 2);
    await fixture.sync();
    fixture.erp.put(9, { name: 'other' });
    await fixture.sync();
    expect((await page(null, 8)).data.map(({ id }) => id)).not.toContain('9');
    expect((await page(null)).data.at(-1)).toMatchObject({ id: '9', record: { name: 'other' } });
  });

  it('400 for a token that was not issued here, and for unknown parameters', async () => {
    const { next } = await page(null);
    const other = await openFixture();
    const wrong = [
      other.get(`/v1/things/changes?since=${next}`),
      get(`/v1/others/changes?since=${next}`),
      get(`/v2/things/changes?since=${next}`),
      ...[
        'x',
        '.',
        `${next}x`,
        next.slice(1),
        next.replace('.', ''),
        `${next}.`,
        '%00',
        next.split('.')[0],
      ].map((since) => get(`/v1/things/changes?since=${since}`)),
      ...[
        'limit=0',
        'limit=1001',
        'limit=1e2',
        'limit=',
        'since=',
        'limit=1&limit=2',
        'page=1',
        'Since=x',
      ].map((query) => get(`/v1/things/changes?${query}`)),
    ];
    for (const request of wrong)
      expect([(await request).status, (await request).body.error.details[0].path]).toEqual([
        400,
        expect.stringMatching(/^(since|limit|page|Since)$/),
      ]);
    await fc.assert(
      fc.asyncProperty(
        fc.nat({ max: next.length - 1 }),
        fc.constantFrom('A', 'b', '0', '-'),
        async (at, letter) => {
          fc.pre(next[at] !== letter);
          await get(`/v1/things/changes?since=${next.slice(0, at)}${letter}${next.slice(at + 1)}`).expect(
            400,
          );
        },
      ),
      { numRuns: 40 },
    );
  });

  it('410 once tombstones since the token are pruned, but not for clients that already received them', async () => {
    const early = await page(null);
    fixture.erp.put(30);
    await fixture.sync();
    const walking = await page(null, 1);
    fixture.erp.drop('30');
    await fixture.sync();
    const late = await page(early.next);
    expect(late.data).toMatchObject([{ op: 'delete', id: '30' }]);
    await fixture.query(`update ${fixture.schema}.tombstones set deleted_at = now() - interval '31 days'`);
    await pruneTombstones(database.ctx, noSignal);
    for (const token of [early.next, walking.next]) {
      const { body } = await get(`/v1/things/changes?since=${token}`).expect(410);
      expect(body.error).toMatchObject({
        code: 'NOT_FOUND',
        details: [{ path: 'since', code: 'token_expired' }],
      });
      expect(body.error.message).toContain('without "since"');
    }
    expect((await page(late.next)).data).toEqual([]);
    const again = await page(null, 1);
    expect(again.hasMore).toBe(true);
    await page(again.next);
  });

  it('410 after the records were reloaded', async () => {
    const { next } = await page(null);
    await fixture.query(`update ${fixture.schema}.record_state set epoch = 'another'`);
    const { body } = await get(`/v1/things/changes?since=${next}`).expect(410);
    expect(body.error.message).toContain('have been reloaded');
    await page((await page(null)).next);
  });

  it('continues after the server has another timeline, and 410 for what that timeline does not have', async () => {
    const { fixture: other, get: call } = await openFixture();
    const before = await page(null, 10, call);
    const state = await other.state();
    other.erp.put(2);
    await other.sync();
    const lost = await page(null, 10, call);
    // As on a promoted standby that did not receive the second publish.
    await other.query(
      `update ${other.schema}.record_state set generation = 1, row_count = 1, timeline = 'other'`,
    );
    await other.query(`delete from ${other.schema}."${state?.activeTable}" where id = 2`);
    await call(`/v1/things/changes?since=${lost.next}`).expect(410);
    expect((await page(before.next, 10, call)).data).toEqual([]);
    other.erp.put(3);
    await other.sync();
    expect((await other.state())?.generation).toBe('2');
    expect((await other.state())?.epoch).not.toBe(state?.epoch);
    await call(`/v1/things/changes?since=${lost.next}`).expect(410);
    expect((await page(before.next, 10, call)).data.map(({ id }) => id)).toEqual(['2', '3']);
  });

  it('accepts a token of the version of this service before, which names less', async () => {
    const { next } = await page(null);
    const [signed = ''] = next.split('.');
    const [epochMark, floor, generation, kind, id] = JSON.parse(
      Buffer.from(signed, 'base64url').toString(),
    ) as unknown[];
    const binding = JSON.stringify(['changes', fixture.organizationId, 'v1', 'things']);
    const named = JSON.stringify([epochMark, floor, generation, kind, id]);
    const older = database.ctx.keyring.sign(named, binding);
    expect((await page(older)).next).toBe(next);
  });

  it('supports text ids, and a record with the id "changes"', async () => {
    const { fixture: texts, get: ask } = await openFixture();
    const rows = ['b', 'changes', 'É', '01', "o'x"].map((id) => ({ id }));
    await loadInvoices(database.ctx, texts.organizationId, rows, 'text');
    const fields = [{ name: 'number', source: 'tranid' }];
    const endpoints = [{ name: 'invoices', recordType: 'invoice', fields }];
    await publishVersion(database.ctx, texts.organizationId, { version: 'v3', endpoints });
    await texts.query(
      `insert into ${texts.schema}.tombstones (record_type, id, generation) values ('invoice', 'a"b', 1), ('invoice', 'zz', 1)`,
    );
    const ids: string[] = [];
    for (let query = '?limit=2'; query !== ''; ) {
      const { body } = await ask(`/v3/invoices/changes${query}`).expect(200);
      ids.push(...body.data.map(({ id }: Change) => id));
      query = body.hasMore ? `?limit=2&since=${body.next}` : '';
    }
    expect(ids).toEqual(['01', 'b', 'changes', "o'x", 'É', 'a"b', 'zz']);
    expect((await ask('/v3/invoices/changes').expect(200)).body.data).toHaveLength(7);
    await ask('/v3/invoices/%63hanges').expect(200);
  });
});
