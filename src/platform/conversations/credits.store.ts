// Monthly (UTC) agent credits. The ledger agent_credit_entries has one row per answered message;
// running_answers holds the credits reserved by running answers until these are charged. Reserve credits only
// under the organization's advisory lock.
import type { Ctx } from '../../core/ctx.ts';
import { createId } from '../../core/id.ts';
import type { Tx } from '../../db/transaction.ts';

export type Balance = {
  readonly month: string;
  readonly used: number;
  readonly reserved: number;
  readonly resetsAt: Date;
};

/** Credits used and reserved in the current month. Throws only if PostgreSQL returns no row. */
export async function readBalance(tx: Tx, organizationId: string): Promise<Balance> {
  const { rows } = await tx.raw<{
    rows: { month: string; used: string; reserved: string; resets_at: Date }[];
  }>(
    `select m.month, (m.month + interval '1 month') at time zone 'UTC' as resets_at,
            (select coalesce(sum(e.credits), 0) from agent_credit_entries e where e.organization_id = :id and e.month = m.month) as used,
            (select coalesce(sum(r.credits), 0) from running_answers r where r.organization_id = :id and r.month = m.month) as reserved
     from (select date_trunc('month', clock_timestamp() at time zone 'UTC')::date as month) as m`,
    { id: organizationId },
  );
  const [row] = rows;
  if (row === undefined) throw new Error('the credits were not counted');
  return {
    month: row.month,
    used: Number(row.used),
    reserved: Number(row.reserved),
    resetsAt: row.resets_at,
  };
}

/** Advisory lock per organization until the transaction ends; required for reserving credits. */
export const lockCredits = (tx: Tx, organizationId: string) =>
  tx.raw('select pg_advisory_xact_lock(hashtextextended(?, 0))', [`agent-credits:${organizationId}`]);

export type RunningAnswer = {
  readonly messageId: string;
  readonly conversationId: string;
  readonly agentId: string;
  readonly month: string;
  readonly credits: number;
};

/** Rejects with `one_answer_at_a_time` while another message of the conversation is being answered. */
export const reserveCredits = (
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

/** False when this process no longer owns the answer. */
export async function renewAnswerLease(tx: Tx, organizationId: string, messageId: string, leaseMs: number) {
  const renewed = await tx('running_answers')
    .where({ organization_id: organizationId, message_id: messageId })
    .update({ lease_until: tx.raw('clock_timestamp() + make_interval(secs => ?)', [leaseMs / 1_000]) });
  return renewed === 1;
}

type Spent = { readonly credits: number; readonly inputTokens: number; readonly outputTokens: number };

/** Releases the reservation and enters the spent credits. False when another process has done so already. */
export async function chargeCredits(tx: Tx, organizationId: string, answer: RunningAnswer, spent: Spent) {
  const released = await tx('running_answers')
    .where({ organization_id: organizationId, message_id: answer.messageId })
    .delete();
  if (released === 0) return false;
  await tx('agent_credit_entries').insert({
    id: createId(),
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

/** Fails answers of all organizations whose lease has expired, and releases their reserved credits. */
export const failLostAnswers = async (ctx: Pick<Ctx, 'db'>): Promise<void> => {
  await ctx.db.control.raw('select end_lost_answers()');
};
