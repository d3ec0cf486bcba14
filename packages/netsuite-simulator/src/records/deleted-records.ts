// The list of deletions that callers read from the table deletedrecord.
import type { ClientBase } from 'pg';

/** `scriptId` and `title` are those of the record's type: its lower-case name, and its name for people. */
export type Deletion = { table: string; id: string; scriptId: string; title: string; at: Date; context: string };

/** Values of recordtypeid by table. */
const RECORD_TYPE_IDS: Record<string, number> = { customer: -2, item: -10, transaction: -30 };

/** The column with a record's name, by table. */
export const nameColumnOf = (table: string): string =>
  ({ item: 'itemid', transaction: 'tranid', currency: 'name', subsidiary: 'name' })[table] ?? 'entityid';

/** Lists a record that is about to be deleted. */
export async function addDeletedRecord(client: ClientBase, { table, id, scriptId, title, at, context }: Deletion): Promise<void> {
  await client.query(
    `INSERT INTO ledger.deletedrecord (recordid, recordtypeid, scriptid, name, type, context, deleteddate, iscustomlist, iscustomrecord, iscustomtransaction)
     SELECT id, $5, $2, ${nameColumnOf(table)}, $3, $6, $4, 'F', 'F', 'F' FROM ledger.${table} WHERE id = $1`,
    [id, scriptId, title, at, RECORD_TYPE_IDS[table] ?? null, context],
  );
}
