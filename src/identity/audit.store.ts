// The audit log: append-only, one row per write, inserted in the transaction of the write. It never contains
// secrets: `changes` holds only what the caller may read again.
import type { IdempotencyClaim } from '../core/ctx.ts';
import { unavailable } from '../core/errors.ts';
import { createId } from '../core/id.ts';
import type { Tx } from '../db/transaction.ts';
import type { AuditAction } from './audit-actions.ts';

export type AuditEntry = readonly [
  action: AuditAction,
  target: readonly [type: string, id: string | null],
  changes?: Readonly<Record<string, unknown>>,
];

/** Who made a change; the ctx of a request is an Author. */
export type Author = {
  readonly organizationId: string;
  readonly principal: {
    readonly user: { readonly id: string | null; readonly email: string | null };
    readonly credential: { readonly kind: string; readonly id: string | null };
  };
  readonly ip: string | null;
  readonly requestId: string | null;
  readonly claim?: IdempotencyClaim | undefined;
};

/** The author of changes that the service makes by itself, or an operator by a command. */
export const systemAuthor = (organizationId: string, kind: 'system' | 'operator' = 'system'): Author => ({
  organizationId,
  principal: { user: { id: null, email: null }, credential: { kind, id: null } },
  ip: null,
  requestId: null,
});

/**
 * Inserts an audit row, and records the write under the request's Idempotency-Key if it has one. Rejects with
 * 503 when another request has taken over that key; the transaction must then roll back.
 */
export async function writeAudit(tx: Tx, ctx: Author, ...[action, [type, id], changes = {}]: AuditEntry) {
  const { user, credential } = ctx.principal;
  await tx('audit_log').insert({
    id: createId(),
    organization_id: ctx.organizationId,
    actor_id: user.id,
    actor_email: user.email,
    credential_kind: credential.kind,
    credential_id: credential.id,
    action,
    target_type: type,
    target_id: id,
    changes: JSON.stringify(changes),
    ip: ctx.ip,
    request_id: ctx.requestId,
  });
  if (ctx.claim?.isHeld() === true) await recordWrite(tx, ctx.claim, { action, target: { type, id } });
}

/** Rejects with 503, which rolls back, when another request has taken over the Idempotency-Key. */
async function recordWrite(tx: Tx, claim: IdempotencyClaim, write: object): Promise<void> {
  const { rows } = await tx.raw<{ rows: { held: boolean }[] }>('select note_write(?, ?::jsonb) as held', [
    claim.id,
    JSON.stringify(write),
  ]);
  if (rows[0]?.held !== true)
    throw unavailable(
      'Another request has taken over this Idempotency-Key. Repeat the request with the same key.',
      1,
    );
}
