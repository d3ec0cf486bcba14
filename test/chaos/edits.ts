// What people do in the account between and during two runs, through the code of its record service where
// that supports it. The edit's own seed decides which record it hits.
import { RestError } from '../../packages/netsuite-simulator/src/wire.ts';
import { profile } from '../setup/account-profile.ts';
import { type Books, getModifiedColumn, getTable, textColumns } from './books.ts';
import {
  bySql,
  change,
  create,
  type Edit,
  isOfType,
  itemLines,
  openScene,
  pickId,
  pickIdFrom,
  remove,
  type Scene,
  word,
} from './edit-scene.ts';
import { absenceEdits } from './edits-absent.ts';
import { silentEdits } from './edits-silent.ts';
import { genericRecordEdits } from './generic-records.ts';
import type { EditKind, RecordTypeName } from './plan-names.ts';

const openInvoice = `select id::text as id from ledger.transaction where type = 'CustInvc' and entity is not null and foreignamountunpaid > 1 order by id`;
const unusedCustomer = `select id::text as id from ledger.customer c where not exists (select from ledger.transaction t where t.entity = c.id)
  order by c.id`;
const unusedItem = `select id::text as id from ledger.item i where not exists (select from ledger.transactionline l where l.item = i.id)
  order by i.id`;

async function payInvoice(scene: Scene): Promise<unknown> {
  const id = await pickIdFrom(scene, openInvoice);
  const { rows } = await scene.books.pool.query<{ entity: string; due: string }>(
    'select entity::text, foreignamountunpaid::text as due from ledger.transaction where id = $1',
    [id],
  );
  const due = Number(rows[0]?.due ?? 0);
  const amount = scene.random.chance(0.5) ? due : Math.max(1, Math.floor(due / 2));
  return create(scene, 'customerPayment', {
    customer: rows[0]?.entity,
    payment: amount,
    apply: [{ doc: id, amount }],
  });
}

/**
 * The payment of an invoice, which was closed by it or not, goes to another invoice of the customer, or to
 * none.
 */
async function movePayment(scene: Scene): Promise<void> {
  const { rows } = await scene.books.pool.query<{
    payment: string;
    paid: string;
    other: string | null;
    entity: string;
  }>(
    `select a.credit::text as payment, a.invoice::text as paid, p.entity::text,
       (select min(t.id)::text from ledger.transaction t where t.type = 'CustInvc' and t.entity = p.entity and t.foreignamountunpaid > 1) as other
     from ledger.application a join ledger.transaction p on p.id = a.credit and p.type = 'CustPymt' order by a.credit, a.invoice`,
  );
  const { payment, paid, other } = scene.random.pick(rows);
  await change(scene, 'customerPayment', payment, {
    apply: [{ doc: paid, apply: false }, ...(other === null ? [] : [{ doc: other, amount: 1 }])],
  });
}

/** Every invoice, header and lines. */
const touchAll = (scene: Scene): Promise<void> =>
  bySql(scene, async (client, now) => {
    const batch = word(scene.random);
    await client.query(
      `update ledger.transaction set memo = $1, lastmodifieddate = $2 where type = 'CustInvc'`,
      [batch, now],
    );
    await client.query(
      `update ledger.transactionline set memo = $1, linelastmodifieddate = $2
       where transaction in (select id from ledger.transaction where type = 'CustInvc') and id = 1`,
      [batch, now],
    );
  });

const clearable = {
  customer: ['defaultcountry', 'phone', 'comments'],
  item: ['displayname', 'salesdescription'],
  transaction: ['duedate', 'memo'],
  customrecord_complaint: ['name'],
} as const;

/** A column of all or many records is really empty from now on; its values never return. */
async function clearColumn(scene: Scene): Promise<void> {
  const { random } = scene;
  const recordType = random.pick(scene.recordTypes);
  const table = getTable(recordType);
  const column = random.pick(clearable[table]);
  const modified = getModifiedColumn(table);
  const [every, isTouched] = [random.pick([1, 1, 2, 3]), random.chance(0.7)];
  await bySql(scene, (client, now) =>
    client.query(
      `update ledger.${table} v set ${column} = null, ${modified} = case when $1::boolean then $2::timestamptz else ${modified} end
       where ${isOfType(recordType, 'v')} and v.id % $3 = 0 and ${column} is not null`,
      [isTouched, now, every],
    ),
  );
}

