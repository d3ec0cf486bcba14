// Removes a record with everything that belongs to it, and brings it back as it was. Other records stay as
// they are: what a removed payment paid is not opened again.
import type { PoolClient } from 'pg';
import { addDeletedRecord } from '../../records/deleted-records.ts';
import { recordTypesIn } from '../../records/record-types.ts';
import { ControlError, notFound } from '../control-error.ts';
import type { RecordTable } from './record-tables.ts';

/** The rows of a record: base table and condition. */
const listParts = ({ table }: RecordTable): [table: string, where: string][] =>
  table.name === 'transaction'
    ? [
        ['transaction', 'id = $1'],
        ['transactionline', 'transaction = $1'],
        ['application', '(invoice = $1 OR credit = $1)'],
      ]
    : [[table.name, 'id = $1']];

const CONTEXT = 'UI';

/** `isListed`: with an entry in the list of deletions. Throws ControlError 404 for an absent record. */
export async function removeRecord(
  client: PoolClient,
  record: RecordTable,
  id: string,
  isListed: boolean,
  at: Date,
): Promise<void> {
  const { name } = record.table;
  const { rows } = await client.query<{ type: string | null }>(
    `SELECT ${{ transaction: 'type', item: 'itemtype AS type' }[name] ?? 'NULL AS type'} FROM ledger.${name} WHERE id = $1`,
    [id],
  );
  const [found] = rows;
  if (!found) throw notFound(`The account has no ${name} with the id ${id}.`);
  if (isListed) {
    const type = recordTypesIn(name).find(
      (each) => (each.transactionType ?? each.itemType ?? null) === found.type,
    );
    const scriptId = type?.name.toLowerCase() ?? name;
    await addDeletedRecord(client, {
      table: name,
      id,
      scriptId,
      title: type?.title ?? name,
      at,
      context: CONTEXT,
    });
  }
  await client.query('DELETE FROM ledger.removed WHERE tablename = $1 AND id = $2', [name, id]);
  for (const [part, where] of listParts(record)) {
    await client.query(
      `WITH gone AS (DELETE FROM ledger.${part} WHERE ${where} RETURNING *)
       INSERT INTO ledger.removed (tablename, id, part, content) SELECT $2, $1, $3, to_jsonb(gone) FROM gone`,
      [id, name, part],
    );
  }
}

/**
 * Takes its entry out of the list of deletions, too. Throws ControlError: 404 when it wasn't removed here,
 * 422 when it exists.
 */
export async function restoreRecord(client: PoolClient, { table }: RecordTable, id: string): Promise<void> {
  const { name } = table;
  const exists = await client.query(`SELECT 1 FROM ledger.${name} WHERE id = $1`, [id]);
  if (exists.rows.length > 0)
    throw new ControlError(422, `The ${name} ${id} exists. Only a removed record can be restored.`);
  const { rows } = await client.query<{ part: string }>(
    'SELECT DISTINCT part FROM ledger.removed WHERE tablename = $1 AND id = $2',
    [name, id],
  );
  if (rows.length === 0) throw notFound(`No ${name} with the id ${id} was removed through this interface.`);
  for (const { part } of rows) {
    await client.query(
      `INSERT INTO ledger.${part} SELECT (jsonb_populate_record(NULL::ledger.${part}, content)).* FROM ledger.removed
       WHERE tablename = $1 AND id = $2 AND part = $3`,
      [name, id, part],
    );
  }
  await client.query('DELETE FROM ledger.removed WHERE tablename = $1 AND id = $2', [name, id]);
  await client.query(
    `DELETE FROM ledger.deletedrecord WHERE recordid = $1 AND context = '${CONTEXT}' AND scriptid = ANY($2)`,
    [id, [name, ...recordTypesIn(name).map((type) => type.name.toLowerCase())]],
  );
}
