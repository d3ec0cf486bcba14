// Examples in descriptions of versions: values of real records, for callers who may read all of them.
import supertest from 'supertest';
import { beforeAll, describe, expect, it } from 'vitest';
import { createCaller, loadInvoices } from '../../public/fixture.ts';
import { describeTargets } from '../../public/related.ts';
import { makeMember, makeSession } from '../../setup/organization.ts';
import { useOrganization } from '../../setup/use-organization.ts';
import { createVersionCalls, type Made } from './fixture.ts';

const org = useOrganization();
const versions = createVersionCalls(org);
let made: Made;

const real = {
  id: '7',
  status: 'partly settled',
  total: 8123.4,
  dueOn: '2031-05-06',
  /** Of one record only. */
  number: 'INV-7-of-Dora',
  /** Of two records, but the name of another. */
  customer: 'Dora Ltd',
  /** Tagged and masked. */
  memo: '424242',
  masked: '2032-07-08',
};
const field = (name: string, source: string, more: object = {}) => ({ name, source, ...more });

beforeAll(async () => {
  const rows = [1, 7].map((id) => ({
    id,
    status: real.status,
    total: id === 7 ? `${real.total}0` : null,
    trandate: id === 7 ? real.dueOn : null,
    tranid: id === 7 ? real.number : 'other',
    entity: '3',
    entityName: real.customer,
    seq: real.memo,
    lastmodified: `${real.masked}T00:00:00Z`,
  }));
  await loadInvoices(org.ctx, org.id, rows);
  await describeTargets(org.ctx, org.id, { invoice: { entity: 'customer' } });
  made = await versions.published({
    endpoints: [
      {
        name: 'invoices',
        recordType: 'invoice',
        fields: [
          field('status', 'status'),
          field('total', 'total', { scopable: true }),
          field('dueOn', 'trandate'),
          field('number', 'tranid'),
          field('customer', 'entity.name'),
          field('memo', 'seq', { tags: ['personal'] }),
          field('masked', 'lastmodified', { mask: 'year' }),
        ],
        filters: [
          { field: 'status', operators: ['eq', 'contains'] },
          { field: 'total', operators: ['gte'] },
        ],
        or: true,
        sorts: [],
      },
    ],
  });
});

const describedTo = async (scopes: object): Promise<string> => {
  const { status, body } = await org.api('post', '/api-keys', { name: 'Reader', scopes });
  expect(status, JSON.stringify(body)).toBe(201);
  const { secret } = body;
  const call = createCaller(org.app, { secret, organizationId: org.id });
  return (await call(`/openapi/${made.version}`).expect(200)).text;
};
const readExamples = (text: string) => {
  const { paths, components } = JSON.parse(text);
  const list = paths[`/${made.version}/invoices`].get;
  return {
    answer: list.responses[200].content['application/json'].example.data[0],
    filter: list.parameters.find(({ name }: { name: string }) => name === 'status').schema.items.examples,
    part: list.parameters.find(({ name }: { name: string }) => name === 'status_contains').schema.examples,
    id: paths[`/${made.version}/invoices/{id}`].get.parameters[0].schema.examples,
    total: Object.values<{ properties?: { total?: { examples: unknown[] } } }>(components.schemas)
      .map(({ properties }) => properties?.total?.examples)
      .filter((examples) => examples !== undefined && examples.length > 0),
  };
};
const hidden = [real.number, real.customer, real.memo, real.masked];
const shown = [real.status, String(real.total), real.dueOn];

describe('the description of a new version', () => {
  it('has values of a real record, but for what may name a person, is tagged or is masked', async () => {
    const text = await describedTo({});
    expect(readExamples(text)).toEqual({
      answer: {
        ...{ id: real.id, status: real.status, total: real.total, dueOn: real.dueOn },
        ...{ number: 'Example', customer: 'Example', memo: 42, masked: '2026' },
      },
      filter: [real.status],
      part: undefined,
      id: [real.id],
      total: [[real.total]],
    });
    for (const value of hidden) expect(text).not.toContain(value);
    const call = createCaller(org.app, { secret: org.owner.secret, organizationId: org.id });
    const collection = await call(`/openapi/${made.version}?as=postman`).expect(200);
    expect(collection.text).toContain(real.status);
    await loadInvoices(org.ctx, org.id, [{ id: 9, status: 'changed' }]);
    expect(await describedTo({})).toBe(text);
  });

  it('has them for members who may read records unmasked, and for no others', async () => {
    const readAs = async (permissions: readonly string[]) => {
      const { id } = await makeMember(org.ctx, org.id, permissions);
      const { cookie } = await makeSession(org.ctx, id, org.id);
      const found = await supertest(org.app)
        .get(`/api/public/openapi/${made.version}`)
        .set({ cookie, 'x-tenant-id': org.id })
        .expect(200);
      return { text: found.text, tag: found.headers['etag'] };
    };
    const [reads, administers] = [
      await readAs(['api-schema:read', 'record:read', 'unmasked:read']),
      await readAs(['api-schema:read', 'record:read']),
    ];
    expect([reads.text, administers.text].map((text) => text.includes(real.status))).toEqual([true, false]);
    expect(reads.tag).not.toBe(administers.tag);
  });

  it('has none for callers who may read only a part of the records', async () => {
    const parts = [
      { rows: { invoices: [{ field: 'total', eq: 12 }] } },
      { fields: { invoices: ['status', 'total'] } },
    ];
    for (const part of parts) {
      const text = await describedTo(part);
      for (const value of [...hidden, ...shown]) expect(text).not.toContain(value);
      expect(text).toContain('1249.5');
    }
  });
});
