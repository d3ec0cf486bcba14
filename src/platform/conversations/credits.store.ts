// What agents may still spend this month (UTC), and who is spending it. The ledger has one row for each answered message; what running
// answers hold stands beside it until they are settled. Nobody takes credits without the organization's lock.
import type { Ctx } from '../../core/ctx.ts';
import { newId } from '../../core/id.ts';
import type { Tx } from '../../db/transaction.ts';

export type Balance = { readonly month: string; readonly used: number; readonly held: number; readonly resetsAt: Date };

export async function readBalance(tx: Tx, organizationId: string): Promise<Balance> {
  const { rows } = await tx.raw<{ rows: { month: string; used: string; held: string; resets_at: Date }[] }>(
    `select m.month, (m.month + interval '1 month') at time zone 'UTC' as resets_at,
            (select coalesce(sum(e.credits), 0) from agent_credit_entries e where e.organization_id = :id and e.month = m.month) as used,
            (select coalesce(sum(r.credits), 0) from running_answers r where r.organization_id = :id and r.month = m.month) as held
     from (select date_trunc('month', clock_timestamp() at time zone 'UTC')::date as month) as m`,
    { id: organizationId },
  );
  const [row] = rows;
  if (row === undefined) throw new Error('the credits were not counted');
  return { month: row.month, used: Number(row.used), held: Number(row.held), resetsAt: row.resets_at };
}

/** Until the end of the transaction nobody else takes credits of the organization. */
export const lockCredits = (tx: Tx, organizationId: string) =>
  tx.raw('select pg_advisory_xact_lock(hashtextextended(?, 0))', [`agent-credits:${organizationId}`]);

export type RunningAnswer = {
  readonly messageId: string;
  readonly conversationId: string;
  readonly agentId: string;
  readonly month: string;
  readonly credits: number;
};

/** Violates `one_answer_at_a_time` while another message of the conversation is being answered. */
export const holdCredits = (
  tx: Tx,
  organizationId: string,
  { messageId, conversationId, agentId, month, credits }: RunningAnswer,
  leaseMs: number,
) =>
  tx('running_answers').insert({
    message_id: messageId,
    organization_id: organizationId,
    conversation_id: conversationId,
    agent_id: agentId,
    month,
    credits,
    lease_until: tx.raw('clock_timestamp() + make_interval(secs => ?)', [leaseMs / 1_000]),
  });

/** False when the answer belongs to this process no more. */
export async function renewLease(tx: Tx, organizationId: string, messageId: string, leaseMs: number): Promise<boolean> {
  const renewed = await tx('running_answers')
    .where({ organization_id: organizationId, message_id: messageId })
    .update({ lease_until: tx.raw('clock_timestamp() + make_interval(secs => ?)', [leaseMs / 1_000]) });
  return renewed === 1;
}

type Spent = { readonly credits: number; readonly inputTokens: number; readonly outputTokens: number };

/** Gives back what was held and enters what was spent. False when another has done so already. */
export async function settleCredits(tx: Tx, organizationId: string, answer: RunningAnswer, spent: Spent): Promise<boolean> {
  const held = await tx('running_answers').where({ organization_id: organizationId, message_id: answer.messageId }).delete();
  if (held === 0) return false;
  await tx('agent_credit_entries').insert({
    id: newId(),
    organization_id: organizationId,
    month: answer.month,
    credits: spent.credits,
    kind: 'message',
    message_id: answer.messageId,
    agent_id: answer.agentId,
    input_tokens: spent.inputTokens,
    output_tokens: spent.outputTokens,
  });
  return true;
}

/** Fails the messages, of whatever organization, whose process is gone, and frees what was held for them. */
export const endLostAnswers = async (ctx: Pick<Ctx, 'db'>): Promise<void> => {
  await ctx.db.control.raw('select end_lost_answers()');
};
