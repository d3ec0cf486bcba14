// Payments and credit memos applied to invoices through the record service.
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { getCreatedId, invalidValue, missingValue, toErrorDetail, useShop } from './test-account.ts';

const T = '2011-07-01 10:00:00';
const ACCESSING = 'Error while accessing a resource. ';
// Invoices in the files: customer 1 has 101 of 30.10 and 110 of 50; customer 2 has 201 of 40, of which a
// credit memo pays 15.
const transactions = [
  `101,I1,CustInvc,2011-07-01,1,1,1,T,30.10,${T},${T}`,
  `110,I2,CustInvc,2011-07-01,1,1,1,T,50,${T},${T}`,
  `201,I3,CustInvc,2011-07-01,2,1,1,T,40,${T},${T}`,
  `202,C1,CustCred,2011-07-01,2,1,1,T,-15,${T},${T}`,
];
const lines = [
  [101, -30.1],
  [110, -50],
  [201, -40],
  [202, 15],
].map(([id, amount], i) => `${i + 1},1,${id},1,10,,${Math.sign(amount ?? 0)},1,${amount},F,F,${T}`);

const shop = useShop({}, { transaction: transactions, transactionline: lines });
beforeAll(async () => {
  await shop.account.setBusinessTime(new Date('2011-07-05T10:00:00Z'));
});
afterEach(() =>
  shop.account.setSwitches({
    paymentTouchesInvoice: true,
    transformsInvoiceToPayment: false,
    statusFilter: 'letter',
    booksClosedThrough: null,
    customersOnHold: [],
  }),
);

const invoice = (id: string | number) =>
  shop.first(
    `SELECT status, foreignamountpaid AS paid, foreignamountunpaid AS unpaid, TO_CHAR(lastmodifieddate, 'MM-DD') AS changed FROM transaction WHERE id = ${id}`,
  );
const apply = (...docs: [doc: number, amount?: number | undefined][]) => ({
  items: docs.map(([doc, amount]) => ({
    doc: { id: String(doc) },
    apply: true,
    ...(amount === undefined ? {} : { amount }),
  })),
});
const pay = (body: object) =>
  shop.send('POST', 'record/v1/customerPayment', { customer: { id: '1' }, ...body });
const remove = (id: string) => shop.send('DELETE', `record/v1/customerPayment/${id}`);

