// Connecting an account, by keyboard: in the console, and on the account's own set-up pages as its
// administrator.
import type { Page } from 'playwright-core';
import { afterEach, describe, expect, it } from 'vitest';
import { accountId } from '../../setup/erp.ts';
import { openVisit, type Visit } from '../chromium.ts';
import { press, tabTo, type, useConsole } from './console-site.ts';

const site = useConsole({ erp: 'started' });
const setUps: Visit[] = [];
afterEach(async () => {
  for (const { context } of setUps.splice(0)) await context.close();
  await site.api('delete', '/netsuite/connection');
});

/** The set-up pages of the account, in a browser of its administrator. */
async function openSetUp({ context }: Visit): Promise<Page> {
  const browser = context.browser();
  if (browser === null) throw new Error('The visit has no browser');
  const visit = await openVisit(browser);
  setUps.push(visit);
  const { control, url } = site.erp.account;
  await visit.page.goto(`${control?.url}/set-up#token=${control?.token}`);
  await visit.page.getByText(url).waitFor();
  return visit.page;
}

async function createIntegration(page: Page): Promise<string> {
  await type(page, page.getByLabel('Name'), 'Portal Service');
  await page.keyboard.press('Enter');
  const created = page.getByRole('status').filter({ hasText: 'Integration created' });
  await created.waitFor();
  return (await created.locator('code').textContent()) ?? '';
}

async function upload(page: Page, certificatePem: string): Promise<string> {
  await tabTo(page, page.getByLabel('Certificate (PEM)'));
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.insertText(certificatePem);
  await press(page, page.getByRole('button', { name: 'Upload' }));
  const uploaded = page.getByRole('status').filter({ hasText: 'Certificate uploaded' });
  await uploaded.waitFor();
  return (await uploaded.locator('code').textContent()) ?? '';
}

async function enterAccount(page: Page, clientId: string): Promise<void> {
  await type(page, page.getByLabel('Account id'), accountId);
  await type(page, page.getByLabel('Client id'), clientId);
  await type(page, page.getByLabel('Another address'), site.erp.account.url);
  await page.keyboard.press('Enter');
}

const readCertificate = async (page: Page): Promise<string> => {
  const shown = page.locator('main pre').filter({ hasText: 'BEGIN CERTIFICATE' });
  await shown.waitFor();
  return (await shown.textContent()) ?? '';
};

describe('connecting NetSuite', () => {
  it('leads from nothing to a green test, and explains a wrong certificate id on the way', async () => {
    const visit = await site.open('/connection');
    const { page } = visit;
    const setUp = await openSetUp(visit);
    await page.getByRole('heading', { level: 1, name: 'Connect your ERP' }).waitFor();
    await visit.finish({ name: 'connection-0-kinds' });
    await press(page, page.getByRole('link', { name: 'NetSuite' }));
    await page.getByRole('heading', { level: 1, name: 'Connect NetSuite' }).waitFor();
    await visit.finish({ name: 'connection-1-account' });

    await enterAccount(page, await createIntegration(setUp));
    const certificatePem = await readCertificate(page);
    expect(page.url()).toContain('step=certificate');
    await tabTo(page, page.getByRole('link', { name: 'Download .pem' }));
    const [download] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('Enter')]);
    expect(download.suggestedFilename()).toBe('portal-service-certificate-1.pem');
    await visit.finish({ name: 'connection-2-certificate' });
    const certificateId = await upload(setUp, certificatePem);

    // The step is in the address, and what was entered is there after a reload.
    await type(page, page.getByLabel('Certificate id'), 'not-the-id');
    await page.reload();
    expect(await page.getByLabel('Certificate id').inputValue()).toBe('not-the-id');
    await press(page, page.getByRole('button', { name: 'Save and test' }));
    await page.getByRole('status').filter({ hasText: "can't read account" }).waitFor();
    const advice = page.getByRole('region', { name: 'What to do' });
    expect(await advice.textContent()).toContain('Compare the certificate id');
    await visit.finish({ name: 'connection-4-wrong-id' });
    await page.reload();
    await press(page, advice.getByRole('link', { name: 'Go to: Certificate' }));
    await type(page, page.getByLabel('Certificate id'), certificateId);
    await page.keyboard.press('Enter');
    await page
      .getByRole('status')
      .filter({ hasText: `can sign in to account ${accountId}` })
      .waitFor();
    await page.getByText(/^\d\d+ record types can be chosen from\.$/).waitFor();
    await visit.finish({ name: 'connection-5-green' });
    await tabTo(page, page.getByRole('link', { name: 'Choose record types' }));
  });
});

