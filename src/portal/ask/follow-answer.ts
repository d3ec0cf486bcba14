// Says to the page of a conversation when it has changed, by server-sent events.
import { readVisitorConversation, visitorAnswerTopic } from '../../platform/index.ts';
import { followChanges } from '../follow-changes.ts';
import type { At } from '../room.ts';
import { assertVisitor, notFoundHere, type Visit } from '../visit.ts';
import { askerOf, getAgent, stateOf } from './ask-page.ts';

/**
 * `?seen`: the state that the page shows. Throws 404 before the first question, 403 for a member who sees the portal as
 * the visitor would, and as `followChanges` does.
 */
export async function followAnswer(at: At, visit: Visit): Promise<void> {
  assertVisitor(visit);
  const asker = askerOf(visit, await getAgent(visit));
  const read = () => readVisitorConversation(visit.ctx, asker);
  const { id } = await read();
  if (id === null) throw notFoundHere();
  await followChanges(at, visit, visitorAnswerTopic(id), async () => stateOf((await read()).messages));
}
