// `POST {type}/{id}/!transform/{target}`: creates a record from an existing one. The body's values override
// those carried over.

import { ITEM_LINES } from './read-record.ts';
import type { RecordChange } from './record-change.ts';
import { USER_ERRORS } from './record-errors.ts';
import type { RestRecordType } from './record-type.ts';
import type { Values, WriteBody, WrittenLine } from './write-body.ts';
import { createRecord, type WriteSettings, type WriteTarget } from './write-record.ts';

type Source = {
  entity: string | null;
  currency: string;
  memo: string | null;
  otherrefnum: string | null;
  exchangerate: string;
  isopen: boolean;
};

const TRANSFORMS: Record<string, readonly string[]> = {
  salesOrder: ['invoice'],
  invoice: ['creditMemo', 'customerPayment'],
};

/**
 * Resolves to the new record's id. Rejects with RestError 400 for a transform that NetSuite doesn't allow, or
 * as `createRecord` does.
 */
export async function transformRecord(
  settings: WriteSettings,
  from: WriteTarget,
  target: RestRecordType,
  body: WriteBody,
): Promise<string> {
  const isAllowed =
    TRANSFORMS[from.type.name]?.includes(target.name) &&
    (target.name !== 'customerPayment' || settings.switches.transformsInvoiceToPayment);
  if (!isAllowed) throw USER_ERRORS.noTransform(target.name);
  const source = await readSource(settings, from.id);
  if (!source) throw USER_ERRORS.noTransform(target.name);
  const { isopen, exchangerate, ...others } = source;
  const carried =
    settings.profile !== undefined && target.name === 'creditMemo' ? { ...others, exchangerate } : others;
  const values: Values = new Map([
    ...Object.entries(carried).filter(([, value]) => value !== null),
    ...body.values,
  ]);
  const lines =
    body.lines ??
    (target.lines ? await readLines(settings, from, from.type.name === 'salesOrder') : undefined);
  const apply =
    body.apply ??
    (target.applies && isopen
      ? [{ values: new Map([['previousdoc', from.id]]), line: undefined, path: 'apply.items[0]' }]
      : undefined);
  return createRecord(settings, target, { ...body, values, lines, apply }, (created) =>
    markBilled(created, from),
  );
}

async function readSource(settings: WriteSettings, id: string): Promise<Source | undefined> {
  const { rows } = await settings.pool.query<Source>(
    'SELECT entity::text, currency::text, memo, otherrefnum, exchangerate::text, COALESCE(foreignamountunpaid > 0, false) AS isopen FROM ledger.transaction WHERE id = $1',
    [id],
  );
  return rows[0];
}

async function readLines(
  settings: WriteSettings,
  { id }: WriteTarget,
  isOrder: boolean,
): Promise<WrittenLine[]> {
  const { rows } = await settings.pool.query<Record<string, string | null>>(
    `SELECT l.item::text, l.memo, (-l.quantity)::text AS quantity, l.rate::text, (-COALESCE(l.foreignamount, l.netamount))::text AS foreignamount
     FROM ledger.transactionline l WHERE l.transaction = $1 AND l.item IS NOT NULL AND ${ITEM_LINES} ORDER BY l.linesequencenumber`,
    [id],
  );
  return rows.map((row, index) => ({
    values: new Map(Object.entries(isOrder ? { ...row, createdfrom: id } : row)),
    line: undefined,
    path: `item.items[${index}]`,
  }));
}

async function markBilled({ client, now }: RecordChange, { type, id }: WriteTarget): Promise<void> {
  if (type.name !== 'salesOrder') return;
  await client.query("UPDATE ledger.transaction SET status = 'G', lastmodifieddate = $2 WHERE id = $1", [
    id,
    now,
  ]);
  await client.query(
    'UPDATE ledger.transactionline SET quantitybilled = -quantity WHERE transaction = $1 AND quantitybilled IS NOT NULL',
    [id],
  );
}
