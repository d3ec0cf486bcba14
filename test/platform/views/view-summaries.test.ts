// Summaries of views: what they compute, compared with SQL written here, what is refused, and what masked
// readers get.

import { beforeAll, describe, expect, it } from 'vitest';
import { tenantSchema } from '../../../src/warehouse/tenant-schema.ts';
import {
  fieldsWith,
  type InvoiceRow,
  invoicesEndpoint,
  loadInvoices,
  publishVersion,
} from '../../public/fixture.ts';
import { exactAverage } from '../../public/read/exact-average.ts';
import { type Answer, type Api, listProblems, pluck } from '../../setup/api.ts';
import { setAccount as storedAccount } from '../../setup/erp-account.ts';
import { useOrganization } from '../../setup/use-organization.ts';

const rows: InvoiceRow[] = Array.from({ length: 80 }, (_, at) => ({
  id: at + 1,
  tranid: `INV-${at}`,
  status: ['open', 'paid', null][at % 3] ?? null,
  total: at % 11 === 0 ? null : at === 7 ? '12345678901234567890.10' : `${at - 20}.${at % 10}5`,
  seq: String(at % 4),
  trandate: at % 13 === 0 ? null : `2026-0${1 + (at % 5)}-1${at % 9}`,
  lastmodified: `2026-01-${10 + (at % 20)}T23:30:00Z`,
  entity: ['EUR', 'USD'][at % 2] ?? null,
  entityName: ['Euro', 'US Dollar'][at % 2] ?? null,
}));

const org = useOrganization();
let table: string;
beforeAll(async () => {
  table = await loadInvoices(org.ctx, org.id, rows);
});

const moneyFields = [
  { name: 'total', label: 'Amount', currency: 'entity' },
  { name: 'seq', label: 'Base amount', currency: null },
];

/** Of the ERP account, which may have several currencies. */
const setAccount = (account: object): Promise<void> =>
  org.sql(async (tx) => {
    await storedAccount(tx, org.id, account);
  });

/**
 * The ERP says that `total` is an amount in the currency that `entity` names, and `seq` one whose currency no
 * field tells.
 */
async function describeMoney(): Promise<void> {
  const head = { name: 'invoice', label: 'Invoice' };
  const description = JSON.stringify({ ...head, fields: moneyFields });
  await org.admin('erp_record_types').insert({
    ...{ organization_id: org.id, name: 'invoice', position: 0, head: JSON.stringify(head), description },
    described_at: '2026-03-02T10:00:00Z',
  });
}

const body = (summary: object | null, given: object = {}) => ({
  ...{ name: 'Totals', recordType: 'invoice', columns: ['tranid'], visibility: 'organization' },
  ...{ summary, ...given },
});
const send = (summary: object | null, given: object = {}): Promise<Answer> =>
  org.api('post', '/views', body(summary, given));
async function make(summary: object, given: object = {}): Promise<string> {
  const made = await send(summary, given);
  expect(made.status, made.text).toBe(201);
  return made.body.id;
}
const read = (id: string, api: Api = org.api, query = ''): Promise<Answer> =>
  api('get', `/views/${id}/rows${query}`);
const reference = async (sql: string) =>
  (await org.ctx.db.data.query(sql.replace('$t', `${tenantSchema(org.id)}.${table}`))).rows;
