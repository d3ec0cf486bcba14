// `or` selects the records that match at least one of its conditions, together with all other filters. Random
// groups against the same in memory.
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { readOr } from '../../../src/public/read/plan/filters.ts';
import { useStarted } from '../../setup/use-started.ts';
import { type Get, listIds } from '../fixture.ts';
import { describePlans, explainCount } from './explain.ts';
import {
  compares,
  expectSelected,
  folded,
  type Invoice,
  idsInLines,
  openSelection,
  parameter,
  randomInvoices,
  selectableAs,
  selectableInvoices,
} from './selection-oracle.ts';

const invoices = randomInvoices(90);
/** Every second open invoice. Only reads under a row scope leave them out. */
const withheld: ReadonlySet<string> = new Set(
  invoices
    .filter(({ status }) => status === 'open')
    .flatMap(({ id }, index) => (index % 2 === 1 ? [String(id)] : [])),
);
const masked = { ...selectableAs('masked', { number: { mask: 'last4' } }), search: ['customerName'] };
const scoped = selectableAs('scoped', { status: { scopable: true } });
const withStatus = (wanted: string) => invoices.flatMap(({ id, status }) => (status === wanted ? [id] : []));
const someIds = [...withStatus('open').slice(0, 4), ...withStatus('paid').slice(0, 4)];
const site = useStarted(() => openSelection(invoices, [masked, scoped]));
/** Reads open invoices only. */
let getOpen: Get;
const get: Get = (path, headers) => site.get(path, headers);

beforeAll(async () => {
  const conditions = [{ field: 'status', source: 'status', in: ['open'] }];
  const rows = { resources: { scoped: { recordType: 'invoice', conditions } }, others: false };
  getOpen = await site.callerWith({ rows });
  await site.sql("insert into $wh.withheld_records (record_type, id) select 'invoice', unnest($1::text[])", [
    [...withheld],
  ]);
});

type Condition = { readonly filter: string; readonly operator: string; readonly value: string };

const of = (
  filter: string,
  operators: readonly string[],
  values: readonly string[],
): fc.Arbitrary<Condition> =>
  fc.record({
    filter: fc.constant(filter),
    operator: fc.constantFrom(...operators),
    value: fc.constantFrom(...values),
  });
const condition: fc.Arbitrary<Condition> = fc.oneof(
  of('status', ['eq', 'not'], ['open', 'paid', 'a,b', '(x)', 'say "hi"', 'x:y']),
  of('status', ['eq'], ['']),
  of('status', ['null'], ['true', 'false']),
  of('total', ['eq', 'gt', 'gte', 'lt', 'lte'], ['-1', '0', '1.5', '1000', '1000.005']),
  of('date', ['after', 'before', 'gte', 'lte', 'eq'], ['2026-01-30', '2026-01-31', '2026-02-01']),
  of('number', ['contains'], ['inv', 'SÖHNE', '100%', 'v-0']),
  of('lines.quantity', ['gt', 'lt'], ['1', '5']),
  of('id', ['eq'], ['1', '2', '3', '999']),
);

function matches({ filter, operator, value }: Condition, invoice: Invoice): boolean {
  if (filter === 'lines.quantity')
    return (
      invoice.parsed?.some(
        ({ quantity }) => quantity !== undefined && compares(operator, Number(quantity), Number(value)),
      ) === true
    );
  const own =
    {
      status: invoice.status,
      total: invoice.total,
      date: invoice.trandate,
      number: invoice.tranid,
      id: String(invoice.id),
    }[filter] ?? null;
  if (operator === 'null') return (own === null) === (value === 'true');
  if (operator === 'not') return own !== value;
  if (own === null) return false;
  if (operator === 'contains') return folded(own).includes(folded(value));
  return filter === 'total' ? compares(operator, Number(own), Number(value)) : compares(operator, own, value);
}

const hasBolt = ({ tranid, entityName }: Invoice): boolean =>
  [tranid, entityName].some((text) => folded(text ?? '').includes('bolt'));

/** Quoted where it must be, and sometimes where it need not. */
const written = ({ filter, operator, value }: Condition, quotes: boolean): string =>
  `${filter}:${operator}:${quotes || /[,()"]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value}`;

