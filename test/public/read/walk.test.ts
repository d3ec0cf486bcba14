// Filters on texts agree with a plain reading of their meaning for any data, and the indexes that publishing
// builds are the ones that the statements use. Pages, sorts and other filters: pages.test.ts.
import fc from 'fast-check';
import { describe, expect, inject, it } from 'vitest';
import { planList } from '../../../src/public/read/plan/plan.ts';
import { plainRanges } from '../../../src/public/read/plan/ranges.ts';
import { parseQuery } from '../../../src/public/read/plan/request.ts';
import { listStatement } from '../../../src/public/read/sql/list-sql.ts';
import { useStarted } from '../../setup/use-started.ts';
import { compileInvoices } from '../compiled.ts';
import { type Get, type InvoiceRow, listIds, openSite } from '../fixture.ts';
import { readPlan, withIndexes } from './explain.ts';

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

const site = useStarted(() => openSite({ rows }));
const get: Get = (path) => site.get(path);

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
    const ids = ['b', 'a/b', 'É', '01', '1', 'Z', "o'x"];
    const { get: call } = await site.another({ rows: ids.map((id) => ({ id })), idType: 'text' });
    expect(listIds(await call('/v1/invoices').expect(200))).toEqual(['01', '1', 'Z', 'a/b', 'b', "o'x", 'É']);
    for (const id of ['01', 'a/b', 'É', "o'x"])
      expect((await call(`/v1/invoices/${encodeURIComponent(id)}`).expect(200)).body.data.id).toBe(id);
    for (const id of ['%C3%A9', 'B', '001', '%00']) await call(`/v1/invoices/${id}`).expect(404);
    expect(listIds(await call("/v1/invoices?id=1&id=a/b&id=O'x").expect(200))).toEqual(['1', 'a/b']);
  });
});

describe('plans', () => {
  it('are generic only when an index holds the list as one range, whatever the values', async () => {
    const { whole, indexes } = compileInvoices({ defaultSort: { field: 'date', order: 'desc' } });
    const { schema, table } = site;
    // The coordinator counts its own plan, which names a node and is generic after five; the node plans each
    // statement with its values.
    const onCitus = inject('nodes').length > 1;
    const neverGeneric = onCitus ? expect.any(Number) : 0;
    const buildStatement = (query: string) => {
      const plan = planList(whole, parseQuery(query));
      const { write, values } = listStatement({ schema, table }, plan, plainRanges(plan), false);
      return { text: write(), values: [...values] };
    };
    const stored = `insert into ${schema}.${table} (id, generation, content_hash, f_status, f_total, f_trandate)
         select n, 1, '', case when n % 1000 = 0 then 'rare' else 'open' end, n, date '2020-01-01' + n % 2000 from generate_series(1000, 20999) as n`;
    await withIndexes(site, indexes, stored, async (client) => {
      /** Prepared, and run more often than PostgreSQL tries custom plans. */
      const runOften = async (name: string, queries: readonly string[]) => {
        for (let round = 0; round < 4; round += 1)
          for (const query of queries) await client.query({ name, ...buildStatement(query) });
        const { rows: counts } = await client.query<{ generic: string }>(
          'select generic_plans as generic from pg_prepared_statements where name = $1',
          [name],
        );
        return Number(counts[0]?.generic);
      };
      const explain = (name: string, query: string): Promise<string> => {
        const values = buildStatement(query).values.map((value) => `'${String(value)}'`);
        return readPlan(client, `explain (costs off) execute "${name}"(${values.join()})`);
      };
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
    });
  });
});

describe('the indexes of a version', () => {
  it('are used by the statements of its filters and sorts', async () => {
    const { whole, indexes } = compileInvoices();
    const { schema, table } = site;
    const settings =
      "set local citus.propagate_set_commands = 'local'; set local enable_seqscan = off; set local enable_sort = off";
    await withIndexes(site, indexes, settings, async (client) => {
      const scanned = async (query: string): Promise<string> => {
        const plan = planList(whole, parseQuery(query));
        const { write, values } = listStatement({ schema, table }, plan, plainRanges(plan), true);
        const text = await readPlan(client, `explain (costs off) ${write()}`, values);
        // On Citus the names on the nodes end with a number.
        return text.replaceAll(/_10\d{4}\b/g, '');
      };
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
    });
  });
});