it('says what is wrong with an entry at its field, once, and continues there', async () => {
  const { page, finish } = await site.open('/connection?add=netsuite');
  await expect
    .poll(() => page.evaluate('document.activeElement?.labels?.[0]?.textContent'))
    .toBe('Account id');
  await type(page, page.getByLabel('Account id'), accountId);
  await type(page, page.getByLabel('Client id'), 'a-client');
  const address = page.getByLabel('Another address');
  await type(page, address, 'ftp://erp.example');
  await page.keyboard.press('Enter');
  const said = page.getByText(/https/);
  await said.waitFor();
  expect(await said.count()).toBe(1);
  expect(await page.getByRole('alert').count()).toBe(0);
  expect(await address.getAttribute('aria-invalid')).toBe('true');
  await expect.poll(() => address.and(page.locator(':focus')).count()).toBe(1);
  await finish({ name: 'connection-6-field', statuses: [422] });
});

describe('token-based authentication', () => {
  it('needs no certificate', async () => {
    const { consumerKey, consumerSecret, tokenId, tokenSecret } =
      await site.erp.account.createTokenCredentials('Portal Service');
    const { page, finish } = await site.open('/connection?add=netsuite');
    await type(page, page.getByLabel('Account id'), accountId);
    await tabTo(page, page.getByLabel('How the service signs in'));
    await page.keyboard.press('ArrowDown');
    await type(page, page.getByLabel('Consumer key'), consumerKey);
    await type(page, page.getByLabel('Consumer secret'), consumerSecret);
    await type(page, page.getByLabel('Token id'), tokenId);
    await type(page, page.getByLabel('Token secret'), tokenSecret);
    await type(page, page.getByLabel('Another address'), site.erp.account.url);
    await page.keyboard.press('Enter');
    await page.getByRole('status').filter({ hasText: 'can sign in' }).waitFor();
    expect(await page.getByRole('navigation', { name: 'Steps' }).getByRole('listitem').count()).toBe(2);
    await press(page, page.getByRole('main').getByRole('link', { name: 'netsuite' }));
    await page.getByText(`ends in ${tokenSecret.slice(-4)}`).waitFor();
    await finish({ name: 'connection-tba' });
  });
});

it('is set up under its own name by those who may only change the connection netsuite', async () => {
  const { page, finish } = await site.open('/connection', { role: ['netsuite:read', 'netsuite:update'] });
  await page.getByRole('heading', { level: 1, name: 'Connect your ERP' }).waitFor();
  expect(await page.getByText('OData v4').count()).toBe(0);
  await press(page, page.getByRole('link', { name: 'NetSuite' }));
  await type(page, page.getByLabel('Account id'), accountId);
  expect(await page.getByLabel('Name of the connection').count()).toBe(0);
  await type(page, page.getByLabel('Client id'), 'a-client');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/connection/netsuite?step=certificate');
  await readCertificate(page);
  await finish({ statuses: [404] });
});

describe('an existing connection', () => {
  it('says what the role cannot see, renews its certificate, and is deleted with a warning', async () => {
    await site.erp.connect(site.api);
    await site.api('post', '/netsuite/metadata/refresh');
    expect(
      (await site.api('post', '/sync-configs', { name: 'Customers', recordType: 'customer' })).status,
    ).toBe(201);
    site.erp.account.setVisible('employee', false);
    const visit = await site.open('/connection');
    const { page } = visit;
    await press(page, page.getByRole('link', { name: 'netsuite', exact: true }));
    await press(page, page.getByRole('button', { name: /^Test/ }));
    const hidden = page.getByRole('region', { name: "What the role can't see" });
    await hidden
      .getByText(/employee/)
      .first()
      .waitFor();
    site.erp.account.setVisible('employee', true);
    await visit.finish({ name: 'connection-state' });

    await press(page, page.getByRole('link', { name: 'Renew or upload again' }));
    await press(page, page.getByRole('button', { name: 'Create a new certificate' }));
    await page.getByText('The active certificate keeps signing in').waitFor();
    const setUp = await openSetUp(visit);
    const renewed = await upload(setUp, await readCertificate(page));
    await type(page, page.getByLabel('Certificate id'), renewed);
    await page.keyboard.press('Enter');
    await page.getByRole('status').filter({ hasText: 'can sign in' }).waitFor();
    await press(page, page.getByRole('main').getByRole('link', { name: 'netsuite' }));
    await page.getByRole('row').filter({ hasText: renewed }).getByText('Active').waitFor();

    await press(page, page.getByRole('button', { name: 'Delete' }));
    const dialog = page.getByRole('dialog', { name: 'Delete the connection netsuite?' });
    await dialog.getByText('1 sync of netsuite stops').waitFor();
    await visit.finish({ name: 'connection-delete' });
    await press(page, dialog.getByRole('button', { name: 'Delete the connection' }));
    await page.getByRole('heading', { level: 1, name: 'Connect your ERP' }).waitFor();
    expect((await site.api('get', '/netsuite/connection')).status).toBe(404);
  });

  it('is shown without actions to those who may only read it', async () => {
    await site.erp.connect(site.api);
    const { page, finish } = await site.open('/connection', { role: ['netsuite:read'] });
    await press(page, page.getByRole('link', { name: 'netsuite', exact: true }));
    await page.getByText(accountId).first().waitFor();
    expect(await page.getByRole('main').getByRole('button').count()).toBe(0);
    await finish();
  });
});
