// Rows of portal_sessions. The cookie holds 32 random bytes; only their SHA-256 is stored. A session is valid in
// one organization and on one host.
import { createId } from '../core/id.ts';
import { createSecretToken, hashSecretToken, secretTokenPattern } from '../core/secrets/secret-token.ts';
import type { Tx } from '../db/transaction.ts';
import { idleDays, type VisitorSession } from '../platform/index.ts';
import type { Site } from './sites.ts';

const maxUserAgentLength = 300;

/** Notes that the session is in use. */
export const recordUse = (tx: Tx, organizationId: string, { id }: Pick<VisitorSession, 'id'>) =>
  tx('portal_sessions')
    .where({ organization_id: organizationId, id })
    .update({ last_seen_at: tx.raw('clock_timestamp()') });

/** Of the month's visitors; counted once. */
export const recordActivity = (tx: Tx, organizationId: string, email: string) =>
  tx.raw(
    "insert into portal_activity (organization_id, email, month) values (?, ?, date_trunc('month', now() at time zone 'UTC')::date) on conflict do nothing",
    [organizationId, email],
  );

export type NewSession = Pick<VisitorSession, 'email' | 'customer' | 'viewer_id'> & {
  readonly previous_visit_at: Date | null;
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

export type SessionRow = {
  readonly id: string;
  readonly user_agent: string | null;
  readonly created_at: Date;
  readonly last_seen_at: Date;
};

/** The visitor's own, newest first, without those of members who look at the portal as the visitor. */
export const listSessions = (tx: Tx, organizationId: string, email: string) =>
  tx('portal_sessions')
    .where({ organization_id: organizationId, email, viewer_id: null })
    .whereRaw('ends_at > clock_timestamp() and last_seen_at > clock_timestamp() - make_interval(days => ?)', [
      idleDays,
    ])
    .orderBy([{ column: 'created_at', order: 'desc' }, 'id'])
    .select<SessionRow[]>('id', 'user_agent', 'created_at', 'last_seen_at');

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
