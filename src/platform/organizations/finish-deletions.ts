// Finishes interrupted deletions, and those that waited for a warehouse server: each minute, on any process.
import type { Ctx } from '../../core/ctx.ts';
import { type Recurring, startRecurring } from '../../core/work/recurring.ts';
import { TablesPending } from '../../warehouse/tables-pending.ts';
import { finishDeletion } from './delete-organization.ts';

const everyMs = 60_000;

/** One pass. Failures are logged, and tried again by the next. Rejects when the database is unavailable. */
export async function finishDeletions(ctx: Ctx, stopping?: AbortSignal): Promise<void> {
  const { rows } = await ctx.db.control.raw<{ rows: { id: string }[] }>(
    'select id from organizations_being_deleted()',
  );
  for (const { id: organizationId } of rows) {
    if (stopping?.aborted === true) return;
    try {
      await finishDeletion({ ...ctx, organizationId });
      ctx.log.info({ organizationId }, 'the deletion of an organization was finished');
    } catch (error) {
      ctx.log.warn(
        { err: error, organizationId },
        'the deletion of an organization could not be finished; will retry',
      );
      if (error instanceof TablesPending) return;
    }
  }
}

export const startDeletions = (ctx: Ctx): Recurring =>
  startRecurring(
    everyMs,
    (stopping) => finishDeletions(ctx, stopping),
    (error) => ctx.log.warn({ err: error }, 'deletions of organizations could not be finished; will retry'),
  );
