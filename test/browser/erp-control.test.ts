// The simulated account's control page, as a person uses it: hides a column, puts faults, edits a record, and
// sees what the account did.
import { randomBytes } from 'node:crypto';
import { type NetsuiteAccount, startNetsuiteAccount } from 'netsuite-simulator';
import { afterAll, afterEach, beforeAll, expect, inject, it } from 'vitest';
import { dropDatabase, signIn } from '../../packages/netsuite-simulator/test/test-account.ts';
import { accountId, dataFolder } from '../setup/erp.ts';
import { until } from '../setup/until.ts';
import { expectSound, looks, readTraces, useVisits, type Visit } from './chromium.ts';

const database = `erp_${randomBytes(6).toString('hex')}`;
let account: NetsuiteAccount;
const openVisit = useVisits();

beforeAll(async () => {
  account = await startNetsuiteAccount({ admin: inject('pg'), database, dataFolder, accountId, control: {} });
});
afterAll(async () => {
  await account.stop();
  await dropDatabase(database);
});
afterEach(() => control('POST', '/reset'));

async function control(method: string, path: string): Promise<Record<string, unknown>> {
  const { url, token } = account.control ?? { url: '', token: '' };
  const answer = await fetch(`${url}${path}`, { method, headers: { authorization: `Bearer ${token}` } });
  return (await answer.json()) as Record<string, unknown>;
}

async function openPage(
  token = account.control?.token,
  options: Parameters<typeof openVisit>[0] = {},
): Promise<Visit> {
  const visit = await openVisit(options);
  await visit.page.goto(`${account.control?.url}/#token=${token}`);
  return visit;
}

async function query(q: string): Promise<{ status: number; text: string }> {
  const headers = { authorization: `Bearer ${await signIn(account)}`, prefer: 'transient' };
  const answer = await fetch(`${account.url}/services/rest/query/v1/suiteql`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ q }),
  });
  return { status: answer.status, text: await answer.text() };
}

it('hides a column with the keyboard, shows the refused query, and shows the column again', async () => {
  const visit = await openPage();
  const { page, complaints } = visit;
  const form = page.locator('#hide-form');
  await form.getByRole('combobox', { name: 'Table', exact: true }).selectOption('transaction');
  await form.getByRole('combobox', { name: 'Column', exact: true }).selectOption('duedate');
  await form.getByRole('button', { name: 'Hide' }).focus();
  await page.keyboard.press('Enter');
  await page.locator('#glance').getByText('transaction.duedate').waitFor();
  expect((await control('GET', '/state'))['hidden']).toEqual({
    tables: [],
    columns: { transaction: ['duedate'] },
    rows: {},
  });
  expect(await query('SELECT duedate FROM transaction')).toMatchObject({ status: 400 });
  const refused = page.locator('#requests tr').filter({ hasText: 'rows' });
  expect(await refused.innerText()).toMatch(/transaction\s+POST query\/v1\/suiteql\s+400/);
  await page.getByRole('button', { name: 'Show again: column transaction.duedate' }).click();
  await page.getByText('Nothing is hidden.').waitFor();
  expect((await query('SELECT duedate FROM transaction')).status).toBe(200);
  expect(complaints).toEqual([]);
  // The token is neither in the address nor anywhere but this tab's session.
  const [held] = JSON.parse(await readTraces(visit)) as [Record<string, unknown>];
  expect(held).toMatchObject({
    local: {},
    session: { 'control-token': account.control?.token },
    cookie: '',
    address: `${account.control?.url}/`,
  });
});

