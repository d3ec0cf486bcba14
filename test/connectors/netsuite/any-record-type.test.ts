// Record types that the connector doesn't know by name, read as their stored definitions say, from a
// simulated account with a whole company. What it must read is counted in the account's own database.
import { describe, expect, it } from 'vitest';
import { profile } from '../../setup/account-profile.ts';
import { useStarted } from '../../setup/use-started.ts';
import { listIds, openAccount } from './simulated-account.ts';
import { describeType, transactionType } from './stored-types.ts';
import { firstPage, signal } from './wire.ts';

const company = useStarted(() => openAccount({ profile: profile ?? 'single' }));

const sinceEver = new Date('2000-01-01T00:00:00Z');
const readNumber = async (query: string): Promise<number> => Number((await company.first(query))[0]);

const purchaseOrder = transactionType('purchaseOrder');
const ofPurchaseOrders = "from suiteql.transaction v where v.recordtype = 'purchaseorder'";
const warranty = describeType(
  'customrecord_warranty',
  { name: 'text', lastmodified: 'time', custrecord_warranty_customer: 'reference' },
  {
    table: 'customrecord_warranty',
    modified: { column: 'lastmodified', from: 'own' },
    deletedAs: ['customrecord_warranty'],
  },
);
const address = describeType(
  'customeraddressbook',
  { entity: 'integer', label: 'text', parentModified: 'time' },
  {
    table: 'customeraddressbook',
    key: [{ column: 'internalid', digits: 18 }],
    modified: { column: 'lastmodifieddate', from: 'parent' },
    parent: { table: 'customer', key: 'id', column: 'entity' },
  },
);
const accountType = describeType(
  'accounttype',
  { tableId: 'text', longname: 'text' },
  { table: 'accounttype', key: [{ column: 'internalid', digits: 18 }], renamed: { tableId: 'id' } },
);

describe('a transaction type', () => {
  it('has all of its records with all of their lines', async () => {
    const { records, rejected } = await company.readAll(purchaseOrder, { limit: 100 });
    expect(rejected).toEqual([]);
    expect(listIds({ records })).toEqual(await company.first(`v.id ${ofPurchaseOrders} order by v.id`));
    const lines = await company.truth(
      `l.transaction, l.id from suiteql.transactionline l join suiteql.transaction v on v.id = l.transaction
       where v.recordtype = 'purchaseorder' order by l.transaction, l.linesequencenumber, l.id`,
    );
    expect(records.flatMap(({ id, lines: own }) => (own ?? []).map((line) => [id, line['id']]))).toEqual(
      lines,
    );
    expect(records.every(({ lines: own }) => own?.some((line) => line['mainline'] === 'true'))).toBe(true);
    expect(records[0]).toMatchObject({
      modifiedAt: records[0]?.values['lastmodifieddate'],
      labels: { entity: expect.stringMatching(/./) },
    });
  });

  it('has the ERP’s own counts, totals of lines and lists of changes', async () => {
    const ids = await company.first(`v.id ${ofPurchaseOrders} order by v.id`);
    expect(await company.connector.count(purchaseOrder, signal)).toBe(ids.length);
    expect(await company.listAll(purchaseOrder)).toEqual(ids);
    expect(await company.listAll(purchaseOrder, { changedSince: sinceEver })).toEqual(ids);
    expect(await company.countChanged(purchaseOrder, sinceEver)).toEqual({
      records: ids.length,
      withChangedLines: ids.length,
    });
    const totals = await company.connector.lines?.totals({
      recordType: purchaseOrder,
      ids: ids.slice(0, 50),
      changedSince: sinceEver,
      signal,
    });
    const expected = await company.truth(
      `l.transaction, count(*), trim_scale(sum(l.quantity)), trim_scale(coalesce(sum(l.netamount), 0)) from suiteql.transactionline l
       where l.transaction in (${ids.slice(0, 50).join()}) group by 1 order by 1`,
    );
    expect(
      totals?.map(({ id, lines, sums }) => [id, String(lines), sums['quantity'], sums['netamount']]),
    ).toEqual(expected);
    expect(await company.listWithChangedLines(purchaseOrder, sinceEver)).toEqual(ids.slice(0, 1_000));
  });

  it('finds a record whose header or line changed, and its deletion', async () => {
    const [id = '', other = '', gone = ''] = await company.first(
      `v.id ${ofPurchaseOrders} order by v.id limit 3`,
    );
    const since = await company.connector.now(signal);
    await company.edit('transaction', id, { memo: 'changed' });
    await company.control('PATCH', `/records/transaction/${other}`, {
      lines: [{ line: 1, fields: { memo: 'changed' } }],
      touch: 'lines',
    });
    await company.control('DELETE', `/records/transaction/${gone}?listed=true`);
    expect(listIds(await company.readAll(purchaseOrder, { limit: 100, changedSince: since }))).toEqual([id]);
    expect(await company.listAll(purchaseOrder, { changedSince: since })).toEqual([id]);
    expect(await company.listWithChangedLines(purchaseOrder, since)).toEqual([other]);
    const deletions = await company.connector.deletedSince?.({ recordType: purchaseOrder, since, signal });
    expect(deletions).toMatchObject({ available: true, deleted: [{ id: gone }] });
    const { records } = await company.readByIds(purchaseOrder, ['tranid', 'lines'], [gone, other, id]);
    expect(listIds({ records })).toEqual([id, other]);
  });
});

