// What the proof reports about the reads of a version, over enough records that an index makes a difference.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TenantCtx } from '../../src/core/ctx.ts';
import { openDb } from '../../src/db/connect.ts';
import { findTooSlowReads } from '../../src/platform/api-schemas/proof-report.ts';
import {
  bindDocument,
  listIndexes,
  proveVersion,
  readAvailable,
  SchemaDocument,
} from '../../src/public/index.ts';
import { listPairs } from '../../src/public/proof/pairs.ts';
import type { ProofOptions } from '../../src/public/proof/prove.ts';
import { type ColumnSample, trialValues } from '../../src/public/proof/trial-values.ts';
import { compileSchema } from '../../src/public/version/compile.ts';
import { buildWantedIndexes, saveWantedIndexes } from '../../src/sync/index.ts';
import { tenantSchema } from '../../src/warehouse/tenant-schema.ts';
import { type InvoiceRow, invoicesEndpoint, loadInvoices, richLineColumns } from '../public/fixture.ts';
import { type TestDatabase, testDatabase } from '../setup/database.ts';
import { makeOrganization } from '../setup/organization.ts';

const count = 20_000;
/** One in a hundred is open; totals are all distinct; a name repeats every seventy records. */
const rows: InvoiceRow[] = Array.from({ length: count }, (_, index) => ({
  id: index + 1,
  tranid: `INV${index}`,
  status: index % 100 === 0 ? 'open' : 'paid',
  total: `${(index * 7919) % count}.5`,
  trandate: `2026-0${1 + (index % 9)}-1${index % 10}`,
  entityName: `Customer ${index % 70}`,
}));
const document = SchemaDocument.parse({
  endpoints: [
    {
      ...invoicesEndpoint,
      filters: [
        { field: 'status', operators: ['eq', 'not', 'null'] },
        { field: 'total', operators: ['gt'] },
        { field: 'customerName', operators: ['contains'] },
      ],
      sorts: ['date', 'total'],
    },
  ],
});

let database: TestDatabase;
let ctx: TenantCtx;
let table: string;

beforeAll(async () => {
  database = await testDatabase({ settings: { readTimeoutMs: 60_000 } });
  const { id } = await makeOrganization(database.ctx);
  ctx = { ...database.ctx, organizationId: id };
  table = await loadInvoices(ctx, id, rows);
  await ctx.db.control.raw(`analyze ${tenantSchema(id)}."${table}"`);
});
afterAll(() => database.close());

const usual: ProofOptions = {
  maxPairs: 2_000,
  smallTableRecords: 0,
  budgetMs: 600_000,
  warnMs: 250,
  onProgress: async () => undefined,
  signal: new AbortController().signal,
};
const prove = async (options: Partial<ProofOptions> = {}, on: TenantCtx = ctx) =>
  proveVersion(on, document, bindDocument(document, await readAvailable(ctx)), { ...usual, ...options });
const listReads = ({ pairs }: Awaited<ReturnType<typeof prove>>) =>
  pairs.flatMap(({ trials, ...pair }) => trials.map((trial) => ({ ...pair, ...trial })));

/** Five filters and the id, and none; two sorts and the id, each in two directions. */
const all = 7 * 6;

