// The pages of a list for any data with nulls and ties, any filter, sort and page size, with anchors of deep
// pages forced on small tables; what caches may share; how many prepared statements a connection keeps.

import fc from 'fast-check';
import type { Pool, PoolClient } from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import { createFairQueue } from '../../../src/public/load/fair-queue.ts';
import { createStatementRunner } from '../../../src/public/read/connection/statements.ts';
import { listen } from '../../contract/http.ts';
import { testClock } from '../../setup/database.ts';
import { useStarted } from '../../setup/use-started.ts';
import {
  type Caller,
  callerHeaders,
  type InvoiceRow,
  loadInvoices,
  openSite,
  publicApp,
} from '../fixture.ts';

const size = 130;
const anchorEvery = 4;

/** The n-th of a few values, null for one in three: many nulls and ties. */
const some = <T>(values: readonly T[], n: number): T | null =>
  n % 3 === 0 ? null : (values[n % values.length] ?? null);
const createRow = (id: number, seed: number): InvoiceRow => {
  const n = (salt: number) =>
    Math.abs(Math.imul(id * 31 + salt, 0x9e3779b1) ^ Math.imul(seed + salt, 0x85ebca6b)) >>> 3;
  return {
    id,
    tranid: some(['a', 'B', 'b', 'é', '', 'ab%c', '10', '2', '\u{1f600}'], n(1)),
    status: some(['open', 'paid', 'Open'], n(2)),
    total: some(['1.50', '1.5', '-3', '0', '12345678901234567890.123'], n(3)),
    seq: some(['1', '2', '9007199254740993', '-9223372036854775808'], n(4)),
    paid: some([true, false], n(5)),
    trandate: some(['2026-01-31', '2026-02-01', '2025-12-31', '2024-02-29'], n(6)),
    // Correlated with the id: what is late in one order is late in the other.
    entityName: id % 10 === 0 ? null : id > size - 24 ? 'late' : 'early',
    lastmodified: some(
      ['2026-01-31T00:00:00Z', '2026-01-31T23:59:59.999999Z', '2026-02-01T00:00:00.000001Z'],
      n(7),
    ),
  };
};

const filters: readonly (readonly [query: string, sql: string])[] = [
  ['status=open', "f_status = 'open'"],
  ['status=open&status=paid', "f_status in ('open', 'paid')"],
  ['status_not=open', "f_status is distinct from 'open'"],
  ['status_null=true', 'f_status is null'],
  ['total_gte=0', 'f_total >= 0'],
  ['total_null=false', 'f_total is not null'],
  ['date_after=2025-12-31', "f_trandate > '2025-12-31'"],
  ['date_null=true', 'f_trandate is null'],
  ['modified=2026-01-31', "f_lastmodified >= '2026-01-31Z' and f_lastmodified < '2026-02-01Z'"],
  ['number_not=a&number_not=b', "(f_tranid is null or f_tranid not in ('a', 'b'))"],
  ['seq_lt=2', 'f_seq < 2'],
  ['customerName_contains=late', "l_entity = 'late'"],
  ['customerName_starts_with=EARLY', "l_entity = 'early'"],
];
const sorts: Readonly<Record<string, string>> = {
  number: 'f_tranid',
  status: 'f_status',
  total: 'f_total',
  seq: 'f_seq',
  paid: 'f_paid',
  date: 'f_trandate',
  modified: 'f_lastmodified',
};

const clock = testClock();
const site = useStarted(() => openSite({ clock, settings: { anchorEvery } }));
const server = useStarted(() => listen(site.app));
/** Settings without any cache. */
const forgetful = useStarted(() => {
  const { settings } = site.ctx;
  const cacheBytes = { ...settings.cacheBytes, bodies: 0, totals: 0, anchors: 0 };
  return listen(publicApp({ ...site.ctx, settings: { ...settings, cacheBytes } }));
});
let table: string;
let own: Caller;

const ask = async (path: string, headers: Record<string, string> = {}, as = own, asked = server) => {
  const answer = await asked.send({
    method: 'GET',
    path: `/api/public/v1/invoices${path}`,
    headers: { ...callerHeaders(as), ...headers },
  });
  return { status: answer.status, etag: answer.headers['etag'] ?? '', text: answer.text };
};
type Page = { data: { id: string }[]; pagination: { total: number; totalPages: number } };
const readPage = async (path: string, asked = server): Promise<Page> => {
  const { status, text } = await ask(path, {}, undefined, asked);
  expect(status, text).toBe(200);
  return JSON.parse(text);
};

