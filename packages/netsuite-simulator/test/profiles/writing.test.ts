// What the record service and the control interface write in an account with a profile: the books stay
// balanced, and the generated lines aren't items of the record.
import { beforeAll, describe, expect, it } from 'vitest';
import { PROFILES } from '../../src/index.ts';
import { postTransactions, totalTransactions } from '../../src/profile/posting.ts';
import { createControlClient } from '../control-client.ts';
import { asAdmin } from '../loaded-account.ts';
import { toErrorDetail, useCaller } from '../test-account.ts';

const VAT_ITEM = '9000002';
const SHIPPING_ITEM = '9000001';
type Row = Record<string, string>;

describe.each(PROFILES)('the profile %s', (profile) => {
  const shop = useCaller({ profile, control: {} });
  let item: Row;
  let entity: string;
  const customerIn = async (condition: string) =>
    (await shop.value(`SELECT MIN(id) AS id FROM customer WHERE isinactive = 'F' AND ${condition}`)) ?? '';
  beforeAll(async () => {
    entity = await customerIn("defaultcountry = 'United Kingdom'");
    item = await shop.first(
      "SELECT id, averagecost AS cost FROM item WHERE averagecost > 0 AND itemtype = 'InvtPart' AND id > 0 ORDER BY id FETCH FIRST 1 ROWS ONLY",
    );
  });

  /** Every line that the transaction has, in order. */
  const readLines = (id: string) =>
    shop.rows(`SELECT id, item, quantity, foreignamount AS amount, netamount AS base, mainline, taxline, iscogs, uniquekey AS key
      FROM transactionline WHERE transaction = ${id} ORDER BY linesequencenumber, id`);
  const header = (id: string) =>
    shop.first(`SELECT foreigntotal AS total, foreignamountunpaid AS unpaid, taxtotal, exchangerate AS rate, currency, status, postingperiod AS period
      FROM transaction WHERE id = ${id}`);
  const expectBalance = () =>
    shop.expectNone(`SELECT transaction, accountingbook FROM transactionaccountingline GROUP BY transaction, accountingbook
      HAVING SUM(NVL(debit, 0)) <> SUM(NVL(credit, 0))`);
  const sum = (rows: Row[], name: string) =>
    Math.round(rows.reduce((total, row) => total + Number(row[name] ?? 0), 0) * 100) / 100 + 0;
  const post = (type: string, body: object) => shop.create(type, body);
  const sold = (...amounts: [quantity: number, rate: number][]) => ({
    items: amounts.map(([quantity, rate]) => ({ item: { id: item['id'] }, quantity, rate })),
  });

  it('an invoice gets header, VAT and cost lines; its sublist has the items alone', async () => {
    const id = await post('invoice', { entity, tranDate: '2011-08-20', item: sold([2, 5], [1, 2.5]) });
    expect(await header(id)).toMatchObject({
      total: '15',
      unpaid: '15',
      taxtotal: '2.5',
      rate: '1',
      period: '201108',
    });
    const lines = await readLines(id);
    expect(lines.filter(({ mainline }) => mainline === 'T')).toMatchObject([
      { id: '0', amount: '15', base: '15' },
    ]);
    expect(lines.filter(({ taxline }) => taxline === 'T')).toMatchObject([
      { item: VAT_ITEM, amount: '-2.5' },
    ]);
    expect(sum(lines, 'base')).toBe(0);
    const cogs = lines.filter(({ iscogs }) => iscogs === 'T');
    expect([
      cogs.length,
      sum(
        cogs.filter(({ base }) => Number(base) > 0),
        'base',
      ),
    ]).toEqual([4, Math.round(3 * Number(item['cost']) * 100) / 100]);
    const { body } = await shop.get(`record/v1/invoice/${id}?expandSubResources=true`);
    expect(body).toMatchObject({
      total: 15,
      item: { totalResults: 2, items: [{ quantity: 2, amount: 10 }, { amount: 2.5 }] },
    });
    await expectBalance();
  });

  it('a change keeps the keys of generated lines and follows the items; generated lines can’t be edited', async () => {
    const id = await post('invoice', { entity, item: sold([1, 10]) });
    const before = await readLines(id);
    const patch = (body: object, query = '') => shop.send('PATCH', `record/v1/invoice/${id}${query}`, body);
    expect((await patch({ memo: 'noted' })).status).toBe(204);
    expect(await readLines(id)).toEqual(before);
    expect((await patch({ item: { items: [{ line: 1, quantity: 3 }] } })).status).toBe(204);
    expect(await header(id)).toMatchObject({ total: '36', taxtotal: '6' });
    expect((await readLines(id)).map(({ key }) => key)).toEqual(before.map(({ key }) => key));
    for (const { id: line, mainline, taxline, iscogs } of before) {
      if (![mainline, taxline, iscogs].includes('T')) continue;
      expect(
        toErrorDetail(await patch({ item: { items: [{ line: Number(line), amount: 1 }] } }))[1],
      ).toContain('for the following field: line');
    }
    expect((await patch({ item: sold([1, 4], [1, 1]) }, '?replace=item')).status).toBe(204);
    expect(await header(id)).toMatchObject({ total: '6' });
    await expectBalance();
    expect(await shop.status('DELETE', `record/v1/invoice/${id}`)).toBe(204);
    expect(await readLines(id)).toEqual([]);
  });

  it('a payment posts to the bank and the receivable, and a refund takes it back', async () => {
    const invoice = await post('invoice', { entity, item: sold([1, 10]) });
    const payment = await post('customerPayment', {
      customer: entity,
      payment: 20,
      account: '2',
      apply: { items: [{ doc: invoice }] },
    });
    expect(await header(invoice)).toMatchObject({ unpaid: '0', status: 'B' });
    expect((await readLines(payment)).map(({ mainline, amount }) => [mainline, amount])).toEqual([
      ['T', '20'],
      ['F', '-20'],
    ]);
    const refund = await post('customerRefund', {
      customer: entity,
      account: '2',
      apply: { items: [{ doc: payment, amount: 8 }] },
    });
    expect((await readLines(refund)).map(({ mainline, amount }) => [mainline, amount])).toEqual([
      ['T', '-8'],
      ['F', '8'],
    ]);
    await expectBalance();
    for (const [type, id] of [
      ['customerRefund', refund],
      ['customerPayment', payment],
      ['invoice', invoice],
    ])
      expect(await shop.status('DELETE', `record/v1/${type}/${id}`)).toBe(204);
  });

  it('posting again what was generated changes nothing', async () => {
    const changed = await asAdmin(shop.database, async (client) => {
      await client.query('BEGIN');
      await client.query(
        `CREATE TEMPORARY TABLE line ON COMMIT DROP AS SELECT * FROM ledger.transactionline`,
      );
      await client.query(`CREATE TEMPORARY TABLE header ON COMMIT DROP AS SELECT * FROM ledger.transaction`);
      const { rows } = await client.query<{ id: string }>(
        "SELECT id FROM ledger.transaction WHERE type IN ('CustInvc', 'CustCred', 'SalesOrd', 'CustPymt', 'CustRfnd') AND (id % 3 = 0 OR type = 'CustRfnd')",
      );
      const ids = rows.map(({ id }) => id);
      await totalTransactions(client, ids);
      await postTransactions(client, ids);
      const differences =
        await client.query(`SELECT to_jsonb(l) AS row FROM (SELECT * FROM ledger.transactionline EXCEPT SELECT * FROM line) l
        UNION ALL SELECT to_jsonb(l) FROM (SELECT * FROM line EXCEPT SELECT * FROM ledger.transactionline) l
        UNION ALL SELECT to_jsonb(t) FROM (SELECT * FROM ledger.transaction EXCEPT SELECT * FROM header) t`);
      await client.query('ROLLBACK');
      return [ids.length > 500, differences.rows];
    });
    expect(changed).toEqual([true, []]);
  });

  it('an order bears the same tax, posts nothing, and is billed as a whole', async () => {
    const order = await post('salesOrder', { entity, item: sold([2, 5]) });
    expect(await header(order)).toMatchObject({ total: '12', taxtotal: '2' });
    await shop.expectNone(`SELECT account FROM transactionaccountingline WHERE transaction = ${order}`);
    const billed = () =>
      shop.rows(
        `SELECT quantitybilled AS n FROM transactionline WHERE transaction = ${order} AND item = ${item['id']}`,
      );
    expect(await billed()).toMatchObject([{ n: '0' }]);
    const invoice = await post(`salesOrder/${order}/!transform/invoice`, {});
    expect(await header(invoice)).toMatchObject({ total: '12' });
    expect([await billed(), (await header(order))['status']]).toMatchObject([[{ n: '2' }], 'G']);
    expect((await readLines(invoice)).filter(({ iscogs }) => iscogs === 'T')).toHaveLength(2);
    expect(await shop.status('DELETE', `record/v1/invoice/${invoice}`)).toBe(204);
    expect([await billed(), (await header(order))['status']]).toMatchObject([[{ n: '0' }], 'B']);
    await expectBalance();
  });

  it('a generated invoice keeps its shipping line, and an ordered one has its costs on the fulfilment', async () => {
    const { id = '' } =
      await shop.first(`SELECT MIN(t.id) AS id FROM transaction t JOIN transactionline l ON l.transaction = t.id
      WHERE t.type = 'CustInvc' AND t.foreignamountpaid = 0 AND l.transactionlinetype = 'SHIPPING' AND l.createdfrom IS NOT NULL`);
    const before = await readLines(id);
    expect(before.filter(({ iscogs }) => iscogs === 'T')).toEqual([]);
    expect(await shop.status('PATCH', `record/v1/invoice/${id}?replace=item`, { item: sold([1, 100]) })).toBe(
      204,
    );
    const after = await readLines(id);
    const generated = (lines: Row[]) =>
      lines
        .filter(({ item: of, mainline }) => mainline === 'T' || Number(of) > 9_000_000)
        .map(({ key }) => key);
    expect(generated(after)).toEqual(generated(before));
    expect(after.filter(({ item: of }) => of === SHIPPING_ITEM)).toEqual(
      before.filter(({ item: of }) => of === SHIPPING_ITEM),
    );
    expect(await shop.read(`record/v1/invoice/${id}/item`)).toMatchObject({ totalResults: 1 });
    await expectBalance();
  });

  it('a closed period takes no postings, but orders', async () => {
    const old = { entity, tranDate: '2010-11-30', item: sold([1, 3]) };
    expect(await shop.rejection('POST', 'record/v1/invoice', old)).toContain(
      'in an accounting period that is closed',
    );
    await post('salesOrder', old);
  });

  it('a changed cash sale stays paid', async () => {
    const { id = '' } = await shop.first(
      "SELECT MIN(id) AS id FROM transaction WHERE type = 'CustInvc' AND entity IS NULL AND foreigntotal > 0",
    );
    expect(await shop.status('PATCH', `record/v1/invoice/${id}?replace=item`, { item: sold([1, 3]) })).toBe(
      204,
    );
    expect(await header(id)).toMatchObject({ total: '3', unpaid: '0', status: 'B' });
    await expectBalance();
  });

  it('the receivable is what the customers owe, after all these writes', async () => {
    const posted = await shop.first(
      `SELECT SUM(a.amount) AS total FROM transactionaccountingline a JOIN transaction t ON t.id = a.transaction
       WHERE a.account = 5 AND a.accountingbook = 1 AND t.type <> 'Journal'`,
    );
    const owed =
      await shop.rows(`SELECT type, SUM(foreignamountunpaid * exchangerate) AS total FROM transaction
      WHERE entity IS NOT NULL AND type IN ('CustInvc', 'CustCred', 'CustPymt') GROUP BY type`);
    const total = owed.reduce(
      (sum, { type, total }) => sum + (type === 'CustPymt' ? -1 : 1) * Number(total),
      0,
    );
    // In other currencies, base amounts are rounded to pence line by line.
    expect(Math.abs(total - Number(posted['total']))).toBeLessThan(profile === 'single' ? 0.001 : 5);
  });

  describe('the control interface', () => {
    const control = (method: string, path: string, body?: unknown) =>
      createControlClient(shop).done(method, path, body);

    it('edits the columns that a profile fills, of records, lines and lists', async () => {
      const { id = '' } = await shop.first(
        "SELECT MIN(id) AS id FROM transaction WHERE type = 'CustInvc' AND entity IS NOT NULL",
      );
      const edited = await control('PATCH', `/records/transaction/${id}`, {
        fields: { department: 2, postingperiod: 201109, taxtotal: '1.5', custbody_absent: undefined },
        lines: [{ line: 0, fields: { location: 4, memo: 'header' } }],
        touch: 'none',
      });
      expect(edited.fields).toMatchObject({ department: '2', postingperiod: '201109', taxtotal: '1.5' });
      expect(edited.lines[0]).toMatchObject({
        line: 0,
        fields: { mainline: 'T', location: '4', memo: 'header' },
      });
      expect(
        (await control('PATCH', `/records/customer/${await customerIn('id > 0')}`, { fields: { terms: 3 } }))
          .fields,
      ).toMatchObject({ terms: '3' });
      expect(
        (await control('PATCH', '/records/department/2', { fields: { name: 'Stores' } })).fields,
      ).toMatchObject({ name: 'Stores' });
      expect(await shop.value('SELECT name FROM department WHERE id = 2')).toBe('Stores');
      expect((await control('GET', '/records/accountingperiod?limit=2')).records).toHaveLength(2);
    });

    it('creates records like others, and removes and restores them with all their lines', async () => {
      const { id = '' } = await shop.first(
        "SELECT MIN(id) AS id FROM transaction WHERE type = 'CustInvc' AND foreignamountpaid > 0 AND entity IS NOT NULL",
      );
      const copy = await control('POST', '/records/transaction', { like: id });
      expect(copy.lines).toHaveLength((await readLines(id)).length);
      await expectBalance();
      const before = await control('GET', `/records/transaction/${id}`);
      await control('DELETE', `/records/transaction/${id}?listed=true`);
      expect(await readLines(id)).toEqual([]);
      expect(await control('POST', `/records/transaction/${id}/restore`)).toEqual(before);
      const department = await control('POST', '/records/department', {
        like: '1',
        fields: { name: 'Returns' },
      });
      await control('DELETE', `/records/department/${department.id}?listed=true`);
      expect(
        await shop.first(
          `SELECT name, type FROM deletedrecord WHERE recordid = ${department.id} AND scriptid = 'department'`,
        ),
      ).toMatchObject({ name: 'Returns' });
    });
  });
});

