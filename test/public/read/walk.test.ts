// Properties for any data: walking the pages meets each record once, filters agree with a plain reading of
// their meaning, and the indexes that publishing builds are the ones that the statements use.
import type { Express } from 'express';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { indexesOf } from '../../../src/public/read/indexes.ts';
import { planList } from '../../../src/public/read/plan.ts';
import { plainRanges } from '../../../src/public/read/ranges.ts';
import { parseQuery } from '../../../src/public/read/request.ts';
import { listStatement } from '../../../src/public/read/sql.ts';
import { bindDocument } from '../../../src/public/version/bind.ts';
import { compileSchema } from '../../../src/public/version/compile.ts';
import { readWhole } from '../../../src/public/version/narrow.ts';
import { SchemaDocument } from '../../../src/public/version/schema-document.ts';
import { tenantSchema } from '../../../src/warehouse/tenant-schema.ts';
import { type TestDatabase, testDatabase } from '../../setup/database.ts';
import { makeKey, makeOrganization } from '../../setup/organization.ts';
import {
  callerOf,
  type InvoiceRow,
  idsOf,
  invoiceColumns,
  invoicesEndpoint,
  loadInvoices,
  publicApp,
  publishVersion,
} from '../fixture.ts';

// Few distinct values, so that there are ties, and nulls, and letters that sort differently by code point and
// by locale.
const texts = ['a', 'B', 'b', 'é', 'É', 'ß', 'z', 'Z', '', 'ab%c', 'a_c', '1', '10', '2', '\u{1f600}', 'ａ'];
const pick = <T>(list: readonly T[], seed: number): T | null => list[seed % (list.length + 2)] ?? null;
const rows: InvoiceRow[] = Array.from({ length: 67 }, (_, index) => ({
  id: ((index * 37) % 67) + 1,
  tranid: pick(texts, index * 7),
  status: pick(['open', 'paid', 'Open'], index * 3),
  total: pick(['1.50', '1.5', '-3', '0', '12345678901234567890'], index * 5),
  seq: pick(['1', '2', '9007199254740993', '-9223372036854775808'], index),
  paid: pick([true, false], index),
  trandate: pick(['2026-01-31', '2026-02-01', '2025-12-31'], index),
  lastmodified: pick(['2026-01-31T00:00:00Z', '2026-01-31T23:59:59.999999Z', '2026-02-01T00:00:00Z'], index),
}));

let database: TestDatabase;
let organizationId: string;
let table: string;
let app: Express;
let get: ReturnType<typeof callerOf>;

beforeAll(async () => {
  database = await testDatabase();
  ({ id: organizationId } = await makeOrganization(database.ctx));
  table = await loadInvoices(database.ctx, organizationId, rows);
  await publishVersion(database.ctx, organizationId);
  const { secret } = await makeKey(database.ctx, organizationId);
  app = publicApp(database.ctx);
  get = callerOf(app, { secret, organizationId });
});
afterAll(() => database.close());

describe('a walk over the pages', () => {
  it.each([...invoicesEndpoint.sorts, ''])('meets each record once, sorted by "%s"', async (sort) => {
    for (const order of ['asc', 'desc']) {
      for (const pageSize of [1, 7, 66, 67]) {
        if (pageSize === 1 && sort !== 'number') continue;
        const seen: string[] = [];
        let next: string | undefined =
          `/v1/invoices?pageSize=${pageSize}&order=${order}${sort === '' ? '' : `&sort=${sort}`}`;
        while (next !== undefined) {
          const response: Awaited<ReturnType<typeof get>> = await get(next).expect(200);
          seen.push(...idsOf(response));
          next = /<\/api\/public([^>]*)>; rel="next"/.exec(String(response.headers['link']))?.[1];
        }
        expect(seen.length).toBe(67);
        expect(new Set(seen).size).toBe(67);
      }
    }
  });

  it('orders text by code point', async () => {
    const { body } = await get(
      '/v1/invoices?sort=number&pageSize=100&number_null=false&fields=number',
    ).expect(200);
    const numbers = body.data.map(({ number }: { number: string }) => number);
    expect(numbers).toEqual([...numbers].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))));
  });
});

describe('filters', () => {
  const folded = (text: string) => text.toLowerCase();
  it('on text agree with their definition, for any text', async () => {
    const operator = fc.constantFrom('', '_not', '_contains', '_starts_with');
    await fc.assert(
      fc.asyncProperty(
        operator,
        fc.oneof(
          fc.constantFrom(...texts, 'B%C', 'A_C', '%%%', '___', '\\\\\\', 'ab%'),
          fc.string({ maxLength: 5 }),
        ),
        async (suffix, text) => {
          fc.pre(
            !text.includes('\0') &&
              !(suffix !== '' && text === '') &&
              !(suffix === '_contains' && [...text].length < 3),
          );
          const wanted = rows.filter(({ tranid }) => {
            const value = tranid ?? null;
            if (suffix === '_not') return value !== text;
            if (value === null) return false;
            if (suffix === '') return value === text;
            return suffix === '_contains'
              ? folded(value).includes(folded(text))
              : folded(value).startsWith(folded(text));
          });
          const { body } = await get(
            `/v1/invoices?pageSize=100&number${suffix}=${encodeURIComponent(text)}`,
          ).expect(200);
          expect(body.data.map(({ id }: { id: string }) => Number(id)).sort()).toEqual(
            wanted.map(({ id }) => Number(id)).sort(),
          );
          expect(body.pagination.total).toBe(wanted.length);
        },
      ),
      { numRuns: 100 },
    );
  });
});