describe('proveVersion', () => {
  it('measures every pair with common, rare and absent values, and reports how each was read', async () => {
    const before = listReads(await prove());
    const rare = (reads: typeof before) =>
      reads.find(({ filter, sort, value }) => filter === 'status' && sort === 'total' && value === 'rare');
    expect(rare(before)).toMatchObject({ rows: count / 100, byIndex: false });

    for (const [recordType, specs] of listIndexes(
      document,
      bindDocument(document, await readAvailable(ctx)),
    )) {
      await saveWantedIndexes(ctx, recordType, specs);
      await buildWantedIndexes(ctx, recordType, async () => undefined);
    }
    const progress: number[] = [];
    const proof = await prove({ onProgress: async (done) => progress.push(done) });
    expect([proof.total, proof.pairs.length, progress.at(-1), proof.timedOut]).toEqual([all, all, all, []]);
    expect(new Set(proof.pairs.map(({ filter, sort, order }) => `${filter} ${sort} ${order}`)).size).toBe(
      all,
    );
    const reads = listReads(proof);
    const selected = (filter: string | null) =>
      Object.fromEntries(
        reads.filter((read) => read.filter === filter).map(({ value, rows }) => [value, rows]),
      );
    expect(selected(null)).toEqual({ all: count });
    expect(selected('status')).toEqual({ common: count * 0.99, rare: count / 100, absent: 0 });
    expect(selected('status_not')).toEqual({ common: count / 100, rare: count * 0.99, absent: count });
    expect(selected('status_null')).toEqual({ common: count, rare: 0 });
    expect(selected('customerName_contains')).toMatchObject({ common: count, absent: 0 });
    expect(selected('total_gt')).toEqual({
      common: count - 1,
      rare: expect.closeTo(count / 1_000, -1.5),
      absent: 0,
    });
    expect(rare(reads)).toMatchObject({ byIndex: true });
    expect(reads.filter(({ ms, firstMs }) => !(ms > 0 && firstMs > 0))).toEqual([]);
  });

  it('measures the summary of all records by each group, and reports one that takes too long', async () => {
    const summarized = SchemaDocument.parse({
      endpoints: [
        {
          ...invoicesEndpoint,
          filters: [],
          sorts: [],
          aggregates: [{ field: 'total', functions: ['sum', 'avg', 'count_distinct'] }],
          groups: ['customerName', 'number', { field: 'date', periods: ['month', 'year'] }],
        },
      ],
    });
    const bindings = bindDocument(summarized, await readAvailable(ctx));
    const proof = await proveVersion(ctx, summarized, bindings, usual);
    const groups = proof.pairs.filter(({ group }) => group !== undefined);
    expect(groups.map(({ group }) => group)).toEqual(['customerName', 'number', 'date.month', 'date.year']);
    expect([proof.total, proof.pairs.length, proof.timedOut]).toEqual([4 + 4, 4 + 4, []]);
    for (const { trials } of groups) {
      expect(trials).toMatchObject([{ value: 'all', rows: count }]);
      expect(trials[0]?.ms).toBeGreaterThan(0);
    }
    const hasty = openDb(database.address, database.address, { control: 1, data: 1 }, 1);
    const query = (text: string, values: unknown[]) =>
      (text.includes('with g as') ? hasty : ctx.db).data.query(text, values);
    const data = new Proxy(ctx.db.data, {
      get: (pool, name) => (name === 'query' ? query : Reflect.get(pool, name)),
    });
    try {
      const { timedOut } = await proveVersion(
        { ...ctx, db: { ...ctx.db, data } },
        summarized,
        bindings,
        usual,
      );
      const tooSlow = findTooSlowReads(
        { total: 0, pairs: [], records: [], timedOut, costly: [] },
        summarized.endpoints,
        1,
      );
      expect(tooSlow[0]).toMatchObject({
        path: 'endpoints[0].groups[0]',
        code: 'too_slow',
        blocks: 'publish',
      });
      expect(tooSlow[2]?.path).toBe('endpoints[0].groups[2]');
      expect(tooSlow[2]?.message).toMatch(
        /^invoices\/summary\?by=date\.month takes longer .*: remove the group date\.month/,
      );
    } finally {
      await hasty.close();
    }
  });

  it('measures numbers of different values, which sort all values, by each group', async () => {
    const summarized = SchemaDocument.parse({
      endpoints: [
        {
          ...invoicesEndpoint,
          filters: [],
          sorts: [],
          aggregates: [{ field: 'total', functions: ['sum', 'count_distinct'] }],
          groups: ['customerName', 'number'],
        },
      ],
    });
    const bindings = bindDocument(summarized, await readAvailable(ctx));
    const hasty = openDb(database.address, database.address, { control: 1, data: 1 }, 1);
    const query = (text: string, values: unknown[]) =>
      (text.includes('count(distinct ') ? hasty : ctx.db).data.query(text, values);
    const data = new Proxy(ctx.db.data, {
      get: (pool, name) => (name === 'query' ? query : Reflect.get(pool, name)),
    });
    try {
      const { timedOut } = await proveVersion(
        { ...ctx, db: { ...ctx.db, data } },
        summarized,
        bindings,
        usual,
      );
      expect(timedOut.map(({ group }) => group)).toEqual(['customerName', 'number']);
      const [tooSlow] = findTooSlowReads(
        { total: 0, pairs: [], records: [], timedOut, costly: [] },
        summarized.endpoints,
        1,
      );
      expect(tooSlow?.message).toContain('remove the group customerName or the function "count_distinct"');
    } finally {
      await hasty.close();
    }
  });

  it('counts the list under a row scope of a common, a rare and an absent value, without a filter of the same field', async () => {
    const scoped = SchemaDocument.parse({
      endpoints: [
        {
          ...invoicesEndpoint,
          fields: invoicesEndpoint.fields.map((field) =>
            field.name === 'status' ? { ...field, scopable: true } : field,
          ),
          filters: [],
          sorts: ['date'],
          defaultSort: { field: 'date', order: 'desc' },
        },
      ],
    });
    const bindings = bindDocument(scoped, await readAvailable(ctx));
    for (const [recordType, specs] of listIndexes(scoped, bindings)) {
      await saveWantedIndexes(ctx, recordType, specs);
      await buildWantedIndexes(ctx, recordType, async () => undefined);
    }
    const proof = await proveVersion(ctx, scoped, bindings, usual);
    // The list and the id, by date and id in two directions; and the scope in the default order.
    expect([proof.total, proof.pairs.length]).toEqual([5, 5]);
    const reads = listReads(proof).filter(({ scope }) => scope === 'status');
    expect(reads.map(({ value, rows, byIndex, sort, order }) => [value, rows, byIndex, sort, order])).toEqual(
      [
        ['common', count * 0.99, true, 'date', 'desc'],
        ['rare', count / 100, true, 'date', 'desc'],
        ['absent', 0, true, 'date', 'desc'],
      ],
    );
  });

  it('stays within its limits, and tries every filter and every sort before it combines the rest', async () => {
    expect((await prove({ maxPairs: 5 })).pairs).toHaveLength(5);
    expect(await prove({ budgetMs: 0 })).toMatchObject({ total: all, pairs: [] });
    const few = await prove({ smallTableRecords: count });
    expect([few.total, few.pairs.length]).toEqual([all, 6 + 6]);
    await expect(prove({ signal: AbortSignal.abort() })).rejects.toThrow(/abort/i);
    const bound = compileSchema({
      ...document,
      bindings: bindDocument(document, await readAvailable(ctx)),
      id: '',
      version: '',
    });
    const half = [...listPairs([...bound.endpoints.values()])].slice(0, all / 2);
    expect(new Set(half.map(({ filter }) => filter)).size).toBe(7);
    expect(new Set(half.map(({ sort, order }) => `${sort} ${order}`)).size).toBe(6);
  });

  it('reports reads that time out, and stops after a few', async () => {
    const hasty = openDb(database.address, database.address, { control: 1, data: 1 }, 500);
    // Only reads of records have the short timeout; other queries have their normal time.
    const query = (text: string, values: unknown[]) =>
      (text.includes(table) ? hasty : ctx.db).data.query(text, values);
    const data = new Proxy(ctx.db.data, {
      get: (pool, name) => (name === 'query' ? query : Reflect.get(pool, name)),
    });
    // Two hundred records take five milliseconds each in any read: counting all of them takes twice the
    // timeout.
    const records = `${tenantSchema(ctx.organizationId)}.${table}`;
    await ctx.db.data.query(`alter table ${records} enable row level security, force row level security`);
    await ctx.db.data.query(
      `create policy slow on ${records} using (case when f_status = 'open' then pg_sleep(0.005)::text = '' else true end)`,
    );
    try {
      const { timedOut, pairs } = await prove({}, { ...ctx, db: { ...ctx.db, data } });
      expect(timedOut).toContainEqual(
        expect.objectContaining({ resource: 'invoices', filter: expect.any(String), counting: true }),
      );
      expect([timedOut.length, pairs.length < all]).toEqual([3, true]);
    } finally {
      await ctx.db.data.query(
        `alter table ${records} disable row level security, no force row level security`,
      );
      await ctx.db.data.query(`drop policy slow on ${records}`);
      await hasty.close();
    }
  });
});

