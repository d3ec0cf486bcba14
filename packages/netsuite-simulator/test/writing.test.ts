// The record service's writes: their responses, and what the next query returns.
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { getCreatedId, invalidValue, missingValue, toErrorDetail, useShop } from './test-account.ts';

const NOW = new Date('2011-07-05T10:20:30.700Z');
const ACCESSING = 'Error while accessing a resource. ';

const shop = useShop();
beforeAll(async () => {
  // Business time follows the machine's clock, which is frozen here, so written records have exactly this
  // time.
  vi.useFakeTimers({ toFake: ['Date'] });
  await shop.account.setBusinessTime(NOW);
});
afterAll(() => vi.useRealTimers());

const header = (id: string) =>
  shop.first(`SELECT type, status, entity, memo, foreigntotal AS total, foreignamountunpaid AS unpaid, externalid,
    TO_CHAR(trandate, 'YYYY-MM-DD') AS day, TO_CHAR(duedate, 'YYYY-MM-DD') AS due FROM transaction WHERE id = ${id}`);
const readLines = (id: string) =>
  shop.rows(
    `SELECT l.id, l.item, l.quantity, l.rate, l.netamount, l.memo FROM transactionline l WHERE l.transaction = ${id} ORDER BY l.linesequencenumber`,
  );
const invoice = (items: object[], more: object = {}) => ({ entity: { id: '1' }, item: { items }, ...more });
const createInvoice = async (items: object[], more: object = {}) =>
  await shop.create('invoice', invoice(items, more));

