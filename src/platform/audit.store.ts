// The append-only record of who changed what: one row per write, in the transaction of the write. Secrets never enter it:
// `changes` names only what the caller may see again.
import type { RequestCtx } from '../core/ctx.ts';
import { newId } from '../core/id.ts';
import type { Tx } from '../db/transaction.ts';

export type AuditEntry = {
  /** What was done, as `<resource>.<verb>`. */
  readonly action: string;
  readonly target: { readonly type: string; readonly id: string | null };
  readonly changes?: Readonly<Record<string, unknown>>;
};

export async function writeAudit(tx: Tx, ctx: RequestCtx, entry: AuditEntry): Promise<void> {
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
}
