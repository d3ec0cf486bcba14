// A payment from two open invoices to the ERP and back to the public interface, through real interfaces only:
// a checkout through the management interface, the sandbox's page in a browser, signed events by HTTP, the
// write-back, and the next sync.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { Client } from 'pg';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest';
import { createManagementClient } from '../../demo/management-client.ts';
import { enablePortal } from '../../demo/portal.ts';
import { demoEndpoints } from '../../demo/schema.ts';
import { configurePayments } from '../../demo/set-up.ts';
import { type Background, createApp, startBackground } from '../../src/app.ts';
import { inTransaction } from '../../src/db/transaction.ts';
import { readPdf, textsOf } from '../pdf/read-pdf.ts';
import { startVisit } from '../portal/visiting.ts';
import { type Api, createApi } from '../setup/api.ts';
import { type TestDatabase, testDatabase, testSettings } from '../setup/database.ts';
import { type Erp, startErp } from '../setup/erp.ts';
import { makeKey, makeOrganization } from '../setup/organization.ts';
import { until } from '../setup/until.ts';
import { connectChromium, expectSound, looks, openVisit, saveScreenshot } from './chromium.ts';

type Invoice = { id: string; number: string; customerId: string; amountDue: number; status: string };
type Payment = {
  id: string;
  status: string;
  amount: string;
  invoices: { recordId: string; amount: string }[];
  erp: { status: string; recordId: string | null; unappliedAmount: string };
};

let erp: Erp;
let database: TestDatabase;
let server: Server;
let origin: string;
let background: Background;
let browser: Browser;
let api: Api;
let tenant: string;
let key: string;
let syncId: string;
let paymentSyncId: string;

beforeAll(async () => {
  erp = await startErp();
  server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  database = await testDatabase({
    settings: {
      publicUrl: origin,
      ownUrl: origin,
      cacheTtlMs: 50,
      erp: { ...testSettings.erp, allowedHosts: [erp.host] },
      // A payout every second, of that second's payments.
      sandbox: { allowed: true, delayMs: 500, payoutEveryMs: 1_000 },
    },
  });
  const app = createApp(database.ctx);
  server.on('request', app);
  background = await startBackground(database.ctx);
  tenant = (await makeOrganization(database.ctx, { name: 'Demo wholesaler' })).id;
  key = (await makeKey(database.ctx, tenant, { permissions: ['read', 'write'] })).secret;
  api = createApi(app, key);
  browser = await connectChromium();
  await bringToService();
});
afterAll(async () => {
  await browser.close();
  await background.stop();
  server.closeAllConnections();
  server.close();
  await database.close();
  await erp.stop();
});

async function call(method: Parameters<Api>[0], path: string, body?: object) {
  const answer = await api(method, path, body);
  if (answer.status >= 300)
    throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}

async function sync(configId = syncId): Promise<void> {
  const { id } = await call('post', `/sync-configs/${configId}/trigger`, {});
  await until(async () => {
    const { status, error } = await call('get', `/sync-runs/${id}`);
    if (['failed', 'cancelled', 'partial'].includes(status)) throw new Error(JSON.stringify(error));
    return status === 'succeeded' ? true : undefined;
  });
}

async function bringToService(): Promise<void> {
  await erp.connect(api);
  await call('post', '/netsuite/metadata/refresh');
  syncId = (await call('post', '/sync-configs', { name: 'Invoices', recordType: 'invoice' })).id;
  await sync();
  for (const recordType of ['customer', 'creditMemo', 'customerPayment']) {
    const { id } = await call('post', '/sync-configs', { name: recordType, recordType });
    if (recordType === 'customerPayment') paymentSyncId = id;
    await sync(id);
  }
  const endpoints = demoEndpoints.filter(({ name }) => name === 'invoices');
  const { id, revision } = await call('post', '/api-schema', { name: 'Invoices', endpoints });
  await call('post', `/api-schema/${id}/publish`, { revision });
  await until(async () =>
    (await call('get', `/api-schema/${id}`)).status === 'published' ? true : undefined,
  );
  await configurePayments(createManagementClient(origin, key));
}

