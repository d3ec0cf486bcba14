// Counts and aggregates over the records of a version for people: any field, exact digits, the filters and
// masks of the records, and amounts of several currencies.

import { beforeAll, describe, expect, it } from 'vitest';
import {
  createCaller,
  fieldsWith,
  invoicesEndpoint,
  loadInvoices,
  publicApp,
  publishVersion,
} from '../../public/fixture.ts';
import { type Answer, type Api, listCodes, refusal } from '../../setup/api.ts';
import { setAccount } from '../../setup/erp-account.ts';
import { makeKey } from '../../setup/organization.ts';
import { useOrganization } from '../../setup/use-organization.ts';

const endpoint = {
  ...invoicesEndpoint,
  fields: fieldsWith({ customerName: { mask: 'hash' } }),
  search: ['status'],
};
const declared = {
  ...endpoint,
  name: 'declared',
  aggregates: [{ field: 'total', functions: ['sum', 'max'] }],
  groups: [{ field: 'date', periods: ['month'] }],
};
const clashing = {
  ...invoicesEndpoint,
  name: 'clashing',
  fields: [...invoicesEndpoint.fields, { name: 'min', source: 'status' }],
  filters: [{ field: 'min', operators: ['eq'] }],
};
const rows = [
  { id: 1, status: 'open', entityName: 'Quagmire', total: '12.50', trandate: '2026-01-31' },
  { id: 2, status: 'open', entityName: 'Zephyr', total: '12345678901234567.89', trandate: '2026-03-01' },
  { id: 3, status: 'closed', entityName: 'Zephyr', total: null, trandate: null },
];

const org = useOrganization();
let owner: Api;
let viewer: Api;
const ids = { v1: '', draft: '' };

beforeAll(async () => {
  await loadInvoices(org.ctx, org.id, rows);
  ids.v1 = await publishVersion(org.ctx, org.id, { endpoints: [endpoint, declared, clashing] });
  ids.draft = await publishVersion(org.ctx, org.id, { version: 'v2', status: 'draft' });
  owner = await org.session(org.owner.id);
  viewer = (await org.join('viewer')).api;
});

const summarize = (api: Api, query = '', resource = 'invoices', id = ids.v1): Promise<Answer> =>
  api('get', `/api-schema/${id}/records/${resource}/summary${query}`);

describe('GET /api-schema/{id}/records/{resource}/summary', () => {
  it('counts and adds up any field by any other, with exact digits and the freshness', async () => {
    const answer = await summarize(owner, '?by=status&count=true&sum=total&sort=-count');
    expect(answer.status, answer.text).toBe(200);
    expect(answer.body).toEqual({
      data: [
        { status: 'open', count: 2, sum: { total: '12345678901234580.39' } },
        { status: 'closed', count: 1, sum: { total: null } },
      ],
      total: 2,
      syncedAt: '2026-03-01T08:00:00Z',
      staleFields: [],
    });
  });

  it.each([
    ['', [{ count: 3 }]],
    [
      '?by=date.month',
      [['2026-01'], ['2026-03'], [null]].map(([month]) => ({ 'date.month': month, count: 1 })),
    ],
    ['?by=status&limit=1&sort=-count', [{ status: 'open', count: 2 }]],
    ['?status=closed', [{ count: 1 }]],
    ['?total_gt=13', [{ count: 1 }]],
    ['?q=clo&count_distinct=customerName', [{ count_distinct: { customerName: 1 } }]],
    ['?min=date&max=date', [{ min: { date: '2026-01-31' }, max: { date: '2026-03-01' } }]],
  ])('takes the filters of the version: %s', async (query, expected) =>
    expect((await summarize(owner, query)).body.data).toEqual(expected),
  );

  it('answers as the public interface does where the version declares a summary', async () => {
    const query = '?by=date.month&sum=total&max=total&sort=-sum.total';
    const { secret } = await makeKey(org.ctx, org.id, { unmasked: true });
    const call = createCaller(publicApp(org.ctx), { secret, organizationId: org.id });
    const { data, total } = (await summarize(owner, query, 'declared')).body;
    expect({ data, total }).toEqual((await call(`/v1/declared/summary${query}`)).body);
  });

  it.each([
    ['?stauts=open', 'unknown_field', 'Did you mean "status"'],
    ['?sum=totl', 'unknown_aggregate', 'Did you mean "total"'],
    ['?sum=status', 'unknown_aggregate', ''],
    ['?by=dat.month', 'unknown_group', 'Did you mean "date.month"'],
    ['?by=status&limit=1001', 'out_of_range', ''],
    ['?limit=5', 'invalid_value', 'requires "by"'],
    ['?page=2', 'unknown_field', 'no pages'],
  ])('400 with the nearest name: %s', async (query, code, message) => {
    const answer = await summarize(owner, query);
    expect([answer.status, listCodes(answer)[0]]).toEqual([400, code]);
    expect(answer.body.error.details[0].message).toContain(message);
  });

  it('refuses masked fields as groups, aggregates and filters', async () => {
    for (const query of ['by=customerName', 'count_distinct=customerName', 'customerName_contains=Zep'])
      expect([query, await refusal(summarize(viewer, `?${query}`))]).toEqual([query, [403, 'field_masked']]);
    expect((await summarize(owner, '?by=customerName')).body.total).toBe(2);
    expect((await summarize(viewer, '?by=status')).body.total).toBe(2);
  });

  it('adds up no amounts of several currencies; the list names the field that tells them', async () => {
    const company = await org.another();
    await loadInvoices(org.ctx, company.id, rows);
    const own = { organization_id: company.id };
    await company.sql(async (tx) => {
      await tx('erp_record_types').insert({
        ...own,
        name: 'invoice',
        position: 0,
        head: JSON.stringify({ name: 'invoice', label: 'Invoice' }),
        description: JSON.stringify({
          fields: [{ name: 'total', currency: 'entity' }, { name: 'seq' }],
        }),
        described_at: new Date(),
      });
      await setAccount(tx, company.id, { hasCurrencies: true });
    });
    const id = await publishVersion(org.ctx, company.id, { endpoints: [invoicesEndpoint] });
    const api = await company.session(company.owner.id);
    const refused = await summarize(api, '?sum=total', 'invoices', id);
    expect([refused.status, listCodes(refused)]).toEqual([400, ['several_currencies']]);
    expect(refused.body.error.message).toContain('by=customerName');
    const { body } = await summarize(api, '?sum=total&by=customerName', 'invoices', id);
    expect(body.data).toEqual([
      { customerName: 'Quagmire', sum: { total: '12.50' } },
      { customerName: 'Zephyr', sum: { total: '12345678901234567.89' } },
    ]);
    const { fields } = (await api('get', `/api-schema/${id}/records/invoices`)).body;
    const currencies = fields.flatMap((field: { name: string; currency?: string | null }) =>
      'currency' in field ? [[field.name, field.currency]] : [],
    );
    expect(currencies).toEqual([
      ['total', 'customerName'],
      ['totalText', 'customerName'],
    ]);
  });

  it('400 where a filter has the name of a parameter, 404, and 422 for a draft', async () => {
    expect(listCodes(await summarize(owner, '', 'clashing'))).toEqual(['no_summary']);
    expect((await summarize(owner, '', 'bills')).status).toBe(404);
    expect(await refusal(summarize(owner, '', 'invoices', ids.draft))).toEqual([422, 'not_published']);
  });
});
