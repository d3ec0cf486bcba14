// Several connections, by keyboard: an organization with NetSuite adds Business Central through the form that is made
// from the kind's schema, mends a wrong secret, syncs a record type of each, and drafts one API over both.
import type { Page } from 'playwright-core';
import { beforeAll, expect, it } from 'vitest';
import { choose, openScreen, press, type Story, tabTo, type, useConsole } from './console-site.ts';

const customers = 25;
const site = useConsole({
  erp: 'connected',
  background: true,
  odata: { profile: 'businessCentral', generate: { customers, items: 5 } },
});

const link = (page: Page, name: string | RegExp) =>
  page.getByRole('main').getByRole('link', { name, exact: true });
const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name }).waitFor();
const region = (page: Page, name: string) => page.getByRole('region', { name });

beforeAll(async () => {
  expect((await site.api('post', '/netsuite/connection/test')).body).toMatchObject({ ok: true });
});

/** Fills the form in, with a secret that isn't the simulator's. */
async function enterBusinessCentral({ page, finish }: Story): Promise<void> {
  const { serviceRoot, companyPath, credentials } = site.odata;
  if (credentials.kind !== 'oauth2') throw new Error('Business Central signs in by OAuth');
  const name = page.getByLabel('Name of the connection');
  expect(await name.inputValue()).toBe('odata');
  await type(page, name, 'bc');
  const root = page.getByLabel('Service root');
  await type(page, root, 'http://erp.example/odata');
  await choose(page, 'Product', 'Microsoft Dynamics 365 Business Central');
  await type(page, page.getByLabel('Token address'), credentials.tokenUrl);
  await type(page, page.getByLabel('Client id'), credentials.clientId);
  await type(page, page.getByLabel('Scope'), credentials.scope);
  await type(page, page.getByLabel('Client secret'), 'not the secret');
  await choose(page, 'Company', 'In the path');
  await type(page, page.getByLabel('Company: segment'), companyPath.replace('/', ''));
  await page.keyboard.press('Enter');

  // What the service refuses is said at its field, and all but the secret survives a reload.
  await page.getByText('The address must use https').waitFor();
  await expect.poll(() => root.and(page.locator(':focus')).count()).toBe(1);
  await finish({ name: 'connections-3-field', statuses: [422] });
  await page.reload();
  expect(await page.getByLabel('Company: segment').inputValue()).toContain('companies(');
  expect(await page.getByLabel('Client secret').inputValue()).toBe('');
  await type(page, root, serviceRoot);
  await type(page, page.getByLabel('Client secret'), 'not the secret');
  await page.keyboard.press('Enter');
}

async function mendSecret({ page, finish }: Story): Promise<void> {
  const { credentials } = site.odata;
  await page.getByRole('status').filter({ hasText: "can't read" }).waitFor();
  const advice = region(page, 'What to do');
  expect(await advice.textContent()).toContain('The ERP refused the sign-in: invalid_client');
  expect(await advice.textContent()).toContain('Check the sign-in of this connection');
  await finish({ name: 'connections-4-refused', statuses: [422] });
  await press(page, advice.getByRole('link', { name: 'Go to: Settings' }));
  await page.getByText('Stored. Enter another one to replace it.').waitFor();
  await type(
    page,
    page.getByLabel('Client secret'),
    'clientSecret' in credentials ? credentials.clientSecret : '',
  );
  await page.keyboard.press('Enter');
  await page.getByRole('status').filter({ hasText: 'can sign in' }).waitFor();
  await page.getByText(/^\d record types can be chosen from\.$/).waitFor();
  await finish({ name: 'connections-5-green', statuses: [422] });
}

