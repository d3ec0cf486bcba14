// Visitors pay invoices while the service is killed (kill -9) again and again, and the provider's events are lost or
// come twice. The provider's and the ERP's own books judge: nothing is paid twice or lost, and no page says what isn't so.
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createKeyring } from '../../src/core/secrets/keyring.ts';
import { tenantSchema } from '../../src/warehouse/tenant-schema.ts';
import { findSession, openPayFixture, type PayFixture } from '../platform/pay/pay-fixture.ts';
import { settings } from '../portal/company.ts';
import { payForm, records } from '../portal/paying.ts';
import { switchOn } from '../portal/served-portal.ts';
import { openBrowser, startVisit, type VisitorBrowser } from '../portal/visiting.ts';
import type { Answer, Api } from '../setup/api.ts';
import { createRandom } from '../setup/random.ts';
import { type MailServer, startMailServer } from '../setup/smtp.ts';
import { findStablePort } from '../setup/stable-port.ts';
import type { Session } from '../setup/stripe/objects.ts';
import type { Fault, StripeRequest } from '../setup/stripe/server.ts';
import { asSuperuser } from '../setup/superuser.ts';
import { until } from '../setup/until.ts';
import { type OpsDatabase, opsDatabase, type ServingProcess, startServer } from './server-process.ts';

/** Others, or more of them. */
const random = createRandom(Number(process.env['PAY_SEED'] ?? 1));
const kills = Number(process.env['PAY_KILLS'] ?? 8);
const chance = (percent: number): boolean => random.below(100) < percent;

const addresses = ['ann@aster.example', 'bob@aster.example'] as const;
const prices = [10_000, 2_550, 40_000, 99, 99_999, 5_000, 12_345, 7_777];
/** What was open at first by invoice, in pence. */
const invoices = new Map<string, number>();

let fixture: PayFixture;
let database: OpsDatabase;
let mails: MailServer;
let url: string;
let slug: string;
let start: () => Promise<ServingProcess>;
let webhook: string;
/** Resolves with the process that serves, which may be killed at any moment. */
let serving: Promise<ServingProcess>;
const syncConfigs: string[] = [];

beforeAll(async () => {
  const key = randomBytes(32);
  const opened = await opsDatabase();
  database = { ...opened, ctx: { ...opened.ctx, keyring: createKeyring([{ id: 'test', bytes: key }]) } };
  [fixture, mails] = await Promise.all([openPayFixture(database), startMailServer()]);
  await fixture.stopWorking();
  const { books, stripe } = fixture;
  const port = await findStablePort();
  url = `http://127.0.0.1:${port}`;
  const environment = {
    ...{ PORT: String(port), PUBLIC_URL: url, RATE_LIMIT_PER_MINUTE: '1000000', SMTP_URL: mails.url },
    ...{ ALLOW_PRIVATE_ERP_HOSTS: 'true', ALLOWED_ERP_HOSTS: `${new URL(books.wire.url).host}` },
    ...{ ENCRYPTION_KEY: `test:${key.toString('base64')}`, STRIPE_API_URL: stripe.url },
  };
  const account = await books.as((tx) => tx('pay_accounts').first<{ id: string }>('id'));
  webhook = `${url}/api/platform/v1/pay/webhooks/stripe/${account.id}`;
  start = () => startServer(database, environment);
  serving = start();
  await openPortal();
});
afterAll(async () => {
  await (await serving).kill();
  await fixture.stop();
  await mails.close();
});

/** A portal over real syncs of the account, for two people of one customer. */
async function openPortal(): Promise<void> {
  const { ctx, books, api } = fixture;
  await books.byHand('PATCH', 'customer/1', { email: addresses.join(', ') });
  for (const pence of prices) await books.invoice(pence);
  for (const [id, pence] of await readOpen()) invoices.set(id, pence);
  // No run has filled the one of the fixture.
  await ctx.db.data.query(`drop schema ${tenantSchema(ctx.organizationId)} cascade`);
  for (const recordType of ['customer', 'invoice'])
    syncConfigs.push((await call('post', '/sync-configs', { name: recordType, recordType })).id);
  expect(await sync()).toEqual(['succeeded', 'succeeded']);
  const shown = records.map((one) => ({ ...one, fields: { ...one.fields, currency: 'currency.name' } }));
  await switchOn({ api }, { records: shown, people: settings.people.slice(0, 1) });
  ({ slug } = await books.as((tx) => tx('organizations').first<{ slug: string }>('slug')));
}

