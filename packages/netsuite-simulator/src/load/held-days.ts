// Held-back days: rows of the data folder that are not in the books yet, kept in the schema `held` and entered day by day. A transaction is
// entered on the day of its last change, with its lines; a customer or item on the day it was created or first referenced. Days without
// rows, such as Saturdays, count as days too.
import type { ClientBase, Pool } from 'pg';
import { quoteSqlName } from '../tables/table.ts';
import { DATA_FILES } from './csv-folder.ts';
import { settleTransactions } from './settle.ts';

/** `closing`: the full hour after the day's last change, or 18:00 if there was none. */
export type HeldDay = { day: string; firstChange: Date | undefined; closing: Date };
/** How many rows a day added, by table. */
export type Inserted = { customer: number; item: number; transaction: number; transactionline: number };

const columnsOf = (table: string): string =>
  (DATA_FILES.find((data) => data.table === table)?.columns ?? []).map(({ name }) => quoteSqlName(name)).join(', ');

/** What refers to a customer or an item, and when: `referencesIn(schema)` selects rows of (day, id, at). */
const REFERENCED = [
  {
    table: 'customer',
    created: 'datecreated',
    referencesIn: (schema: string) =>
      `SELECT t.lastmodifieddate::date, t.entity, t.lastmodifieddate FROM ${schema}.transaction t WHERE t.entity IS NOT NULL`,
  },
  {
    table: 'item',
    created: 'createddate',
    referencesIn: (schema: string) => `SELECT t.lastmodifieddate::date, l.item, l.linelastmodifieddate FROM ${schema}.transactionline l
      JOIN ${schema}.transaction t ON t.id = l.transaction WHERE l.item IS NOT NULL`,
  },
];

/** SQL of the closing time of a day, for a session in the data's time zone. */
const closingOf = (lastChange: string, day: string): string =>
  `COALESCE(date_trunc('hour', ${lastChange}) + interval '1 hour', (${day} + time '18:00')::timestamptz)`;

/** Selects where business time starts: the closing time of the last day in the books. */
export const STARTS_AT = `SELECT ${closingOf('CASE WHEN c.at::date = b.day THEN c.at END', 'b.day')} AS startsat FROM ledger.books b,
  (SELECT max(at) AS at FROM (SELECT max(lastmodifieddate) FROM ledger.transaction UNION ALL SELECT max(lastmodifieddate) FROM ledger.customer
    UNION ALL SELECT max(lastmodifieddate) FROM ledger.item) m(at)) c`;

/**
 * Statements that move everything changed on or after `from` (YYYY-MM-DD, or `infinity` to hold nothing back) out of the books. The files
 * don't say when a customer or item last changed before that day; the last transaction that refers to it is taken for that.
 */
export function holdBackStatements(from: string): string[] {
  const cut = `'${from}'::timestamptz`;
  return [
    'DROP SCHEMA IF EXISTS held CASCADE',
    'CREATE SCHEMA held',
    `CREATE TABLE held.transaction AS SELECT lastmodifieddate::date AS day, ${columnsOf('transaction')} FROM ledger.transaction WHERE lastmodifieddate >= ${cut}`,
    `CREATE TABLE held.transactionline AS SELECT h.day, l.* FROM held.transaction h
      JOIN (SELECT ${columnsOf('transactionline')} FROM ledger.transactionline) l ON l.transaction = h.id`,
    'DELETE FROM ledger.transactionline l USING held.transaction h WHERE l.transaction = h.id',
    'DELETE FROM ledger.transaction t USING held.transaction h WHERE t.id = h.id',
    ...REFERENCED.flatMap(({ table, created, referencesIn }) => [
      `CREATE TABLE held.${table}touch AS SELECT day, id, max(at) AS at FROM (
         SELECT n.day, n.id, LEAST(n.at, b.lastmodifieddate) FROM (${referencesIn('held')}) n(day, id, at) JOIN ledger.${table} b ON b.id = n.id
         UNION ALL SELECT lastmodifieddate::date, id, lastmodifieddate FROM ledger.${table} WHERE lastmodifieddate >= ${cut}) c(day, id, at)
       GROUP BY day, id`,
      `CREATE TABLE held.${table} AS
       SELECT LEAST(b.${created}::date, (SELECT min(n.day) FROM held.${table}touch n WHERE n.id = b.id)) AS day, ${columnsOf(table)} FROM ledger.${table} b
       WHERE b.${created} >= ${cut} AND NOT EXISTS (SELECT FROM (${referencesIn('ledger')}) n(day, id, at) WHERE n.id = b.id)`,
      `DELETE FROM ledger.${table} b USING held.${table} h WHERE b.id = h.id`,
      `UPDATE held.${table} SET lastmodifieddate = LEAST(${created}, lastmodifieddate)`,
      `UPDATE ledger.${table} b SET lastmodifieddate = LEAST(b.lastmodifieddate, GREATEST(b.${created}, n.at))
       FROM ledger.${table} x LEFT JOIN (SELECT id, max(at) AS at FROM (${referencesIn('ledger')}) n(day, id, at) GROUP BY id) n ON n.id = x.id
       WHERE x.id = b.id AND b.lastmodifieddate >= ${cut}`,
    ]),
    `CREATE TABLE held.day AS WITH change AS (
       SELECT day, lastmodifieddate AS at FROM held.transaction UNION ALL SELECT day, at FROM held.customertouch
       UNION ALL SELECT day, at FROM held.itemtouch UNION ALL SELECT day, NULL FROM held.customer UNION ALL SELECT day, NULL FROM held.item)
     SELECT d::date AS day, (SELECT min(at) FROM change c WHERE c.day = d AND at::date = d) AS firstchange,
       ${closingOf('(SELECT max(at) FROM change c WHERE c.day = d AND at::date = d)', 'd::date')} AS closing
     FROM (SELECT max(day) AS lastday FROM change) e, generate_series(${from === 'infinity' ? 'lastday' : `DATE '${from}'`}, lastday, '1 day') d`,
    ...['transaction', 'transactionline', 'customer', 'item', 'customertouch', 'itemtouch'].map(
      (table) => `CREATE INDEX ON held.${table} (day)`,
    ),
  ];
}

