// A portal from nothing, by keyboard: whom it knows and what it shows, switched on, seen as a customer, a visitor
// blocked, and its sidebar arranged.
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { openIssuer } from '../../setup/issuer.ts';
import { asSuperuser } from '../../setup/superuser.ts';
import { choose, press, type, useConsole } from './console-site.ts';
import { syncRecordTypes } from './sync-seeds.ts';

const site = useConsole({ erp: 'connected', background: true });

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const link = (page: Page, name: string) => page.getByRole('main').getByRole('link', { name, exact: true });
const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name });
const locateRow = (page: Page, text: string) => page.getByRole('row').filter({ hasText: text });
const dialog = (page: Page) => page.getByRole('dialog');

type Row = Readonly<Record<string, unknown>>;

/** What a view of invoices shows. */
async function readColumns(name: string, columns: readonly string[], filters: object[]): Promise<Row[]> {
  const view = { name, recordType: 'invoice', columns, filters, visibility: 'organization' };
  const { id } = (await site.api('post', '/views', view)).body;
  return (await site.api('get', `/views/${id}/records?pageSize=100`)).body.data;
}

const openInvoices = { field: 'foreignamountunpaid', operator: 'gt', value: '0' };

/** A customer with open invoices, and the numbers of those. */
async function findCustomer() {
  const [first] = await readColumns('Open invoices', ['tranid', 'entity'], [openInvoices]);
  const id = String(first?.['entity']);
  const own = { field: 'entity', operator: 'eq', value: id };
  const invoices = await readColumns('Open invoices of one', ['tranid'], [openInvoices, own]);
  return { id, email: `orders@c${id}.example`, numbers: invoices.map(({ tranid }) => String(tranid)) };
}

let customer: Awaited<ReturnType<typeof findCustomer>>;
beforeAll(async () => {
  await asSuperuser(site.erp.database, (client) =>
    client.query("update ledger.customer set email = 'Orders@c' || id || '.example'"),
  );
  await syncRecordTypes(site, ['customer', 'invoice']);
  customer = await findCustomer();
});

/** A link that is moved into a group, out of it again, and below it. */
async function arrange(page: Page): Promise<void> {
  await press(page, button(page, 'Add a group'));
  await page.keyboard.type('Documents');
  await press(page, button(page, 'Add to Documents'));
  await page.keyboard.type('Invoices');
  await choose(page, 'Kind of Invoices', 'Records');
  await choose(page, 'Target of Invoices', 'invoice');
  await press(page, button(page, 'Add an item'));
  await page.keyboard.type('Our site');
  await choose(page, 'Kind of Our site', 'Link');
  await type(page, page.getByLabel('Target of Our site'), 'https://shop.example');
  await press(page, button(page, 'Move Our site into the group before it'));
  // The keyboard stays with the item that moved.
  await press(page, button(page, 'Move Our site up'), { max: 3 });
  await press(page, button(page, 'Move Our site out of its group'), { max: 4 });
}

