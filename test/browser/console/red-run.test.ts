// A red run in the console, by keyboard: a field that the ERP hides is explained and mended, by giving access
// again and by accepting it.
import { beforeAll, expect, it } from 'vitest';
import type { Visit } from '../chromium.ts';
import { press, useConsole } from './console-site.ts';
import { createSync, publishDraft, runSync } from './sync-seeds.ts';

const site = useConsole({ erp: 'connected', background: true });
let syncId: string;
beforeAll(async () => {
  syncId = await createSync(site, 'customer', { name: 'Customers' });
  expect((await runSync(site, syncId)).status).toBe('succeeded');
  await publishDraft(site, ['customer']);
});

const setVisible = (visible: boolean): void =>
  site.erp.account.setColumnVisible('customer', 'defaultcountry', visible);

/** From the list of syncs to the end of a new run. */
async function runFromList(visit: Visit): Promise<void> {
  const { page } = visit;
  await press(page, page.getByRole('link', { name: 'Customers', exact: true }));
  await press(page, page.getByRole('button', { name: 'Run now' }));
  await page.waitForURL('**/runs/*');
}

it('explains a field that the role can no longer read, and is green again once it can', async () => {
  setVisible(false);
  const visit = await site.open('/syncs');
  const { page } = visit;
  await runFromList(visit);
  await page.getByRole('heading', { name: "Why it isn't green" }).waitFor();
  await page.getByRole('heading', { name: "1 field can't be read" }).waitFor();
  await page.getByText('The last values stay, and new records have none.').first().waitFor();
  await page.getByRole('link', { name: /^v1 · customers\.\w+ · 0 callers$/ }).waitFor();
  await visit.finish({ name: 'run-red' });
  setVisible(true);
  const red = page.url();
  await press(page, page.getByRole('button', { name: 'Access is given: run now' }));
  await page.waitForURL((address) => address.href !== red);
  await page.getByText('Succeeded', { exact: true }).first().waitFor();
  await page.goBack();
  await page.getByText('succeeded: this is mended.').waitFor();
});

it('accepts a field that is gone for good, after saying what becomes of its values and who shows it', async () => {
  setVisible(false);
  const visit = await site.open('/syncs');
  const { page } = visit;
  await runFromList(visit);
  await page.getByRole('heading', { name: "1 field can't be read" }).waitFor();
  await press(page, page.getByRole('button', { name: 'Accept as missing…' }));
  const dialog = page.getByRole('dialog', { name: 'Accept missing fields' });
  await dialog.getByText('This concerns 1,199 stored records.').waitFor();
  await dialog
    .getByText('The stored values stay as they are. New records have no value. Shown by v1 /customers')
    .waitFor();
  await visit.finish({ name: 'accept-fields', fullPage: false });
  const red = page.url();
  await press(page, dialog.getByRole('button', { name: 'Accept 1 missing field and run' }));
  await page.waitForURL((address) => address.href !== red);
  await page.getByText('Succeeded', { exact: true }).first().waitFor();
  await press(
    page,
    page.getByRole('navigation', { name: 'Breadcrumb' }).getByRole('link', { name: /^customer/ }),
  );
  await press(page, page.getByRole('link', { name: 'Fields' }));
  await page.getByText('Accepted').waitFor();
  await page.getByText('Disappeared').first().waitFor();
  await visit.finish({ name: 'sync-drift' });
});

it('explains a refused connection, and leads to it', async () => {
  const { account } = site.erp;
  const { body } = await site.api('get', '/netsuite/connection');
  await account.revokeCertificate(body.authentication.certificateId);
  account.revokeTokens();
  const failed = await runSync(site, syncId);
  expect(failed.status).toBe('failed');
  const { page, finish } = await site.open(`/runs/${failed.id}`);
  await page.getByText('Nothing of this run was published.').waitFor();
  await page.getByRole('link', { name: 'v1 · customers · 0 callers' }).waitFor();
  await finish({ name: 'run-failed' });
  await press(page, page.getByRole('link', { name: 'customer' }).first());
  await page.getByText('Paused', { exact: true }).waitFor();
  await finish({ name: 'sync-paused' });
  await press(page, page.getByRole('link', { name: 'Open the connection' }));
  await page.waitForURL('**/connection');
});