async function readInvoices(query: string): Promise<Invoice[]> {
  const headers = { authorization: `Bearer ${key}`, 'x-tenant-id': tenant };
  const response = await fetch(`${origin}/api/public/v1/invoices?${query}`, { headers });
  const { data } = (await response.json()) as { data: Invoice[] };
  return data;
}

async function inTheErp<T extends object>(sql: string, values: readonly unknown[]): Promise<T[]> {
  const client = new Client({ ...inject('pg'), database: erp.database });
  await client.connect();
  try {
    return (await client.query<T>(sql, [...values])).rows;
  } finally {
    await client.end();
  }
}

const pence = (amount: string | number): number => Math.round(Number(amount) * 100);

describe('a payer', () => {
  const made: { payment: Payment; invoice: Invoice; left: number }[] = [];
  /** The later tests depend on these two. */
  const both = () => {
    if (made.length !== 2) throw new Error('the two payments were not made');
    return made;
  };

  it('pays one invoice completely and another partly on the sandbox page', async () => {
    const open = await readInvoices('amountDue_gt=500&customerId_null=false&sort=number&pageSize=100');
    const [whole, part] = [open[0], open.find(({ customerId }) => customerId !== open[0]?.customerId)];
    if (whole === undefined || part === undefined) throw new Error('the demo has no two open invoices');
    const ways = [
      { invoice: whole, width: 360, colorScheme: 'dark', card: 'Approved ends in', amount: undefined },
      { invoice: part, width: 1280, colorScheme: 'light', card: 'Approved after a while', amount: '120.50' },
    ] as const;
    for (const { invoice, width, colorScheme, card, amount } of ways) {
      const checkout = await call('post', '/pay/checkout', {
        customerId: invoice.customerId,
        invoices: [{ recordId: invoice.id, ...(amount !== undefined && { amount }) }],
        successUrl: `${origin}/auth/session?paid`,
        cancelUrl: `${origin}/auth/session?canceled`,
      });
      expect(pence(checkout.amount)).toBe(pence(amount ?? invoice.amountDue));
      const { page, context, complaints } = await openVisit(browser, {
        viewport: { width, height: 900 },
        colorScheme,
      });
      await page.goto(checkout.url);
      await page.getByText(invoice.number).first().waitFor();
      await page.getByLabel(card).check();
      await saveScreenshot(page, `pay-story-${width}-${colorScheme}`, true);
      await page.getByRole('button', { name: /^Pay/ }).click();
      await page.waitForURL(/\?paid$/);
      expect(complaints).toEqual([]);
      await context.close();
      made.push({
        invoice,
        payment: { ...checkout, id: checkout.paymentId },
        left: pence(invoice.amountDue) - pence(checkout.amount),
      });
    }
  });

  it('is found by status=SUCCEEDED once the provider has confirmed it, and is written to the ERP', async () => {
    const paid = both();
    await until(async () => {
      const { data } = (await call('get', '/pay/payments?status=SUCCEEDED')) as { data: Payment[] };
      for (const one of paid) one.payment = data.find(({ id }) => id === one.payment.id) ?? one.payment;
      return paid.every(({ payment }) => payment.erp?.status === 'LANDED') ? true : undefined;
    });
    expect(paid.map(({ payment }) => [payment.status, pence(payment.erp.unappliedAmount)])).toEqual([
      ['SUCCEEDED', 0],
      ['SUCCEEDED', 0],
    ]);
  });

  it('has paid exactly once in the simulated account, on the right invoice', async () => {
    const paid = both();
    const held = await inTheErp<{
      id: string;
      total: string;
      type: string;
      invoice: string;
      applied: string;
    }>(
      `select t.id::text, t.foreigntotal::text as total, t.type, a.invoice::text, a.amount::text as applied
       from ledger.transaction t join ledger.application a on a.credit = t.id
       where t.type = 'CustPymt' and t.externalid is not null order by t.id`,
      [],
    );
    expect(held.map(({ id, invoice, applied }) => [id, invoice, pence(applied)]).sort()).toEqual(
      paid.map(({ payment, invoice }) => [payment.erp.recordId, invoice.id, pence(payment.amount)]).sort(),
    );
    for (const { invoice, left } of paid) {
      const [row] = await inTheErp<{ due: string }>(
        'select foreignamountunpaid::text as due from ledger.transaction where id = $1',
        [invoice.id],
      );
      expect(pence(row?.due ?? '-1')).toBe(left);
    }
  });

  it('is part of a payout whose items add up', async () => {
    const paid = both();
    const payouts = await until(async () => {
      const { data } = (await call('get', '/pay/payouts')) as {
        data: { id: string; amount: string; payments: { paymentId: string; amount: string }[] }[];
      };
      const all = data.flatMap(({ payments }) => payments.map(({ paymentId }) => paymentId));
      return paid.every(({ payment }) => all.includes(payment.id)) ? data : undefined;
    });
    for (const { amount, payments } of payouts)
      expect(payments.reduce((sum, part) => sum + pence(part.amount), 0)).toBe(pence(amount));
    const parts = payouts
      .flatMap(({ payments }) => payments)
      .map(({ paymentId, amount }) => [paymentId, pence(amount)]);
    expect(parts.sort()).toEqual(paid.map(({ payment }) => [payment.id, pence(payment.amount)]).sort());
  });

  it('gets a partial refund, which the ERP then shows as due again', async () => {
    const [, second] = both();
    if (second === undefined) throw new Error('there is no second payment');
    const path = `/pay/payments/${second.payment.id}`;
    expect(await call('post', `${path}/refund`, { amount: '20.25', reason: 'Broken' })).toMatchObject({
      refundedAmount: '20.25',
    });
    const landed = await until(async () => {
      const payment = (await call('get', path)) as Payment;
      return payment.erp.status === 'PENDING' ? undefined : payment;
    });
    expect(landed).toMatchObject({
      status: 'PARTIALLY_REFUNDED',
      erp: { status: 'LANDED', unappliedAmount: '0.00' },
    });
    second.left += 2_025;
    const [refunded] = await inTheErp<{ total: string }>(
      "select sum(abs(foreigntotal))::text as total from ledger.transaction where type = 'CustRfnd' and externalid is not null",
      [],
    );
    expect(pence(refunded?.total ?? '0')).toBe(2_025);
  });

  it('is visible on the public interface after the next sync, and the first invoice has nothing left to pay', async () => {
    await sync();
    const paid = both();
    for (const { invoice, left } of paid) {
      const [now] = await readInvoices(`number=${invoice.number}`);
      expect([pence(now?.amountDue ?? -1), now?.status]).toEqual([
        left,
        left === 0 ? 'Paid In Full' : 'Open',
      ]);
    }
    const [first] = paid;
    const again = await api('post', '/pay/checkout', {
      customerId: first?.invoice.customerId,
      invoices: [{ recordId: first?.invoice.id }],
      successUrl: `${origin}/`,
      cancelUrl: `${origin}/`,
    });
    expect([again.status, again.body.error.details[0].code]).toEqual([422, 'nothing_due']);
  });
});

