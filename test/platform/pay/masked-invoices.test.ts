// Payments of invoices whose number and open amount a version masks: neither payers, mails nor readers
// without unmasked access see them.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { publishVersion } from '../../public/fixture.ts';
import { createApi } from '../../setup/api.ts';
import { makeKey } from '../../setup/organization.ts';
import { type Desk, openDesk, returns } from './desk.ts';

let desk: Desk;
beforeAll(async () => {
  desk = await openDesk();
});
afterAll(() => desk.stop());

const endpoint = {
  name: 'invoices',
  recordType: 'invoice',
  fields: [
    { name: 'number', source: 'tranid', mask: 'last4' },
    { name: 'due', source: 'foreignamountunpaid', mask: 'hash' },
  ],
  filters: [],
  sorts: [],
};

it('show the record id in place of the number, and no open amount', async () => {
  const recordId = await desk.books.invoice(10_000);
  const before = await desk.checkOut([{ recordId, amount: '10' }]);
  const { number } = (await desk.readPayment(before)).invoices[0];
  expect(number).not.toBe(recordId);
  await publishVersion(desk.ctx, desk.ctx.organizationId, { endpoints: [endpoint] });

  const unmasked = await makeKey(desk.ctx, desk.ctx.organizationId, { permissions: ['write'] });
  await desk.sql((tx) => tx('api_keys').where({ id: unmasked.id }).update({ scope_unmasked: true }));
  const reader = createApi(desk.app, unmasked.secret);
  expect((await desk.readPayment(before)).invoices).toEqual([
    { recordId, number: recordId, amount: '10.00' },
  ]);
  expect((await reader('get', `/pay/payments/${before.paymentId}`)).body.invoices).toEqual([
    { recordId, number, amount: '10.00' },
  ]);

  const after = await desk.checkOut([{ recordId, amount: '20' }]);
  expect((await reader('get', `/pay/payments/${after.paymentId}`)).body.invoices).toEqual([
    { recordId, number: recordId, amount: '20.00' },
  ]);
  const titles = await desk.sql((tx) => tx('pay_checkouts').where({ id: after.id }).pluck('title'));
  expect(titles).toEqual([`Invoice ${recordId}`]);

  const body = { customerId: '1', invoices: [{ recordId, amount: '99' }], ...returns };
  const readMessage = async (api: typeof reader): Promise<string> =>
    (await api('post', '/pay/checkout', body)).body.error.details[0].message;
  expect(await readMessage(desk.api)).toBe('Less is left to pay');
  expect(await readMessage(reader)).toBe('At most 70.00 GBP is left to pay');
});
