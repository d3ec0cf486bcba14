// Reads the audit log. identity/audit.store.ts writes it; the database role of the service can neither change nor delete rows.
import { readPage } from '../../db/page.ts';
import type { Tx } from '../../db/transaction.ts';
import type { PageQuery } from '../../http/page.ts';

export type AuditRow = {
  id: string;
  at: Date;
  actor_id: string | null;
  actor_email: string | null;
  credential_kind: string;
  credential_id: string | null;
  action: string;
  target_type: string;
  target_id: string | null;
  changes: Record<string, unknown>;
  ip: string | null;
  request_id: string | null;
};

export type AuditFilter = {
  readonly action?: string | undefined;
  readonly actorId?: string | undefined;
  readonly targetId?: string | undefined;
  readonly after?: Date | undefined;
  readonly before?: Date | undefined;
};

export function listAuditRows(tx: Tx, organizationId: string, page: PageQuery, filter: AuditFilter) {
  const query = tx('audit_log')
    .where('organization_id', organizationId)
    .orderBy([
      { column: 'at', order: 'desc' },
      { column: 'id', order: 'desc' },
    ])
    .select(
      'id',
      'at',
      'actor_id',
      'actor_email',
      'credential_kind',
      'credential_id',
      'action',
      'target_type',
      'target_id',
      'changes',
      'ip',
      'request_id',
    );
  if (filter.action !== undefined) query.where('action', filter.action);
  if (filter.actorId !== undefined) query.where('actor_id', filter.actorId);
  if (filter.targetId !== undefined) query.where('target_id', filter.targetId);
  if (filter.after !== undefined) query.where('at', '>', filter.after);
  if (filter.before !== undefined) query.where('at', '<', filter.before);
  return readPage<AuditRow>(query, page);
}