describe('or', () => {
  it('selects what one of its conditions matches, with further filters, in lists and exports', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(condition, { minLength: 2, maxLength: 10 }),
        fc.boolean(),
        fc.constantFrom('', '&status_not=paid', '&q=bolt'),
        async (conditions, quotes, rest) => {
          const query = `${parameter('or', `(${conditions.map((each) => written(each, quotes)).join()})`)}${rest}`;
          const passes = (invoice: Invoice): boolean =>
            rest === '&q=bolt' ? hasBolt(invoice) : rest === '' || invoice.status !== 'paid';
          const expected = invoices
            .filter((invoice) => passes(invoice) && conditions.some((each) => matches(each, invoice)))
            .map(({ id }) => String(id));
          await expectSelected(get, `${query}&sort=total`, expected);
        },
      ),
      { numRuns: 80 },
    );
  });

  it('is one request in whatever order its conditions are written', async () => {
    const one = await get(`/v1/invoices?${parameter('or', '(status:eq:open,total:gt:1)')}`).expect(200);
    const other = await get(
      `/v1/invoices?${parameter('or', '(total:gt:1,status:eq:"open",total:gt:1)')}`,
    ).expect(200);
    expect(other.headers['etag']).toBe(one.headers['etag']);
    const both = await get('/v1/invoices?status=open&total_gt=1').expect(200);
    expect(both.headers['etag']).not.toBe(one.headers['etag']);
  });

  it.each([
    ['status:eq:open,total:gt:1', 'invalid_value'],
    ['(status:eq:open,total:gt:1', 'invalid_value'],
    ['()', 'out_of_range'],
    ['(status:eq:open)', 'out_of_range'],
    [`(${Array.from({ length: 11 }, () => 'status:eq:a').join()})`, 'out_of_range'],
    ['(status:eq:open,)', 'invalid_value'],
    ['(status:eq:"open,total:gt:1)', 'invalid_value'],
    ['(status:eq:op"en,total:gt:1)', 'invalid_value'],
    ['(status:eq,total:gt:1)', 'invalid_value'],
    ['(status_not:eq:open,total:gt:1)', 'unknown_filter'],
    ['(status::open,total:gt:1)', 'unknown_filter'],
    ['(customer:eq:1,total:gt:1)', 'unknown_filter'],
    ['(status:like:open,total:gt:1)', 'unknown_filter'],
    ['(total:gt:x,total:gt:1)', 'invalid_value'],
    ['(total:gt:,total:gt:1)', 'empty_value'],
    ['(number:contains:ab,total:gt:1)', 'out_of_range'],
    ['((status:eq:open,total:gt:1),total:gt:1)', 'invalid_value'],
  ])('400 for or=%s', async (text, code) => {
    const response = await get(`/v1/invoices?${parameter('or', text)}`).expect(400);
    expect(response.body.error.details).toMatchObject([{ path: 'or', code }]);
  });

  it('400 when it is repeated, and where the version does not declare it', async () => {
    const or = 'or=(status:eq:a,status:eq:b)';
    for (const [path, code] of [
      [`/v1/invoices?${or}&${or}`, 'repeated_parameter'],
      [`/v1/plain?${or}`, 'unknown_parameter'],
    ] as const)
      expect((await get(path).expect(400)).body.error.details).toMatchObject([{ path: 'or', code }]);
  });

  it('403 for a masked field', async () => {
    const refused = await get('/v1/masked?or=(status:eq:a,number:starts_with:I)').expect(403);
    expect(refused.body.error.details).toMatchObject([{ path: 'or', code: 'field_masked' }]);
    await get('/v1/masked?or=(status:eq:a,status:eq:b)').expect(200);
  });

  it.each<[query: string, matches: (invoice: Invoice) => boolean]>([
    ['or=(status:eq:paid,total:gte:0)', ({ total }) => Number(total ?? -1) >= 0],
    ['or=(status:eq:paid,status:null:true)', () => false],
    [`or=(${someIds.map((id) => `id:eq:${id}`).join()})`, ({ id }) => someIds.includes(id)],
    ['q=bolt', hasBolt],
    [
      'lines.quantity_gt=1',
      ({ parsed }) => parsed?.some(({ quantity }) => Number(quantity ?? 0) > 1) === true,
    ],
    ['sort=date,-total', () => true],
  ])('stays within a row scope, without withheld records: %s', async (query, passes) => {
    const matching = invoices
      .filter((invoice) => invoice.status === 'open' && passes(invoice))
      .map(({ id }) => String(id));
    const open = matching.filter((id) => !withheld.has(id));
    if (matching.length > 0) expect(open.length).toBeLessThan(matching.length);
    const read = async () => listIds(await getOpen(`/v1/scoped?${query}&pageSize=100`).expect(200)).sort();
    expect(await read()).toEqual([...open].sort());
    const whole = listIds(await get(`/v1/scoped?${query}&status=open&pageSize=100`).expect(200));
    expect(whole.sort()).toEqual([...matching].sort());
    const exported = await getOpen(`/v1/scoped?${query}`, { accept: 'application/x-ndjson' }).expect(200);
    expect(idsInLines(exported.text)).toHaveLength(open.length);
  });

  it('reads any text in linear time, and nothing but what was written', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.stringMatching(/^[a-z.]{1,5}$/), fc.string()), { minLength: 1, maxLength: 4 }),
        (pairs) => {
          const text = `(${pairs.map(([filter, value]) => `${filter}:eq:"${value.replaceAll('"', '""')}"`).join()})`;
          expect(readOr(text)?.map(({ field, value }) => [field, value])).toEqual(pairs);
        },
      ),
    );
    for (const long of [
      `(${'a'.repeat(100_000)}`,
      `(${'a:b:'.repeat(50_000)})`,
      `(a:b:${'"'.repeat(100_001)})`,
    ])
      readOr(long);
  });
});

describePlans('or', () => {
  it('is read through the indexes of its filters', async () => {
    const query = 'or=(status:eq:open,total:gt:1,lines.item:eq:11)';
    const plan = await explainCount(site, selectableInvoices, query);
    expect(plan).toContain('BitmapOr');
    expect(plan.match(/Index Cond/g)).toHaveLength(3);
  });
});
