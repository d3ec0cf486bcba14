// Alert mails about payments that are not fully in the ERP, read back from a real mail server, and the
// metrics for operators. Each change is reported once, regardless of how many processes check and how often
// an attempt is retried.
import type { Knex } from 'knex';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import type { Ctx } from '../../../../src/core/ctx.ts';
import { createId } from '../../../../src/core/id.ts';
import type { Recurring } from '../../../../src/core/work/recurring.ts';
import { openKnex } from '../../../../src/db/connect.ts';
import type { JobWorker } from '../../../../src/db/job-worker.ts';
import { startMailSender } from '../../../../src/mail/index.ts';
import { startWriteBackAlerts } from '../../../../src/platform/pay/write-back/alerts.ts';
import { deleteStuckErpDocuments } from '../../../../src/platform/pay/write-back/erp-documents.store.ts';
import { startWriteBack } from '../../../../src/platform/pay/write-back/worker.ts';
import { testSettings } from '../../../setup/database.ts';
import { type Delivered, type MailServer, startMailServer } from '../../../setup/smtp.ts';
import { type Books, openBooks } from './erp-books.ts';
import { erpFault, hour } from './use-write-back.ts';

const failedUrl = 'https://portal.example.test/api/platform/v1/pay/payments?erpStatus=FAILED';
const recipients = ['books@example.test', 'ops@example.test'];
let books: Books;
let server: MailServer;
let ctx: Ctx;
let admin: Knex;
let runner: JobWorker;
let watches: Recurring[];

