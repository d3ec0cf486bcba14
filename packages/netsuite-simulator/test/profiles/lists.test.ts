// The lists and entities of both profiles, as callers see them, and how a profile is chosen and loaded.
import { describe, expect, it } from 'vitest';
import { PROFILES, type ProfileName } from '../../src/index.ts';
import { DataFolderError } from '../../src/load/csv-folder.ts';
import { PROFILE_TABLES } from '../../src/tables/all-tables.ts';
import { computeChecksums, createLoadedDatabase } from '../loaded-account.ts';
import {
  type Caller,
  createDataFolder,
  dropDatabase,
  newDatabaseName,
  SLICE,
  startOn,
  startShop,
  useCaller,
} from '../test-account.ts';

const ONEWORLD_TABLES = [
  'accountingbook',
  'consolidatedexchangerate',
  'customersubsidiaryrelationship',
  'subsidiary',
  'subsidiarymainaddress',
  'vendorsubsidiaryrelationship',
];
const countRows = async (caller: Caller, table: string): Promise<number> =>
  Number(await caller.value(`SELECT COUNT(*) AS n FROM ${table}`));

describe.each(PROFILES)('the lists of the profile %s', (profile) => {
  const caller = useCaller({ profile });

  const isOneWorld = profile === 'oneworld';

  it('have rows in every table, and those of OneWorld only in oneworld', async () => {
    for (const { name } of PROFILE_TABLES.filter(
      (table) => isOneWorld || !ONEWORLD_TABLES.includes(table.name),
    ))
      expect(await countRows(caller, name), name).toBeGreaterThan(0);
    if (isOneWorld) expect(await countRows(caller, 'subsidiary')).toBe(4);
    else
      for (const name of ONEWORLD_TABLES)
        expect(await caller.refusal(`SELECT * FROM ${name}`)).toBe(
          `Search error occurred: Record '${name}' was not found.`,
        );
  });

  it.each(['department', 'classification', 'location', 'account'])(
    '%s is a hierarchy, whose full names begin with the parent’s',
    async (table) => {
      const name = table === 'account' ? 'c.fullname' : `p.fullname || ' : ' || c.name`;
      const children = await caller.rows(
        `SELECT c.fullname, p.fullname AS parentname, ${name} AS expected FROM ${table} c JOIN ${table} p ON p.id = c.parent`,
      );
      expect(children.length).toBeGreaterThan(0);
      for (const child of children) {
        expect(child['fullname']).toBe(child['expected']);
        expect(child['fullname']?.startsWith(`${child['parentname']} : `)).toBe(true);
      }
    },
  );

  it('items have parents whose number differs in the last letters only', async () => {
    const children = await caller.rows(
      'SELECT c.itemid, c.fullname, p.itemid AS parentid, p.parent AS grandparent FROM item c JOIN item p ON p.id = c.parent',
    );
    expect(children.length).toBeGreaterThan(200);
    for (const { itemid = '', fullname, parentid = '', grandparent } of children) {
      expect(fullname).toBe(`${parentid} : ${itemid}`);
      expect(itemid.slice(0, 5)).toBe(parentid.slice(0, 5));
      expect(grandparent).toBeUndefined();
    }
  });

  it('items in stock have a price, a cost and accounts; system items have negative ids', async () => {
    const incomplete = `(baseprice IS NULL OR averagecost IS NULL OR averagecost <= 0 OR assetaccount <> 6 OR totalquantityonhand IS NULL)`;
    expect(await caller.rows(`SELECT id FROM item WHERE itemtype = 'InvtPart' AND ${incomplete}`)).toEqual(
      [],
    );
    expect(await caller.rows('SELECT id, itemtype FROM item WHERE id < 0 ORDER BY id')).toMatchObject([
      { id: '-7', itemtype: 'TaxItem' },
      { id: '-3', itemtype: 'Description' },
      { id: '-2', itemtype: 'Subtotal' },
    ]);
    const [vendor] = await caller.rows(
      'SELECT id, BUILTIN.DF(category) AS category FROM vendor WHERE id < 0',
    );
    expect(vendor).toMatchObject({ id: '-3', category: 'Tax agency' });
  });

  it('customers refer to rows that exist', async () => {
    const references = {
      currency: 'currency',
      category: 'customercategory',
      terms: 'term',
      pricelevel: 'pricelevel',
      salesrep: 'employee',
      parent: 'customer',
      receivablesaccount: 'account',
      ...(isOneWorld && { subsidiary: 'subsidiary' }),
    };
    for (const [column, table] of Object.entries(references)) {
      const found = await caller.rows(
        `SELECT c.id, c.${column} AS value, r.id AS found FROM customer c LEFT JOIN ${table} r ON r.id = c.${column} WHERE c.${column} IS NOT NULL`,
      );
      expect(found.length, column).toBeGreaterThan(20);
      expect(
        found.filter((row) => row['found'] === undefined),
        column,
      ).toEqual([]);
    }
    const addressed = await caller.rows(
      `SELECT c.id, b.defaultbilling, a.addressee, c.companyname FROM customer c JOIN customeraddressbook b ON b.entity = c.id
       JOIN customeraddressbookentityaddress a ON a.nkey = b.addressbookaddress WHERE b.addressbookaddress = c.defaultbillingaddress`,
    );
    expect(addressed).toHaveLength(1000);
    for (const row of addressed)
      expect(row).toMatchObject({ defaultbilling: 'T', addressee: row['companyname'] });
  });

  it('customers belong to the subsidiary of their country, and a tenth of the foreign ones trade in pounds', async () => {
    const found = await caller.rows(
      `SELECT ${isOneWorld ? 'subsidiary' : '1 AS subsidiary'}, currency, defaultcountry AS country, MOD(id, 10) AS digit FROM customer ORDER BY id`,
    );
    const expected = ({ country, digit }: Record<string, string>): [string, string] => {
      if (!isOneWorld || country === 'United Kingdom') return ['1', '1'];
      const isEuro =
        'Germany France Belgium Spain EIRE Italy Austria Portugal Malta Finland Netherlands Cyprus'.split(
          ' ',
        );
      const [subsidiary, currency] = isEuro.includes(country ?? '') ? ['2', '3'] : ['3', '2'];
      return [subsidiary, digit === '0' ? '1' : currency];
    };
    expect(found).toHaveLength(1000);
    for (const row of found)
      expect([row['subsidiary'], row['currency']], JSON.stringify(row)).toEqual(expected(row));
  });

  it('periods form a calendar: every day is in one month, one quarter and one year', async () => {
    for (const kind of ['isposting', 'isquarter', 'isyear']) {
      const found = await caller.rows(
        `SELECT TO_CHAR(startdate, 'YYYY-MM-DD') AS first, TO_CHAR(enddate + 1, 'YYYY-MM-DD') AS next FROM accountingperiod
         WHERE ${kind} = 'T' AND isadjust = 'F' ORDER BY startdate`,
      );
      expect(found.length, kind).toBeGreaterThan(2);
      expect(
        found.slice(1).map(({ first }) => first),
        kind,
      ).toEqual(found.slice(0, -1).map(({ next }) => next));
    }
    const [july] = await caller.rows(
      `SELECT m.periodname, q.periodname AS quarter, y.periodname AS year, m.closed FROM accountingperiod m JOIN accountingperiod q ON q.id = m.parent
       JOIN accountingperiod y ON y.id = q.parent WHERE m.id = 201107`,
    );
    expect(july).toMatchObject({ periodname: 'Jul 2011', quarter: 'Q3 2011', year: 'FY 2011', closed: 'F' });
    expect(await caller.column("SELECT id FROM accountingperiod WHERE isadjust = 'T'")).toEqual(['201013']);
  });

  it('a rate and the rate of the opposite direction cancel out', async () => {
    const pairs = await caller.rows(
      `SELECT a.exchangerate * b.exchangerate AS product FROM currencyrate a JOIN currencyrate b ON b.basecurrency = a.transactioncurrency
       AND b.transactioncurrency = a.basecurrency AND b.effectivedate = a.effectivedate`,
    );
    expect(pairs.length).toBe(await countRows(caller, 'currencyrate'));
    for (const { product } of pairs) expect(Number(product)).toBeCloseTo(1, 6);
  });

  it('an invoice takes its quantity out of stock, and its removal puts it back', async () => {
    const of = `FROM inventoryitemlocations s JOIN item i ON i.id = s.item WHERE s.location = 1`;
    const [item] = await caller.rows(
      `SELECT s.item AS id, s.quantityonhand AS n, i.totalquantityonhand AS total ${of} AND s.quantityonhand > 20`,
      { limit: 1 },
    );
    const [customer] = await caller.rows(
      "SELECT id FROM customer WHERE defaultcountry = 'United Kingdom' ORDER BY id",
      { limit: 1 },
    );
    if (!item || !customer) throw new Error('no item in stock');
    const read = () =>
      caller.rows(
        `SELECT s.item AS id, s.quantityonhand AS n, i.totalquantityonhand AS total ${of} AND s.item = ${item['id']}`,
      );
    const answer = await caller.send('POST', 'record/v1/invoice', {
      entity: { id: customer['id'] },
      item: { items: [{ item: { id: item['id'] }, quantity: 3 }] },
    });
    expect(answer.status, JSON.stringify(answer.body)).toBe(204);
    expect(await read()).toMatchObject([
      { n: String(Number(item['n']) - 3), total: String(Number(item['total']) - 3) },
    ]);
    const id = answer.headers.get('location')?.split('/').at(-1);
    expect(await caller.status('DELETE', `record/v1/invoice/${id}`)).toBe(204);
    expect(await read()).toEqual([item]);
  });
});

