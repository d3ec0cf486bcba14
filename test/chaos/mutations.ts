// What people do in the account between and during two runs, through the code of its record service where that supports it; by
// SQL where something changes without a modification time. The mutation's own seed decides which record it hits.
import type { PoolClient } from 'pg';
import { DATA_TIME_ZONE } from '../../packages/netsuite-simulator/src/load/ledger.ts';
import { findEnabledType, type RestRecordType } from '../../packages/netsuite-simulator/src/records/record-types.ts';
import { parseWriteBody } from '../../packages/netsuite-simulator/src/records/write-body.ts';
import {
  createRecord,
  deleteRecord,
  updateRecord,
  type WriteSettings,
} from '../../packages/netsuite-simulator/src/records/write-record.ts';
import { createSwitches } from '../../packages/netsuite-simulator/src/switches.ts';
import { createRoleVisibility } from '../../packages/netsuite-simulator/src/tables/role-visibility.ts';
import { RestError } from '../../packages/netsuite-simulator/src/wire.ts';
import type { Books } from './books.ts';
import type { MutationKind, RecordTypeName } from './plan.ts';
import { type Random, randomOf } from './random.ts';

type Scene = { readonly books: Books; readonly settings: WriteSettings; readonly random: Random };
type Body = Record<string, unknown>;

const everything = createRoleVisibility({ oneWorld: false, multipleCurrencies: true, tokenBasedAuthentication: true });

function serviceType(recordType: RecordTypeName): RestRecordType {
  const type = findEnabledType(everything, recordType === 'item' ? 'inventoryItem' : recordType);
  if (type === undefined) throw new Error(`the account has no ${recordType}`);
  return type;
}

const create = ({ settings }: Scene, recordType: RecordTypeName, body: Body): Promise<string> => {
  const type = serviceType(recordType);
  return createRecord(settings, type, parseWriteBody(type, body, 'Error'));
};
const change = (
  { settings }: Scene,
  recordType: RecordTypeName,
  id: string,
  body: Body,
  replaces: readonly string[] = [],
): Promise<void> => {
  const type = serviceType(recordType);
  return updateRecord(settings, { type, id }, parseWriteBody(type, body, 'Error'), new Set(replaces));
};
const remove = ({ settings }: Scene, recordType: RecordTypeName, id: string): Promise<void> =>
  deleteRecord(settings, { type: serviceType(recordType), id });

const anyOf = async ({ books, random }: Scene, recordType: RecordTypeName): Promise<string> => random.pick(await books.ids(recordType));

async function oneOf({ books, random }: Scene, sql: string): Promise<string> {
  const { rows } = await books.pool.query<{ id: string }>(sql);
  return random.pick(rows).id;
}

const word = (random: Random): string => `w${random.between(1, 1_000_000)}`;

async function lines(scene: Scene): Promise<Body[]> {
  const items = await scene.books.ids('item');
  return Array.from({ length: scene.random.between(1, 5) }, () => ({
    item: scene.random.pick(items),
    quantity: scene.random.between(1, 9),
    rate: scene.random.between(100, 9_999) / 100,
    description: word(scene.random),
  }));
}

const openInvoice = `select id::text as id from ledger.transaction where type = 'CustInvc' and entity is not null and foreignamountunpaid > 1 order by id`;
const unusedCustomer = `select id::text as id from ledger.customer c where not exists (select from ledger.transaction t where t.entity = c.id)
  and not exists (select from aside.transaction t where t.entity = c.id) order by c.id`;
const unusedItem = `select id::text as id from ledger.item i where not exists (select from ledger.transactionline l where l.item = i.id)
  and not exists (select from aside.transactionline l where l.item = i.id) order by i.id`;

async function payInvoice(scene: Scene): Promise<unknown> {
  const id = await oneOf(scene, openInvoice);
  const { rows } = await scene.books.pool.query<{ entity: string; due: string }>(
    'select entity::text, foreignamountunpaid::text as due from ledger.transaction where id = $1',
    [id],
  );
  const due = Number(rows[0]?.due ?? 0);
  const amount = scene.random.chance(0.5) ? due : Math.max(1, Math.floor(due / 2));
  return create(scene, 'customerPayment', { customer: rows[0]?.entity, payment: amount, apply: [{ doc: id, amount }] });
}

const bySql = ({ books }: Scene, work: (client: PoolClient, now: Date) => Promise<unknown>): Promise<void> =>
  books.write(async (client, now) => {
    await work(client, now);
  });

/** The open amount of an invoice changes without a new modification time. */
async function shiftAmount(scene: Scene): Promise<void> {
  const id = await oneOf(scene, openInvoice);
  await bySql(scene, (client) =>
    client.query(
      `update ledger.transaction set foreignamountpaid = coalesce(foreignamountpaid, 0) + 0.25, foreignamountunpaid = foreignamountunpaid - 0.25
       where id = $1 and foreignamountunpaid > 1`,
      [id],
    ),
  );
}