/** What is open in the ERP by invoice, in pence. */
async function readOpen(): Promise<ReadonlyMap<string, number>> {
  const rows = await fixture.books.ledger<{ id: string; due: string }>(
    "select id::text, round(foreignamountunpaid * 100)::text as due from ledger.transaction where type = 'CustInvc' and entity = 1 order by id",
  );
  return new Map(rows.map(({ id, due }) => [id, Number(due)]));
}

async function call(...given: Parameters<Api>): Promise<Answer['body']> {
  const answer = await fixture.api(...given);
  if (answer.status >= 300) throw new Error(`${answer.status} ${answer.text}`);
  return answer.body;
}

const trigger = (id: string) => fixture.api('post', `/sync-configs/${id}/trigger`, {});
/** A run with failed attempts waits 10 and 30 seconds by design. */
const patienceMs = 200_000;

/** How runs ended that were in progress, or start now. */
async function sync(): Promise<string[]> {
  const statuses: string[] = [];
  for (const id of syncConfigs) {
    const run = await until(async () => {
      const answer = await trigger(id);
      return answer.status < 300 && answer.body;
    }, patienceMs);
    statuses.push(
      await until(async () => {
        const { status } = await call('get', `/sync-runs/${run.id}`);
        return ['succeeded', 'failed', 'partial', 'cancelled'].includes(status) && status;
      }, patienceMs),
    );
  }
  return statuses;
}
async function syncSometimes(): Promise<void> {
  for (const id of syncConfigs) await trigger(id);
  await sleep(500);
}

async function openVisitor(email: string): Promise<VisitorBrowser> {
  const ctx = { ...fixture.ctx, settings: { ...fixture.ctx.settings, publicUrl: url } };
  const { name, token } = await startVisit(ctx, email);
  const browser = openBrowser({ app: url as never, ctx, slug, mails: { delivered: [] } as never });
  browser.held.set(name, token);
  return browser;
}

/** Undefined when the process was killed before the answer was complete: then another one serves. */
async function tryTo<T>(request: () => Promise<T>): Promise<T | undefined> {
  const answer = await request().catch(() => undefined);
  if (answer === undefined) await serving;
  return answer;
}
const toText = (html: string): string => html.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');

const asOperator = (...statements: readonly string[]) =>
  asSuperuser(database.address, async (client) => {
    for (const statement of statements) await client.query(statement);
  });
/** Jobs that no process works on, and retries of documents. */
const makeDue = () =>
  asOperator(
    'update jobs set due_at = now() where lease_id is null',
    "update pay_erp_documents set next_attempt_at = now(), holds_account_until = null where status = 'PENDING'",
  );
/** The leases of a killed process would last for a minute. */
const endLeases = () => asOperator('update jobs set due_at = now() where lease_id is not null');

type Moment = { readonly request: RegExp; readonly side: 'before' | 'after'; reached(): void };
/** The next request of this kind ends without an answer, and the process that sent it. */
let awaited: Moment | undefined;

const nextRequest = (request: RegExp, side: Moment['side']): Promise<void> =>
  new Promise((reached) => void (awaited = { request, side, reached }));

function isAwaited(name: string, side: Moment['side']): boolean {
  const moment = awaited;
  if (moment?.side !== side || !moment.request.test(name)) return false;
  awaited = undefined;
  moment.reached();
  return true;
}

