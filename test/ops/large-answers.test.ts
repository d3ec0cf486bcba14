// Answers are bounded in bytes: a larger page of a list is refused with the page size that fits, a page of
// changes ends early, and a single record is always answered. A read ends within its time limit, whatever it
// waits for.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Express } from 'express';
import { beforeAll, describe, expect, it } from 'vitest';
import { fullAccess } from '../../src/core/record-access.ts';
import {
  bindDocument,
  getRecordReader,
  proveVersion,
  readAvailable,
  SchemaDocument,
} from '../../src/public/index.ts';
import { isTooLarge } from '../../src/public/read/connection/failures.ts';
import { tenantSchema } from '../../src/warehouse/tenant-schema.ts';
import {
  type Caller,
  createCaller,
  type InvoiceRow,
  invoicesEndpoint,
  listIds,
  loadInvoices,
  publicApp,
  publishVersion,
  withReads,
} from '../public/fixture.ts';
import { makeKey } from '../setup/organization.ts';
import { openSocket } from '../setup/sockets.ts';
import { until } from '../setup/until.ts';
import { useOrganization } from '../setup/use-organization.ts';

const maxAnswerBytes = 2 << 20;
const generous = {
  maxAnswerBytes: 64 << 20,
  publicLoad: { maxRequests: 100, maxWaitMs: 20_000, maxLargeReads: 8 },
};
const count = 60;
/** Larger than an answer may be. */
const hugeId = 31;

/** Letters of one to four bytes, and those that JSON escapes. */
const createText = (bytes: number): string => 'aé€😀"\\\n\u0001'.repeat(Math.ceil(bytes / 20));
const bytesAt = (id: number): number =>
  id === hugeId ? 3 << 20 : id % 7 === 0 ? 500_000 : id % 3 === 0 ? 90_000 : 200;
const rows: InvoiceRow[] = Array.from({ length: count }, (_, index) => {
  const id = index + 1;
  return {
    id,
    tranid: `INV-${id}`,
    total: id % 4 === 0 ? null : String((id * 37) % 11),
    entity: createText(bytesAt(id)),
  };
});
const allIds = rows.map(({ id }) => String(id)).sort();

const lines = { accept: 'application/x-ndjson' };
const endpoints = [{ ...invoicesEndpoint, maxPageSize: 1_000 }];

const site = useOrganization({ settings: { maxAnswerBytes, readTimeoutMs: 60_000 } });
let app: Express;
let table: string;
let get: ReturnType<typeof createCaller>;

beforeAll(async () => {
  table = await loadInvoices(site.ctx, site.id, rows);
  await publishVersion(site.ctx, site.id, { endpoints });
  app = publicApp(site.ctx);
  get = await openCaller(app);
});

/** A caller with a key of its own. */
const openCaller = async (on: Express) =>
  createCaller(on, { secret: (await makeKey(site.ctx, site.id)).secret, organizationId: site.id });

const pageIn = (message: string): { page: number; pageSize: number } => {
  const [, page, pageSize] = /page=(\d+)&pageSize=(\d+)/.exec(message) ?? [];
  return { page: Number(page), pageSize: Number(pageSize) };
};

/** Reads the whole list, page by page; where a page is refused, as the refusal advises. */
async function walk(
  query: string,
  pageSize: number,
): Promise<{ ids: string[]; refusals: number; mostBytes: number }> {
  const ids: string[] = [];
  let [at, refusals, mostBytes] = [{ page: 1, pageSize }, 0, 0];
  for (;;) {
    const response = await get(`/v1/invoices?${query}page=${at.page}&pageSize=${at.pageSize}`);
    if (response.status === 400) {
      const advised = pageIn(response.body.error.message);
      expect(advised.pageSize).toBeLessThan(at.pageSize);
      expect((advised.page - 1) * advised.pageSize).toBe(ids.length);
      refusals += 1;
      at = advised;
      continue;
    }
    expect(response.status, response.text).toBe(200);
    if (at.pageSize > 1) mostBytes = Math.max(mostBytes, Buffer.byteLength(response.text));
    ids.push(...listIds(response));
    if (at.page >= response.body.pagination.totalPages) return { ids, refusals, mostBytes };
    at = { ...at, page: at.page + 1 };
  }
}

