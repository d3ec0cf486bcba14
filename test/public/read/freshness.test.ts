// Entity tags, the one-second rule and totals, without notifications.
import express, { type Express } from 'express';
import type { Pool, PoolClient } from 'pg';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Ctx } from '../../../src/core/ctx.ts';
import { openDb } from '../../../src/db/connect.ts';
import { testClock, testDatabase } from '../../setup/database.ts';
import { until } from '../../setup/until.ts';
import { useStarted } from '../../setup/use-started.ts';
import {
  bumpGeneration,
  fieldsWith,
  type Get,
  type InvoiceRow,
  insertInvoices,
  invoicesEndpoint,
  loadInvoices,
  openOrganization,
  publicApp,
} from '../fixture.ts';

const clock = testClock();
// Queries that meet a lock here wait until the test releases it, except those with a short timeout.
const database = useStarted(() =>
  testDatabase({ clock, settings: { anchorEvery: 4, readTimeoutMs: 60_000 } }),
);
let organization: Awaited<ReturnType<typeof openOrganization>>;
let statements: string[];
let ctx: Ctx;
const hurried = useStarted(async () =>
  openDb(database.address, database.address, { control: 1, data: 4 }, 400),
);
let isHurried = false;
let get: Get;

type Query = string | { text: string };
/** A wrapper of a pool or connection that records its queries; `current` may replace the target. */
const watched = <T extends Pool | PoolClient>(target: T, current = (): T => target): T =>
  new Proxy(target, {
    get: (_, name) => {
      const from = current();
      const held: unknown = Reflect.get(from, name, from);
      if (typeof held !== 'function') return held;
      if (name === 'connect') return async () => watched(await (from as Pool).connect());
      return (...given: unknown[]) => {
        const query = given[0] as Query;
        if (name === 'query') statements.push(typeof query === 'string' ? query : query.text);
        return Reflect.apply(held, from, given);
      };
    },
  });

beforeAll(async () => {
  const { data } = database.ctx.db;
  ctx = {
    ...database.ctx,
    db: { ...database.ctx.db, data: watched(data, () => (isHurried ? hurried.data : data)) },
  };
});

beforeEach(async () => {
  statements = [];
  const rows = Array.from({ length: 60 }, (_, index) => ({
    id: index + 1,
    tranid: `INV-${index}`,
    status: index % 3 === 0 ? 'open' : 'paid',
  }));
  organization = await openOrganization(database.ctx, publicApp(ctx), { rows });
  ({ get } = organization);
});
const sql = (text: string) => organization.sql(text);
const reload = (rows: readonly InvoiceRow[]) => loadInvoices(database.ctx, organization.organizationId, rows);
const bump = (rowCount = 60) => bumpGeneration(database.ctx, organization.organizationId, rowCount);

async function lock(): Promise<() => Promise<void>> {
  const locker = await database.ctx.db.data.connect();
  const { schema, table } = organization;
  await locker.query(`begin; lock table ${schema}.${table} in access exclusive mode`);
  return async () => {
    await locker.query('rollback');
    locker.release();
  };
}
/** Reads during this time meet a locked table and time out soon. */
async function whileLocked<T>(work: () => Promise<T>): Promise<T> {
  const unlock = await lock();
  isHurried = true;
  try {
    return await work();
  } finally {
    isHurried = false;
    await unlock();
  }
}

const onRecords = () => statements.filter((text) => text.includes('row_to_json'));