const sum = (field: string) => ({ field, functions: ['sum'] });
const groups = (...fields: string[]) => ({ groups: fields.map((field) => ({ field })) });
/** The status of a refusal, and its problems. */
const problems = async (asked: Promise<Answer>) => {
  const answer = await asked;
  return [answer.status, ...listProblems(answer)];
};
describe('GET /views/{id}/rows', () => {
  it('returns the groups of the filtered records with exact digits', async () => {
    const id = await make(
      {
        aggregates: [
          { field: 'total', functions: ['sum', 'avg', 'min', 'max'] },
          { field: 'seq', functions: ['count_distinct'] },
        ],
        groups: [{ field: 'status' }, { field: 'trandate', period: 'month' }],
      },
      { filters: [{ field: 'id', operator: 'not', value: ['3', '4'] }] },
    );
    const expected =
      await reference(`select f_status as status, to_char(f_trandate, 'YYYY-MM') as month, count(*)::int as count,
      sum(f_total)::text as sum, array_agg(f_total::text) as totals, trim_scale(min(f_total))::text as min,
      trim_scale(max(f_total))::text as max, count(distinct f_seq)::int as distinct from $t where id not in (3, 4) group by 1, 2 order by 1 nulls last, 2 nulls last`);
    expect(expected.length).toBeGreaterThan(10);
    const { status, body: found } = await read(id);
    const data = expected.map(({ status: shown, month, count, sum, totals, min, max, distinct }) => ({
      ...{ status: shown, 'trandate.month': month, count, sum: { total: sum }, min: { total: min } },
      ...{ avg: { total: exactAverage(totals) }, max: { total: max }, count_distinct: { seq: distinct } },
    }));
    const { length: total } = expected;
    expect([status, found]).toEqual([200, { data, total, problems: [], syncedAt: '2026-03-01T08:00:00Z' }]);
    const sums = pluck(pluck(found.data, 'sum'), 'total');
    expect(sums.some((each) => /^1234567890123456\d{4}[.]/.test(each))).toBe(true);
  });

  it('sorts by an aggregate, returns the first groups, and one row without groups', async () => {
    const aggregates = [{ field: 'total', functions: ['max'] }];
    const top = { aggregates, ...groups('entity.name'), sort: '-max.total', limit: 1 };
    expect((await read(await make(top))).body).toMatchObject({
      data: [{ 'entity.name': 'US Dollar', count: 40, max: { total: '12345678901234567890.1' } }],
      total: 2,
    });
    expect((await read(await make({}))).body).toMatchObject({ data: [{ count: 80 }], total: 1 });
    const filters = [{ field: 'id', operator: 'eq', value: '0' }];
    const none = await make({ aggregates: [sum('total')] }, { filters });
    expect((await read(none)).body.data).toEqual([{ count: 0, sum: { total: null } }]);
  });

  it('is 422 for a view without a summary, and 404 for callers who may not see the view', async () => {
    const bare = await send(null);
    expect([bare.status, bare.body.summary]).toEqual([201, null]);
    expect(listProblems(await read(bare.body.id))).toEqual(['summary no_summary']);
    const own = await make({}, { visibility: 'private' });
    const viewer = (await org.join('viewer')).api;
    expect((await read(own, viewer)).status).toBe(404);
    expect((await read(await make({}), viewer)).status).toBe(200);
  });
});

