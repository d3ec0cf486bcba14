// A POST repeated with the same Idempotency-Key gets the stored response of the first one. Stored for 24 h per credential and route, for
// the organization, or for the person on routes outside an organization. 401, 403, 429 and 5xx are never stored, since retrying is then the
// right thing to do. The process that works on a key holds it under a lease, and each write is recorded with the key in the transaction
// that makes it, so that no retry repeats what a crashed process had already done.
import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Knex } from 'knex';
import type { CallerCtx, IdempotencyClaim } from '../core/ctx.ts';
import { AppError, invalid } from '../core/errors.ts';
import { createId } from '../core/id.ts';
import { startLeaseRenewal } from '../core/lease.ts';
import { isTransientError } from '../db/pg-errors.ts';
import { inTransaction, type Tx } from '../db/transaction.ts';
import { authorizeAndParse, invoke, type RawInput, type Route, type RouteResponse, successStatus } from './route.ts';

/** How long a key stays claimed by a process that no longer renews its lease. */
const leaseMs = 15_000;
/** Longer than the lease: a client that retries at once after a process crashed still gets a response. */
const waitMs = 20_000;
const pollMs = 100;
const saveRetryMs = 500;
const validKey = /^[\x21-\x7e]{1,255}$/;

type Done = { action: string; target: { type: string; id: string | null } };
type KeyRow = { request_hash: Buffer; status: number | null; body: unknown; done: Done | null; locked: boolean; old: boolean };
type Claim = { readonly kind: 'mine' } | { readonly kind: 'stored'; readonly response: RouteResponse } | { readonly kind: 'busy' };

const keyReused = (): AppError =>
  invalid('This Idempotency-Key was already used for a different request', [
    { path: 'Idempotency-Key', code: 'key_reused', message: 'Use a new key for each new request' },
  ]);

const responseLost = ({ action, target }: Done): AppError =>
  invalid('The first request with this Idempotency-Key was carried out, but its response was lost', [
    { path: 'Idempotency-Key', code: 'answer_lost', message: `Already done: ${action} ${target.id ?? target.type}` },
  ]);