describe('ETag and 304', () => {
  it.each(['/v1/invoices', '/v1/invoices?status=open', '/v1/invoices/1', '/openapi/v1'])(
    '304 for a current ETag, without reading the records: %s',
    async (path) => {
      const first = await get(path).expect(200);
      const tag = String(first.headers['etag']);
      expect(tag).toMatch(/^"[\w-]{20,}"$/);
      if (path.startsWith('/v1')) {
        const shown = { 'x-data-generation': '1', 'x-data-synced-at': '2026-03-01T08:00:00Z' };
        const vary = 'Authorization, x-tenant-id, Accept, Accept-Encoding';
        expect(first.headers).toMatchObject({ ...shown, vary, 'cache-control': 'private, no-cache' });
      }
      statements.length = 0;
      for (const held of [tag, `W/${tag}`, `"other", W/${tag}`]) {
        const again = await get(path, { 'if-none-match': held }).expect(304);
        expect(again.text).toBe('');
        expect(again.headers).toMatchObject({
          etag: tag,
          'cache-control': 'private, no-cache',
          vary: first.headers['vary'],
        });
      }
      expect(onRecords()).toEqual([]);
      await get(path, { 'if-none-match': '*' }).expect(304);
      await get(path, {
        'if-none-match': '"other"',
        'if-modified-since': new Date(8.64e12).toUTCString(),
      }).expect(200);
    },
  );

  it('another query, version, record, coding, generation or epoch has another tag', async () => {
    await organization.publish({ version: 'v2' });
    const readEtag = async (path: string, headers: Record<string, string> = {}) =>
      String((await get(path, headers).expect(200)).headers['etag']);
    const plain = { 'accept-encoding': 'identity' };
    const tags = [
      await readEtag('/v1/invoices'),
      await readEtag('/v1/invoices', plain),
      await readEtag('/v2/invoices'),
    ];
    for (const path of [
      '?page=2',
      '?fields=number',
      '?status=open',
      '?order=desc',
      '/1',
      '/2',
      '/1?fields=number',
    ])
      tags.push(await readEtag(`/v1/invoices${path}`));
    expect(new Set(tags).size).toBe(tags.length);
    expect(await readEtag('/v1/invoices?pageSize=25&page=1&order=asc')).toBe(tags[0]);
    await bump();
    clock.advance(1_000);
    tags.push(await readEtag('/v1/invoices'));
    await reload([{ id: 1 }]);
    await sql(`update $wh.record_state set generation = 1`);
    clock.advance(1_000);
    tags.push(await readEtag('/v1/invoices'), await readEtag('/v1/invoices/1'));
    expect(new Set(tags).size).toBe(tags.length);
  });
});

describe('the one-second rule, without notifications', () => {
  it('a 304 outlives its data by at most one second', async () => {
    const { headers } = await get('/v1/invoices').expect(200);
    const held = { 'if-none-match': String(headers['etag']) };
    await bump();
    clock.advance(999);
    await get('/v1/invoices', held).expect(304);
    clock.advance(1);
    expect((await get('/v1/invoices', held).expect(200)).headers['x-data-generation']).toBe('2');
  });

  it('no read after an export is older than the export', async () => {
    const tag = String((await get('/v1/invoices').expect(200)).headers['etag']);
    await bump();
    const exported = await get('/v1/invoices', { accept: 'application/x-ndjson' }).expect(200);
    expect(exported.headers['x-data-generation']).toBe('2');
    await get('/v1/invoices', { 'if-none-match': tag }).expect(200);
  });

  it('a response with records is always of the newest generation', async () => {
    await get('/v1/invoices?status=open').expect(200);
    await insertInvoices(database.ctx, organization.organizationId, organization.table, [
      { id: 1_000, status: 'open' },
    ]);
    await bump(61);
    const filtered = await get('/v1/invoices?status=open&pageSize=24').expect(200);
    expect(filtered.headers['x-data-generation']).toBe('2');
    expect(filtered.body.pagination.total).toBe(21);
    expect((await get('/v1/invoices').expect(200)).body.pagination.total).toBe(61);
  });

  it('a cached page outlives its data by at most one second, gzipped or not, and needs no query', async () => {
    for (const coding of ['identity', 'gzip']) {
      const path = '/v1/invoices?status=open';
      const first = await get(path, { 'accept-encoding': coding }).expect(200);
      await bump();
      clock.advance(999);
      statements.length = 0;
      const second = await get(path, { 'accept-encoding': coding }).expect(200);
      expect(statements).toEqual([]);
      expect(second.text).toBe(first.text);
      const { date: _first, 'x-request-id': _id, ...kept } = first.headers;
      expect(second.headers).toMatchObject(kept);
      clock.advance(1);
      const third = await get(path, { 'accept-encoding': coding }).expect(200);
      expect(Number(third.headers['x-data-generation'])).toBe(Number(first.headers['x-data-generation']) + 1);
      expect(third.headers['etag']).not.toBe(first.headers['etag']);
    }
  });

  it('a revoked key is rejected within one second', async () => {
    await get('/v1/invoices').expect(200);
    await organization.inTransaction((tx) => tx('api_keys').update({ revoked_at: new Date() }));
    clock.advance(999);
    await get('/v1/invoices').expect(200);
    clock.advance(1);
    await get('/v1/invoices').expect(401);
  });

  it('a retired version ends within one second, and a new one is available', async () => {
    await get('/v1/invoices').expect(200);
    await get('/v2/invoices').expect(404);
    await organization.inTransaction((tx) =>
      tx('api_schemas').where({ version: 'v1' }).update({ status: 'retired' }),
    );
    await organization.publish({ version: 'v2' });
    clock.advance(1_000);
    await get('/v1/invoices').expect(410);
    await get('/v2/invoices').expect(200);
  });

  it('each row is read once per second, however many requests need it', async () => {
    await get('/v1/invoices/1').expect(200);
    clock.advance(1_000);
    statements.length = 0;
    const { headers } = await get('/v1/invoices/1').expect(200);
    clock.advance(1_000);
    statements.length = 0;
    await Promise.all(
      Array.from({ length: 20 }, () =>
        get('/v1/invoices/1', { 'if-none-match': String(headers['etag']) }).expect(304),
      ),
    );
    expect(statements.length).toBe(1);
  });
});

