// Deleting an organization: it is marked and what runs is stopped, then its synced records go, then its configuration. A crash in
// between leaves an organization whose owner can still sign in and repeat the request, and every step bears repeating. The order
// matters: with the configuration gone first, nobody would be left to ask for the rest.
import type { RequestCtx } from '../../core/ctx.ts';
import { AppError, notFound, unavailable } from '../../core/errors.ts';
import { sqlState } from '../../db/pg-errors.ts';
import { inTransaction } from '../../db/transaction.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { dropTenantSchema } from '../../warehouse/tenant-schema.ts';
import * as store from './organizations.store.ts';

const unconfirmed = (code: string): AppError =>
  new AppError('BAD_REQUEST', 'Deleting an organization must be confirmed', {
    details: [{ path: 'confirm', code, message: "Repeat the organization's slug in ?confirm=<slug>; everything it holds is removed" }],
  });

const lockTimeoutMs = 3_000;
const mostTries = 5;
const deadlock = '40P01';
const lockNotAvailable = '55P03';

/** A step that a page in flight stands in the way of is tried again; workers let go of a stopped run within seconds. */
async function patiently(step: () => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await step();
      return;
    } catch (error) {
      const state = sqlState(error);
      if (state !== deadlock && state !== lockNotAvailable) throw error;
      if (tries >= mostTries) throw unavailable('The organization is still being written to; send the request again', 10, error);
    }
  }
}

async function beginDeleting(ctx: RequestCtx, confirm: string | undefined): Promise<void> {
  await inTransaction(ctx, async (tx) => {
    const row = await store.lockOrganization(tx, ctx.organizationId);
    if (row === undefined) throw notFound('Organization');
    if (confirm === undefined) throw unconfirmed('confirmation_needed');
    if (confirm !== row.slug) throw unconfirmed('confirmation_mismatch');
    const first = await store.markDeleting(tx, row.id);
    await store.stopSyncs(tx, row.id);
    if (first) {
      await writeAudit(tx, ctx, {
        action: 'organization.delete',
        target: { type: 'organization', id: row.id },
        changes: { name: row.name, slug: row.slug },
      });
    }
  });
}

export async function deleteOrganization(ctx: RequestCtx, confirm: string | undefined): Promise<void> {
  await patiently(() => beginDeleting(ctx, confirm));
  await patiently(() => dropTenantSchema(ctx, ctx.organizationId, lockTimeoutMs));
  await patiently(() => inTransaction(ctx, (tx) => store.deleteOrganizationRow(tx, ctx.organizationId)));
}
