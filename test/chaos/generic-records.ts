// Records of types that the connector doesn't know by name, in accounts with a profile: enough of each for
// several pages, and what people do with one of them.
import type { Pool } from 'pg';
import { createRecordLike } from '../../packages/netsuite-simulator/src/control/records/create-record.ts';
import { removeRecord } from '../../packages/netsuite-simulator/src/control/records/remove-record.ts';
import { getModifiedColumn, getTable, textColumns } from './books.ts';
import { accountTable, bySql, type Edit, everything, pickId, type Scene, word } from './edit-scene.ts';
import { type GenericType, genericTypes } from './plan-names.ts';

const copies = 5;
/** Above the ids that a load gives. */
const idStep = 100_000_000;

/**
 * The profile gives a small company few journals and complaints: several of each are added, with values and
 * lines like these.
 */
export async function copyGenericRecords(pool: Pool): Promise<void> {
  const copied = (table: string, changes: string): string => `insert into ledger.${table}
    select (jsonb_populate_record(null::ledger.${table}, to_jsonb(b) || jsonb_build_object(${changes}))).*
    from ledger.${table} b cross join generate_series(1, ${copies}) n`;
  const id = `b.id + n * ${idStep}`;
  await pool.query(copied('customrecord_complaint', `'id', ${id}, 'externalid', null`));
  await pool.query(
    `${copied('transactionline', `'uniquekey', (select max(uniquekey) from ledger.transactionline) + row_number() over (), 'transaction', b.transaction + n * ${idStep}`)}
     where b.transaction in (select id from ledger.transaction where type = 'Journal')`,
  );
  await pool.query(
    `${copied('transaction', `'id', ${id}, 'tranid', concat(b.tranid, '-', n), 'externalid', null`)} where b.type = 'Journal'`,
  );
}

/** The one that the company syncs. Throws a RangeError when there is none. */
function pickGenericType({ random, recordTypes }: Scene): GenericType {
  return random.pick(genericTypes.filter((name) => recordTypes.includes(name)));
}

/** A text of the header, and of the first line where there are lines. */
const editOne: Edit = async (scene) => {
  const recordType = pickGenericType(scene);
  const [id, text, table] = [await pickId(scene, recordType), word(scene.random), getTable(recordType)];
  const isLine = table === 'transaction' && scene.random.chance(0.5);
  await bySql(scene, async (client, now) => {
    await client.query(
      `update ledger.${table} set ${textColumns[table]} = $2, ${getModifiedColumn(table)} = $3 where id = $1`,
      [id, text, now],
    );
    if (isLine)
      await client.query(
        `update ledger.transactionline set memo = $2, quantity = coalesce(quantity, 0) + 1, linelastmodifieddate = $3
         where uniquekey = (select min(uniquekey) from ledger.transactionline where transaction = $1)`,
        [id, text, now],
      );
  });
};

const insertOne: Edit = async (scene) => {
  const recordType = pickGenericType(scene);
  const like = await pickId(scene, recordType);
  await bySql(scene, (client, now) =>
    createRecordLike(client, everything, accountTable(recordType), { like }, now),
  );
};

const deleteOne =
  (isListed: boolean): Edit =>
  async (scene) => {
    const recordType = pickGenericType(scene);
    const id = await pickId(scene, recordType);
    await bySql(scene, (client, now) => removeRecord(client, accountTable(recordType), id, isListed, now));
  };

export const genericRecordEdits = {
  'edit-generic': editOne,
  'insert-generic': insertOne,
  'delete-generic': deleteOne(true),
  'delete-generic-unlisted': deleteOne(false),
} as const;
