// The portal's side of the console, by keyboard: views and their mails, pages, agents with a chat, and
// payments.
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { createId } from '../../../src/core/id.ts';
import { press, tabTo, type, useConsole } from './console-site.ts';

const site = useConsole({ invoices: 12, published: true, background: true });

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const locateRow = (page: Page, text: string) => page.getByRole('row').filter({ hasText: text });
const dialog = (page: Page) => page.getByRole('dialog');
const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name });

describe('views and subscriptions', () => {
  it('a view is made with a filter, and its subscription is created and sent', async () => {
    const { page, finish } = await site.open('/views');
    await press(page, button(page, 'New view'));
    await type(page, dialog(page).getByLabel('Name'), 'Open invoices');
    await type(page, dialog(page).getByLabel('Record type'), 'invoice');
    await type(page, dialog(page).getByLabel('Columns'), 'tranid\nentity.name\ntotal');
    await press(page, button(page, 'Add filter'));
    await type(page, dialog(page).getByLabel('Field of filter 1'), 'status');
    await type(page, dialog(page).getByLabel('Value of filter 1'), 'open');
    await finish({ name: 'portal-view-form' });
    await press(page, button(page, 'Create view'));
    await heading(page, 'Open invoices').waitFor();
    await locateRow(page, 'INV-1001').waitFor();
    expect(await locateRow(page, 'INV-1000').count()).toBe(0);
    await finish({ name: 'portal-view' });
    await press(page, page.getByRole('link', { name: 'Definition and use' }));
    await page.getByText('status is open').waitFor();
    await page.getByText('No page shows this view.').waitFor();
    await finish({ name: 'portal-view-use' });
    await press(page, button(page, 'New link'));
    await type(page, dialog(page).getByLabel('Name'), 'Weekly report');
    await finish({ name: 'portal-view-link-form' });
    await press(page, button(page, 'Create the link'));
    await page.getByText('Copy it now').waitFor();
    const url = (await page.locator('.key-secret pre').textContent()) ?? '';
    await finish({ name: 'portal-view-link' });
    expect(await (await fetch(url)).text()).toContain('INV-1001');
    await press(page, button(page, 'I have copied it'));
    await locateRow(page, 'Weekly report').waitFor();
    expect(await page.content()).not.toContain(url);
    await finish({ name: 'portal-view-links' });
    await press(page, locateRow(page, 'Weekly report').getByRole('button', { name: 'Revoke' }));
    await press(page, button(page, 'Revoke this link'));
    await page.getByText('No spreadsheet reads this view by a link.').waitFor();
    expect((await fetch(url)).status).toBe(404);
    await press(page, page.getByRole('link', { name: 'New subscription' }));
    await type(page, dialog(page).getByLabel('Recipients'), 'ada@example.test\ngrace@example.test');
    await press(page, button(page, 'Create subscription'));
    await heading(page, 'Open invoices by mail').waitFor();
    await press(page, button(page, 'Send now'));
    await dialog(page).getByText('2 mails will be sent now').waitFor();
    await press(page, dialog(page).getByRole('button', { name: 'Send now' }));
    await locateRow(page, 'ada@example.test').getByText('Sent', { exact: true }).waitFor();
    await finish({ name: 'portal-subscription' });
  });
});

describe('pages', () => {
  it('a page is written in blocks and published', async () => {
    const { page, finish } = await site.open('/pages');
    await press(page, button(page, 'New page'));
    await type(page, dialog(page).getByLabel('Title'), 'Terms');
    await type(page, dialog(page).getByLabel('Address'), 'terms');
    await press(page, button(page, 'Create page'));
    await heading(page, 'Terms').waitFor();
    await press(page, button(page, 'Add block'));
    await type(page, page.getByLabel('Markdown'), 'We deliver within **three** days.');
    await press(page, button(page, 'Save draft'));
    await page.getByText('Revision 2').waitFor();
    await press(page, button(page, 'Publish'));
    await page.getByText('Published', { exact: true }).first().waitFor();
    await finish({ name: 'portal-page' });
    for (const show of ['sidebar', 'templates', 'mappings']) {
      await page.goto(`${site.origin}/console/pages?show=${show}`);
      await heading(page, 'Pages').waitFor();
      await page.getByRole('heading').or(page.getByText('There are no')).last().waitFor();
      await finish({ name: `portal-pages-${show}` });
    }
  });
});

describe('agents', () => {
  it('an agent of the built-in model answers a question with a number', async () => {
    const { page, finish } = await site.open('/agents');
    await press(page, button(page, 'New agent'));
    await type(page, dialog(page).getByLabel('Name'), 'Sales desk');
    await press(page, button(page, 'Create agent'));
    await heading(page, 'Sales desk').waitFor();
    await page.getByText('Running', { exact: true }).waitFor();
    await press(page, button(page, 'New conversation'));
    const input = page.getByLabel('Your question');
    await tabTo(page, input);
    await page.keyboard.type('How many invoices are there?');
    await page.keyboard.press('Enter');
    const log = page.getByRole('log');
    const answer = page
      .getByRole('log')
      .getByRole('paragraph')
      .filter({ hasText: /\b12\b/ });
    await answer.waitFor();
    await expect
      .poll(() => input.evaluate((element) => element === element.ownerDocument.activeElement))
      .toBe(true);
    await heading(page, 'How many invoices are there?').waitFor();
    await log.getByText(/tool call/).waitFor();
    await finish({ name: 'portal-chat' });
    await page.reload();
    await answer.waitFor();
    const [, agentId] = /agents\/([^/]+)\//.exec(page.url()) ?? [];
    await site.api('post', `/agents/${agentId}/stop`);
    await tabTo(page, input);
    await page.keyboard.type('And customers?');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    await expect.poll(() => input.inputValue()).toBe('And customers?');
    await finish({ name: 'portal-chat-refused', statuses: [422, 403, 409] });
  });
});

