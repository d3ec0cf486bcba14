// Lists the open sync runs of all organizations and reports which of them are stuck.
import { z } from 'zod';
import { secondsSinceLastPage } from '../sync/index.ts';
import { type Admin, defineCommand, flag, option } from './command.ts';
import { textTable } from './text-table.ts';

export type OpenRun = {
  readonly status: 'queued' | 'running' | 'waiting' | 'publishing';
  readonly lease_owner: string | null;
  /** Seconds, by the database's clock. Each may be null where it has no meaning. */
  readonly queued_for: number;
  /** Since the lease expired; negative while it is valid. */
  readonly unleased_for: number | null;
  /** Since a waiting run was due; negative before that. */
  readonly due_for: number | null;
  readonly without_page_for: number | null;
  /** Whether another run of its configuration is in progress. */
  readonly behind: boolean;
};

/** How long an idle worker may take to claim a run. */
const claimSeconds = 60;

/** Why a run is stuck, as a text; null when it isn't. */
export function whyStuck(run: OpenRun, idleSeconds: number): string | null {
  const { status, unleased_for: unleased, due_for: due, without_page_for: withoutPage } = run;
  if (status === 'queued')
    return !run.behind && run.queued_for > claimSeconds ? 'queued, but no worker claims it' : null;
  if (status === 'waiting')
    return due !== null && due > claimSeconds ? 'its wait is over, but no worker claims it' : null;
  if (unleased !== null && unleased > claimSeconds)
    return 'its worker is gone, and no other worker claims it';
  if (withoutPage !== null && withoutPage > idleSeconds)
    return `${run.lease_owner ?? 'its worker'} holds it, but has written nothing for a long time`;
  return null;
}

type Row = OpenRun & {
  id: string;
  organization_id: string;
  slug: string;
  record_type: string;
  mode: string;
  attempt: number;
  error: { code: string } | null;
};

const since = (column: string): string => `floor(extract(epoch from clock_timestamp() - ${column}))::int`;

async function readOpenRuns({ owner, ctx }: Admin): Promise<Row[]> {
  const { rows } = await owner.raw<{ rows: Row[] }>(
    `select r.id, r.organization_id, o.slug, r.record_type, r.mode, r.status, r.attempt, r.error, r.lease_owner, ${since('r.queued_at')} as queued_for,
            ${since('coalesce(r.lease_until, j.due_at)')} as unleased_for, ${since('r.wake_at')} as due_for, null as without_page_for,
            exists (select from sync_runs other where other.sync_config_id = r.sync_config_id and other.status in ('running', 'waiting', 'publishing')) as behind
     from sync_runs r join organizations o on o.id = r.organization_id
     left join jobs j on j.kind = 'sync_runs' and j.organization_id = r.organization_id and j.key = r.sync_config_id::text
     where r.status in ('queued', 'running', 'waiting', 'publishing') order by r.queued_at, r.id`,
  );
  const runs: Row[] = [];
  for (const row of rows)
    runs.push({
      ...row,
      without_page_for: await secondsSinceLastPage({ ...ctx, organizationId: row.organization_id }, row.id),
    });
  return runs;
}

const minutes = z
  .string()
  .regex(/^[1-9]\d{0,4}$/, 'must be a whole number of minutes')
  .default('15')
  .transform(Number);

export const listRunsCommand = defineCommand({
  name: 'list-runs',
  summary: 'Lists the open sync runs of all organizations, or only those that are stuck.',
  about: `A run is stuck when it is due, or its worker is gone, and no worker claimed it for a minute; or when its worker holds it but wrote
nothing for --idle minutes, which may be normal with a slow ERP. \`release-run\` lets another worker take the run, or ends it. If no run is
claimed at all, no process is running with SYNC_WORKERS above 0.`,
  input: z.strictObject({
    stuck: flag('only the stuck ones'),
    idle: option(minutes, 'minutes', 'how long a held run may write nothing; default: 15'),
  }),
  async run(admin, { stuck, idle }) {
    const runs = (await readOpenRuns(admin)).map((row) => ({ row, stuck: whyStuck(row, idle * 60) }));
    const shown = stuck ? runs.filter((run) => run.stuck !== null) : runs;
    const rows = shown.map(({ row, stuck: why }) => ({
      run: row.id,
      organization: row.slug,
      'record type': row.record_type,
      status: row.status,
      mode: row.mode,
      'minutes open': Math.floor(row.queued_for / 60),
      attempt: row.attempt,
      error: row.error?.code ?? null,
      stuck: why,
    }));
    return {
      json: shown.map(({ row, stuck: why }) => ({
        id: row.id,
        organizationId: row.organization_id,
        recordType: row.record_type,
        status: row.status,
        mode: row.mode,
        attempt: row.attempt,
        queuedForSeconds: row.queued_for,
        worker: row.lease_owner,
        error: row.error?.code ?? null,
        stuck: why,
      })),
      text: rows.length === 0 ? `No run is ${stuck ? 'stuck' : 'open'}.` : textTable(rows),
    };
  },
});