/** Stripe would repeat an error that it gave after the effect until the session has expired, an hour later. */
const faults: readonly Fault[] = ['cut-before', 'cut-after', 'error-before', 'late'];
function breakWires(): void {
  const { books, stripe } = fixture;
  stripe.fault = ({ method, path }: StripeRequest) => {
    for (const side of ['before', 'after'] as const)
      if (isAwaited(`${method} ${path}`, side)) return `cut-${side}`;
    return chance(15) ? random.pick(faults) : undefined;
  };
  books.wire.before = (name) => (isAwaited(name, 'before') || chance(5) ? 'drop' : undefined);
  books.wire.after = (name) =>
    isAwaited(name, 'after') ? serving.then((server) => server.ended) : undefined;
}
function mendWires(): void {
  awaited = undefined;
  fixture.stripe.fault = () => undefined;
  fixture.books.wire.before = () => undefined;
  fixture.books.wire.after = () => undefined;
}

const requests = [/^POST \/v1\/checkout\/sessions$/, /^GET \/v1\/checkout/, /^POST customerPayment$/];
async function killAgainAndAgain(): Promise<void> {
  for (let killed = 0; killed < kills; killed += 1) {
    const before = answeredPosts;
    await until(async () => answeredPosts > before, 15_000).catch(() => undefined);
    const moment = random.below(requests.length + 1);
    const request = requests[moment];
    const patience = sleep(request === undefined ? random.below(2_000) : 5_000);
    const reached = request && nextRequest(request, random.pick(['before', 'after']));
    await Promise.race([patience, ...(reached === undefined ? [] : [reached])]);
    const server = await serving;
    serving = server.kill().then(endLeases).then(makeDue).then(start);
    await serving;
  }
}

/** Pence by invoice, as the visitor chose, by payment. */
const chosen = new Map<string, ReadonlyMap<string, number>>();
const receivedFor = (paymentId: string): number =>
  fixture.stripe.ledger.books().get(paymentId)?.received ?? 0;

/** What the provider has received for an invoice, as far as the visitors know which payments were for it. */
const receivedOf = (invoice: string): number =>
  [...chosen].reduce((sum, [id, shares]) => sum + (receivedFor(id) > 0 ? (shares.get(invoice) ?? 0) : 0), 0);

/** Opens the form: what can be paid, in pence. Never money that the provider has already received. */
async function readOffer(visitor: VisitorBrowser): Promise<ReadonlyMap<string, number> | undefined> {
  const before = new Map([...invoices].map(([id, pence]) => [id, pence - receivedOf(id)]));
  const page = await tryTo(() => visitor.get('/pay'));
  if (page === undefined) return undefined;
  expect(page.status, page.text).toBe(200);
  const offer = new Map(
    [...page.text.matchAll(/name="amount\.(\d+)" value="([\d.]+)"/g)].map(([, id = '', amount]) => [
      id,
      Math.round(Number(amount) * 100),
    ]),
  );
  for (const [id, pence] of offer) expect(pence, `offered of ${id}`).toBeLessThanOrEqual(before.get(id) ?? 0);
  return offer;
}

/** What the page of a payment says is so in the books. Its text. */
async function readTruth(visitor: VisitorBrowser, path: string): Promise<string> {
  const page = await tryTo(() => visitor.get(path));
  if (page?.status !== 200) return '';
  const text = toText(page.text);
  const id = path.slice('/payments/'.length, '/payments/'.length + 36);
  if (/nothing has been charged/i.test(text)) expect(receivedFor(id), text).toBe(0);
  if (/has arrived/.test(text)) expect(receivedFor(id), text).toBeGreaterThan(0);
  if (/is in the books/.test(text))
    expect(await fixture.books.inErp(id), text).toMatchObject({ payments: 1 });
  return text;
}

let delivered = 0;
let lostEvents = 0;
let answeredPosts = 0;
/** Events come in any order, twice, or never. */
async function deliverSome(): Promise<void> {
  const { ledger, signed } = fixture.stripe;
  for (let event = ledger.events[delivered]; event !== undefined; event = ledger.events[delivered]) {
    delivered += 1;
    if (chance(50)) lostEvents += 1;
    else
      for (let times = chance(30) ? 2 : 1; times > 0; times -= 1) {
        const { body, headers } = signed(event);
        const sent = { method: 'POST', body, headers: { ...headers, 'content-type': 'application/json' } };
        await tryTo(() => fetch(webhook, sent));
      }
  }
}