describe('GET /{version}/{resource} with large records', () => {
  it('400 page_too_large names the largest page that fits from the same record', async () => {
    const { body } = await get('/v1/invoices?pageSize=60').expect(400);
    expect(body.error).toMatchObject({
      code: 'BAD_REQUEST',
      details: [{ path: 'pageSize', code: 'page_too_large' }],
    });
    expect(body.error.details[0].message).toBe(body.error.message);
    const { page, pageSize } = pageIn(body.error.message);
    expect(page).toBe(1);
    const fitting = await get(`/v1/invoices?page=1&pageSize=${pageSize}`).expect(200);
    expect(listIds(fitting)).toEqual(rows.slice(0, pageSize).map(({ id }) => String(id)));
    await get(`/v1/invoices?page=1&pageSize=${pageSize + 1}`).expect(400);
    await get('/v1/invoices?pageSize=60&fields=number').expect(200);
  });

  it.each(['', 'sort=total&order=desc&', 'number_not=INV-5&'])(
    'a client that follows the refusals reads every record once: %j',
    async (query) => {
      const exported = await get(`/v1/invoices?${query}fields=id`, lines).expect(200);
      const expected = exported.text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).id);
      for (const pageSize of [60, 7]) {
        const { ids, refusals, mostBytes } = await walk(query, pageSize);
        expect(ids).toEqual(expected);
        expect(refusals).toBeGreaterThan(0);
        expect(mostBytes).toBeLessThan(maxAnswerBytes + 1_000);
      }
    },
  );

  it('a refused page does not fail others that wait for the same total', async () => {
    const ask = await openCaller(publicApp(site.ctx));
    const answers = await Promise.all(
      ['pageSize=60', 'pageSize=1', 'pageSize=2'].map((size) => ask(`/v1/invoices?number_not=x&${size}`)),
    );
    expect(answers.map(({ status }) => status)).toEqual([400, 200, 200]);
    expect(answers[1]?.body.pagination.total).toBe(count);
  });

  it('a large page has the bytes of an export, in either coding, and an ETag', async () => {
    const path = '/v1/invoices?id=7&id=14&id=21';
    const { text } = await get(path, lines).expect(200);
    const plain = await get(path, { 'accept-encoding': 'identity' }).expect(200);
    expect(plain.text).toBe(
      `{"data":[${text.trimEnd().replaceAll('\n', ',')}],"pagination":{"total":3,"page":1,"pageSize":25,"totalPages":1}}`,
    );
    expect(plain.headers['content-length']).toBe(String(Buffer.byteLength(plain.text)));
    expect(plain.headers['link']).toContain('rel="first"');
    const gzipped = await get(path, { 'accept-encoding': 'gzip' })
      .buffer(true)
      .expect(200)
      .expect('content-encoding', 'gzip');
    expect(gzipped.text).toBe(plain.text);
    await get(path, { 'if-none-match': String(plain.headers['etag']) }).expect(304);
    expect(gzipped.headers['etag']).not.toBe(plain.headers['etag']);
  });

  it('more large pages at once than may be read at once wait for one another', async () => {
    const { settings } = site.ctx;
    const publicLoad = { ...settings.publicLoad, maxWaitMs: 60_000 };
    const ask = await openCaller(publicApp({ ...site.ctx, settings: { ...settings, publicLoad } }));
    const ids = [7, 14, 21, 28, 35, 42];
    const paths = ids.map((id) => `/v1/invoices?id=${id}&id=49&id=56`);
    const alone = await ask(paths[0] ?? '');
    const together = await Promise.all(paths.flatMap((path) => [ask(path), ask(path)]));
    expect(together.map(({ status }) => status)).toEqual(Array(2 * paths.length).fill(200));
    expect(together.slice(0, 2).map(({ text }) => text === alone.text)).toEqual([true, true]);
    expect(together.flatMap(listIds).sort()).toEqual(
      ids.flatMap((id) => [id, id, 49, 49, 56, 56].map(String)).sort(),
    );
  });
});

