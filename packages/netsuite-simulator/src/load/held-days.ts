// Held-back days: rows of the data folder and of the profile that are not in the books yet, kept in the
// schema `held` and entered day by day. A transaction is entered on the day of its last change, with its
// lines; a customer or item on the day it was created or first referenced, with the rows that belong to it;
// what is applied on the day it was applied. Days without rows, such as Saturdays, count as days too.
import type { ClientBase, Pool } from 'pg';
import { postTransactions } from '../profile/posting.ts';
import type { ProfileName } from '../profile/profile-name.ts';
import { CUSTOM_RECORD_TYPES } from '../tables/custom-records.ts';
import { settleTransactions } from './settle.ts';

/** `closing`: the full hour after the day's last change, or 18:00 if there was none. */
export type HeldDay = { day: string; firstChange: Date | undefined; closing: Date };
/** How many rows a day added, by table. */
export type Inserted = { customer: number; item: number; transaction: number; transactionline: number };

/** Rows that are held back with the customer, item or transaction that `column` refers to. */
const BELONGING: readonly { table: string; column: string; to: 'customer' | 'item' | 'transaction' }[] = [
  { table: 'transactionline', column: 'transaction', to: 'transaction' },
  { table: 'contact', column: 'company', to: 'customer' },
  { table: 'address', column: 'entity', to: 'customer' },
  { table: 'customersubsidiary', column: 'entity', to: 'customer' },
];
/**
 * Custom records that say when they changed are held back by that. Without a profile there is no such table.
 */
const DATED = CUSTOM_RECORD_TYPES.filter(({ hasTimes }) => hasTimes).map(({ name }) => name);
/** Tables with held rows, in the order in which they are entered. */
const HELD_TABLES = [
  'customer',
  'item',
  'transaction',
  ...BELONGING.map(({ table }) => table),
  'application',
  ...DATED,
];

/** Statements that hold back the rows that belong to the held rows of a table. */
const holdBelonging = (to: string): string[] =>
  BELONGING.filter((each) => each.to === to).flatMap(({ table, column }) => [
    `CREATE TABLE held.${table} AS SELECT h.day, b.* FROM held.${to} h JOIN ledger.${table} b ON b.${column} = h.id`,
    `DELETE FROM ledger.${table} b USING held.${to} h WHERE b.${column} = h.id`,
  ]);

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
    referencesIn: (
      schema: string,
    ) => `SELECT t.lastmodifieddate::date, l.item, l.linelastmodifieddate FROM ${schema}.transactionline l
      JOIN ${schema}.transaction t ON t.id = l.transaction WHERE l.item IS NOT NULL`,
  },
];

/** SQL of the closing time of a day, for a session in the data's time zone. */
const buildClosingSql = (lastChange: string, day: string): string =>
  `COALESCE(date_trunc('hour', ${lastChange}) + interval '1 hour', (${day} + time '18:00')::timestamptz)`;

/** Selects where business time starts: the closing time of the last day in the books. */
export const STARTS_AT = `SELECT ${buildClosingSql('CASE WHEN c.at::date = b.day THEN c.at END', 'b.day')} AS startsat FROM ledger.books b,
  (SELECT max(at) AS at FROM (SELECT max(lastmodifieddate) FROM ledger.transaction UNION ALL SELECT max(lastmodifieddate) FROM ledger.customer
    UNION ALL SELECT max(lastmodifieddate) FROM ledger.item) m(at)) c`;

const holdReferenced = (cut: string): string[] =>
  REFERENCED.flatMap(({ table, created, referencesIn }) => [
    `CREATE TABLE held.${table}touch AS SELECT day, id, max(at) AS at FROM (
         SELECT n.day, n.id, LEAST(n.at, b.lastmodifieddate) FROM (${referencesIn('held')}) n(day, id, at) JOIN ledger.${table} b ON b.id = n.id
         UNION ALL SELECT lastmodifieddate::date, id, lastmodifieddate FROM ledger.${table} WHERE lastmodifieddate >= ${cut}) c(day, id, at)
       GROUP BY day, id`,
    `CREATE TABLE held.${table} AS
       SELECT LEAST(b.${created}::date, (SELECT min(n.day) FROM held.${table}touch n WHERE n.id = b.id)) AS day, b.* FROM ledger.${table} b
       WHERE b.${created} >= ${cut} AND NOT EXISTS (SELECT FROM (${referencesIn('ledger')}) n(day, id, at) WHERE n.id = b.id)`,
    ...holdBelonging(table),
    `DELETE FROM ledger.${table} b USING held.${table} h WHERE b.id = h.id`,
    `UPDATE held.${table} SET lastmodifieddate = LEAST(${created}, lastmodifieddate)`,
    `UPDATE ledger.${table} b SET lastmodifieddate = LEAST(b.lastmodifieddate, GREATEST(b.${created}, n.at))
       FROM ledger.${table} x LEFT JOIN (SELECT id, max(at) AS at FROM (${referencesIn('ledger')}) n(day, id, at) GROUP BY id) n ON n.id = x.id
       WHERE x.id = b.id AND b.lastmodifieddate >= ${cut}`,
  ]);