/** Every invoice, header and lines. */
const touchAll = (scene: Scene): Promise<void> =>
  bySql(scene, async (client, now) => {
    const batch = word(scene.random);
    await client.query(`update ledger.transaction set memo = $1, lastmodifieddate = $2 where type = 'CustInvc'`, [batch, now]);
    await client.query(
      `update ledger.transactionline set memo = $1, linelastmodifieddate = $2
       where transaction in (select id from ledger.transaction where type = 'CustInvc') and id = 1`,
      [batch, now],
    );
  });

/** Deleted, but not in the account's deletion feed. */
async function deleteUnlisted(scene: Scene): Promise<void> {
  const id = await oneOf(
    scene,
    `select id::text as id from ledger.transaction where type = 'CustInvc' and not exists
    (select from ledger.application a where a.invoice = ledger.transaction.id) order by id`,
  );
  await bySql(scene, async (client) => {
    await client.query('delete from ledger.transactionline where transaction = $1', [id]);
    await client.query('delete from ledger.transaction where id = $1', [id]);
  });
}

const acts: Readonly<Record<MutationKind, (scene: Scene) => Promise<unknown>>> = {
  'edit-invoice': async (scene) => change(scene, 'invoice', await anyOf(scene, 'invoice'), { memo: word(scene.random) }),
  'edit-lines': async (scene) =>
    change(scene, 'invoice', await anyOf(scene, 'invoice'), { item: await lines(scene) }, scene.random.chance(0.5) ? ['item'] : []),
  'insert-invoice': async (scene) => create(scene, 'invoice', { entity: await anyOf(scene, 'customer'), item: await lines(scene) }),
  'delete-invoice': async (scene) => remove(scene, 'invoice', await anyOf(scene, 'invoice')),
  'edit-customer': async (scene) =>
    change(scene, 'customer', await anyOf(scene, 'customer'), { phone: word(scene.random), comments: word(scene.random) }),
  'rename-customer': async (scene) => change(scene, 'customer', await anyOf(scene, 'customer'), { entityId: word(scene.random) }),
  'insert-customer': (scene) => create(scene, 'customer', { companyName: word(scene.random) }),
  'delete-customer': async (scene) => remove(scene, 'customer', await oneOf(scene, unusedCustomer)),
  'edit-item': async (scene) => change(scene, 'item', await anyOf(scene, 'item'), { displayName: word(scene.random), basePrice: 12.5 }),
  'rename-item': async (scene) => change(scene, 'item', await anyOf(scene, 'item'), { itemId: word(scene.random) }),
  'insert-item': (scene) => create(scene, 'item', { itemId: word(scene.random) }),
  'delete-item': async (scene) => remove(scene, 'item', await oneOf(scene, unusedItem)),
  'pay-invoice': payInvoice,
  'undo-payment': async (scene) => remove(scene, 'customerPayment', await anyOf(scene, 'customerPayment')),
  'edit-credit': async (scene) => change(scene, 'creditMemo', await anyOf(scene, 'creditMemo'), { memo: word(scene.random) }),
  'insert-credit': async (scene) => create(scene, 'creditMemo', { entity: await anyOf(scene, 'customer'), item: await lines(scene) }),
  'delete-credit': async (scene) => remove(scene, 'creditMemo', await anyOf(scene, 'creditMemo')),
  'silent-amount': shiftAmount,
  'touch-all': touchAll,
  'delete-unlisted': deleteUnlisted,
};

/** Returns what was done: when the mutation is impossible, an invoice is edited instead. */
export async function mutate(books: Books, kind: MutationKind, seed: number, paymentTouchesInvoice: boolean): Promise<MutationKind> {
  const settings: WriteSettings = {
    pool: books.pool,
    timeZone: DATA_TIME_ZONE,
    switches: createSwitches({ paymentTouchesInvoice }),
    businessTime: books.account.businessTime,
  };
  const scene: Scene = { books, settings, random: randomOf(seed) };
  try {
    await acts[kind](scene);
    return kind;
  } catch (error) {
    if (!(error instanceof RestError || error instanceof RangeError)) throw error;
    await acts['edit-invoice'](scene);
    return 'edit-invoice';
  }
}

/** A number that the account accepts and that is too long for the service; `healed` corrects it. */
export async function spoil(books: Books, recordType: RecordTypeName, id: string, isHealed: boolean): Promise<void> {
  await books.write(async (client, now) => {
    const [table, column, sound] = recordType === 'customer' ? ['customer', 'creditlimit', null] : ['transaction', 'exchangerate', '1'];
    await client.query(`update ledger.${table} set ${column} = $2::numeric, lastmodifieddate = $3 where id = $1`, [
      id,
      isHealed ? sound : '1e120',
      now,
    ]);
  });
}

/** An edit of exactly that record. */
export async function touch(books: Books, recordType: RecordTypeName, id: string): Promise<void> {
  const [table, column] = { customer: ['customer', 'comments'], item: ['item', 'salesdescription'] }[recordType as string] ?? [
    'transaction',
    'memo',
  ];
  await books.write(async (client, now) => {
    await client.query(`update ledger.${table} set ${column} = $2, lastmodifieddate = $3 where id = $1`, [id, `touched ${id}`, now]);
  });
}