describe('POST customerPayment', () => {
  it('pays invoices in part and in full, with links, and updates their lastmodifieddate', async () => {
    const id = getCreatedId(
      await pay({
        payment: 60.1,
        tranId: 'PORTAL-1',
        externalId: 'portal-1',
        account: { id: '6' },
        apply: apply([101, 30.1], [110, 20]),
      }),
    );
    expect(await invoice(101)).toMatchObject({ status: 'B', paid: '30.1', changed: '07-05' });
    expect(await invoice(110)).toMatchObject({ status: 'A', paid: '20', unpaid: '30', changed: '07-05' });
    expect(
      await shop.first(
        `SELECT type, tranid, entity, foreigntotal AS total, status, BUILTIN.DF(status) AS label, account FROM transaction WHERE id = ${id}`,
      ),
    ).toEqual({
      type: 'CustPymt',
      tranid: 'PORTAL-1',
      entity: '1',
      total: '60.1',
      status: 'C',
      label: 'Payment : Deposited',
      account: '6',
    });
    const link = await shop.rows(
      `SELECT previousdoc, previoustype, nexttype, linktype, foreignamount, TO_CHAR(lastmodifieddate, 'MM-DD') AS at FROM nexttransactionlinelink WHERE nextdoc = ${id} ORDER BY previousdoc`,
    );
    expect(link).toMatchObject([
      {
        previousdoc: '101',
        previoustype: 'CustInvc',
        nexttype: 'CustPymt',
        linktype: 'Payment',
        foreignamount: '30.1',
        at: '07-05',
      },
      { previousdoc: '110', foreignamount: '20' },
    ]);
    expect(
      await shop.column(`SELECT nextdoc FROM previoustransactionlinelink WHERE previousdoc = 101`),
    ).toEqual([id]);
    const { body } = await shop.get(`record/v1/customerPayment/${id}?expandSubResources=true`);
    expect(body).toMatchObject({
      customer: { id: '1' },
      payment: 60.1,
      applied: 50.1,
      unapplied: 10,
      apply: {
        totalResults: 2,
        items: [{ doc: { id: '101', refName: 'Invoice #I1' }, amount: 30.1, apply: true }, {}],
      },
    });
    // 30 due less 10 unapplied.
    expect(await shop.value('SELECT balancesearch AS b FROM customer WHERE id = 1')).toBe('20');
    expect(await shop.rejection('DELETE', 'record/v1/invoice/101')).toContain(
      'linked to by one or more transactions',
    );
    expect((await remove(id)).status).toBe(204);
    expect(await invoice(101)).toMatchObject({ status: 'A', unpaid: '30.1' });
    await shop.expectNone(`SELECT nextdoc FROM nexttransactionlinelink WHERE nextdoc = ${id}`);
    expect(await shop.rows(`SELECT type, name FROM deletedrecord WHERE recordid = ${id}`)).toMatchObject([
      { type: 'Customer Payment', name: 'PORTAL-1' },
    ]);
  });

  it('default amounts: of a line, what is due or left; of the payment, what it applies', async () => {
    const first = getCreatedId(await pay({ payment: 40, apply: apply([101], [110]) }));
    expect([await invoice(101), await invoice(110)]).toMatchObject([{ unpaid: '0' }, { paid: '9.9' }]);
    await remove(first);
    const second = getCreatedId(await pay({ apply: apply([101], [110, 5]) }));
    expect(await shop.read(`record/v1/customerPayment/${second}`)).toMatchObject({
      payment: 35.1,
      unapplied: 0,
    });
    await remove(second);
  });

  it('leaves the invoice’s lastmodifieddate unchanged if paymentTouchesInvoice is off', async () => {
    shop.account.setSwitches({ paymentTouchesInvoice: false });
    await shop.account.setBusinessTime(new Date('2011-07-09T10:00:00Z'));
    const id = getCreatedId(await pay({ payment: 1, apply: apply([110, 1]) }));
    expect(await invoice(110)).toMatchObject({ paid: '1', changed: '07-05' });
    await remove(id);
    expect(await invoice(110)).toMatchObject({ paid: '0', changed: '07-05' });
  });

  const tooMuch = `${ACCESSING}The amount applied to the transaction 101 exceeds what is due on it.`;
  const tooMany = `${ACCESSING}The amounts applied exceed the amount of this transaction.`;
  const notOpen = (id: number) =>
    `${ACCESSING}The transaction ${id} is not an open invoice of this customer.`;
  const refused: [name: string, body: object, detail: string][] = [
    ['more than is due', { payment: 100, apply: apply([101, 30.11]) }, tooMuch],
    ['the same twice over', { payment: 100, apply: apply([101, 20], [101, 31]) }, tooMuch],
    ['more than is paid', { payment: 10, apply: apply([101, 5], [110, 6]) }, tooMany],
    ['another customer’s invoice', { payment: 10, apply: apply([201, 1]) }, notOpen(201)],
    ['a credit memo', { payment: 10, apply: apply([202, 1]) }, notOpen(202)],
    ['what is not there', { payment: 10, apply: apply([999, 1]) }, invalidValue(999, 'doc')],
    ['nothing', {}, missingValue('Payment Amount')],
    ['less than nothing', { payment: -5 }, invalidValue(-5, 'payment')],
    ['a line of less than nothing', { payment: 5, apply: apply([101, -1]) }, invalidValue(-1, 'amount')],
    ['no invoice named', { payment: 5, apply: { items: [{ amount: 1 }] } }, missingValue('Apply To')],
  ];
  it.each(refused)('400 for %s, and nothing is written', async (_name, body, detail) => {
    expect(toErrorDetail(await pay(body)).slice(0, 2)).toEqual([400, detail]);
    expect(await shop.value("SELECT COUNT(*) AS n FROM transaction WHERE type = 'CustPymt'")).toBe('0');
    expect(await invoice(101)).toMatchObject({ unpaid: '30.1' });
  });

  it('400 for an invoice that is already paid, and for a total below what is paid', async () => {
    const id = getCreatedId(await pay({ payment: 30.1, apply: apply([101]) }));
    expect(toErrorDetail(await pay({ payment: 1, apply: apply([101, 1]) }))[1]).toContain(
      'is not an open invoice',
    );
    expect(
      await shop.rejection('PATCH', 'record/v1/invoice/101?replace=item', {
        item: { items: [{ item: '10', amount: 5 }] },
      }),
    ).toContain('cannot be less than what is applied');
    expect(await invoice(101)).toMatchObject({ status: 'B', paid: '30.1' });
    await remove(id);
  });

  it('of five concurrent payments of the same invoice one succeeds', async () => {
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => pay({ payment: 30.1, apply: apply([101, 30.1]) })),
    );
    const made = answers.filter(({ status }) => status === 204);
    expect([made.length, (await invoice(101))?.['paid']]).toEqual([1, '30.1']);
    await remove(getCreatedId(made[0] ?? { status: 0, headers: new Headers(), body: {} as never }));
  });
});

