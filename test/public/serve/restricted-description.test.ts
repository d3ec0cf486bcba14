// The description that a key gets which may read only a part of a version: some resources or fields, some of
// them masked.
import { beforeAll, describe, expect, it } from 'vitest';
import type { RowScopes } from '../../../src/core/record-access.ts';
import { useStarted } from '../../setup/use-started.ts';
import { invoicesEndpoint, openSite, type Site } from '../fixture.ts';

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

const site = useStarted(() => {
  const changes = '\n\n## Changes from v0\n- secret-bills: the field number was added.';
  const describe = (text: string) => {
    const { info, ...parsed } = JSON.parse(text);
    const described = { ...info, description: `${info.description}${changes}` };
    return JSON.stringify({ ...parsed, info: described }, undefined, 2);
  };
  const versions = [{ endpoints: [invoicesEndpoint, bills], describe }];
  return openSite({ rows: [{ id: 1, tranid: 'INV-1' }], versions });
});

const bills = { ...invoicesEndpoint, name: 'secret-bills', description: 'Bills that only we may see' };

const callerFor = (resources: string[]) => site.callerWith({ resources });
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
  const [item, quantity] = ['item', 'quantity'].map((name) => ({ name, source: name }));
  const masked = {
    ...invoicesEndpoint,
    name: 'bills',
    fields: [
      { name: 'number', source: 'tranid', mask: 'last4', tags: ['confidential'] },
      { name: 'hiddenStatus', source: 'status' },
      { name: 'total', source: 'total', mask: 'hash' },
      { name: 'date', source: 'trandate', mask: 'year' },
      { name: 'customer', source: 'entity', scopable: true },
      { name: 'lines', source: 'lines', fields: [{ ...item, mask: 'last4' }, quantity] },
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
  const describedTo = async (scopes: Parameters<Site['callerWith']>[0]) =>
    (await site.callerWith(scopes))('/openapi/v2').expect(200);
  beforeAll(async () => {
    await site.publish({ version: 'v2', endpoints: [masked, plain] });
    whole = (await describedTo({ unmasked: true })).body;
  });
  const listNames = ({ paths }: Description) =>
    (paths['/v2/bills']?.get.parameters ?? []).flatMap(({ name = [] }) => name);
  const listProperties = ({ components }: Description) => components.schemas['Bill']?.properties ?? {};

  it('is the stored one for a reader without limits who reads unmasked', async () => {
    const stored = await site.inTransaction((tx) =>
      tx('api_schemas').where({ version: 'v2' }).first<{ openapi: string }>('openapi'),
    );
    expect((await describedTo({ unmasked: true })).text).toBe(stored?.openapi);
  });

  it('describes masked fields as text, without their filters and sorts', async () => {
    const { body, headers } = await describedTo({});
    const type = ['string', 'null'];
    const lines = { item: { type }, quantity: { type: ['number', 'string', 'null'] } };
    expect(listProperties(body)).toMatchObject({
      number: { type, examples: ['****1042'], 'x-mask': 'last4', 'x-tags': ['confidential'] },
      total: { type, examples: [expect.stringMatching(/^[0-9a-f]{64}$/)] },
      date: { type, examples: ['2026'] },
      hiddenStatus: listProperties(whole)['hiddenStatus'],
      lines: { items: { properties: lines } },
    });
    expect(listProperties(body)['date']).not.toHaveProperty('format');
    expect(listNames(whole)).toEqual(expect.arrayContaining(['number', 'number_contains']));
    expect(listNames(body)).toEqual(listNames(whole).filter((name) => !name.startsWith('number')));
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

  it('has no list of changes for a key that is limited in any way', async () => {
    for (const scopes of [{ versions: ['v1'] }, { rows: rows('invoices', 'id') }, { fields: {} }]) {
      const { body } = await (await site.callerWith(scopes))('/openapi/v1').expect(200);
      expect(body.info.description).not.toContain('## Changes');
    }
  });

  it('of a member is masked without unmasked:read', async () => {
    const typeFor = async (role: string) =>
      listProperties((await site.asMember(role, '/openapi/v2')).body)['total']?.type;
    expect(await typeFor('viewer')).toEqual(['string', 'null']);
    expect(await typeFor('admin')).toEqual(listProperties(whole)['total']?.type);
  });
});
