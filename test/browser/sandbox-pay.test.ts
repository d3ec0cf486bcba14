// The page on which a payer approves or declines a sandbox payment, as a person uses it: with mouse and
// keyboard, without scripts.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import type { Ctx, TenantCtx } from '../../src/core/ctx.ts';
import { createId } from '../../src/core/id.ts';
import { createLog } from '../../src/core/log.ts';
import type { PaymentProvider } from '../../src/gateways/payments/provider.ts';
import { sandbox } from '../../src/gateways/payments/sandbox/sandbox.ts';
import { type TestDatabase, testClock, testDatabase } from '../setup/database.ts';
import { makeOrganization } from '../setup/organization.ts';
import { until } from '../setup/until.ts';
import {
  accessibilityViolations,
  expectSound,
  foreignRequests,
  listen,
  looks,
  type Site,
  saveScreenshot,
  useVisits,
} from './chromium.ts';

const never = new AbortController().signal;
const clock = testClock();
let database: TestDatabase;
let ctx: Ctx;
let provider: PaymentProvider;
let site: Site;
let shop: Server;
let shopUrl: string;
const visit = useVisits();

beforeAll(async () => {
  database = await testDatabase({ clock });
  // The shop is another origin; the page must link only there.
  shop = createServer((req, res) =>
    res
      .setHeader('content-type', 'text/html')
      .end(`<title>Shop</title><h1>Back in the shop: ${req.url}</h1>`),
  );
  await new Promise<void>((resolve) => {
    shop.listen(0, '127.0.0.1', resolve);
  });
  shopUrl = `http://127.0.0.1:${(shop.address() as AddressInfo).port}`;
  site = await listen(createApp(database.ctx));
  ctx = { ...database.ctx, settings: { ...database.ctx.settings, publicUrl: site.origin } };
  const { id } = await makeOrganization(ctx, { name: 'Aster & Söhne <b>GmbH</b>' });
  const tenant: TenantCtx = { ...ctx, organizationId: id };
  provider = await sandbox.create(tenant, { id: createId(), secrets: {}, publicUrl: site.origin });
});
afterAll(async () => {
  await site.close();
  shop.closeAllConnections();
  shop.close();
  await database.close();
});

const checkOut = (currency = 'GBP') => {
  const part = (amountMinor: bigint) => ({ amountMinor, currency });
  return provider.createCheckout(
    {
      checkoutId: createId(),
      paymentId: createId(),
      amount: part(3_491_194n),
      title: 'Payment of 2 invoices',
      items: [
        { label: 'Invoice 563614', amount: part(2_188_044n) },
        {
          label: 'Invoice 563590 <i>&amp; a label that goes on for longer than most of them do</i>',
          amount: part(1_303_150n),
        },
      ],
      successUrl: `${shopUrl}/paid?order=1&x=2`,
      cancelUrl: `${shopUrl}/basket`,
      expiresAt: new Date(clock.now().getTime() + 30 * 60_000),
      record: null,
    },
    never,
  );
};

const readState = async (sessionId: string) => (await provider.findPayment({ sessionId }, never))?.state;

