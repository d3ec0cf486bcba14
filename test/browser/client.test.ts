// The client in a page of another origin, with a record token: what it reads is what plain requests read.
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import express from 'express';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import { openOrganization } from '../public/fixture.ts';
import { type TestDatabase, testDatabase } from '../setup/database.ts';
import { listen, type Site, useVisits } from './chromium.ts';

const built = path.resolve('packages/client/dist');
const openVisit = useVisits();
let pages: Site;
let service: Site;
let database: TestDatabase;
let organization: Awaited<ReturnType<typeof openOrganization>>;
let token: string;

/** The page of a company's own server. */
function createPages() {
  const app = express();
  app.get('/', (_req, res) => void res.type('html').send('<!doctype html><link rel="icon" href="data:,">'));
  app.get('/client/*file', async (req, res) => {
    const file = path.join(built, ...(req.params['file'] as unknown as string[]));
    res.type('text/javascript').send(await readFile(file, 'utf8'));
  });
  return app;
}

beforeAll(async () => {
  pages = await listen(createPages());
  database = await testDatabase({ settings: { corsOrigins: [pages.origin] } });
  const app = createApp(database.ctx);
  const rows = Array.from({ length: 30 }, (_, index) => ({ id: index + 1, tranid: `INV-${index + 1}` }));
  organization = await openOrganization(database.ctx, app, { rows });
  service = await listen(app);
  const key = await organization.key();
  const minted = await fetch(`${service.origin}/api/platform/v1/api-keys/${key.id}/tokens`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key.secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ tokens: [{ scopes: { resources: ['invoices'] } }] }),
  });
  const answered = (await minted.json()) as { tokens?: { token: string }[] };
  token = answered.tokens?.[0]?.token ?? '';
  expect({ status: minted.status, answered }).toMatchObject({ status: 201 });
});
afterAll(async () => {
  await Promise.all([pages.close(), service.close()]);
  await database.close();
});

const program = `async ({ baseUrl, key, tenant }) => {
  const { connect } = await import('/client/index.js');
  const { invoices } = await connect({ baseUrl, key, tenant });
  const idsOf = async (records) => {
    const found = [];
    for await (const { id } of records) found.push(id);
    return found;
  };
  const page = await invoices.list({ pageSize: 5 }).page();
  await invoices.get('1');
  const refused = await invoices.list({ colour: 'red' }).page().catch((error) => [error.name, error.status, typeof error.requestId]);
  const changes = [];
  for await (const { op } of invoices.changes()) changes.push(op);
  return {
    list: await idsOf(invoices.list({ pageSize: 7 })),
    exported: await idsOf(invoices.export()),
    changes: changes.length,
    one: (await invoices.get('1')).number,
    generation: page.generation,
    refused,
  };
}`;

it('reads lists, exports and changes across origins, and asks conditionally', async () => {
  const visit = await openVisit();
  const statuses: number[] = [];
  visit.page.on('response', (response) => {
    if (response.url().endsWith('/invoices/1')) statuses.push(response.status());
  });
  await visit.page.goto(pages.origin);
  const given = { baseUrl: service.origin, key: token, tenant: organization.organizationId };
  const all = Array.from({ length: 30 }, (_, index) => String(index + 1));
  expect(await visit.page.evaluate(`(${program})(${JSON.stringify(given)})`)).toEqual({
    ...{ list: all, exported: all, changes: 31, one: 'INV-1', generation: '1' },
    refused: ['ApiError', 400, 'string'],
  });
  expect(statuses.filter((status) => status !== 204)).toEqual([200, 304]);
});
