// The description that a key gets which may read only a part of a version: some resources or fields, some of
// them masked.
import type { Express } from 'express';
import supertest from 'supertest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RowScopes } from '../../../src/core/record-access.ts';
import { inTransaction } from '../../../src/db/transaction.ts';
import { type TestDatabase, testDatabase } from '../../setup/database.ts';
import { makeKey, makeMember, makeOrganization, makeSession } from '../../setup/organization.ts';
import { callerOf, invoicesEndpoint, loadInvoices, publicApp, publishVersion } from '../fixture.ts';

type Field = { readonly type?: readonly string[] };
type Example = { readonly example: { readonly data: unknown } };
type Operation = {
  readonly parameters: readonly { readonly name?: string }[];
  readonly responses: { readonly 200: { readonly content: { readonly 'application/json': Example } } };
};
type Description = {
  readonly info: object;
  readonly paths: Record<string, { readonly get: Operation }>;
  readonly components: { readonly schemas: Record<string, { readonly properties: Record<string, Field> }> };
};

let database: TestDatabase;
let app: Express;
let organizationId: string;

const bills = { ...invoicesEndpoint, name: 'secret-bills', description: 'Bills that only we may see' };
beforeAll(async () => {
  database = await testDatabase();
  ({ id: organizationId } = await makeOrganization(database.ctx));
  await loadInvoices(database.ctx, organizationId, [{ id: 1, tranid: 'INV-1' }]);
  await publishVersion(database.ctx, organizationId, {
    endpoints: [invoicesEndpoint, bills],
    describe: (text) => {
      const parsed = JSON.parse(text);
      parsed.info.description += '\n\n## Changes from v0\n- secret-bills: the field number was added.';
      return JSON.stringify(parsed, undefined, 2);
    },
  });
  app = publicApp(database.ctx);
});
afterAll(() => database.close());

const callerFor = async (resources: string[]) =>
  callerOf(app, {
    organizationId,
    secret: (await makeKey(database.ctx, organizationId, { resources })).secret,
  });
const namesIn = (value: unknown): string[] =>
  [...JSON.stringify(value).matchAll(/"\$ref":"#\/components\/(\w+)\/(\w+)"/g)].map(
    ([, kind, name]) => `${kind}/${name}`,
  );

it('has the paths, tags and components of its resources and nothing of the others', async () => {
  const whole = (await (await callerFor([]))('/openapi/v1').expect(200)).body;
  const own = await (await callerFor(['invoices']))('/openapi/v1').expect(200);
  expect(JSON.stringify(whole)).toContain('secret-bills');
  expect(own.text.toLowerCase()).not.toMatch(/secret|bills/);
  const kept = Object.keys(whole.paths).filter((path) => !path.includes('secret-bills'));
  expect(Object.keys(own.body.paths)).toEqual(kept);
  for (const path of kept) expect(own.body.paths[path]).toEqual(whole.paths[path]);
  expect(own.body.tags).toEqual(whole.tags.filter(({ name }: { name: string }) => name === 'invoices'));
  for (const reference of namesIn(own.body)) {
    const [kind = '', name = ''] = reference.split('/');
    expect(own.body.components[kind][name], reference).toEqual(whole.components[kind][name]);
  }
  expect(own.body.components.securitySchemes).toEqual(whole.components.securitySchemes);
  expect(own.body.info.description).toContain('## Following changes');
});

it('has an ETag of its own, which is the same for keys that may read the same', async () => {
  const tags = [];
  for (const resources of [[], ['invoices'], ['secret-bills'], ['invoices']])
    tags.push((await (await callerFor(resources))('/openapi/v1').expect(200)).headers['etag']);
  const [whole, invoices, secret, again] = tags;
  expect(new Set([whole, invoices, secret]).size).toBe(3);
  expect(again).toBe(invoices);
  const call = await callerFor(['invoices']);
  await call('/openapi/v1', { 'if-none-match': invoices ?? '' }).expect(304);
  await call('/openapi/v1', { 'if-none-match': whole ?? '' }).expect(200);
});

