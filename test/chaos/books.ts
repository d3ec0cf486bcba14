// The account's books, reset to the beginning of a plan for each seed, and its clock.

import type { NetsuiteAccount } from 'netsuite-simulator';
import type { Pool, PoolClient } from 'pg';
import { inWriteTransaction } from '../../packages/netsuite-simulator/src/database/write-transaction.ts';
import { DATA_TIME_ZONE } from '../../packages/netsuite-simulator/src/load/ledger.ts';
import { profile } from '../setup/account-profile.ts';
import { isLarge } from './account-data.ts';
import { createCustomFields } from './custom-fields.ts';
import type { Control } from './faults/control.ts';
import type { Plan } from './plan.ts';
import type { RecordTypeName } from './plan-names.ts';

const tables = [
  'customer',
  'item',
  'transaction',
  'transactionline',
  'application',
  'deletedrecord',
] as const;
/** Only accounts with a profile have them. */
const customTables = profile === undefined ? [] : (['customrecord_complaint'] as const);
const sequences = ['entity_id', 'item_id', 'transaction_id', 'line_key'] as const;

export const transactionTypes: Readonly<Partial<Record<RecordTypeName, string>>> = {
  invoice: 'CustInvc',
  creditMemo: 'CustCred',
  customerPayment: 'CustPymt',
  purchaseOrder: 'PurchOrd',
  journalEntry: 'Journal',
};
export type HeaderTable = 'customer' | 'item' | 'transaction' | 'customrecord_complaint';
export const getTable = (recordType: RecordTypeName): HeaderTable =>
  recordType === 'customer' || recordType === 'item' || recordType === 'customrecord_complaint'
    ? recordType
    : 'transaction';
/** A text that has no other meaning. */
export const textColumns = {
  customer: 'comments',
  item: 'salesdescription',
  transaction: 'memo',
  customrecord_complaint: 'name',
} as const;
/** The column with the time of a record's last modification. */
export const getModifiedColumn = (table: HeaderTable): string =>
  table === 'customrecord_complaint' ? 'lastmodified' : 'lastmodifieddate';

export type Books = {
  readonly pool: Pool;
  readonly account: NetsuiteAccount;
  timeZone(): string;
  /** Resets everything to the beginning of a plan: records, time and time zone, and what the role sees. */
  reset(plan: Pick<Plan, 'data' | 'startsAt' | 'timeZone'>): Promise<void>;
  /** One transaction of the account, with its own time to the second. */
  write(work: (client: PoolClient, now: Date) => Promise<void>): Promise<void>;
  ids(recordType: RecordTypeName): Promise<string[]>;
  /**
   * Forward or back, and never close before a midnight of the account: what is overdue today must not change
   * while it is compared.
   */
  stepClock(minutes: number): Promise<void>;
};

const minuteMs = 60_000;
const nearMidnightMinutes = 10;

/** The same time, or shortly after the midnight that is near. */
function awayFromMidnight(at: Date, timeZone: string): Date {
  const local = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  }).format(at);
  const [hour = 0, minute = 0] = local.split(':').map(Number);
  const left = 24 * 60 - hour * 60 - minute;
  return left > nearMidnightMinutes ? at : new Date(at.getTime() + left * minuteMs);
}

const buildCondition = (recordType: RecordTypeName): string => {
  const type = transactionTypes[recordType];
  return type === undefined ? 'true' : `type = '${type}'`;
};

async function keepFirstDay(pool: Pool): Promise<void> {
  await pool.query('create schema first_day');
  for (const table of [...tables, ...customTables]) {
    await pool.query(`create table first_day.${table} as table ledger.${table}`);
  }
}

const largeOnly: Readonly<Record<string, string>> = isLarge;

async function restore(pool: Pool, data: Plan['data']): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    for (const table of [...tables, ...customTables]) {
      await client.query(`truncate ledger.${table}`);
      const condition =
        data === 'small' && largeOnly[table] !== undefined
          ? `where not coalesce(${largeOnly[table]}, false)`
          : '';
      await client.query(`insert into ledger.${table} select * from first_day.${table} ${condition}`);
    }
    await client.query('truncate ledger.removed');
    // As after the load: no id of an earlier seed is left, so a seed alone gives the same ids.
    for (const sequence of sequences) await client.query(`select setval('ledger.${sequence}', 90000, false)`);
    await client.query('commit');
  } finally {
    client.release();
  }
}

export async function openBooks(account: NetsuiteAccount, pool: Pool, control: Control): Promise<Books> {
  await keepFirstDay(pool);
  let timeZone = 'Europe/London';
  const books: Books = {
    pool,
    account,
    timeZone: () => timeZone,
    async reset(plan) {
      account.clearFaults();
      await control.reset();
      await createCustomFields(control);
      await restore(pool, plan.data);
      timeZone = plan.timeZone;
      await control.send('POST', '/clock', { timeZone });
      await account.setBusinessTime(awayFromMidnight(new Date(plan.startsAt), timeZone));
    },
    write: (work) =>
      inWriteTransaction(pool, DATA_TIME_ZONE, (client) =>
        work(client, new Date(Math.floor(account.businessTime().getTime() / 1_000) * 1_000)),
      ),
    async ids(recordType) {
      const { rows } = await pool.query<{ id: string }>(
        `select v.id::text as id from ledger.${getTable(recordType)} v where ${buildCondition(recordType)} order by v.id`,
      );
      return rows.map(({ id }) => id);
    },
    stepClock: (minutes) =>
      account.setBusinessTime(
        awayFromMidnight(new Date(account.businessTime().getTime() + minutes * minuteMs), timeZone),
      ),
  };
  return books;
}
