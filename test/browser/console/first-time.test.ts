// The whole first-time story, by keyboard alone and at the service's own rate limit: from a person without an
// organization to the first request with an API key, copied from the page; and from there to a customer who reads an
// invoice on the company's own domain.
import type { Locator, Page } from 'playwright-core';
import { beforeAll, expect, it } from 'vitest';
import { nextCode } from '../../portal/visiting.ts';
import { accountId } from '../../setup/erp.ts';
import { makePerson } from '../../setup/organization.ts';
import { asSuperuser } from '../../setup/superuser.ts';
import { expectSound, listen, portalHost, type Visit } from '../chromium.ts';
import { press as pressByKey, type Story, tabTo, type as typeByKey, useConsole } from './console-site.ts';

const perMinute = 60;
const site = useConsole({
  erp: 'started',
  background: true,
  outside: true,
  settings: { allowSignup: true, rateLimitPerMinute: perMinute },
});

const maxClicks = 24;
/**
 * How often someone with a mouse would have clicked so far, also in the account's pages: on each button, link
 * and checkbox, and into each field that doesn't have the focus already.
 */
let clicks = 0;
function press(...args: Parameters<typeof pressByKey>): Promise<void> {
  clicks += 1;
  return pressByKey(...args);
}
async function enter(page: Page): Promise<void> {
  clicks += 1;
  await page.keyboard.press('Enter');
}
async function type(page: Page, field: Locator, text: string): Promise<void> {
  await field.waitFor();
  if ((await field.and(page.locator(':focus')).count()) === 0) clicks += 1;
  await typeByKey(page, field, text);
}

const heading = (page: Page, name: string | RegExp) =>
  page.getByRole('heading', { level: 1, name }).waitFor();
const button = (page: Page, name: string | RegExp): Locator => page.getByRole('button', { name });
const link = (page: Page, name: string | RegExp): Locator =>
  page.getByRole('main').getByRole('link', { name });

type Answered = { readonly at: number; readonly status: number; readonly request: string };

/** Every answer of the management interface to the visit. */
function recordAnswers({ context }: Visit): Answered[] {
  const answers: Answered[] = [];
  context.on('response', (response) => {
    const { pathname } = new URL(response.url());
    if (!pathname.startsWith('/api/platform/')) return;
    answers.push({
      at: Date.now(),
      status: response.status(),
      request: `${response.request().method()} ${pathname.slice(17)}`,
    });
  });
  return answers;
}

/** The highest number of answers within one minute. */
const busiestMinute = (answers: readonly Answered[]): number =>
  Math.max(
    ...answers.map(({ at: from }) => answers.filter(({ at }) => at >= from && at < from + 60_000).length),
  );

/** Presses the button that copies, and returns what is in the clipboard then. */
async function copy(page: Page, name: string): Promise<string> {
  await press(page, button(page, name));
  await page.getByText('Copied').first().waitFor();
  return page.evaluate<string>('navigator.clipboard.readText()');
}

/** In the set-up pages of the account, opened in a second tab. */
async function openAccount({ context }: Visit): Promise<Page> {
  const { control, url } = site.erp.account;
  const tab = await context.newPage();
  await tab.goto(`${control?.url}/set-up#token=${control?.token}`);
  await tab.getByText(url).waitFor();
  return tab;
}

/** The id that the account shows after it created or accepted something. */
async function idShown(tab: Page, title: string): Promise<string> {
  const shown = tab.getByRole('status').filter({ hasText: title });
  await shown.waitFor();
  return (await shown.locator('code').textContent()) ?? '';
}

async function connect(visit: Story): Promise<void> {
  const { page } = visit;
  const tab = await openAccount(visit);
  await type(tab, tab.getByLabel('Name'), 'Portal Service');
  await enter(tab);
  const clientId = await idShown(tab, 'Integration created');

  await page.bringToFront();
  await type(page, page.getByLabel('Account id'), accountId);
  await type(page, page.getByLabel('Client id'), clientId);
  await type(page, page.getByLabel('Another address'), site.erp.account.url);
  await enter(page);
  const certificate = await copy(page, 'Copy certificate');
  await judge(visit, 'connection');

  await tab.bringToFront();
  clicks += 1;
  await tabTo(tab, tab.getByLabel('Certificate (PEM)'));
  await tab.keyboard.press('ControlOrMeta+v');
  expect(await tab.getByLabel('Certificate (PEM)').inputValue()).toBe(certificate);
  await press(tab, button(tab, 'Upload'));
  const certificateId = await idShown(tab, 'Certificate uploaded');
  await tab.close();

  await page.bringToFront();
  await type(page, page.getByLabel('Certificate id'), certificateId);
  await enter(page);
  await page.getByText(`can sign in to account ${accountId}`).waitFor();
}