describe('a read that costs more than twenty plain lists', () => {
  it('is reported with what both take, and refuses the version', async () => {
    const records = `${tenantSchema(ctx.organizationId)}.${table}`;
    const filtered = SchemaDocument.parse({
      endpoints: [{ ...invoicesEndpoint, filters: [{ field: 'status', operators: ['eq'] }], sorts: [] }],
    });
    const bindings = bindDocument(filtered, await readAvailable(ctx));
    for (const [recordType, specs] of listIndexes(filtered, bindings)) {
      await saveWantedIndexes(ctx, recordType, specs);
      await buildWantedIndexes(ctx, recordType, async () => undefined);
    }
    // A page of open invoices takes 25 times as long as a row that is slow; the first page of all invoices
    // has none of them.
    await ctx.db.data.query(`alter table ${records} enable row level security, force row level security`);
    await ctx.db.data.query(
      `create policy costly on ${records} using (case when f_status = 'open' and id between 26 and 2500 then pg_sleep(0.015)::text = '' else true end)`,
    );
    try {
      const { costly, timedOut } = await proveVersion(ctx, filtered, bindings, { ...usual, warnMs: 60_000 });
      expect(timedOut).toEqual([]);
      expect(costly.map(({ filter, value, counting }) => ({ filter, value, counting }))).toContainEqual({
        filter: 'status',
        value: 'rare',
        counting: false,
      });
      const [problem] = findTooSlowReads(
        { total: 0, pairs: [], records: [], timedOut, costly },
        filtered.endpoints,
        1,
      );
      expect(problem).toMatchObject({
        path: 'endpoints[0].filters[0].operators[0]',
        code: 'too_costly',
        blocks: 'publish',
      });
      expect(problem?.message).toMatch(
        /^invoices\?status=…&order=asc \(rare value\) takes \d+ ms with the count of its records, more than 20 times the \d+ ms of the list without filter: remove the filter status$/,
      );
    } finally {
      await ctx.db.data.query(
        `alter table ${records} disable row level security, no force row level security`,
      );
      await ctx.db.data.query(`drop policy costly on ${records}`);
    }
  });
});

