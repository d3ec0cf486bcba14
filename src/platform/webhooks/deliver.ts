// One turn of an endpoint: its messages are brought up to date and sent, one message after the other, until an
// attempt fails. How long it then waits is kept per endpoint, so that a receiver that is down isn't called for each message.
import type { Ctx, ReadingCtx } from '../../core/ctx.ts';
import { type JobWorker, startJobWorker } from '../../db/job-worker.ts';
import { finishJob, type Job, lockJob, releaseJob, retryJob } from '../../db/jobs.ts';
import { recordServerTimeline } from '../../db/server-timeline.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { systemAuthor, writeAudit } from '../../identity/audit.store.ts';
import { recordsChanged } from '../../webhooks/index.ts';
import { composeRecordMessages, type Follower, findReads, type WebhookCtx } from './compose.ts';
import { enqueueDisabledMails } from './disabled-mail.ts';
import * as endpoints from './endpoints.store.ts';
import * as messages from './messages.store.ts';
import { type Outcome, sendMessage } from './send.ts';

const [second, minute, hour] = [1_000, 60_000, 3_600_000];
/** Before the second and each further attempt. A message ends with the last one; changed records don't. */
const retryDelaysMs = [
  ...[5 * second, 5 * minute, 30 * minute, 2 * hour, 5 * hour],
  ...[10 * hour, 14 * hour, 20 * hour, 24 * hour],
];
const maxRetryMs = 24 * hour;
/** An endpoint that fails for so long is disabled. */
const givenUpAfterMs = 5 * 24 * hour;
/** An endpoint that follows records looks by itself as often: no wake-up is needed for what it misses. */
const lookEveryMs = 5 * minute;
/** Of one turn, so that other endpoints get theirs. */
const maxMessages = 20;
const maxTurnMs = 20 * second;

const defaults = { pollMs: 2_000, leaseMs: minute };
/** Many: each receiver may take 15 seconds. */
const concurrency = 200;

const withJitter = (ms: number): number => ms * (0.9 + Math.random() / 5);

export const retryDelayMs = (failures: number): number =>
  withJitter(retryDelaysMs[Math.min(failures, retryDelaysMs.length) - 1] ?? 0);

type Turn = { readonly ctx: WebhookCtx; readonly job: Job; readonly stop: AbortSignal };

async function disable(
  tx: Tx,
  { ctx }: Turn,
  endpoint: endpoints.EndpointRow,
  reason: NonNullable<endpoints.EndpointRow['disabled_reason']>,
): Promise<void> {
  const { organizationId } = ctx;
  await endpoints.updateEndpoint(tx, organizationId, endpoint.id, {
    enabled: false,
    disabled_reason: reason,
  });
  const changes = { enabled: false, disabledReason: reason };
  await writeAudit(tx, systemAuthor(organizationId), 'webhook.disable', ['webhook', endpoint.id], changes);
  await enqueueDisabledMails(tx, ctx, endpoint, reason);
}

/** Undefined when nothing may be sent now; the job is then finished or waits. */
const begin = ({ ctx, job, ...turn }: Turn): Promise<Follower | undefined> =>
  inTransaction(ctx, async (tx) => {
    const { organizationId } = ctx;
    const endpoint = await endpoints.lockEndpointRow(tx, organizationId, job.key);
    if (!(await lockJob(tx, job))) return undefined;
    if (endpoint?.enabled !== true) return void (await finishJob(tx, job));
    const waitMs = (endpoint.waits_until?.getTime() ?? 0) - ctx.clock.now().getTime();
    if (waitMs > 0) return void (await retryJob(tx, job, waitMs));
    const reads = await findReads(tx, organizationId, endpoint);
    if (reads !== undefined) return { endpoint, reads };
    await disable(tx, { ctx, job, ...turn }, endpoint, 'key_ended');
    return void (await finishJob(tx, job));
  });

/**
 * The next message that is due, with the endpoint and what its key reads as they are now; undefined when there is none,
 * the key has ended or the lease was lost. It counts as attempted from now on: when this process dies, the receiver may
 * have it under its id.
 */
const startNext = ({ ctx, job }: Turn) =>
  inTransaction(ctx, async (tx) => {
    const { organizationId } = ctx;
    // A message may have been sent by a lost commit.
    await recordServerTimeline(tx);
    if (!(await lockJob(tx, job))) return undefined;
    const endpoint = await endpoints.findEndpointRow(tx, organizationId, job.key);
    if (endpoint?.enabled !== true) return undefined;
    const reads = await findReads(tx, organizationId, endpoint);
    const message = await messages.findDue(tx, organizationId, endpoint, ctx.clock.now());
    if (reads === undefined || message === undefined) return undefined;
    await messages.updateMessage(tx, organizationId, message.id, { attempts: message.attempts + 1 });
    return { message, follower: { endpoint, reads } };
  });