/** Also of the account's pages, which are of another origin: the second tab opened them, not the console. */
const judge = (visit: Story, name: string, fullPage = false): Promise<void> =>
  visit.finish({
    name: `first-${name}`,
    statuses: [404],
    fullPage,
    origins: [new URL(site.erp.account.control?.url ?? '').origin],
  });

/**
 * Chooses invoices with the proposed fields, follows the first run to its end, and returns how many records it
 * proved.
 */
async function sync(visit: Story): Promise<number> {
  const { page } = visit;
  await press(page, link(page, 'Choose record types'));
  await type(page, page.getByLabel('Search'), 'invoice');
  await page.waitForURL(/q=invoice/);
  await press(page, link(page, 'Invoice'));
  await heading(page, 'Invoice');
  await judge(visit, 'fields');
  site.erp.account.setLatency(400);
  await press(page, button(page, 'Create sync'));
  await heading(page, 'Run of invoice');
  const progress = page.getByRole('region', { name: 'Progress' }).getByRole('progressbar');
  const done = async (): Promise<number> => Number((await progress.getAttribute('value')) ?? '0');
  await expect.poll(done, { timeout: 30_000 }).toBeGreaterThan(0);
  const [first, address] = [await done(), page.url()];
  await expect.poll(done, { timeout: 30_000 }).toBeGreaterThan(first);
  await judge(visit, 'run');
  site.erp.account.setLatency(0);
  await page.getByText('Succeeded', { exact: true }).first().waitFor();
  const compared = page
    .getByRole('region', { name: 'Proof' })
    .getByText(/^The ERP counts (\d+) records, and \1 were read\.$/);
  await compared.waitFor();
  expect(page.url()).toBe(address);
  await judge(visit, 'proof');
  return Number(/\d+/.exec((await compared.textContent()) ?? '')?.[0]);
}

/** Drafts a version from what is synced, and publishes it as it is proposed. */
async function publish(visit: Story): Promise<void> {
  const { page } = visit;
  await press(page, link(page, 'Create v1'));
  await press(page, button(page, /^Draft a version from 1 record type/));
  await page.getByText(/^Ready to publish/).waitFor();
  await judge(visit, 'draft');
  await press(page, button(page, 'Review and publish'));
  await heading(page, 'Publish v1');
  await press(page, button(page, 'Publish v1'));
  await page.getByText('v1 is published: 1 resource can be read by API keys.').waitFor();
  await page.getByText(/reads? were tried on the real/).waitFor();
  await judge(visit, 'published');
}

/** Creates a key, and returns the request that the page offers. */
async function createKey(visit: Story): Promise<string> {
  const { page } = visit;
  await press(page, link(page, 'Create an API key'));
  await type(page, page.getByLabel('Name'), 'Partner portal');
  await press(page, button(page, 'Create the key'));
  await page.getByText('Copy it now').waitFor();
  const request = await copy(page, 'Copy the request');
  await judge(visit, 'key');
  return request;
}