describe('choosing a profile', () => {
  it('another profile loads the data again; the same files and profile give the same account', async () => {
    const [database, single, plain] = [newDatabaseName(), newDatabaseName(), newDatabaseName()];
    try {
      await createLoadedDatabase(database, SLICE, 'oneworld');
      await createLoadedDatabase(single, SLICE, 'single');
      await createLoadedDatabase(plain, SLICE);
      await (await startOn(database, { profile: 'single' })).stop();
      expect(await computeChecksums(database)).toEqual(await computeChecksums(single));
      await (await startOn(database)).stop();
      expect(await computeChecksums(database)).toEqual(await computeChecksums(plain));
    } finally {
      for (const each of [database, single, plain]) await dropDatabase(each);
    }
  });

  it.each(PROFILES)('%s works with a folder of one invoice', async (profile) => {
    const caller = await startShop({ profile });
    try {
      const isOneWorld = profile === 'oneworld';
      expect(
        await caller.rows(`SELECT id${isOneWorld ? ', subsidiary' : ''} FROM customer ORDER BY id`),
      ).toMatchObject([
        { id: '1', ...(isOneWorld && { subsidiary: '2' }) },
        { id: '2', ...(isOneWorld && { subsidiary: '3' }) },
      ]);
      expect(await caller.rows('SELECT baseprice, averagecost FROM item WHERE id = 10')).toMatchObject([
        { baseprice: '30.1' },
      ]);
    } finally {
      await caller.close();
    }
  });

  it('refuses an unknown profile, and a malformed folder as without a profile', async () => {
    const database = newDatabaseName();
    const bad = await createDataFolder({
      transactionline: [
        '1001,1,101,1,10,,-1,1,-1,F,F,2011-07-01 10:00:00',
        '1001,2,101,2,10,,-1,1,-1,F,F,2011-07-01 10:00:00',
      ],
    });
    const good = await createDataFolder();
    const dangling = await createDataFolder({
      transactionline: ['1001,1,999,1,10,,-1,1,-1,F,F,2011-07-01 10:00:00'],
    });
    try {
      await expect(startOn(database, { profile: 'twoworld' as ProfileName })).rejects.toThrow(RangeError);
      for (const [{ folder }, message] of [
        [bad, 'transactionline.csv.gz line 3: uniquekey 1001 occurs more than once'],
        [dangling, 'transactionline.csv.gz line 2: transaction 999 is not in transaction.csv.gz'],
      ] as const) {
        const start = startOn(database, { profile: 'single', dataFolder: folder });
        await expect(start).rejects.toThrow(new DataFolderError(message));
      }
      await (await startOn(database, { profile: 'single', dataFolder: good.folder })).stop();
    } finally {
      await dropDatabase(database);
      await Promise.all([good, bad, dangling].map(({ remove }) => remove()));
    }
  });
});
