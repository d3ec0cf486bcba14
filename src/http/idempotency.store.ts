// The stored responses of requests with an Idempotency-Key, and the claims of running ones.
import type { Knex } from 'knex';
import type { CallerCtx } from '../core/ctx.ts';
import { AppError, invalid } from '../core/errors.ts';
import { inTransaction, type Tx } from '../db/transaction.ts';
import type { RouteResponse } from './route/invoke.ts';
import type { Route } from './route/route.ts';

/** How long a key stays claimed by a process that no longer renews its lease. */
export const leaseMs = 15_000;

type Done = { action: string; target: { type: string; id: string | null } };
type KeyRow = {
  request_hash: Buffer;
  status: number | null;
  body: unknown;
  done: Done | null;
  locked: boolean;
  old: boolean;
};
export type Claim =
  | { readonly kind: 'mine' }
  | { readonly kind: 'stored'; readonly response: RouteResponse }
  | { readonly kind: 'busy' };

const keyReused = (): AppError =>
  invalid('This Idempotency-Key was already used for a different request', [
    { path: 'Idempotency-Key', code: 'key_reused', message: 'Use a new key for each new request' },
  ]);

const responseLost = ({ action, target }: Done): AppError =>
  invalid('The first request with this Idempotency-Key was carried out, but its response was lost', [
    {
      path: 'Idempotency-Key',
      code: 'answer_lost',
      message: `Already done: ${action} ${target.id ?? target.type}`,
    },
  ]);

/** Whose stored responses: the organization's, or the person's own for operations outside of any. */
const chooseScope = ({ caller }: CallerCtx, route: Route): string =>
  route.access === 'person' || caller.principal === undefined
    ? caller.user.id
    : caller.principal.organization.id;
const inScope = <T>(ctx: CallerCtx, route: Route, work: (tx: Tx) => Promise<T>): Promise<T> =>
  inTransaction({ db: ctx.db, organizationId: chooseScope(ctx, route) }, work);

const ofKey = 'organization_id = ? and credential_id = ? and route_id = ? and key = ?';

/** One that is a day old, or whose process lost its lease before it changed anything. */
const mayBeTaken = ({ old, status, locked, done }: KeyRow): boolean =>
  old || (status === null && !locked && done === null);

async function answerHeld(
  tx: Tx,
  held: KeyRow,
  keyValues: readonly string[],
  hash: Buffer,
  requestId: string,
): Promise<Claim> {
  if (!held.request_hash.equals(hash)) throw keyReused();
  if (held.status !== null)
    return { kind: 'stored', response: { status: held.status, body: held.body ?? undefined } };
  if (held.locked || held.done === null) return { kind: 'busy' };
  const response = toStoredResponse(responseLost(held.done), requestId);
  if (response === null) throw responseLost(held.done);
  await saveResponse(tx, keyValues, response.status, response.body);
  return { kind: 'stored', response };
}

/**
 * Claims the key for this request, also from a process that lost its lease. Throws 422 when the key was used
 * for a different request, or when the first one was carried out but its response can't be stored.
 */
export async function claimKey(
  ctx: CallerCtx,
  route: Route,
  key: string,
  hash: Buffer,
  claimId: string,
): Promise<Claim> {
  const keyValues = [chooseScope(ctx, route), ctx.caller.credential.id, route.id, key];
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
    if (!mayBeTaken(held)) return answerHeld(tx, held, keyValues, hash, ctx.requestId);
    await tx.raw(
      `update idempotency_keys set request_hash = ?, claim_id = ?, locked_until = clock_timestamp() + ? * interval '1 millisecond',
         status = null, body = null, done = null, created_at = now() where ${ofKey}`,
      [hash, claimId, leaseMs, ...keyValues],
    );
    return { kind: 'mine' };
  });
}

/**
 * Renews the lease of a claim. Skips the row while the handler's own write locks it: the lock then protects
 * the key as a lease does.
 */
export const renewClaim = (ctx: CallerCtx, route: Route, claimId: string): Promise<unknown> =>
  inScope(ctx, route, (tx) =>
    tx.raw(
      `update idempotency_keys set locked_until = clock_timestamp() + ? * interval '1 millisecond'
       where claim_id in (select claim_id from idempotency_keys where claim_id = ? and status is null for update skip locked)`,
      [leaseMs, claimId],
    ),
  );

const saveResponse = (
  tx: Tx,
  keyValues: readonly string[],
  status: number,
  body: unknown,
): Promise<unknown> =>
  tx.raw(
    `update idempotency_keys set status = ?, body = ?::jsonb, locked_until = null, done = null where ${ofKey}`,
    [status, body === undefined ? null : JSON.stringify(body), ...keyValues],
  );

/** `retry`: there is no response to store, and the request may be repeated unless it wrote something. */
export type Outcome = { readonly response: RouteResponse | null } | 'retry';

/** Ends the claim. Does nothing when the claim was lost. */
export async function saveOutcome(
  ctx: CallerCtx,
  route: Route,
  key: string,
  claimId: string,
  outcome: Outcome,
): Promise<void> {
  const keyValues = [chooseScope(ctx, route), ctx.caller.credential.id, route.id, key];
  await inScope(ctx, route, async (tx) => {
    // A COMMIT whose confirmation was lost may still be in progress: wait for its row lock.
    const { rows } = await tx.raw<{ rows: { done: Done | null }[] }>(
      'select done from idempotency_keys where claim_id = ? for update',
      [claimId],
    );
    const [held] = rows;
    if (held === undefined) return;
    if (outcome === 'retry' && held.done !== null)
      await tx.raw(`update idempotency_keys set locked_until = now() where ${ofKey}`, keyValues);
    else if (outcome === 'retry' || outcome.response === null)
      await tx.raw(`delete from idempotency_keys where ${ofKey}`, keyValues);
    else {
      const { status, body } = outcome.response;
      const once = status < 300 ? (route.shownOnce ?? []) : [];
      const secrets = Object.fromEntries(once.map((name) => [name, null]));
      await saveResponse(tx, keyValues, status, body === undefined ? undefined : { ...body, ...secrets });
    }
  });
}

/** Errors about the request are stored like any other response. Null for those that a retry may change. */
export function toStoredResponse(error: unknown, requestId: string): RouteResponse | null {
  if (!(error instanceof AppError) || error.status >= 500 || [401, 403, 429].includes(error.status))
    return null;
  return {
    status: error.status,
    body: {
      error: {
        code: error.code,
        message: error.message,
        ...(error.details.length > 0 && { details: error.details }),
        requestId,
      },
    },
  };
}

/**
 * Releases the keys of requests that started at or before `before` and have no response yet: a request that
 * had written nothing may be repeated, and a retry of one that had gets `answer_lost`. Returns their number.
 * Needs the role that owns the tables.
 */
export async function releaseUnfinishedRequests(owner: Knex, before: Date): Promise<number> {
  const unfinished = () => owner('idempotency_keys').whereNull('status').where('created_at', '<=', before);
  const written = await unfinished()
    .whereNotNull('done')
    .update({ locked_until: owner.raw('clock_timestamp()') });
  return written + (await unfinished().whereNull('done').delete());
}
