// A POST repeated with the same Idempotency-Key gets the stored response of the first one. Stored for 24 h
// per credential and route, for the organization, or for the person on routes outside an organization. 401,
// 403, 429 and 5xx are never stored, since retrying is then the right thing to do. The process that works on
// a key holds it under a lease, and each write is recorded with the key in the transaction that makes it, so
// that no retry repeats what a crashed process had already done.
import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { CallerCtx, IdempotencyClaim } from '../core/ctx.ts';
import { AppError, invalid } from '../core/errors.ts';
import { createId } from '../core/id.ts';
import { startRecurring } from '../core/work/recurring.ts';
import { isTransientError } from '../db/pg-errors.ts';
import {
  claimKey,
  leaseMs,
  type Outcome,
  renewClaim,
  saveOutcome,
  toStoredResponse,
} from './idempotency.store.ts';
import { authorizeAndParse, invoke, type RouteResponse } from './route/invoke.ts';
import { type RawInput, type Route, successStatus } from './route/route.ts';

/** Longer than the lease: a client that retries at once after a process crashed still gets a response. */
const waitMs = 20_000;
const pollMs = 100;
const saveRetryMs = 500;
/** The key of the header's value, which may be quoted as the text of a structured field (RFC 9651). */
export const unquoted = (header: string): string =>
  /^"(?:[^"\\]|\\["\\])*"$/.test(header) ? header.slice(1, -1).replaceAll(/\\(["\\])/g, '$1') : header;

const validKey = /^[\x21-\x7e]{1,255}$/;

/** JSON with sorted keys, so that equal bodies have equal text. */
function stableText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(stableText).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, held]) => `${JSON.stringify(key)}:${stableText(held)}`).join()}}`;
}

/** What the caller may see of records: a stored response that shows some is replayed only if unchanged. */
function describeRecordAccess(
  { caller: { principal } }: CallerCtx,
  { readsRecords, showsRecords }: Route,
): readonly string[] {
  if (readsRecords !== true && showsRecords !== true) return [];
  return [
    ...(principal?.reads.unmasked === true ? [] : ['masked']),
    ...(principal?.permissions.has('record:read') === true ? [] : ['no records']),
  ];
}

/**
 * Runs the handler once per key, or returns the stored response; `replayed` tells which. A null response
 * means that the request may be repeated under its key. Throws 400 for a malformed key, 422 when the key was
 * used for a different request (`key_reused`), when the first request still runs after 20 s (`still_running`)
 * or its response was lost (`answer_lost`), and what the handler throws.
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
      details: [
        { path: 'Idempotency-Key', code: 'malformed', message: 'must be 1 to 255 visible ASCII characters' },
      ],
    });
  }
  const hash = createHash('sha256')
    .update(stableText([params, body ?? null, ...describeRecordAccess(ctx, route)]))
    .digest();
  const claimId = createId();
  const deadlineMs = ctx.clock.monotonicMs() + waitMs;
  for (;;) {
    const state = await claimKey(ctx, route, key, hash, claimId);
    if (state.kind === 'stored') return { response: state.response, replayed: true };
    if (state.kind === 'mine') break;
    if (ctx.clock.monotonicMs() >= deadlineMs) {
      throw invalid('A request with this Idempotency-Key is still running', [
        {
          path: 'Idempotency-Key',
          code: 'still_running',
          message: 'Wait until the first request has finished, then try again',
        },
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
        setTimeout(
          () => void (ctx.clock.monotonicMs() < leaseEndMs ? save(outcome) : undefined),
          saveRetryMs,
        ).unref();
    });
  let isHeld = true;
  /** When the lease ends and another process may take the key over. */
  let leaseEndMs = Number.POSITIVE_INFINITY;
  const keyClaim: IdempotencyClaim = { id: claimId, isHeld: () => isHeld };
  const renewal = startRecurring(
    leaseMs / 3,
    () => renewClaim(ctx, route, claimId),
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
    void renewal.stop();
  }
}

/**
 * `invoke`, which replays the stored response when a POST is repeated under the same key. Throws as `invoke`
 * and `runOnce` do.
 */
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
 * The same for a response that `serve` streams; it resolves with the result to store, or undefined when the
 * stream ended early. Returns the stored response of a repeated request, for which `serve` is not called, and
 * null otherwise. Throws what authorizing, parsing, `serve` and `runOnce` throw.
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
    return served === undefined
      ? null
      : { status: successStatus(route), body: route.response?.parse(served) };
  });
  return replayed ? response : null;
}
