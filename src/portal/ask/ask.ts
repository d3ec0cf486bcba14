// The form that asks a question. It is answered in the background, whether or not the visitor waits, under what the
// visitor may see at each moment.
import { type RequestHandler, urlencoded } from 'express';
import { z } from 'zod';
import { AppError } from '../../core/errors.ts';
import { parseForm } from '../../http/sign-in/browser.ts';
import { answerVisitor, findVisitorAccess, startVisitorAnswer } from '../../platform/index.ts';
import type { AskPage, AskProblem } from '../ask-model.ts';
import { type At, assertOwnForm } from '../room.ts';
import { assertVisitor, notFoundHere, type Visit } from '../visit.ts';
import { askerOf, getAgent, limitReached, maxQuestionLength, perDayOf, readAskPage } from './ask-page.ts';
import { createReadSources } from './sources.ts';

/** A question in letters that take most room, and some more: what is too long is said in the form. */
export const readAskForm: RequestHandler = urlencoded({ extended: false, limit: 65_536, parameterLimit: 10 });

const AskForm = z.object({ question: z.string().default('') });

const isVisible = (text: string): boolean => /[^\p{Cf}\p{Mn}\p{Z}\p{Cc}]/u.test(text);

/** As it is stored: without characters that text can't have, and lines end as in other texts. */
const toQuestion = (typed: string): string =>
  typed.replaceAll('\r\n', '\n').replaceAll('\0', '').toWellFormed().trim();

const problemsByDetail: Readonly<Record<string, AskProblem['code']>> = {
  daily_limit: 'limit',
  answer_running: 'running',
  credits_exhausted: 'credits',
  credits_held: 'busy',
  agent_not_running: 'unavailable',
};

/** What the form says of an error; undefined for one that the form can't explain. */
function toProblem({ details }: AppError, now: Date): AskProblem | undefined {
  const code = problemsByDetail[details[0]?.code ?? ''];
  if (code === undefined) return undefined;
  if (code === 'limit') return limitReached(now);
  const nextMonth = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1);
  return { code, at: code === 'credits' ? new Date(nextMonth).toISOString() : null };
}

/** Counts what was read once for each record type, as a page that reads them. */
function startAnswering({ room }: At, visit: Visit, answer: () => Promise<ReadonlySet<string>>): void {
  const { ctx, session } = visit;
  const { organizationId } = ctx;
  answer().then(
    (readTypes) => {
      for (const recordType of readTypes)
        room.usage.record({ organizationId, email: session.email, recordType }, 200);
    },
    (error: unknown) => ctx.log.error({ err: error, organizationId }, 'a visitor was not answered'),
  );
}

type Asked = { readonly page: AskPage; readonly status: number } | { readonly seeOther: string };

/**
 * Stores the question and starts to answer it; the form again with what is wrong. Throws 403 for a form of another site
 * and for a member who sees the portal as a visitor would, and 404 where no agent answers visitors.
 */
export async function ask(at: At, visit: Visit): Promise<Asked> {
  const { ctx, site, session, customer } = visit;
  assertOwnForm(at);
  assertVisitor(visit);
  const agent = await getAgent(visit);
  const question = toQuestion(parseForm(AskForm, at.req).question);
  const again = async (problem: AskProblem, status: number): Promise<Asked> => ({
    page: await readAskPage(visit, question.slice(0, maxQuestionLength), problem),
    status,
  });
  if (!isVisible(question)) return again({ code: 'empty', at: null }, 422);
  if (question.length > maxQuestionLength) return again({ code: 'too_long', at: null }, 422);
  const findAccess = () =>
    findVisitorAccess(ctx, agent, { sessionId: session.id, email: session.email, customer });
  const reads = await findAccess();
  if (reads === undefined) throw notFoundHere();
  try {
    const given = { content: question, perDay: perDayOf(visit) };
    const started = await startVisitorAnswer(ctx, askerOf(visit, agent), given);
    startAnswering(at, visit, async () => {
      const { readTypes, ...sources } = createReadSources(agent);
      await answerVisitor(ctx, { reads, findAccess, isCustomer: true, ...sources }, started);
      return readTypes;
    });
    return { seeOther: `${site.base}/ask` };
  } catch (error) {
    const problem = error instanceof AppError ? toProblem(error, ctx.clock.now()) : undefined;
    if (problem === undefined) throw error;
    const retry = error instanceof AppError ? error.headers['Retry-After'] : undefined;
    if (retry !== undefined) at.res.setHeader('Retry-After', retry);
    return again(problem, error instanceof AppError ? error.status : 422);
  }
}