describe('a statement that fails because a value is out of range', () => {
  it.each([
    ['select 1e308::float8 * 10', true],
    ['select sum(n * 1e308::float8) from generate_series(1, 9) as n', true],
    ['select 2147483647 + 1', false],
    ["select '1e400'::float8", false],
    ['select 10::numeric ^ 200000', false],
  ])('is taken for too many bytes only when a float overflows: %s', async (statement, expected) => {
    const error: unknown = await site.ctx.db.data.query(statement).catch((failure: unknown) => failure);
    expect(error).toMatchObject({ code: '22003' });
    expect(isTooLarge(error)).toBe(expected);
  });
});

describe('GET /{version}/{resource}/{id} with a record larger than an answer', () => {
  it('200 with every byte of it, alone and as the only record of a page', async () => {
    const { text: line } = await get(`/v1/invoices?id=${hugeId}`, lines).expect(200);
    const single = await get(`/v1/invoices/${hugeId}`, { 'accept-encoding': 'identity' }).expect(200);
    expect(single.text === `{"data":${line.trimEnd()}}`).toBe(true);
    expect(single.headers['content-length']).toBe(String(Buffer.byteLength(single.text)));
    const zipped = await get(`/v1/invoices/${hugeId}`, { 'accept-encoding': 'gzip' })
      .expect(200)
      .expect('content-encoding', 'gzip');
    expect(zipped.text === single.text).toBe(true);
    await get(`/v1/invoices/${hugeId}`, { 'if-none-match': String(single.headers['etag']) }).expect(304);
    const { body } = await get(`/v1/invoices?pageSize=1&page=${hugeId}`).expect(200);
    expect(body.data[0].customer === rows[hugeId - 1]?.entity).toBe(true);
    await get('/v1/invoices/999').expect(404);
  });
});

describe('GET /{version}/{resource}/changes with large records', () => {
  it('ends a page early with hasMore, and a client that follows it gets every record once', async () => {
    const ids: string[] = [];
    const pages: { bytes: number; entries: number; hasMore: boolean }[] = [];
    for (let since = ''; ; ) {
      const { body, text } = await get(`/v1/invoices/changes?limit=1000${since}`).expect(200);
      pages.push({ bytes: Buffer.byteLength(text), entries: body.data.length, hasMore: body.hasMore });
      ids.push(...body.data.map(({ id }: { id: string }) => id));
      since = `&since=${body.next}`;
      if (!body.hasMore) break;
    }
    expect([...ids].sort()).toEqual(allIds);
    expect(pages.length).toBeGreaterThan(2);
    for (const { bytes, entries } of pages)
      if (entries > 1) expect(bytes).toBeLessThan(maxAnswerBytes + 1_000);
    expect(pages.slice(0, -1).every(({ hasMore }) => hasMore)).toBe(true);
  });
});

