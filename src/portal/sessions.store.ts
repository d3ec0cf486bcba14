// Rows of portal_sessions. The cookie holds 32 random bytes; only their SHA-256 is stored. A session is valid in
// one organization and on one host.
import { createId } from '../core/id.ts';
import { createSecretToken, hashSecretToken, secretTokenPattern } from '../core/secret-token.ts';
import type { Tx } from '../db/transaction.ts';
import type { Site } from './sites.ts';

/** A visitor who opens no page for this long signs in again. */
const idleDays = 7;
const maxUserAgentLength = 300;

export type SessionRow = {
  readonly id: string;
  readonly email: string;
  readonly customer: string | null;
  /** The member who sees the portal as this visitor would. */
  readonly viewer_id: string | null;
  readonly previous_visit_at: Date | null;
  readonly created_at: Date;
  readonly last_seen_at: Date;
  readonly ends_at: Date;
  readonly user_agent: string | null;
};
const columns = [
  'id',
  'email',
  'customer',
  'viewer_id',
  'previous_visit_at',
  'created_at',
  'last_seen_at',
  'ends_at',
  'user_agent',
] as const;

const valid = (tx: Tx, organizationId: string) =>
  tx('portal_sessions')
    .where('organization_id', organizationId)
    .whereRaw('ends_at > clock_timestamp() and last_seen_at > clock_timestamp() - make_interval(days => ?)', [
      idleDays,
    ]);

/** The viewer still belongs to the organization. */
const isMember = (tx: Tx) =>
  tx('memberships as m').whereRaw(
    'm.organization_id = portal_sessions.organization_id and m.user_id = portal_sessions.viewer_id',
  );

/** The session of these cookies. Of several none can be trusted, because another page may have set one. */
export async function findSession(
  tx: Tx,
  { organizationId, host }: Site,
  tokens: readonly string[],
): Promise<SessionRow | undefined> {
  const hashes = tokens.filter((token) => secretTokenPattern.test(token)).map(hashSecretToken);
  if (hashes.length === 0) return undefined;
  const rows = await valid(tx, organizationId)
    .where('host', host)
    .whereIn('token_hash', hashes)
    .where((which) => which.whereNull('viewer_id').orWhereExists(isMember(tx)))
    .select<SessionRow[]>(...columns);
  return rows.length === 1 ? rows[0] : undefined;
}

/** Notes that the session is in use, at most once a minute. */
export const recordUse = (tx: Tx, organizationId: string, id: string) =>
  tx('portal_sessions')
    .where({ organization_id: organizationId, id })
    .whereRaw("last_seen_at < clock_timestamp() - interval '1 minute'")
    .update({ last_seen_at: tx.raw('clock_timestamp()') });

/** Of the month's visitors; counted once. */
export const recordActivity = (tx: Tx, organizationId: string, email: string) =>
  tx.raw(
    "insert into portal_activity (organization_id, email, month) values (?, ?, date_trunc('month', now() at time zone 'UTC')::date) on conflict do nothing",
    [organizationId, email],
  );

export type NewSession = Pick<SessionRow, 'email' | 'customer' | 'viewer_id' | 'previous_visit_at'> & {
  readonly ip: string;
  readonly userAgent: string | null;
  readonly lifetimeSeconds: number;
};

/** Returns the only copy of the token. */
export async function insertSession(
  tx: Tx,
  { organizationId, host }: Site,
  { userAgent, lifetimeSeconds, ...session }: NewSession,
): Promise<{ readonly id: string; readonly token: string }> {
  const [id, token] = [createId(), createSecretToken()];
  await tx('portal_sessions').insert({
    ...{ id, ...session, host, organization_id: organizationId, token_hash: hashSecretToken(token) },
    user_agent: userAgent?.slice(0, maxUserAgentLength) ?? null,
    ends_at: tx.raw('clock_timestamp() + make_interval(secs => ?)', [lifetimeSeconds]),
  });
  return { id, token };
}

export const chooseCustomer = (tx: Tx, organizationId: string, id: string, customer: string) =>
  tx('portal_sessions').where({ organization_id: organizationId, id }).update({ customer });

/** The visitor's own, newest first, without those of members who look at the portal as the visitor. */
export const listSessions = (tx: Tx, organizationId: string, email: string) =>
  valid(tx, organizationId)
    .where({ email, viewer_id: null })
    .orderBy([{ column: 'created_at', order: 'desc' }, 'id'])
    .select<SessionRow[]>(...columns);

/** Ends one session of the visitor, or all. */
export function deleteSessions(
  tx: Tx,
  organizationId: string,
  email: string,
  only?: string,
): Promise<number> {
  const query = tx('portal_sessions').where({ organization_id: organizationId, email });
  if (only !== undefined) query.where('id', only);
  return query.delete();
}

/** Ends those that the browser holds. */
export const deleteHeld = (tx: Tx, organizationId: string, tokens: readonly string[]): Promise<number> =>
  tx('portal_sessions')
    .where('organization_id', organizationId)
    .whereIn('token_hash', tokens.filter((token) => secretTokenPattern.test(token)).map(hashSecretToken))
    .delete();
