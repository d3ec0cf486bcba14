// Mails that visitors order: what they get, once, with the documents, and under the access that they have then.
import supertest from 'supertest';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import type { ReadingCtx } from '../../src/core/ctx.ts';
import { wakeJobs } from '../../src/db/jobs.ts';
import type { Mail } from '../../src/gateways/compose-mail.ts';
import { decryptMail } from '../../src/mail/enqueue.ts';
import { startOrderedMails } from '../../src/portal/index.ts';
import { createReadEngine } from '../../src/public/index.ts';
import { readPdf, textsOf } from '../pdf/read-pdf.ts';
import { publishVersion } from '../public/fixture.ts';
import { useOrganization } from '../setup/use-organization.ts';
import { contactTypes, customerTypes, invoiceTypes, loadRecords, type Row, settings } from './company.ts';
import { asOwner, type PortalOwner, switchOff, switchOn } from './served-portal.ts';
import { openBrowser, startVisit, type VisitorBrowser } from './visiting.ts';

const org = useOrganization({ mail: true });
let owner: PortalOwner;
let browser: VisitorBrowser;

const dayMs = 86_400_000;
const day = (offset: number): string => new Date(Date.now() + offset * dayMs).toISOString().slice(0, 10);
let clock = () => new Date(`${day(0)}T08:00:00Z`);

type Change = { date?: number; due?: number; total?: number; unpaid?: number; entity?: number };
const toRow = (
  id: number,
  { date = -40, due = 20, total = 100, unpaid = total, entity = 1 }: Change,
): Row => ({
  ...{ id, tranid: `N-${id}`, trandate: day(date), duedate: day(due), total, unpaid, entity },
  ...{ status: 'Open', lines: [{ item: `Part of ${id}`, amount: total }] },
});
const invoices = new Map<number, Change>([
  [100, {}],
  [101, { date: -5, due: 2 }],
  [102, { date: -5, due: 2, entity: 2 }],
  [103, { date: -50, due: -3 }],
]);
const payments = new Map<number, Change>([[500, { date: -2 }]]);
const sync = async (syncedAt?: string): Promise<void> => {
  const rows = (records: ReadonlyMap<number, Change>) =>
    [...records].map(([id, change]) => toRow(id, change));
  await loadRecords(org.ctx, org.id, 'invoice', invoiceTypes, rows(invoices), syncedAt);
  await loadRecords(org.ctx, org.id, 'payment', invoiceTypes, rows(payments), syncedAt);
};
const loadCustomers = (emails: readonly string[]) =>
  loadRecords(
    org.ctx,
    org.id,
    'customer',
    customerTypes,
    emails.map((email, at) => ({ id: at + 1, name: `Customer ${at + 1}`, email, isinactive: false })),
  );

const [invoiceEntry] = settings.records;
const records = [
  invoiceEntry,
  {
    ...invoiceEntry,
    recordType: 'payment',
    role: 'payment',
    fields: { number: 'tranid', date: 'trandate', amount: 'total' },
  },
];
const access = { records, unusedRoles: ['credit', 'refund', 'journal'] };

beforeAll(async () => {
  await loadCustomers(['Books@1.example', 'books@2.example']);
  await loadRecords(org.ctx, org.id, 'contact', contactTypes, []);
  await sync();
  owner = await asOwner(org);
  await owner.api('put', '/portal/branding', { name: 'Northwind' });
  const fields = ['tranid', 'trandate', 'duedate', 'total', 'unpaid', 'lines'];
  await owner.api('post', '/portal/field-mappings', {
    recordType: 'invoice',
    fields: fields.map((source) => ({ source, label: source })),
  });
  await switchOn(owner, access);
  browser = openBrowser(org);
  await browser.signIn('books@1.example');
});