/** The statement that sets the books' last day: the day before `from`, or the day of the last change if nothing is held back. */
export const openBooksStatement = (from: string): string =>
  from === 'infinity'
    ? `INSERT INTO ledger.books SELECT max(day) FROM (SELECT max(lastmodifieddate)::date FROM ledger.transaction
       UNION ALL SELECT max(lastmodifieddate)::date FROM ledger.customer UNION ALL SELECT max(lastmodifieddate)::date FROM ledger.item) c(day)`
    : `INSERT INTO ledger.books VALUES (DATE '${from}' - 1)`;

/** All held-back days, in order. */
export async function readHeldDays(client: ClientBase | Pool): Promise<HeldDay[]> {
  const { rows } = await client.query<{ day: string; firstchange: Date | null; closing: Date }>(
    'SELECT day::text, firstchange, closing FROM held.day ORDER BY day',
  );
  return rows.map((row) => ({ day: row.day, firstChange: row.firstchange ?? undefined, closing: row.closing }));
}

/**
 * Enters one day within the caller's transaction: its rows, and the payments that fall due on it. `touchedAt`: see `settleTransactions`.
 */
export async function enterDay(client: ClientBase, day: string, touchedAt: Date | null): Promise<Inserted> {
  const insert = async (table: keyof Inserted): Promise<number> => {
    const columns = columnsOf(table);
    const result = await client.query(`INSERT INTO ledger.${table} (${columns}) SELECT ${columns} FROM held.${table} WHERE day = $1`, [
      day,
    ]);
    return result.rowCount ?? 0;
  };
  const inserted = {
    customer: await insert('customer'),
    item: await insert('item'),
    transaction: await insert('transaction'),
    transactionline: await insert('transactionline'),
  };
  for (const { table } of REFERENCED) {
    await client.query(
      `UPDATE ledger.${table} b SET lastmodifieddate = GREATEST(b.lastmodifieddate, h.at) FROM held.${table}touch h WHERE h.day = $1 AND h.id = b.id`,
      [day],
    );
  }
  await client.query('UPDATE ledger.books SET day = $1', [day]);
  const { rows } = await client.query<{ entity: string | null; id: string }>(
    `SELECT entity, id FROM held.transaction WHERE day = $1
     UNION SELECT entity, id FROM ledger.transaction WHERE type = 'CustInvc' AND duedate = $1 AND entity IS NOT NULL`,
    [day],
  );
  const customers = new Set(rows.flatMap(({ entity }) => (entity === null ? [] : [entity])));
  const cashSales = rows.filter(({ entity }) => entity === null).map(({ id }) => id);
  await settleTransactions(client, [...customers], cashSales, touchedAt);
  for (const table of ['day', 'transaction', 'transactionline', 'customer', 'item', 'customertouch', 'itemtouch']) {
    await client.query(`DELETE FROM held.${table} WHERE day = $1`, [day]);
  }
  return inserted;
}
