// Events of the provider: each is applied once, in any order; a missed one is found by polling.
import supertest from 'supertest';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createId } from '../../../src/core/id.ts';
import { base, listCodes } from '../../setup/api.ts';
import { useStarted } from '../../setup/use-started.ts';
import { createEvent, openSandboxFixture } from './sandbox-fixture.ts';

const fixture = useStarted(() => openSandboxFixture());

const readSession = async (paymentId: string): Promise<string> => {
  const [id] = await fixture.sql((tx) => tx('pay_payments').where({ id: paymentId }).pluck('session_id'));
  return id ?? '';
};
const readOutcomes = (eventId: string) =>
  fixture.sql((tx) => tx('pay_events').where({ event_id: eventId }).pluck('outcome'));

describe('webhook events', () => {
  it('are processed once, in any order and number, by querying the provider', async () => {
    const id = await fixture.books.invoice(1_200);
    const checkout = await fixture.checkOut([{ recordId: id }]);
    await fixture.pay(checkout, 'insufficient-funds');
    const sessionId = await readSession(checkout.paymentId);
    const event = createEvent('session', sessionId);
    const answers = await Promise.all(Array.from({ length: 20 }, () => fixture.deliverEvent(event)));
    for (const { status, body } of answers) expect([status, body]).toEqual([200, { received: true }]);
    await fixture.work();
    expect(await fixture.readPayment(checkout)).toMatchObject({
      status: 'PENDING',
      failure: { code: 'insufficient_funds' },
      method: { type: 'card', last4: '9995' },
    });
    await fixture.pay(checkout);
    const later = createEvent('session', sessionId);
    await fixture.deliverEvent(later);
    await fixture.work();
    const paid = await fixture.readPayment(checkout);
    expect(paid).toMatchObject({
      ...{ status: 'SUCCEEDED', receivedAmount: '12.00', failure: null },
      ...{ method: { last4: '4242' }, erp: { status: 'OFF' } },
    });
    expect([await readOutcomes(event.id), await readOutcomes(later.id)]).toEqual([['merged'], ['merged']]);
    // The first event again changes nothing.
    await fixture.deliverEvent(event);
    await fixture.work();
    expect(await fixture.readPayment(checkout)).toEqual(paid);
  });

  it('are rejected without a valid signature, without details, and count as failed authentication', async () => {
    const event = createEvent('session', 'cs_x');
    const bad = await fixture.deliverEvent(event, { 'sandbox-signature': 't=1,v1=00' });
    expect([bad.status, bad.body.error.details]).toEqual([400, undefined]);
    expect(await readOutcomes(event.id)).toEqual([]);
    const { accountId } = fixture;
    for (const [end, body, status] of [
      [`sandbox/${createId()}`, '{}', 404],
      [`stripe/${accountId}`, '{}', 404],
      ['sandbox/none', '{}', 404],
      [`sandbox/${accountId}`, 'x'.repeat(256 * 1024 + 1), 413],
    ] as const) {
      const request = supertest(fixture.app).post(`${base}/pay/webhooks/${end}`);
      expect([end, (await request.set('content-type', 'application/json').send(body)).status]).toEqual([
        ...[end, status],
      ]);
    }
    const { hits } = await fixture.ctx.db
      .control('rate_limits')
      .whereLike('key', 'failed-authentication:%')
      .first<{ hits: number }>('hits');
    expect(hits).toBe(4);
  });

  it('about an unknown object are stored, retried, and finally recorded as unknown', async () => {
    const event = createEvent('session', 'cs_unknown');
    await fixture.deliverEvent(event);
    // The event itself has enqueued the first attempt, which counts, whichever worker runs it.
    await fixture.work();
    for (let attempt = 1; attempt < 4; attempt += 1) {
      await fixture.work('session:cs_unknown');
      expect([attempt, await readOutcomes(event.id)]).toEqual([attempt, [null]]);
    }
    await fixture.work('session:cs_unknown');
    expect(await readOutcomes(event.id)).toEqual(['unknown']);
    expect(await fixture.sql((tx) => tx('jobs').whereLike('key', '%session:cs_unknown'))).toEqual([]);
  });

  it('that were missed are made up for by polling', async () => {
    const checkout = await fixture.checkOut([{ recordId: await fixture.books.invoice(333) }]);
    await fixture.pay(checkout);
    await fixture.sql((tx) => tx('jobs').whereLike('key', '%/payment/%').delete());
    await fixture.work('');
    expect((await fixture.readPayment(checkout)).status).toBe('SUCCEEDED');
  });

  it('are processed while payments are disabled', async () => {
    const id = await fixture.books.invoice(444);
    const checkout = await fixture.checkOut([{ recordId: id, amount: '1' }]);
    onTestFinished(() => fixture.configure());
    await fixture.configure({ enabled: false });
    expect(listCodes(await fixture.tryCheckOut([{ recordId: id }]))).toEqual(['pay_disabled']);
    await fixture.pay(checkout);
    const event = createEvent('session', await readSession(checkout.paymentId));
    expect((await fixture.deliverEvent(event)).status).toBe(200);
    await fixture.work();
    expect((await fixture.readPayment(checkout)).status).toBe('SUCCEEDED');
  });
});

it('the log contains ids and statuses, and nothing about payers', () => {
  const text = fixture.lines.join('\n');
  expect(text).toContain('"to":"SUCCEEDED"');
  // Ids and times may contain the same digits.
  expect(text).not.toMatch(/(?<![\w.:-])4242(?![\w.:-])|\/pay\/sandbox\/[\w-]{20}|successUrl/);
});