const holdDays = (from: string, dated: readonly string[]): string =>
  `CREATE TABLE held.day AS WITH change AS (
       SELECT day, lastmodifieddate AS at FROM held.transaction UNION ALL SELECT day, NULL FROM held.application
       ${dated.map((table) => `UNION ALL SELECT day, lastmodified FROM held.${table}`).join(' ')} UNION ALL SELECT day, at FROM held.customertouch
       UNION ALL SELECT day, at FROM held.itemtouch UNION ALL SELECT day, NULL FROM held.customer UNION ALL SELECT day, NULL FROM held.item)
     SELECT d::date AS day, (SELECT min(at) FROM change c WHERE c.day = d AND at::date = d) AS firstchange,
       ${buildClosingSql('(SELECT max(at) FROM change c WHERE c.day = d AND at::date = d)', 'd::date')} AS closing
     FROM (SELECT max(day) AS lastday FROM change) e, generate_series(${from === 'infinity' ? 'lastday' : `DATE '${from}'`}, lastday, '1 day') d`;

/**
 * Statements that move everything changed on or after `from` (YYYY-MM-DD, or `infinity` to hold nothing back)
 * out of the books. The files don't say when a customer or item last changed before that day; the last
 * transaction that refers to it is taken for that.
 */
export function holdBackStatements(from: string, profile: ProfileName | undefined): string[] {
  const cut = `'${from}'::timestamptz`;
  const dated = profile === undefined ? [] : DATED;
  return [
    'DROP SCHEMA IF EXISTS held CASCADE',
    'CREATE SCHEMA held',
    ...dated.flatMap((table) => [
      `CREATE TABLE held.${table} AS SELECT LEAST(b.lastmodified::date, (SELECT max(lastmodifieddate)::date FROM ledger.transaction)) AS day, b.*
       FROM ledger.${table} b WHERE b.lastmodified >= ${cut}`,
      `DELETE FROM ledger.${table} b USING held.${table} h WHERE b.id = h.id`,
    ]),
    `CREATE TABLE held.application AS SELECT * FROM
       (SELECT GREATEST(a.appliedon, i.lastmodifieddate::date, c.lastmodifieddate::date) AS day, a.* FROM ledger.application a
        JOIN ledger.transaction i ON i.id = a.invoice LEFT JOIN ledger.transaction c ON c.id = a.credit) d WHERE day >= '${from}'::date`,
    'DELETE FROM ledger.application a USING held.application h WHERE a.invoice = h.invoice AND a.credit IS NOT DISTINCT FROM h.credit',
    `CREATE TABLE held.transaction AS SELECT t.lastmodifieddate::date AS day, t.* FROM ledger.transaction t WHERE lastmodifieddate >= ${cut}`,
    ...holdBelonging('transaction'),
    'DELETE FROM ledger.transaction t USING held.transaction h WHERE t.id = h.id',
    ...holdReferenced(cut),
    holdDays(from, dated),
    ...[...HELD_TABLES, 'customertouch', 'itemtouch']
      .filter((table) => profile !== undefined || !DATED.includes(table))
      .map((table) => `CREATE INDEX ON held.${table} (day)`),
  ];
}

/**
 * The statement that sets the books' last day: the day before `from`, or the day of the last change if
 * nothing is held back.
 */
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
  return rows.map((row) => ({
    day: row.day,
    firstChange: row.firstchange ?? undefined,
    closing: row.closing,
  }));
}

/**
 * Enters one day within the caller's transaction: its rows, and the payments that fall due on it.
 * `touchedAt`: see `settleTransactions`.
 */
export async function enterDay(client: ClientBase, day: string, touchedAt: Date | null): Promise<Inserted> {
  const payers = await listHeldPayers(client, day);
  await trimApplications(client, day);
  const held = await listHeldTables(client);
  const inserted = await insertRows(client, held, day);
  for (const { table } of REFERENCED) {
    await client.query(
      `UPDATE ledger.${table} b SET lastmodifieddate = GREATEST(b.lastmodifieddate, h.at) FROM held.${table}touch h WHERE h.day = $1 AND h.id = b.id`,
      [day],
    );
  }
  await client.query('UPDATE ledger.books SET day = $1', [day]);
  const { rows } = await client.query<{ entity: string | null; id: string }>(
    `SELECT entity, id FROM held.transaction WHERE day = $1
     UNION SELECT entity, id FROM ledger.transaction WHERE type = 'CustInvc' AND duedate = $1 AND entity IS NOT NULL
     UNION SELECT NULL, invoice FROM held.application WHERE day = $1 UNION SELECT NULL, credit FROM held.application WHERE day = $1`,
    [day],
  );
  const customers = new Set(rows.flatMap(({ entity }) => (entity === null ? [] : [entity])));
  const others = rows.filter(({ entity }) => entity === null).map(({ id }) => id);
  await settleTransactions(client, [...customers], others, touchedAt);
  // What they relieve may have another amount or rate by now than when they were generated.
  if (payers.length > 0) await postTransactions(client, payers);
  for (const table of ['day', ...held.map(({ table }) => table), 'customertouch', 'itemtouch']) {
    await client.query(`DELETE FROM held.${table} WHERE day = $1`, [day]);
  }
  return inserted;
}