it('puts common faults and one of the form, removes them, and says why a fault is refused', async () => {
  const { page } = await openPage();
  await page.getByRole('button', { name: 'Lose second lines' }).click();
  await page.getByRole('button', { name: 'Outage' }).click();
  const form = page.locator('#fault-form');
  await form.getByLabel('Effect').selectOption('Empty a column');
  await form.getByRole('textbox', { name: 'Column' }).fill('email');
  await form.getByLabel('On table').selectOption('customer');
  await form.getByLabel('Times').fill('3');
  await form.getByRole('button', { name: 'Put fault' }).click();
  await page.getByText('nullColumn:email on all answers of customer, 3 times').waitFor();
  expect((await control('GET', '/state'))['faults']).toEqual([
    { on: { table: 'transactionline', kind: 'rows' }, dropRows: { where: { linesequencenumber: 2 } } },
    { on: {}, status: 503 },
    { on: { table: 'customer' }, times: 3, nullColumn: 'email' },
  ]);
  await page.getByRole('button', { name: 'Remove status:503 on all answers' }).click();
  await until(async () =>
    page
      .locator('#faults li')
      .count()
      .then((count) => count === 2 || undefined),
  );
  await form.getByRole('textbox', { name: 'Column' }).fill('nothing');
  await form.getByRole('button', { name: 'Put fault' }).click();
  await page.getByRole('status').filter({ hasText: 'nothing, which is no column of customer' }).waitFor();
  await page.getByRole('button', { name: 'Reset everything' }).click();
  await page.getByText('No faults are put.').waitFor();
});

it('edits, removes and restores a record, and adds a custom field', async () => {
  const { page, complaints } = await openPage();
  const found = page.locator('#record-form');
  await found.getByLabel('Table').selectOption('customer');
  await page.locator('#record-list').getByRole('button', { name: '12347', exact: true }).click();
  await page.getByRole('heading', { name: 'customer 12347' }).waitFor();
  const record = page.locator('#record');
  await record.getByLabel('defaultcountry').fill('Norway');
  await record.getByRole('button', { name: 'Save changes' }).click();
  await page.getByText('The record is changed.').waitFor();
  expect((await query('SELECT defaultcountry FROM customer WHERE id = 12347')).text).toContain('Norway');
  await record.getByRole('button', { name: 'Remove' }).click();
  await page.getByText('customer 12347 is removed.').waitFor();
  expect((await query('SELECT recordid FROM deletedrecord')).text).toContain('12347');
  await found.getByLabel('Internal id').fill('12347');
  await found.getByRole('button', { name: 'Restore' }).click();
  await page.getByRole('heading', { name: 'customer 12347' }).waitFor();
  const fields = page.locator('#field-form');
  await fields.getByLabel('Table').selectOption('customer');
  await fields.getByLabel('Name').fill('custentity_tier');
  await fields.getByLabel('Label').fill('Tier');
  await fields.getByLabel('Type').selectOption('list');
  await fields.getByLabel('Entries').fill('Gold, Silver');
  await fields.getByRole('button', { name: 'Add field' }).click();
  await page.getByText('customer.custentity_tier').waitFor();
  expect((await query('SELECT custentity_tier FROM customer')).status).toBe(200);
  expect(complaints).toEqual([]);
});

it('steps the clock, takes places and permissions away, and asks again for a token that is wrong', async () => {
  const { page } = await openPage();
  await page.getByRole('button', { name: 'Step the clock by −1 hour' }).click();
  await page.locator('#glance').getByText('-3600 s from the books').waitFor();
  await page.getByLabel('Places of the concurrency limit').fill('5');
  await page.getByRole('button', { name: 'Set load' }).click();
  await page.locator('#glance').getByText('others hold 5 of 5 places').waitFor();
  await page.getByText('Permissions of the role').click();
  await page.getByLabel('deletedRecords').selectOption('none');
  await page.getByRole('button', { name: 'Set permissions' }).click();
  await page.locator('#glance').getByText('deletedRecords: none').waitFor();
  const wrong = await openPage('wrong');
  await wrong.page.getByText('This token is not valid.').waitFor();
  await wrong.page.getByLabel('Token').fill(account.control?.token ?? '');
  await wrong.page.getByRole('button', { name: 'Continue' }).click();
  await wrong.page.getByRole('heading', { name: 'At a glance' }).waitFor();
});

it.each(looks)('looks right at $name', async ({ name, width, colorScheme }) => {
  const { page } = await openPage(undefined, { viewport: { width, height: 900 }, colorScheme });
  await page.getByRole('button', { name: 'Slow queries' }).click();
  await page.locator('#faults li').waitFor();
  await page.locator('#record-form').getByLabel('Internal id').fill('514012');
  await page.locator('#record-form').getByRole('button', { name: 'Show' }).click();
  await page.getByRole('heading', { name: 'transaction 514012' }).waitFor();
  await expectSound(page, `erp-control-${name}`, { fullPage: true });
});
