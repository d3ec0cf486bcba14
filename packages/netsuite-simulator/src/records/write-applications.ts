// Writes what a payment or credit memo is applied to, or what a refund refunds. Each line sets the amount on
// one invoice, or on one payment or credit memo; `apply: false` removes it. `assertNotOverapplied` checks the
// sums after the books have been settled again.

import { APPLY_PROPERTIES, type Property } from './property.ts';
import type { RecordChange } from './record-change.ts';
import { invalidValue, missingValues, USER_ERRORS } from './record-errors.ts';
import { resolveReference } from './references.ts';
import type { WrittenLine } from './write-body.ts';

const DOC = APPLY_PROPERTIES.find(({ name }) => name === 'doc') as Property;

/**
 * Without an amount of its own a payment amounts to what it applies, and so does every refund. Rejects with
 * RestError 400 for an invalid line.
 */
export async function applyLines(
  change: RecordChange,
  lines: readonly WrittenLine[],
  hasAmount: boolean,
): Promise<void> {
  const { client, type, id, replaces } = change;
  if (replaces.has('apply'))
    await client.query('DELETE FROM ledger.application WHERE credit = $1 AND NOT isbyrule', [id]);
  for (const line of lines) await applyLine(change, line);
  const isRefund = type.transactionType === 'CustRfnd';
  if (isRefund || (type.transactionType === 'CustPymt' && !hasAmount)) {
    await client.query(
      `UPDATE ledger.transaction SET foreigntotal = (SELECT COALESCE(sum(amount), 0) FROM ledger.application WHERE credit = $1)
       WHERE id = $1 AND (foreigntotal = 0 OR $2)`,
      [id, isRefund],
    );
  }
}

/** What of the document is still due, compared with the amount to apply. */
async function findOpen({ client, type, id }: RecordChange, doc: string, amount: unknown) {
  // A payment without an amount and a refund aren't limited by their total, which is set afterwards.
  const { rows } = await client.query<{
    amount: string;
    isopen: boolean;
    ispositive: boolean;
    fits: boolean;
  }>(
    `SELECT g.amount::text, o.due > 0 AS isopen, g.amount > 0 AS ispositive, g.amount <= o.due AS fits
     FROM ledger.transaction i
     JOIN ledger.transaction p ON p.id = $2 AND p.entity = i.entity AND p.currency = i.currency
     CROSS JOIN LATERAL (SELECT
       i.foreigntotal * CASE i.type WHEN 'CustCred' THEN -1 ELSE 1 END
         - COALESCE((SELECT sum(amount) FROM ledger.application WHERE invoice = i.id OR credit = i.id), 0) AS due,
       abs(p.foreigntotal) - COALESCE((SELECT sum(amount) FROM ledger.application WHERE credit = p.id OR invoice = p.id), 0) AS left) o
     CROSS JOIN LATERAL (SELECT COALESCE($3::numeric,
       CASE WHEN p.foreigntotal = 0 OR p.type = 'CustRfnd' THEN o.due ELSE LEAST(o.due, o.left) END) AS amount) g
     WHERE i.id = $1 AND i.type = ANY($4)`,
    [doc, id, amount, type.applies ?? []],
  );
  return rows[0];
}

async function applyLine(change: RecordChange, { values, path }: WrittenLine): Promise<void> {
  const { client, type, id, now } = change;
  const named = values.get('previousdoc');
  if (typeof named !== 'string') throw missingValues([DOC.title]);
  const doc = await resolveReference(client, DOC, named, `${path}.doc`);
  await client.query('DELETE FROM ledger.application WHERE credit = $1 AND invoice = $2 AND NOT isbyrule', [
    id,
    doc,
  ]);
  if (values.get('apply') === 'F') return;
  const open = await findOpen(change, doc, values.get('foreignamount') ?? null);
  if (!open?.isopen)
    throw USER_ERRORS.notOpen(
      doc,
      type.transactionType === 'CustRfnd' ? 'payment or credit memo' : 'invoice',
    );
  if (!open.ispositive) throw invalidValue(open.amount, `${path}.amount`, 'amount');
  if (!open.fits) throw USER_ERRORS.appliesTooMuch(doc);
  await client.query(
    `INSERT INTO ledger.application (invoice, credit, amount, appliedon, linkedat, isbyrule)
     SELECT $1, id, $3, trandate, $4, false FROM ledger.transaction WHERE id = $2`,
    [doc, id, open.amount, now],
  );
}

/**
 * Rejects with RestError 400 when more is applied than the transaction's total: by a payment or credit memo,
 * or to an invoice whose total was lowered; also for a payment or refund of nothing.
 */
export async function assertNotOverapplied({ client, type, id }: RecordChange): Promise<void> {
  const { rows } = await client.query<{ isover: boolean; total: string; isempty: boolean }>(
    `SELECT COALESCE(sum(a.amount), 0) > abs(t.foreigntotal) AS isover, t.foreigntotal::text AS total,
       t.type IN ('CustPymt', 'CustRfnd') AND t.foreigntotal <= 0 AS isempty
     FROM ledger.transaction t LEFT JOIN ledger.application a ON a.invoice = t.id OR a.credit = t.id WHERE t.id = $1 GROUP BY t.foreigntotal, t.type`,
    [id],
  );
  if (rows[0]?.isempty) throw invalidValue(rows[0].total, 'payment');
  if (rows[0]?.isover) throw type.applies ? USER_ERRORS.paysTooMuch() : USER_ERRORS.lessThanApplied();
}