describe('text ids', () => {
  it('are ordered by code point and found in their exact spelling', async () => {
    const organization = await makeOrganization(database.ctx);
    await loadInvoices(
      database.ctx,
      organization.id,
      ['b', 'a/b', 'É', '01', '1', 'Z', "o'x"].map((id) => ({ id })),
      'text',
    );
    await publishVersion(database.ctx, organization.id);
    const { secret } = await makeKey(database.ctx, organization.id);
    const call = callerOf(publicApp(database.ctx), { secret, organizationId: organization.id });
    expect(idsOf(await call('/v1/invoices').expect(200))).toEqual(['01', '1', 'Z', 'a/b', 'b', "o'x", 'É']);
    for (const id of ['01', 'a/b', 'É', "o'x"])
      expect((await call(`/v1/invoices/${encodeURIComponent(id)}`).expect(200)).body.data.id).toBe(id);
    for (const id of ['%C3%A9', 'B', '001', '%00']) await call(`/v1/invoices/${id}`).expect(404);
    expect(idsOf(await call("/v1/invoices?id=1&id=a/b&id=O'x").expect(200))).toEqual(['1', 'a/b']);
  });
});

describe('tenants', () => {
  it('never see each other, though versions, resources and ids are equal', async () => {
    const companies = await Promise.all(
      ['one', 'two', 'three'].map(async (name) => {
        const { id } = await makeOrganization(database.ctx);
        await loadInvoices(database.ctx, id, [
          { id: 1, tranid: name, status: 'open' },
          { id: 2, tranid: name, status: 'paid' },
        ]);
        await publishVersion(database.ctx, id);
        return {
          name,
          call: callerOf(app, { secret: (await makeKey(database.ctx, id)).secret, organizationId: id }),
        };
      }),
    );
    const paths = [
      '/v1/invoices',
      '/v1/invoices/1',
      '/v1/invoices?status=open',
      '/v1/invoices?number_contains=two',
    ];
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        for (const { name, call } of companies) {
          for (const path of paths) {
            const { text } = await call(path).expect(200);
            for (const other of companies)
              expect(text.includes(`"number":"${other.name}"`)).toBe(
                other.name === name && !(path.includes('two') && name !== 'two'),
              );
          }
        }
      }),
    );
  });
});

/** The endpoint as a published version has it, and its indexes. */
function compiledInvoices() {
  const document = SchemaDocument.parse({
    endpoints: [{ ...invoicesEndpoint, defaultSort: { field: 'date', order: 'desc' } }],
  });
  const bindings = bindDocument(document, {
    invoice: { label: 'Invoice', idType: 'integer', columns: invoiceColumns, hasData: true },
  });
  const endpoint = compileSchema({ id: 'x', version: 'v1', bindings, ...document }).endpoints.get('invoices');
  if (endpoint === undefined) throw new Error('no endpoint');
  return { endpoint, indexes: indexesOf(document, bindings).get('invoice') ?? [] };
}