describe('POST', () => {
  it('204 with the Location of the new customer, which the next query returns', async () => {
    const answer = await shop.send('POST', 'record/v1/customer/', {
      companyName: 'Ärger & Söhne',
      email: 'a@example.com',
      externalId: 'ext-1',
      creditLimit: 12.5,
    });
    const id = getCreatedId(answer);
    expect(answer.headers.get('location')).toBe(`${shop.account.url}/services/rest/record/v1/customer/${id}`);
    expect(
      await shop.first(
        `SELECT id, entityid, companyname, externalid, creditlimit, isperson, TO_CHAR(lastmodifieddate, 'YYYY-MM-DD HH24:MI:SS') AS at FROM customer WHERE id = ${id}`,
      ),
    ).toEqual({
      id,
      entityid: 'Ärger & Söhne',
      companyname: 'Ärger & Söhne',
      externalid: 'ext-1',
      creditlimit: '12.5',
      isperson: 'F',
      at: '2011-07-05 11:20:30',
    });
    expect(await shop.first(`SELECT type, customer FROM entity WHERE id = ${id}`)).toMatchObject({
      type: 'CustJob',
      customer: id,
    });
    expect(await shop.read(`record/v1/customer/eid:ext-1`)).toMatchObject({
      id,
      companyName: 'Ärger & Söhne',
      creditLimit: 12.5,
      balance: 0,
    });
  });

  it('accepts a person by name, and references as bare scalars', async () => {
    const id = await shop.create('CUSTOMER', {
      isPerson: true,
      firstName: 'Ada',
      lastName: 'L',
      entityStatus: 6,
      currency: 1,
    });
    expect(await shop.read(`record/v1/customer/${id}`)).toMatchObject({
      isPerson: true,
      entityId: 'Ada L',
      entityStatus: { id: '6' },
      currency: { id: '1', refName: 'GBP' },
    });
  });

  it('creates an item, and an invoice with totals from its lines', async () => {
    const item = await shop.create('inventoryItem', {
      itemId: 'NEW-1',
      displayName: 'A new one',
      basePrice: 4.25,
    });
    const id = await createInvoice(
      [
        { item: { id: item }, quantity: 3 },
        { item: '10', quantity: 2, rate: 1.005 },
        { item: { id: '10' }, amount: 7, description: 'as agreed' },
      ],
      { memo: 'first', tranDate: '2011-07-04' },
    );
    expect(await header(id)).toEqual({
      type: 'CustInvc',
      status: 'A',
      entity: '1',
      memo: 'first',
      total: '21.76',
      unpaid: '21.76',
      day: '2011-07-04',
      due: '2011-08-03',
    });
    expect(await readLines(id)).toMatchObject([
      { id: '1', item, quantity: '-3', rate: '4.25', netamount: '-12.75', memo: 'A new one' },
      { id: '2', item: '10', quantity: '-2', rate: '1.005', netamount: '-2.01' },
      { id: '3', item: '10', quantity: '-1', rate: '7', netamount: '-7', memo: 'as agreed' },
    ]);
    const { body } = await shop.get(`record/v1/invoice/${id}?expandSubResources=true`);
    expect(body).toMatchObject({
      total: 21.76,
      amountRemaining: 21.76,
      tranId: `INV${id}`,
      item: { totalResults: 3, items: [{ quantity: 3, amount: 12.75 }, {}, {}] },
    });
    expect(await shop.value('SELECT balancesearch AS b FROM customer WHERE id = 1')).toBe('51.86');
  });

  it('a credit memo is negative in the books and positive in the record; an order has no balance', async () => {
    const credit = await shop.create('creditMemo', {
      entity: '2',
      item: { items: [{ item: '10', quantity: 2, rate: 5 }] },
    });
    expect(await header(credit)).toMatchObject({
      type: 'CustCred',
      total: '-10',
      unpaid: '-10',
      status: 'A',
    });
    expect((await readLines(credit))[0]).toMatchObject({ quantity: '2', netamount: '10' });
    expect(await shop.read(`record/v1/creditMemo/${credit}`)).toMatchObject({
      total: 10,
      unapplied: 10,
    });
    const order = await shop.create('salesOrder', {
      entity: '2',
      shipDate: '2011-07-20',
      item: { items: [{ item: '10', amount: 8 }] },
    });
    expect(await header(order)).toMatchObject({ type: 'SalesOrd', total: '8', status: 'B' });
    expect(await shop.read(`record/v1/salesOrder/${order}`)).toMatchObject({
      orderStatus: { id: 'B', refName: 'Pending Fulfillment' },
      shipDate: '2011-07-20',
    });
    expect(await shop.value('SELECT balancesearch AS b FROM customer WHERE id = 2')).toBe('-10');
  });

  const line = { item: '10', amount: 1 };
  const [USER, CONTENT] = ['USER_ERROR', 'INVALID_CONTENT'];
  const noJson = 'Invalid content in the request body.';
  const taken = { companyName: 'x', externalId: 'ext-1' };
  const noDay = { tranDate: '2011-02-30' };
  const refused: [name: string, type: string, body: unknown, detail: string, code: string][] = [
    ['nothing', 'customer', {}, missingValue('Company Name'), USER],
    ['a person without a name', 'customer', { isPerson: true }, missingValue('First Name, Last Name'), USER],
    ['no JSON', 'customer', 'bad body', noJson, CONTENT],
    ['a list', 'customer', [], noJson, CONTENT],
    ['an external id that is taken', 'customer', taken, `${ACCESSING}This record already exists.`, USER],
    [
      'no lines',
      'invoice',
      { entity: '1' },
      `${ACCESSING}You must enter at least one line item for this transaction.`,
      USER,
    ],
    ['no customer', 'invoice', { item: { items: [line] } }, missingValue('Customer'), USER],
    ['a line without a price', 'invoice', invoice([{ item: '10' }]), missingValue('Amount'), USER],
    [
      'a customer that is not there',
      'invoice',
      { ...invoice([line]), entity: { id: '9999' } },
      invalidValue(9999, 'entity'),
      CONTENT,
    ],
    [
      'an item that is not there',
      'invoice',
      invoice([{ ...line, item: { id: '9999' } }]),
      invalidValue(9999, 'item'),
      CONTENT,
    ],
    [
      'text for a number',
      'invoice',
      invoice([{ ...line, amount: 'much' }]),
      invalidValue('much', 'amount'),
      CONTENT,
    ],
    [
      'a date that no calendar has',
      'invoice',
      invoice([line], noDay),
      invalidValue('2011-02-30', 'tranDate'),
      CONTENT,
    ],
    ['lines that are none', 'invoice', { entity: '1', item: 'x' }, invalidValue('x', 'item'), CONTENT],
  ];
  it.each(refused)('400 for %s', async (_name, type, body, detail, code) => {
    const count = () => shop.value('SELECT COUNT(*) AS n FROM transaction');
    const before = await count();
    expect(toErrorDetail(await shop.send('POST', `record/v1/${type}`, body))).toEqual([400, detail, code]);
    expect(await count()).toBe(before);
  });

  it('reports where in the body a bad reference is', async () => {
    const { body } = await shop.send(
      'POST',
      'record/v1/invoice',
      invoice([
        { item: '10', amount: 1 },
        { item: '9999', amount: 1 },
      ]),
    );
    expect(body['o:errorDetails'][0]?.['o:errorPath']).toBe('item.items[1].item');
  });

  it('405 for a read-only type, 404 for an unknown one', async () => {
    expect(await shop.status('POST', 'record/v1/journalEntry', {})).toBe(405);
    expect(await shop.status('POST', 'record/v1/vendor', {})).toBe(405);
    expect(await shop.status('POST', 'record/v1/unicorn', {})).toBe(404);
  });
});