/** The mails that one look of all orders queues. */
async function look(): Promise<Mail[]> {
  const ctx: ReadingCtx = { ...org.ctx, reads: createReadEngine(org.ctx) };
  await org.sql((tx) => wakeJobs(tx, org.id, 'portal_mails'));
  const worker = startOrderedMails(ctx, () => clock(), { pollMs: 3_600_000 });
  await worker.waitUntilIdle();
  await worker.stop();
  const rows = await org.sql((tx) =>
    tx('outgoing_mails').where({ kind: 'portal-mail' }).orderBy('created_at'),
  );
  await org.sql((tx) => tx('outgoing_mails').where({ kind: 'portal-mail' }).update({ kind: 'seen' }));
  return Promise.all(rows.map((row) => decryptMail(ctx, row, undefined)));
}
const subjects = (mails: readonly Mail[]): string[] => mails.map(({ subject }) => subject).sort();
const pdfsOf = async (mail: Mail | undefined): Promise<string[]> =>
  Promise.all(
    (mail?.attachments ?? []).map(async ({ content }) => textsOf(await readPdf(content)).join(' ')),
  );
const order = (form: Record<string, string | string[]>) => browser.post('/profile/mails', form);
const all = {
  customer: '1',
  kind: ['invoice', 'due', 'overdue', 'payment', 'statement'],
  dueDays: '3',
  pdf: '1',
};

it('tells what is due soon, and of the others only what is new since they were ordered', async () => {
  expect((await browser.get('/profile')).text).toMatch(/name="kind" value="statement"/);
  const answer = await order(all);
  expect([answer.status, answer.headers['location']]).toEqual([
    303,
    `${browser.base}/profile?mails=saved#mails`,
  ]);
  expect((await browser.get('/profile')).text.match(/name="kind" value="\w+" checked/g)).toHaveLength(5);
  const [mail, ...others] = await look();
  expect([mail?.subject, others]).toEqual(['An invoice is due soon at Northwind', []]);
  expect(mail?.to.address).toBe('Books@1.example');
  expect(mail?.text).toContain('N-101');
  expect(mail?.text).not.toContain('N-102');
  expect(await pdfsOf(mail)).toEqual([expect.stringMatching(/Invoice N-101.*Part of 101/)]);
  expect(await look()).toEqual([]);
});

it('sends each news once, with its documents, to who may see it', async () => {
  invoices.set(104, { date: 0 }).set(105, { date: -1 }).set(106, { date: 0, entity: 2 });
  invoices.set(101, { date: -5, due: -1 });
  payments.set(501, { date: 0, total: 40 });
  await sync();
  const mails = await look();
  expect(subjects(mails)).toEqual([
    ...['2 new invoices from Northwind', 'An invoice is overdue at Northwind'],
    'Northwind has received your payment',
  ]);
  const news = mails.find(({ subject }) => subject.startsWith('2 new'));
  expect(news?.text).toMatch(/N-10[45][\s\S]*N-10[45]/);
  expect(mails.map(({ text, html }) => text + html).join()).not.toMatch(/N-10[26]/);
  expect((await pdfsOf(news)).sort()).toEqual([
    ...[expect.stringContaining('Part of 104'), expect.stringContaining('Part of 105')],
  ]);
  expect(await look()).toEqual([]);
});

it('sends the statement of the month before in the morning of its first day', async () => {
  const next = new Date(`${day(0).slice(0, 7)}-01T00:00:00Z`);
  next.setUTCMonth(next.getUTCMonth() + 1);
  const at = (hour: number) => () => new Date(next.getTime() + hour * 3_600_000);
  const before = clock;
  onTestFinished(() => {
    clock = before;
  });
  const statements = async (): Promise<Mail[]> =>
    (await look()).filter(({ subject }) => subject.startsWith('Statement'));
  clock = at(3);
  expect(await statements()).toEqual([]);
  clock = at(7);
  // Not all of the month is synced yet.
  expect(await statements()).toEqual([]);
  await sync(at(1)().toISOString());
  const [mail] = await statements();
  expect(mail?.subject).toBe('Statement of Northwind');
  const [from, to] = [`${day(0).slice(0, 7)}-01`, new Date(next.getTime() - 1).toISOString().slice(0, 10)];
  const file = await browser.get(`/statement.pdf?from=${from}&to=${to}`);
  const [attached] = await pdfsOf(mail);
  const closing = /Closing balance [\d.,]+/;
  const expected = closing.exec(textsOf(await readPdf(file.body)).join(' '))?.[0];
  expect(closing.exec(attached ?? '')?.[0]).toBe(expected);
  expect(attached).toMatch(closing);
  expect(await statements()).toEqual([]);
  const { portal } = (await owner.api('get', '/overview')).body;
  expect([portal.mails7Days > 4, portal.statements7Days]).toEqual([true, 1]);
});

