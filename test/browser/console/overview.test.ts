// The overview in the console, by keyboard: the set-up of an empty organization, what is wrong first, and
// what each person may see.
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { sendControl } from '../../setup/account-control.ts';
import { openScreen, press, tabTo, useConsole } from './console-site.ts';
import { createSync, publishDraft, runSync } from './sync-seeds.ts';

const site = useConsole({ erp: 'started', background: true });

const back = async (page: Page): Promise<void> => {
  await page.goBack();
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
};
const step = (page: Page, title: string) => page.getByRole('listitem').filter({ hasText: title });

it('guides an empty organization through its set-up', async () => {
  const { page, finish } = await site.open('/');
  await page.getByText('From your ERP to an API of your own in a few steps.').waitFor();
  await page.getByText('1 of 6 done').waitFor(); // the key of the harness
  await press(page, page.getByRole('link', { name: 'Connect your ERP' }));
  await page.waitForURL('**/connection');
  await back(page);
  await finish({ name: 'overview-empty' });

  await site.erp.connect(site.api);
  expect((await site.api('post', '/netsuite/connection/test')).body).toMatchObject({ ok: true });
  expect((await site.api('post', '/netsuite/metadata/refresh')).status).toBe(200);
  await page.reload();
  await page.getByText('2 of 6 done').waitFor();
  await tabTo(page, page.getByRole('link', { name: 'Choose record types' }));
  const id = await createSync(site, 'customer', { name: 'Customers', maxDeleteShare: 0 });
  await page.reload();
  await page.getByText('3 of 6 done').waitFor();
  await press(page, page.getByRole('link', { name: 'Start the first run' }));
  await page.waitForURL(`**/syncs/${id}`);
  expect((await runSync(site, id)).status).toBe('succeeded');
  await back(page);
  await page.reload();
  await page.getByText('4 of 6 done').waitFor();
  expect(await step(page, 'Finish the first sync').count()).toBe(0);
  await page.getByText('1,199').first().waitFor();
  await publishDraft(site, ['customer']);
  await page.reload();
  await page.getByText('5 of 6 done').waitFor();
  await page.getByRole('table').getByText('Published').waitFor();
  await page.getByText(/Requests appear here within half a minute\./).waitFor();
  await finish({ name: 'overview-set-up' });
  await press(page, page.getByRole('button', { name: 'Hide' }));
  await page.getByRole('heading', { name: 'Set-up' }).waitFor({ state: 'detached' });
  await page.reload();
  await page.getByText('Nothing needs your attention.').waitFor();
  expect(await page.getByRole('heading', { name: 'Set-up' }).count()).toBe(0);
});

it('says calmly that all is well, with the requests of the last days, and reads it again in one request', async () => {
  await site.arrange((tx) =>
    tx.raw(
      `insert into api_key_usage (organization_id, api_key_id, day, version, resource, succeeded, not_modified, refused, failed)
       select organization_id, id, (now() at time zone 'UTC')::date - n, 'v1', 'customers', 40 + 31 * n % 70, 5, case n when 4 then 30 else 1 end, 0
       from api_keys, generate_series(0, 24) as n`,
    ),
  );
  const visit = await site.visit();
  const { page } = visit;
  await site.signIn(visit);
  await page.clock.install();
  await openScreen(visit, `${site.origin}/console`);
  await page.getByText('Nothing needs your attention.').waitFor();
  const reads = (): string[] =>
    visit.requested
      .filter((address) => address.includes('/api/platform/v1/') && !address.includes('/whoami'))
      .map((address) => new URL(address).pathname);
  expect(reads()).toEqual(['/api/platform/v1/overview']);
  expect(await page.getByRole('heading', { name: 'Set-up' }).count()).toBe(0);
  await page.getByRole('slider', { name: /^Requests by day/ }).waitFor();
  await tabTo(page, page.getByRole('link', { name: 'API keys' }).last());
  await visit.finish({ name: 'overview-green' });

  const before = reads().length;
  await page.clock.runFor(15_000);
  await expect.poll(() => reads().length).toBeGreaterThan(before);
  expect([...new Set(reads())]).toEqual(['/api/platform/v1/overview']);
});

/** The id of the sync whose deletions are held. */
async function breakThings(): Promise<string> {
  const customers = (await site.api('get', '/sync-configs?recordType=customer')).body.data[0].id;
  const { records } = await sendControl(site.erp.account, 'GET', '/records/customer?limit=30');
  for (const { id } of records)
    await sendControl(site.erp.account, 'DELETE', `/records/customer/${id}?listed=false`);
  expect(await runSync(site, customers, 'full')).toMatchObject({ error: { code: 'DELETIONS_HELD' } });
  const invoices = await createSync(site, 'invoice', { name: 'Invoices' });
  site.erp.account.setVisible('transaction', false);
  expect((await runSync(site, invoices)).status).toBe('failed');
  return customers;
}

it('names a failing sync and held deletions first, each with the way to mend it', async () => {
  const customers = await breakThings();
  const { body: connection } = await site.api('get', '/netsuite/connection');
  await site.erp.account.revokeCertificate(connection.authentication.certificateId);
  site.erp.account.revokeTokens();
  expect((await runSync(site, customers)).status).toBe('failed');
  const { page, finish } = await site.open('/');
  const problems = page.getByRole('region', { name: 'Problems' }).getByRole('listitem');
  await problems.first().waitFor();
  const texts = await problems.allInnerTexts();
  expect(texts.join('\n')).toContain('30 deletions wait for approval');
  // The refused login is one problem, with the syncs that it stops; what NetSuite said of it is folded.
  expect(texts[0]).toContain('The connection to the ERP does not work');
  expect(texts[0]).toContain('1 sync waits for it.');
  expect(texts.join('\n')).not.toContain('refused the login');
  const reported = problems.getByText(/refused the login/);
  await press(page, problems.first().getByText('What was reported'));
  await reported.waitFor();
  expect(await reported.count()).toBe(1);
  await page.getByText(/^\d errors? and 1 warning, the worst first\.$/).waitFor();
  await problems.first().getByRole('img', { name: 'Error' }).waitFor();
  await problems.last().getByRole('img', { name: 'Warning' }).waitFor();
  await finish({ name: 'overview-red' });

  await press(page, problems.getByRole('link', { name: /^Open the connection/ }));
  await page.waitForURL('**/connection');
  await back(page);
  await press(page, problems.getByRole('link', { name: /^(See the run|Open the sync).*Invoices/ }));
  await page.waitForURL(/\/(runs|syncs)\/[0-9a-f-]+$/);
  await back(page);
  await press(page, problems.getByRole('link', { name: /^Review the deletions/ }));
  await page.waitForURL(`**/syncs/${customers}/deletions/*`);
  await page.getByRole('heading', { level: 1 }).getByText('30 held deletions').waitFor();
});

it('shows a person what they may see', async () => {
  const keys = await site.open('/', { role: ['api-key:read'] });
  await keys.page.getByText('Requests today').waitFor();
  for (const hidden of ['Problems', 'Syncs', 'API versions'])
    expect(await keys.page.getByRole('region', { name: hidden }).count()).toBe(0);
  await keys.finish({ name: 'overview-keys-only' });
  const none = await site.open('/', { role: ['team:read'] });
  await none.page.getByText('Your role shows nothing on this page.').waitFor();
  await none.finish();
  const viewer = await site.open('/', { role: 'viewer' });
  await viewer.page.getByRole('region', { name: 'Problems' }).waitFor();
  await viewer.page.getByRole('region', { name: 'Syncs' }).first().waitFor();
});