describe('a visitor of the portal', () => {
  const email = 'accounts@birch.example';
  const home = () => `${origin}/portal/${slug}`;
  let slug: string;

  beforeAll(async () => {
    const portalCall = createManagementClient(origin, key);
    await enablePortal(database.ctx, tenant, { call: portalCall, hasBooks: false, agentId: null });
    const open = await readInvoices('amountDue_gt=5&customerId_null=false&pageSize=100');
    const owing = Map.groupBy(open, ({ customerId }) => customerId);
    const [customer] = [...owing].sort(([, one], [, other]) => other.length - one.length)[0] ?? [];
    await call('post', '/portal/visitors', { email, customers: [customer] });
    slug = (await call('get', '/whoami')).organization.slug;
    const { people, records } = await call('get', '/portal/access');
    const unusedRoles = ['refund', 'journal'];
    await call('put', '/portal/access', { enabled: true, people, records, unusedRoles });
    await until(async () => ((await call('get', '/portal/access')).status === 'on' ? true : undefined));
  });

  const everything = 'from=2000-01-01&to=2099-12-31';
  /** What the account owes, in pence, and the numbers of its documents. */
  async function readStatement(page: Page) {
    const answer = await page.request.get(`${home()}/statement.csv?${everything}`);
    const lines = (await answer.text()).trimEnd().split('\r\n');
    const pdf = await page.request.get(`${home()}/statement.pdf?${everything}`);
    const printed = textsOf(await readPdf(await pdf.body())).join(' ');
    const owed = lines.at(-1)?.split(',').at(-1) ?? '';
    expect(printed).toContain(
      `Closing balance £${Number(owed).toLocaleString('en', { minimumFractionDigits: 2 })}`,
    );
    return { owed: pence(owed), documents: lines.length };
  }

  async function open(options: Parameters<typeof openVisit>[1] = {}) {
    const visit = await openVisit(browser, options);
    const { name, token: value } = await startVisit({ ...database.ctx, organizationId: tenant }, email);
    await visit.context.addCookies([{ name, value, url: origin }]);
    onTestFinished(() => visit.context.close());
    return visit;
  }

  it('pays three invoices, one in part; the page follows, the receipt comes, and the sync brings what is left', async () => {
    const { page, complaints } = await open();
    await page.goto(`${home()}/`);
    await page.getByRole('link', { name: 'Pay', exact: true }).first().click();
    const rows = page.locator('.pay li');
    const numbers = await rows.locator('label').allInnerTexts();
    const before = await readStatement(page);
    const due = async (row: number): Promise<number> =>
      pence((await rows.nth(row).locator('.pay-open').innerText()).replaceAll(/[£,]/g, ''));
    const [first, second, third] = [await due(0), await due(1), await due(2)];
    await page.getByLabel(`Pay ${numbers[0]}`).check();
    await page.getByLabel(`Pay ${numbers[1]}`).check();
    await page.getByLabel(`Amount for ${numbers[2]}`).fill('1.50');
    const amount = new Intl.NumberFormat('en', { style: 'currency', currency: 'GBP' }).format(
      (first + second + 150) / 100,
    );
    await page.locator('output', { hasText: amount }).waitFor();
    await page.getByRole('button', { name: 'Continue to payment' }).click();
    await page.waitForURL('**/pay/sandbox/**');
    await page.getByRole('button', { name: /^Pay/ }).click();
    await page.getByRole('heading', { level: 1, name: `Payment of ${amount}` }).waitFor();
    await page.getByText('It is in the books.').waitFor();
    const mails = await inTransaction({ db: database.ctx.db, organizationId: tenant }, (tx) =>
      tx('outgoing_mails').where({ kind: 'receipt' }).pluck('subject'),
    );
    expect(mails).toEqual([`Receipt: ${amount} paid to Demo wholesaler`]);
    expect(complaints).toEqual([]);
    await sync();
    await sync(paymentSyncId);
    await page.goto(`${home()}/pay`);
    expect(await rows.locator('label').allInnerTexts()).toEqual(numbers.slice(2));
    expect(await due(0)).toBe(third - 150);
    const after = await readStatement(page);
    expect(before.owed - after.owed).toBe(first + second + 150);
    expect(after.documents).toBeGreaterThan(before.documents);
    await rows.locator('a').first().click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'PDF' }).click(),
    ]);
    expect(download.suggestedFilename()).toBe(`${numbers[2]}.pdf`);
    const printed = textsOf(await readPdf(await buffer(await download.createReadStream()))).join(' ');
    expect(printed).toContain(`Invoice ${numbers[2]}`);
  });

  it.each(looks)('finds pages that fit and are accessible: $name', async ({ name, width, colorScheme }) => {
    const { page } = await open({ viewport: { width, height: 860 }, colorScheme });
    for (const path of ['pay', `statement?${everything}`, 'profile', 'payments']) {
      await page.goto(`${home()}/${path}`);
      await expectSound(page, `portal-${path.replace(/\?.*/, '')}-${name}`, { fullPage: true });
    }
    await page.locator('.row-link').first().click();
    await page.getByText('Thank you!').waitFor();
    await expectSound(page, `portal-payment-${name}`, { fullPage: true });
  });

  it('needs no scripts', async () => {
    const { page } = await open({ javaScriptEnabled: false });
    await page.goto(`${home()}/pay`);
    await page.locator('.pay input[type="checkbox"]').first().check();
    await page.getByRole('button', { name: 'Continue to payment' }).click();
    await page.waitForURL('**/pay/sandbox/**');
    await page.goto(`${home()}/pay`);
    await page.locator('.news a').first().click();
    await page.getByRole('button', { name: 'End this payment' }).click();
    await page.getByText('This payment was ended').waitFor();
  });
});