it('ends mails of a kind by one click, without a sign-in', async () => {
  invoices.set(110, { date: 0 });
  await sync();
  const [mail] = await look();
  const url = new URL(mail?.unsubscribeUrl ?? '');
  const anyone = supertest(org.app);
  const shown = await anyone.get(url.pathname + url.search).set('accept', 'text/html');
  expect([shown.status, shown.text.includes('End these mails?')]).toEqual([200, true]);
  const oneClick = () =>
    anyone
      .post(url.pathname + url.search)
      .type('form')
      .send({ 'List-Unsubscribe': 'One-Click' });
  expect([(await oneClick()).status, (await oneClick()).status]).toEqual([200, 200]);
  invoices.set(111, { date: 0, due: 1 });
  await sync();
  expect(subjects(await look())).toEqual(['An invoice is due soon at Northwind']);
  const forged = await anyone.post(`${url.pathname}?token=${url.searchParams.get('token')}x`);
  expect(forged.status).toBe(404);
});

it.each([
  [
    'was blocked',
    async () =>
      owner.api('post', '/portal/visitors', { email: 'books@1.example', customers: [], blocked: true }),
  ],
  ['has left the ERP', async () => loadCustomers(['', 'books@2.example'])],
  ['has no portal any more', async () => switchOff(owner)],
])('sends nothing to someone who %s', async (_, change) => {
  const id = 600 + payments.size;
  payments.set(id, { date: 0 });
  await sync();
  const before = await org.sql((tx) =>
    tx('portal_visitors').where({ email: 'books@1.example' }).first('blocked'),
  );
  await org.sql((tx) => tx('portal_visitors').where({ email: 'books@1.example' }).delete());
  await change();
  expect(await look()).toEqual([]);
  await org.sql((tx) =>
    tx('portal_visitors')
      .where({ email: 'books@1.example' })
      .update({ blocked: before?.blocked ?? false }),
  );
  await loadCustomers(['Books@1.example', 'books@2.example']);
  await switchOn(owner, access);
  expect(subjects(await look())).toEqual(['Northwind has received your payment']);
});

it('of one kind are sent although another can’t be read', async () => {
  invoices.set(120, { date: 0, due: 2 });
  payments.set(700, { date: 0 });
  await sync();
  const fields = [{ name: 'due', source: 'unpaid', mask: 'hash' }];
  const version = await publishVersion(org.ctx, org.id, {
    endpoints: [{ name: 'invoices', recordType: 'invoice', fields }],
  });
  expect(subjects(await look())).toEqual(['Northwind has received your payment']);
  await org.sql((tx) => tx('api_schemas').where({ id: version }).update({ status: 'retired' }));
  expect(subjects(await look())).toEqual(['An invoice is due soon at Northwind']);
});

it('is ordered by visitors alone, in a form of the portal', async () => {
  expect((await browser.post('/profile/mails', all, { origin: 'https://elsewhere.example' })).status).toBe(
    403,
  );
  expect((await order({ customer: '1', kind: 'everything' })).status).toBe(422);
  const other = await order({ customer: '2' });
  expect([other.status, other.headers['location']]).toEqual([303, `${browser.base}/profile#mails`]);
  const tenant = { ...org.ctx, organizationId: org.id };
  const { name, token } = await startVisit(tenant, 'books@1.example', org.owner.id);
  const viewer = openBrowser(org);
  viewer.held.set(name, token);
  expect((await viewer.get('/profile')).text).not.toContain('name="kind"');
  expect((await viewer.post('/profile/mails', all)).status).toBe(404);
});

it('ends all of them in the profile', async () => {
  expect((await order({ customer: '1' })).status).toBe(303);
  expect((await browser.get('/profile')).text).not.toMatch(/name="kind" value="\w+" checked/);
  expect(await org.sql((tx) => tx('jobs').where({ kind: 'portal_mails' }))).toEqual([]);
  expect(await look()).toEqual([]);
  // Ordered again, they don't repeat what was mailed before.
  expect((await order(all)).status).toBe(303);
  expect(await look()).toEqual([]);
});