describe('unknown names', () => {
  const post = (check?: string) =>
    shop.send(
      'POST',
      'record/v1/customer',
      { companyName: 'x', unicorn: 1, subsidiary: '1' },
      check === undefined ? {} : { 'X-NetSuite-PropertyNameValidation': check },
    );
  it('are ignored with a warning by default', async () => {
    const answer = await post();
    expect([answer.status, answer.headers.get('x-netsuite-propertyvalidation')]).toEqual([
      204,
      'unicorn, subsidiary',
    ]);
  });
  it('are rejected, or silently ignored', async () => {
    expect(toErrorDetail(await post('Error'))[0]).toBe(400);
    const quiet = await post('Ignore');
    expect([quiet.status, quiet.headers.get('x-netsuite-propertyvalidation')]).toEqual([204, null]);
    expect(toErrorDetail(await post('Maybe'))[2]).toBe('INVALID_HEADER');
  });
});

describe('PATCH', () => {
  it('changes only what the body contains, clears by null, and sets lastmodifieddate to the second', async () => {
    const id = await shop.create('customer', {
      companyName: 'Before',
      phone: '1',
      email: 'b@example.com',
    });
    await shop.account.setBusinessTime(new Date('2011-07-06T09:08:07Z'));
    expect(
      await shop.status('PATCH', `record/v1/customer/${id}`, {
        phone: null,
        email: 'after@example.com',
        balance: 5,
      }),
    ).toBe(204);
    const row = await shop.first(
      `SELECT companyname, phone, email, TO_CHAR(SYS_EXTRACT_UTC(lastmodifieddate), 'YYYY-MM-DD HH24:MI:SS') AS at FROM customer WHERE id = ${id}`,
    );
    expect(row).toEqual({
      companyname: 'Before',
      email: 'after@example.com',
      at: '2011-07-06 09:08:07',
    });
  });

  it('changes a line by its number, adds one without, and replaces all with replace=item', async () => {
    const id = await createInvoice([
      { item: '10', quantity: 2, rate: 3 },
      { item: '10', amount: 4 },
    ]);
    const patch = (items: object[], query = '') =>
      shop.send('PATCH', `record/v1/invoice/${id}${query}`, { item: { items } });
    expect(
      (
        await patch([
          { line: 1, quantity: 5 },
          { item: '10', amount: 1 },
        ])
      ).status,
    ).toBe(204);
    expect((await readLines(id)).map((line) => [line['id'], line['netamount']])).toEqual([
      ['1', '-15'],
      ['2', '-4'],
      ['3', '-1'],
    ]);
    expect(await header(id)).toMatchObject({ total: '20', unpaid: '20' });
    expect((await patch([{ item: '10', amount: 9 }], '?replace=item')).status).toBe(204);
    expect(await header(id)).toMatchObject({ total: '9' });
    expect(await readLines(id)).toHaveLength(1);
    expect(toErrorDetail(await patch([{ line: 77, quantity: 1 }]))).toEqual([
      400,
      invalidValue(77, 'line'),
      'INVALID_CONTENT',
    ]);
  });

  it('404 for an absent customer, 400 for an absent transaction', async () => {
    expect(await shop.status('PATCH', 'record/v1/customer/424242', {})).toBe(404);
    expect(toErrorDetail(await shop.send('PATCH', 'record/v1/invoice/424242', {}))).toEqual([
      400,
      `${ACCESSING}Transaction type specified is incorrect.`,
      'USER_ERROR',
    ]);
    expect(await shop.status('PATCH', 'record/v1/creditMemo/101', {})).toBe(400);
  });
});