describe('pages of large records for callers inside the service', () => {
  const columns = ['tranid', 'entity'].map((name) => ({ name, source: name }));
  const query = { recordType: 'invoice', columns, filters: [], sort: [] };

  it('400 page_too_large for a page of a query; single records and small pages are read', async () => {
    const ctx = withReads(site.ctx);
    const [tenant, records] = [{ ...ctx, organizationId: site.id }, getRecordReader(ctx)];
    const details = [{ path: 'pageSize', code: 'page_too_large' }];
    const whole = records.list(tenant, query, { page: 1, pageSize: count }, fullAccess);
    await expect(whole).rejects.toMatchObject({ status: 400, details });
    for (const id of [7, hugeId]) {
      const listed = await records.list(tenant, query, { page: id, pageSize: 1 }, fullAccess);
      const single = (await records.get(tenant, 'invoice', String(id), ['entity'], fullAccess)) ?? '';
      const shown = [...JSON.parse(listed.records), JSON.parse(single)] as { entity: string }[];
      const wanted = rows[id - 1]?.entity;
      expect(shown.map(({ entity }) => entity === wanted)).toEqual([true, true]);
    }
  });

  it('a version is measured although its pages are too large', async () => {
    const ctx = { ...site.ctx, organizationId: site.id };
    const document = SchemaDocument.parse({ endpoints });
    const bindings = bindDocument(document, await readAvailable(ctx));
    const { pairs, timedOut } = await proveVersion(ctx, document, bindings, {
      ...{ maxPairs: 4, smallTableRecords: 1_000, budgetMs: 60_000, warnMs: 60_000 },
      onProgress: async () => undefined,
      signal: new AbortController().signal,
    });
    expect(timedOut).toEqual([]);
    expect(pairs.flatMap(({ trials }) => trials).length).toBeGreaterThan(0);
  });
});

describe('READ_TIMEOUT_MS', () => {
  it.each(['/v1/invoices', '/v1/invoices?number_not=y', '/v1/invoices/1', '/v1/invoices/changes'])(
    '503 when a read of %s takes longer altogether, although each statement may go on',
    async (path) => {
      // The statements of these connections end after 60 s.
      const settings = { ...site.ctx.settings, readTimeoutMs: 300 };
      const ask = await openCaller(publicApp({ ...site.ctx, settings }));
      await site.admin.transaction(async (tx) => {
        await tx.raw(`lock table ${tenantSchema(site.id)}.${table} in access exclusive mode`);
        const answer = ask(path).then((response) => response);
        await until(async () => (await waiting()) > 0);
        const { status, body, headers } = await answer;
        expect([status, headers['retry-after'], body.error.details]).toEqual([
          503,
          '5',
          [expect.objectContaining({ code: 'unavailable' })],
        ]);
        expect(await waiting()).toBe(1);
      });
      await until(async () => (await waiting()) === 0);
    },
  );
});

async function waiting(): Promise<number> {
  const { rows: found } = await site.admin.raw<{ rows: { n: number }[] }>(
    "select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
  );
  return found[0]?.n ?? 0;
}

it('clients of two organizations that read nothing keep no third one from reading', async () => {
  const large = Array.from({ length: 20 }, (_, index) => ({ id: index + 1, entity: 'x'.repeat(500_000) }));
  const path = '/v1/invoices?pageSize=20';
  const ctx = { ...site.ctx, settings: { ...site.ctx.settings, ...generous } };
  const callers = await Promise.all(
    [1, 2, 3].map(async () => {
      const { id: organizationId, owner } = await site.another();
      await loadInvoices(ctx, organizationId, large);
      await publishVersion(ctx, organizationId, { endpoints });
      return { secret: owner.secret, organizationId };
    }),
  );
  const app = publicApp(ctx);
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const slow = callers.slice(0, 2).flatMap(({ secret, organizationId }) =>
    Array.from({ length: 4 }, async () => {
      const head = `host: x\r\nauthorization: Bearer ${secret}\r\nx-tenant-id: ${organizationId}`;
      const socket = openSocket(server, `GET /api/public${path} HTTP/1.1\r\n${head}\r\n\r\n`);
      // The first bytes of the response have arrived; it reads no others.
      await once(socket, 'readable');
      return socket;
    }),
  );
  const sockets = await Promise.all(slow);
  await createCaller(app, callers[2] as Caller)(path).expect(200);
  for (const socket of sockets) socket.destroy();
  server.close();
});
