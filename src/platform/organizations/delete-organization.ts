// Deletes an organization in three steps: mark it and stop its syncs, drop its synced records, delete its
// configuration. Every step is idempotent. The order matters: after a crash in between, the owner can still
// sign in and repeat the request; if the configuration were deleted first, no one could.
import type { RequestCtx, TenantCtx } from '../../core/ctx.ts';
import { AppError, orNotFound, unavailable } from '../../core/errors.ts';
import { sqlState } from '../../db/pg-errors.ts';
import { inTransaction } from '../../db/transaction.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { TablesPending } from '../../warehouse/tables-pending.ts';
import { dropTenantSchema } from '../../warehouse/tenant-schema.ts';
import * as store from './organizations.store.ts';

const unconfirmed = (code: string): AppError =>
  new AppError('BAD_REQUEST', 'Deleting an organization must be confirmed', {
    details: [
      {
        path: 'confirm',
        code,
        message: "Repeat the organization's slug in ?confirm=<slug>. All of its data is deleted.",
      },
    ],
  });

const lockTimeoutMs = 3_000;
const maxAttempts = 5;
const deadlock = '40P01';
const lockNotAvailable = '55P03';

/** Retries a step that a page being written blocks; workers release a stopped run within seconds. */
async function retryWhileLocked(step: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await step();
      return;
    } catch (error) {
      const state = sqlState(error);
      if (state !== deadlock && state !== lockNotAvailable) throw error;
      if (attempt >= maxAttempts)
        throw unavailable('A sync is still writing to the organization. Repeat the request.', 10, error);
    }
  }
}

async function startDeleting(ctx: RequestCtx, confirm: string | undefined): Promise<void> {
  await inTransaction(ctx, async (tx) => {
    const row = orNotFound(await store.lockOrganization(tx, ctx.organizationId), 'Organization');
    if (confirm === undefined) throw unconfirmed('confirmation_needed');
    if (confirm !== row.slug) throw unconfirmed('confirmation_mismatch');
    const first = await store.markDeleting(tx, row.id);
    await store.stopSyncs(tx, row.id);
    if (first) {
      await writeAudit(tx, ctx, 'organization.delete', ['organization', row.id], {
        name: row.name,
        slug: row.slug,
      });
    }
  });
}

/**
 * Deletes the records and the configuration of an organization that is marked as being deleted. Rejects with
 * 503 while a sync still writes, and with `TablesPending`.
 */
export async function finishDeletion(ctx: TenantCtx): Promise<void> {
  await retryWhileLocked(() => dropTenantSchema(ctx, ctx.organizationId, lockTimeoutMs));
  await retryWhileLocked(() =>
    inTransaction(ctx, (tx) => store.deleteOrganizationRow(tx, ctx.organizationId)),
  );
}

const pendingMessage =
  'The organization is being deleted. One of the servers of the warehouse does not respond: the deletion is completed automatically when it responds again.';

/**
 * Throws 404 for an unknown organization, 400 without the matching `confirm` slug, 503 while a sync still
 * writes after all attempts, and while a server of the warehouse doesn't respond. Safe to repeat.
 */
export async function deleteOrganization(ctx: RequestCtx, confirm: string | undefined): Promise<void> {
  await retryWhileLocked(() => startDeleting(ctx, confirm));
  await finishDeletion(ctx).catch((error: unknown) => {
    throw error instanceof TablesPending ? unavailable(pendingMessage, 60, error) : error;
  });
}
