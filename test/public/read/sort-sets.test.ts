// `sort` by a declared combination of keys: nulls last in every key, ties broken by id, however the list is
// filtered and paged.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { planList } from '../../../src/public/read/plan/plan.ts';
import { plainRanges } from '../../../src/public/read/plan/ranges.ts';
import { parseQuery } from '../../../src/public/read/plan/request.ts';
import { listStatement } from '../../../src/public/read/sql/list-sql.ts';
import { useStarted } from '../../setup/use-started.ts';
import { compileInvoices } from '../compiled.ts';
import { type Get, listIds, richLineColumns } from '../fixture.ts';
import { readPlan, withIndexes } from './explain.ts';
import {
  type Invoice,
  idsInLines,
  openSelection,
  randomInvoices,
  selectableAs,
  selectableInvoices,
} from './selection-oracle.ts';

const invoices = randomInvoices(90);
const masked = selectableAs('masked', { total: { mask: 'hash' }, totalText: { mask: 'hash' } });
const site = useStarted(() => openSelection(invoices, [masked]));
const get: Get = (path, headers) => site.get(path, headers);

const toKeyValue = (invoice: Invoice, key: string): string | number | null => {
  if (key === 'total') return typeof invoice.total === 'string' ? Number(invoice.total) : null;
  return (key === 'date' ? invoice.trandate : invoice.status) ?? null;
};

function inOrder(list: readonly Invoice[], sort: string): string[] {
  const keys = sort
    .split(',')
    .map((key) => ({ name: key.replace('-', ''), sign: key.startsWith('-') ? -1 : 1 }));
  const compare = (a: Invoice, b: Invoice): number => {
    for (const { name, sign } of keys) {
      const [one, other] = [toKeyValue(a, name), toKeyValue(b, name)];
      if (one === other) continue;
      if (one === null || other === null) return one === null ? 1 : -1;
      return (one < other ? -1 : 1) * sign;
    }
    return (a.id - b.id) * (keys[0]?.sign ?? 1);
  };
  return [...list].sort(compare).map(({ id }) => String(id));
}

const filters: readonly (readonly [string, (invoice: Invoice) => boolean])[] = [
  ['', () => true],
  ['&status=open', ({ status }) => status === 'open'],
  ['&date_gte=2026-01-31', ({ trandate }) => typeof trandate === 'string' && trandate >= '2026-01-31'],
  ['&lines.item=11', ({ parsed }) => parsed?.some(({ item }) => item === '11') === true],
  ['&or=(status:eq:paid,total:gt:1)', ({ status, total }) => status === 'paid' || Number(total ?? 0) > 1],
  ['&date_null=true', ({ trandate }) => trandate === null],
];

describe('sort by several keys', () => {
  it('orders every page, whatever the filter and the size', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('date,-total', '-status,date,total', '-date,-total', '-date', '-total', 'date'),
        fc.constantFrom(...filters),
        fc.constantFrom(7, 20, 100),
        async (sort, [filter, passes], pageSize) => {
          const expected = inOrder(invoices.filter(passes), sort);
          const seen: string[] = [];
          for (let page = 1; page === 1 || (page - 1) * pageSize < expected.length; page += 1)
            seen.push(
              ...listIds(
                await get(`/v1/invoices?sort=${sort}${filter}&pageSize=${pageSize}&page=${page}`).expect(200),
              ),
            );
          expect({ sort, filter, seen }).toEqual({ sort, filter, seen: expected });
          const exported = await get(`/v1/invoices?sort=${sort}${filter}`, {
            accept: 'application/x-ndjson',
          }).expect(200);
          const ids = idsInLines(exported.text);
          expect({ sort, filter, ids }).toEqual({ sort, filter, ids: expected });
        },
      ),
      { numRuns: 60 },
    );
  });

  it('sort=-date is sort=date&order=desc', async () => {
    const one = await get('/v1/invoices?sort=-date').expect(200);
    expect((await get('/v1/invoices?sort=date&order=desc').expect(200)).headers['etag']).toBe(
      one.headers['etag'],
    );
  });

  it.each([
    ['invoices', 'sort=total,date', ['sort unknown_sort']],
    ['invoices', 'sort=date,total', ['sort unknown_sort']],
    ['invoices', 'sort=-date,total', ['sort unknown_sort']],
    ['invoices', 'sort=date,-total,number', ['sort unknown_sort']],
    ['invoices', 'sort=--date', ['sort unknown_sort']],
    ['invoices', 'sort=-customer', ['sort unknown_sort']],
    ['invoices', 'sort=date,-total&order=asc', ['order invalid_value']],
    ['invoices', 'sort=-date&order=desc', ['order invalid_value']],
    ['plain', 'sort=-date', ['sort unknown_sort']],
    ['plain', 'sort=date,-total', ['sort unknown_sort']],
  ])('400 for /%s?%s', async (resource, query, problems) => {
    const response = await get(`/v1/${resource}?${query}`).expect(400);
    expect(
      response.body.error.details.map(({ path, code }: { path: string; code: string }) => `${path} ${code}`),
    ).toEqual(problems);
  });

  it('403 for masked keys, and 400 for keys that the reader is not shown', async () => {
    for (const sort of ['date,-total', '-total']) {
      const refused = await get(`/v1/masked?sort=${sort}`).expect(403);
      expect(refused.body.error.details).toMatchObject([{ path: 'sort', code: 'field_masked' }]);
    }
    await get('/v1/masked?sort=-date').expect(200);
    const getLimited = await site.callerWith({ fields: { invoices: ['date', 'status'] } });
    await getLimited('/v1/invoices?sort=date,-total').expect(400);
    await getLimited('/v1/invoices?sort=-date').expect(200);
  });

  it('walks the index of the combination', async () => {
    const { whole, indexes } = compileInvoices(selectableInvoices, richLineColumns);
    const { schema, table } = site;
    const rows = `insert into ${schema}.${table} (id, generation, content_hash, f_status, f_total, f_trandate)
         select n, 1, '', 'open', n % 7, date '2020-01-01' + n % 2000 from generate_series(1000, 20999) as n`;
    await withIndexes(site, indexes, rows, async (client) => {
      await client.query(`analyze ${schema}.${table}`);
      for (const sort of ['date,-total', '-status,date,total', '-date,-total']) {
        const plan = planList(whole, parseQuery(`sort=${sort}`));
        const { write, values } = listStatement({ schema, table }, plan, plainRanges(plan), false);
        const text = await readPlan(client, `explain (costs off) ${write()}`, values);
        expect(text).toContain('Index Only Scan');
        expect(text).not.toContain('Sort');
      }
    });
  });
});
