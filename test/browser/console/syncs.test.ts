// Syncs and runs in the console, by keyboard: start one, follow it live, cancel it, read its proof, change
// its settings, delete it.
import { afterEach, expect, it } from 'vitest';
import { sendControl } from '../../setup/account-control.ts';
import { testSettings } from '../../setup/database.ts';
import { press, tabTo, type, useConsole } from './console-site.ts';
import { createSync, runSync } from './sync-seeds.ts';

const site = useConsole({
  erp: 'connected',
  background: true,
  settings: { sync: { ...testSettings.sync, maxFieldBytes: 20_000 } },
});
afterEach(() => site.erp.account.setLatency(0));

it('says what to do where nothing is synced', async () => {
  const { page, finish } = await site.open('/syncs');
  await page.getByText('Nothing is synced yet.').waitFor();
  await tabTo(page, page.getByRole('link', { name: 'Choose record types' }));
  await finish();
});

it('starts a run, follows it live to its proof, and finds it in the history', async () => {
  // Not due during the test: its history has one run.
  const id = await createSync(site, 'customer', { name: 'Customers', schedule: '0 2 1 * *' });
  const { page, finish } = await site.open('/syncs');
  await press(page, page.getByRole('link', { name: 'Customers' }));
  await page.getByRole('heading', { level: 1, name: 'Customers' }).waitFor();
  await page.getByText('On day 1 of each month at 02:00').first().waitFor();
  site.erp.account.setLatency(150);
  await press(page, page.getByRole('button', { name: 'Run now' }));
  await page.waitForURL('**/runs/*');
  await page.getByText('Reading from the ERP').first().waitFor();
  const navigation = page.getByRole('navigation', { name: 'Console' });
  await navigation.getByRole('link', { name: 'Syncs running' }).waitFor();
  site.erp.account.setLatency(0);
  await page.getByRole('heading', { name: 'Proof' }).waitFor();
  await page.getByText('Succeeded', { exact: true }).first().waitFor();
  await navigation.getByRole('link', { name: 'Syncs', exact: true }).waitFor();
  const proof = page.getByRole('region', { name: 'Proof' }).getByRole('table');
  const { records } = (await site.api('get', `/sync-configs/${id}`)).body;
  const count = records.toLocaleString('en-US');
  await page.getByRole('region', { name: 'Next step' }).getByRole('link', { name: 'Create v1' }).waitFor();
  const counted = `The ERP counts ${records} records, and ${records} were read.`;
  await proof.getByText(counted, { exact: true }).waitFor();
  await page.getByText(`Compared with the ERP before publishing. ${counted}`).waitFor();
  await page.getByText(/ (\d) of \1 checks agree\.$/).waitFor();
  await press(page, page.getByText('Show the log of the run'));
  await page.getByText('run succeeded').waitFor();
  await finish({ name: 'run-green' });
  await press(
    page,
    page.getByRole('navigation', { name: 'Breadcrumb' }).getByRole('link', { name: /^customer/ }),
  );
  await page.getByRole('heading', { name: 'History' }).waitFor();
  await page.getByText('1 run in 30 days: 1 succeeded.').waitFor();
  const plot = page.getByRole('slider', { name: 'Duration of the runs of the last 30 days' });
  await plot.focus();
  await page.keyboard.press('ArrowLeft');
  await page.locator('.plot figcaption').getByText('Succeeded').waitFor();
  await page.keyboard.press('Enter');
  await page.waitForURL('**/runs/*');
  await page.goBack();
  await press(page, page.getByRole('region', { name: 'History' }).getByText('Values'));
  await press(page, page.getByRole('region', { name: 'History' }).getByRole('link', { name: /Succeeded/ }));
  await page.waitForURL('**/runs/*');
  await page.goBack();
  await page.getByRole('region', { name: 'Runs' }).getByText(`${count} read · ${count} new`).waitFor();
  await finish({ name: 'sync-green' });
  expect((await runSync(site, id)).status).toBe('succeeded');
});

it('cancels a run that is open, and runs again', async () => {
  const id = await createSync(site, 'invoice', { name: 'Invoices' });
  const { page, finish } = await site.open(`/syncs/${id}`);
  site.erp.account.setLatency(2_000);
  await press(page, page.getByRole('button', { name: 'Full run' }));
  await page.waitForURL('**/runs/*');
  await page.getByRole('region', { name: 'Progress' }).waitFor();
  await press(page, page.getByRole('button', { name: 'Cancel run…' }));
  const dialog = page.getByRole('dialog', { name: 'Cancel this run' });
  await dialog.getByText('nothing is published').waitFor();
  await press(page, dialog.getByRole('button', { name: 'Cancel the run' }));
  await page.getByText('The run was cancelled.').waitFor();
  site.erp.account.setLatency(0);
  await finish({ name: 'run-cancelled' });
  const cancelled = page.url();
  await press(page, page.getByRole('button', { name: 'Run again' }));
  await page.waitForURL((address) => address.href !== cancelled);
  await page.getByText('Succeeded', { exact: true }).first().waitFor();
  await page.goBack();
  await page.getByText('The run was cancelled.').waitFor();
});

