// What portal_visitors knows of addresses that are to be invited.
import { createId } from '../../core/id.ts';
import type { Tx } from '../../db/transaction.ts';

/** How long an invitation keeps an address from being invited again. */
const isRecent = "invited_at > clock_timestamp() - interval '24 hours'";

export type ByHand = { readonly email: string; readonly customers: readonly string[] };

/** Entries that have some of these customers by hand. */
export const findByCustomers = async (tx: Tx, organizationId: string, customers: readonly string[]) =>
  tx('portal_visitors')
    .where('organization_id', organizationId)
    .whereRaw('customers && ?::text[]', [[...customers]])
    .select<ByHand[]>('email', 'customers');

export type KnownVisitor = {
  readonly email: string;
  readonly blocked: boolean;
  readonly has_signed_in: boolean;
  readonly is_recent: boolean;
};

export const findKnown = async (tx: Tx, organizationId: string, emails: readonly string[]) =>
  tx('portal_visitors')
    .where('organization_id', organizationId)
    .whereRaw('email = any(?::text[])', [[...emails]])
    .select<KnownVisitor[]>(
      'email',
      'blocked',
      tx.raw('last_sign_in_at is not null as has_signed_in'),
      tx.raw(`coalesce(${isRecent}, false) as is_recent`),
    );

/** One writer of invitations at a time, so that the mails of a day are counted exactly. */
export const lockInvitations = (tx: Tx, organizationId: string) =>
  tx.raw('select pg_advisory_xact_lock(hashtextextended(?, 0))', [`${organizationId} portal invitations`]);

/**
 * Notes that these addresses are invited now. Returns those that may be: neither blocked nor, without `again`,
 * invited by another request in the meantime.
 */
export async function claimInvitations(
  tx: Tx,
  organizationId: string,
  emails: readonly string[],
  again: boolean,
): Promise<ReadonlySet<string>> {
  const { rows } = await tx.raw<{ rows: { email: string }[] }>(
    `insert into portal_visitors as v (id, organization_id, email, invited_at)
     select id, :organizationId, email, clock_timestamp() from unnest(:ids::uuid[], :emails::text[]) as n (id, email)
     on conflict (organization_id, email) do update set invited_at = excluded.invited_at
     where not v.blocked and (:again or not coalesce(v.${isRecent}, false)) returning v.email`,
    { organizationId, ids: emails.map(() => createId()), emails: [...emails], again },
  );
  return new Set(rows.map(({ email }) => email));
}
