// The records of a version on the management interface: the parameters, values and errors of the public list,
// masks, permission and tenancy.
import supertest from 'supertest';
import { beforeAll, describe, expect, it } from 'vitest';
import { versionRecordRoutes } from '../../../src/platform/api-schemas/version-records.routes.ts';
import {
  createCaller,
  fieldsWith,
  invoicesEndpoint,
  loadInvoices,
  publicApp,
  publishVersion,
} from '../../public/fixture.ts';
import { type Answer, type Api, base, listCodes, listIds, refusal } from '../../setup/api.ts';
import { makeKey } from '../../setup/organization.ts';
import { asBuffer } from '../../setup/raw-body.ts';
import { useOrganization } from '../../setup/use-organization.ts';

const endpoint = {
  ...invoicesEndpoint,
  fields: fieldsWith({ number: { mask: 'last4' }, customerName: { mask: 'hash' } }),
  search: ['status'],
  or: true,
};
const rows = [
  { id: 1, tranid: 'INV-20017', status: 'open', entityName: 'Quagmire Shipping', seq: '1' },
  { id: 2, tranid: 'INV-9', status: '=1+1', entityName: 'Zephyr Bakery', seq: '2' },
  { id: 3, tranid: 'INV-3', status: 'closed', entityName: 'Zephyr Bakery', seq: '3' },
].map((row, index) => ({
  ...row,
  trandate: ['2026-01-31', '2025-06-01', null][index] ?? null,
  total: ['12.50', '12345678901234567.89', null][index] ?? null,
}));

const workbook = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';

const org = useOrganization();
let owner: Api;
let viewer: Api;
const ids = { v1: '', draft: '' };

beforeAll(async () => {
  await loadInvoices(org.ctx, org.id, rows);
  ids.v1 = await publishVersion(org.ctx, org.id, { endpoints: [endpoint] });
  ids.draft = await publishVersion(org.ctx, org.id, { version: 'v2', status: 'draft' });
  owner = await org.session(org.owner.id);
  viewer = (await org.join('viewer')).api;
});

const read = (api: Api, query = '', resource = 'invoices', id = ids.v1): Promise<Answer> =>
  api('get', `/api-schema/${id}/records/${resource}${query}`);
const csv = (api: Api, query = '', method: 'get' | 'head' = 'get'): Promise<Answer> =>
  api(method, `/api-schema/${ids.v1}/records/invoices${query}`, undefined, { accept: 'text/csv' });
/** The public list of these invoices, for a new key. */
const readPublic = async (organizationId: string, query: string, unmasked = false): Promise<Answer> => {
  const { secret } = await makeKey(org.ctx, organizationId, { unmasked });
  return createCaller(publicApp(org.ctx), { secret, organizationId })(`/v1/invoices${query}`);
};