/** Sends what a curl command asks for. */
async function send(
  command: string,
): Promise<{ status: number; body: { data: object[]; pagination: { total: number } } }> {
  const headers = [...command.matchAll(/-H "([^:"]+): ([^"]+)"/g)].map(
    ([, name = '', value = '']) => [name, value] as [string, string],
  );
  const [address = ''] = /http:\/\/[^\s"']+/.exec(command) ?? [];
  const response = await fetch(address, { headers });
  return {
    status: response.status,
    body: (await response.json()) as Awaited<ReturnType<typeof send>>['body'],
  };
}

let founder = '';
/** Of a customer that owes something. */
let invoice: { readonly entity: string; readonly tranid: string };
beforeAll(async () => {
  founder = (await makePerson(site.service.ctx, 'ada@aster.example')).id;
  invoice = await asSuperuser(site.erp.database, async (client) => {
    await client.query("update ledger.customer set email = 'Orders@c' || id || '.example'");
    const text = `select entity, tranid from ledger.transaction where type = 'CustInvc' and foreignamountunpaid > 0 order by id limit 1`;
    return (await client.query(text)).rows[0];
  });
});
const visitAsFounder = (): Promise<Story> =>
  site.visitAs(founder, null, {
    permissions: ['clipboard-read', 'clipboard-write'],
    viewport: { width: 1280, height: 800 },
  });

const overview = async (visit: Story): Promise<void> => {
  await press(visit.page, visit.page.getByRole('link', { name: 'Overview' }));
  await heading(visit.page, 'Overview');
};

it('leads from no organization to the first request of its own API, without a request refused', {
  timeout: 240_000,
}, async () => {
  const visit = await visitAsFounder();
  const { page } = visit;
  const answers = recordAnswers(visit);

  await page.goto(site.origin);
  await heading(page, 'Create your organization');
  await type(page, page.getByLabel('Name'), 'Aster Wholesale');
  await enter(page);
  await heading(page, 'Overview');
  await page.getByText('0 of 6 done').waitFor();
  await judge(visit, 'overview');
  await press(page, link(page, 'Connect your ERP'));
  await press(page, link(page, 'NetSuite'));
  await connect(visit);
  const records = await sync(visit);
  await publish(visit);
  const request = await createKey(visit);
  const toRequest = clicks;
  const { status, body } = await send(request);
  expect([status, body.pagination.total, body.data.length]).toEqual([200, records, 1]);
  await overview(visit);
  await page.getByText('Nothing needs your attention.').waitFor();
  await judge(visit, 'done');

  expect(toRequest, 'clicks to the first request').toBeLessThanOrEqual(maxClicks);
  expect(answers.filter((answer) => answer.status === 429)).toEqual([]);
  expect(busiestMinute(answers)).toBeLessThanOrEqual(perMinute);
  process.stdout.write(
    `clicks to the first request: ${toRequest}; requests of the page: ${answers.length}, at most ${busiestMinute(answers)} in a minute\n`,
  );
});

/** Proves by the DNS that the domain is the company's, and serves the portal there. */
async function takeDomain({ page }: Story): Promise<void> {
  await press(page, button(page, 'Add a domain'));
  await type(page, page.getByLabel('Hostname'), portalHost);
  await enter(page);
  await press(page, button(page, 'DNS record'));
  const [name, value] = [await copy(page, 'Copy name'), await copy(page, 'Copy value')];
  site.dns.set(name, { txt: [value] });
  await press(page, button(page, 'Look it up now'));
  await press(page, button(page, 'Make primary'));
  await button(page, 'Not primary any more').waitFor();
}

it('leads on to a customer who reads an invoice on the company’s own domain', {
  timeout: 240_000,
}, async () => {
  // No person goes on so fast that both stories are in one minute.
  await site.service.ctx.db.control('rate_limits').delete();
  const visit = await visitAsFounder();
  const { page } = visit;
  await page.goto(`${site.origin}/console/record-types?q=customer`);
  await press(page, link(page, 'Customer'));
  await press(page, button(page, 'Create sync'));
  await page.getByText('Succeeded', { exact: true }).first().waitFor();
  await page.goto(`${site.origin}/console/portal`);
  await press(page, link(page, 'Choose whom'));
  await press(page, button(page, 'Enable the portal'));
  await page.getByText('The portal is on.').waitFor();
  await page.goto(`${site.origin}/console/domains`);
  await takeDomain(visit);
  await page.goto(`${site.origin}/console/portal`);
  await page.getByText(`Visitors open https://${portalHost}`).waitFor();
  await judge(visit, 'portal');

  const portal = await listen(site.service.app, { atPortalHost: true });
  const { page: own } = await site.visit({ ignoreHTTPSErrors: true });
  await own.goto(portal.origin);
  await own.getByLabel('E-mail address').fill(`orders@c${invoice.entity}.example`);
  await own.getByRole('button', { name: 'Send me a code' }).click();
  await own.locator('input[name="code"]').fill(await nextCode({ ctx: site.service.ctx, mails: site.mails }));
  await own.locator('input[name="code"]').press('Enter');
  await heading(own, 'Your account');
  await own.getByRole('link', { name: 'Invoices', exact: true }).first().click();
  await own.getByRole('searchbox').fill(invoice.tranid);
  await own.keyboard.press('Enter');
  await own.getByRole('link', { name: invoice.tranid, exact: true }).click();
  await heading(own, invoice.tranid);
  await expectSound(own, 'first-portal-record');
  await portal.close();
});
