// Finds the organizations that an operator's command names, and records the command in their audit logs.
import { z } from 'zod';
import { isId } from '../core/id.ts';
import type { Tx } from '../db/transaction.ts';
import { inTransaction } from '../db/transaction.ts';
import { type AuditEntry, systemAuthor, writeAudit } from '../identity/audit.store.ts';
import { type Admin, option, RefusedCommand } from './command.ts';

/** Records a change by an operator in the organization's audit log. */
export const auditOperator = (tx: Tx, organizationId: string, ...entry: AuditEntry): Promise<void> =>
  writeAudit(tx, systemAuthor(organizationId, 'operator'), ...entry);

/** Like `auditOperator`, in a transaction of its own. */
export const auditOperatorIn = ({ ctx }: Pick<Admin, 'ctx'>, organizationId: string, ...entry: AuditEntry) =>
  inTransaction({ db: ctx.db, organizationId }, (tx) => auditOperator(tx, organizationId, ...entry));

export const organizationOption = option(z.string().min(1), 'slug or id', 'the organization');

export type NamedOrganization = { id: string; slug: string; name: string };

/** Rejects with RefusedCommand when no organization has this slug or id, or when it is being deleted. */
export async function getNamedOrganization({ owner }: Pick<Admin, 'owner'>, slugOrId: string) {
  const row = await owner('organizations')
    .where(isId(slugOrId) ? { id: slugOrId } : { slug: slugOrId })
    .whereNull('deleting_since')
    .first<NamedOrganization | undefined>('id', 'slug', 'name');
  if (row === undefined)
    throw new RefusedCommand(
      `There is no organization ${slugOrId}. List them with the command \`organizations\`.`,
    );
  return row;
}

/** All organizations that aren't being deleted, oldest first. */
export const listAllOrganizations = ({ owner }: Pick<Admin, 'owner'>): Promise<NamedOrganization[]> =>
  owner('organizations')
    .whereNull('deleting_since')
    .orderBy(['created_at', 'id'])
    .select<NamedOrganization[]>('id', 'slug', 'name');
