// Asserts that the state of the books and of the customer allows a write: the period is open, the customer is
// active and not on hold.
import type { PoolClient } from 'pg';
import type { Switches } from '../switches.ts';
import { USER_ERRORS } from './record-errors.ts';
import type { RestRecordType } from './record-type.ts';

/**
 * Rejects with RestError 400 if `day` (YYYY-MM-DD), the transaction's date, is in a period that the switch
 * or, with a profile, the list of periods closes, or in none of the list. Orders post to no period; other
 * records have no day.
 */
export async function assertPeriodOpen(
  client: PoolClient,
  type: RestRecordType,
  day: string | null | undefined,
  { booksClosedThrough }: Switches,
): Promise<void> {
  if (type.transactionType === undefined || day === null || day === undefined) return;
  if (booksClosedThrough !== null && day <= booksClosedThrough) throw USER_ERRORS.periodClosed();
  if (type.transactionType === 'SalesOrd') return;
  const { rows } = await client.query<{ hasperiods: boolean; isopen: boolean | null }>(
    `SELECT EXISTS (SELECT FROM ledger.accountingperiod) AS hasperiods, (SELECT bool_and(closed = 'F') FROM ledger.accountingperiod
       WHERE isposting = 'T' AND $1::date BETWEEN startdate AND enddate) AS isopen`,
    [day],
  );
  if (rows[0]?.hasperiods && rows[0].isopen === null) throw USER_ERRORS.noPeriod();
  if (rows[0]?.isopen === false) throw USER_ERRORS.periodClosed();
}

/**
 * Rejects with RestError 400 if the transaction's present date or `newDay` is in a closed period. Applying
 * another transaction to it doesn't count as a change of it.
 */
export async function assertCanChange(
  client: PoolClient,
  { type, id }: { type: RestRecordType; id: string },
  newDay: string | null | undefined,
  switches: Switches,
): Promise<void> {
  if (type.transactionType === undefined) return;
  const { rows } = await client.query<{ day: string }>(
    'SELECT trandate::text AS day FROM ledger.transaction WHERE id = $1',
    [id],
  );
  await assertPeriodOpen(client, type, rows[0]?.day, switches);
  await assertPeriodOpen(client, type, newDay, switches);
}

/**
 * For new transactions only: rejects with RestError 400 if the customer is on credit hold or inactive.
 * Existing ones may still be changed.
 */
export async function assertCustomerCanBuy(
  client: PoolClient,
  type: RestRecordType,
  customer: string | null | undefined,
  { customersOnHold }: Switches,
): Promise<void> {
  if (type.transactionType === undefined || customer === null || customer === undefined) return;
  if (customersOnHold.includes(customer)) throw USER_ERRORS.onHold();
  const { rows } = await client.query("SELECT FROM ledger.customer WHERE id = $1 AND isinactive = 'T'", [
    customer,
  ]);
  if (rows.length > 0) throw USER_ERRORS.inactive();
}
