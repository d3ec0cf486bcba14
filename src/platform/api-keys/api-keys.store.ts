// Rows of api_keys. Only this file writes that table, except for the time of last use.

import type { AccessLayer, RowScopes } from '../../core/record-access.ts';
import { containsSql } from '../../core/text/folded-text.ts';
import { newestFirst, readPage, type SortRequest, sortList } from '../../db/page.ts';
import type { Tx } from '../../db/transaction.ts';
import type { PageQuery } from '../../http/page.ts';

export type ApiKeyRow = {
  id: string;
  name: string;
  prefix: string;
  scope_versions: string[];
  scope_resources: string[];
  scope_permissions: string[];
  scope_rows: RowScopes | null;
  scope_fields: AccessLayer['fields'];
  scope_unmasked: boolean;
  expires_at: Date | null;
  last_used_at: Date | null;
  created_at: Date;
  revoked_at: Date | null;
  /** `expired` also when the current secret has ended after a transfer. */
  status: 'active' | 'expired' | 'revoked';
  /** Whether the key itself has expired, with all of its secrets. */
  has_expired: boolean;
  /** The end of the current secret after a transfer; null when it has none. */
  secret_ends_at: Date | null;
  /** E-mail address of the former member from whom the key was transferred; null once it has a new secret. */
  transferred_from: string | null;
  user_id: string;
  user_email: string;
  user_name: string;
  /** The creator's current role; null after they left. */
  role_name: string | null;
  role_built_in: boolean | null;
  role_permissions: string[] | null;
  /** Maximum permissions of a transferred key: what it could do then. Null when it was never transferred. */
  ceiling: string[] | null;
  previous_created_by: string | null;
  previous_ceiling: string[] | null;
  /** Until when a former holder's secret works, in its grace period or after a transfer. Null for none. */
  former_secret_until: Date | null;
  /** Until when the secret before the last rotation works too; null outside of a grace period. */
  grace_ends_at: Date | null;
};

export const apiKeySorts = ['createdAt', 'name', 'lastUsedAt', 'expiresAt'] as const;
const sorting = {
  columns: {
    createdAt: 'k.created_at',
    name: 'lower(k.name)',
    lastUsedAt: 'k.last_used_at',
    expiresAt: 'k.expires_at',
  },
  newest: 'createdAt',
  id: 'k.id',
  nullable: ['lastUsedAt', 'expiresAt'],
} as const;
export type ApiKeyFilter = SortRequest<(typeof apiKeySorts)[number]> & {
  readonly q?: string | undefined;
  readonly status?: ApiKeyRow['status'] | undefined;
};

export const keyStatus =
  "case when k.revoked_at is not null then 'revoked' when least(k.expires_at, k.secret_ends_at) <= now() then 'expired' else 'active' end";
const hasExpired = 'coalesce(k.expires_at <= now(), false)';

const inGrace = 'k.previous_secret_hash is not null and k.previous_expires_at > now()';

const select = (tx: Tx, organizationId: string) =>
  tx('api_keys as k')
    .join('users as u', 'u.id', 'k.created_by')
    .leftJoin('memberships as m', (on) =>
      on.on('m.organization_id', 'k.organization_id').on('m.user_id', 'k.created_by'),
    )
    .leftJoin('roles as r', 'r.id', 'm.role_id')
    .where('k.organization_id', organizationId)
    .select(
      'k.id',
      'k.name',
      'k.prefix',
      'k.scope_versions',
      'k.scope_resources',
      'k.scope_permissions',
      'k.scope_rows',
      'k.scope_fields',
      'k.scope_unmasked',
      'k.expires_at',
      'k.last_used_at',
      'k.created_at',
      'k.revoked_at',
      'k.secret_ends_at',
      'k.transferred_from',
      'k.ceiling',
      'k.previous_created_by',
      'k.previous_ceiling',
      'u.id as user_id',
      'u.email as user_email',
      'u.name as user_name',
      'r.name as role_name',
      'r.built_in as role_built_in',
      'r.permissions as role_permissions',
      tx.raw(`${keyStatus} as status`),
      tx.raw(`${hasExpired} as has_expired`),
      tx.raw(
        `case when ${inGrace} and not ${hasExpired} then least(k.previous_expires_at, k.expires_at) end as grace_ends_at`,
      ),
      tx.raw(
        `greatest(case when ${inGrace} then k.previous_expires_at end, case when k.secret_ends_at > now() then k.secret_ends_at end) as former_secret_until`,
      ),
    );

