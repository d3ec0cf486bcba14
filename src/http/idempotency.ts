// A POST repeated with the same Idempotency-Key is answered from the first one's stored answer. Kept 24 h per organization,
// credential and route. 401, 403, 429 and 5xx are never stored: trying again is then the right thing to do.
import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Knex } from 'knex';
import type { CallerCtx } from '../core/ctx.ts';
import { AppError, invalid } from '../core/errors.ts';
import { inTransaction, type Tx } from '../db/transaction.ts';
import { type Answer, admit, goodStatus, invoke, type RawInput, type Route } from './route.ts';

const waitMs = 10_000;
const pollMs = 100;
/** Longer than any handler runs (reading an ERP's metadata may take 300 s): after that the first request is taken for dead. */
const lockSeconds = 330;
const acceptable = /^[\x21-\x7e]{1,255}$/;

type Stored = { request_hash: Buffer; status: number | null; body: unknown; locked: boolean };
type Claim = { readonly kind: 'mine' } | { readonly kind: 'stored'; readonly answer: Answer } | { readonly kind: 'busy' };

const sameKeyOtherBody = (): AppError =>
  invalid('This Idempotency-Key was used with another body', [
    { path: 'Idempotency-Key', code: 'key_reused', message: 'Use a new key for a new request' },
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

async function claim(ctx: CallerCtx, route: Route, key: string, hash: Buffer): Promise<Claim> {
  const where = [scopeOf(ctx, route), ctx.caller.credential.id, route.id, key];
  return inScope(ctx, route, async (tx) => {
    const { rowCount } = await tx.raw<{ rowCount: number }>(
      `insert into idempotency_keys as held (organization_id, credential_id, route_id, key, request_hash, locked_until)
       values (?, ?, ?, ?, ?, clock_timestamp() + make_interval(secs => ${lockSeconds}))
       on conflict (organization_id, credential_id, route_id, key) do update
         set request_hash = excluded.request_hash, locked_until = excluded.locked_until, status = null, body = null, created_at = now()
         where held.created_at < now() - interval '24 hours' or (held.status is null and held.locked_until < clock_timestamp())`,
      [...where, hash],
    );
    if (rowCount === 1) return { kind: 'mine' };
    const { rows } = await tx.raw<{ rows: Stored[] }>(
      `select request_hash, status, body, locked_until > clock_timestamp() as locked from idempotency_keys
       where organization_id = ? and credential_id = ? and route_id = ? and key = ?`,
      where,
    );
    const stored = rows[0];
    if (stored === undefined) return { kind: 'busy' };
    if (!stored.request_hash.equals(hash)) throw sameKeyOtherBody();
    return stored.status === null
      ? { kind: 'busy' }
      : { kind: 'stored', answer: { status: stored.status, body: stored.body ?? undefined } };
  });
}

async function settle(ctx: CallerCtx, route: Route, key: string, answer: Answer | null): Promise<void> {
  const where = [scopeOf(ctx, route), ctx.caller.credential.id, route.id, key];
  const condition = 'organization_id = ? and credential_id = ? and route_id = ? and key = ?';
  await inScope(ctx, route, async (tx) => {
    if (answer === null) await tx.raw(`delete from idempotency_keys where ${condition}`, where);
    else {
      const once = answer.status < 300 ? (route.writeOnce ?? []) : [];
      const secrets = Object.fromEntries(once.map((name) => [name, null]));
      const body = answer.body === undefined ? null : JSON.stringify({ ...answer.body, ...secrets });
      await tx.raw(`update idempotency_keys set status = ?, body = ?::jsonb, locked_until = null where ${condition}`, [
        answer.status,
        body,
        ...where,
      ]);
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
  handle: () => Promise<Answer | null>,
): Promise<{ answer: Answer | null; replayed: boolean }> {
  if (!acceptable.test(key)) {
    throw new AppError('BAD_REQUEST', 'Idempotency-Key must be 1 to 255 visible ASCII characters', {
      details: [{ path: 'Idempotency-Key', code: 'malformed', message: 'must be 1 to 255 visible ASCII characters' }],
    });
  }
  const hash = createHash('sha256')
    .update(stableText([params, body ?? null]))
    .digest();
  const deadlineMs = ctx.clock.monotonicMs() + waitMs;
  for (;;) {
    const state = await claim(ctx, route, key, hash);
    if (state.kind === 'stored') return { answer: state.answer, replayed: true };
    if (state.kind === 'mine') break;
    if (ctx.clock.monotonicMs() >= deadlineMs) {
      throw invalid('A request with this Idempotency-Key is still running', [
        { path: 'Idempotency-Key', code: 'still_running', message: 'Wait for the first request to end' },
      ]);
    }
    await delay(pollMs);
  }
  // What was done is done: an answer that can't be stored is still given, and the key stays locked until it runs out.
  const keep = (answer: Answer | null): Promise<void> =>
    settle(ctx, route, key, answer).catch((error: unknown) => ctx.log.warn({ err: error }, 'an answer could not be kept for repetition'));
  const answer = await handle().catch(async (error: unknown) => {
    await keep(storable(error, ctx.requestId));
    throw error;
  });
  await keep(answer);
  return { answer, replayed: false };
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
    if (route.method !== 'POST' || key === undefined) return handle();
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
  serve: (input: unknown) => Promise<unknown>,
): Promise<Answer | null> {
  const input = admit(route, ctx, raw);
  if (route.method !== 'POST' || key === undefined) {
    await serve(input);
    return null;
  }
  const { answer, replayed } = await once(ctx, route, key, raw.body, raw.params, async () => {
    const served = await serve(input);
    return served === undefined ? null : { status: goodStatus(route), body: route.response?.parse(served) };
  });
  return replayed ? answer : null;
}

/** Forgets requests that had begun by then and have no answer yet: they may be made again. For the owner of the tables alone. */
export const forgetBegunRequests = (owner: Knex, before: Date): Promise<number> =>
  owner('idempotency_keys').whereNull('status').where('created_at', '<=', before).delete();