type HeldTable = { table: string; columns: string };

/** With the names of their columns, in the order in which the rows are entered. */
async function listHeldTables(client: ClientBase): Promise<HeldTable[]> {
  const { rows } = await client.query<HeldTable>(
    `SELECT t.relname AS "table", string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) AS columns
     FROM pg_class t JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 AND a.attname <> 'day' AND NOT a.attisdropped
     WHERE t.relnamespace = 'held'::regnamespace AND t.relname = ANY($1) GROUP BY t.relname ORDER BY array_position($1, t.relname::text)`,
    [HELD_TABLES],
  );
  return rows;
}

async function insertRows(client: ClientBase, held: readonly HeldTable[], day: string): Promise<Inserted> {
  const inserted: Record<string, number> = {};
  for (const { table, columns } of held) {
    const sql = `INSERT INTO ledger.${table} (${columns}) SELECT ${columns} FROM held.${table} WHERE day = $1`;
    inserted[table] = (await client.query(sql, [day])).rowCount ?? 0;
  }
  const { customer = 0, item = 0, transaction = 0, transactionline = 0 } = inserted;
  return { customer, item, transaction, transactionline };
}

/**
 * What was applied through the record service in the meantime takes precedence: lowers the held amounts of a
 * day to what is left on both sides, and drops those whose transaction was deleted.
 */
async function trimApplications(client: ClientBase, day: string): Promise<void> {
  const room = (side: 'invoice' | 'credit') => `(SELECT abs(t.foreigntotal) FROM
      (SELECT id, foreigntotal FROM ledger.transaction UNION ALL SELECT id, foreigntotal FROM held.transaction WHERE day <= $1) t WHERE t.id = h.${side})
    - COALESCE((SELECT sum(a.amount) FROM ledger.application a WHERE a.invoice = h.${side} OR a.credit = h.${side}), 0)
    - COALESCE(sum(h.amount) OVER (PARTITION BY h.${side} ORDER BY h.appliedon, h.invoice, h.credit ROWS UNBOUNDED PRECEDING EXCLUDE CURRENT ROW), 0)`;
  await client.query(
    `UPDATE held.application h SET amount = LEAST(d.forinvoice, d.forcredit) FROM (
       SELECT h.ctid AS place, COALESCE(${room('invoice')}, 0) AS forinvoice, CASE WHEN h.credit IS NOT NULL THEN COALESCE(${room('credit')}, 0) END AS forcredit
       FROM held.application h WHERE h.day = $1) d
     WHERE h.ctid = d.place AND h.amount > LEAST(d.forinvoice, d.forcredit)`,
    [day],
  );
  await client.query('DELETE FROM held.application WHERE day = $1 AND amount <= 0', [day]);
  for (const statement of TRIM_REFUNDS) await client.query(statement, [day]);
}

const REFUNDS_NOTHING = `t.day = $1 AND t.type = 'CustRfnd' AND NOT EXISTS (SELECT FROM held.application a WHERE a.credit = t.id)`;
/** A refund amounts to what it refunds; there is none of nothing. */
const TRIM_REFUNDS = [
  `UPDATE held.transaction t SET foreigntotal = a.amount FROM (SELECT credit, sum(amount) AS amount FROM held.application GROUP BY credit) a
   WHERE t.day = $1 AND t.type = 'CustRfnd' AND a.credit = t.id AND t.foreigntotal <> a.amount`,
  `DELETE FROM held.transactionline l USING held.transaction t WHERE l.transaction = t.id AND ${REFUNDS_NOTHING}`,
  `DELETE FROM held.transaction t WHERE ${REFUNDS_NOTHING}`,
];

/** The ids of the payments and credit memos that are applied on a day. */
async function listHeldPayers(client: ClientBase, day: string): Promise<string[]> {
  const { rows } = await client.query<{ credit: string }>(
    'SELECT DISTINCT credit FROM held.application WHERE day = $1 AND credit IS NOT NULL',
    [day],
  );
  return rows.map(({ credit }) => credit);
}
