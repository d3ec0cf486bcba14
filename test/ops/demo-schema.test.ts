// The demo's version: the service's proposal for the shipped data under the demo's names, published and
// asked.
import type { Express } from 'express';
import supertest from 'supertest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { editProposal, Proposal } from '../../demo/edit-proposal.ts';
import { demoEndpoints, demoRecordTypes } from '../../demo/schema.ts';
import { createApp, startBackground } from '../../src/app.ts';
import { type Api, createApi } from '../setup/api.ts';
import { type TestDatabase, testDatabase, testSettings } from '../setup/database.ts';
import { type Erp, startErp } from '../setup/erp.ts';
import { makeKey, makeOrganization } from '../setup/organization.ts';
import { until } from '../setup/until.ts';

let erp: Erp;
let database: TestDatabase;
let app: Express;
let organizationId: string;
let secret: string;
let owner: Api;

beforeAll(async () => {
  erp = await startErp();
  database = await testDatabase({ settings: { erp: { ...testSettings.erp, allowedHosts: [erp.host] } } });
  app = createApp(database.ctx);
  organizationId = (await makeOrganization(database.ctx)).id;
  secret = (await makeKey(database.ctx, organizationId, { permissions: ['write'] })).secret;
  owner = createApi(app, secret);
  await erp.connect(owner);
  await owner('post', '/netsuite/metadata/refresh');
  const background = await startBackground(database.ctx);
  const ids = await Promise.all(
    demoRecordTypes.map(async (given) => (await owner('post', '/sync-configs', given)).body.id as string),
  );
  for (const id of ids) await owner('post', `/sync-configs/${id}/trigger`, {});
  for (const id of ids)
    await until(async () =>
      (await owner('get', `/sync-configs/${id}`)).body.lastRun?.status === 'succeeded' ? true : undefined,
    );
  await background.stop();
}, 120_000);
afterAll(async () => {
  await database.ctx.work.waitUntilIdle('publications');
  await database.close();
  await erp.stop();
});

async function read(address: string) {
  const { status, body } = await supertest(app)
    .get(`/api/public/v1${address}`)
    .set({ authorization: `Bearer ${secret}`, 'x-tenant-id': organizationId });
  expect([address, status, body.error]).toEqual([address, 200, undefined]);
  return body;
}

describe("the demo's schema", () => {
  it('is the proposal under its own names, and adds to its lists', async () => {
    const recordTypes = demoRecordTypes.map(({ recordType }) => recordType);
    const edited = editProposal(
      Proposal.parse((await owner('post', '/api-schema/draft-from', { recordTypes })).body),
    );
    expect(edited).toMatchObject(
      demoEndpoints.map((own) => ({ ...own, filters: expect.arrayContaining(own.filters) })),
    );
    const invoices = edited.find(({ name }) => name === 'invoices');
    expect(invoices).toMatchObject({
      filters: expect.arrayContaining([{ field: 'lines.itemId', operators: ['eq'] }]),
      aggregates: expect.arrayContaining([{ field: 'amountDue', functions: ['sum', 'avg', 'min', 'max'] }]),
      groups: expect.arrayContaining([
        'customerId',
        'currency',
        { field: 'dueDate', periods: expect.arrayContaining(['month']) },
      ]),
      relations: [{ name: 'customer', field: 'customerId', resource: 'customers' }],
      ...{ search: ['number', 'customerName'], or: true, sortSets: [['date', '-total']] },
    });
    expect(edited.find(({ name }) => name === 'items')?.search).toContain('code');
    const made = await owner('post', '/api-schema', { endpoints: edited });
    expect(made.status, JSON.stringify(made.body)).toBe(201);
    expect((await owner('post', `/api-schema/${made.body.id}/validate`)).body.problems).toEqual([]);
    await owner('post', `/api-schema/${made.body.id}/publish`, { revision: 1 });
    await database.ctx.work.waitUntilIdle('publications');
    const { status, publication } = (await owner('get', `/api-schema/${made.body.id}`)).body;
    expect([status, publication.problems]).toEqual(['published', []]);
  }, 120_000);

  it('answers in one request what took several', async () => {
    const [first] = (
      await read('/invoices?sort=date,-total&customerId_null=false&amountDue_gt=0&expand=customer&pageSize=1')
    ).data;
    expect(first.customer).toEqual((await read(`/customers/${first.customerId}`)).data);
    expect((await read(`/invoices?q=${first.number}`)).data.map(({ id }: { id: string }) => id)).toContain(
      first.id,
    );
    const [line] = first.lines;
    const sold = (await read(`/invoices?lines.itemId=${line.itemId}&pageSize=5`)).data as {
      lines: { itemId: string }[];
    }[];
    expect(sold.every(({ lines }) => lines.some(({ itemId }) => itemId === line.itemId))).toBe(true);
    const either = await read(`/invoices?or=(number:eq:${first.number},amountDue:gt:100000000)`);
    expect(either.pagination.total).toBe(1);
    const owing = await read(
      '/invoices/summary?sum=amountDue&by=customerId&by=currency&sort=-sum.amountDue&limit=3',
    );
    expect(owing.data).toHaveLength(3);
  });
});
