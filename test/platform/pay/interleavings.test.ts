// Property test: after any sequence of events and faults, once everything has settled, three ledgers agree:
// this service's, Stripe's charges and refunds, and the applied and unapplied amounts in the ERP. Sequences
// run concurrently in one organization, each on its own invoices. Run more with PAY_SEQUENCES=2000;
// PROPERTY_SEED reproduces the seed that a failure names.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Intent, Refund, Session } from '../../setup/stripe/objects.ts';
import type { Fault } from '../../setup/stripe/server.ts';
import { useStarted } from '../../setup/use-started.ts';
import { findSession, openPayFixture, type PaymentLine } from './pay-fixture.ts';

const sequences = Number(process.env['PAY_SEQUENCES'] ?? 12);
const seed = Number(process.env['PROPERTY_SEED'] ?? 20_261_121);
/** Sequences that run before all of them settle. */
const batch = Math.min(24, sequences);
const concurrency = 6;
const timeoutMs = 120_000 + sequences * 5_000;

const fixture = useStarted(() => openPayFixture());

const which = fc.nat(5);
const share = fc.constantFrom(0.1, 0.35, 0.5, 1, 1.5);
const fault = fc.constantFrom<Fault>(
  ...(['late', 'late', 'rate-limit', 'error-before', 'error-after'] as const),
  ...(['cut-before', 'cut-after', 'half-answer', 'not-json'] as const),
);
/** An action with these properties. */
const act = <const Kind extends string, Given extends object>(
  kind: Kind,
  given: { [Name in keyof Given]: fc.Arbitrary<Given[Name]> },
) => fc.record<Given>(given).map((values) => ({ do: kind, ...values }));
const checkout = act('checkout', {
  invoices: fc.constantFrom([0], [1], [0, 1]),
  share: fc.option(share, { nil: undefined }),
});
const paid = fc.constantFrom('succeeds', 'succeeds', 'declines', 'processes');
const settled = fc.constantFrom('succeeds', 'fails');
const action = fc.oneof(
  { weight: 5, arbitrary: checkout },
  { weight: 6, arbitrary: act('pay', { which, outcome: paid }) },
  { weight: 2, arbitrary: act('settle', { which, outcome: settled }) },
  { weight: 5, arbitrary: act('deliver', { back: fc.nat(40), times: fc.integer({ min: 1, max: 2 }) }) },
  { weight: 3, arbitrary: act('refund', { which, share: fc.option(share, { nil: undefined }) }) },
  { weight: 2, arbitrary: act('refund in the dashboard', { which, share }) },
  { weight: 1, arbitrary: act('refunds wait', { pend: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: act('settle a refund', { which, status: fc.constantFrom('succeeded', 'failed') }),
  },
  { weight: 1, arbitrary: act('pay by hand', { invoice: fc.nat(1), share: fc.constantFrom(0.1, 0.3) }) },
  { weight: 3, arbitrary: act('Stripe fails', { fault }) },
  { weight: 2, arbitrary: act('the ERP fails', { afterEffect: fc.boolean(), write: fc.boolean() }) },
  { weight: 1, arbitrary: act('time passes', { minutes: fc.constantFrom(5, 20, 45) }) },
  { weight: 1, arbitrary: act('restart', {}) },
  { weight: 1, arbitrary: act('pay out', {}) },
  { weight: 3, arbitrary: act('work', {}) },
);
type Action = typeof action extends fc.Arbitrary<infer T> ? T : never;
/** The actions of one step run concurrently. */
const steps = fc.array(fc.array(action, { minLength: 1, maxLength: 3 }), { minLength: 4, maxLength: 12 });
const sequence = fc.tuple(checkout, steps).map(([first, rest]): Action[][] => [[first], ...rest]);

type Run = {
  readonly invoices: readonly { readonly id: string; readonly pence: number }[];
  /** Checkout pages that a payer was sent to, and their payments. */
  readonly pages: { readonly url: string; readonly paymentId: string }[];
  /** Whether a person entered something in the ERP, so that the free amounts there can't be predicted. */
  disturbed: boolean;
  readonly log: string[];
};
const newRun = (invoices: Run['invoices'] = []): Run => ({ invoices, pages: [], disturbed: false, log: [] });
const makeInvoice = (pence: number): Promise<string> =>
  fixture.byHand('invoice', {
    ...{ entity: { id: '1' }, item: { items: [{ item: '10', amount: pence / 100 }] } },
  });
const decimal = (pence: number): string => (pence / 100).toFixed(2);
const fine = new Set([200, 201, 422, 503]);

async function call(run: Run, path: string, body: object): Promise<Record<string, string> | undefined> {
  const answer = await fixture.api('post', path, body);
  run.log.push(`  ${answer.status} ${JSON.stringify(answer.body).slice(0, 300)}`);
  expect(fine, `${path}: ${answer.text}`).toContain(answer.status);
  return answer.status < 300 ? answer.body : undefined;
}

const checkOut = (run: Run, invoices: { recordId: string; amount?: string }[]) => {
  const urls = { successUrl: 'http://127.0.0.1/paid', cancelUrl: 'http://127.0.0.1/back' };
  return call(run, '/pay/checkout', { customerId: '1', invoices, ...urls });
};
/** A checkout for a new invoice: its session at Stripe, and the path and state of its payment. */
async function checkOutNew(pence: number) {
  const made = await checkOut(newRun(), [{ recordId: await makeInvoice(pence) }]);
  const path = `/pay/payments/${made?.['paymentId']}`;
  return {
    path,
    pay: () => {
      const session = findSession(fixture, made?.['url'] ?? '');
      return fixture.stripe.ledger.pay(session?.id ?? '', 'succeeds');
    },
    read: async () => (await fixture.api('get', path)).body,
  };
}

const at = <T>(items: readonly T[], index: number): T | undefined =>
  items.length === 0 ? undefined : items[index % items.length];
const sessionAt = ({ pages }: Run, index: number) => {
  const page = at(pages, index);
  return page === undefined ? undefined : findSession(fixture, page.url);
};
const intentAt = (run: Run, index: number): Intent | undefined => {
  const id = sessionAt(run, index)?.payment_intent;
  return id ? fixture.stripe.ledger.get<Intent>('payment_intent', id) : undefined;
};

const does: {
  [Kind in Action['do']]: (run: Run, action: Extract<Action, { do: Kind }>) => Promise<unknown> | unknown;
} = {
  checkout: async (run, { invoices, share }) => {
    const asked = run.invoices
      .filter((_, index) => invoices.some((wanted) => wanted === index))
      .map(({ id, pence }) => ({
        recordId: id,
        ...(share !== undefined && { amount: decimal(Math.round(pence * share)) }),
      }));
    const made = await checkOut(run, asked);
    if (made?.['url'] && made['paymentId'])
      run.pages.push({ url: made['url'], paymentId: made['paymentId'] });
  },
  pay: (run, { which, outcome }) => {
    const session = sessionAt(run, which);
    if (session !== undefined) fixture.stripe.ledger.pay(session.id, outcome);
  },
  settle: (run, { which, outcome }) => {
    const session = sessionAt(run, which);
    if (session !== undefined) fixture.stripe.ledger.completeDebit(session.id, outcome);
  },
  deliver: async (_run, { back, times }) => {
    const { events } = fixture.stripe.ledger;
    const event = events[events.length - 1 - back];
    if (event === undefined) return;
    const delivered = await Promise.all(Array.from({ length: times }, () => fixture.deliver(event)));
    for (const { status, text } of delivered) expect([status, text]).toEqual([200, expect.anything()]);
  },
  refund: async (run, { which, share }) => {
    const page = at(run.pages, which);
    const session = sessionAt(run, which);
    if (page === undefined || session === undefined) return;
    const amount = share === undefined ? {} : { amount: decimal(Math.round(session.amount_total * share)) };
    await call(run, `/pay/payments/${page.paymentId}/refund`, amount);
  },
  'refund in the dashboard': (run, { which, share }) => {
    const intent = intentAt(run, which);
    if (intent === undefined) return;
    try {
      fixture.stripe.ledger.refund({ payment_intent: intent.id, amount: Math.round(intent.amount * share) });
    } catch (error) {
      // The dashboard refuses like the API does.
      run.log.push(`  ${error}`);
    }
  },
  'refunds wait': (_run, { pend }) => {
    fixture.stripe.ledger.refunds.pend = pend;
  },
  'settle a refund': (run, { which, status }) => {
    const intent = intentAt(run, which);
    const refunds = fixture.stripe.ledger.all<Refund>('refund');
    const refund = at(
      refunds.filter(({ payment_intent }) => payment_intent === intent?.id),
      which,
    );
    if (refund === undefined) return;
    // A returned refund leaves the payment unapplied in the ERP, as the person decides.
    if (refund.status === 'succeeded') run.disturbed = true;
    fixture.stripe.ledger.completeRefund(refund.id, status);
  },
  'pay by hand': async (run, { invoice, share }) => {
    const { id, pence } = run.invoices[invoice] ?? { id: '', pence: 0 };
    const amount = Math.round(pence * share) / 100;
    run.disturbed = true;
    const apply = { items: [{ doc: { id }, apply: true, amount }] };
    const body = { customer: { id: '1' }, payment: amount, apply };
    // The ERP refuses what the invoice no longer takes.
    await fixture.byHand('customerPayment', body).catch((error: unknown) => run.log.push(`  ${error}`));
  },
  'Stripe fails': (_run, { fault }) => void faults.push(fault),
  'the ERP fails': (_run, { afterEffect, write }) => {
    const path = write ? /record\/v1\/customer(Payment|Refund)/ : /suiteql/;
    fixture.books.erp.account.injectFault({ path, times: 1, status: 503, cut: true, afterEffect });
  },
  'time passes': (_run, { minutes }) => fixture.clock.advance(minutes * 60_000),
  restart: () => fixture.restart(),
  'pay out': () => void fixture.stripe.ledger.payOut('gbp'),
  work: () => fixture.work(),
};
const faults: Fault[] = [];

async function play(steps: readonly (readonly Action[])[]): Promise<Run> {
  const pence = [10_000, 3_333];
  const ids = await Promise.all(pence.map(makeInvoice));
  const run = newRun(ids.map((id, index) => ({ id, pence: pence[index] ?? 0 })));
  for (const step of steps) {
    await Promise.all(
      step.map(async (one) => {
        run.log.push(JSON.stringify(one));
        await does[one.do](run, one as never);
      }),
    );
  }
  return run;
}

/**
 * Ends all faults, lets banks respond and open checkouts expire, and runs until settled. Events not delivered
 * by then stay undelivered.
 */
async function settleAll(): Promise<void> {
  faults.length = 0;
  const { ledger } = fixture.stripe;
  fixture.books.erp.account.clearFaults();
  ledger.refunds.pend = false;
  for (const session of ledger.all<Session>('checkout.session')) ledger.completeDebit(session.id, 'succeeds');
  for (const refund of ledger.all<Refund>('refund'))
    if (refund.status === 'pending') ledger.completeRefund(refund.id, 'succeeded');
  fixture.clock.advance(3 * 3_600_000);
  await fixture.rest();
  await fixture.undoWhatCameBack();
  // Stripe drops old events.
  ledger.events.length = 0;
}

const ranks: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  pay_payments: {
    ...{ PENDING: 0, PROCESSING: 1, FAILED: 2, CANCELED: 2 },
    ...{ SUCCEEDED: 3, PARTIALLY_REFUNDED: 4, REFUNDED: 5 },
  },
  pay_refunds: { PENDING: 0, SUCCEEDED: 1, FAILED: 2, CANCELED: 2 },
  pay_payouts: { PENDING: 0 },
};
const rank = (of: string, status: string): number => ranks[of]?.[status] ?? Number.NaN;

const final = new Set(['FAILED', 'CANCELED', 'SUCCEEDED', 'PARTIALLY_REFUNDED', 'REFUNDED']);
function expectAgreement(line: PaymentLine, disturbed: boolean): void {
  const { received, refunded, atStripe, inErp, recorded } = line;
  expect(final, line.status).toContain(line.status);
  expect({ received, refunded }).toEqual({ received: atStripe.received, refunded: atStripe.refunded });
  expect(atStripe.charges).toBeLessThanOrEqual(1);
  expect(['LANDED', 'PARTLY_APPLIED', null]).toContain(line.document);
  const { applied, unapplied } = recorded;
  expect(inErp).toEqual({ payments: received > 0 ? 1 : 0, total: received, applied, refunded });
  expect(applied + unapplied).toBe(received - refunded);
  // No payer was asked for more than was due, so unless a person entered something in the ERP, everything is
  // applied.
  if (!disturbed) expect(unapplied).toBe(0);
}

it('three ledgers agree once settled, nothing is charged twice, and statuses only move forward', {
  timeout: timeoutMs,
}, async () => {
  fixture.stripe.fault = () => faults.shift();
  let played = 0;
  const runs: Run[] = [];
  const trial = async (many: readonly (readonly (readonly Action[])[])[]): Promise<void> => {
    const mine: Run[] = [];
    const waiting = [...many];
    await Promise.all(
      Array.from({ length: concurrency }, async () => {
        for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
          mine.push(await play(next));
      }),
    );
    await settleAll();
    const lines = await fixture.lines();
    for (const run of mine) {
      const ids = new Set(run.invoices.map(({ id }) => id));
      for (const line of lines.filter(({ invoices }) => invoices.some((id) => ids.has(id))))
        try {
          expectAgreement(line, run.disturbed);
        } catch (error) {
          throw new Error(`${JSON.stringify(line)}\n${run.log.join('\n')}`, { cause: error });
        }
    }
    const asked = fixture.stripe.ledger
      .all<Refund>('refund')
      .flatMap(({ metadata }) => metadata['portal_refund'] ?? []);
    expect(asked.length, 'a refund was made twice').toBe(new Set(asked).size);
    const backwards = (await fixture.moves()).filter(
      ({ of, before, after }) => !(rank(of, after) > rank(of, before)),
    );
    expect(backwards).toEqual([]);
    runs.push(...mine);
    played += mine.length;
  };
  const batches = Math.max(1, Math.round(sequences / batch));
  const many = fc.array(sequence, { minLength: batch, maxLength: batch });
  await fc.assert(fc.asyncProperty(many, trial), { numRuns: batches, seed, endOnFailure: true });
  expect(played).toBe(batches * batch);
  // The sequences have an effect.
  const lines = await fixture.lines();
  expect(lines.filter(({ received }) => received > 0).length).toBeGreaterThan(played / 3);
  // With few sequences there may be no refund, since the seed does not determine how they interleave.
  if (played >= 48)
    expect(lines.filter(({ atStripe }) => atStripe.refunded > 0).length).toBeGreaterThan(played / 12);
});

it('a returned refund is reported with a fix, and is no longer in the ERP after the fix', async () => {
  const { path, pay, read } = await checkOutNew(8000);
  pay();
  await fixture.work();
  const refunded = await fixture.api('post', `${path}/refund`, { amount: '30.00' });
  expect(refunded.body).toMatchObject({ status: 'PARTIALLY_REFUNDED', refundedAmount: '30.00' });
  await fixture.rest();
  expect((await read()).erp).toMatchObject({ status: 'LANDED', problem: null });

  fixture.stripe.ledger.completeRefund(refunded.body.refunds[0].providerRefundId, 'failed');
  await fixture.rest();
  const payment = await read();
  const refunds = [{ status: 'FAILED', failure: { code: 'expired_or_canceled_card' } }];
  expect(payment).toMatchObject({ status: 'PARTIALLY_REFUNDED', refundedAmount: '0.00', refunds });
  const problem = { code: 'REFUND_CAME_BACK', fix: expect.stringMatching(/^Delete the refund \d+ in/) };
  expect(payment.erp).toMatchObject({ status: 'FAILED', problem });
  await fixture.undoWhatCameBack();
  expect((await read()).erp).toMatchObject({ status: 'PARTLY_APPLIED', unappliedAmount: '30.00' });
});

it('a previous provider account keeps working after a move, and is found again by its credentials', async () => {
  const { path, pay, read } = await checkOutNew(5000);
  const { webhookUrl, ...shown } = (await fixture.api('get', '/pay/config')).body;
  const { hasCredentials: _has, credentialHint: _hint, lastError: _error, updatedAt: _at, ...config } = shown;
  const put = async () => {
    const answer = await fixture.api('put', '/pay/config', { ...config, secrets: fixture.stripe.secrets });
    expect(answer.status, answer.text).toBe(200);
    return answer.body.webhookUrl;
  };
  expect(await put()).toBe(webhookUrl);

  // The same credentials at an account without these objects.
  const { objects } = fixture.stripe.ledger;
  const savedObjects = [...objects];
  objects.clear();
  const other = await put();
  expect(other).not.toBe(webhookUrl);
  expect(await put()).toBe(other);

  for (const [id, object] of savedObjects) objects.set(id, object);
  pay();
  await fixture.rest();
  expect(await read()).toMatchObject({ status: 'SUCCEEDED', erp: { status: 'LANDED' } });
  expect((await fixture.api('post', `${path}/refund`, {})).body).toMatchObject({ status: 'REFUNDED' });
  expect(await put()).toBe(webhookUrl);
});