/** Creates the sync of a record type on its screen, and follows its first run. */
async function sync(page: Page): Promise<void> {
  await press(page, page.getByRole('button', { name: 'Create sync' }));
  await page.waitForURL(/\/console\/runs\//);
  await page.getByText('Succeeded', { exact: true }).first().waitFor({ timeout: 60_000 });
}

it('adds a connection of another kind, and publishes record types of both', {
  timeout: 240_000,
}, async () => {
  const visit = await site.open('/connection');
  const { page, finish } = visit;
  await page.getByRole('row').filter({ hasText: 'NetSuite' }).getByText('Connected').waitFor();
  await press(page, link(page, 'Add connection'));
  await heading(page, 'Add a connection');
  await finish({ name: 'connections-1-kinds' });
  await press(page, link(page, /^OData v4/));
  await heading(page, 'Connect OData v4');
  await finish({ name: 'connections-2-form' });
  await enterBusinessCentral(visit);
  await mendSecret(visit);

  await press(page, link(page, 'Choose record types'));
  await page.waitForURL(/record-types\?connection=bc$/);
  await link(page, 'customers').waitFor();
  await finish({ name: 'connections-6-record-types', statuses: [422] });
  await press(page, link(page, 'customers'));
  await finish({ name: 'connections-7-record-type', statuses: [422] });
  await sync(page);
  await openScreen(visit, `${site.origin}/console/record-types?connection=bc`);
  await choose(page, 'Connection', 'netsuite');
  await page.waitForURL(/connection=netsuite$/);
  await type(page, page.getByLabel('Search'), 'customer');
  await page.waitForURL(/q=customer/);
  await press(page, link(page, 'Customer'));
  await sync(page);

  await openScreen(visit, `${site.origin}/console/schemas`);
  await press(page, page.getByRole('button', { name: 'Draft a version from 2 record types' }));
  await page.getByText(/^Ready to publish/).waitFor();
  await finish({ name: 'connections-8-draft', statuses: [422] });
  const id = new URL(page.url()).pathname.split('/').at(-1);
  const { endpoints } = (await site.api('get', `/api-schema/${id}`)).body;
  const types = endpoints.map(({ recordType }: { recordType: string }) => recordType);
  expect(types.toSorted()).toEqual(['bc:customers', 'customer']);
});

it('shows those who may read the connection netsuite that one alone', async () => {
  const { page, finish } = await site.open('/connection', { role: ['netsuite:read'] });
  await press(page, link(page, /^\d+ record types of netsuite$/));
  await link(page, 'Customer').waitFor();
  expect(await page.getByLabel('Connection').count()).toBe(0);
  await press(page, link(page, 'Customer'));
  await heading(page, 'Customer');
  await press(page, page.getByRole('link', { name: 'Connections' }));
  await link(page, 'netsuite').waitFor();
  expect(await page.getByText('OData v4').or(link(page, 'Add connection')).count()).toBe(0);
  await finish();
});

it('takes the steps of NetSuite for another account under a name of its own', async () => {
  const { clientId } = await site.erp.account.createIntegration('Sandbox');
  const { page, finish } = await site.open('/connection?add=netsuite');
  const name = page.getByLabel('Name of the connection');
  expect(await name.inputValue()).toBe('netsuite-2');
  await type(page, name, 'netsuite');
  await type(page, page.getByLabel('Account id'), '7654321_SB1');
  await type(page, page.getByLabel('Client id'), clientId);
  await page.keyboard.press('Enter');
  await page.getByText('Another connection has this name').waitFor();
  await type(page, name, 'sandbox');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/connection/sandbox?step=certificate');
  await page.getByLabel('Certificate id').waitFor();
  await finish({ statuses: [422] });
  const { body } = await site.api('get', '/connections/sandbox');
  expect(body).toMatchObject({ kind: 'netsuite', recordTypePrefix: 'sandbox:', hasCredentials: false });
  expect((await site.api('delete', '/connections/sandbox')).status).toBe(204);
});

it('lists the connections, and deletes one with its records only when that is confirmed', async () => {
  const { page, finish } = await site.open('/connection');
  const row = page.getByRole('row').filter({ hasText: 'OData v4' });
  await row.getByText('Connected').waitFor();
  await tabTo(page, row.getByRole('link', { name: /^\d+ record types of bc$/ }));
  await finish({ name: 'connections-9-list' });
  await press(page, link(page, 'bc'));
  await page.getByText('Their names begin with bc:').waitFor();
  await finish({ name: 'connections-10-state' });
  await press(page, page.getByRole('button', { name: 'Delete' }));
  const dialog = page.getByRole('dialog', { name: 'Delete the connection bc?' });
  await dialog.getByText('1 sync of bc stops').waitFor();
  await dialog.getByText(`${customers} synced records are deleted.`).waitFor();
  const confirm = dialog.getByRole('button', { name: 'Delete the connection' });
  await press(page, confirm);
  await dialog.getByText('The connection has synced records').waitFor();
  await finish({ name: 'connections-11-delete', statuses: [422] });
  await type(page, dialog.getByLabel(/^Type .* to confirm$/), 'aster-company');
  await press(page, confirm);
  await row.waitFor({ state: 'detached' });
  await page.waitForURL('**/console/connection');
  expect((await site.api('get', '/connections')).body.data).toHaveLength(1);
});
