// The inbox of provider events: each event is stored once per account. The only writer of that table.
import type { Tx } from '../../../db/transaction.ts';

type NewEvent = { account_id: string; event_id: string; type: string; subject: string | null };

/** False when the event is already stored. An event without a subject is stored as `ignored`. */
export async function insertEvent(tx: Tx, organizationId: string, row: NewEvent): Promise<boolean> {
  const added = await tx('pay_events')
    .insert({ organization_id: organizationId, ...row, outcome: row.subject === null ? 'ignored' : null })
    .onConflict(['account_id', 'event_id'])
    .ignore()
    .returning('event_id');
  return added.length === 1;
}

/** Sets the outcome of the pending events with one of these subjects that were received up to `before`. */
export const recordEventOutcome = (
  tx: Tx,
  organizationId: string,
  accountId: string,
  subjects: readonly string[],
  outcome: 'merged' | 'unknown',
  before: Date,
) =>
  tx('pay_events')
    .where({ organization_id: organizationId, account_id: accountId })
    .whereIn('subject', subjects)
    .whereNull('outcome')
    .where('received_at', '<=', before)
    .update({ outcome });