export function listApiKeyRows(tx: Tx, organizationId: string, page: PageQuery, filter: ApiKeyFilter) {
  const query = sortList(select(tx, organizationId), filter, sorting);
  if (filter.q !== undefined) query.whereRaw(containsSql('k.name'), [filter.q]);
  if (filter.status !== undefined) query.whereRaw(`${keyStatus} = ?`, [filter.status]);
  return readPage<ApiKeyRow>(query, page);
}

export const findApiKeyRow = async (tx: Tx, organizationId: string, id: string) =>
  (await select(tx, organizationId).where('k.id', id).first()) as ApiKeyRow | undefined;

/** Keys that are not revoked whose current secret, or old one in its grace period, is this person's. */
const selectKeys = (tx: Tx, organizationId: string, userId: string) =>
  select(tx, organizationId)
    .whereNull('k.revoked_at')
    .whereRaw(`(k.created_by = ? or (k.previous_created_by = ? and ${inGrace}))`, [userId, userId]);

/** Includes expired keys, which could be extended later. Locked until the transaction ends. */
export const lockKeys = async (tx: Tx, organizationId: string, userId: string): Promise<ApiKeyRow[]> =>
  (await selectKeys(tx, organizationId, userId).orderBy('k.id').forUpdate('k')) as ApiKeyRow[];

/** Whether the person's secret of this key works: the current, or the old one if another has rotated it. */
export const actsFor = (key: ApiKeyRow, userId: string): boolean =>
  key.user_id === userId ? key.status === 'active' : !key.has_expired;

/** Keys that act for this person, newest first, without locks. */
export const listActiveKeys = async (tx: Tx, organizationId: string, userId: string) => {
  const keys = (await selectKeys(tx, organizationId, userId).orderBy(
    newestFirst('k.created_at', 'k.id'),
  )) as ApiKeyRow[];
  return keys.filter((key) => actsFor(key, userId));
};

/** Keys by id, without locks, in the order of their creation. */
export const listKeyRows = async (tx: Tx, organizationId: string, ids: readonly string[]) =>
  (await select(tx, organizationId).whereIn('k.id', ids).orderBy('k.id')) as ApiKeyRow[];

/** Locks the key until the transaction ends. */
export const lockApiKey = (tx: Tx, organizationId: string, id: string) =>
  tx('api_keys').where({ organization_id: organizationId, id }).forUpdate().select('id');

/** Ends the grace period of the old secret now. */
export const endGracePeriod = (tx: Tx, organizationId: string, id: string) =>
  tx('api_keys').where({ organization_id: organizationId, id }).update({
    previous_secret_hash: null,
    previous_expires_at: null,
    previous_created_by: null,
    previous_ceiling: null,
  });

/** In at most `graceSeconds`, and never later than it would have ended anyway. */
const endBy = (tx: Tx, column: 'secret_ends_at' | 'previous_expires_at', graceSeconds: number) =>
  tx.raw('least(??, now() + make_interval(secs => ?))', [column, graceSeconds]);

/**
 * The old secret keeps reading the public interface for at most `graceSeconds`. It loses all management
 * permissions, even if its holder becomes a member again.
 */
export const restrictOldSecret = (tx: Tx, organizationId: string, id: string, graceSeconds: number) =>
  tx('api_keys')
    .where({ organization_id: organizationId, id })
    .update({ previous_ceiling: [], previous_expires_at: endBy(tx, 'previous_expires_at', graceSeconds) });

/** Share lock on the membership: no key is created for a leaving member. False when they are no member. */
export async function keepMembership(tx: Tx, organizationId: string, userId: string): Promise<boolean> {
  const locked = await tx('memberships')
    .where({ organization_id: organizationId, user_id: userId })
    .forKeyShare()
    .select('user_id');
  return locked.length === 1;
}