beforeAll(async () => {
  [books, server] = await Promise.all([openBooks(), startMailServer()]);
  const settings = {
    ...testSettings,
    publicUrl: 'https://portal.example.test',
    mail: { ...testSettings.mail, smtpUrl: server.url },
  };
  ctx = { ...books.database.ctx, settings };
  admin = openKnex(books.database.address, null, 1);
  await books.as((tx) => tx('organizations').where('id', books.organizationId).update({ name: 'Acme' }));
  await books.as((tx) =>
    tx('sync_configs').insert({
      ...{ id: createId(), organization_id: books.organizationId, name: 'Invoices' },
      ...{ record_type: 'invoice', mode: 'full', deletions: 'none', alert_recipients: recipients },
    }),
  );
  runner = startWriteBack(ctx, { pollMs: hour, firstWaitMs: hour });
});
beforeEach(() => {
  watches = [1, 2].map(() => startWriteBackAlerts(ctx, { everyMs: hour, quietMs: 0 }));
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

/** The mails sent when two processes check at the same time. */
async function mails(checking = watches): Promise<Delivered[]> {
  await Promise.all(checking.map((watch) => watch.tick()));
  const sender = startMailSender(ctx, { pollMs: hour });
  await sender.waitUntilIdle();
  await sender.stop();
  return server.delivered.splice(0).sort((a, b) => String(a.to).localeCompare(String(b.to)));
}
const subjects = async (checking = watches): Promise<string[]> =>
  (await mails(checking)).map(({ to, mail }) => `${to}: ${mail.subject}`);
const toBoth = (subject: string): string[] => recipients.map((address) => `${address}: ${subject}`);
let onHold: string[] = [];
const hold = (...customers: string[]): void => {
  onHold = customers;
  books.erp.account.setSwitches({ customersOnHold: customers });
};
const payFor = async (invoice: string, pence: number, customer = '1'): Promise<string> => {
  const id = await books.pay([[invoice, pence]], { customer });
  await runner.waitUntilIdle();
  return id;
};
const pay = async (pence: number, customer = '1'): Promise<string> => {
  books.erp.account.setSwitches({ customersOnHold: [] });
  const invoice = await books.invoice(pence, customer);
  hold(...onHold);
  return payFor(invoice, pence, customer);
};
const retry = async (id: string): Promise<void> => {
  expect(await books.retry(id)).toBeGreaterThan(0);
  await runner.waitUntilIdle();
};
const setBack = (column: 'tell_at' | 'told_at', hours: number) =>
  admin('pay_erp_documents')
    .whereNotNull(column)
    .update({ [column]: admin.raw("clock_timestamp() - ? * interval '1 hour'", [hours]) });
const stuck = (payments: number): string[] =>
  toBoth(`${payments} payment${payments === 1 ? ' of Acme is' : 's of Acme are'} not fully in the ERP`);
const resolved = (payments: number): string[] =>
  toBoth(`${payments} payment${payments === 1 ? ' of Acme is' : 's of Acme are'} now in the ERP`);
const metrics = async (): Promise<Readonly<Record<string, number>>> => {
  const { rows } = await ctx.db.control.raw<{ rows: { figure: string; label: string; value: number }[] }>(
    "select figure, label, value from operational_figures() where figure like 'pay%' or label = 'pay_erp_documents'",
  );
  return Object.fromEntries(rows.map(({ figure, label, value }) => [`${figure} ${label}`, value]));
};

it('reports a payment that the ERP refuses once with a fix, however often it is retried, and again when it has landed', async () => {
  const customer = await books.customer();
  expect(await subjects()).toEqual([]);
  hold(customer);
  const both = [await pay(1250, customer), await pay(200, customer)];
  const landed = await pay(300);
  const sent = await mails();
  expect(sent.map(({ to, mail }) => `${to}: ${mail.subject}`)).toEqual(stuck(2));
  for (const part of [sent[0]?.mail.text, sent[0]?.mail.html]) {
    for (const words of [...both, '12.50 GBP', customer, 'CUSTOMER_ON_HOLD', 'off credit hold', failedUrl])
      expect(part).toContain(words);
    expect(part).not.toContain(landed);
  }
  expect(await subjects()).toEqual([]);
  await retry(both[0] ?? '');
  expect([await books.state(both[0] ?? ''), await subjects()]).toMatchObject([{ status: 'FAILED' }, []]);
  hold();
  for (const id of both) await retry(id);
  const resolvedMails = await mails();
  expect(resolvedMails.map(({ to, mail }) => `${to}: ${mail.subject}`)).toEqual(resolved(2));
  expect(resolvedMails[0]?.mail.text).toContain(`${both[0]} of 12.50 GBP`);
  expect(await subjects()).toEqual([]);
});

it('reports the changes of an hour in one mail, and omits problems that were resolved in the meantime', async () => {
  watches = [startWriteBackAlerts(ctx, { everyMs: hour })];
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
  expect(mail?.mail.subject).toBe('2 payments of Acme are not fully in the ERP');
  const earlier = `1 payment from an earlier alert is now in the ERP: ${first} of 1.00 GBP.`;
  expect(mail?.mail.text).toContain(earlier);
  expect([mail?.mail.text?.includes(second), mail?.mail.text?.includes(third)]).toEqual([false, true]);
});

it('reports a problem that may resolve itself after an hour, and one that needs a person immediately', async () => {
  books.erp.account.injectFault(erpFault(503, 'SERVER_ERROR'));
  const down = await pay(100);
  expect([await books.state(down), await subjects()]).toMatchObject([{ status: 'PENDING' }, []]);
  await setBack('tell_at', 0);
  expect(await subjects()).toEqual(stuck(1));
  // Now it fails permanently, which is another status.
  hold('1');
  await retry(down);
  expect(await subjects()).toEqual(stuck(1));
  hold();
  await retry(down);
  expect(await subjects()).toEqual(resolved(1));
  books.erp.account.injectFault(erpFault(403, 'INSUFFICIENT_PERMISSION'));
  await pay(200);
  const [mail] = await mails();
  expect(mail?.mail.text).toContain('PERMISSION_MISSING');
});

it('reports an unapplied rest and a refused refund, but not documents that a person ended', async () => {
  const [a, b] = [await books.invoice(1000), await books.invoice(500)];
  await books.payByHand(a, 4);
  const partly = await payFor(a, 1000);
  expect((await mails())[0]?.mail.text).toMatch(
    new RegExp(`${partly}[^]*4.00 GBP of the payment isn't applied to any invoice`),
  );
  const id = await payFor(b, 500);
  hold('1');
  await books.setWriteBack({ account: null });
  await books.refund(id, 100);
  await runner.waitUntilIdle();
  expect((await mails())[0]?.mail.text).toMatch(new RegExp(`${id}[^]*VALUE_MISSING`));
  await books.as((tx) => deleteStuckErpDocuments(tx, books.organizationId, id));
  expect(await subjects()).toEqual([]);
});

it('keeps the alert pending while there are no recipients or mails cannot be queued', async () => {
  hold('1');
  await pay(100);
  const configs = () => admin('sync_configs');
  await configs().update({ alert_recipients: [] });
  expect(await subjects()).toEqual([]);
  await configs().update({ alert_recipients: recipients });
  await admin.raw('alter table outgoing_mails add constraint refused_by_the_test check (false) not valid');
  expect(await subjects()).toEqual([]);
  await admin.raw('alter table outgoing_mails drop constraint refused_by_the_test');
  expect(await subjects()).toEqual(stuck(1));
});

it('exports counts by state for operators, and counts no document as waiting in the queue that cannot be claimed', async () => {
  const waiting = 'queue_waiting pay_erp_documents';
  expect(await metrics()).toEqual({ [waiting]: 0, 'queue_oldest_seconds pay_erp_documents': 0 });
  hold('1');
  await pay(100);
  hold();
  const a = await books.invoice(1000);
  await books.payByHand(a, 4);
  await payFor(a, 1000);
  const [refused, untried] = [await books.invoice(200), await books.invoice(300)];
  // A refused log-in pauses the account, so the second document is not attempted.
  books.erp.account.injectFault({ ...erpFault(401, 'INVALID_LOGIN', { path: /./ }), times: 2 });
  await payFor(refused, 200);
  books.erp.account.clearFaults();
  await payFor(untried, 300);
  await admin('pay_erp_documents').update({ created_at: admin.raw("created_at - interval '5 hours'") });
  const seen = await metrics();
  expect(seen).toMatchObject({
    ...{ 'pay_write_backs failed': 1, 'pay_write_backs unapplied': 1 },
    ...{ 'pay_write_backs waiting': 2, [waiting]: 0 },
  });
  for (const state of ['failed', 'unapplied', 'waiting'])
    expect(seen[`pay_write_back_oldest_seconds ${state}`]).toBeGreaterThanOrEqual(18_000);
  await books.setWriteBack(false);
  await books.makeDue();
  await runner.waitUntilIdle();
  expect(await metrics()).toMatchObject({ 'pay_write_backs off': 2, [waiting]: 0 });
  await runner.stop();
  await books.setWriteBack({ account: null, refundAccount: '7' });
  expect(await metrics()).toMatchObject({ 'pay_write_backs waiting': 2, [waiting]: 2 });
  runner = startWriteBack(ctx, { pollMs: hour, firstWaitMs: hour });
});