const place = () => `${site.schema}.${table}`;
/** Writes other values into the table, as a sync would, and lets the caches expire. */
async function change(seed: number): Promise<void> {
  const rows = Array.from({ length: size }, (_, index) => createRow(index + 1, seed));
  table = await loadInvoices(site.ctx, site.organizationId, rows);
  clock.advance(1_000);
}

beforeAll(async () => {
  await change(0);
  own = { secret: (await site.key()).secret, organizationId: site.organizationId };
});

describe('all pages of a list', () => {
  const query = fc.record({
    seed: fc.nat({ max: 50 }),
    chosen: fc.uniqueArray(fc.constantFrom(...filters), {
      maxLength: 2,
      selector: ([text]) => text.split(/[_=]/)[0],
    }),
    sort: fc.constantFrom('', ...Object.keys(sorts)),
    order: fc.constantFrom('asc', 'desc'),
    pageSize: fc.constantFrom(3, 7, 11, 40, 100),
    fromTheEnd: fc.boolean(),
    remembers: fc.boolean(),
  });

  it('equal the reference query, each id once, with its total; the same generation has the same ETag and gives 304', async () => {
    await fc.assert(
      fc.asyncProperty(query, async ({ seed, chosen, sort, order, pageSize, fromTheEnd, remembers }) => {
        await change(seed);
        const where = chosen.length === 0 ? '' : ` where ${chosen.map(([, sql]) => sql).join(' and ')}`;
        const keys = sort === '' ? `t.id ${order}` : `${sorts[sort]} ${order} nulls last, t.id ${order}`;
        const rows = await site.sql<{ id: string }>(
          `select t.id::text as id from ${place()} as t${where} order by ${keys}`,
        );
        const parts = [
          ...chosen.map(([text]) => text),
          ...(sort === '' ? [] : [`sort=${sort}`]),
          `order=${order}`,
          `pageSize=${pageSize}`,
        ];
        const path = (page: number) => `?${parts.join('&')}&page=${page}`;
        const pages = Array.from({ length: Math.ceil(rows.length / pageSize) + 1 }, (_, index) => index + 1);
        const found = new Map<number, string[]>();
        for (const page of fromTheEnd ? pages.toReversed() : pages) {
          const { data, pagination } = await readPage(path(page), remembers ? server : forgetful);
          expect(pagination).toMatchObject({ total: rows.length, totalPages: pages.length - 1 });
          found.set(
            page,
            data.map(({ id }) => id),
          );
        }
        expect(pages.flatMap((page) => found.get(page) ?? [])).toEqual(rows.map(({ id }) => id));
        const first = await ask(path(1));
        clock.advance(1_000);
        expect(await ask(path(1))).toEqual(first);
        expect((await ask(path(1), { 'if-none-match': first.etag })).status).toBe(304);
      }),
      { numRuns: 25 },
    );
  });
});

describe('cached data', () => {
  it('of one filter is never used for another', async () => {
    await change(3);
    const pairs = [
      ...filters,
      ...['paid', 'Open', 'none'].map((status) => [`status=${status}`, `f_status = '${status}'`] as const),
    ];
    const rows = await site.sql<Record<string, string>>(
      `select ${pairs.map(([, sql], index) => `count(*) filter (where ${sql}) as t${index}`).join(', ')} from ${place()}`,
    );
    const totals = await Promise.all(
      pairs.map(async ([query]) => (await readPage(`?${query}`)).pagination.total),
    );
    expect(totals).toEqual(pairs.map((_, index) => Number(rows[0]?.[`t${index}`])));
    expect(new Set(totals).size).toBeGreaterThan(5);
    const again = await Promise.all(
      pairs.map(async ([query]) => (await readPage(`?${query}&page=2`)).pagination.total),
    );
    expect(again).toEqual(totals);
  });

  it('of one order is never used for another', async () => {
    await change(5);
    for (const [sort, column] of Object.entries(sorts)) {
      for (const order of ['asc', 'desc']) {
        const rows = await site.sql<{ id: string }>(
          `select t.id::text as id from ${place()} as t order by ${column} ${order} nulls last, t.id ${order} offset 57 limit 3`,
        );
        const { data } = await readPage(`?sort=${sort}&order=${order}&pageSize=3&page=20`);
        expect([sort, order, data.map(({ id }) => id)]).toEqual([sort, order, rows.map(({ id }) => id)]);
      }
    }
  });

  it('is never shared between organizations, keys with other scopes and re-created tables', async () => {
    const rows: InvoiceRow[] = [{ id: 1, status: 'open' }];
    const [one, two] = [await site.another({ rows }), await site.another({ rows })];
    const callers: Caller[] = [];
    for (const [{ key, organizationId }, scopes] of [
      [one, {}],
      [two, {}],
      [one, { versions: ['v1'] }],
      [one, { resources: ['invoices'] }],
      [one, { resources: ['invoices', 'bills'] }],
      [one, { permissions: ['read'] }],
    ] as const)
      callers.push({ secret: (await key(structuredClone(scopes) as object)).secret, organizationId });
    const readEtags = (path: string) =>
      Promise.all(callers.map(async (as) => (await ask(path, {}, as)).etag));
    const tags = [...(await readEtags('')), ...(await readEtags('/1'))];
    await loadInvoices(site.ctx, one.organizationId, rows);
    await one.sql('update $wh.record_state set generation = 1');
    clock.advance(1_000);
    const reloaded = [await ask('', {}, callers[0]), await ask('/1', {}, callers[0])].map(({ etag }) => etag);
    expect(new Set([...tags, ...reloaded]).size).toBe(tags.length + reloaded.length);
    expect(await readEtags('')).toContain(tags[1]);
  });
});

