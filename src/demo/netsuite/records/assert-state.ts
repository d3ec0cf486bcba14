// What the state of the books or of the customer forbids, whatever the body says: closed days, customers that are inactive or on hold.
import type { PoolClient } from 'pg';
import type { Switches } from '../switches.ts';
import type { RecordType } from './record-types.ts';
import { REFUSED } from './refusals.ts';

/** `day` is that of the transaction, YYYY-MM-DD; records that are no transactions have none. */
export function refuseClosed(type: RecordType, day: string | null | undefined, { booksClosedThrough }: Switches): void {
  if (type.transactionType === undefined || booksClosedThrough === null || day === null || day === undefined) return;
  if (day <= booksClosedThrough) throw REFUSED.periodClosed();
}

/** A transaction is moved, changed and deleted on open days alone; applying something else to it is no change of it. */
export async function refuseChange(
  client: PoolClient,
  { type, id }: { type: RecordType; id: string },
  newDay: string | null | undefined,
  switches: Switches,
): Promise<void> {
  if (type.transactionType === undefined) return;
  const { rows } = await client.query<{ day: string }>('SELECT trandate::text AS day FROM ledger.transaction WHERE id = $1', [id]);
  refuseClosed(type, rows[0]?.day, switches);
  refuseClosed(type, newDay, switches);
}

/** New transactions alone: what is there already may be changed. */
export async function refuseOwner(
  client: PoolClient,
  type: RecordType,
  customer: string | null | undefined,
  { customersOnHold }: Switches,
): Promise<void> {
  if (type.transactionType === undefined || customer === null || customer === undefined) return;
  if (customersOnHold.includes(customer)) throw REFUSED.onHold();
  const { rows } = await client.query("SELECT FROM ledger.customer WHERE id = $1 AND isinactive = 'T'", [customer]);
  if (rows.length > 0) throw REFUSED.inactive();
}