/** Scopes as they are stored; absent ones limit nothing and don't unmask. */
type ScopeColumns = {
  scope_versions: readonly string[];
  scope_resources: readonly string[];
  scope_permissions: readonly string[];
  scope_rows?: RowScopes | null;
  scope_fields?: AccessLayer['fields'];
  scope_unmasked?: boolean;
};
type NewRow = ScopeColumns & {
  id: string;
  name: string;
  prefix: string;
  secret_hash: Buffer;
  expires_at: string | null;
  created_by: string;
};
export const insertApiKey = (tx: Tx, organizationId: string, row: NewRow) =>
  tx('api_keys').insert({ ...row, organization_id: organizationId });

type ChangedRow = Partial<Pick<NewRow, 'name' | 'expires_at' | keyof ScopeColumns>>;
export const updateApiKeyRow = (tx: Tx, organizationId: string, id: string, change: ChangedRow) =>
  tx('api_keys').where({ organization_id: organizationId, id }).update(change);

export const markApiKeyRevoked = (tx: Tx, organizationId: string, id: string) =>
  tx('api_keys')
    .where({ organization_id: organizationId, id })
    .whereNull('revoked_at')
    .update({ revoked_at: tx.fn.now() });

/**
 * Makes the key act for another person, with a ceiling, and ends its secret after `graceSeconds`. An old
 * secret is transferred as well if it acted for the same person.
 */
export const handOverKey = (
  tx: Tx,
  organizationId: string,
  id: string,
  { from, to, graceSeconds }: { from: string; to: string; graceSeconds: number },
  bounds: { ceiling: readonly string[]; previousCeiling: readonly string[] | null },
) =>
  tx('api_keys')
    .where({ organization_id: organizationId, id })
    .update({
      created_by: to,
      ceiling: bounds.ceiling,
      transferred_from: from,
      secret_ends_at: endBy(tx, 'secret_ends_at', graceSeconds),
      ...(bounds.previousCeiling !== null && {
        previous_created_by: to,
        previous_ceiling: bounds.previousCeiling,
        previous_expires_at: endBy(tx, 'previous_expires_at', graceSeconds),
      }),
    });

/** The secret of a transferred key has no end any more. */
export const removeSecretEnd = (tx: Tx, organizationId: string, id: string) =>
  tx('api_keys').where({ organization_id: organizationId, id }).update({ secret_ends_at: null });

export type EndedSecretRow = Pick<ApiKeyRow, 'id' | 'name' | 'prefix' | 'has_expired' | 'user_email'> & {
  secret_ends_at: Date;
  transferred_from: string;
};

/**
 * Marks keys whose secret has ended after a transfer as reported, and returns them. Concurrent calls return
 * each key once: a key that another transaction has locked is left to it, or to the next call.
 */
export async function takeEndedSecrets(tx: Tx, organizationId: string): Promise<EndedSecretRow[]> {
  const rows = (await select(tx, organizationId)
    .whereNull('k.revoked_at')
    .where('k.secret_end_reported', false)
    .whereRaw('k.secret_ends_at <= clock_timestamp()')
    .orderBy('k.id')
    .forUpdate('k')
    .skipLocked()) as EndedSecretRow[];
  const ids = rows.map(({ id }) => id);
  await tx('api_keys')
    .where('organization_id', organizationId)
    .whereIn('id', ids)
    .update({ secret_end_reported: true });
  return rows;
}

/**
 * During the grace period the old secret keeps acting for its former person. Another rotation ends the older
 * secret immediately. A trigger gives the new secret no end, and keeps that of the old one.
 */
export const replaceSecret = (
  tx: Tx,
  organizationId: string,
  id: string,
  secret: { prefix: string; hash: Buffer; createdBy: string },
  graceSeconds: number,
) =>
  tx('api_keys')
    .where({ organization_id: organizationId, id })
    .update({
      prefix: secret.prefix,
      secret_hash: secret.hash,
      created_by: secret.createdBy,
      // Former members do not know the new secret, so it needs no ceiling; the old one keeps its ceiling.
      ceiling: null,
      previous_ceiling: graceSeconds === 0 ? null : tx.ref('ceiling'),
      previous_created_by: graceSeconds === 0 ? null : tx.ref('created_by'),
      previous_secret_hash: graceSeconds === 0 ? null : tx.ref('secret_hash'),
      previous_expires_at:
        graceSeconds === 0 ? null : tx.raw('now() + make_interval(secs => ?)', [graceSeconds]),
    });
