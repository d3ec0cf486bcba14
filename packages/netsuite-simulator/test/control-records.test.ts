// Reading the account's truth, and editing it record by record.
import { describe, expect, it } from 'vitest';
import { type Json, useControlled } from './control-client.ts';

const world = useControlled();

const UTC = (column: string) => `TO_CHAR(SYS_EXTRACT_UTC(${column}), 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`;
const times = async (id: string): Promise<[header: string | undefined, lines: (string | undefined)[]]> => {
  const header = await world.first(
    `SELECT ${UTC('lastmodifieddate')} AS at FROM transaction WHERE id = ${id}`,
  );
  const lines = await world.rows(
    `SELECT ${UTC('linelastmodifieddate')} AS at FROM transactionline WHERE transaction = ${id} ORDER BY linesequencenumber`,
  );
  return [header['at'], lines.map((line) => line['at'])];
};
const BEFORE = '2011-07-01T09:00:00Z';
const deletions = () =>
  world.rows('SELECT recordid, scriptid, type, name FROM deletedrecord ORDER BY recordid');

describe('the truth', () => {
  it('is a record with its lines, every value exact, empty columns left out', async () => {
    const record = await world.done('GET', '/records/transaction/101');
    expect(record).toMatchObject({
      table: 'transaction',
      id: '101',
      fields: {
        id: '101',
        tranid: 'I101',
        type: 'CustInvc',
        trandate: '2011-07-01',
        foreigntotal: '3',
        posting: 'T',
        lastmodifieddate: BEFORE,
      },
      lines: [1, 2, 3].map((line) => ({
        line,
        fields: { transaction: '101', netamount: '-1', linesequencenumber: String(line) },
      })),
    });
    expect(record.fields).not.toHaveProperty('memo');
    expect(await world.done('GET', '/records/customer/1')).not.toHaveProperty('lines');
  });

  it('is listed by id, page by page', async () => {
    const first = await world.done('GET', '/records/transaction?limit=4');
    expect([first.records.map(({ id }: { id: string }) => id), first.next]).toEqual([
      ['101', '102', '103', '104'],
      '104',
    ]);
    const second = await world.done('GET', `/records/transaction?limit=4&after=${first.next}`);
    expect([second.records.map(({ id }: { id: string }) => id), second.next]).toEqual([
      ['105', '106', '107'],
      null,
    ]);
    expect(second.records[0].lines).toHaveLength(3);
    expect((await world.done('GET', '/records/transactionline')).records).toHaveLength(21);
    expect((await world.done('GET', '/records/entity?after=1')).records).toHaveLength(1);
    expect((await world.done('GET', '/records/vendor')).records).toEqual([]);
  });

  it('is not what the role can see', async () => {
    await world.done('PUT', '/hidden', {
      tables: ['customer'],
      columns: { transaction: ['tranid'] },
      rows: { transaction: ['101'] },
    });
    await world.done('PUT', '/faults', [{ on: {}, status: 500 }]);
    expect((await world.done('GET', '/records/transaction/101')).fields.tranid).toBe('I101');
    expect((await world.done('GET', '/records/customer')).records).toHaveLength(2);
    await world.done('POST', '/reset');
  });
});