describe('GET /api-schema/{id}/records/{resource}', () => {
  it('answers as the public interface does, with exact digits, the fields and the freshness', async () => {
    const answer = await read(owner, '?sort=seq&pageSize=2');
    expect(answer.status, answer.text).toBe(200);
    const { body: asPublic } = await readPublic(org.id, '?sort=seq&pageSize=2', true);
    expect(answer.body).toMatchObject({ data: asPublic.data, pagination: asPublic.pagination });
    expect(answer.body.data).toEqual(asPublic.data);
    expect(answer.text).toContain('"total":12345678901234567.89');
    expect(answer.body).toMatchObject({ syncedAt: '2026-03-01T08:00:00Z', staleFields: [] });
    expect(answer.body.fields.slice(0, 4)).toEqual([
      { name: 'number', type: 'text', masked: false },
      { name: 'status', type: 'text', masked: false },
      { name: 'total', type: 'number', masked: false },
      { name: 'totalText', type: 'text', masked: false },
    ]);
    expect((await read(owner, '?fields=paid,lines')).body.fields).toEqual([
      { name: 'paid', type: 'boolean', masked: false },
      { name: 'lines', type: 'lines', masked: false },
    ]);
  });

  it.each([
    ['?status=open', ['1']],
    ['?status=open&status=closed', ['1', '3']],
    ['?total_gt=13', ['2']],
    ['?q=clo', ['3']],
    ['?or=(status:eq:closed,seq:lt:2)', ['1', '3']],
    ['?sort=seq&order=desc&pageSize=1&page=2', ['2']],
  ])('takes the parameters of the version: %s', async (query, expected) =>
    expect(listIds(await read(owner, query))).toEqual(expected),
  );

  it.each([
    ['?stauts=open', 'unknown_field', 'Did you mean "status"'],
    ['?sort=sq', 'unknown_sort', 'Did you mean "seq"'],
    ['?fields=totl', 'unknown_field', 'Did you mean "total"'],
    ['?total_gt=much', 'invalid_value', ''],
    ['?pageSize=100000', 'too_big', ''],
    [`?${'status=a&'.repeat(1_000)}`, 'too_many_parameters', ''],
  ])('400 with the nearest name: %s', async (query, code, message) => {
    const answer = await read(owner, query);
    expect([answer.status, listCodes(answer)[0]]).toEqual([400, code]);
    expect(answer.body.error.details[0].message).toContain(message);
  });

  it.each(['status_not=Open%zz', 'number=%', 'status=%ED%A0%80', 'status=%C3%28', '%zz=open'])(
    '400 for a malformed escape, exactly as the public interface: %s',
    async (query) => {
      const asPublic = await readPublic(org.id, `?${query}`, true);
      expect(listCodes(asPublic)).toEqual(['malformed_escape']);
      for (const answer of [await read(owner, `?${query}`), await csv(owner, `?${query}`)]) {
        const { code, message, details } = answer.body.error;
        expect([answer.status, { code, message, details }]).toEqual([
          400,
          { ...asPublic.body.error, requestId: undefined },
        ]);
      }
    },
  );

  it('masks what the version masks for callers without unmasked:read, and refuses filters and sorts by it', async () => {
    const answer = await read(viewer, '?sort=seq');
    expect(answer.body.data[0]).toMatchObject({
      number: '****0017',
      customerName: expect.stringMatching(/^[0-9a-f]{64}$/),
      total: 12.5,
    });
    expect(answer.body.fields.filter(({ masked }: { masked: boolean }) => masked)).toEqual([
      { name: 'number', type: 'text', masked: true },
      { name: 'customerName', type: 'text', masked: true },
    ]);
    const file = await csv(viewer);
    expect(file.status).toBe(200);
    for (const { text } of [answer, file]) expect(text).not.toMatch(/INV|Quagmire|Zephyr/);
    for (const query of ['?number=INV-9', '?sort=number', '?customerName_contains=Z'])
      expect(await refusal(read(viewer, query))).toEqual([403, 'field_masked']);
    expect(listIds(await read(owner, '?number=INV-9'))).toEqual(['2']);
  });

  it('has at most 100 records on a page, as every list of this interface, whatever the version allows', async () => {
    const company = await org.another();
    await loadInvoices(org.ctx, company.id, rows);
    const id = await publishVersion(org.ctx, company.id, {
      endpoints: [{ ...invoicesEndpoint, maxPageSize: 1_000 }],
    });
    const api = await company.session(company.owner.id);
    const { pagination } = (await read(api, '?pageSize=100', 'invoices', id)).body;
    expect(pagination).toMatchObject({ total: 3, pageSize: 100 });
    const refused = await read(api, '?pageSize=101', 'invoices', id);
    expect([refused.status, refused.body.error.details]).toEqual([
      400,
      [{ path: 'pageSize', code: 'too_big', message: 'must be at most 100' }],
    ]);
  });

  it('masks fields of lines that a later version masks, for people and not for keys', async () => {
    const company = await org.another();
    const lines = '[{"item":"Anvil","quantity":2}]';
    await loadInvoices(org.ctx, company.id, [{ id: 1, tranid: 'INV-1', lines }]);
    const v1 = await publishVersion(org.ctx, company.id);
    const fields = invoicesEndpoint.fields.map((field) => ({
      ...field,
      fields: field.fields?.map((line) => (line.name === 'item' ? { ...line, mask: 'last4' } : line)),
    }));
    const endpoints = [{ ...invoicesEndpoint, fields }];
    await publishVersion(org.ctx, company.id, { version: 'v2', endpoints });
    const { api } = await company.join('editor');
    const shown = (item: string) => [{ item, itemName: null, quantity: 2 }];
    const [asPerson, asKey] = [
      await read(api, '?fields=lines', 'invoices', v1),
      await readPublic(company.id, '?fields=lines'),
    ];
    expect(asPerson.body.data[0].lines).toEqual(shown('****'));
    expect(asKey.body.data[0].lines).toEqual(shown('Anvil'));
  });

  it('sends everything that the filters select as CSV, guarded against formulas', async () => {
    const answer = await csv(owner, '?sort=seq&fields=number,status,total&seq_lt=3');
    expect(answer.headers).toMatchObject({
      'content-type': 'text/csv; charset=utf-8; header=present',
      'content-disposition': 'attachment; filename=v1-invoices.csv',
      'x-total-count': '2',
      'x-data-synced-at': '2026-03-01T08:00:00Z',
    });
    expect(answer.text).toBe(
      "\ufeffid,number,status,total\r\n1,INV-20017,open,12.50\r\n2,INV-9,'=1+1,12345678901234567.89\r\n",
    );
    expect((await csv(owner, '?stauts=open')).status).toBe(400);
  });

  it('refuses the parameters of pages for CSV, as its description says', async () => {
    for (const query of ['?page=2', '?pageSize=2'])
      expect(await refusal(csv(owner, query))).toEqual([400, 'not_paged']);
    expect((await csv(owner, '?expand=customer')).status).toBe(400);
    expect(versionRecordRoutes[0]?.download?.description).toContain(
      '`page`, `pageSize` and `expand` are refused with 400',
    );
  });

  it('answers HEAD for CSV as GET, without the records, and ends the export', async () => {
    const query = '?sort=seq&seq_lt=3';
    const full = await csv(owner, query);
    const names = ['type', 'disposition'].map((name) => `content-${name}`);
    names.push('x-total-count', 'x-data-synced-at', 'cache-control');
    // More often than exports may run at once: each must have given its permit back.
    for (let round = 0; round < 20; round += 1) {
      const head = await csv(owner, query, 'head');
      expect([head.status, head.text ?? '']).toEqual([200, '']);
      for (const name of names) expect([name, head.headers[name]]).toEqual([name, full.headers[name]]);
    }
    expect((await csv(owner, '?page=2', 'head')).status).toBe(400);
  });

  it.each(['text/csv', workbook])('continues a file that broke off, as %s', async (accept) => {
    const company = await org.another();
    const many = Array.from({ length: 3_000 }, (_, index) => ({ id: index + 1, tranid: `INV-${index}` }));
    await loadInvoices(org.ctx, company.id, many);
    const id = await publishVersion(org.ctx, company.id, { endpoints: [endpoint] });
    const { secret } = await makeKey(org.ctx, company.id, { permissions: ['write'], unmasked: true });
    const get = (query: string, headers: Record<string, string> = {}) =>
      supertest(org.app)
        .get(`${base}/api-schema/${id}/records/invoices${query}`)
        .set({ authorization: `Bearer ${secret}`, accept, ...headers });
    const getBytes = (headers: Record<string, string> = {}) => get('', headers).buffer(true).parse(asBuffer);
    const whole = await getBytes();
    const bytes: Buffer = whole.body;
    const tag = whole.headers.etag ?? '';
    expect(tag).toMatch(/^"[\w-]{27}"$/);
    for (const at of [0, 1, Math.floor(bytes.length / 2), bytes.length - 1, bytes.length]) {
      const rest = await getBytes({ 'if-match': `"other", ${tag}`, 'x-resume-at': String(at) });
      expect([rest.status, rest.headers.etag]).toEqual([200, tag]);
      expect(rest.body.equals(bytes.subarray(at)), `from ${at}`).toBe(true);
    }
    const refused = async (query: string, headers: Record<string, string>) =>
      refusal(await get(query, headers));
    const at = { 'x-resume-at': '10' };
    expect(await refused('', at)).toEqual([412, 'precondition_failed']);
    expect(await refused('', { ...at, 'if-match': '*' })).toEqual([412, 'precondition_failed']);
    expect(await refused('?paid=true', { ...at, 'if-match': tag })).toEqual([412, 'precondition_failed']);
    for (const bad of ['-1', 'x', '1.5', String(bytes.length + 1)])
      expect(await refused('', { 'x-resume-at': bad, 'if-match': tag })).toEqual([400, 'invalid']);
    await loadInvoices(org.ctx, company.id, many);
    expect(await refused('', { ...at, 'if-match': tag })).toEqual([412, 'precondition_failed']);
    // More often than exports may run at once: each must have given its permit back.
    for (let round = 0; round < 20; round += 1) await refused('', at);
    expect((await get('')).status).toBe(200);
  });

  it('404 for an unknown resource, 422 for a draft and a retired version', async () => {
    expect((await read(owner, '', 'bills')).status).toBe(404);
    expect(await refusal(read(owner, '', 'invoices', ids.draft))).toEqual([422, 'not_published']);
    const setStatus = (status: string) =>
      org.sql((tx) => tx('api_schemas').where({ version: 'v1' }).update({ status }));
    await setStatus('deprecated');
    expect((await read(owner)).status).toBe(200);
    await setStatus('retired');
    expect(await refusal(read(owner))).toEqual([422, 'version_retired']);
    await setStatus('published');
  });
});
