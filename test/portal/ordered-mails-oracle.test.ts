// A model in memory decides which documents each visitor's mails may name, after random edits, changes of who belongs to
// whom, and orders; the mails must name exactly these. A model of other customers must disagree.
import { beforeAll, expect, it } from 'vitest';
import type { ReadingCtx } from '../../src/core/ctx.ts';
import { wakeJobs } from '../../src/db/jobs.ts';
import { decryptMail } from '../../src/mail/enqueue.ts';
import { startOrderedMails } from '../../src/portal/index.ts';
import { createReadEngine } from '../../src/public/index.ts';
import { createRandom } from '../setup/random.ts';
import { useOrganization } from '../setup/use-organization.ts';
import { contactTypes, customerTypes, invoiceTypes, loadRecords, settings } from './company.ts';
import { asOwner, switchOn } from './served-portal.ts';
import { openBrowser, startVisit } from './visiting.ts';

const org = useOrganization({ mail: true });
const random = createRandom(Number(process.env['MAILS_SEED'] ?? 1));
const rounds = 16;
const dayMs = 86_400_000;
const day = (offset: number): string => new Date(Date.now() + offset * dayMs).toISOString().slice(0, 10);
const clock = (): Date => new Date(`${day(0)}T08:00:00Z`);

type Invoice = { readonly id: number; date: number; due: number; unpaid: number; entity: number };
const invoices: Invoice[] = [];
/** The address of each customer; several may have the same. */
const addresses = ['a@portal.example', 'b@portal.example', 'c@portal.example'];
const kinds = ['invoice', 'due', 'overdue'] as const;
type Kind = (typeof kinds)[number];
type Order = {
  readonly email: string;
  readonly customer: number;
  readonly kinds: readonly Kind[];
  readonly dueDays: number;
};
const orders: Order[] = [];
/** What an order needs no mail about any more. */
const noted = new Map<Order, Set<string>>();

const addInvoice = (): void => {
  const due = random.below(24) - 12;
  const date = Math.min(0, due - random.below(40));
  invoices.push({
    id: 100 + invoices.length,
    date,
    due,
    unpaid: random.pick([0, 50]),
    entity: 1 + random.below(3),
  });
};
async function sync(): Promise<void> {
  const rows = invoices.map(({ id, date, due, unpaid, entity }) => ({
    ...{ id, tranid: `N-${id}`, trandate: day(date), duedate: day(due), total: 100, unpaid, entity },
    ...{ status: 'Open', lines: null },
  }));
  await loadRecords(org.ctx, org.id, 'invoice', invoiceTypes, rows, `${day(0)}T07:00:00Z`);
  const customers = addresses.map((email, at) => ({
    id: at + 1,
    name: `C ${at + 1}`,
    email,
    isinactive: false,
  }));
  await loadRecords(org.ctx, org.id, 'customer', customerTypes, customers, `${day(0)}T07:00:00Z`);
}

/** By address, what is to be mailed now: `kind id`, sorted. `customerOf`: whose records an order is about. */
function expectMails(customerOf = ({ customer }: Order): number => customer): Map<string, string[]> {
  const expected = new Map<string, string[]>();
  for (const order of orders) {
    if (addresses[order.customer - 1] !== order.email) continue;
    const own = invoices.filter(({ entity }) => entity === customerOf(order));
    const found = listMatches(order, own).filter((key) => noted.get(order)?.has(key) !== true);
    if (found.length > 0) expected.set(order.email, [...(expected.get(order.email) ?? []), ...found].sort());
  }
  return expected;
}
const listMatches = ({ kinds: wanted, dueDays }: Order, own: readonly Invoice[]): string[] =>
  own.flatMap(({ id, date, due, unpaid }) => {
    const is: Readonly<Record<Kind, boolean>> = {
      invoice: date >= -31 && date <= 0,
      due: unpaid !== 0 && due >= 0 && due <= dueDays,
      overdue: unpaid !== 0 && due < 0 && due >= -31,
    };
    return wanted.filter((kind) => is[kind]).map((kind) => `${kind} ${id}`);
  });