describe('plans', () => {
  it('are generic only when an index holds the list as one range, whatever the values', async () => {
    const { endpoint, indexes } = compiledInvoices();
    const schema = tenantSchema(organizationId);
    const client = await database.ctx.db.data.connect();
    // The coordinator counts its own plan, which names a node and is generic after five; the node plans each
    // statement with its values.
    const onCitus = inject('nodes').length > 1;
    const neverGeneric = onCitus ? expect.any(Number) : 0;
    const statementOf = (query: string) => {
      const plan = planList(readWhole(endpoint), parseQuery(query));
      const { write, values } = listStatement({ schema, table }, plan, plainRanges(plan), false);
      return { text: write(), values: [...values] };
    };
    /** Prepared, and run more often than PostgreSQL tries custom plans. */
    const runOften = async (name: string, queries: readonly string[]) => {
      for (let round = 0; round < 4; round += 1)
        for (const query of queries) await client.query({ name, ...statementOf(query) });
      const { rows: counts } = await client.query<{ generic: string }>(
        'select generic_plans as generic from pg_prepared_statements where name = $1',
        [name],
      );
      return Number(counts[0]?.generic);
    };
    const explain = async (name: string, query: string): Promise<string> => {
      const values = statementOf(query).values.map((value) => `'${String(value)}'`);
      const { rows: lines } = await client.query<{ 'QUERY PLAN': string }>(
        `explain (costs off) execute "${name}"(${values.join()})`,
      );
      return lines.map((line) => line['QUERY PLAN']).join('\n');
    };
    try {
      await client.query('begin');
      await client.query(
        `insert into ${schema}.${table} (id, generation, content_hash, f_status, f_total, f_trandate)
         select n, 1, '', case when n % 1000 = 0 then 'rare' else 'open' end, n, date '2020-01-01' + n % 2000 from generate_series(1000, 20999) as n`,
      );
      for (const [index, { method, expression }] of indexes.entries())
        await client.query(`create index p_${index} on ${schema}.${table} using ${method} (${expression})`);
      await client.query(`analyze ${schema}.${table}`);
      const values = ['open', 'rare', 'absent'];
      for (const [name, rest] of [
        ['alone', 'order=desc'],
        ['since', 'date_after=2024-06-01&order=asc&page=3'],
      ] as const) {
        const queries = values.map((status) => `status=${status}&${rest}`);
        expect(await runOften(name, queries)).toBeGreaterThan(0);
        const common = await explain(name, queries[0] ?? '');
        const value = onCitus ? "'open'::text" : '\\$\\d';
        expect(common).toMatch(new RegExp(`Index Only Scan.*\\n.*Index Cond: \\(\\(f_status = ${value}\\)`));
        for (const [index, query] of queries.entries())
          expect((await explain(name, query)).replaceAll(values[index] ?? '', 'open')).toBe(common);
      }
      // With another sort, a rare value is found by its own index and sorted, a common one by walking the
      // index of the sort.
      const others = values.map((status) => `status=${status}&sort=total`);
      expect(await runOften('skewed', others)).toEqual(neverGeneric);
      expect(await explain('skewed', others[0] ?? '')).toMatch(/Filter: \(f_status = 'open'/);
      expect(await explain('skewed', others[1] ?? '')).toMatch(/Index Cond: \(f_status = 'rare'/);
      expect(await runOften('several', ['status=open&status=rare', 'status=open&status=absent'])).toEqual(
        neverGeneric,
      );
    } finally {
      await client.query('rollback');
      client.release(true);
    }
  });
});

describe('the indexes of a version', () => {
  it('are used by the statements of its filters and sorts', async () => {
    const document = SchemaDocument.parse({ endpoints: [invoicesEndpoint] });
    const bindings = bindDocument(document, {
      invoice: { label: 'Invoice', idType: 'integer', columns: invoiceColumns, hasData: true },
    });
    const endpoint = compileSchema({ id: 'x', version: 'v1', bindings, ...document }).endpoints.get(
      'invoices',
    );
    if (endpoint === undefined) throw new Error('no endpoint');
    const schema = tenantSchema(organizationId);
    const client = await database.ctx.db.data.connect();
    const scanned = async (query: string): Promise<string> => {
      const plan = planList(readWhole(endpoint), parseQuery(query));
      const { write, values } = listStatement({ schema, table }, plan, plainRanges(plan), true);
      const { rows: lines } = await client.query<{ 'QUERY PLAN': string }>(`explain (costs off) ${write()}`, [
        ...values,
      ]);
      // On Citus the names on the nodes end with a number.
      return lines.map((line) => line['QUERY PLAN'].replaceAll(/_10\d{4}\b/g, '')).join('\n');
    };
    try {
      await client.query("begin; set local citus.propagate_set_commands = 'local'");
      await client.query('set local enable_seqscan = off');
      await client.query('set local enable_sort = off');
      for (const [index, { method, expression }] of (
        indexesOf(document, bindings).get('invoice') ?? []
      ).entries()) {
        await client.query(`create index i_${index} on ${schema}.${table} using ${method} (${expression})`);
      }
      await client.query(`analyze ${schema}.${table}`);
      expect(await scanned('number_contains=INV')).toMatch(/Index Cond: \(lower\(upper\(.*f_tranid.* ~~ /);
      expect(await scanned('customerName_starts_with=INV')).toMatch(
        /Index Cond: \(\(lower\(upper\(.*l_entity.* ~>=~/,
      );
      expect(await scanned('date_after=2026-01-01')).toMatch(/Index Cond: \(f_trandate > /);
      expect(await scanned('modified=2026-01-31')).toMatch(
        /Index Cond: \(\(f_lastmodified >= .* AND \(f_lastmodified <= /,
      );
      expect(await scanned('status=open')).toMatch(/Index Only Scan using i_\d+ on invoice_\d+ t/);
      for (const [order, way] of [
        ['asc', ''],
        ['desc', 'Backward '],
      ])
        expect(await scanned(`sort=date&order=${order}`)).toMatch(
          new RegExp(`Limit\\n\\s+-> {2}Index Only Scan ${way}using`),
        );
    } finally {
      await client.query('rollback');
      client.release();
    }
  });
});