describe('totals', () => {
  const counts = () => statements.filter((text) => text.includes(') as total')).length;

  it('are counted once per generation and filter, however many concurrent requests', async () => {
    await get('/v1/invoices?page=1').expect(200);
    expect(counts()).toBe(0);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        get(`/v1/invoices?status=open&pageSize=${index + 1}`).expect(200),
      ),
    );
    expect(new Set(answers.map(({ body }) => body.pagination.total))).toEqual(new Set([20]));
    expect(counts()).toBe(1);
    await get('/v1/invoices?status=open&sort=date&fields=number').expect(200);
    expect(counts()).toBe(1);
    expect((await get('/v1/invoices?status=open&page=9').expect(200)).body).toEqual({
      data: [],
      pagination: { total: 20, page: 9, pageSize: 25, totalPages: 1 },
    });
    await get('/v1/invoices?status=paid').expect(200);
    await get('/v1/invoices?status_not=open').expect(200);
    expect(counts()).toBe(3);
  });

  it('are shared by concurrent requests even when no total is cached', async () => {
    const { settings } = ctx;
    const forgetful = publicApp({
      ...ctx,
      settings: { ...settings, cacheBytes: { ...settings.cacheBytes, totals: 0 } },
    });
    let arrived = 0;
    const counted = express().use((_req, _res, next) => {
      arrived += 1;
      next();
    }, forgetful);
    const ask = await organization.callerWith({}, counted as Express);
    await ask('/v1/invoices').expect(200);
    const unlock = await lock();
    const asked = Promise.all(
      Array.from({ length: 20 }, (_, index) => ask(`/v1/invoices?status=open&pageSize=${index + 1}`)),
    );
    await until(async () => arrived === 21);
    await unlock();
    expect(new Set((await asked).map(({ body }) => body.pagination.total))).toEqual(new Set([20]));
    expect(counts()).toBe(1);
    await ask('/v1/invoices?status=open').expect(200);
    expect(counts()).toBe(2);
  });

  it('anchors of deep pages are built once per generation and order', async () => {
    const found = () => statements.filter((text) => text.includes('as valued')).length;
    const deep = (order: string) =>
      Array.from({ length: 8 }, (_, index) =>
        get(`/v1/invoices?sort=status&order=${order}&pageSize=2&page=${30 - index}`),
      );
    for (const answers of [await Promise.all(deep('asc')), await Promise.all(deep('asc'))])
      for (const { body } of answers) expect(body.data.length).toBe(2);
    expect(found()).toBe(1);
    await Promise.all(deep('desc'));
    expect(found()).toBe(2);
    await bump();
    clock.advance(1_000);
    await Promise.all(deep('asc'));
    expect(found()).toBe(3);
    await get('/v1/invoices?sort=status&pageSize=2&page=15').expect(200);
    await get('/v1/invoices?sort=total&pageSize=2&page=15').expect(200);
    expect(found()).toBe(3);
  });

  it('are not mixed up between two resources that use one name for different columns', async () => {
    const fields = fieldsWith({ status: { source: 'tranid' } });
    const swapped = { ...invoicesEndpoint, name: 'swapped', fields };
    await organization.publish({ version: 'v2', endpoints: [invoicesEndpoint, swapped] });
    expect((await get('/v2/invoices?status=open').expect(200)).body.pagination.total).toBe(20);
    expect((await get('/v2/swapped?status=open').expect(200)).body.pagination.total).toBe(0);
  });

  it('a failed count fails the requests that waited for it, and the next request counts again', async () => {
    await get('/v1/invoices').expect(200);
    const answers = await whileLocked(() =>
      Promise.all([get('/v1/invoices?status=open'), get('/v1/invoices?status=open')]),
    );
    expect(answers.map(({ status }) => status)).toEqual([503, 503]);
    expect(answers.map(({ headers }) => headers['retry-after'])).toEqual(['5', '5']);
    expect((await get('/v1/invoices?status=open').expect(200)).body.pagination.total).toBe(20);
  });
});
