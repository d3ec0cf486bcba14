// Who hears of payments that are not in the ERP as meant, read back from a real mail server, and what operators see of them: each change
// once, whoever looks and however often it is tried.
import type { Knex } from 'knex';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import type { Ctx } from '../../../src/core/ctx.ts';
import { newId } from '../../../src/core/id.ts';
import type { Recurring } from '../../../src/core/recurring.ts';
import { openKnex } from '../../../src/db/connect.ts';
import type { QueueWork } from '../../../src/db/queue-work.ts';
import { startMailSender } from '../../../src/mail/index.ts';
import { endErpDocuments } from '../../../src/platform/pay/erp-documents.store.ts';
import { startWriteBack } from '../../../src/platform/pay/write-back.ts';
import { startWriteBackNews } from '../../../src/platform/pay/write-back-news.ts';
import { testSettings } from '../../setup/database.ts';
import { type Delivered, type MailServer, startMailServer } from '../../setup/smtp.ts';
import { type Books, openBooks } from './erp-books.ts';

const hour = 3_600_000;
const api = 'https://portal.example.test/api/platform/v1/pay/payments';
let books: Books;
let server: MailServer;
let ctx: Ctx;
let admin: Knex;
let runner: QueueWork;
let watches: Recurring[];

beforeAll(async () => {
  [books, server] = await Promise.all([openBooks(), startMailServer()]);
  const settings = { ...testSettings, publicUrl: 'https://portal.example.test', mail: { ...testSettings.mail, smtpUrl: server.url } };
  ctx = { ...books.database.ctx, settings };
  admin = openKnex(books.database.address, null, 1);
  await books.as((tx) => tx('organizations').where('id', books.organizationId).update({ name: 'Acme' }));
  await books.as((tx) =>
    tx('sync_configs').insert({
      ...{ id: newId(), organization_id: books.organizationId, name: 'Invoices', record_type: 'invoice', mode: 'full', deletions: 'none' },
      alert_recipients: ['books@example.test', 'ops@example.test'],
    }),
  );
  runner = startWriteBack(ctx, { pollMs: hour, firstWaitMs: hour });
});
beforeEach(() => {
  watches = [1, 2].map(() => startWriteBackNews(ctx, { everyMs: hour, quietMs: 0 }));
});
afterEach(async () => {
  for (const watch of watches) await watch.stop();
  books.erp.account.clearFaults();
  hold();
  await books.setWriteBack({ account: null, refundAccount: '7' });
  await admin('pay_erp_documents').delete();
});
afterAll(async () => {
  await runner.stop();
  await server.close();
  await admin.destroy();
  await books.stop();
});

/** What leaves when two processes look at the same time. */
async function mails(looking = watches): Promise<Delivered[]> {
  await Promise.all(looking.map((watch) => watch.tick()));
  const sender = startMailSender(ctx, { pollMs: hour });
  await sender.settled();
  await sender.stop();
  return server.delivered.splice(0).sort((a, b) => String(a.to).localeCompare(String(b.to)));
}
const subjects = async (looking = watches): Promise<string[]> => (await mails(looking)).map(({ to, mail }) => `${to}: ${mail.subject}`);
const toBoth = (subject: string): string[] => ['books', 'ops'].map((name) => `${name}@example.test: ${subject}`);
let onHold: string[] = [];
const hold = (...customers: string[]): void => {
  onHold = customers;
  books.erp.account.setSwitches({ customersOnHold: customers });
};
const pay = async (pence: number, customer = '1'): Promise<string> => {
  books.erp.account.setSwitches({ customersOnHold: [] });
  const invoice = await books.invoice(pence, customer);
  hold(...onHold);
  const id = await books.pay([[invoice, pence]], { customer });
  await runner.settled();
  return id;
};
const retry = async (id: string): Promise<void> => {
  expect(await books.retry(id)).toBeGreaterThan(0);
  await runner.settled();
};
const setBack = (column: 'tell_at' | 'told_at', hours: number) =>
  admin('pay_erp_documents')
    .whereNotNull(column)
    .update({ [column]: admin.raw("clock_timestamp() - ? * interval '1 hour'", [hours]) });
