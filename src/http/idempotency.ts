// A POST repeated with the same Idempotency-Key is answered from the first one's stored answer. Kept 24 h per organization,
// credential and route. 401, 403, 429 and 5xx are never stored: trying again is then the right thing to do. Who works on a key holds it
// under a lease; each write is noted with the key in its own transaction, so that nobody repeats what a lost process had done.
import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Knex } from 'knex';
import type { CallerCtx, KeyClaim } from '../core/ctx.ts';
import { AppError, invalid } from '../core/errors.ts';
import { newId } from '../core/id.ts';
import { keepLease } from '../core/lease.ts';
import { isNotNow } from '../db/pg-errors.ts';
import { inTransaction, type Tx } from '../db/transaction.ts';
import { type Answer, admit, goodStatus, invoke, type RawInput, type Route } from './route.ts';

/** How long a key belongs to a process that says nothing more. */
const leaseMs = 15_000;
/** Longer than the lease: who asks again at once after a process was lost gets an answer. */
const waitMs = 20_000;
const pollMs = 100;
const keepAgainMs = 500;
const acceptable = /^[\x21-\x7e]{1,255}$/;

type Done = { action: string; target: { type: string; id: string | null } };
type Held = { request_hash: Buffer; status: number | null; body: unknown; done: Done | null; locked: boolean; old: boolean };
type Claim = { readonly kind: 'mine' } | { readonly kind: 'stored'; readonly answer: Answer } | { readonly kind: 'busy' };

const sameKeyOtherBody = (): AppError =>
  invalid('This Idempotency-Key was used with another body', [
    { path: 'Idempotency-Key', code: 'key_reused', message: 'Use a new key for a new request' },
  ]);

const answerLost = ({ action, target }: Done): AppError =>
  invalid('The first request with this Idempotency-Key was carried out, but its answer was lost', [
    { path: 'Idempotency-Key', code: 'answer_lost', message: `It was done once: ${action} ${target.id ?? target.type}` },
  ]);

