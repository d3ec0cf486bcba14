// What the editor of a draft reads: the sources of a record type with sample records, and the validation of a
// definition that isn't saved.
import { beforeAll, describe, expect, it } from 'vitest';
import { type InvoiceRow, loadInvoices } from '../../public/fixture.ts';
import { type Api, pluck } from '../../setup/api.ts';
import { useOrganization } from '../../setup/use-organization.ts';
import { createVersionCalls } from './fixture.ts';

const rows: InvoiceRow[] = Array.from({ length: 7 }, (_, index) => ({
  id: index + 1,
  tranid: `INV-${index}`,
  total: '12345678901234567890.10',
  entity: '7',
  entityName: 'Ann',
  lines: '[{"item":"1","quantity":2.50}]',
}));
const endpoint = (...fields: object[]) => ({ name: 'invoices', recordType: 'invoice', fields });
const number = { name: 'number', source: 'tranid' };

const org = useOrganization();

beforeAll(async () => {
  await loadInvoices(org.ctx, org.id, rows);
});

const versions = createVersionCalls(org);
const draft = async (...endpoints: object[]): Promise<string> => (await versions.draft({ endpoints })).id;

describe('GET /api-schema/{id}/sources/{recordType}', () => {
  it('lists what can be published, what fits each type, and the newest five records', async () => {
    const { status, body, text } = await org.api('get', `/api-schema/${await draft()}/sources/invoice`);
    expect(status).toBe(200);
    expect(body).toMatchObject({ recordType: 'invoice', label: 'invoice', total: 7 });
    const source = (name: string) => body.sources.find((one: { source: string }) => one.source === name);
    expect(source('tranid')).toEqual({
      ...{ source: 'tranid', label: 'tranid', type: 'text', state: 'live', target: null },
      ...{ scopable: true, list: null, lines: null },
    });
    expect(source('entity')).toMatchObject({ label: 'entity (id)', type: 'text', scopable: true });
    expect(source('entity.name')).toMatchObject({ label: 'entity', type: 'text', scopable: false });
    const quantity = { source: 'quantity', label: 'quantity', type: 'number', list: null };
    expect(source('lines').lines).toContainEqual(quantity);
    const type = (name: string) => body.types.find((one: { type: string }) => one.type === name);
    expect(type('boolean')).toEqual({
      ...{ type: 'boolean', operators: ['eq', 'not', 'null'], lineOperators: ['eq'] },
      ...{ functions: ['count_distinct'], masks: ['hash'] },
    });
    expect(type('lines')).toMatchObject({ operators: [], functions: [], masks: [] });
    expect(pluck(body.records, 'id', 'tranid')).toEqual(
      [7, 6, 5, 4, 3].map((id) => [String(id), `INV-${id - 1}`]),
    );
    expect(body.records[0]).toMatchObject({ 'entity.name': 'Ann', lines: [{ item: '1', quantity: 2.5 }] });
    expect(text).toContain('"total":12345678901234567890.10');
  });

  it('masks what a version masks, except for callers with unmasked:read', async () => {
    const other = await org.another();
    await loadInvoices(org.ctx, other.id, rows);
    const endpoints = [endpoint({ name: 'number', source: 'tranid', mask: 'hash' })];
    const { id } = (await other.owner.api('post', '/api-schema', { endpoints })).body;
    await other.owner.api('post', `/api-schema/${id}/publish`, { revision: 1 });
    await org.ctx.work.waitUntilIdle('publications');
    const readFirst = async (call: Api) =>
      (await call('get', `/api-schema/${id}/sources/invoice`)).body.records[0].tranid;
    expect(await readFirst((await other.join('viewer')).api)).toMatch(/^[0-9a-f]{64}$/);
    expect(await readFirst(await other.session(other.owner.id))).toBe('INV-6');
  });

  it('404 for a record type that is not synced', async () => {
    const id = await draft();
    expect((await org.api('get', `/api-schema/${id}/sources/constructor`)).status).toBe(404);
  });
});

describe('POST /api-schema/{id}/validate with endpoints', () => {
  const validate = async (id: string, body?: object) =>
    (await org.api('post', `/api-schema/${id}/validate`, body)).body;

  it('reports the first 100 problems, and those that block saving whatever comes before them', async () => {
    const id = await draft(endpoint(number));
    const wrong = Array.from({ length: 500 }, (_, index) => {
      return { name: `f${index}`, source: `a_source_that_is_not_synced_${index}` };
    });
    const endpoints = Array.from({ length: 12 }, (_, index) => {
      return { ...endpoint(...wrong), name: `invoices-${index}` };
    });
    const { problems } = await validate(id, { endpoints });
    expect(problems).toHaveLength(100);
    expect(problems[99]).toMatchObject({
      path: 'endpoints[0].fields[99].source',
      code: 'unknown_source',
      blocks: 'publish',
    });
    const saved = await org.api('patch', `/api-schema/${id}`, {
      revision: 1,
      endpoints: [...endpoints, { ...endpoint(number), name: 'Invoices' }],
    });
    expect([saved.status, saved.body.error.details]).toEqual([
      422,
      [expect.objectContaining({ path: 'endpoints[12].name', code: 'illegal_name' })],
    ]);
  });

  it('validates these, compares them with the previous version and saves nothing', async () => {
    const first = await versions.published({
      endpoints: [endpoint(number, { name: 'total', source: 'total' })],
    });
    const id = await draft(endpoint(number));
    const wrong = { name: 'Total', source: 'totl' };
    const found = await validate(id, { endpoints: [endpoint(number, wrong)] });
    expect(found).toMatchObject({ ready: false, revision: 1, against: first.version, indexes: [] });
    expect(pluck(found.problems, 'path', 'code', 'blocks')).toEqual([
      ['endpoints[0].fields[1].name', 'illegal_name', 'save'],
      ['endpoints[0].fields[1].source', 'unknown_source', 'publish'],
    ]);
    const amount = { name: 'amount', source: 'total' };
    expect((await validate(id, { endpoints: [endpoint(number, amount)] })).changes).toMatchObject([
      { path: 'invoices.fields.total', code: 'removed', breaking: true },
      { path: 'invoices.fields.amount', code: 'added', breaking: false },
    ]);
    const changes = [{ path: 'invoices.fields.total', breaking: true }];
    expect(await validate(id)).toMatchObject({ ready: true, changes });
    expect(await versions.read(id)).toMatchObject({
      revision: 1,
      endpoints: [{ fields: [{ name: 'number' }] }],
    });
  });
});