async function recordFailure(
  tx: Tx,
  { ctx }: Turn,
  endpoint: endpoints.EndpointRow,
  { id, resource, attempts }: messages.MessageRow,
  askedMs: number,
): Promise<void> {
  const made = attempts + 1;
  const retryInMs = Math.min(maxRetryMs, askedMs);
  const at = ctx.clock.now();
  const isDead = resource === null && made > retryDelaysMs.length;
  await messages.updateMessage(tx, ctx.organizationId, id, {
    ...(isDead
      ? { status: 'failed', ended_at: at }
      : { due_at: new Date(at.getTime() + Math.max(retryInMs, retryDelayMs(made))) }),
  });
  const failures = endpoint.failures + 1;
  const waitMs = Math.min(maxRetryMs, Math.max(retryInMs, retryDelayMs(failures)));
  await endpoints.updateEndpoint(tx, ctx.organizationId, endpoint.id, {
    failures,
    failing_since: endpoint.failing_since ?? at,
    waits_until: new Date(at.getTime() + waitMs),
  });
}

/** Whether the turn goes on. Writes nothing once the lease was lost. */
const record = (turn: Turn, message: messages.MessageRow, outcome: Outcome): Promise<boolean> =>
  inTransaction(turn.ctx, async (tx) => {
    const { ctx, job } = turn;
    const { organizationId } = ctx;
    const endpoint = await endpoints.lockEndpointRow(tx, organizationId, job.key);
    if (endpoint === undefined || !(await lockJob(tx, job))) return false;
    const { isDelivered, isGone, retryAfterMs, ...attempt } = outcome;
    await messages.insertAttempt(tx, organizationId, message, attempt);
    if (isDelivered) {
      const { id, resource, next_since: next } = message;
      // A replay, or a change of the endpoint, has withdrawn it meanwhile.
      const isWanted = await messages.endWaiting(tx, organizationId, id, attempt.started_at);
      if (isWanted && resource !== null)
        await endpoints.savePosition(tx, organizationId, job.key, resource, next);
      if (endpoint.failing_since !== null)
        await endpoints.updateEndpoint(tx, organizationId, job.key, endpoints.well);
      return true;
    }
    await recordFailure(tx, turn, endpoint, message, retryAfterMs);
    const failingForMs = ctx.clock.now().getTime() - (endpoint.failing_since ?? ctx.clock.now()).getTime();
    if (isGone) await disable(tx, turn, endpoint, 'gone');
    else if (failingForMs >= givenUpAfterMs) await disable(tx, turn, endpoint, 'failing');
    return false;
  });

/** Sends what is due. True when more may be due. */
async function sendDue(turn: Turn): Promise<boolean> {
  const { clock } = turn.ctx;
  const endMs = clock.monotonicMs() + maxTurnMs;
  for (let sent = 0; sent < maxMessages && clock.monotonicMs() < endMs; sent += 1) {
    const next = await startNext(turn);
    if (next === undefined) return false;
    const outcome = await sendMessage(turn.ctx, next.follower, next.message, turn.stop);
    if (!(await record(turn, next.message, outcome))) return false;
  }
  return true;
}

/** The job waits for the next message, retry or look; without any it is done. */
const end = ({ ctx, job }: Turn, lookInMs: number, isUnfinished: boolean): Promise<unknown> =>
  inTransaction(ctx, async (tx) => {
    const { organizationId } = ctx;
    const endpoint = await endpoints.findEndpointRow(tx, organizationId, job.key);
    if (endpoint?.enabled !== true) return finishJob(tx, job);
    if (isUnfinished) return retryJob(tx, job, 0);
    const now = ctx.clock.now().getTime();
    const due = (await messages.findNextDue(tx, organizationId, job.key))?.getTime();
    const waitMs = Math.max((due ?? now) - now, (endpoint.waits_until?.getTime() ?? 0) - now, 0);
    const looks = endpoint.events.includes(recordsChanged);
    if (due === undefined && !looks) return finishJob(tx, job);
    return retryJob(tx, job, due === undefined ? lookInMs : looks ? Math.min(waitMs, lookInMs) : waitMs);
  });

async function takeTurn(turn: Turn): Promise<void> {
  const follower = await begin(turn);
  if (follower === undefined) return;
  try {
    const isComplete = await composeRecordMessages(turn.ctx, turn.job, follower);
    await end(turn, isComplete ? lookEveryMs : minute, await sendDue(turn));
  } catch (error) {
    if (!turn.stop.aborted) throw error;
    await inTransaction(turn.ctx, (tx) => releaseJob(tx, turn.job));
  }
}

/** Sends messages to endpoints. Any number of processes may: each endpoint is a job. */
export const startWebhooks = (ctx: ReadingCtx & Ctx, options: Partial<typeof defaults> = {}): JobWorker =>
  startJobWorker(ctx, {
    ...defaults,
    ...options,
    kind: 'webhooks',
    concurrency,
    work: (job, stop) => takeTurn({ ctx: { ...ctx, organizationId: job.organizationId }, job, stop }),
  });