async function endSome(visitor: VisitorBrowser, page: string): Promise<void> {
  for (const [path] of page.matchAll(/\/payments\/[\w-]{36}/g))
    if (chance(30)) await tryTo(() => visitor.post(`${path}/end`, {}));
}

async function payOnce(visitor: VisitorBrowser): Promise<void> {
  const offer = await readOffer(visitor);
  if (offer === undefined || offer.size === 0) return;
  const first = random.pick([...offer.keys()]);
  const wanted = [...offer.keys()].filter((id) => id === first || chance(25));
  const shares = new Map(
    wanted.map((id) => [id, Math.max(1, Math.round(((offer.get(id) ?? 0) * (5 + random.below(35))) / 100))]),
  );
  const form = payForm(Object.fromEntries([...shares].map(([id, pence]) => [id, (pence / 100).toFixed(2)])));
  const started = await tryTo(() => visitor.post('/pay', form));
  answeredPosts += started === undefined ? 0 : 1;
  expect([undefined, 303, 422, 503]).toContain(started?.status);
  const path = /\/payments\/[\w-]{36}/.exec(started?.headers['location'] ?? '')?.[0];
  // Others that were started hold their amounts back.
  if (path === undefined) return endSome(visitor, started?.text ?? '');
  const id = path.slice(-36);
  chosen.set(id, shares);
  const begun = await tryTo(() => visitor.get(`${path}?begin=1`));
  const pageUrl = /http-equiv="refresh" content="0;url=([^"]+)"/.exec(begun?.text ?? '')?.[1];
  const session = pageUrl && findSession(fixture, pageUrl);
  if (session) {
    const leaves = chance(20) ? tryTo(() => visitor.post(`${path}/end`, {})) : undefined;
    if (chance(85))
      fixture.stripe.ledger.pay(session.id, random.pick(['succeeds', 'succeeds', 'processes', 'declines']));
    await leaves;
  }
  await deliverSome();
  await readTruth(visitor, chance(50) ? `${path}?back=paid` : path);
}

/** What waits for a bank or a visitor is decided; events that were not delivered stay so. */
async function settle(visitor: VisitorBrowser): Promise<void> {
  const { ledger } = fixture.stripe;
  mendWires();
  for (const { id } of ledger.all<Session>('checkout.session'))
    ledger.completeDebit(id, random.pick(['succeeds', 'fails']));
  // What a killed process had sent before it died may have been committed since.
  await endLeases();
  let left: { readonly id: string }[] = [];
  await until(async () => {
    await makeDue();
    ({ rows: left } = await asSuperuser(database.address, (client) => client.query(unsettled)));
    for (const { id } of left) await visitor.post(`/payments/${id}/end`, {});
    return left.length === 0;
  }).catch((error: unknown) => {
    throw new Error(`never settled: ${JSON.stringify(left)}`, { cause: error });
  });
}
const unsettled = `
  select id::text, status, session_id as why from pay_payments where status in ('PENDING', 'PROCESSING')
  union all select payment_id::text, kind, problem::text from pay_erp_documents where status = 'PENDING'
  union all select key, kind, error from jobs where kind in ('receipts', 'mails')`;

const listPaid = (): string[] =>
  [...fixture.stripe.ledger.books()].flatMap(([id, { received }]) => (received > 0 ? [id] : []));