describe('several currencies', () => {
  const shop = useCaller({ profile: 'oneworld' });
  let customer: string;
  beforeAll(async () => {
    customer =
      (await shop.value(
        "SELECT MIN(id) AS id FROM customer WHERE subsidiary = 2 AND currency = 1 AND isinactive = 'F'",
      )) ?? '';
  });

  const post = (type: string, body: object) => shop.create(type, body);
  const rows = (ids: string[]) =>
    shop.rows(`SELECT a.transaction, a.account, a.amount, l.isfxvariance AS fx, l.foreignamount AS foreign_ FROM transactionaccountingline a
      JOIN transactionline l ON l.transaction = a.transaction AND l.id = a.transactionline
      WHERE a.accountingbook = 1 AND a.transaction IN (${ids.join(', ')})`);
  const sumAmounts = (lines: Row[]) =>
    Math.round(lines.reduce((sum, { amount }) => sum + Number(amount), 0) * 100) / 100 + 0;
  const invoice = (day: string, amount: number) =>
    post('invoice', {
      entity: customer,
      tranDate: day,
      item: { items: [{ item: '9000004', quantity: 1, rate: amount }] },
    });

  it('an invoice has the rate of its day, and its lines have both amounts', async () => {
    const [july, august] = [await invoice('2011-07-25', 100), await invoice('2011-08-25', 100)];
    const rates = await shop.rows(
      `SELECT exchangerate AS rate, subsidiary FROM transaction WHERE id IN (${july}, ${august}) ORDER BY id`,
    );
    expect(rates).toMatchObject([{ subsidiary: '2' }, { subsidiary: '2' }]);
    expect(new Set([...rates.map(({ rate }) => rate), '1']).size).toBe(3);
    const header = (await rows([july])).find(({ account }) => account === '5');
    expect(header).toMatchObject({
      foreign_: '100',
      amount: String(Math.round(Number(rates[0]?.['rate']) * 10_000) / 100),
    });
    expect(await shop.read(`record/v1/invoice/${july}/item`)).toMatchObject({
      items: [{ amount: 100 }],
    });
  });

  it('a payment at another rate has an exchange difference, and its refund none', async () => {
    const july = await invoice('2011-07-25', 100);
    const payment = await post('customerPayment', {
      customer,
      tranDate: '2011-08-25',
      payment: 130,
      account: '3',
      apply: { items: [{ doc: july, amount: 100 }] },
    });
    expect((await rows([payment])).filter(({ fx }) => fx === 'T')).toMatchObject([
      { account: '18', foreign_: '0' },
    ]);
    const refund = await post('customerRefund', {
      customer,
      tranDate: '2011-08-25',
      account: '3',
      apply: { items: [{ doc: payment, amount: 30 }] },
    });
    expect((await rows([refund])).filter(({ fx }) => fx === 'T')).toEqual([]);
    const posted = await rows([july, payment, refund]);
    expect(sumAmounts(posted)).toBe(0);
    expect(sumAmounts(posted.filter(({ account }) => account === '5'))).toBe(0);
    const other = { apply: { items: [{ doc: { id: july }, apply: true, amount: 50 }] } };
    expect(await shop.status('PATCH', `record/v1/customerPayment/${payment}`, other)).toBe(204);
    expect(sumAmounts(await rows([payment]))).toBe(0);
  });

  it('a credit memo made from an invoice has its rate; at another rate it has an exchange difference', async () => {
    const july = await invoice('2011-07-25', 100);
    const same = await post(`invoice/${july}/!transform/creditMemo`, {});
    expect(await rows([same])).toHaveLength(3);
    expect(sumAmounts((await rows([july, same])).filter(({ account }) => account === '5'))).toBe(0);
    const second = await invoice('2011-07-25', 100);
    const later = await post('creditMemo', {
      entity: customer,
      tranDate: '2011-08-25',
      item: { items: [{ item: '9000004', quantity: 1, rate: 100 }] },
      apply: { items: [{ doc: second, amount: 100 }] },
    });
    expect((await rows([later])).filter(({ fx }) => fx === 'T')).toHaveLength(1);
    const posted = await rows([second, later]);
    expect([sumAmounts(posted), sumAmounts(posted.filter(({ account }) => account === '5'))]).toEqual([0, 0]);
  });
});
