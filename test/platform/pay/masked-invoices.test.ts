// Payments of invoices whose number and open amount a version masks: neither payers, mails nor readers
// without unmasked access see them.
import { expect, it } from 'vitest';
import { publishVersion } from '../../public/fixture.ts';
import { createApi } from '../../setup/api.ts';
import { makeKey } from '../../setup/organization.ts';
import { useStarted } from '../../setup/use-started.ts';
import { openSandboxFixture, returns } from './sandbox-fixture.ts';

const fixture = useStarted(() => openSandboxFixture());

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
  const recordId = await fixture.books.invoice(10_000);
  const before = await fixture.checkOut([{ recordId, amount: '10' }]);
  const { number } = (await fixture.readPayment(before)).invoices[0];
  expect(number).not.toBe(recordId);
  await publishVersion(fixture.ctx, fixture.ctx.organizationId, { endpoints: [endpoint] });

  const unmasked = await makeKey(fixture.ctx, fixture.ctx.organizationId, { permissions: ['write'] });
  await fixture.sql((tx) => tx('api_keys').where({ id: unmasked.id }).update({ scope_unmasked: true }));
  const reader = createApi(fixture.app, unmasked.secret);
  expect((await fixture.readPayment(before)).invoices).toEqual([
    { recordId, number: recordId, amount: '10.00' },
  ]);
  expect((await reader('get', `/pay/payments/${before.paymentId}`)).body.invoices).toEqual([
    { recordId, number, amount: '10.00' },
  ]);

  const after = await fixture.checkOut([{ recordId, amount: '20' }]);
  expect((await reader('get', `/pay/payments/${after.paymentId}`)).body.invoices).toEqual([
    { recordId, number: recordId, amount: '20.00' },
  ]);
  const titles = await fixture.sql((tx) => tx('pay_checkouts').where({ id: after.id }).pluck('title'));
  expect(titles).toEqual([`Invoice ${recordId}`]);

  const body = { customerId: '1', invoices: [{ recordId, amount: '99' }], ...returns };
  const readMessage = async (api: typeof reader): Promise<string> =>
    (await api('post', '/pay/checkout', body)).body.error.details[0].message;
  expect(await readMessage(fixture.api)).toBe('Less is left to pay');
  expect(await readMessage(reader)).toBe('At most 70.00 GBP is left to pay');
});
