// The page where a visitor asks the organization's agent about the records of their customer.
import { readVisitorConversation, type VisitorAgent, type VisitorMessage } from '../../platform/index.ts';
import type { AskFailure, AskPage, AskProblem, AskTurn } from '../ask-model.ts';
import { toPlainHtml } from '../markdown.ts';
import { recordAddress } from '../record-table.ts';
import { findShown } from '../shown-fields.ts';
import { notFoundHere, type Visit } from '../visit.ts';

export const maxQuestionLength = 2_000;
const defaultPerDay = 20;

export const perDayOf = ({ portal: { settings } }: Pick<Visit, 'portal'>): number =>
  settings.visitorQuestionsPerDay ?? defaultPerDay;

/** Throws 404 where no agent answers visitors. */
export async function getAgent(visit: Visit): Promise<VisitorAgent> {
  const agent = await visit.findAgent();
  if (agent === undefined) throw notFoundHere();
  return agent;
}

export const askerOf = ({ session, customer }: Visit, { id }: VisitorAgent) => ({
  ...{ visitor: session.email, customer, agentId: id },
});

/** Days begin at midnight, by UTC. */
export function limitReached(now: Date): AskProblem {
  const nextDay = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + 1);
  return { code: 'limit', at: new Date(nextDay).toISOString() };
}

const failures: Readonly<Record<string, AskFailure>> = {
  access_lost: 'access',
  access_unknown: 'incomplete',
  refused: 'declined',
  'rate-limited': 'busy',
  unavailable: 'busy',
  'limit-reached': 'too_much',
  'too-long': 'too_much',
};

function toTurn(visit: Visit, question: VisitorMessage, answer: VisitorMessage | undefined): AskTurn {
  const { content = '', status = 'running', error = null, sources = [] } = answer ?? {};
  return {
    question: question.content,
    askedAt: question.created_at.toISOString(),
    html: toPlainHtml(content),
    sources: sources
      .filter(({ recordType }) => findShown(visit, recordType) !== undefined)
      .map(({ recordType, id, label }) => ({ label, href: recordAddress(visit, recordType, id) })),
    isRunning: status === 'running',
    failure: status === 'failed' || status === 'canceled' ? (failures[error?.code ?? ''] ?? 'failed') : null,
  };
}

const toTurns = (visit: Visit, messages: readonly VisitorMessage[]): AskTurn[] =>
  messages.flatMap((message, at) =>
    message.role === 'user' ? [toTurn(visit, message, messages[at + 1])] : [],
  );

/** What decides whether the page has to be loaded again. */
export const stateOf = (messages: readonly VisitorMessage[]): string => {
  const newest = messages.at(-1);
  return newest === undefined ? '' : `${newest.id}-${newest.status}-${newest.content.length}`;
};

/** Throws 404 where no agent answers visitors. */
export async function readAskPage(
  visit: Visit,
  typed = '',
  problem: AskProblem | null = null,
): Promise<AskPage> {
  const agent = await getAgent(visit);
  const { session, site } = visit;
  // Conversations are those of the visitor alone: a member who sees the portal as the visitor sees none.
  const isOwn = session.viewer_id === null;
  const { messages, asked } = isOwn
    ? await readVisitorConversation(visit.ctx, askerOf(visit, agent))
    : { messages: [], asked: 0 };
  const turns = toTurns(visit, messages);
  const address = `${site.base}/ask`;
  const left = Math.max(0, perDayOf(visit) - asked);
  return {
    kind: 'ask',
    ...{ address, turns, typed, left },
    problem: problem ?? (left === 0 ? limitReached(visit.ctx.clock.now()) : null),
    maxLength: maxQuestionLength,
    events: turns.at(-1)?.isRunning === true ? `${address}/events?seen=${stateOf(messages)}` : null,
    canAsk: isOwn,
  };
}
