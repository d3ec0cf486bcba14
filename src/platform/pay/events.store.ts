// The inbox of providers' events: each one once per account; the only writer of that table.
import type { Tx } from '../../db/transaction.ts';

type NewEvent = { account_id: string; event_id: string; type: string; subject: string | null };

/** False when it is there already. One that names nothing is done with. */
export async function insertEvent(tx: Tx, organizationId: string, row: NewEvent): Promise<boolean> {
  const added = await tx('pay_events')
    .insert({ organization_id: organizationId, ...row, outcome: row.subject === null ? 'ignored' : null })
    .onConflict(['account_id', 'event_id'])
    .ignore()
    .returning('event_id');
  return added.length === 1;
}

/** What became of the events that name one of these, as far as they were there at that time. */
export const settleEvents = (
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