const stuck = (payments: number): string[] =>
  toBoth(`${payments} payment${payments === 1 ? ' of Acme is' : 's of Acme are'} not in the ERP as meant`);
const well = (payments: number): string[] =>
  toBoth(`${payments} payment${payments === 1 ? ' of Acme is' : 's of Acme are'} in the ERP now`);
const figures = async (): Promise<Readonly<Record<string, number>>> => {
  const { rows } = await ctx.db.control.raw<{ rows: { figure: string; label: string; value: number }[] }>(
    "select figure, label, value from operational_figures() where figure like 'pay%' or label = 'pay_erp_documents'",
  );
  return Object.fromEntries(rows.map(({ figure, label, value }) => [`${figure} ${label}`, value]));
};

it('what the ERP refuses is told once with what to do, however often it is tried, and again when it is there', async () => {
  const customer = await books.customer();
  expect(await subjects()).toEqual([]);
  hold(customer);
  const both = [await pay(1250, customer), await pay(200, customer)];
  const fine = await pay(300);
  const sent = await mails();
  expect(sent.map(({ to, mail }) => `${to}: ${mail.subject}`)).toEqual(stuck(2));
  for (const part of [sent[0]?.mail.text, sent[0]?.mail.html]) {
    for (const words of [...both, '12.50 GBP', customer, 'CUSTOMER_ON_HOLD', 'off credit hold', `${api}?erpStatus=FAILED`])
      expect(part).toContain(words);
    expect(part).not.toContain(fine);
  }
  expect(await subjects()).toEqual([]);
  await retry(both[0] ?? '');
  expect([await books.state(both[0] ?? ''), await subjects()]).toMatchObject([{ status: 'FAILED' }, []]);
  hold();
  for (const id of both) await retry(id);
  const mended = await mails();
  expect(mended.map(({ to, mail }) => `${to}: ${mail.subject}`)).toEqual(well(2));
  expect(mended[0]?.mail.text).toContain(`${both[0]} of 12.50 GBP`);
  expect(await subjects()).toEqual([]);
});

it('what changes within an hour comes in one mail, and what is mended meanwhile in none', async () => {
  watches = [startWriteBackNews(ctx, { everyMs: hour })];
  hold('1');
  const first = await pay(100);
  expect(await subjects()).toEqual(stuck(1));
  const [second, third] = [await pay(200), await pay(300)];
  hold();
  for (const id of [first, second]) await retry(id);
  hold('1');
  await pay(400);
  expect(await subjects()).toEqual([]);
  await setBack('told_at', 2);
  const [mail] = await mails();
  expect(mail?.mail.subject).toBe('2 payments of Acme are not in the ERP as meant');
  expect(mail?.mail.text).toContain(`1 payment that we wrote of before is in the ERP now: ${first} of 1.00 GBP.`);
  expect([mail?.mail.text?.includes(second), mail?.mail.text?.includes(third)]).toEqual([false, true]);
});

it('what may pass by itself is told after an hour, and at once where only a person can help', async () => {
  const error = (status: number, code: string) => ({ status, body: { 'o:errorDetails': [{ detail: 'No.', 'o:errorCode': code }] } });
  books.erp.account.injectFault({ path: /customerPayment$/, times: 1, ...error(503, 'SERVER_ERROR') });
  const down = await pay(100);
  expect([await books.state(down), await subjects()]).toMatchObject([{ status: 'PENDING' }, []]);
  await setBack('tell_at', 0);
  expect(await subjects()).toEqual(stuck(1));
  // It fails for good now, which is another state.
  hold('1');
  await retry(down);
  expect(await subjects()).toEqual(stuck(1));
  hold();
  await retry(down);
  expect(await subjects()).toEqual(well(1));
  books.erp.account.injectFault({ path: /customerPayment$/, times: 1, ...error(403, 'INSUFFICIENT_PERMISSION') });
  await pay(200);
  const [mail] = await mails();
  expect(mail?.mail.text).toContain('PERMISSION_MISSING');
});