const titles: readonly (readonly [RegExp, Kind])[] = [
  [/new invoice/i, 'invoice'],
  [/overdue/i, 'overdue'],
  [/due/i, 'due'],
];
/** The same of the mails that one look queues. */
async function look(): Promise<Map<string, string[]>> {
  const ctx: ReadingCtx = { ...org.ctx, reads: createReadEngine(org.ctx) };
  await org.sql((tx) => wakeJobs(tx, org.id, 'portal_mails'));
  const worker = startOrderedMails(ctx, clock, { pollMs: 3_600_000 });
  await worker.waitUntilIdle();
  await worker.stop();
  const rows = await org.sql((tx) => tx('outgoing_mails').where({ kind: 'portal-mail' }));
  await org.sql((tx) => tx('outgoing_mails').where({ kind: 'portal-mail' }).update({ kind: 'seen' }));
  const sent = new Map<string, string[]>();
  for (const row of rows) {
    const { text, subject } = await decryptMail(ctx, row, undefined);
    const kind = titles.find(([title]) => title.test(subject))?.[1];
    const named = [...text.matchAll(/\bN-(\d+)\b/g)].map(([, id]) => `${kind} ${id}`);
    sent.set(row.recipient, [...(sent.get(row.recipient) ?? []), ...named].sort());
  }
  return sent;
}

beforeAll(async () => {
  for (let made = 0; made < 12; made += 1) addInvoice();
  await loadRecords(org.ctx, org.id, 'contact', contactTypes, []);
  await sync();
  const owner = await asOwner(org);
  const records = settings.records.map((one) => ({ ...one, conditions: [] }));
  await switchOn(owner, { records });
});

/** Orders mails as a person who belongs to the customer now; what is there already is no news, but what is due. */
async function placeOrder(): Promise<void> {
  const customer = 1 + random.below(3);
  const email = addresses[customer - 1] ?? '';
  if (orders.some((one) => one.email === email && one.customer === customer)) return;
  const wanted = kinds.filter(() => random.below(3) > 0);
  if (wanted.length === 0) return;
  const order: Order = { email, customer, kinds: wanted, dueDays: random.pick([3, 7]) };
  const browser = openBrowser(org);
  const { name, token } = await startVisit({ ...org.ctx, organizationId: org.id }, email);
  browser.held.set(name, token);
  await browser.post('/customer', { customer: String(customer) });
  const form = { customer: String(customer), kind: [...wanted], dueDays: String(order.dueDays) };
  const answer = await browser.post('/profile/mails', form);
  expect([answer.status, answer.text.slice(0, 300)]).toEqual([303, expect.anything()]);
  orders.push(order);
  const own = invoices.filter(({ entity }) => entity === customer);
  noted.set(order, new Set(listMatches(order, own).filter((key) => !key.startsWith('due '))));
}

function edit(): void {
  for (let added = 0; added < 3; added += 1) addInvoice();
  const one = random.pick(invoices);
  one.unpaid = random.pick([0, 25, 50]);
  const moved = random.pick(invoices);
  moved.entity = 1 + random.below(3);
  if (random.below(3) === 0)
    addresses[random.below(3)] = random.pick(['a', 'b', 'c', 'd']) + '@portal.example';
}

it('mails name exactly what the model says, and nothing of others', async () => {
  let disagreed = 0;
  let named = 0;
  for (let round = 0; round < rounds; round += 1) {
    for (let times = 0; times < 2; times += 1) await placeOrder();
    edit();
    await sync();
    const expected = expectMails();
    const wrong = expectMails(({ customer }) => (customer % 3) + 1);
    const sent = await look();
    expect({ round, sent: [...sent].sort() }).toEqual({ round, sent: [...expected].sort() });
    disagreed += JSON.stringify([...wrong].sort()) === JSON.stringify([...sent].sort()) ? 0 : 1;
    for (const [, keys] of expected) named += keys.length;
    for (const order of orders)
      if (addresses[order.customer - 1] === order.email) {
        const own = invoices.filter(({ entity }) => entity === order.customer);
        for (const key of listMatches(order, own)) noted.get(order)?.add(key);
      }
  }
  expect([disagreed > 2, named > 5]).toEqual([true, true]);
});
