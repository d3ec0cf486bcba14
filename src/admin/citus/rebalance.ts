// Spreads the organizations over the nodes of a Citus cluster, one after the other, while they are read and
// synced. Citus moves them in the background; the command starts that and shows its progress.
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { tenantSchema } from '../../warehouse/tenant-schema.ts';
import { type Admin, defineCommand, flag, type Outcome } from '../command.ts';
import { auditOperatorIn } from '../operator.ts';
import { textTable } from '../text-table.ts';
import { assertNodesRespond, comparePlacements, getClusterNodes, listPlacements } from './placement.ts';

type Move = { readonly organization: string; readonly from: string; readonly to: string };

/** What a rebalance would move now. Rejects with RefusedCommand when a node doesn't respond. */
async function planMoves(admin: Admin): Promise<Move[]> {
  await assertNodesRespond(admin.owner, await getClusterNodes(admin));
  const { rows } = await admin.ctx.db.control.raw<{ rows: { schema: string; from: string; to: string }[] }>(
    `select distinct n.nspname as schema, m.sourcename || ':' || m.sourceport as "from", m.targetname || ':' || m.targetport as "to"
     from get_rebalance_table_shards_plan() m join pg_class c on c.oid = m.table_name join pg_namespace n on n.oid = c.relnamespace order by 1`,
  );
  const slugs = new Map((await listPlacements(admin.owner)).map(({ id, slug }) => [tenantSchema(id), slug]));
  return rows.map(({ schema, from, to }) => ({ organization: slugs.get(schema) ?? schema, from, to }));
}

type Job = {
  readonly id: string;
  readonly state: string;
  readonly left: number;
  readonly problems: readonly string[];
};

/** The latest rebalance of this cluster; undefined before the first. */
async function readJob({ ctx }: Admin): Promise<Job | undefined> {
  type Row = { id: string; state: string; left: number; problems: string[] };
  const { rows } = await ctx.db.control.raw<{ rows: Row[] }>(
    `select j.job_id as id, j.state::text as state,
            (select count(*)::int from pg_dist_background_task t where t.job_id = j.job_id and t.status in ('blocked', 'runnable', 'running', 'cancelling')) as left,
            array(select trim(regexp_replace(t.message, '\\s+', ' ', 'g')) from pg_dist_background_task t
                  where t.job_id = j.job_id and t.status <> 'done' and t.message <> '' order by t.task_id) as problems
     from pg_dist_background_job j where j.job_type = 'rebalance' order by j.job_id desc limit 1`,
  );
  return rows[0];
}

const isOpen = (job: Job | undefined): job is Job =>
  job !== undefined && ['scheduled', 'running', 'cancelling', 'failing'].includes(job.state);

/** Follows the job to its end. Interrupting the command doesn't end the job. */
async function follow(admin: Admin): Promise<Job | undefined> {
  let shown = '';
  for (;;) {
    const job = await readJob(admin);
    if (!isOpen(job)) return job;
    const left = job.left === 1 ? 'one organization left' : `${job.left} organizations left`;
    const line = [left, ...job.problems].join('; ');
    if (line !== shown) admin.progress(line);
    shown = line;
    await sleep(1_000);
  }
}

async function rebalance(admin: Admin): Promise<Outcome> {
  const names = new Map((await getClusterNodes(admin)).map(({ id, address }) => [id, address]));
  const before = await listPlacements(admin.owner);
  const isRunning = isOpen(await readJob(admin));
  if (!isRunning && (await planMoves(admin)).length === 0)
    return {
      json: { state: 'finished', moved: [] },
      text: 'The organizations are spread evenly: nothing was moved.',
    };
  if (isRunning) admin.progress('a rebalance is running already');
  else await admin.ctx.db.control.raw('select citus_rebalance_start()');
  const job = await follow(admin);
  const moved = comparePlacements(before, await listPlacements(admin.owner)).map(({ now, from }) => ({
    id: now.id,
    organization: now.slug,
    from: names.get(from) ?? String(from),
    to: names.get(now.node ?? 0) ?? String(now.node),
  }));
  for (const { id, from, to } of moved)
    await auditOperatorIn(admin, id, 'warehouse.move', ['organization', id], { from, to });
  const isFinished = job?.state === 'finished';
  const state = [job?.state ?? 'gone', ...(job?.problems ?? [])].join(': ');
  const ending = isFinished
    ? ''
    : `The rebalance is ${state}. The other organizations are where they were. Run the command again.`;
  const rows = moved.map(({ id: _id, ...move }) => move);
  return {
    json: { state: job?.state ?? 'gone', moved },
    text: [textTable(rows), ending].filter((part) => part !== '').join('\n') || 'Nothing was moved.',
    incomplete: !isFinished,
  };
}

export const rebalanceCommand = defineCommand({
  name: 'rebalance',
  summary: 'Spreads the organizations evenly over the nodes of a Citus cluster.',
  about: `Needed after a node was added, which gets no records by itself. By size on disk, each organization counting as 100 MB at least. Citus moves one
organization after the other as \`move-organization\` does, in the background: interrupting the command doesn't end it, and running the command
again follows it. A move that fails is tried again by Citus; the command prints why. --stop ends the rebalance: what was moved stays moved.`,
  input: z.strictObject({
    dryRun: flag('only shows what would be moved'),
    stop: flag('ends a rebalance that is running'),
  }),
  async run(admin, { dryRun, stop }) {
    if (!dryRun && !stop) return rebalance(admin);
    await getClusterNodes(admin);
    if (stop) {
      const job = await readJob(admin);
      if (!isOpen(job)) return { json: { stopped: false }, text: 'No rebalance is running.' };
      await admin.ctx.db.control.raw('select citus_rebalance_stop()');
      return { json: { stopped: true }, text: 'The rebalance is stopped. What was moved stays moved.' };
    }
    const planned = await planMoves(admin);
    return {
      json: planned,
      text: planned.length === 0 ? 'The organizations are spread evenly.' : textTable(planned),
    };
  },
});