describe('trialValues', () => {
  const sample: ColumnSample = {
    common: '5',
    rare: '7',
    prefix: null,
    min: '1',
    max: '9',
    nearMin: '2',
    nearMax: '8',
    belowMin: null,
    aboveMax: null,
    mostlyNull: true,
    many: ['5', '7'],
  };
  it.each([
    ['eq', 'integer', 'common 5, rare 7'],
    ['gt', 'integer', 'common 1, rare 8'],
    ['lte', 'number', 'common 9, rare 2'],
    ['null', 'date', 'common true, rare false'],
    ['starts_with', 'text', 'rare 7, absent no such value 2e31ef95'],
    ['contains', 'text', 'absent no such value 2e31ef95'],
  ] as const)('of %s over %s leave out what there is none of', (operator, type, expected) => {
    const found = trialValues({ operator, column: { column: 'c', type } }, sample).map(
      ({ kind, texts }) => `${kind} ${texts.join()}`,
    );
    expect(found.join(', ').replace(/value [0-9a-f]{8}/, 'value 2e31ef95')).toBe(expected);
  });
  it('of a boolean field with one value are that one and the other', () => {
    const one = { ...sample, common: 'true', rare: 'true' };
    const texts = trialValues({ operator: 'eq', column: { column: 'c', type: 'boolean' } }, one).flatMap(
      ({ texts }) => texts,
    );
    expect(texts).toEqual(['true', 'false']);
  });
});

