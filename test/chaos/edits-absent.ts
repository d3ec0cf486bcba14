// Deletions of one record or many, with or without an entry in the account's list of deletions, and their
// return under the same id.

import {
  removeRecord,
  restoreRecord,
} from '../../packages/netsuite-simulator/src/control/records/remove-record.ts';
import { getModifiedColumn, getTable } from './books.ts';
import { accountTable, bySql, type Edit, isOfType, type Scene } from './edit-scene.ts';
import { type RecordTypeName, recordTypes } from './plan-names.ts';

/** Records that no other record refers to, except in about one case of ten. */
async function candidates({ books, random }: Scene, recordType: RecordTypeName): Promise<string[]> {
  if (random.chance(0.1)) return books.ids(recordType);
  const free = {
    customer: 'not exists (select from ledger.transaction t where t.entity = v.id)',
    item: 'not exists (select from ledger.transactionline l where l.item = v.id)',
    transaction:
      'not exists (select from ledger.application a where v.id in (a.invoice, a.credit) and not a.isbyrule)',
    customrecord_complaint: 'true',
  }[getTable(recordType)];
  const { rows } = await books.pool.query<{ id: string }>(
    `select v.id::text as id from ledger.${getTable(recordType)} v where ${isOfType(recordType, 'v')} and ${free} order by v.id`,
  );
  return rows.map(({ id }) => id);
}

const removeAll = (
  scene: Scene,
  recordType: RecordTypeName,
  ids: readonly string[],
  isListed: boolean,
): Promise<void> =>
  bySql(scene, async (client, now) => {
    for (const id of ids) await removeRecord(client, accountTable(recordType), id, isListed, now);
  });

const removeSome =
  (isListed: boolean, computeShare: (scene: Scene) => number): Edit =>
  async (scene) => {
    const { random } = scene;
    const wanted = random.pick(scene.recordTypes);
    const found = await candidates(scene, wanted);
    // Other records often refer to all customers and items.
    const recordType = found.length > 0 ? wanted : 'invoice';
    const ids = found.length > 0 ? found : await candidates(scene, recordType);
    if (ids.length === 0) throw new RangeError('there is nothing to delete');
    const count = Math.max(1, Math.round(computeShare(scene) * ids.length));
    await removeAll(scene, recordType, random.sample(ids, count), isListed);
  };

const some = ({ random }: Scene): number => random.pick([0.02, 0.05, 0.1, 0.3, 0.7]);

/** Every record of a type. */
const removeEvery: Edit = async (scene) => {
  const recordType = scene.random.pick(scene.recordTypes);
  const ids = await scene.books.ids(recordType);
  if (ids.length === 0) throw new RangeError('there is nothing to delete');
  await removeAll(scene, recordType, ids, scene.random.chance(0.5));
};

/**
 * Some or all of the removed records of a type return under their ids, with the modification time of then or
 * of now.
 */
const restore: Edit = async (scene) => {
  const { books, random } = scene;
  const removed = await books.pool.query<{ tablename: string; id: string }>(
    'select tablename, id::text from ledger.removed where part = tablename order by tablename, id',
  );
  const table = random.pick(removed.rows).tablename;
  const ids = removed.rows.filter(({ tablename }) => tablename === table).map(({ id }) => id);
  const back = random.chance(0.5) ? ids : random.sample(ids, random.between(1, 3));
  const isTouched = random.chance(0.4);
  const recordType = recordTypes.find((name) => getTable(name) === table) ?? 'invoice';
  await bySql(scene, async (client, now) => {
    for (const id of back) await restoreRecord(client, accountTable(recordType), id);
    if (isTouched)
      await client.query(
        `update ledger.${table} set ${getModifiedColumn(getTable(recordType))} = $2 where id = any($1::bigint[])`,
        [back, now],
      );
  });
};

export const absenceEdits = {
  'delete-unlisted': removeSome(false, () => 0),
  'delete-many': removeSome(true, some),
  'delete-many-unlisted': removeSome(false, some),
  'delete-all': removeEvery,
  'restore-deleted': restore,
} as const satisfies Readonly<Record<string, Edit>>;