it('of a key for a resource that the version does not have has no paths', async () => {
  const { body } = await (await callerFor(['orders']))('/openapi/v1').expect(200);
  expect([body.paths, body.tags]).toEqual([{}, []]);
});

describe('of a version with masked and scopable fields', () => {
  const shown = ['number', 'total', 'customer'];
  const masked = {
    ...invoicesEndpoint,
    name: 'bills',
    fields: [
      { name: 'number', source: 'tranid', mask: 'last4', tags: ['confidential'] },
      { name: 'hiddenStatus', source: 'status' },
      { name: 'total', source: 'total', mask: 'hash' },
      { name: 'date', source: 'trandate', mask: 'year' },
      { name: 'customer', source: 'entity', scopable: true },
      {
        name: 'lines',
        source: 'lines',
        fields: [
          { name: 'item', source: 'item', mask: 'last4' },
          { name: 'quantity', source: 'quantity' },
        ],
      },
    ],
    filters: [
      { field: 'number', operators: ['eq', 'contains'] },
      { field: 'hiddenStatus', operators: ['eq'] },
      { field: 'customer', operators: ['eq', 'not'] },
    ],
    sorts: ['number', 'hiddenStatus', 'customer'],
    defaultSort: { field: 'hiddenStatus', order: 'desc' },
  };
  const plain = { name: 'plain', recordType: 'invoice', fields: [{ name: 'status', source: 'status' }] };
  const rows = (resource: string, source: string, recordType = 'invoice', others = false): RowScopes => ({
    resources: { [resource]: { recordType, conditions: [{ field: source, source, in: ['7'] }] } },
    others,
  });
  let whole: Description;
  const describedTo = async (scopes: Parameters<typeof makeKey>[2]) => {
    const { secret } = await makeKey(database.ctx, organizationId, scopes);
    return callerOf(app, { organizationId, secret })('/openapi/v2').expect(200);
  };
  beforeAll(async () => {
    await publishVersion(database.ctx, organizationId, { version: 'v2', endpoints: [masked, plain] });
    whole = (await describedTo({ unmasked: true })).body;
  });
  const namesOf = ({ paths }: Description) =>
    (paths['/v2/bills']?.get.parameters ?? []).flatMap(({ name = [] }) => name);
  const recordOf = ({ components }: Description) => components.schemas['Bill']?.properties ?? {};

  it('is the stored one for a reader without limits who reads unmasked', async () => {
    const stored = await inTransaction({ db: database.ctx.db, organizationId }, (tx) =>
      tx('api_schemas').where({ version: 'v2' }).first<{ openapi: string }>('openapi'),
    );
    expect((await describedTo({ unmasked: true })).text).toBe(stored?.openapi);
  });

  it('describes masked fields as text, without their filters and sorts', async () => {
    const { body, headers } = await describedTo({});
    expect(recordOf(body)).toMatchObject({
      number: {
        type: ['string', 'null'],
        examples: ['****1042'],
        'x-mask': 'last4',
        'x-tags': ['confidential'],
      },
      total: { type: ['string', 'null'], examples: [expect.stringMatching(/^[0-9a-f]{64}$/)] },
      date: { type: ['string', 'null'], examples: ['2026'] },
      hiddenStatus: recordOf(whole)['hiddenStatus'],
      lines: {
        items: {
          properties: {
            item: { type: ['string', 'null'] },
            quantity: { type: ['number', 'string', 'null'] },
          },
        },
      },
    });
    expect(recordOf(body)['date']).not.toHaveProperty('format');
    expect(namesOf(whole)).toEqual(expect.arrayContaining(['number', 'number_contains']));
    expect(namesOf(body)).toEqual(namesOf(whole).filter((name) => !name.startsWith('number')));
    const sort = body.paths['/v2/bills'].get.parameters.find(({ name }: { name: string }) => name === 'sort');
    expect(sort.schema.enum).toEqual(['hiddenStatus', 'customer']);
    for (const [path, example] of Object.entries<Description['paths'][string]>(body.paths)) {
      const { data } = example.get.responses[200].content['application/json'].example;
      if (path.startsWith('/v2/bills')) expect(JSON.stringify(data)).toContain('"number":"****1042"');
      else expect(example).toEqual(whole.paths[path]);
    }
    expect(headers['etag']).not.toBe((await describedTo({ unmasked: true })).headers['etag']);
    expect(body.info).toEqual(whole.info);
  });

  it('names no field that the key may not read', async () => {
    const { body, text, headers } = await describedTo({ fields: { bills: shown }, unmasked: true });
    expect(text).not.toContain('hiddenStatus');
    expect(text).not.toMatch(/"(date|lines|item)"/);
    expect(Object.keys(recordOf(body))).toEqual(['id', ...shown]);
    expect(recordOf(body)['total']).toEqual(recordOf(whole)['total']);
    expect(namesOf(body)).toEqual(namesOf(whole).filter((name) => !name.startsWith('hiddenStatus')));
    const [fields, sort] = ['fields', 'sort'].map((wanted) =>
      body.paths['/v2/bills'].get.parameters.find(({ name }: { name: string }) => name === wanted),
    );
    expect(fields.schema.items.enum).toEqual(['id', ...shown]);
    expect([sort.schema.enum, sort.description]).toEqual([
      ['number', 'customer'],
      expect.stringMatching(/Default: by id\.$/),
    ]);
    expect(body.paths['/v2/plain']).toEqual(whole.paths['/v2/plain']);
    const again = await describedTo({ fields: { bills: [...shown].reverse() }, unmasked: true });
    expect(again.headers['etag']).toBe(headers['etag']);
  });

  it('has the resources to which the row scope applies', async () => {
    const pathsFor = async (scope: RowScopes) => Object.keys((await describedTo({ rows: scope })).body.paths);
    const bills = ['/v2/bills', '/v2/bills/changes', '/v2/bills/{id}'];
    expect(await pathsFor(rows('bills', 'entity'))).toEqual(bills);
    expect(await pathsFor(rows('bills', 'id'))).toEqual(bills);
    expect(await pathsFor(rows('bills', 'entity', 'invoice', true))).toEqual([
      ...bills,
      '/v2/plain',
      '/v2/plain/changes',
      '/v2/plain/{id}',
    ]);
    expect(await pathsFor(rows('bills', 'status'))).toEqual([]);
    expect(await pathsFor(rows('bills', 'entity', 'customer'))).toEqual([]);
    const { secret } = await makeKey(database.ctx, organizationId, { rows: rows('bills', 'entity') });
    await callerOf(app, { organizationId, secret })('/openapi/v2?draft=true').expect(403);
  });

  it('has no list of changes for a key that is limited in any way', async () => {
    for (const scopes of [{ versions: ['v1'] }, { rows: rows('invoices', 'id') }, { fields: {} }]) {
      const { secret } = await makeKey(database.ctx, organizationId, scopes);
      const { body } = await callerOf(app, { organizationId, secret })('/openapi/v1').expect(200);
      expect(body.info.description).not.toContain('## Changes');
    }
  });

  it('of a member is masked without unmasked:read', async () => {
    const asMember = async (role: string) => {
      const { id } = await makeMember(database.ctx, organizationId, role);
      const { cookie } = await makeSession(database.ctx, id);
      return (
        await supertest(app)
          .get('/api/public/openapi/v2')
          .set({ cookie, 'x-tenant-id': organizationId })
          .expect(200)
      ).body;
    };
    expect(recordOf(await asMember('viewer'))['total']?.type).toEqual(['string', 'null']);
    expect(recordOf(await asMember('admin'))['total']?.type).toEqual(recordOf(whole)['total']?.type);
  });
});