describe('edits', () => {
  const now = () => world.account.businessTime().toISOString().slice(0, 16);

  it('change raw values of headers and lines, and nothing that follows from them', async () => {
    const edited = await world.done('PATCH', '/records/transaction/101', {
      fields: { foreigntotal: 99.5, memo: 'edited', duedate: null, terms: 7, voided: true },
      lines: [{ line: 2, fields: { netamount: '-5.25', department: 3 } }],
      touch: 'none',
    });
    expect(edited.fields).toMatchObject({
      foreigntotal: '99.5',
      foreignamountunpaid: '3',
      memo: 'edited',
      terms: '7',
      voided: 'T',
    });
    expect(edited.fields).not.toHaveProperty('duedate');
    expect(edited.lines.map(({ fields }: Json) => fields.netamount)).toEqual(['-1', '-5.25', '-1']);
    expect(
      await world.rows('SELECT foreigntotal, terms, memo, duedate, voided FROM transaction WHERE id = 101'),
    ).toEqual([{ foreigntotal: '99.5', memo: 'edited', terms: '7', voided: 'T' }]);
    expect(
      await world.rows(
        'SELECT department, foreignamount FROM transactionline WHERE transaction = 101 AND linesequencenumber = 2',
      ),
    ).toEqual([{ department: '3', foreignamount: '-5.25' }]);
    expect(await times('101')).toEqual([BEFORE, [BEFORE, BEFORE, BEFORE]]);
    const undone = await world.edit('transaction/101', { terms: null, memo: '' });
    expect(Object.keys(undone.fields)).not.toEqual(expect.arrayContaining(['terms']));
    expect(undone.fields).not.toHaveProperty('memo');
  });

  it('touch says which modification time moves', async () => {
    const lines = [{ line: 1, fields: { memo: 'x' } }];
    await world.done('PATCH', '/records/transaction/102', { lines, touch: 'header' });
    let [header, at] = await times('102');
    expect([header?.slice(0, 16), at]).toEqual([now(), [BEFORE, BEFORE, BEFORE]]);
    await world.done('PATCH', '/records/transaction/103', { lines, touch: 'lines' });
    [header, at] = await times('103');
    expect([header, at?.[0]?.slice(0, 16), at?.[1]]).toEqual([BEFORE, now(), BEFORE]);
    await world.done('PATCH', '/records/transaction/104', { lines, touch: '2011-07-05T12:00:00+02:00' });
    expect(await times('104')).toEqual(['2011-07-05T10:00:00Z', ['2011-07-05T10:00:00Z', BEFORE, BEFORE]]);
    await world.done('PATCH', '/records/transaction/105', { touch: 'lines' });
    expect((await times('105'))[1]?.every((time: string | undefined) => time?.startsWith(now()))).toBe(true);
    await world.done('PATCH', '/records/transaction/106', {});
    expect((await times('106'))[0]?.slice(0, 16)).toBe(now());
  });

  it('are refused as a whole, and 422 for what the tables can’t hold', async () => {
    const bad = { fields: { memo: 'never' }, lines: [{ line: 8, fields: {} }], touch: 'none' };
    expect((await world.control('PATCH', '/records/transaction/107', bad)).status).toBe(422);
    expect(
      (await world.control('PATCH', '/records/transaction/107', { fields: { tranid: null }, touch: 'none' }))
        .status,
    ).toBe(422);
    expect((await world.control('PATCH', '/records/transactionline/1001', { touch: 'none' })).status).toBe(
      422,
    );
    await world.edit('customer/1', { externalid: 'E1' });
    expect(
      (await world.control('PATCH', '/records/customer/2', { fields: { externalid: 'E1' }, touch: 'none' }))
        .status,
    ).toBe(422);
    expect((await world.done('GET', '/records/transaction/107')).fields).not.toHaveProperty('memo');
  });

  it('run one at a time, however many are sent at once', async () => {
    const edits = Array.from({ length: 12 }, (_, i) => ({
      fields: { comments: `edit ${i}` },
      touch: 'none',
    }));
    const answers = await Promise.all(
      edits.map((edit) => world.control('PATCH', '/records/customer/1', edit)),
    );
    expect(answers.map(({ status }) => status)).toEqual(edits.map(() => 200));
  });

  it('reach currencies and the times themselves', async () => {
    await world.edit('currency/1', { name: 'Pound', lastmodifieddate: '2011-01-02T03:04:05Z' });
    expect(await world.rows(`SELECT name, ${UTC('lastmodifieddate')} AS at FROM currency`)).toEqual([
      { name: 'Pound', at: '2011-01-02T03:04:05Z' },
    ]);
  });
});

