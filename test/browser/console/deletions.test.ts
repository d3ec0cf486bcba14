// Held deletions in the console, by keyboard: looked at, some approved, the rest rejected.
import { beforeAll, expect, it } from 'vitest';
import { sendControl } from '../../setup/account-control.ts';
import { press, tabTo, type, useConsole } from './console-site.ts';
import { createSync, runSync } from './sync-seeds.ts';

const site = useConsole({ erp: 'connected', background: true });
let syncId: string;
let gone: string[];
beforeAll(async () => {
  syncId = await createSync(site, 'customer', { name: 'Customers', maxDeleteShare: 0 });
  await createSync(site, 'invoice', { name: 'Invoices' }).then((id) => runSync(site, id));
  expect((await runSync(site, syncId)).status).toBe('succeeded');
  const { account } = site.erp;
  const { records } = await sendControl(account, 'GET', '/records/customer?limit=30');
  gone = records.map(({ id }: { id: string }) => id);
  for (const id of gone) await sendControl(account, 'DELETE', `/records/customer/${id}?listed=false`);
  expect(await runSync(site, syncId, 'full')).toMatchObject({
    status: 'partial',
    error: { code: 'DELETIONS_HELD' },
  });
});

it('leads from the list to the records, and says what is known of each', async () => {
  const { page, finish } = await site.open('/syncs');
  await page.getByText('Deletions held').waitFor();
  await press(page, page.getByRole('link', { name: 'Customers' }));
  await page.getByText('30 deletions are held').waitFor();
  await finish({ name: 'sync-held' });
  await press(page, page.getByRole('link', { name: 'Look at the records' }));
  await page.getByRole('heading', { level: 1, name: '30 held deletions of customer' }).waitFor();
  await page.getByText('30 of 1,199 stored records').waitFor();
  expect(await page.getByRole('checkbox').count()).toBe(30);
  await finish({ name: 'proposal' });
});

const stored = async (): Promise<number> => (await site.api('get', `/sync-configs/${syncId}`)).body.records;
const openProposal = async () =>
  (await site.api('get', `/sync-configs/${syncId}/deletion-proposals?status=open`)).body.data[0];

it('approves two of them after a question in numbers, and the run deletes only these', async () => {
  const { id } = await openProposal();
  const { page, finish } = await site.open(`/syncs/${syncId}/deletions/${id}`);
  const [first, second] = [gone[0], gone[1]];
  await press(page, page.getByRole('checkbox', { name: `Delete CUST${first}` }), { key: 'Space' });
  await press(page, page.getByRole('checkbox', { name: `Delete CUST${second}` }), { key: 'Space' });
  await page.getByText('2 of 30 records selected.').waitFor();
  await tabTo(page, page.getByRole('button', { name: 'Approve 2 selected…' }), { back: true });
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Delete 2 records' });
  await dialog.getByText('The other 28 records stay and keep waiting for a decision.').waitFor();
  await finish({ name: 'proposal-approve', fullPage: false });
  await press(page, dialog.getByRole('button', { name: 'Approve 2 deletions' }));
  await page.waitForURL('**/runs/*');
  await page.getByRole('heading', { name: "Why it isn't green" }).waitFor();
  await page.getByRole('heading', { name: '28 deletions are held' }).waitFor();
  await page.getByText('Everything was published, except what is named here.').waitFor();
  expect(await stored()).toBe(1_197);
  await finish({ name: 'run-held' });
});

it('rejects the rest, and the next run is green', async () => {
  const { page, finish } = await site.open(`/syncs/${syncId}?show=deletions`);
  await page.getByRole('table').getByText('Carried out').waitFor();
  const row = page.getByRole('row').filter({ hasText: 'Waits for a decision' });
  await press(page, row.getByRole('link'));
  await press(page, page.getByRole('button', { name: 'Reject all 28…' }));
  const dialog = page.getByRole('dialog', { name: 'Keep 28 records' });
  await dialog.getByText('Nothing is deleted.').waitFor();
  await type(page, dialog.getByLabel('Reason'), 'Hidden from the role by mistake');
  await press(page, dialog.getByRole('button', { name: 'Reject 28 deletions' }));
  await page.getByText('Rejected', { exact: true }).waitFor();
  await finish({ name: 'proposal-rejected' });
  await press(
    page,
    page.getByRole('navigation', { name: 'Breadcrumb' }).getByRole('link', { name: /^customer/ }),
  );
  await press(page, page.getByRole('button', { name: 'Run now' }));
  await page.waitForURL('**/runs/*');
  await page.getByText('Succeeded', { exact: true }).first().waitFor();
  expect(await stored()).toBe(1_197);
});

it('shows a person who may only look the records, and no button to decide', async () => {
  const { data } = (await site.api('get', `/sync-configs/${syncId}/deletion-proposals?status=rejected`)).body;
  const { page, finish } = await site.open(`/syncs/${syncId}/deletions/${data[0].id}`, {
    role: ['sync:read', 'record:read'],
  });
  await page.getByRole('heading', { name: 'Records', exact: true }).waitFor();
  expect(await page.getByRole('button', { name: /Approve|Reject/ }).count()).toBe(0);
  await finish();
});