it('PATCH customerPayment changes an amount, removes a line, adds one, or replaces all', async () => {
  const id = getCreatedId(await pay({ payment: 40, apply: apply([101, 10]) }));
  const patch = (body: object, query = '') =>
    shop.send('PATCH', `record/v1/customerPayment/${id}${query}`, body);
  expect((await patch({ apply: apply([101, 20], [110, 20]) })).status).toBe(204);
  expect([await invoice(101), await invoice(110)]).toMatchObject([{ paid: '20' }, { paid: '20' }]);
  expect((await patch({ apply: { items: [{ doc: '101', apply: false }] } })).status).toBe(204);
  expect(await invoice(101)).toMatchObject({ paid: '0' });
  expect((await patch({ apply: apply([101, 7]) }, '?replace=apply')).status).toBe(204);
  expect([await invoice(101), await invoice(110)]).toMatchObject([{ paid: '7' }, { paid: '0' }]);
  expect(toErrorDetail(await patch({ payment: 6 }))[1]).toContain('The amounts applied exceed');
  expect((await patch({ memo: 'noted' })).status).toBe(204);
  expect(await shop.read(`record/v1/customerPayment/${id}`)).toMatchObject({
    memo: 'noted',
    payment: 40,
    applied: 7,
  });
  await remove(id);
});

describe('POST customerRefund', () => {
  const refund = (doc: string, amount?: number, body: object = {}) =>
    shop.send('POST', 'record/v1/customerRefund', {
      customer: { id: '1' },
      account: { id: '7' },
      apply: apply([Number(doc), amount]),
      ...body,
    });
  const amounts = async (id: string) => {
    const { body } = await shop.get(`record/v1/customerPayment/${id}`);
    return [body['payment'], body['applied'], body['unapplied']];
  };

  it('refunds what is not applied, and no more', async () => {
    const payment = getCreatedId(await pay({ payment: 40, apply: apply([101, 30.1]) }));
    const appliesTooMuch = `The amount applied to the transaction ${payment} exceeds what is due on it.`;
    expect(toErrorDetail(await refund(payment, 10))[1]).toContain(appliesTooMuch);
    const first = getCreatedId(await refund(payment, 4, { externalId: 'refund-1', memo: 'a part' }));
    expect(await amounts(payment)).toEqual([40, 34.1, 5.9]);
    const { body } = await shop.get('record/v1/customerRefund/eid:refund-1?expandSubResources=true');
    expect(body).toMatchObject({ id: first, total: 4, customer: { id: '1' }, account: { id: '7' } });
    expect(body['apply']).toMatchObject({
      items: [{ doc: { id: payment, refName: `Payment #PYMT${payment}` }, amount: 4 }],
    });
    expect(toErrorDetail(await refund(payment, 1, { externalId: 'refund-1' }))[1]).toContain(
      'already exists',
    );
    expect(toErrorDetail(await remove(payment))[1]).toContain('linked to by one or more');
    const back = { apply: { items: [{ doc: { id: '101' }, apply: false }] } };
    expect(await shop.status('PATCH', `record/v1/customerPayment/${payment}`, back)).toBe(204);
    expect([await amounts(payment), await invoice(101)]).toMatchObject([
      [40, 4, 36],
      { unpaid: '30.1', status: 'A' },
    ]);
    const second = getCreatedId(await refund(payment));
    expect([
      await amounts(payment),
      (await shop.read(`record/v1/customerRefund/${second}`))['total'],
    ]).toEqual([[40, 40, 0], 36]);
    expect(toErrorDetail(await pay({ payment: 1, apply: apply([Number(payment), 1]) }))[1]).toContain(
      'is not an open invoice',
    );
    expect(toErrorDetail(await refund('101', 1))[1]).toContain('is not an open payment or credit memo');
    expect(toErrorDetail(await refund(payment, undefined, { account: null }))[1]).toContain(
      'Please enter value(s) for: Account',
    );
    for (const id of [first, second])
      expect(await shop.status('DELETE', `record/v1/customerRefund/${id}`)).toBe(204);
    expect(await amounts(payment)).toEqual([40, 0, 40]);
    await remove(payment);
  });
});

it('400 for what the state of the books forbids: closed days, customers on hold, inactive customers', async () => {
  const id = getCreatedId(await pay({ payment: 5, tranDate: '2011-07-04', apply: apply([110, 5]) }));
  shop.account.setSwitches({ booksClosedThrough: '2011-07-04' });
  const closed = expect.stringContaining('in an accounting period that is closed');
  expect(toErrorDetail(await pay({ payment: 5, tranDate: '2011-07-04' }))[1]).toEqual(closed);
  expect(await shop.rejection('PATCH', `record/v1/customerPayment/${id}`, { memo: 'late' })).toEqual(closed);
  expect(toErrorDetail(await remove(id))[1]).toEqual(closed);
  // The invoice's own period is closed too, but paying it doesn't count as a change of it.
  const open = getCreatedId(await pay({ payment: 5, apply: apply([101, 5]) }));
  expect(
    await shop.rejection('PATCH', `record/v1/customerPayment/${open}`, { tranDate: '2011-07-01' }),
  ).toEqual(closed);
  shop.account.setSwitches({ booksClosedThrough: null, customersOnHold: ['1'] });
  expect(toErrorDetail(await pay({ payment: 5 }))[1]).toContain('is on credit hold');
  shop.account.setSwitches({ customersOnHold: [] });
  await shop.send('PATCH', 'record/v1/customer/1', { isInactive: true });
  expect(toErrorDetail(await pay({ payment: 5 }))[1]).toContain('is inactive');
  await shop.send('PATCH', 'record/v1/customer/1', { isInactive: false });
  for (const each of [id, open]) expect((await remove(each)).status).toBe(204);
});