const edits: Readonly<Record<EditKind, Edit>> = {
  'edit-invoice': async (scene) =>
    change(scene, 'invoice', await pickId(scene, 'invoice'), { memo: word(scene.random) }),
  'edit-lines': async (scene) =>
    change(
      scene,
      'invoice',
      await pickId(scene, 'invoice'),
      { item: await itemLines(scene) },
      scene.random.chance(0.5) ? ['item'] : [],
    ),
  'insert-invoice': async (scene) =>
    create(scene, 'invoice', { entity: await pickId(scene, 'customer'), item: await itemLines(scene) }),
  'delete-invoice': async (scene) => remove(scene, 'invoice', await pickId(scene, 'invoice')),
  'edit-customer': async (scene) =>
    change(scene, 'customer', await pickId(scene, 'customer'), {
      phone: word(scene.random),
      comments: word(scene.random),
    }),
  'rename-customer': async (scene) =>
    change(scene, 'customer', await pickId(scene, 'customer'), { entityId: word(scene.random) }),
  'insert-customer': (scene) =>
    create(scene, 'customer', {
      companyName: word(scene.random),
      ...(profile === 'oneworld' && { subsidiary: '1' }),
    }),
  'delete-customer': async (scene) => remove(scene, 'customer', await pickIdFrom(scene, unusedCustomer)),
  'replace-customer': async (scene) => {
    await edits['insert-customer'](scene);
    await edits['delete-customer'](scene);
  },
  'edit-item': async (scene) =>
    change(scene, 'item', await pickId(scene, 'item'), { displayName: word(scene.random), basePrice: 12.5 }),
  'rename-item': async (scene) =>
    change(scene, 'item', await pickId(scene, 'item'), { itemId: word(scene.random) }),
  'insert-item': (scene) => create(scene, 'item', { itemId: word(scene.random) }),
  'delete-item': async (scene) => remove(scene, 'item', await pickIdFrom(scene, unusedItem)),
  'pay-invoice': payInvoice,
  'undo-payment': async (scene) => remove(scene, 'customerPayment', await pickId(scene, 'customerPayment')),
  'move-payment': movePayment,
  'edit-credit': async (scene) =>
    change(scene, 'creditMemo', await pickId(scene, 'creditMemo'), { memo: word(scene.random) }),
  'insert-credit': async (scene) =>
    create(scene, 'creditMemo', { entity: await pickId(scene, 'customer'), item: await itemLines(scene) }),
  'delete-credit': async (scene) => remove(scene, 'creditMemo', await pickId(scene, 'creditMemo')),
  'touch-all': touchAll,
  'clear-column': clearColumn,
  ...silentEdits,
  ...absenceEdits,
  ...genericRecordEdits,
};

/** What happens instead of an impossible edit, the first one that is possible. */
const instead = ['edit-invoice', 'edit-customer', 'insert-customer'] as const;

type Options = {
  readonly seed: number;
  readonly paymentTouchesInvoice: boolean;
  readonly recordTypes: readonly RecordTypeName[];
};

/** Returns what was done: when the edit is impossible, another one is made. Rejects with database errors. */
export async function edit(books: Books, kind: EditKind, options: Options): Promise<EditKind> {
  for (const attempt of [kind, ...instead]) {
    try {
      await edits[attempt](openScene({ books, ...options }));
      return attempt;
    } catch (error) {
      if (!(error instanceof RestError || error instanceof RangeError)) throw error;
    }
  }
  throw new Error('no edit is possible');
}

/** A number that the account accepts and that is too long for the service; `healed` corrects it. */
export async function spoil(
  books: Books,
  recordType: RecordTypeName,
  id: string,
  isHealed: boolean,
): Promise<void> {
  await books.write(async (client, now) => {
    const [table, column, sound] =
      recordType === 'customer' ? ['customer', 'creditlimit', null] : ['transaction', 'exchangerate', '1'];
    await client.query(
      `update ledger.${table} set ${column} = $2::numeric, lastmodifieddate = $3 where id = $1`,
      [id, isHealed ? sound : '1e120', now],
    );
  });
}

/** The account shows it as a time of year 0 while the wire replaces it. */
export const farTime = '9999-12-01T10:00:00Z';
export type TimePlace = 'modified' | 'created' | 'line';

/** A time of the record, or of its first line, is `farTime`; `healed` corrects it. */
export async function spoilTime(
  books: Books,
  recordType: RecordTypeName,
  id: string,
  place: TimePlace,
  isHealed: boolean,
): Promise<void> {
  const table = getTable(recordType);
  const created = table === 'customer' ? 'datecreated' : 'createddate';
  await books.write(async (client, now) => {
    const at = isHealed ? now : farTime;
    await client.query(`update ledger.${table} set lastmodifieddate = $2 where id = $1`, [
      id,
      place === 'modified' ? at : now,
    ]);
    if (place === 'created')
      await client.query(`update ledger.${table} set ${created} = $2 where id = $1`, [id, at]);
    if (place === 'line')
      await client.query(
        `update ledger.transactionline set linelastmodifieddate = $2 where transaction = $1
         and id = (select min(id) from ledger.transactionline where transaction = $1 and mainline is distinct from 'T' and taxline is distinct from 'T')`,
        [id, at],
      );
  });
}

/** An edit of exactly that record. */
export async function touch(books: Books, recordType: RecordTypeName, id: string): Promise<void> {
  const table = getTable(recordType);
  await books.write(async (client, now) => {
    await client.query(
      `update ledger.${table} set ${textColumns[table]} = $2, ${getModifiedColumn(table)} = $3 where id = $1`,
      [id, `touched ${id}`, now],
    );
  });
}
