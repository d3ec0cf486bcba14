// A customer's bookkeeper in a real browser: signs in with the code of a mail, finds what is late, reads an invoice,
// takes the list along, and reads it in German. The pages fit every window, axe finds nothing, they load nothing from
// elsewhere, and they work without scripts.
import { gzipSync } from 'node:zlib';
import type { Express } from 'express';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import { loadCompany } from '../portal/company.ts';
import { asOwner, switchOn } from '../portal/served-portal.ts';
import { nextCode } from '../portal/visiting.ts';
import { useOrganization } from '../setup/use-organization.ts';
import {
  expectSound,
  foreignRequests,
  listen,
  looks,
  readDownload,
  type Site,
  useVisits,
  withoutFailedLoads,
} from './chromium.ts';

const org = useOrganization({ mail: true, name: 'Aster Wholesale' });
const openVisit = useVisits();
let site: Site;
let home = '';

const day = (offset: number): string => new Date(Date.now() + offset * 86_400_000).toISOString().slice(0, 10);
const invoices = Array.from({ length: 30 }, (_, index) => ({
  ...{
    id: 100 + index,
    tranid: `INV-${100 + index}`,
    trandate: day(-40 - index),
    duedate: day(20 - 5 * index),
  },
  ...{ total: 1_000 + index, unpaid: index % 3 === 0 ? 0 : 100 + index, entity: 1, status: 'Invoice : Open' },
  lines: null,
}));

beforeAll(async () => {
  const customers = [{ id: 1, name: 'Birch Market', email: 'orders@birch.example', isinactive: false }];
  await loadCompany(org.ctx, org.id, { customers, contacts: [], invoices });
  await switchOn(await asOwner(org));
  let app: Express | undefined;
  site = await listen(((req, res) => app?.(req, res)) as Express);
  app = createApp({ ...org.ctx, settings: { ...org.ctx.settings, publicUrl: site.origin } });
  home = `${site.origin}/portal/${org.slug}/`;
});
afterAll(() => site.close());

async function signIn(page: Page): Promise<void> {
  await org.admin('rate_limits').delete();
  await page.goto(home);
  await page.getByLabel('E-mail address').fill('orders@birch.example');
  await page.getByRole('button', { name: 'Send me a code' }).click();
  await page.waitForURL('**/code');
  await page.locator('input[name="code"]').fill(await nextCode(org));
  await page.locator('input[name="code"]').press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Your account' }).waitFor();
}

it('is a visit from the mailed code to an invoice, a file, and another language', async () => {
  const visit = await openVisit();
  const { page } = visit;
  await signIn(page);
  await page.getByRole('link', { name: 'Invoices', exact: true }).first().click();
  await page.getByRole('radio', { name: 'Overdue' }).click();
  await page.waitForURL('**state=overdue**');
  const waiting = page.waitForEvent('download');
  await page.getByRole('link', { name: 'CSV' }).click();
  const text = await readDownload(await waiting);
  const late = invoices.filter(({ unpaid, duedate }) => unpaid > 0 && duedate < day(0));
  expect(text.trim().split('\r\n')).toHaveLength(late.length + 1);
  await page.locator('tbody a').first().click();
  await page.getByRole('heading', { level: 1, name: /INV-1\d\d/ }).waitFor();
  await page.goto(home.replace(/\/$/, ''));
  await page.locator('summary', { hasText: 'Language: EN' }).click();
  await page.getByRole('button', { name: 'Deutsch' }).click();
  await page.getByRole('heading', { level: 1, name: 'Ihr Konto' }).waitFor();
  expect(withoutFailedLoads(visit)).toEqual([]);
  expect(foreignRequests(visit, site.origin)).toEqual([]);
});

it.each(looks)('fits and is accessible: $name', async ({ name, width, colorScheme }) => {
  const { page } = await openVisit({ viewport: { width, height: 860 }, colorScheme });
  await page.goto(home);
  await expectSound(page, `portal-sign-in-${name}`);
  await signIn(page);
  for (const [title, path] of [
    ['home', ''],
    ['list', 'records/invoice'],
    ['record', 'records/invoice/101'],
    ['profile', 'profile'],
    ['nothing', 'records/invoice/1'],
  ] as const) {
    await page.goto(home + path);
    await expectSound(page, `portal-${title}-${name}`, { fullPage: true });
  }
});

it('needs no scripts', async () => {
  const { page } = await openVisit({ javaScriptEnabled: false });
  await signIn(page);
  await page.goto(`${home}records/invoice`);
  await page.getByRole('searchbox').fill('INV-103');
  await page.getByRole('searchbox').press('Enter');
  await page.waitForURL('**q=INV-103**');
  expect(await page.locator('tbody tr').count()).toBe(1);
});

it('loads at most 30 kB of scripts and 15 kB of style sheets, compressed', async () => {
  const visit = await openVisit();
  await signIn(visit.page);
  const sizes = { js: 0, css: 0 };
  for (const address of new Set(visit.requested.filter((one) => /\.(?:js|css)$/.test(one)))) {
    const kind = address.endsWith('.js') ? 'js' : 'css';
    sizes[kind] += gzipSync(Buffer.from(await (await fetch(address)).arrayBuffer())).length;
  }
  expect([sizes.js <= 30_000, sizes.css <= 15_000], JSON.stringify(sizes)).toEqual([true, true]);
  expect(sizes.js * sizes.css).toBeGreaterThan(0);
});
