// Events of the provider: each is applied once, in any order; a missed one is found by polling.
import supertest from 'supertest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createId } from '../../../src/core/id.ts';
import { base, listCodes } from '../../setup/api.ts';
import { configBody, createEvent, type Desk, openDesk } from './desk.ts';

let desk: Desk;
beforeAll(async () => {
  desk = await openDesk();
});
afterAll(() => desk.stop());

const session = (paymentId: string) =>
  desk.sql((tx) =>
    tx('pay_payments')
      .where({ id: paymentId })
      .first<{ session_id: string; status: string }>('session_id', 'status'),
  );
const readOutcomes = (eventId: string) =>
  desk.sql((tx) => tx('pay_events').where({ event_id: eventId }).pluck('outcome'));

describe('webhook events', () => {
  const url = (end: string) => `${base}/pay/webhooks/${end}`;

  it('are processed once, in any order and number, by querying the provider', async () => {
    const id = await desk.books.invoice(1_200);
    const checkout = await desk.checkOut([{ recordId: id }]);
    await desk.pay(checkout, 'insufficient-funds');
    const { session_id: sessionId } = await session(checkout.paymentId);
    const event = createEvent('session', sessionId);
    const answers = await Promise.all(Array.from({ length: 20 }, () => desk.deliverEvent(event)));
    expect(answers.map(({ status, body }) => [status, body])).toEqual(
      answers.map(() => [200, { received: true }]),
    );
    await desk.work();
    expect(await desk.readPayment(checkout)).toMatchObject({
      status: 'PENDING',
      failure: { code: 'insufficient_funds' },
      method: { type: 'card', last4: '9995' },
    });
    await desk.pay(checkout);
    const later = createEvent('session', sessionId);
    await desk.deliverEvent(later);
    await desk.work();
    const paid = await desk.readPayment(checkout);
    expect(paid).toMatchObject({
      status: 'SUCCEEDED',
      receivedAmount: '12.00',
      failure: null,
      method: { last4: '4242' },
      erp: { status: 'OFF' },
    });
    expect([await readOutcomes(event.id), await readOutcomes(later.id)]).toEqual([['merged'], ['merged']]);
    // The first event again changes nothing.
    await desk.deliverEvent(event);
    await desk.work();
    expect(await desk.readPayment(checkout)).toEqual(paid);
  });

  it('are rejected without a valid signature, without details, and count as failed authentication', async () => {
    const event = createEvent('session', 'cs_x');
    const bad = await desk.deliverEvent(event, { 'sandbox-signature': 't=1,v1=00' });
    expect([bad.status, bad.body.error.details]).toEqual([400, undefined]);
    expect(await readOutcomes(event.id)).toEqual([]);
    const plain = (end: string) => supertest(desk.app).post(url(end)).set('content-type', 'application/json');
    expect((await plain(`sandbox/${createId()}`).send('{}')).status).toBe(404);
    expect((await plain(`stripe/${desk.accountId}`).send('{}')).status).toBe(404);
    expect((await plain('sandbox/none').send('{}')).status).toBe(404);
    expect((await plain(`sandbox/${desk.accountId}`).send('x'.repeat(256 * 1024 + 1))).status).toBe(413);
    const { hits } = await desk.ctx.db
      .control('rate_limits')
      .whereLike('key', 'failed-authentication:%')
      .first<{ hits: number }>('hits');
    expect(hits).toBe(4);
  });

  it('about an unknown object are stored, retried, and finally recorded as unknown', async () => {
    const event = createEvent('session', 'cs_unknown');
    await desk.deliverEvent(event);
    // The event itself has enqueued the first attempt, which counts, whichever worker runs it.
    await desk.work();
    for (let attempt = 1; attempt < 4; attempt += 1) {
      await desk.work('session:cs_unknown');
      expect([attempt, await readOutcomes(event.id)]).toEqual([attempt, [null]]);
    }
    await desk.work('session:cs_unknown');
    expect(await readOutcomes(event.id)).toEqual(['unknown']);
    expect(await desk.sql((tx) => tx('pay_tasks').where({ subject: 'session:cs_unknown' }))).toEqual([]);
  });

  it('that were missed are made up for by polling', async () => {
    const checkout = await desk.checkOut([{ recordId: await desk.books.invoice(333) }]);
    await desk.pay(checkout);
    await desk.sql((tx) => tx('pay_tasks').where({ kind: 'payment' }).delete());
    await desk.work('');
    expect((await desk.readPayment(checkout)).status).toBe('SUCCEEDED');
  });

  it('are processed while payments are disabled', async () => {
    const id = await desk.books.invoice(444);
    const checkout = await desk.checkOut([{ recordId: id, amount: '1' }]);
    await desk.call('put', '/pay/config', configBody({ enabled: false }));
    expect(listCodes(await desk.tryCheckOut([{ recordId: id }]))).toEqual(['pay_disabled']);
    await desk.pay(checkout);
    expect(
      (await desk.deliverEvent(createEvent('session', (await session(checkout.paymentId)).session_id)))
        .status,
    ).toBe(200);
    await desk.work();
    expect((await desk.readPayment(checkout)).status).toBe('SUCCEEDED');
    await desk.call('put', '/pay/config', configBody());
  });
});

describe('the log', () => {
  it('contains ids and statuses, and nothing about payers', () => {
    const text = desk.lines.join('\n');
    expect(text).toContain('"to":"SUCCEEDED"');
    // Ids and times may contain the same digits.
    expect(text).not.toMatch(/(?<![\w.:-])4242(?![\w.:-])|\/pay\/sandbox\/[\w-]{20}|successUrl/);
  });
});
