// Takes a sync run away from the worker that holds it, or ends it as failed.
import { z } from 'zod';
import type { TenantCtx } from '../core/ctx.ts';
import { Id } from '../http/fields.ts';
import { failRun, releaseRun } from '../sync/index.ts';
import { argument, defineCommand, flag, RefusedCommand } from './command.ts';
import { auditOperatorIn } from './operator.ts';

/** Rejects with RefusedCommand when the run is queued or has ended. */
async function release(ctx: TenantCtx, id: string): Promise<string> {
  const released = await releaseRun(ctx, id);
  if (released === 'released') return 'released';
  throw new RefusedCommand(
    released === 'idle'
      ? 'The run is queued: no worker holds it. If none claims it, no process is running with SYNC_WORKERS above 0. End it with --fail.'
      : 'The run has already ended.',
  );
}

export const releaseRunCommand = defineCommand({
  name: 'release-run',
  summary: 'Lets another worker take a sync run, or ends it as failed.',
  about: `A released run resumes at once from its checkpoint on any free worker. Its former worker notices at its next step that it lost the
run, and writes nothing more. With --fail the run ends, its staged records are deleted and its recipients are notified. A run that turns out to
have been published already ends with that outcome.`,
  input: z.strictObject({
    run: argument(Id, 'run id', 'as `list-runs` shows it'),
    fail: flag('end the run instead of releasing it'),
  }),
  async run(admin, { run: id, fail }) {
    const row = await admin
      .owner('sync_runs')
      .where({ id })
      .first<{ organization_id: string; status: string } | undefined>('organization_id', 'status');
    if (row === undefined)
      throw new RefusedCommand(`There is no run ${id}. The command \`list-runs\` lists the open ones.`);
    const ctx = { ...admin.ctx, organizationId: row.organization_id };
    if (fail && ['succeeded', 'partial', 'failed', 'cancelled'].includes(row.status))
      throw new RefusedCommand('The run has already ended.');
    const after = fail ? await failRun(ctx, id) : await release(ctx, id);
    const claimed =
      fail && after !== 'failed' && after !== 'succeeded' && after !== 'partial' && after !== 'cancelled';
    await auditOperatorIn(
      admin,
      row.organization_id,
      fail ? 'sync-run.fail' : 'sync-run.release',
      ['sync-run', id],
      { from: row.status, to: after ?? null },
    );
    return {
      json: { id, before: row.status, after: after ?? null },
      text: claimed
        ? `The run is ${after}: a worker claimed it in the meantime. Try again.`
        : `The run was ${row.status} and is now ${after}.`,
      incomplete: claimed,
    };
  },
});