it('PUT by external id creates, then updates; external ids are unique per type', async () => {
  const put = (type: string, body: object) => shop.send('PUT', `record/v1/${type}/eid:order%2F7`, body);
  const id = getCreatedId(await put('invoice', invoice([{ item: '10', amount: 3 }])));
  expect(getCreatedId(await put('invoice', { memo: 'again' }))).toBe(id);
  expect(await header(id)).toMatchObject({ memo: 'again', total: '3', externalid: 'order/7' });
  expect(getCreatedId(await put('salesOrder', invoice([{ item: '10', amount: 3 }])))).not.toBe(id);
  expect(await shop.status('PUT', `record/v1/invoice/${id}`, {})).toBe(400);
});

describe('DELETE', () => {
  it('deletes a transaction with its lines and adds a row to deletedrecord', async () => {
    const id = await createInvoice([{ item: '10', amount: 3 }]);
    await shop.account.setBusinessTime(new Date('2011-07-07T22:30:00Z'));
    expect(await shop.status('DELETE', `record/v1/invoice/${id}`)).toBe(204);
    await shop.expectNone(`SELECT id FROM transaction WHERE id = ${id}`);
    expect(await readLines(id)).toEqual([]);
    const read = () =>
      shop.first(
        `SELECT recordid, recordtypeid, scriptid, type, name, TO_CHAR(SYS_EXTRACT_UTC(deleteddate), 'YYYY-MM-DD HH24:MI') AS at FROM deletedrecord WHERE recordid = ${id}`,
      );
    expect(await read()).toEqual({
      recordid: id,
      recordtypeid: '-30',
      scriptid: 'invoice',
      type: 'Invoice',
      name: `INV${id}`,
      at: '2011-07-07 22:30',
    });
    shop.account.setSwitches({ deletedDateHasTime: false });
    expect((await read())?.['at']).toBe('2011-07-06 23:00'); // midnight in London
    shop.account.setSwitches({ deletedDateHasTime: true });
    expect(await shop.status('DELETE', `record/v1/invoice/${id}`)).toBe(400);
  });

  it('deletes only a customer or an item that nothing refers to', async () => {
    const id = await shop.create('customer', { companyName: 'Gone', externalId: 'gone' });
    expect(await shop.status('DELETE', 'record/v1/customer/eid:gone')).toBe(204);
    expect((await shop.get(`record/v1/customer/${id}`)).status).toBe(404);
    expect(await shop.column(`SELECT scriptid FROM deletedrecord WHERE recordid = ${id}`)).toEqual([
      'customer',
    ]);
    expect(toErrorDetail(await shop.send('DELETE', 'record/v1/customer/1'))).toEqual([
      400,
      `${ACCESSING}This record cannot be deleted because it has dependent records.`,
      'USER_ERROR',
    ]);
    expect(await shop.status('DELETE', 'record/v1/inventoryItem/10')).toBe(400);
    expect(await shop.status('DELETE', 'record/v1/customer/1/more')).toBe(405);
  });
});

it('a transform bills an order once', async () => {
  const order = await shop.create(
    'salesOrder',
    invoice([{ item: '10', quantity: 2, rate: 6 }], { memo: 'ordered' }),
  );
  const made = await shop.create(`salesOrder/${order}/!transform/invoice`);
  expect(await header(made)).toMatchObject({ total: '12', memo: 'ordered', entity: '1' });
  expect(await header(order)).toMatchObject({ status: 'G' });
  expect(
    await shop.rows(`SELECT nextdoc, linktype FROM nexttransactionlinelink WHERE previousdoc = ${order}`),
  ).toMatchObject([{ nextdoc: made, linktype: 'OrdBill' }]);
  expect(await shop.status('DELETE', `record/v1/salesOrder/${order}`)).toBe(400);
  await shop.send('DELETE', `record/v1/invoice/${made}`);
  expect(await header(order)).toMatchObject({ status: 'B' });
  expect(await shop.status('POST', `record/v1/salesOrder/${order}/!transform/customer`, {})).toBe(400);
  expect(await shop.status('POST', 'record/v1/salesOrder/424242/!transform/invoice')).toBe(400);
});
