// The company's side of the account: its books, reset to the first day for each seed, and a role that sees fewer of them. Rows that
// the role may not see are moved to another schema: they exist, but readers of the account don't find them.

import type { NetsuiteAccount } from 'netsuite-simulator';
import type { Pool, PoolClient } from 'pg';
import { inWriteTransaction } from '../../packages/netsuite-simulator/src/database/write-transaction.ts';
import { DATA_TIME_ZONE } from '../../packages/netsuite-simulator/src/load/ledger.ts';
import type { RecordTypeName } from './plan.ts';

const tables = ['customer', 'item', 'transaction', 'transactionline', 'application', 'deletedrecord'] as const;
const sequences = ['entity_id', 'item_id', 'transaction_id', 'line_key'] as const;
const firstMorning = new Date('2011-09-05T09:00:00Z');

export const transactionTypes: Readonly<Partial<Record<RecordTypeName, string>>> = {
  invoice: 'CustInvc',
  creditMemo: 'CustCred',
  customerPayment: 'CustPymt',
};
export const tableOf = (recordType: RecordTypeName): 'customer' | 'item' | 'transaction' =>
  recordType === 'customer' || recordType === 'item' ? recordType : 'transaction';

export type Books = {
  readonly pool: Pool;
  readonly account: NetsuiteAccount;
  /** Resets everything to the first morning: records, time, and what the role sees. */
  reset(): Promise<void>;
  /** One transaction of the account, with its own time to the second. */
  write(work: (client: PoolClient, now: Date) => Promise<void>): Promise<void>;
  ids(recordType: RecordTypeName): Promise<string[]>;
  /** Those of these ids that exist in the account, whether or not the role may see them. */
  alive(recordType: RecordTypeName, ids: readonly string[]): Promise<string[]>;
  /** Forward or back, and never close to a midnight: what is due today must not change while it is compared. */
  stepClock(minutes: number): Promise<void>;
  narrowRole(recordType: RecordTypeName, ids: readonly string[]): Promise<void>;
  widenRole(): Promise<void>;
};

const hourMs = 3_600_000;

function awayFromMidnight(at: Date): Date {
  const hour = at.getUTCHours();
  return hour >= 21 || hour < 1 ? new Date(at.getTime() + 5 * hourMs) : at;
}

const conditionOf = (recordType: RecordTypeName): string => {
  const type = transactionTypes[recordType];
  return type === undefined ? 'true' : `type = '${type}'`;
};

async function keepFirstDay(pool: Pool): Promise<void> {
  await pool.query('create schema first_day; create schema aside');
  for (const table of tables) {
    await pool.query(`create table first_day.${table} as table ledger.${table}`);
    await pool.query(`create table aside.${table} (like ledger.${table})`);
  }
}

async function restore(pool: Pool): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    for (const table of tables) {
      await client.query(`truncate ledger.${table}, aside.${table}`);
      await client.query(`insert into ledger.${table} table first_day.${table}`);
    }
    // As after the load: no id of an earlier seed is left, so a seed alone gives the same ids.
    for (const sequence of sequences) await client.query(`select setval('ledger.${sequence}', 90000, false)`);
    await client.query('commit');
  } finally {
    client.release();
  }
}

/** Moves rows of a table from one schema to the other. */
const move = (client: PoolClient, table: string, from: string, to: string, where: string, values: readonly unknown[] = []) =>
  client.query(`with moved as (delete from ${from}.${table} where ${where} returning *) insert into ${to}.${table} table moved`, [
    ...values,
  ]);

export async function openBooks(account: NetsuiteAccount, pool: Pool): Promise<Books> {
  await keepFirstDay(pool);
  const idsOf = async (schema: string, recordType: RecordTypeName): Promise<string[]> => {
    const { rows } = await pool.query<{ id: string }>(
      `select id::text as id from ${schema}.${tableOf(recordType)} where ${conditionOf(recordType)} order by ${schema}.${tableOf(recordType)}.id`,
    );
    return rows.map(({ id }) => id);
  };
  const books: Books = {
    pool,
    account,
    async reset() {
      account.clearFaults();
      await restore(pool);
      await account.setBusinessTime(firstMorning);
    },
    write: (work) =>
      inWriteTransaction(pool, DATA_TIME_ZONE, (client) =>
        work(client, new Date(Math.floor(account.businessTime().getTime() / 1_000) * 1_000)),
      ),
    ids: (recordType) => idsOf('ledger', recordType),
    async alive(recordType, ids) {
      const there = new Set([...(await idsOf('ledger', recordType)), ...(await idsOf('aside', recordType))]);
      return ids.filter((id) => there.has(id));
    },
    stepClock: (minutes) => account.setBusinessTime(awayFromMidnight(new Date(account.businessTime().getTime() + minutes * 60_000))),
    narrowRole: (recordType, ids) =>
      books.write(async (client) => {
        await move(client, tableOf(recordType), 'ledger', 'aside', 'id = any($1::bigint[])', [ids]);
        if (tableOf(recordType) === 'transaction')
          await move(client, 'transactionline', 'ledger', 'aside', 'transaction = any($1::bigint[])', [ids]);
      }),
    widenRole: () =>
      books.write(async (client) => {
        for (const table of ['customer', 'item', 'transaction', 'transactionline']) await move(client, table, 'aside', 'ledger', 'true');
      }),
  };
  return books;
}