describe('a table', () => {
  it('of custom records is read, listed and counted by its own modification time', async () => {
    const ids = await company.first('v.id from suiteql.customrecord_warranty v order by v.id');
    expect(listIds(await company.readAll(warranty, { limit: 20 }))).toEqual(ids);
    expect(await company.connector.count(warranty, signal)).toBe(ids.length);
    expect(await company.countChanged(warranty, sinceEver)).toEqual({
      records: ids.length,
      withChangedLines: null,
    });
    const since = await company.connector.now(signal);
    await company.edit('customrecord_warranty', ids[1], { name: 'Renamed' });
    const { records } = await company.readAll(warranty, { limit: 20, changedSince: since });
    expect(records).toMatchObject([{ id: ids[1], values: { name: 'Renamed' }, lines: null }]);
    expect(records[0]?.modifiedAt).toBe(records[0]?.values['lastmodified']);
  });

  it('may have a key with another name, and a column id that is none', async () => {
    const { records } = await company.readAll(accountType, { limit: 7 });
    expect(records.map(({ id, values }) => [id, values['tableId']])).toEqual(
      await company.truth('v.internalid, v.id from suiteql.accounttype v order by v.internalid'),
    );
  });

  it('without a modification time is only read as a whole', async () => {
    expect(listIds(await company.readAll(accountType))).toHaveLength(
      await readNumber('count(*) from suiteql.accounttype'),
    );
    const request = { ...firstPage, recordType: accountType, changedSince: sinceEver, limit: 1 };
    for (const refused of [
      company.connector.readPage({ ...request, fields: [] }),
      company.connector.listIds(request),
      company.countChanged(accountType, sinceEver),
    ])
      await expect(refused).rejects.toMatchObject({ kind: 'query', code: 'FIELD_NOT_SYNCABLE' });
    expect((await company.readAll(accountType)).records[0]?.modifiedAt).toBeNull();
  });

  it('is asked for no list of deletions that never has it', async () => {
    const before = company.requests();
    const request = { recordType: accountType, since: sinceEver, signal };
    expect(await company.connector.deletedSince?.(request)).toEqual({ available: true, deleted: [] });
    expect(company.requests()).toBe(before);
  });

  it('may change with the record that it belongs to', async () => {
    const { records } = await company.readAll(address, { limit: 500 });
    expect(records.map(({ id, values }) => [id, values['entity'], values['parentModified']])).toEqual(
      await company.truth(
        `v.internalid, v.entity, to_char(c.lastmodifieddate at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
         from suiteql.customeraddressbook v join suiteql.customer c on c.id = v.entity order by v.internalid`,
      ),
    );
    expect(records.every(({ modifiedAt, values }) => modifiedAt === values['parentModified'])).toBe(true);
    const [[entity, count] = []] = await company.truth(
      'entity, count(*) from suiteql.customeraddressbook group by 1 order by 2 desc, 1 limit 1',
    );
    const since = await company.connector.now(signal);
    await company.edit('customer', entity, { comments: 'moved' });
    const changed = await company.readAll(address, { limit: 500, changedSince: since });
    expect(changed.records.map(({ values }) => values['entity'])).toEqual(
      Array.from({ length: Number(count) }, () => entity),
    );
    expect(await company.listAll(address, { changedSince: since })).toEqual(listIds(changed));
    expect(await company.countChanged(address, since)).toMatchObject({ records: Number(count) });
  });

  it('may be the customer’s own query', async () => {
    const query = describeType(
      'ordersByCustomer',
      { orders: 'integer', latest: 'time' },
      {
        table: `(SELECT o.entity AS customer, COUNT(*) AS orders, MAX(o.lastmodifieddate) AS latest FROM transaction o WHERE o.type = 'SalesOrd' GROUP BY o.entity)`,
        key: [{ column: 'customer', digits: 18 }],
        modified: { column: 'latest', from: 'own' },
      },
    );
    const { records } = await company.readAll(query, { limit: 50 });
    expect(records.map(({ id, values }) => [id, values['orders']])).toEqual(
      await company.truth(
        "v.entity, count(*) from suiteql.transaction v where v.type = 'SalesOrd' group by 1 order by 1",
      ),
    );
    expect(await company.connector.count(query, signal)).toBe(records.length);
    expect(await company.listAll(query, { changedSince: sinceEver })).toEqual(listIds({ records }));
  });
});