it('a response that is lost after the write is cut off or replaced, and the payment exists', async () => {
  const fault = { path: /customerPayment$/, times: 1, afterEffect: true };
  shop.account.injectFault({ ...fault, status: 500, cut: true });
  await expect(pay({ payment: 5, externalId: 'lost' })).rejects.toThrow('fetch failed');
  shop.account.injectFault({ ...fault, status: 503, body: 'later' });
  expect(await pay({ payment: 6, externalId: 'lost-2' }).catch((error: unknown) => String(error))).toContain(
    'SyntaxError',
  );
  for (const [externalId, payment] of [
    ['lost', 5],
    ['lost-2', 6],
  ] as const) {
    const { body } = await shop.get(`record/v1/customerPayment/eid:${externalId}`);
    expect(body).toMatchObject({ payment, unapplied: payment });
    await remove(String(body['id']));
  }
});

it('a credit memo from the files is applied by rule, after explicit payments; a written one is applied as its body says', async () => {
  expect(await invoice(201)).toMatchObject({ paid: '15', unpaid: '25' });
  const payment = await shop.create('customerPayment', {
    customer: '2',
    payment: 25,
    apply: apply([201, 25]),
  });
  expect(await invoice(201)).toMatchObject({ status: 'B', paid: '40' });
  await remove(payment);
  const memo = await shop.create('creditMemo', {
    entity: '2',
    item: { items: [{ item: '10', amount: 12 }] },
    apply: apply([201, 10]),
  });
  expect(await invoice(201)).toMatchObject({ paid: '25', unpaid: '15' });
  expect(await shop.read(`record/v1/creditMemo/${memo}`)).toMatchObject({
    applied: 10,
    unapplied: 2,
    total: 12,
  });
  expect(await shop.status('DELETE', 'record/v1/creditMemo/202')).toBe(204);
  expect(await invoice(201)).toMatchObject({ paid: '10' });
  await shop.send('DELETE', `record/v1/creditMemo/${memo}`);
});

it('an invoice is transformed to a payment only if that is enabled; to a credit memo that is applied to it', async () => {
  const to = (target: string, body?: object) =>
    shop.send('POST', `record/v1/invoice/110/!transform/${target}`, body);
  expect((await to('customerPayment')).status).toBe(400);
  shop.account.setSwitches({ transformsInvoiceToPayment: true });
  const payment = getCreatedId(await to('customerPayment', { memo: 'all of it' }));
  expect(await shop.read(`record/v1/customerPayment/${payment}`)).toMatchObject({
    payment: 50,
    applied: 50,
    memo: 'all of it',
    customer: { id: '1' },
  });
  await remove(payment);
  const credit = getCreatedId(await to('creditMemo'));
  expect(await shop.read(`record/v1/creditMemo/${credit}`)).toMatchObject({ total: 50, applied: 50 });
  expect(await invoice(110)).toMatchObject({ status: 'B' });
  await shop.send('DELETE', `record/v1/creditMemo/${credit}`);
});

it('the status in conditions is a letter, or the type and a letter; the selected value is a letter either way', async () => {
  const count = async (status: string) =>
    await shop.value(
      `SELECT COUNT(*) AS n FROM transaction t WHERE t.status = '${status}' AND type = 'CustInvc'`,
    );
  expect([await count('A'), await count('CustInvc:A')]).toEqual(['3', '0']);
  shop.account.setSwitches({ statusFilter: 'typed' });
  expect([await count('A'), await count('CustInvc:A')]).toEqual(['0', '3']);
  expect(
    await shop.rows(
      "SELECT status, CASE WHEN status = 'A' THEN 1 ELSE 0 END AS open FROM transaction WHERE status IN ('CustInvc:A') GROUP BY status",
    ),
  ).toMatchObject([{ status: 'A', open: '1' }]);
  expect(
    await shop.column(
      "SELECT t.status FROM transaction t JOIN transactionstatus s ON s.id = 'A' AND t.status = 'CustInvc:A' AND s.trantype = t.type WHERE t.id = 101",
    ),
  ).toEqual(['A']);
});
