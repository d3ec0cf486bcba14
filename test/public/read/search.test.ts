// `q` finds the records of which a searched field contains the text, regardless of case, together with
// filters and under any sort.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { useStarted } from '../../setup/use-started.ts';
import { type Get, listIds } from '../fixture.ts';
import { describePlans, explainCount } from './explain.ts';
import {
  expectSelected,
  folded,
  type Invoice,
  openSelection,
  parameter,
  randomInvoices,
  selectableAs,
  selectableInvoices,
  words,
} from './selection-oracle.ts';

const invoices = randomInvoices(90);
const masked = { ...selectableAs('masked', { number: { mask: 'last4' } }), search: ['number'] };
const site = useStarted(() => openSelection(invoices, [masked]));
const get: Get = (path, headers) => site.get(path, headers);

const has = (text: string | null | undefined, q: string): boolean =>
  typeof text === 'string' && folded(text).includes(folded(q));
const finds = ({ tranid, entityName }: Invoice, q: string): boolean => has(tranid, q) || has(entityName, q);
const searched = fc.oneof(
  fc
    .tuple(fc.constantFrom(...words), fc.nat(5), fc.integer({ min: 3, max: 6 }))
    .map(([word, from, length]) => [...word].slice(from, from + length).join(''))
    .filter((text) => [...text].length >= 3),
  fc.constantFrom('söhne', 'éclair', 'inv', '100%', 'V_0', 'V-0', 't\\s', 'absent', '   '),
);
const idsWhere = (test: (invoice: Invoice) => boolean): string[] =>
  invoices
    .filter(test)
    .map(({ id }) => String(id))
    .sort();

it('of a version that was published before texts were folded is in lower case', async () => {
  await site.publish({ version: 'v2', endpoints: [selectableInvoices], without: 'foldsText' });
  const total = async (path: string) =>
    (await get(`${path}${parameter('q', 'ΜΑΡΙΑΣ')}`).expect(200)).body.pagination.total;
  const [before, now] = [await total('/v2/invoices?'), await total('/v1/invoices?')];
  expect(before).toBe(
    invoices.filter(({ tranid, entityName }) => [tranid, entityName].some((text) => text?.includes('ΜΑΡΙΑΣ')))
      .length,
  );
  expect(now).toBeGreaterThan(before);
});

describe('q', () => {
  it('finds what any of the searched fields contains, with any filter and sort', async () => {
    await fc.assert(
      fc.asyncProperty(
        searched,
        fc.constantFrom('', 'status=open', 'total_gt=1'),
        fc.constantFrom('', 'total', 'number'),
        async (q, filter, sort) => {
          const query = [parameter('q', q), filter, sort === '' ? '' : `sort=${sort}&order=desc`]
            .filter((part) => part !== '')
            .join('&');
          const passes = ({ status, total }: Invoice): boolean =>
            filter === '' || (filter === 'status=open' ? status === 'open' : Number(total ?? 0) > 1);
          const expected = idsWhere((invoice) => finds(invoice, q) && passes(invoice));
          await expectSelected(get, query, expected);
        },
      ),
      { numRuns: 80 },
    );
  });

  it('has an ETag and links of its own, and exports the same records', async () => {
    const first = await get('/v1/invoices?q=bolt&pageSize=2').expect(200);
    expect(first.headers['link']).toContain('q=bolt');
    await get('/v1/invoices?q=bolt&pageSize=2', { 'if-none-match': first.headers['etag'] ?? '' }).expect(304);
    expect((await get('/v1/invoices?q=inv&pageSize=2').expect(200)).headers['etag']).not.toBe(
      first.headers['etag'],
    );
    const exported = await get('/v1/invoices?q=bolt', { accept: 'text/csv' }).expect(200);
    expect(exported.text.trim().split('\n')).toHaveLength(
      1 + idsWhere((invoice) => finds(invoice, 'bolt')).length,
    );
  });

  it('400 when it is too short, empty or repeated, and where the version does not declare it', async () => {
    for (const [path, code] of [
      ['/v1/invoices?q=ab', 'out_of_range'],
      ['/v1/invoices?q=', 'empty_value'],
      ['/v1/invoices?q=abc&q=abd', 'repeated_parameter'],
      ['/v1/plain?q=abc', 'unknown_parameter'],
    ] as const)
      expect((await get(path).expect(400)).body.error.details).toMatchObject([{ code }]);
  });

  it('searches only fields that the reader may see, and 403 when all of them are masked', async () => {
    const getLimited = await site.callerWith({ fields: { invoices: ['customerName', 'status'] } });
    const ids = listIds(await getLimited('/v1/invoices?q=inv&pageSize=100').expect(200)).sort();
    expect(ids).toEqual(idsWhere(({ entityName }) => has(entityName, 'inv')));
    const refused = await get('/v1/masked?q=inv').expect(403);
    expect(refused.body.error.details).toMatchObject([{ path: 'q', code: 'field_masked' }]);
  });
});

describePlans('q', () => {
  it('is read through the indexes of its fields', async () => {
    const plan = await explainCount(site, selectableInvoices, 'q=bolt');
    expect(plan).toContain('BitmapOr');
    expect(plan.match(/Index Cond: \(lower/g)).toHaveLength(2);
  });
});
