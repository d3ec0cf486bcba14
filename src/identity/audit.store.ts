// The append-only record of who changed what: one row per write, in the transaction of the write. Secrets never enter it:
// `changes` names only what the caller may see again.
import type { KeyClaim } from '../core/ctx.ts';
import { unavailable } from '../core/errors.ts';
import { newId } from '../core/id.ts';
import type { Tx } from '../db/transaction.ts';

export type AuditEntry = {
  /** What was done, as `<resource>.<verb>`. */
  readonly action: string;
  readonly target: { readonly type: string; readonly id: string | null };
  readonly changes?: Readonly<Record<string, unknown>>;
};

/** Who did it; the ctx of a request is one. */
export type Author = {
  readonly organizationId: string;
  readonly principal: {
    readonly user: { readonly id: string | null; readonly email: string | null };
    readonly credential: { readonly kind: string; readonly id: string | null };
  };
  readonly ip: string | null;
  readonly requestId: string | null;
  readonly claim?: KeyClaim | undefined;
};

/** The service itself, which nobody asked. */
export const serviceItself = (organizationId: string): Author => ({
  organizationId,
  principal: { user: { id: null, email: null }, credential: { kind: 'system', id: null } },
  ip: null,
  requestId: null,
});

export async function writeAudit(tx: Tx, ctx: Author, entry: AuditEntry): Promise<void> {
  const { user, credential } = ctx.principal;
  await tx('audit_log').insert({
    id: newId(),
    organization_id: ctx.organizationId,
    actor_id: user.id,
    actor_email: user.email,
    credential_kind: credential.kind,
    credential_id: credential.id,
    action: entry.action,
    target_type: entry.target.type,
    target_id: entry.target.id,
    changes: JSON.stringify(entry.changes ?? {}),
    ip: ctx.ip,
    request_id: ctx.requestId,
  });
  if (ctx.claim?.isHeld() === true) await noteWrite(tx, ctx.claim, entry);
}

/** Throws 503, and the write is undone, when another request has the Idempotency-Key by now. */
async function noteWrite(tx: Tx, claim: KeyClaim, { action, target }: AuditEntry): Promise<void> {
  const { rows } = await tx.raw<{ rows: { held: boolean }[] }>('select note_write(?, ?::jsonb) as held', [
    claim.id,
    JSON.stringify({ action, target }),
  ]);
  if (rows[0]?.held !== true) throw unavailable('Another request took over this Idempotency-Key; ask again with it', 1);
}