describe('the portal', () => {
  it('is enabled from what is proposed, with a problem next to its field', async () => {
    const { page, finish } = await site.open('/portal');
    await page.getByText('No one can sign in yet.').waitFor();
    await page.getByText('The addresses are those of customer records.').waitFor();
    await finish({ name: 'portal-start' });
    await press(page, link(page, 'Choose whom'));
    await heading(page, 'Whom it knows and what it shows').waitFor();
    await page.getByText('This is proposed from what is synced.').waitFor();
    await press(page, page.locator('summary').filter({ hasText: 'invoice' }));
    const dueDate = page.getByLabel('Due date').locator('option[value="duedate"]');
    const offered = (await dueDate.textContent()) ?? '';
    await choose(page, 'Due date', 'None');
    await press(page, button(page, 'Add condition'));
    await type(page, page.getByLabel('Values of condition 2'), 'yesterday');
    await choose(page, 'Field of condition 2', 'trandate');
    await press(page, button(page, 'Enable the portal'));
    await page.getByText('must be a valid date').waitFor();
    await finish({ name: 'portal-access', statuses: [422] });
    await press(page, button(page, 'Remove condition 2'));
    await choose(page, 'Due date', offered);
    await press(page, button(page, 'Enable the portal'));
    await page.getByText('The portal is on.').waitFor();
    expect((await site.api('get', '/portal/access')).body).toMatchObject({ status: 'on', revision: 1 });
    await finish({ name: 'portal-enabled', statuses: [422] });
  });

  it('is seen as a customer, in a frame next to its steps and to how many use it', async () => {
    await site.arrange((tx) =>
      tx.raw(
        "insert into portal_activity (organization_id, email, month) select ?, n || '@c.example', date_trunc('month', now() at time zone 'UTC')::date from generate_series(1, 3) n",
        [site.organizationId],
      ),
    );
    const { page, finish } = await site.open('/portal');
    const visitors = page.locator('dl.stats div').filter({ hasText: 'Visitors this month' });
    await expect.poll(() => visitors.locator('dd').innerText()).toBe('3');
    await type(page, page.getByLabel('Address or customer id'), customer.id);
    await press(page, button(page, 'See as a customer'));
    const frame = page.frameLocator('iframe');
    await expect
      .poll(async () => {
        const text = await frame.locator('body').innerText();
        return customer.numbers.some((number) => text.includes(number));
      })
      .toBe(true);
    expect(page.frames().map((one) => new URL(one.url()).pathname)).toContain('/portal/aster-company/');
    await finish({ name: 'portal-as-customer' });
  });

  it('is designed with a colour that can be read and a logo', async () => {
    const { page, finish } = await site.open('/portal');
    await press(page, link(page, 'Design it'));
    await type(page, page.getByLabel('Name of the company'), 'Aster Lighting');
    await type(page, page.getByLabel('Colour of links and buttons'), '#ffcc00');
    await press(page, button(page, 'Save'));
    await page.getByText(/contrast of #ffcc00 with white/).waitFor();
    await finish({ name: 'portal-brand', statuses: [422] });
    await press(page, page.getByRole('button', { name: /^Use #/ }));
    await page.getByLabel('Logo').setInputFiles({
      name: 'logo.svg',
      mimeType: 'image/svg+xml',
      buffer: Buffer.from(
        '<svg xmlns="http://www.w3.org/2000/svg" width="80" height="20"><rect width="80" height="20" fill="#07a"/></svg>',
      ),
    });
    await page.getByAltText('The new logo').waitFor();
    await press(page, button(page, 'Save'));
    await page.getByText('80 × 20 px').waitFor();
    expect((await site.api('get', '/portal/branding')).body).toMatchObject({
      name: 'Aster Lighting',
      logo: { contentType: 'image/svg+xml' },
    });
    await finish({ name: 'portal-brand-saved', statuses: [422] });
  });

  it('has an identity provider at which visitors may sign in', async () => {
    const { page, finish } = await site.open('/portal/access');
    await page.getByText(/\/portal\/aster-company\/sign-in\/callback$/).waitFor();
    await press(page, button(page, 'Add a provider'), { max: 200 });
    await type(page, dialog(page).getByLabel('Issuer'), 'http://127.0.0.1:9');
    await type(page, dialog(page).getByLabel('Client id'), 'portal');
    await type(page, dialog(page).getByLabel('Client secret'), 'a secret of the provider');
    await press(page, dialog(page).getByRole('button', { name: 'Save', exact: true }));
    await dialog(page).getByText('or names another issuer').waitFor();
    await finish({ name: 'portal-provider', statuses: [422] });
    await type(page, dialog(page).getByLabel('Issuer'), await openIssuer());
    await press(page, dialog(page).getByRole('button', { name: 'Save', exact: true }));
    await page.getByText('Stored').waitFor();
    await finish({ name: 'portal-provider-saved', statuses: [422] });
  });

  it('shows what an address sees, and nothing to one that is blocked', async () => {
    const { page, finish } = await site.open('/visitors');
    await page.getByText('No one has signed in yet').waitFor();
    await press(page, button(page, 'Look up an address'));
    await type(page, dialog(page).getByLabel('Address'), customer.email);
    await press(page, button(page, 'Look up'));
    await dialog(page).getByText(`${customer.email} sees the records`).waitFor();
    await finish({ name: 'portal-look-up' });
    await page.keyboard.press('Escape');
    await press(page, button(page, 'Add a visitor'));
    await type(page, dialog(page).getByLabel('Address'), customer.email);
    await type(page, dialog(page).getByLabel('Customers by hand'), customer.id);
    await press(page, button(page, 'Add visitor'));
    await locateRow(page, customer.email).getByText('Never').waitFor();
    await press(page, button(page, 'Block'));
    await press(page, button(page, 'Block this address'));
    await locateRow(page, customer.email).getByText('Blocked', { exact: true }).waitFor();
    await finish({ name: 'portal-visitors' });
    await press(page, button(page, 'Look up an address'));
    await type(page, dialog(page).getByLabel('Address'), customer.email);
    await press(page, button(page, 'Look up'));
    await dialog(page).getByText(`${customer.email} sees nothing`).waitFor();
    await page.keyboard.press('Escape');
    await press(page, page.getByRole('button', { name: /^Unblock/ }));
    await link(page, 'See as').waitFor();
    await press(page, link(page, 'See as'));
    await expect.poll(() => page.getByLabel('Address or customer id').inputValue()).toBe(customer.email);
  });

  it('invites an address after it was counted', async () => {
    const { page, finish } = await site.open('/visitors');
    await page.getByRole('region', { name: 'Who can sign in' }).waitFor();
    await press(page, button(page, 'Invite'));
    await type(page, dialog(page).getByLabel('Address'), customer.email);
    await press(page, button(page, 'Count'));
    await dialog(page).getByText('Without an address').waitFor();
    await finish({ name: 'portal-invite' });
    await press(page, button(page, 'Send 1 mail'));
    await dialog(page).getByText('1 mail is on the way.').waitFor();
    await page.keyboard.press('Escape');
    await finish({ name: 'portal-invited' });
  });

  it('has its sidebar arranged by keyboard', async () => {
    const { page, finish } = await site.open('/pages?show=sidebar');
    await press(page, button(page, 'Add an item'));
    await page.keyboard.type('Our site');
    await choose(page, 'Kind of Our site', 'Link');
    await type(page, page.getByLabel('Target of Our site'), 'http://shop.example');
    await press(page, button(page, 'Add a group'));
    await page.keyboard.type('Documents');
    await press(page, button(page, 'Add to Documents'));
    await page.keyboard.type('Invoices');
    await choose(page, 'Kind of Invoices', 'Records');
    await choose(page, 'Target of Invoices', 'invoice');
    await press(page, button(page, 'Save sidebar'));
    await page.getByText('must be an https address').waitFor();
    await finish({ name: 'portal-sidebar', statuses: [422] });
    await page.reload();
    await page.getByText('Where visitors can go.').waitFor();
    await arrange(page);
    await press(page, button(page, 'Save sidebar'));
    await page.getByText('Saved').waitFor();
    expect((await site.api('get', '/portal/sidebar')).body.items).toMatchObject([
      { label: 'Documents', kind: 'group', children: [{ label: 'Invoices', target: 'invoice' }] },
      { label: 'Our site', target: 'https://shop.example', children: [] },
    ]);
    await finish({ name: 'portal-sidebar-saved', statuses: [422] });
  });
});