describe('the payment page', () => {
  it('names a single invoice once', async () => {
    const amount = { amountMinor: 100n, currency: 'GBP' };
    const ids = { checkoutId: createId(), paymentId: createId() };
    const addresses = {
      successUrl: `${shopUrl}/paid`,
      cancelUrl: shopUrl,
      expiresAt: new Date(clock.now().getTime() + 30 * 60_000),
      record: null,
    };
    const title = 'Invoice 77';
    const session = await provider.createCheckout(
      { ...ids, amount, title, items: [{ label: title, amount }], ...addresses },
      never,
    );
    expect((await (await fetch(session.url)).text()).match(/Invoice 77/g)).toHaveLength(1);
  });

  it.each(looks)(
    'at $name: another card can be used after a declined one, with the keyboard',
    async ({ name, width, colorScheme }) => {
      const session = await checkOut();
      const opened = await visit({ viewport: { width, height: 900 }, colorScheme });
      const { page } = opened;
      const answer = await page.goto(session.url);
      expect(answer?.headers()).toMatchObject({
        'cache-control': 'no-store',
        'referrer-policy': 'same-origin',
        'x-robots-tag': 'noindex',
      });
      await expectSound(page, `sandbox-pay-${name}`, { fullPage: true });
      await page.getByRole('heading', { name: 'Pay £34,911.94 to Aster & Söhne <b>GmbH</b>' }).waitFor();
      expect(await page.getByRole('row').allInnerTexts()).toHaveLength(3);
      expect(await page.locator('input:not([type=radio])').count()).toBe(0);
      // Without scrolling, however many cards and invoices there are; nothing lies over it.
      await page.setViewportSize({ width, height: 560 });
      const button = page.getByRole('button', { name: /^Pay/ });
      const box = (await button.boundingBox()) ?? { x: 0, y: 999, width: 0, height: 0 };
      expect(box.y + box.height).toBeLessThanOrEqual(560);
      const middle = [box.x + box.width / 2, box.y + box.height / 2].join();
      expect(await page.evaluate<string>(`document.elementFromPoint(${middle}).textContent`)).toMatch(/^Pay/);
      expect(await page.evaluate<number>('scrollY')).toBe(0);
      await saveScreenshot(page, `sandbox-pay-low-${name}`);
      // The last card can be scrolled out from behind it.
      await page.getByRole('radio').last().focus();
      const [last, bar] = [
        await page.locator('.card').last().boundingBox(),
        await page.locator('.actions').boundingBox(),
      ];
      expect((last?.y ?? 999) + (last?.height ?? 0)).toBeLessThanOrEqual((bar?.y ?? 0) + 1);
      await page.setViewportSize({ width, height: 900 });
      await page.goto(session.url); // keys start at the top again
      await page.keyboard.press('Tab');
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await page.getByRole('alert').waitFor();
      expect(await page.getByRole('alert').innerText()).toContain(
        '9995 was declined. The card has insufficient funds.',
      );
      await expectSound(page, `sandbox-declined-${name}`);
      expect(await readState(session.id)).toBe('OPEN');
      await page.getByText('Approved after a while').click();
      await page.getByRole('button', { name: /^Pay/ }).click();
      await page.waitForURL(`${shopUrl}/paid?order=1&x=2`);
      expect(await readState(session.id)).toBe('PROCESSING');
      await page.goBack();
      await page.goto(session.url);
      await page.getByRole('heading', { name: 'This payment is being processed' }).waitFor();
      await expectSound(page, `sandbox-processing-${name}`);
      expect(opened.complaints).toEqual([]);
      expect(foreignRequests(opened, site.origin, shopUrl)).toEqual([]);
    },
  );

  it('works without scripts; submitting an old page again shows that it is paid, and canceling then changes nothing', async () => {
    const session = await checkOut('JPY');
    const [one, other] = [
      await visit({ javaScriptEnabled: false }),
      await visit({ javaScriptEnabled: false }),
    ];
    for (const { page } of [one, other]) await page.goto(session.url);
    expect(await one.page.getByRole('heading').innerText()).toContain('¥3,491,194');
    await one.page.getByRole('button', { name: /^Pay/ }).dblclick();
    // The second click cancels the first one's navigation, not the request that it sent.
    await until(async () => ((await readState(session.id)) === 'SUCCEEDED' ? true : undefined));
    await other.page.getByRole('button', { name: /^Pay/ }).click();
    await other.page.getByRole('heading', { name: 'Payment complete' }).waitFor();
    await one.page.goto(session.url);
    const late = await one.page.request.post(session.url, { form: { do: 'cancel' }, maxRedirects: 0 });
    expect([late.status(), late.headers()['location']]).toEqual([303, new URL(session.url).pathname]);
    expect(await readState(session.id)).toBe('SUCCEEDED');
    await one.page.getByRole('link', { name: 'Back to 127.0.0.1' }).click();
    await one.page.getByRole('heading', { name: 'Back in the shop: /paid?order=1&x=2' }).waitFor();
  });

  it('can be canceled by the payer and expires; both link back to the shop', async () => {
    const [given, late] = [await checkOut(), await checkOut()];
    const { page, complaints } = await visit();
    await page.goto(given.url);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.waitForURL(`${shopUrl}/basket`);
    expect(await readState(given.id)).toBe('CANCELED');
    await page.goto(given.url);
    await page.getByRole('heading', { name: 'This payment was canceled' }).waitFor();
    await page.goto(late.url);
    clock.advance(31 * 60_000);
    await page.getByRole('button', { name: /^Pay/ }).click();
    await page.getByRole('heading', { name: 'This page has expired' }).waitFor();
    await saveScreenshot(page, 'sandbox-expired');
    expect(await accessibilityViolations(page)).toEqual([]);
    expect(await readState(late.id)).not.toBe('SUCCEEDED');
    expect(complaints).toEqual([]);
  });

  it('is unknown at another address, and accepts nothing from another site', async () => {
    const session = await checkOut();
    const { page } = await visit();
    expect(
      (await page.goto(`${session.url.slice(0, -1)}${session.url.endsWith('A') ? 'B' : 'A'}`))?.status(),
    ).toBe(404);
    await page.getByRole('heading', { name: 'Unknown payment page' }).waitFor();
    const foreign = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
    const lured = await page.request.post(session.url, {
      form: { do: 'pay', card: 'approved' },
      headers: foreign,
      maxRedirects: 0,
    });
    expect(lured.status()).toBe(403);
    expect((await page.request.put(session.url)).status()).toBe(405);
    expect(await readState(session.id)).toBe('OPEN');
  });

  it('keeps its token out of the log', async () => {
    const lines: string[] = [];
    const log = createLog('info', { write: (line: string) => void lines.push(line) });
    const logging = await listen(createApp({ ...ctx, log }));
    const session = await checkOut();
    await fetch(session.url.replace(site.origin, logging.origin));
    await logging.close();
    expect(lines.join('')).toContain('/pay/sandbox/…');
    expect(lines.join('')).not.toContain(session.url.split('/').at(-1));
  });
});
