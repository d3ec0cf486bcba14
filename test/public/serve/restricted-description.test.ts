// The description that a key gets which may read only some resources of a version.
import type { Express } from 'express';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type TestDatabase, testDatabase } from '../../setup/database.ts';
import { makeKey, makeOrganization } from '../../setup/organization.ts';
import { callerOf, invoicesEndpoint, loadInvoices, publicApp, publishVersion } from '../fixture.ts';

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
  callerOf(app, { organizationId, secret: (await makeKey(database.ctx, organizationId, { resources })).secret });
const namesIn = (value: unknown): string[] =>
  [...JSON.stringify(value).matchAll(/"\$ref":"#\/components\/(\w+)\/(\w+)"/g)].map(([, kind, name]) => `${kind}/${name}`);

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
