// Reads the audit log. identity/audit.store.ts writes it; the service can neither change nor delete rows.
import { containsSql } from '../../core/text/folded-text.ts';
import { readPage } from '../../db/page.ts';
import type { Tx } from '../../db/transaction.ts';
import type { PageQuery } from '../../http/page.ts';
import { type AuditArea, listActionsOf } from '../../identity/audit-actions.ts';

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
  readonly area?: AuditArea | undefined;
  readonly actorId?: string | undefined;
  readonly targetType?: string | undefined;
  readonly targetId?: string | undefined;
  /** Part of the action, the actor's address, the target or the changes, ignoring case. */
  readonly q?: string | undefined;
  readonly after?: Date | undefined;
  readonly before?: Date | undefined;
};

/** Exact to the microsecond, as text: a date of JavaScript has milliseconds. */
type PositionedRow = AuditRow & { readonly position: string };

const columns = [
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
] as const;

const searched = ['action', 'actor_email', 'target_type', 'target_id', 'changes::text'];

function selectMatching(tx: Tx, organizationId: string, filter: AuditFilter) {
  const query = tx('audit_log').where('organization_id', organizationId);
  if (filter.action !== undefined) query.where('action', filter.action);
  if (filter.area !== undefined) query.whereIn('action', listActionsOf(filter.area));
  if (filter.actorId !== undefined) query.where('actor_id', filter.actorId);
  if (filter.targetType !== undefined) query.where('target_type', filter.targetType);
  if (filter.targetId !== undefined) query.where('target_id', filter.targetId);
  if (filter.after !== undefined) query.where('at', '>', filter.after);
  if (filter.before !== undefined) query.where('at', '<', filter.before);
  if (filter.q !== undefined) query.whereRaw(containsSql(...searched), [filter.q]);
  return query;
}

const newestFirst = [
  { column: 'at', order: 'desc' },
  { column: 'id', order: 'desc' },
] as const;

export const listAuditRows = (tx: Tx, organizationId: string, page: PageQuery, filter: AuditFilter) =>
  readPage<AuditRow>(
    selectMatching(tx, organizationId, filter)
      .orderBy([...newestFirst])
      .select(...columns),
    page,
  );

export async function countAuditRows(tx: Tx, organizationId: string, filter: AuditFilter): Promise<number> {
  const row = await selectMatching(tx, organizationId, filter)
    .count({ total: '*' })
    .first<{ total: string } | undefined>();
  return Number(row?.total ?? 0);
}

/** The next entries, newest first, that are older than this one. */
export async function listAuditRowsAfter(
  tx: Tx,
  organizationId: string,
  filter: AuditFilter,
  last: PositionedRow | undefined,
  limit: number,
): Promise<PositionedRow[]> {
  const query = selectMatching(tx, organizationId, filter);
  if (last !== undefined) query.whereRaw('(at, id) < (?::timestamptz, ?::uuid)', [last.position, last.id]);
  return query
    .orderBy([...newestFirst])
    .limit(limit)
    .select<PositionedRow[]>(...columns, tx.raw('at::text as position'));
}

/** Tables of targets with their present names. Views and conversations can be private: theirs are not read. */
const namedTables = {
  team: ['teams', 'name'],
  role: ['roles', 'name'],
  'api-key': ['api_keys', 'name'],
  'sync-config': ['sync_configs', 'name'],
  agent: ['agents', 'name'],
  domain: ['domains', 'hostname'],
  page: ['portal_pages', 'title'],
} as const;

/** Present names of actors and targets by id; those that are gone, or have none, are absent. */
export async function readNames(
  tx: Tx,
  organizationId: string,
  rows: readonly AuditRow[],
): Promise<ReadonlyMap<string, string>> {
  const idsOf = (type: string): string[] =>
    rows.flatMap(({ target_type, target_id: id }) => (target_type === type && id !== null ? [id] : []));
  const named = Object.entries(namedTables).map(([type, [table, column]]) =>
    tx(table)
      .where('organization_id', organizationId)
      .whereIn('id', idsOf(type))
      .select('id', { name: column }),
  );
  const runs = tx('sync_runs as r')
    .join('sync_configs as c', 'c.id', 'r.sync_config_id')
    .where('r.organization_id', organizationId)
    .whereIn('r.id', idsOf('sync-run'))
    .select('r.id', 'c.name');
  const actors = rows.flatMap(({ actor_id: id }) => id ?? []);
  const found = await tx('users')
    .whereIn('id', actors)
    .select<{ id: string; name: string }[]>('id', 'name')
    .unionAll([...named, runs]);
  return new Map(found.map(({ id, name }) => [id, name]));
}