describe('a summary', () => {
  it('is returned with its defaults, changed, and removed', async () => {
    const quarters = [{ field: 'trandate', period: 'quarter' }];
    const id = await make({ groups: quarters });
    const at = `/views/${id}`;
    const full = { aggregates: [], groups: quarters, sort: null, limit: 100 };
    expect((await org.api('get', at)).body.summary).toEqual(full);
    expect((await org.api('patch', at, { name: 'Quarters' })).body.summary).toEqual(full);
    const changed = await org.api('patch', at, { summary: { ...groups('seq'), sort: '-seq' } });
    expect(changed.body.summary).toMatchObject({ groups: [{ field: 'seq', period: null }], sort: '-seq' });
    expect(pluck((await read(id)).body.data, 'seq')).toEqual([3, 2, 1, 0]);
    expect((await org.api('patch', at, { summary: null })).body.summary).toBeNull();
    expect((await read(id)).status).toBe(422);
  });

  it.each<[string, object, ...string[]]>([
    [
      'unknown fields',
      { ...groups('stat'), aggregates: [sum('totl')] },
      ...['groups[0].field unknown_source', 'aggregates[0].field unknown_source'],
    ],
    [
      'a sum of texts',
      { aggregates: [{ field: 'status', functions: ['count_distinct', 'sum'] }] },
      'aggregates[0].functions[1] function_misfits',
    ],
    [
      'periods of a text',
      { groups: [{ field: 'status', period: 'month' }] },
      'groups[0].period invalid_value',
    ],
    ['lines', groups('lines'), 'groups[0].field lines'],
    ['a group twice', groups('status', 'status'), 'groups[1].field duplicate'],
    ['a sort by what it lacks', { ...groups('status'), sort: '-sum.total' }, 'sort unknown_sort'],
  ])('with %s is refused', async (_name, summary, ...expected) => {
    expect(await problems(send(summary))).toEqual([422, ...expected.map((problem) => `summary.${problem}`)]);
  });

  it('never adds up amounts of several currencies', async () => {
    await describeMoney();
    const aggregates = [sum('total')];
    const several = [422, 'summary.aggregates[0].field several_currencies'];
    const refused = send({ aggregates });
    expect(await problems(refused)).toEqual(several);
    expect((await refused).text).toContain('entity.name');
    const [euro, dollar] = await reference(
      'select l_entity as name, sum(f_total)::text as sum from $t group by 1 order by 1',
    );
    const grouped = await make({ aggregates, ...groups('entity.name') });
    expect((await read(grouped)).body.data).toEqual([
      { 'entity.name': 'Euro', count: 40, sum: { total: euro.sum } },
      { 'entity.name': 'US Dollar', count: 40, sum: { total: dollar.sum } },
    ]);
    const within = (value: unknown) => ({ filters: [{ field: 'entity', operator: 'eq', value }] });
    const filtered = await make({ aggregates }, within('EUR'));
    expect((await read(filtered)).body.data).toEqual([{ count: 40, sum: { total: euro.sum } }]);
    expect(await problems(send({ aggregates }, within(['EUR', 'USD'])))).toEqual(several);
    expect(await problems(org.api('patch', `/views/${filtered}`, { filters: null }))).toEqual(several);
    const distinct = await send({ aggregates: [{ field: 'total', functions: ['count_distinct'] }] });
    expect(distinct.status).toBe(201);
    expect(await problems(send({ aggregates: [sum('seq')], ...groups('entity') }))).toEqual(several);
    await setAccount({ hasCurrencies: false });
    expect((await send({ aggregates: [sum('seq'), sum('total')] })).status).toBe(201);
  });

  it('has the days of the account, also after its zone has changed', async () => {
    const id = await make({ groups: [{ field: 'lastmodified', period: 'day' }] });
    for (const [utcOffsetMinutes, first] of [
      [0, '2026-01-10'],
      [60, '2026-01-11'],
      [-1_440, '2026-01-09'],
    ] as const) {
      await setAccount({ hasCurrencies: true, utcOffsetMinutes });
      const { data } = (await read(id)).body;
      expect(data[0], `${utcOffsetMinutes}`).toEqual({ 'lastmodified.day': first, count: 4 });
    }
  });

  it('with a field that no longer exists has no rows and says why', async () => {
    const id = await make(groups('paid'));
    const change = (state: string) =>
      org
        .admin(`${tenantSchema(org.id)}.record_columns`)
        .where({ field: 'paid' })
        .update({ state });
    await change('vanished');
    const found = await read(id);
    expect([found.status, found.body.data]).toEqual([200, []]);
    expect(listProblems(found)).toEqual(['summary.groups[0].field vanished']);
    await change('live');
    expect((await read(id)).body.data).toEqual([{ paid: null, count: 80 }]);
  });

  it('of a field that a version masks is held back for callers without unmasked:read', async () => {
    const fields = fieldsWith({ status: { mask: 'hash' } });
    const owner = await org.session(org.owner.id);
    const id = await make(groups('status'));
    expect((await read(id, owner)).body.data).toHaveLength(3);
    await publishVersion(org.ctx, org.id, { endpoints: [{ ...invoicesEndpoint, fields }] });
    const viewer = (await org.join('viewer')).api;
    await expect.poll(async () => (await read(id, viewer)).body.data).toEqual([]);
    expect(listProblems(await read(id, viewer))).toEqual(['summary.groups[0].field masked_field']);
    expect((await read(id, owner)).body.data).toHaveLength(3);
    expect((await read(id, owner, '?masked=true')).body.data).toEqual([]);
  });
});