describe('removing and restoring', () => {
  it('takes a transaction with its lines out of the account, with an entry in the list of deletions, and brings it back', async () => {
    const before = await world.done('GET', '/records/transaction/107');
    expect(await world.done('DELETE', '/records/transaction/107?listed=true')).toEqual({
      table: 'transaction',
      id: '107',
      listed: true,
    });
    expect(await world.column('SELECT id FROM transaction ORDER BY id')).not.toContain('107');
    await world.expectNone('SELECT uniquekey FROM transactionline WHERE transaction = 107');
    expect((await world.get('record/v1/invoice/107')).status).toBe(400);
    expect(await deletions()).toEqual([
      { recordid: '107', scriptid: 'invoice', type: 'Invoice', name: 'I107' },
    ]);
    expect((await world.control('GET', '/records/transaction/107')).status).toBe(404);
    expect((await world.control('DELETE', '/records/transaction/107')).status).toBe(404);
    expect(await world.done('POST', '/records/transaction/107/restore')).toEqual(before);
    expect(await deletions()).toEqual([]);
    expect((await world.control('POST', '/records/transaction/107/restore')).status).toBe(422);
  });

  it('can leave out the entry; applied payments come back as well', async () => {
    const { status, headers } = await world.send('POST', 'record/v1/customerPayment', {
      customer: '1',
      payment: 3,
      account: '7',
      apply: { items: [{ doc: '103', apply: true, amount: 3 }] },
    });
    expect(status).toBe(204);
    const id = headers.get('location')?.split('/').at(-1);
    const links = () => world.rows('SELECT previousdoc, nextdoc FROM nexttransactionlinelink');
    expect(await links()).toEqual([{ previousdoc: '103', nextdoc: id }]);
    await world.done('DELETE', `/records/transaction/${id}?listed=false`);
    expect([await links(), await deletions()]).toEqual([[], []]);
    expect(await world.value('SELECT status FROM transaction WHERE id = 103')).toBe('B'); // others stay as they are
    await world.done('POST', `/records/transaction/${id}/restore`);
    expect(await links()).toHaveLength(1);
  });

  it('works for customers and items that others refer to', async () => {
    await world.done('DELETE', '/records/customer/2');
    await world.done('DELETE', '/records/item/10?listed=true');
    expect((await deletions()).map((row) => [row['recordid'], row['scriptid']])).toEqual([
      ['2', 'customer'],
      ['10', 'inventoryitem'],
    ]);
    expect(await world.value('SELECT entity FROM transaction WHERE id = 102')).toBe('2');
    await world.done('POST', '/records/customer/2/restore');
    await world.done('POST', '/records/item/10/restore');
    expect(await world.value('SELECT entityid FROM customer WHERE id = 2')).toBe('CUST2');
  });
});

describe('a new record', () => {
  it('is like another, with an id, a number and times of its own, and unpaid', async () => {
    const { status, body } = await world.control('POST', '/records/transaction', {
      like: '103',
      fields: { memo: 'copy' },
    });
    expect(status).toBe(201);
    expect(Number(body.id)).toBeGreaterThan(107);
    expect(body.fields).toMatchObject({
      type: 'CustInvc',
      memo: 'copy',
      foreigntotal: '3',
      foreignamountpaid: '0',
      foreignamountunpaid: '3',
      status: 'A',
    });
    expect(body.fields.tranid).not.toBe('I103');
    expect(body.fields.lastmodifieddate > BEFORE).toBe(true);
    expect(body.lines.map(({ line, fields }: Json) => [line, fields.netamount])).toEqual([
      [1, '-1'],
      [2, '-1'],
      [3, '-1'],
    ]);
    expect(
      await world.value(
        'SELECT COUNT(DISTINCT uniquekey) AS n FROM transactionline WHERE transaction IN (103, ' +
          body.id +
          ')',
      ),
    ).toBe('6');
    expect(await world.read(`record/v1/invoice/${body.id}`)).toMatchObject({
      memo: 'copy',
      amountRemaining: 3,
    });
  });

  it('can change the total', async () => {
    const { fields } = await world.done('POST', '/records/transaction', {
      like: 101,
      fields: { foreigntotal: 5 },
    });
    expect([fields.foreigntotal, fields.foreignamountunpaid]).toEqual(['5', '5']);
  });

  it('without like starts empty: a vendor in an account that has none', async () => {
    const vendor = await world.done('POST', '/records/vendor', {
      fields: { companyname: 'Supplies', email: 'a@b.example' },
    });
    expect(vendor.fields).toMatchObject({ companyname: 'Supplies', isinactive: 'F', entityid: vendor.id });
    expect(await world.column('SELECT id FROM vendor')).toEqual([vendor.id]);
    for (const table of ['customer', 'item', 'employee', 'contact', 'currency', 'subsidiary']) {
      expect((await world.control('POST', `/records/${table}`, {})).status, table).toBe(201);
    }
    const other = await world.done('POST', '/records/vendor', { like: vendor.id });
    expect(other.fields.companyname).toBe('Supplies');
  });
});