describe('the proof of lines, search, or and sort sets', () => {
  it('reads each of them through its index, with values of the data', async () => {
    const line = (index: number): string =>
      `{"item":"${index % 500}","quantity":${index}.5,"shipped":"2026-01-0${1 + (index % 9)}T10:00:00Z"}`;
    const withLines = Array.from({ length: 5_000 }, (_, index) => ({
      ...rows[index],
      id: index + 1,
      lines: `[${line(index)},${line(index * 7)}]`,
    }));
    const { id } = await makeOrganization(database.ctx);
    const tenant = { ...database.ctx, organizationId: id };
    const lined = await loadInvoices(tenant, id, withLines, 'integer', richLineColumns);
    const declared = SchemaDocument.parse({
      endpoints: [
        {
          ...invoicesEndpoint,
          fields: [
            ...invoicesEndpoint.fields.filter(({ name }) => name !== 'lines'),
            {
              name: 'lines',
              source: 'lines',
              fields: ['item', 'quantity', 'shipped'].map((name) => ({ name, source: name })),
            },
          ],
          filters: [
            { field: 'status', operators: ['eq'] },
            { field: 'total', operators: ['gt'] },
            { field: 'lines.item', operators: ['eq'] },
            { field: 'lines.quantity', operators: ['gt'] },
            { field: 'lines.shipped', operators: ['eq', 'before'] },
          ],
          sorts: ['date'],
          search: ['customerName', 'number'],
          or: true,
          sortSets: [['date', '-total']],
        },
      ],
    });
    const bindings = bindDocument(declared, await readAvailable(tenant));
    for (const [recordType, specs] of listIndexes(declared, bindings)) {
      await saveWantedIndexes(tenant, recordType, specs);
      await buildWantedIndexes(tenant, recordType, async () => undefined);
    }
    await tenant.db.control.raw(`analyze ${tenantSchema(id)}."${lined}"`);
    const { pairs, total, timedOut } = await proveVersion(tenant, declared, bindings, usual);
    expect(timedOut).toEqual([]);
    expect(pairs).toHaveLength(total);
    const findTrials = (filter: string | null, sort: string | null) =>
      pairs
        .find((pair) => pair.filter === filter && pair.sort === sort)
        ?.trials.map(({ value, rows: found, byIndex }) => [value, found > 0, byIndex]);
    for (const filter of ['lines.item', 'lines.quantity_gt', 'q', 'or']) {
      const trials = findTrials(filter, null) ?? [];
      expect({ filter, trials: trials.filter(([value]) => value === 'rare' || value === 'absent') }).toEqual({
        filter,
        trials: [
          ['rare', true, true],
          ['absent', false, true],
        ],
      });
    }
    expect(findTrials(null, 'date,-total')).toEqual([['all', true, true]]);
    expect(findTrials('lines.shipped', 'date,-total')?.length).toBeGreaterThan(1);
    // As many values and conditions as a request may have, also in a small table, and in each order.
    const small = await proveVersion(tenant, declared, bindings, { ...usual, smallTableRecords: 5_000 });
    const listOrders = (wanted: string) =>
      small.pairs.flatMap(({ filter, sort, order, trials }) =>
        filter === wanted &&
        trials.some(({ value }) => value === 'many') &&
        trials.some(({ value }) => value === 'many_absent')
          ? [`${sort} ${order}`]
          : [],
      );
    const orders = ['date asc', 'date desc', 'date,-total asc', 'null asc', 'null desc'];
    expect({ item: listOrders('lines.item').sort(), or: listOrders('or').sort() }).toEqual({
      item: orders,
      or: orders,
    });
    expect(small.pairs.filter(({ filter }) => filter === 'status')).toHaveLength(1);
  });
});
