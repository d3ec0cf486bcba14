// Writes the lines of a transaction: a line with the number of an existing one changes it, others are added;
// `replace=item` replaces all lines. The header's total is the sum of its lines. With a profile, amounts are
// in the transaction's currency, and posting.ts derives the base amounts and the total from them.

import { LINE_PROPERTIES, type Property } from './property.ts';
import { ITEM_LINES } from './read-record.ts';
import type { RecordChange } from './record-change.ts';
import { invalidValue, missingValues, USER_ERRORS } from './record-errors.ts';
import { resolveReference } from './references.ts';
import type { WrittenLine } from './write-body.ts';

const ITEM = LINE_PROPERTIES.find(({ name }) => name === 'item') as Property;

/**
 * Rejects with RestError 400 for a missing item or amount, an unknown line or item, or a replacement without
 * lines.
 */
export async function writeLines(change: RecordChange, lines: readonly WrittenLine[]): Promise<void> {
  const { client, id, replaces } = change;
  if (replaces.has('item')) {
    if (lines.length === 0) throw USER_ERRORS.noLines();
    await client.query(`DELETE FROM ledger.transactionline l WHERE l.transaction = $1 AND ${ITEM_LINES}`, [
      id,
    ]);
  }
  for (const line of lines)
    await (line.line === undefined || replaces.has('item')
      ? addLine(change, line)
      : updateLine(change, line, line.line));
  await client.query(
    `UPDATE ledger.transaction t SET foreigntotal =
       (SELECT COALESCE(-sum(l.netamount), 0) FROM ledger.transactionline l WHERE l.transaction = t.id AND l.mainline = 'F') WHERE t.id = $1`,
    [id],
  );
}

/** The books hold sold quantities and amounts as negative. */
const chooseSign = ({ type }: RecordChange): number => (type.lines?.isNegated ? -1 : 1);

async function addLine(change: RecordChange, { values, path }: WrittenLine): Promise<void> {
  const { client, id, now } = change;
  const named = values.get('item');
  if (typeof named !== 'string') throw missingValues([ITEM.title]);
  const item = await resolveReference(client, ITEM, named, `${path}.item`);
  const { rowCount } = await client.query(
    `INSERT INTO ledger.transactionline (uniquekey, id, transaction, linesequencenumber, item, memo, quantity, rate, netamount, mainline, taxline,
       linelastmodifieddate, createdfrom, foreignamount)
     SELECT nextval('ledger.line_key'), COALESCE(last.id, 0) + 1, $1, COALESCE(last.sequence, 0) + 1, i.id, COALESCE($3, i.salesdescription, i.displayname),
       $8 * g.quantity, COALESCE(g.rate, round(g.amount / NULLIF(g.quantity, 0), 5)), v.amount, 'F', 'F', $7, $9, CASE WHEN $10 THEN v.amount END
     FROM ledger.item i
     CROSS JOIN LATERAL (SELECT COALESCE($4::numeric, 1) AS quantity, $6::numeric AS amount,
       COALESCE($5::numeric, CASE WHEN $6::numeric IS NULL THEN i.baseprice END) AS rate) g
     CROSS JOIN LATERAL (SELECT $8 * COALESCE(g.amount, round(g.quantity * g.rate, 2)) AS amount) v
     CROSS JOIN (SELECT max(id) AS id, max(linesequencenumber) AS sequence FROM ledger.transactionline WHERE transaction = $1) last
     WHERE i.id = $2 AND (g.amount IS NOT NULL OR g.rate IS NOT NULL)`,
    [
      id,
      item,
      values.get('memo') ?? null,
      values.get('quantity') ?? null,
      values.get('rate') ?? null,
      values.get('foreignamount') ?? null,
      now,
      chooseSign(change),
      values.get('createdfrom') ?? null,
      change.posts,
    ],
  );
  if (rowCount === 0) throw missingValues(['Amount']);
}

async function updateLine(change: RecordChange, { values, path }: WrittenLine, line: string): Promise<void> {
  const { rowCount } = await change.client.query(
    `UPDATE ledger.transactionline l SET memo = COALESCE($3, l.memo), quantity = n.quantity, rate = n.rate,
       netamount = COALESCE(v.amount, l.netamount), foreignamount = CASE WHEN $9 THEN COALESCE(v.amount, l.foreignamount) END, linelastmodifieddate = $7
     FROM (SELECT l.uniquekey, COALESCE($8 * $4::numeric, l.quantity) AS quantity, COALESCE($5::numeric, l.rate) AS rate
       FROM ledger.transactionline l WHERE l.transaction = $1 AND l.id = $2 AND ${ITEM_LINES}) n
     CROSS JOIN LATERAL (SELECT COALESCE($8 * $6::numeric, CASE WHEN COALESCE($4::numeric, $5::numeric) IS NOT NULL THEN round(n.quantity * n.rate, 2) END)
       AS amount) v
     WHERE l.uniquekey = n.uniquekey`,
    [
      change.id,
      line,
      values.get('memo') ?? null,
      values.get('quantity') ?? null,
      values.get('rate') ?? null,
      values.get('foreignamount') ?? null,
      change.now,
      chooseSign(change),
      change.posts,
    ],
  );
  if (rowCount === 0) throw invalidValue(line, `${path}.line`, 'line');
}