/** A paid payment whose way into the ERP is stuck. */
async function insertStuckPayment(): Promise<string> {
  const [id, account, checkout] = [createId(), createId(), createId()];
  const organization_id = site.organizationId;
  await site.arrange(async (tx) => {
    await tx('pay_accounts').insert({ id: account, organization_id, provider: 'sandbox' });
    await tx('pay_payments').insert({
      id,
      organization_id,
      account_id: account,
      status: 'SUCCEEDED',
      customer_id: '1204',
      currency: 'GBP',
      amount_minor: 123_450,
      received_minor: 123_450,
      method_type: 'card',
      method_last4: '4242',
      succeeded_at: new Date(),
    });
    await tx('pay_checkouts').insert({
      id: checkout,
      organization_id,
      payment_id: id,
      title: 'Invoice INV-1001',
      success_url: 'https://portal.example.test/paid',
      cancel_url: 'https://portal.example.test/back',
      expires_at: new Date(),
    });
    await tx('pay_payment_invoices').insert({
      organization_id,
      payment_id: id,
      position: 0,
      record_id: '53021',
      number: 'INV-1001',
      amount_minor: 123_450,
      due_minor: 123_450,
      read_at: new Date(),
    });
    await tx('pay_erp_documents').insert({
      id: createId(),
      organization_id,
      payment_id: id,
      kind: 'payment',
      external_id: `portal-payment-${id}`,
      status: 'FAILED',
      problem: {
        code: 'CUSTOMER_ON_HOLD',
        message: 'The customer is on credit hold',
        fix: 'Take the customer off credit hold, then retry.',
      },
    });
  });
  return id;
}

/** A payout of this payment, less a fee. */
const insertPayout = (paymentId: string): Promise<void> =>
  site.arrange(async (tx) => {
    const [id, organization_id] = [createId(), site.organizationId];
    const { account_id } = await tx('pay_payments').where({ id: paymentId }).first('account_id');
    const amounts = { currency: 'GBP', amount_minor: 120_000, arrival_date: '2026-03-04' };
    await tx('pay_payouts').insert({
      ...amounts,
      id,
      organization_id,
      account_id,
      provider_payout_id: 'po_31',
      status: 'PAID',
      created_at: new Date(),
    });
    await tx('pay_payout_entries').insert([
      {
        organization_id,
        payout_id: id,
        position: 0,
        kind: 'payment',
        payment_id: paymentId,
        amount_minor: 123_450,
      },
      { organization_id, payout_id: id, position: 1, kind: 'fee', amount_minor: -3_450 },
    ]);
  });

describe('payments', () => {
  it('a payout shows its sums and leads to its payments', async () => {
    await insertPayout(await insertStuckPayment());
    const { page, finish } = await site.open('/payments');
    await press(page, page.getByRole('link', { name: 'Payouts' }));
    await locateRow(page, '1,200.00 GBP').getByText('Paid out').waitFor();
    await press(page, button(page, 'Details'));
    await dialog(page).getByText('-34.50 GBP').waitFor();
    await finish({ name: 'portal-payout' });
    await press(page, dialog(page).getByRole('link', { name: '1,234.50 GBP' }));
    await heading(page, 'Payment of 1,234.50 GBP').waitFor();
  });

  it('a stuck write-back is found by its filter and retried', async () => {
    const paymentId = await insertStuckPayment();
    const { page, finish } = await site.open('/payments');
    await locateRow(page, '1,234.50 GBP').first().waitFor();
    await tabTo(page, page.getByLabel('In the ERP'));
    await page.keyboard.type('Stuck');
    await expect.poll(() => new URL(page.url()).searchParams.get('erpStatus')).toBe('FAILED');
    await press(page, page.locator(`a[href$="${paymentId}"]`));
    await heading(page, 'Payment of 1,234.50 GBP').waitFor();
    await page.getByText('Take the customer off credit hold, then retry.').waitFor();
    await finish({ name: 'portal-payment' });
    await press(page, button(page, 'Retry'));
    await press(page, dialog(page).getByRole('button', { name: 'Retry' }));
    await page.getByText('Waiting', { exact: true }).waitFor();
    await press(page, button(page, 'Refund'));
    await type(page, dialog(page).getByLabel('Amount in GBP'), '34.50');
    await button(page, 'Refund 34.50 GBP').waitFor();
    await dialog(page).getByText('34.50 GBP goes back to the payer (card 4242).').waitFor();
    await finish({ name: 'portal-refund' });
    const answered = page.waitForResponse(/\/refund$/);
    await press(page, button(page, 'Refund 34.50 GBP'));
    const answer = await answered;
    expect(answer.request().headers()['idempotency-key']).toMatch(/^[\d-]+$/);
    expect(answer.status(), 'the provider knows no such payment').toBe(422);
    await page.goto(`${site.origin}/console/payments?show=configuration`);
    await press(page, button(page, 'Set up payments'));
    await dialog(page).getByLabel('Provider').waitFor();
    await finish({ name: 'portal-pay-config', statuses: [422] });
  });
});
