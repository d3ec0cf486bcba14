// The list of deletions that callers read from the table deletedrecord.
import type { ClientBase } from 'pg';
import { isCustomRecord } from '../tables/custom-fields.ts';
import { customRecordTypeId } from '../tables/custom-records.ts';
import { getNameColumn } from '../tables/table.ts';

/** `scriptId` and `title` are those of the record's type: its lower-case name, and its name for people. */
export type Deletion = {
  table: string;
  id: string;
  scriptId: string;
  title: string;
  at: Date;
  context: string;
};

/** Values of recordtypeid by table. */
const RECORD_TYPE_IDS: Record<string, number> = { customer: -2, item: -10, transaction: -30 };

/** Lists a record that is about to be deleted. */
export async function addDeletedRecord(
  client: ClientBase,
  { table, id, scriptId, title, at, context }: Deletion,
): Promise<void> {
  const typeId = isCustomRecord(table) ? customRecordTypeId(table) : RECORD_TYPE_IDS[table];
  await client.query(
    `INSERT INTO ledger.deletedrecord (recordid, recordtypeid, scriptid, name, type, context, deleteddate, iscustomlist, iscustomrecord, iscustomtransaction)
     SELECT id, $5, $2, ${getNameColumn(table)}, $3, $6, $4, 'F', $7, 'F' FROM ledger.${table} WHERE id = $1`,
    [id, scriptId, title, at, typeId ?? null, context, isCustomRecord(table) ? 'T' : 'F'],
  );
}
