// Runs of a sync over a period, for plots: a point for each run or, of many, for each slice of the period.
import { z } from 'zod';
import type { RequestCtx } from '../../core/ctx.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { Id, Instant, instant } from '../../http/fields.ts';
import { runStatuses } from '../../sync/index.ts';
import { getConfigRow } from './syncs.service.ts';

/** More runs than this are grouped, into as many slices. */
const maxPoints = 300;
const dayMs = 86_400_000;

const counts = { succeeded: z.int(), partial: z.int(), failed: z.int(), cancelled: z.int(), open: z.int() };
const Point = z.object({
  runId: Id.describe('Of a slice, the newest run with its status'),
  startedAt: Instant.describe('When the run started, or was queued if it has not; of a slice, its beginning'),
  runs: z.int().describe('1 unless grouped'),
  status: z
    .enum(runStatuses)
    .describe('Of a slice, the worst: failed, partial, cancelled, an open state, succeeded'),
  counts: z.object(counts).describe('Runs by how they ended; `open`: they have not'),
  mode: z
    .enum(['incremental', 'full'])
    .describe(
      'Of a slice, `full` if any of its runs was; `incremental` also of a run that read only requested records',
    ),
  durationMs: z
    .int()
    .nullable()
    .describe('From start to end; of a slice, the longest. Null while none has ended'),
  recordsRead: z.int(),
  recordsChanged: z.int().describe('Inserted and updated'),
  recordsDeleted: z.int(),
  requests: z.int().describe('HTTP requests to the ERP'),
});

export const SyncHistory = z
  .object({
    from: Instant,
    to: Instant,
    runs: z.int().describe('Exact number of runs that were queued in the period'),
    grouped: z.boolean(),
    sliceSeconds: z.number().nullable().describe('Null unless grouped'),
    points: z
      .array(Point)
      .describe('Oldest first; slices without a run are absent. Records and requests of a slice are sums'),
  })
  .meta({ id: 'SyncHistory' });
type Point = z.input<typeof Point>;

type PointRow = { [Key in keyof typeof counts]: number } & {
  run_id: string;
  at: Date;
  runs: number;
  status: Point['status'];
  has_full: boolean;
  duration_ms: number | null;
  read: string;
  changed: string;
  deleted: string;
  requests: string;
};

const toPoint = (row: PointRow): Point => ({
  runId: row.run_id,
  startedAt: instant(row.at),
  runs: row.runs,
  status: row.status,
  counts: {
    succeeded: row.succeeded,
    partial: row.partial,
    failed: row.failed,
    cancelled: row.cancelled,
    open: row.open,
  },
  mode: row.has_full ? 'full' : 'incremental',
  durationMs: row.duration_ms,
  recordsRead: Number(row.read),
  recordsChanged: Number(row.changed),
  recordsDeleted: Number(row.deleted),
  requests: Number(row.requests),
});

const sum = (...names: readonly string[]): string =>
  `coalesce(sum(${names.map((name) => `coalesce((r.counts ->> '${name}')::bigint, 0)`).join(' + ')}), 0)::text`;
const counted = (status: string) => `(count(*) filter (where r.status = '${status}'))::int as ${status}`;
const isOpen = "r.status not in ('succeeded', 'partial', 'failed', 'cancelled')";
/** Of the worst of the runs, by the first of these states that any has; the newest of several. */
const ofWorst = (column: string): string =>
  `(array_agg(r.${column} order by array_position(array['failed', 'partial', 'cancelled'], r.status) nulls last, ${isOpen} desc, r.queued_at desc))[1]`;

type Period = { readonly organizationId: string; readonly configId: string; readonly from: Date };

const selectedSql =
  'from sync_runs r where r.organization_id = :organizationId and r.sync_config_id = :configId and r.queued_at > :from';

const countRuns = async (tx: Tx, period: Period): Promise<number> => {
  const { rows } = await tx.raw<{ rows: { runs: number }[] }>(`select count(*)::int as runs ${selectedSql}`, {
    ...period,
  });
  return rows[0]?.runs ?? 0;
};

/** The beginning of the slice of a run. The database's clock may be ahead of this one's. */
const sliceSql = `:from::timestamptz + make_interval(secs => (
  least(floor(extract(epoch from r.queued_at - :from::timestamptz) / :sliceSeconds), ${maxPoints - 1}) * :sliceSeconds)::float8)`;

/** Groups by slices of this length, or by run. */
async function listPoints(tx: Tx, period: Period, sliceSeconds: number | null): Promise<Point[]> {
  const isGrouped = sliceSeconds !== null;
  const { rows } = await tx.raw<{ rows: PointRow[] }>(
    `select ${ofWorst('id')} as run_id, ${isGrouped ? 'slice' : 'coalesce(min(started_at), min(queued_at))'} as at,
       count(*)::int as runs, ${ofWorst('status')} as status, bool_or(r.mode = 'full') as has_full,
       ${['succeeded', 'partial', 'failed', 'cancelled'].map(counted).join(', ')}, (count(*) filter (where ${isOpen}))::int as open,
       round(max(extract(epoch from r.finished_at - r.started_at)) * 1000)::float8 as duration_ms,
       ${sum('fetched')} as read, ${sum('inserted', 'updated')} as changed, ${sum('deleted')} as deleted,
       coalesce(sum(r.requests), 0)::text as requests
     from (select r.*, ${isGrouped ? sliceSql : 'null'} as slice ${selectedSql}) r
     group by ${isGrouped ? 'slice' : 'id'} order by min(queued_at), run_id`,
    { ...period, ...(isGrouped && { sliceSeconds }) },
  );
  return rows.map(toPoint);
}

/** Throws 404 for an unknown sync. */
export const readHistory = (ctx: RequestCtx, configId: string, days: number) =>
  inTransaction(ctx, async (tx) => {
    await getConfigRow(tx, ctx, configId);
    const to = ctx.clock.now();
    const from = new Date(to.getTime() - days * dayMs);
    const period = { organizationId: ctx.organizationId, configId, from };
    const runs = await countRuns(tx, period);
    const sliceSeconds = runs > maxPoints ? (days * dayMs) / 1000 / maxPoints : null;
    const points = await listPoints(tx, period, sliceSeconds);
    return {
      from: instant(from),
      to: instant(to),
      runs,
      grouped: sliceSeconds !== null,
      sliceSeconds,
      points,
    };
  });