function stableText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(stableText).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, held]) => `${JSON.stringify(key)}:${stableText(held)}`).join()}}`;
}

/** Whose answers these are: the organization's, or the person's own for what concerns no organization. */
const scopeOf = ({ caller }: CallerCtx, route: Route): string =>
  route.access === 'person' || caller.principal === undefined ? caller.user.id : caller.principal.organization.id;
const inScope = <T>(ctx: CallerCtx, route: Route, work: (tx: Tx) => Promise<T>): Promise<T> =>
  inTransaction({ db: ctx.db, organizationId: scopeOf(ctx, route) }, work);

const ofKey = 'organization_id = ? and credential_id = ? and route_id = ? and key = ?';

async function claim(ctx: CallerCtx, route: Route, key: string, hash: Buffer, claimId: string): Promise<Claim> {
  const where = [scopeOf(ctx, route), ctx.caller.credential.id, route.id, key];
  return inScope(ctx, route, async (tx) => {
    const { rowCount } = await tx.raw<{ rowCount: number }>(
      `insert into idempotency_keys (organization_id, credential_id, route_id, key, request_hash, claim_id, locked_until)
       values (?, ?, ?, ?, ?, ?, clock_timestamp() + ? * interval '1 millisecond') on conflict do nothing`,
      [...where, hash, claimId, leaseMs],
    );
    if (rowCount === 1) return { kind: 'mine' };
    // Locked by the transaction that writes, or by who takes it over just now.
    const { rows } = await tx.raw<{ rows: Held[] }>(
      `select request_hash, status, body, done, locked_until > clock_timestamp() as locked, created_at < now() - interval '24 hours' as old
       from idempotency_keys where ${ofKey} for update skip locked`,
      where,
    );
    const held = rows[0];
    if (held === undefined) return { kind: 'busy' };
    const isLost = held.status === null && !held.locked;
    if (!held.old && !(isLost && held.done === null)) {
      if (!held.request_hash.equals(hash)) throw sameKeyOtherBody();
      if (held.status !== null) return { kind: 'stored', answer: { status: held.status, body: held.body ?? undefined } };
      if (!isLost || held.done === null) return { kind: 'busy' };
      const answer = storable(answerLost(held.done), ctx.requestId);
      if (answer === null) throw answerLost(held.done);
      await keepAnswer(tx, where, answer.status, answer.body);
      return { kind: 'stored', answer };
    }
    await tx.raw(
      `update idempotency_keys set request_hash = ?, claim_id = ?, locked_until = clock_timestamp() + ? * interval '1 millisecond',
         status = null, body = null, done = null, created_at = now() where ${ofKey}`,
      [hash, claimId, leaseMs, ...where],
    );
    return { kind: 'mine' };
  });
}

/** Not while the write itself holds the row: it is as good as a lease then. */
const renew = (ctx: CallerCtx, route: Route, claimId: string): Promise<unknown> =>
  inScope(ctx, route, (tx) =>
    tx.raw(
      `update idempotency_keys set locked_until = clock_timestamp() + ? * interval '1 millisecond'
       where claim_id in (select claim_id from idempotency_keys where claim_id = ? and status is null for update skip locked)`,
      [leaseMs, claimId],
    ),
  );

const keepAnswer = (tx: Tx, where: readonly string[], status: number, body: unknown): Promise<unknown> =>
  tx.raw(`update idempotency_keys set status = ?, body = ?::jsonb, locked_until = null, done = null where ${ofKey}`, [
    status,
    body === undefined ? null : JSON.stringify(body),
    ...where,
  ]);

/** `again`: nothing was answered, and the request may be made again, unless it wrote something. */
type End = { readonly answer: Answer | null } | 'again';

async function settle(ctx: CallerCtx, route: Route, key: string, claimId: string, end: End): Promise<void> {
  const where = [scopeOf(ctx, route), ctx.caller.credential.id, route.id, key];
  await inScope(ctx, route, async (tx) => {
    // A COMMIT whose answer was lost may still be under way: its row is waited for.
    const { rows } = await tx.raw<{ rows: { done: Done | null }[] }>('select done from idempotency_keys where claim_id = ? for update', [
      claimId,
    ]);
    const [held] = rows;
    if (held === undefined) return;
    if (end === 'again' && held.done !== null) await tx.raw(`update idempotency_keys set locked_until = now() where ${ofKey}`, where);
    else if (end === 'again' || end.answer === null) await tx.raw(`delete from idempotency_keys where ${ofKey}`, where);
    else {
      const { status, body } = end.answer;
      const once = status < 300 ? (route.writeOnce ?? []) : [];
      const secrets = Object.fromEntries(once.map((name) => [name, null]));
      await keepAnswer(tx, where, status, body === undefined ? undefined : { ...body, ...secrets });
    }
  });
}

/** An error that says something about the request itself is an answer like any other, and is kept. */
function storable(error: unknown, requestId: string): Answer | null {
  if (!(error instanceof AppError) || error.status >= 500 || [401, 403, 429].includes(error.status)) return null;
  return {
    status: error.status,
    body: { error: { code: error.code, message: error.message, ...(error.details.length > 0 && { details: error.details }), requestId } },
  };
}

/**
 * Runs the handler once per key, or gives the stored answer. `replayed` tells the caller which it was. Null is no answer: the request
 * may be made again under its key.
 */
export async function once(
  ctx: CallerCtx,
  route: Route,
  key: string,
  body: unknown,
  params: unknown,
  handle: (ctx: CallerCtx) => Promise<Answer | null>,
): Promise<{ answer: Answer | null; replayed: boolean }> {
  if (!acceptable.test(key)) {
    throw new AppError('BAD_REQUEST', 'Idempotency-Key must be 1 to 255 visible ASCII characters', {
      details: [{ path: 'Idempotency-Key', code: 'malformed', message: 'must be 1 to 255 visible ASCII characters' }],
    });
  }
  const hash = createHash('sha256')
    .update(stableText([params, body ?? null]))
    .digest();
  const claimId = newId();
  const deadlineMs = ctx.clock.monotonicMs() + waitMs;
  for (;;) {
    const state = await claim(ctx, route, key, hash, claimId);
    if (state.kind === 'stored') return { answer: state.answer, replayed: true };
    if (state.kind === 'mine') break;
    if (ctx.clock.monotonicMs() >= deadlineMs) {
      throw invalid('A request with this Idempotency-Key is still running', [
        { path: 'Idempotency-Key', code: 'still_running', message: 'Wait for the first request to end' },
      ]);
    }
    await delay(pollMs);
  }
  const answer = await holding(ctx, route, key, claimId, handle);
  return { answer, replayed: false };
}

/** Runs the handler under the lease of its key, and keeps what it answers. */
async function holding(
  ctx: CallerCtx,
  route: Route,
  key: string,
  claimId: string,
  handle: (ctx: CallerCtx) => Promise<Answer | null>,
): Promise<Answer | null> {
  // What was done is done: an answer that can't be stored is still given, and who asks again is told that it was done.
  const keep = (end: End): Promise<void> =>
    settle(ctx, route, key, claimId, end).catch((error: unknown) => {
      ctx.log.warn({ err: error }, 'an answer could not be kept for repetition');
      if (isNotNow(error)) setTimeout(() => void (ctx.clock.monotonicMs() < lostMs ? keep(end) : undefined), keepAgainMs).unref();
    });
  let isHeld = true;
  /** When nobody waits for this process any more. */
  let lostMs = Number.POSITIVE_INFINITY;
  const kept: KeyClaim = { id: claimId, isHeld: () => isHeld };
  const release = keepLease(
    leaseMs,
    () => renew(ctx, route, claimId),
    (error) => ctx.log.warn({ err: error }, 'the lease of an Idempotency-Key could not be renewed'),
  );
  try {
    const answer = await handle({ ...ctx, claim: kept });
    isHeld = false;
    lostMs = ctx.clock.monotonicMs() + leaseMs;
    await keep({ answer });
    return answer;
  } catch (error) {
    isHeld = false;
    lostMs = ctx.clock.monotonicMs() + leaseMs;
    const answer = storable(error, ctx.requestId);
    await keep(answer === null ? 'again' : { answer });
    throw error;
  } finally {
    release();
  }
}

/** `invoke`, with the stored answer where a POST is repeated under the same key. */
export async function invokeOnce(
  route: Route,
  ctx: CallerCtx,
  raw: RawInput,
  key: string | undefined,
): Promise<{ answer: Answer; replayed: boolean }> {
  let replayed = false;
  const answer = await invoke(route, ctx, raw, async (handle) => {
    if (route.method !== 'POST' || key === undefined) return handle(ctx);
    const kept = await once(ctx, route, key, raw.body, raw.params, handle);
    replayed = kept.replayed;
    if (kept.answer === null) throw new Error('an operation gave no answer');
    return kept.answer;
  });
  return { answer, replayed };
}

/**
 * The same for an answer that `serve` streams: it gives what is to be kept, or undefined where the stream broke off. Gives the stored
 * answer of a repeated request, which was not served, and null otherwise.
 */
export async function streamOnce(
  route: Route,
  ctx: CallerCtx,
  raw: RawInput,
  key: string | undefined,
  serve: (input: unknown, ctx: CallerCtx) => Promise<unknown>,
): Promise<Answer | null> {
  const input = admit(route, ctx, raw);
  if (route.method !== 'POST' || key === undefined) {
    await serve(input, ctx);
    return null;
  }
  const { answer, replayed } = await once(ctx, route, key, raw.body, raw.params, async (held) => {
    const served = await serve(input, held);
    return served === undefined ? null : { status: goodStatus(route), body: route.response?.parse(served) };
  });
  return replayed ? answer : null;
}

/**
 * Frees the keys of requests that had begun by then and have no answer yet: what had written nothing may be made again, and of what had, its
 * write is known. Says how many. For the owner of the tables alone.
 */
export async function freeBegunRequests(owner: Knex, before: Date): Promise<number> {
  const begun = () => owner('idempotency_keys').whereNull('status').where('created_at', '<=', before);
  const written = await begun()
    .whereNotNull('done')
    .update({ locked_until: owner.raw('clock_timestamp()') });
  return written + (await begun().whereNull('done').delete());
}
