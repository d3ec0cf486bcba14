// Asserts that the state of the books and of the customer allows a write: the period is open, the customer is active and not on hold.
import type { PoolClient } from 'pg';
import type { Switches } from '../switches.ts';
import { USER_ERRORS } from './record-errors.ts';
import type { RestRecordType } from './record-types.ts';

/** Throws RestError 400 if `day` (YYYY-MM-DD), the transaction's date, is in a closed period. Other records have no day. */
export function assertPeriodOpen(type: RestRecordType, day: string | null | undefined, { booksClosedThrough }: Switches): void {
  if (type.transactionType === undefined || booksClosedThrough === null || day === null || day === undefined) return;
  if (day <= booksClosedThrough) throw USER_ERRORS.periodClosed();
}

/**
 * Rejects with RestError 400 if the transaction's present date or `newDay` is in a closed period. Applying another transaction to it
 * doesn't count as a change of it.
 */
export async function assertCanChange(
  client: PoolClient,
  { type, id }: { type: RestRecordType; id: string },
  newDay: string | null | undefined,
  switches: Switches,
): Promise<void> {
  if (type.transactionType === undefined) return;
  const { rows } = await client.query<{ day: string }>('SELECT trandate::text AS day FROM ledger.transaction WHERE id = $1', [id]);
  assertPeriodOpen(type, rows[0]?.day, switches);
  assertPeriodOpen(type, newDay, switches);
}

/**
 * For new transactions only: rejects with RestError 400 if the customer is on credit hold or inactive. Existing ones may still be changed.
 */
export async function assertCustomerCanBuy(
  client: PoolClient,
  type: RestRecordType,
  customer: string | null | undefined,
  { customersOnHold }: Switches,
): Promise<void> {
  if (type.transactionType === undefined || customer === null || customer === undefined) return;
  if (customersOnHold.includes(customer)) throw USER_ERRORS.onHold();
  const { rows } = await client.query("SELECT FROM ledger.customer WHERE id = $1 AND isinactive = 'T'", [customer]);
  if (rows.length > 0) throw USER_ERRORS.inactive();
}
