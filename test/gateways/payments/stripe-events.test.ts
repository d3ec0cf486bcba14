// What Stripe reports: lists of changes, and signed events.
import { describe, expect, it } from 'vitest';
import { ProviderError } from '../../../src/gateways/payments/provider.ts';
import { startStripe } from '../../setup/stripe/server.ts';
import { signal, useStripe } from './stripe-fixture.ts';

const site = useStripe();
const { createOrder, checkout, paid } = site;

describe('listChangedSince', () => {
  const changes = async (since: Date): Promise<string[]> => {
    const found: string[] = [];
    for await (const { id } of site.provider.listChangedSince(since, signal)) found.push(id);
    return found;
  };

  it('yields the oldest change first, over all pages, without objects of others', async () => {
    site.clock.advance(60_000);
    const since = site.clock.now();
    const neighbour = await site.openNeighbour();
    site.server.ledger.pay((await neighbour.createCheckout(createOrder(), signal)).id, 'succeeds');
    const ids: string[] = [];
    for (let made = 0; made < 60; made += 1) ids.push((await paid()).sessionId);
    const payout = site.server.ledger.payOut('gbp');
    const found = await changes(since);
    expect(found.filter((id) => id.startsWith('cs_'))).toEqual(ids);
    expect(found.at(-1)).toBe(payout?.id);
    expect(found.filter((id) => id.startsWith('pi_'))).toHaveLength(60);
    expect(site.server.requests.filter(({ path }) => path === '/v1/events').length).toBeGreaterThan(1);
    site.clock.advance(1_000);
    expect(await changes(site.clock.now())).toEqual([]);
  });

  it('lists an unpaid checkout, which no event reports, when the last check was an hour ago', async () => {
    site.clock.advance(2 * 3_600_000);
    const since = site.clock.now();
    const { sessionId } = await checkout();
    expect(await changes(since)).toEqual([]);
    site.clock.advance(3_600_000);
    expect(await changes(since)).toContain(sessionId);
  });

  it('lists by creation time where events are no longer kept', async () => {
    site.clock.advance(60_000);
    const since = site.clock.now();
    const { sessionId, providerPaymentId } = await paid();
    site.server.ledger.refund({ payment_intent: providerPaymentId });
    const payout = site.server.ledger.payOut('gbp');
    site.clock.advance(40 * 86_400_000);
    site.server.ledger.events.length = 0;
    // All payments were refunded, so nothing was left to pay out.
    expect(payout).toBeNull();
    expect(await changes(since)).toEqual([sessionId, providerPaymentId]);
  });
});

describe('an event', () => {
  const read = (sent: { body: string; headers: Record<string, string> }) =>
    site.provider.parseEvent(Buffer.from(sent.body), sent.headers);
  const reason = (sent: { body: string; headers: Record<string, string> }): string => {
    try {
      read(sent);
    } catch (error) {
      return error instanceof ProviderError ? error.kind : String(error);
    }
    return 'taken';
  };

  it('names the object that it concerns', async () => {
    const { sessionId, providerPaymentId } = await paid();
    const dashboardRefund = site.server.ledger.refund({ payment_intent: providerPaymentId, amount: 100 });
    const payout = site.server.ledger.payOut('gbp');
    const events = site.server.ledger.events
      .slice(-6)
      .map((event) => [event.type, read(site.server.signed(event)).concerns]);
    const payment = { kind: 'payment', id: providerPaymentId };
    expect(dashboardRefund.payment_intent).toBe(providerPaymentId);
    expect(events).toEqual([
      ['charge.succeeded', payment],
      ['payment_intent.succeeded', payment],
      ['checkout.session.completed', { kind: 'session', id: sessionId }],
      ['refund.created', payment],
      ['charge.refunded', payment],
      ['payout.created', { kind: 'payout', id: payout?.id }],
    ]);
  });

  it('of a connected account, of another type or without an object is irrelevant; a thin event is not', () => {
    const concerns = (event: object) => read(site.server.signed(event)).concerns;
    const about = (object: object) => ({ data: { object } });
    const event = { id: 'evt_1', object: 'event', type: 'payout.paid' };
    const payout = about({ id: 'po_1', object: 'payout' });
    expect(concerns({ ...event, ...payout })).toEqual({ kind: 'payout', id: 'po_1' });
    expect(concerns({ ...event, ...payout, account: 'acct_1' })).toBeNull();
    expect(concerns({ ...event, ...about({ id: 'cus_1', object: 'customer' }) })).toBeNull();
    expect(concerns({ ...event, data: undefined })).toBeNull();
    const thin = { id: 'evt_2', object: 'v2.core.event', type: 'v1.payout.paid' };
    const related = { related_object: { id: 'po_2', type: 'payout' } };
    expect(concerns({ ...thin, ...related })).toEqual({ kind: 'payout', id: 'po_2' });
  });

  it('is irrelevant when it concerns a payment of another program or organization on the account', async () => {
    await paid();
    const stranger = await site.openNeighbour();
    const sent = site.server.ledger.events.slice(-3).map((event) => site.server.signed(event));
    for (const { body, headers } of sent)
      expect(stranger.parseEvent(Buffer.from(body), headers).concerns).toBeNull();
    // A refund doesn't show to which organization its payment belongs.
    const refund = {
      id: 'evt_1',
      object: 'event',
      type: 'refund.created',
      data: { object: { id: 're_1', object: 'refund', payment_intent: 'pi_1' } },
    };
    expect(read(site.server.signed(refund)).concerns).toEqual({ kind: 'payment', id: 'pi_1' });
  });

  it('is accepted with a signature over exactly these bytes that is not older than five minutes', async () => {
    const sent = site.server.signed({ id: 'evt_1', object: 'event', type: 'payout.paid' }, 299);
    expect(reason(sent)).toBe('taken');
    for (const bad of [
      ...[sent.body.replace('evt_1', 'evt_2'), `${sent.body} `, ''].map((body) => ({ ...sent, body })),
      ...[{}, { 'stripe-signature': 't=1,v1=' }].map((headers) => ({ ...sent, headers })),
      site.server.signed({ id: 'evt_1' }, 301),
    ] as (typeof sent)[])
      expect(reason(bad)).toBe('bad-signature');
    site.clock.advance(2_000);
    expect(reason(sent)).toBe('bad-signature');
    const other = await startStripe({ clock: site.clock });
    expect(reason(other.signed({ id: 'evt_1', type: 'payout.paid' }))).toBe('bad-signature');
    await other.stop();
    expect(reason(site.server.signed({ id: 7 }))).toBe('malformed-answer');
  });
});
