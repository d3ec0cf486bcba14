// Takes a run from the worker that holds it.
import { z } from 'zod';
import type { TenantCtx } from '../core/ctx.ts';
import { Id } from '../http/fields.ts';
import { failRun, releaseRun } from '../sync/index.ts';
import { argument, defineCommand, flag, RefusedCommand } from './command.ts';
import { auditOnly } from './operator.ts';

/** Throws RefusedCommand when the run can't be released. */
async function release(ctx: TenantCtx, id: string): Promise<string> {
  const released = await releaseRun(ctx, id);
  if (released === 'released') return 'released';
  throw new RefusedCommand(
    released === 'idle'
      ? 'The run is queued: nobody holds it. If nobody takes it either, no process runs with SYNC_WORKERS above 0; --fail ends it.'
      : 'The run has ended already.',
  );
}

export const releaseRunCommand = defineCommand({
  name: 'release-run',
  summary: 'Lets another worker have a sync run, or ends it as failed.',
  about: `Released, it goes on at once from its checkpoint, with whichever worker is free; the former one notices at its next step that the run is
no longer its own, and writes nothing more. With --fail it ends, what it staged goes away, and its recipients are told; a run that turns
out to have been published before ends as what it was.`,
  database: 'check',
  alone: false,
  given: z.strictObject({
    run: argument(Id, 'run id', 'as `list-runs` shows it'),
    fail: flag('ends it instead'),
  }),
  async run(admin, { run: id, fail }) {
    const row = await admin
      .owner('sync_runs')
      .where({ id })
      .first<{ organization_id: string; status: string } | undefined>('organization_id', 'status');
    if (row === undefined) throw new RefusedCommand(`There is no run ${id}; \`list-runs\` shows those that are open`);
    const ctx = { ...admin.ctx, organizationId: row.organization_id };
    if (fail && ['succeeded', 'partial', 'failed', 'cancelled'].includes(row.status))
      throw new RefusedCommand('The run has ended already.');
    const after = fail ? await failRun(ctx, id) : await release(ctx, id);
    const taken = fail && after !== 'failed' && after !== 'succeeded' && after !== 'partial' && after !== 'cancelled';
    await auditOnly(admin, row.organization_id, {
      action: fail ? 'sync-run.fail' : 'sync-run.release',
      target: { type: 'sync-run', id },
      changes: { from: row.status, to: after ?? null },
    });
    return {
      json: { id, before: row.status, after: after ?? null },
      text: taken ? `The run is ${after}: a worker took it meanwhile. Try again.` : `The run was ${row.status}, and is ${after}.`,
      left: taken,
    };
  },
});
