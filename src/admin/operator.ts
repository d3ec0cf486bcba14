// Whom an operator's command names, and the trace that it leaves in the audit log of that organization.
import { z } from 'zod';
import { isId } from '../core/id.ts';
import type { Tx } from '../db/transaction.ts';
import { inTransaction } from '../db/transaction.ts';
import { type AuditEntry, writeAudit } from '../identity/audit.store.ts';
import { type Admin, option, RefusedCommand } from './command.ts';

export const auditOperator = (tx: Tx, organizationId: string, entry: AuditEntry): Promise<void> =>
  writeAudit(
    tx,
    {
      organizationId,
      principal: { user: { id: null, email: null }, credential: { kind: 'operator', id: null } },
      ip: null,
      requestId: null,
    },
    entry,
  );

/** A command that was not about one organization, in the audit log of each that it touched. */
export const auditOnly = ({ ctx }: Pick<Admin, 'ctx'>, organizationId: string, entry: AuditEntry): Promise<void> =>
  inTransaction({ db: ctx.db, organizationId }, (tx) => auditOperator(tx, organizationId, entry));

export const organizationOption = option(z.string().min(1), 'slug or id', 'the organization');

export type NamedOrganization = { id: string; slug: string; name: string };

/** Throws RefusedCommand when there is none of this slug or id. */
export async function findOrganization({ owner }: Pick<Admin, 'owner'>, slugOrId: string): Promise<NamedOrganization> {
  const row = await owner('organizations')
    .where(isId(slugOrId) ? { id: slugOrId } : { slug: slugOrId })
    .whereNull('deleting_since')
    .first<NamedOrganization | undefined>('id', 'slug', 'name');
  if (row === undefined) throw new RefusedCommand(`There is no organization ${slugOrId}; \`organizations\` lists them`);
  return row;
}

/** Those that aren't being deleted, oldest first. */
export const allOrganizations = ({ owner }: Pick<Admin, 'owner'>): Promise<NamedOrganization[]> =>
  owner('organizations').whereNull('deleting_since').orderBy(['created_at', 'id']).select<NamedOrganization[]>('id', 'slug', 'name');