/** What isn't as it must be, once everything is settled. */
async function judge(): Promise<string[]> {
  const wrong: string[] = [];
  const check = (found: unknown, expected: unknown, of: string): void => {
    if (JSON.stringify(found) !== JSON.stringify(expected))
      wrong.push(`${of}: ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`);
  };
  const booked = fixture.stripe.ledger.books();
  const open = new Map(invoices);
  for (const id of listPaid()) {
    const { received = 0, charges = 0 } = booked.get(id) ?? {};
    check(charges, 1, `charges of ${id}`);
    const { payments, total, applied } = await fixture.books.inErp(id);
    check([payments, total, applied], [1, received, received], `${id} in the ERP`);
    const shares = await readShares(id);
    check(shares, [...(chosen.get(id) ?? shares)].toSorted(), `shares of ${id}`);
    for (const [invoice, pence] of shares) open.set(invoice, (open.get(invoice) ?? 0) - pence);
  }
  check([...(await readOpen())], [...open], 'open');
  const recorded = await fixture.lines();
  for (const { id, status } of recorded)
    check(status === 'SUCCEEDED', receivedFor(id) > 0, `${id} is ${status}`);
  const receipts = mails.delivered.map(({ mail }) => /\/payments\/([\w-]{36})/.exec(mail.text ?? '')?.[1]);
  check(
    [...new Set(receipts)].filter((id) => listPaid().includes(id ?? '')),
    receipts,
    'delivered receipts',
  );
  // No one knows of those whose process was killed in the middle of sending.
  const queued = await countMails("kind = 'receipt'");
  const lost = queued - receipts.length;
  check([queued, lost <= (await countMails("status = 'unknown'"))], [listPaid().length, true], 'receipts');
  return wrong;
}

const countMails = async (condition: string): Promise<number> =>
  (await fixture.books.as((tx) => tx('outgoing_mails').whereRaw(condition).select('id'))).length;

/** Pence by invoice as the ERP has applied the payment. */
async function readShares(id: string): Promise<[string, number][]> {
  const rows = await fixture.books.ledger<{ invoice: string; pence: string }>(
    `select a.invoice::text, round(100 * a.amount)::text as pence from ledger.application a
     join ledger.transaction p on p.id = a.credit where p.externalid = $1 order by a.invoice::text collate "C"`,
    [`portal-payment-${id}`],
  );
  return rows.map(({ invoice, pence }) => [invoice, Number(pence)]);
}

/** After a sync, the form offers exactly what is open in the ERP, and each payment's page says how it ended. */
async function judgePages(visitor: VisitorBrowser): Promise<void> {
  // The first may be one that was killed, and began before the last payments.
  for (let times = 0; times < 2; times += 1) expect(await sync()).toEqual(['succeeded', 'succeeded']);
  const open = [...(await readOpen())].filter(([, pence]) => pence > 0);
  expect([...((await readOffer(visitor)) ?? [])].toSorted()).toEqual(open.toSorted());
  for (const { id } of await fixture.lines()) {
    const isPaid = receivedFor(id) > 0;
    const text = await readTruth(visitor, `/payments/${id}`);
    expect(text).toContain(
      isPaid ? 'The payment has arrived. It is in the books.' : 'nothing has been charged',
    );
  }
}

it('nothing is paid twice or lost, and the pages tell the truth', { timeout: 600_000 }, async () => {
  const visitors = await Promise.all([...addresses, addresses[0]].map(openVisitor));
  breakWires();
  let isOver = false;
  const goOn = async (work: () => Promise<unknown>): Promise<void> => {
    while (!isOver) await work();
  };
  await Promise.all([
    killAgainAndAgain().finally(() => void (isOver = true)),
    goOn(syncSometimes),
    ...visitors.map((visitor) => goOn(() => payOnce(visitor))),
  ]);
  const [visitor] = visitors;
  if (visitor === undefined) throw new Error('there are visitors');
  await settle(visitor);
  expect(await judge()).toEqual([]);
  await judgePages(visitor);
  // It has an effect, and the judgement can fail.
  const paid = listPaid();
  console.log(
    `${kills} kills, ${chosen.size} payments started, ${paid.length} paid, ${lostEvents} events lost`,
  );
  expect([paid.length, lostEvents].map((count) => count > 2)).toEqual([true, true]);
  await fixture.books.ledger(
    'update ledger.transaction set foreigntotal = foreigntotal + 1 where externalid = $1',
    [`portal-payment-${paid[0]}`],
  );
  expect(await judge()).toEqual([expect.stringContaining(paid[0] ?? '')]);
});