/** A pool of this connection, which is not released. */
function lend(only: PoolClient, onRelease: (failure: boolean) => void): Pick<Pool, 'connect'> {
  const lent = new Proxy(only, {
    get: (client, name) => {
      const held: unknown = Reflect.get(client, name, client);
      return name === 'release' ? onRelease : typeof held === 'function' ? held.bind(client) : held;
    },
  });
  return { connect: async () => lent } as Pool;
}

describe('prepared statements', () => {
  const statement = (n: number) => ({
    key: String(n),
    values: [n],
    write: () => `select $1::int + ${n} as sum`,
  });

  it('are bounded per connection, and a missing or stale one is prepared again', async () => {
    const { data } = site.ctx.db;
    const only = await data.connect();
    const pool = lend(only, () => undefined);
    try {
      const statements = createStatementRunner(
        pool,
        createFairQueue({ maxRunning: 8, maxWaiting: 8, maxWaitMs: 10_000 }, 'reads'),
        100_000,
        3,
      );
      const held = async () =>
        (await only.query("select from pg_prepared_statements where statement like '% as sum'")).rowCount;
      const run = async (n: number) =>
        expect(await statements.run('a', statement(n))).toEqual([{ sum: 2 * n }]);
      for (const n of [1, 2, 3, 4, 5]) await run(n);
      expect(await held()).toBe(0);
      for (const n of [1, 2, 3, 4, 5, 1, 2, 5, 5]) await run(n);
      expect(await held()).toBe(3);
      await only.query('deallocate all');
      for (const n of [1, 2, 5]) await run(n);
      for (const n of [1, 2, 5]) await run(n);
      expect(await held()).toBe(3);
    } finally {
      only.release(true);
    }
  });
});

describe('rows that are fetched a few at a time', () => {
  it('come in order and from one snapshot; a failed statement leaves the connection usable', async () => {
    const { data } = site.ctx.db;
    const only = await data.connect();
    let isBroken = false;
    const pool = lend(only, (failure) => {
      isBroken ||= failure;
    });
    const queue = createFairQueue({ maxRunning: 1, maxWaiting: 8, maxWaitMs: 10_000 }, 'reads');
    const { run, runInSteps } = createStatementRunner(pool, queue, 100_000);
    const statement = (text: string, values: readonly unknown[]) => ({
      key: text,
      values,
      write: () => text,
    });
    const rowsUpTo = statement(
      'select n, txid_current_snapshot()::text as at from generate_series(1, $1::int) as n order by n desc',
      [20],
    );
    try {
      for (const _again of [1, 2, 3]) {
        const rows = await runInSteps<{ n: number; at: string }>('a', rowsUpTo);
        expect(rows.map(({ n }) => n)).toEqual(Array.from({ length: 20 }, (_, index) => 20 - index));
        expect(new Set(rows.map(({ at }) => at)).size).toBe(1);
        const failing = statement('select 1 / (n - $1::int) as n from generate_series(1, 5) as n', [3]);
        await expect(runInSteps('a', failing)).rejects.toMatchObject({ code: '22012' });
        await expect(runInSteps('a', statement('select $1::int from absent', [1]))).rejects.toMatchObject({
          code: '42P01',
        });
        for (const count of [0, 1, 7, 8, 9, 16])
          expect(
            await runInSteps('a', statement('select n from generate_series(1, $1::int) as n', [count])),
          ).toHaveLength(count);
        expect(
          await run('a', statement('select $1::int as n, txid_current_if_assigned() as tx', [7])),
        ).toEqual([{ n: 7, tx: null }]);
      }
      expect(isBroken).toBe(false);
    } finally {
      only.release(true);
    }
  });
});