/** JSON with sorted keys, so that equal bodies have equal text. */
function stableText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(stableText).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, held]) => `${JSON.stringify(key)}:${stableText(held)}`).join()}}`;
}

/** Whose stored responses these are: the organization's, or the person's own for operations outside an organization. */
const scopeOf = ({ caller }: CallerCtx, route: Route): string =>
  route.access === 'person' || caller.principal === undefined ? caller.user.id : caller.principal.organization.id;
const inScope = <T>(ctx: CallerCtx, route: Route, work: (tx: Tx) => Promise<T>): Promise<T> =>
  inTransaction({ db: ctx.db, organizationId: scopeOf(ctx, route) }, work);

const ofKey = 'organization_id = ? and credential_id = ? and route_id = ? and key = ?';

async function claim(ctx: CallerCtx, route: Route, key: string, hash: Buffer, claimId: string): Promise<Claim> {
  const keyValues = [scopeOf(ctx, route), ctx.caller.credential.id, route.id, key];
  return inScope(ctx, route, async (tx) => {
    const { rowCount } = await tx.raw<{ rowCount: number }>(
      `insert into idempotency_keys (organization_id, credential_id, route_id, key, request_hash, claim_id, locked_until)
       values (?, ?, ?, ?, ?, ?, clock_timestamp() + ? * interval '1 millisecond') on conflict do nothing`,
      [...keyValues, hash, claimId, leaseMs],
    );
    if (rowCount === 1) return { kind: 'mine' };
    // A locked row is skipped: a transaction is writing it, or another process is taking the key over.
    const { rows } = await tx.raw<{ rows: KeyRow[] }>(
      `select request_hash, status, body, done, locked_until > clock_timestamp() as locked, created_at < now() - interval '24 hours' as old
       from idempotency_keys where ${ofKey} for update skip locked`,
      keyValues,
    );
    const held = rows[0];
    if (held === undefined) return { kind: 'busy' };
    const isLost = held.status === null && !held.locked;
    if (!held.old && !(isLost && held.done === null)) {
      if (!held.request_hash.equals(hash)) throw keyReused();
      if (held.status !== null) return { kind: 'stored', response: { status: held.status, body: held.body ?? undefined } };
      if (!isLost || held.done === null) return { kind: 'busy' };
      const response = toStoredResponse(responseLost(held.done), ctx.requestId);
      if (response === null) throw responseLost(held.done);
      await saveResponse(tx, keyValues, response.status, response.body);
      return { kind: 'stored', response };
    }
    await tx.raw(
      `update idempotency_keys set request_hash = ?, claim_id = ?, locked_until = clock_timestamp() + ? * interval '1 millisecond',
         status = null, body = null, done = null, created_at = now() where ${ofKey}`,
      [hash, claimId, leaseMs, ...keyValues],
    );
    return { kind: 'mine' };
  });
}

/** Skips the row while the handler's own write locks it: the lock then protects the key as a lease does. */
const renew = (ctx: CallerCtx, route: Route, claimId: string): Promise<unknown> =>
  inScope(ctx, route, (tx) =>
    tx.raw(
      `update idempotency_keys set locked_until = clock_timestamp() + ? * interval '1 millisecond'
       where claim_id in (select claim_id from idempotency_keys where claim_id = ? and status is null for update skip locked)`,
      [leaseMs, claimId],
    ),
  );

const saveResponse = (tx: Tx, keyValues: readonly string[], status: number, body: unknown): Promise<unknown> =>
  tx.raw(`update idempotency_keys set status = ?, body = ?::jsonb, locked_until = null, done = null where ${ofKey}`, [
    status,
    body === undefined ? null : JSON.stringify(body),
    ...keyValues,
  ]);

/** `retry`: there is no response to store, and the request may be repeated unless it wrote something. */
type Outcome = { readonly response: RouteResponse | null } | 'retry';

async function saveOutcome(ctx: CallerCtx, route: Route, key: string, claimId: string, outcome: Outcome): Promise<void> {
  const keyValues = [scopeOf(ctx, route), ctx.caller.credential.id, route.id, key];
  await inScope(ctx, route, async (tx) => {
    // A COMMIT whose confirmation was lost may still be in progress: wait for its row lock.
    const { rows } = await tx.raw<{ rows: { done: Done | null }[] }>('select done from idempotency_keys where claim_id = ? for update', [
      claimId,
    ]);
    const [held] = rows;
    if (held === undefined) return;
    if (outcome === 'retry' && held.done !== null)
      await tx.raw(`update idempotency_keys set locked_until = now() where ${ofKey}`, keyValues);
    else if (outcome === 'retry' || outcome.response === null) await tx.raw(`delete from idempotency_keys where ${ofKey}`, keyValues);
    else {
      const { status, body } = outcome.response;
      const once = status < 300 ? (route.shownOnce ?? []) : [];
      const secrets = Object.fromEntries(once.map((name) => [name, null]));
      await saveResponse(tx, keyValues, status, body === undefined ? undefined : { ...body, ...secrets });
    }
  });
}

/** Errors about the request itself are stored like any other response. Null for those that a retry may change. */
function toStoredResponse(error: unknown, requestId: string): RouteResponse | null {
  if (!(error instanceof AppError) || error.status >= 500 || [401, 403, 429].includes(error.status)) return null;
  return {
    status: error.status,
    body: { error: { code: error.code, message: error.message, ...(error.details.length > 0 && { details: error.details }), requestId } },
  };
}

/**
 * Runs the handler once per key, or returns the stored response; `replayed` tells which. A null response means that the request may be
 * repeated under its key. Throws 400 for a malformed key, 422 when the key was used for a different request (`key_reused`), when the first
 * request still runs after 20 s (`still_running`) or its response was lost (`answer_lost`), and what the handler throws.
 */
export async function runOnce(
  ctx: CallerCtx,
  route: Route,
  key: string,
  body: unknown,
  params: unknown,
  handle: (ctx: CallerCtx) => Promise<RouteResponse | null>,
): Promise<{ response: RouteResponse | null; replayed: boolean }> {
  if (!validKey.test(key)) {
    throw new AppError('BAD_REQUEST', 'Idempotency-Key must be 1 to 255 visible ASCII characters', {
      details: [{ path: 'Idempotency-Key', code: 'malformed', message: 'must be 1 to 255 visible ASCII characters' }],
    });
  }
  const hash = createHash('sha256')
    .update(stableText([params, body ?? null]))
    .digest();
  const claimId = createId();
  const deadlineMs = ctx.clock.monotonicMs() + waitMs;
  for (;;) {
    const state = await claim(ctx, route, key, hash, claimId);
    if (state.kind === 'stored') return { response: state.response, replayed: true };
    if (state.kind === 'mine') break;
    if (ctx.clock.monotonicMs() >= deadlineMs) {
      throw invalid('A request with this Idempotency-Key is still running', [
        { path: 'Idempotency-Key', code: 'still_running', message: 'Wait until the first request has finished, then try again' },
      ]);
    }
    await delay(pollMs);
  }
  const response = await runUnderLease(ctx, route, key, claimId, handle);
  return { response, replayed: false };
}

/** Runs the handler under the lease of its key and stores its response. */
async function runUnderLease(
  ctx: CallerCtx,
  route: Route,
  key: string,
  claimId: string,
  handle: (ctx: CallerCtx) => Promise<RouteResponse | null>,
): Promise<RouteResponse | null> {
  // A response that can't be stored is still sent; a retry then gets `answer_lost`.
  const save = (outcome: Outcome): Promise<void> =>
    saveOutcome(ctx, route, key, claimId, outcome).catch((error: unknown) => {
      ctx.log.warn({ err: error }, 'a response could not be stored under its Idempotency-Key');
      if (isTransientError(error))
        setTimeout(() => void (ctx.clock.monotonicMs() < leaseEndMs ? save(outcome) : undefined), saveRetryMs).unref();
    });
  let isHeld = true;
  /** When the lease ends and another process may take the key over. */
  let leaseEndMs = Number.POSITIVE_INFINITY;
  const keyClaim: IdempotencyClaim = { id: claimId, isHeld: () => isHeld };
  const release = startLeaseRenewal(
    leaseMs,
    () => renew(ctx, route, claimId),
    (error) => ctx.log.warn({ err: error }, 'the lease of an Idempotency-Key could not be renewed'),
  );
  try {
    const response = await handle({ ...ctx, claim: keyClaim });
    isHeld = false;
    leaseEndMs = ctx.clock.monotonicMs() + leaseMs;
    await save({ response });
    return response;
  } catch (error) {
    isHeld = false;
    leaseEndMs = ctx.clock.monotonicMs() + leaseMs;
    const response = toStoredResponse(error, ctx.requestId);
    await save(response === null ? 'retry' : { response });
    throw error;
  } finally {
    release();
  }
}

/** `invoke`, which replays the stored response when a POST is repeated under the same key. Throws as `invoke` and `runOnce` do. */
export async function invokeOnce(
  route: Route,
  ctx: CallerCtx,
  raw: RawInput,
  key: string | undefined,
): Promise<{ response: RouteResponse; replayed: boolean }> {
  let replayed = false;
  const response = await invoke(route, ctx, raw, async (handle) => {
    if (route.method !== 'POST' || key === undefined) return handle(ctx);
    const result = await runOnce(ctx, route, key, raw.body, raw.params, handle);
    replayed = result.replayed;
    if (result.response === null) throw new Error('an operation returned no response');
    return result.response;
  });
  return { response, replayed };
}

/**
 * The same for a response that `serve` streams; it resolves with the result to store, or undefined when the stream ended early. Returns
 * the stored response of a repeated request, for which `serve` is not called, and null otherwise. Throws what authorizing,
 * parsing, `serve` and `runOnce` throw.
 */
export async function streamOnce(
  route: Route,
  ctx: CallerCtx,
  raw: RawInput,
  key: string | undefined,
  serve: (input: unknown, ctx: CallerCtx) => Promise<unknown>,
): Promise<RouteResponse | null> {
  const input = authorizeAndParse(route, ctx, raw);
  if (route.method !== 'POST' || key === undefined) {
    await serve(input, ctx);
    return null;
  }
  const { response, replayed } = await runOnce(ctx, route, key, raw.body, raw.params, async (keyCtx) => {
    const served = await serve(input, keyCtx);
    return served === undefined ? null : { status: successStatus(route), body: route.response?.parse(served) };
  });
  return replayed ? response : null;
}

/**
 * Releases the keys of requests that started at or before `before` and have no response yet: a request that had written nothing may be
 * repeated, and a retry of one that had gets `answer_lost`. Returns their number. Needs the role that owns the tables.
 */
export async function releaseUnfinishedRequests(owner: Knex, before: Date): Promise<number> {
  const unfinished = () => owner('idempotency_keys').whereNull('status').where('created_at', '<=', before);
  const written = await unfinished()
    .whereNotNull('done')
    .update({ locked_until: owner.raw('clock_timestamp()') });
  return written + (await unfinished().whereNull('done').delete());
}
