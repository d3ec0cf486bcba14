// Rows of portal_visitors.
import { createId } from '../../core/id.ts';
import { newestFirst, readPage } from '../../db/page.ts';
import type { Tx } from '../../db/transaction.ts';
import type { PageQuery } from '../../http/page.ts';

export type VisitorRow = {
  id: string;
  email: string;
  customers: string[];
  blocked: boolean;
  last_sign_in_at: Date | null;
  invited_at: Date | null;
  created_at: Date;
};
/** With what the visitor read lately. */
export type ShownVisitorRow = VisitorRow & {
  reads: { recordType: string; requests: number; lastDay: string }[];
};
const columns = [
  'id',
  'email',
  'customers',
  'blocked',
  'last_sign_in_at',
  'invited_at',
  'created_at',
] as const;

const readDays = 30;
const recentReads = `(
  select coalesce(jsonb_agg(to_jsonb(r) order by r.requests desc, r."recordType"), '[]')
  from (
    select u.record_type as "recordType", sum(u.succeeded + u.refused + u.failed)::bigint as requests, max(u.day) as "lastDay"
    from portal_usage u
    where u.organization_id = portal_visitors.organization_id and u.email = portal_visitors.email and u.record_type <> ''
      and u.day > (now() at time zone 'UTC')::date - ${readDays}
    group by u.record_type
  ) r) as reads`;

export type VisitorFilter = { readonly q?: string | undefined; readonly blocked?: boolean | undefined };

export function listVisitors(tx: Tx, organizationId: string, page: PageQuery, { q, blocked }: VisitorFilter) {
  const query = tx('portal_visitors')
    .where('organization_id', organizationId)
    .orderBy(newestFirst('created_at', 'id'))
    .select(...columns, tx.raw(recentReads));
  if (q !== undefined) query.whereRaw('strpos(email, lower(?)) > 0', [q]);
  if (blocked !== undefined) query.where({ blocked });
  return readPage<ShownVisitorRow>(query, page);
}

const ofOrganization = (tx: Tx, organizationId: string) =>
  tx('portal_visitors').where('organization_id', organizationId);

export const findVisitor = async (tx: Tx, organizationId: string, email: string) =>
  ofOrganization(tx, organizationId)
    .where({ email })
    .first<VisitorRow | undefined>(...columns);

export const findShownVisitor = async (tx: Tx, organizationId: string, id: string) =>
  ofOrganization(tx, organizationId)
    .where({ id })
    .first<ShownVisitorRow | undefined>(...columns, tx.raw(recentReads));

export const insertVisitor = (
  tx: Tx,
  organizationId: string,
  row: Pick<VisitorRow, 'id' | 'email' | 'customers' | 'blocked'>,
) => tx('portal_visitors').insert({ ...row, organization_id: organizationId });

export const updateVisitor = (
  tx: Tx,
  organizationId: string,
  id: string,
  change: Partial<Pick<VisitorRow, 'customers' | 'blocked'>>,
) => ofOrganization(tx, organizationId).where({ id }).update(change);

export const deleteVisitor = (tx: Tx, organizationId: string, id: string): Promise<number> =>
  ofOrganization(tx, organizationId).where({ id }).delete();

/** Returns when the visitor signed in before. Makes an entry for one who is known from the ERP alone. */
export async function recordVisitorSignIn(tx: Tx, organizationId: string, email: string) {
  const { rows } = await tx.raw<{ rows: { previous: Date | null }[] }>(
    `with before as (select last_sign_in_at from portal_visitors where organization_id = :organizationId and email = :email),
       noted as (
         insert into portal_visitors (id, organization_id, email, last_sign_in_at) values (:id, :organizationId, :email, now())
         on conflict (organization_id, email) do update set last_sign_in_at = now())
     select (select last_sign_in_at from before) as previous`,
    { id: createId(), organizationId, email },
  );
  return rows[0]?.previous ?? null;
}