it('changes the schedule, pauses, chooses fields, and deletes a sync', async () => {
  const id = await createSync(site, 'item', { name: 'Items', schedule: '0 * * * *' });
  expect((await runSync(site, id)).status).toBe('succeeded');
  const { page, finish } = await site.open(`/syncs/${id}?show=settings`);
  await tabTo(page, page.getByLabel('Schedule'));
  await page.keyboard.type('Every day at');
  await page.getByLabel('Time', { exact: true }).waitFor();
  await tabTo(page, page.getByLabel('Time', { exact: true }));
  await page.keyboard.type('0630AM');
  await type(page, page.getByLabel('Alert recipients'), 'ops@aster.example');
  await page.getByText('Not saved yet').waitFor();
  await finish({ name: 'sync-settings' });
  await press(page, page.getByRole('button', { name: 'Save' }));
  await page.getByText('Saved', { exact: true }).waitFor();
  await page.getByText('Every day at 06:30, UTC').waitFor();
  const saved = (await site.api('get', `/sync-configs/${id}`)).body;
  expect(saved).toMatchObject({
    schedule: '30 6 * * *',
    alertRecipients: ['ops@aster.example'],
    enabled: true,
  });
  await press(page, page.getByRole('button', { name: 'Pause schedule' }));
  await page.getByRole('button', { name: 'Enable schedule' }).waitFor();
  await press(page, page.getByRole('link', { name: 'Fields' }));
  await finish({ name: 'sync-fields' });
  await press(page, page.getByRole('link', { name: 'Choose fields' }));
  await type(page, page.getByLabel('Search fields'), 'displayname');
  await press(page, page.getByRole('button', { name: 'Clear all shown' }));
  await page.getByText('0 added, 1 removed: not saved yet.').waitFor();
  await tabTo(page, page.getByRole('button', { name: 'Save fields' }), { back: true });
  await page.keyboard.press('Enter');
  await press(page, page.getByRole('dialog').getByRole('button', { name: 'Save fields' }));
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  expect((await site.api('get', `/sync-configs/${id}`)).body.fields).not.toContain('displayname');
  await press(page, page.getByRole('link', { name: 'Schedule and runs' }));
  await press(page, page.getByRole('link', { name: 'Fields' }));
  await press(page, page.getByRole('button', { name: 'Sync all fields…' }));
  await press(page, page.getByRole('dialog').getByRole('button', { name: 'Sync all fields' }));
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.getByText('Every field that can be synced').waitFor();
  expect((await site.api('get', `/sync-configs/${id}`)).body.fields).toBe('*');
  await press(page, page.getByRole('link', { name: 'Settings' }));
  await press(page, page.getByRole('button', { name: 'Delete', exact: true }));
  const dialog = page.getByRole('dialog', { name: 'Delete the sync Items' });
  await dialog.getByText(`${saved.records.toLocaleString('en-US')} stored records stay readable`).waitFor();
  await dialog.getByText('1 run with their logs').waitFor();
  await press(page, dialog.getByRole('button', { name: 'Delete this sync' }));
  await page.getByRole('heading', { level: 1, name: 'Syncs' }).waitFor();
  expect((await site.api('get', `/sync-configs/${id}`)).status).toBe(404);
});

it('finds syncs by name and state, and names a record that was rejected', async () => {
  const [customers] = (await site.api('get', '/sync-configs?recordType=customer')).body.data;
  const { account } = site.erp;
  const { records } = await sendControl(account, 'GET', '/records/customer?limit=1');
  await sendControl(account, 'PATCH', `/records/customer/${records[0].id}`, {
    fields: { entityid: 'x'.repeat(30_000) },
  });
  expect((await runSync(site, customers.id)).status).toBe('partial');
  const { page, finish } = await site.open('/syncs?state=partial');
  await page.getByRole('table').getByText('Customers').waitFor();
  expect(await page.getByRole('table').getByText('Invoices').count()).toBe(0);
  await type(page, page.getByLabel('Search by name'), 'inv');
  await page.getByText('Nothing matches these filters.').waitFor();
  await press(page, page.getByRole('button', { name: 'Clear filters' }));
  await page.getByRole('table').getByText('Invoices').waitFor();
  await finish({ name: 'syncs' });
  await page.setViewportSize({ width: 360, height: 800 });
  const box = await page.getByRole('button', { name: 'Run now: Customers' }).boundingBox();
  expect((box?.x ?? 360) + (box?.width ?? 0)).toBeLessThanOrEqual(344);
  await press(page, page.getByRole('button', { name: 'Run all' }));
  await page.getByText('2 runs started').waitFor();
  await press(page, page.getByRole('link', { name: 'Customers' }));
  await press(page, page.getByRole('link', { name: 'See the rejected records' }));
  await page.getByText('FIELD_TOO_LARGE').waitFor();
  await finish({ name: 'sync-rejected' });
  await sendControl(account, 'PATCH', `/records/customer/${records[0].id}`, {
    fields: { entityid: 'CUST-1' },
  });
  await press(page, page.getByRole('button', { name: 'Read 1 record again' }));
  await page.waitForURL('**/runs/*');
  await page.getByText('Succeeded', { exact: true }).first().waitFor();
});
