// What the edits of a simulation share: the account's own record service, the removal and restoring of its
// control interface, and ways to choose a record. The seed of an edit decides which record it hits.
import type { PoolClient } from 'pg';
import {
  getEditableTable,
  type RecordTable,
} from '../../packages/netsuite-simulator/src/control/records/record-tables.ts';
import { DATA_TIME_ZONE } from '../../packages/netsuite-simulator/src/load/ledger.ts';
import type { RestRecordType } from '../../packages/netsuite-simulator/src/records/record-type.ts';
import { findEnabledType } from '../../packages/netsuite-simulator/src/records/record-types.ts';
import { parseWriteBody } from '../../packages/netsuite-simulator/src/records/write-body.ts';
import {
  createRecord,
  deleteRecord,
  updateRecord,
  type WriteSettings,
} from '../../packages/netsuite-simulator/src/records/write-record.ts';
import { createSwitches } from '../../packages/netsuite-simulator/src/switches.ts';
import { createRoleVisibility } from '../../packages/netsuite-simulator/src/tables/role-visibility.ts';
import { profile } from '../setup/account-profile.ts';
import { type Books, getTable, transactionTypes } from './books.ts';
import type { RecordTypeName } from './plan-names.ts';
import { createRandom, type Random } from './random.ts';

export type Scene = {
  readonly books: Books;
  readonly settings: WriteSettings;
  readonly random: Random;
  /** The record types that the company syncs. */
  readonly recordTypes: readonly RecordTypeName[];
};
export type Body = Record<string, unknown>;
export type Edit = (scene: Scene) => Promise<unknown>;

/** A role that sees everything. */
export const everything = createRoleVisibility(
  { oneWorld: profile === 'oneworld', multipleCurrencies: true, tokenBasedAuthentication: true },
  profile,
);

type SceneOptions = Pick<Scene, 'books' | 'recordTypes'> & {
  readonly seed: number;
  readonly paymentTouchesInvoice: boolean;
};

export const openScene = ({ books, recordTypes, seed, paymentTouchesInvoice }: SceneOptions): Scene => ({
  books,
  recordTypes,
  random: createRandom(seed),
  settings: {
    pool: books.pool,
    timeZone: DATA_TIME_ZONE,
    switches: createSwitches({ paymentTouchesInvoice }),
    businessTime: books.account.businessTime,
    profile,
  },
});

function serviceType(recordType: RecordTypeName): RestRecordType {
  const type = findEnabledType(everything, recordType === 'item' ? 'inventoryItem' : recordType);
  if (type === undefined) throw new Error(`the account has no ${recordType}`);
  return type;
}

export const create = ({ settings }: Scene, recordType: RecordTypeName, body: Body): Promise<string> => {
  const type = serviceType(recordType);
  return createRecord(settings, type, parseWriteBody(type, body, 'Error'));
};
/** `replaces`: the sublists whose lines are all replaced. */
export const change = (
  { settings }: Scene,
  recordType: RecordTypeName,
  id: string,
  body: Body,
  replaces: readonly string[] = [],
): Promise<void> => {
  const type = serviceType(recordType);
  return updateRecord(settings, { type, id }, parseWriteBody(type, body, 'Error'), new Set(replaces));
};
export const remove = ({ settings }: Scene, recordType: RecordTypeName, id: string): Promise<void> =>
  deleteRecord(settings, { type: serviceType(recordType), id });

export const accountTable = (recordType: RecordTypeName): RecordTable =>
  getEditableTable(everything, getTable(recordType));

/** SQL condition for the rows of a record type in `alias`. */
export const isOfType = (recordType: RecordTypeName, alias: string): string =>
  transactionTypes[recordType] === undefined ? 'true' : `${alias}.type = '${transactionTypes[recordType]}'`;

/** Rejects with a RangeError when there is none, as do the others. */
export const pickId = async ({ books, random }: Scene, recordType: RecordTypeName): Promise<string> =>
  random.pick(await books.ids(recordType));

export async function pickIdFrom({ books, random }: Scene, sql: string): Promise<string> {
  const { rows } = await books.pool.query<{ id: string }>(sql);
  return random.pick(rows).id;
}

export const bySql = (
  { books }: Scene,
  work: (client: PoolClient, now: Date) => Promise<unknown>,
): Promise<void> =>
  books.write(async (client, now) => {
    await work(client, now);
  });

export const word = (random: Random): string => `w${random.between(1, 1_000_000)}`;

export async function itemLines(scene: Scene): Promise<Body[]> {
  const items = await scene.books.ids('item');
  return Array.from({ length: scene.random.between(1, 5) }, () => ({
    item: scene.random.pick(items),
    quantity: scene.random.between(1, 9),
    rate: scene.random.between(100, 9_999) / 100,
    description: word(scene.random),
  }));
}
