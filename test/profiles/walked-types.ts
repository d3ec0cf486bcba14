// The record types that the walk takes from metadata to a published resource, and how the account's
// administrator creates, changes and deletes a record of each: through the account's control interface, or by
// SQL where that can't.
import type { Company } from './company.ts';

export type WalkedType = {
  readonly name: string;
  /** The table of the control interface through which its records are edited. */
  readonly table: string;
  /** A field that is changed, of that table. */
  readonly field: string;
  /** What else a new record needs in order to differ from others. */
  readonly own?: Readonly<Record<string, string>>;
  /**
   * The base table, a condition, and its time of change if it has one, where the control interface can't edit
   * it.
   */
  readonly sql?: { readonly table: string; readonly where: string; readonly modified?: string };
};

const transactions = [
  'purchaseOrder',
  'itemReceipt',
  'vendorBill',
  'vendorPayment',
  'vendorCredit',
  'itemFulfillment',
  'estimate',
  'customerDeposit',
  'deposit',
  'inventoryAdjustment',
  'inventoryTransfer',
  'journalEntry',
];
/**
 * Kinds of transactions of which the profile has no record, by the code of their type: the walk begins with a
 * few.
 */
const firstOfTheirKind: readonly (readonly [name: string, code: string])[] = [
  ['cashSale', 'CashSale'],
  ['workOrder', 'WorkOrd'],
  ['transferOrder', 'TrnfrOrd'],
  ['cashRefund', 'CashRfnd'],
  ['returnAuthorization', 'RtnAuth'],
];
const lists = ['term', 'customerCategory', 'vendorCategory', 'unitsType', 'taxType', 'salesRole'];
const list = (name: string, field = 'name', table = name.toLowerCase()): WalkedType => ({
  name,
  table,
  field,
});

export const standardTypes: readonly WalkedType[] = [
  ...[...transactions, ...firstOfTheirKind.map(([name]) => name)].map((name) =>
    list(name, 'memo', 'transaction'),
  ),
  ...lists.map((name) => list(name)),
  {
    ...list('currencyRate', 'exchangerate'),
    own: { effectivedate: '2019-03-14' },
    sql: { table: 'currencyrate', where: 'true', modified: 'lastmodifieddate' },
  },
  list('salesTaxItem', 'description'),
  { ...list('nexus', 'description'), sql: { table: 'nexus', where: 'true' } },
];
export const customTypes: readonly WalkedType[] = [
  list('customrecord_warranty'),
  list('customrecord_complaint', 'custrecord_complaint_text'),
  list('customrecord_gift_message', 'custrecord_gift_text'),
  list('customrecord_delivery_slot', 'custrecord_slot_fee'),
  {
    ...list('customlist_colour'),
    sql: { table: 'customlistvalue', where: `list = 'customlist_colour'`, modified: 'lastmodified' },
  },
];

/** A value that the field takes and doesn't have. */
const valueFor = ({ field }: WalkedType, word: string): string =>
  /rate$|fee$/.test(field) ? '1.375' : `${word} of the walk`;

async function querySql(
  { account }: Company,
  text: string,
  values: readonly unknown[] = [],
): Promise<string> {
  const { rows } = await account.pool.query<{ id: string }>(text, [...values]);
  const [row] = rows;
  if (row === undefined) throw new Error(`No row: ${text}`);
  return row.id;
}

/** A record that exists. */
export const findAny = (company: Company, type: WalkedType): Promise<string> => {
  if (type.sql !== undefined)
    return querySql(
      company,
      `select id from ledger.${type.sql.table} where ${type.sql.where} order by id limit 1`,
    );
  const where =
    type.table === 'transaction' ? `where recordtype = '${type.name.toLowerCase()}'` : 'where id > 0';
  return querySql(company, `select id from suiteql.${type.table} ${where} order by id limit 1`);
};

/** Records of the kinds of transactions that the account has none of. */
export async function createFirstOfTheirKind(company: Company): Promise<void> {
  const like = await querySql(
    company,
    `select min(id) as id from ledger.transaction where type = 'PurchOrd'`,
  );
  for (const [name, type] of firstOfTheirKind) {
    await querySql(
      company,
      'insert into ledger.transactiontype values ($1, $2, $3, $1) returning code as id',
      [type, name, name.toLowerCase()],
    );
    for (let n = 0; n < 3; n += 1)
      await company.control('POST', '/records/transaction', { like, fields: { type } });
  }
}

/** A record like that one; resolves to its id. */
export async function createRecord(company: Company, type: WalkedType, like: string): Promise<string> {
  const { sql, table, field, own } = type;
  const value = valueFor(type, 'New');
  const fields = { [field]: value, ...own };
  if (sql === undefined) return (await company.control('POST', `/records/${table}`, { like, fields })).id;
  return querySql(
    company,
    `insert into ledger.${sql.table} select (jsonb_populate_record(null::ledger.${sql.table}, to_jsonb(b) || $2::jsonb
       || jsonb_build_object('id', (select max(id) + 1 from ledger.${sql.table})))).*
     from ledger.${sql.table} b where ${sql.where} and id = $1 returning id`,
    [like, JSON.stringify({ ...fields, ...changedAt(company, type) })],
  );
}

/** The account's time, as its time of change. */
const changedAt = ({ account }: Company, { sql }: WalkedType): Record<string, string> =>
  sql?.modified === undefined ? {} : { [sql.modified]: account.now().toISOString() };

/** Changes one field. */
export async function changeRecord(company: Company, type: WalkedType, id: string): Promise<void> {
  const { sql, table, field } = type;
  const value = valueFor(type, 'Changed');
  if (sql === undefined)
    await company.control('PATCH', `/records/${table}/${id}`, { fields: { [field]: value } });
  else
    for (const [column, text] of Object.entries({ [field]: value, ...changedAt(company, type) }))
      await querySql(
        company,
        `update ledger.${sql.table} b set ${column} = (jsonb_populate_record(b, jsonb_build_object('${column}', $2::text))).${column}
         where ${sql.where} and id = $1 returning id`,
        [id, text],
      );
}

/**
 * `isListed`: with an entry in the account's list of deletions, where its administrator deletes it by SQL
 * without one.
 */
export async function deleteRecord(
  company: Company,
  { sql, table }: WalkedType,
  id: string,
  isListed: boolean,
): Promise<void> {
  if (sql === undefined) await company.control('DELETE', `/records/${table}/${id}?listed=${isListed}`);
  else
    await querySql(company, `delete from ledger.${sql.table} where ${sql.where} and id = $1 returning id`, [
      id,
    ]);
}