it('a rest that no invoice takes is told, a refund that is refused likewise, and what people end is not', async () => {
  const [a, b] = [await books.invoice(1000), await books.invoice(500)];
  await books.byHand('POST', 'customerPayment', { customer: '1', payment: 4, apply: { items: [{ doc: a, apply: true, amount: 4 }] } });
  const partly = await books.pay([[a, 1000]]);
  await runner.settled();
  expect((await mails())[0]?.mail.text).toMatch(new RegExp(`${partly}[^]*4.00 GBP of the payment is applied to no invoice`));
  const id = await books.pay([[b, 500]]);
  await runner.settled();
  hold('1');
  await books.setWriteBack({ account: null });
  await books.refund(id, 100);
  await runner.settled();
  expect((await mails())[0]?.mail.text).toMatch(new RegExp(`${id}[^]*VALUE_MISSING`));
  await books.as((tx) => endErpDocuments(tx, books.organizationId, id));
  expect(await subjects()).toEqual([]);
});

it('is not taken for told where nobody can be told', async () => {
  hold('1');
  await pay(100);
  const configs = () => admin('sync_configs');
  await configs().update({ alert_recipients: [] });
  expect(await subjects()).toEqual([]);
  await configs().update({ alert_recipients: ['books@example.test', 'ops@example.test'] });
  await admin.raw('alter table outgoing_mails add constraint refused_by_the_test check (false) not valid');
  expect(await subjects()).toEqual([]);
  await admin.raw('alter table outgoing_mails drop constraint refused_by_the_test');
  expect(await subjects()).toEqual(stuck(1));
});

it('operators see how many there are by state, and no queue that stands still where nothing is to be taken from it', async () => {
  expect(await figures()).toEqual({ 'queue_waiting pay_erp_documents': 0, 'queue_oldest_seconds pay_erp_documents': 0 });
  hold('1');
  await pay(100);
  hold();
  const a = await books.invoice(1000);
  await books.byHand('POST', 'customerPayment', { customer: '1', payment: 4, apply: { items: [{ doc: a, apply: true, amount: 4 }] } });
  await books.pay([[a, 1000]]);
  await runner.settled();
  const [refused, untried] = [await books.invoice(200), await books.invoice(300)];
  // A refused log-in leaves the account alone, so the second waits untried.
  books.erp.account.injectFault({
    path: /./,
    times: 2,
    status: 401,
    body: { 'o:errorDetails': [{ detail: 'No.', 'o:errorCode': 'INVALID_LOGIN' }] },
  });
  await books.pay([[refused, 200]]);
  await runner.settled();
  books.erp.account.clearFaults();
  await books.pay([[untried, 300]]);
  await runner.settled();
  await admin('pay_erp_documents').update({ created_at: admin.raw("created_at - interval '5 hours'") });
  const seen = await figures();
  expect(seen).toMatchObject({
    'pay_write_backs failed': 1,
    'pay_write_backs unapplied': 1,
    'pay_write_backs waiting': 2,
    'queue_waiting pay_erp_documents': 0,
  });
  for (const state of ['failed', 'unapplied', 'waiting'])
    expect(seen[`pay_write_back_oldest_seconds ${state}`]).toBeGreaterThanOrEqual(18_000);
  await books.setWriteBack(false);
  await books.makeDue();
  expect(await figures()).toMatchObject({ 'pay_write_backs off': 2, 'queue_waiting pay_erp_documents': 0 });
  await runner.stop();
  await books.setWriteBack({ account: null, refundAccount: '7' });
  expect(await figures()).toMatchObject({ 'pay_write_backs waiting': 2, 'queue_waiting pay_erp_documents': 2 });
  runner = startWriteBack(ctx, { pollMs: hour, firstWaitMs: hour });
});
