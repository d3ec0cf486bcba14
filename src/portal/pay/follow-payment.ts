// Says to the page of a payment when it has changed, by server-sent events.
import { getVisitorPaymentState, paymentTopic } from '../../platform/index.ts';
import { followChanges } from '../follow-changes.ts';
import type { At } from '../room.ts';
import type { Visit } from '../visit.ts';
import { idOf, stateOf } from './payment-page.ts';

/**
 * `?seen`: the state that the page shows. Throws 404 for a payment of another customer, and as `followChanges` does.
 */
export async function followPayment(at: At, visit: Visit): Promise<void> {
  const id = idOf(at.req);
  const readState = async () => stateOf(await getVisitorPaymentState(visit.ctx, visit.family, id));
  await followChanges(at, visit, paymentTopic(id), readState);
}
