// What all reading steps share: the connector and the lease, how results are staged, and the checks on
// whether to continue.
import { type Connector, ErpError, type RecordTypeMetadata } from '../../connectors/connector.ts';
import type { TenantCtx } from '../../core/ctx.ts';
import { inDataTransaction } from '../../db/transaction.ts';
import { LostLease, type RunPlan, type RunState } from '../../warehouse/run-state-row.ts';
import {
  type AbsentRecord,
  findUnstorable,
  isUnstorableError,
  type StagedPage,
  stagePage,
} from '../../warehouse/staging.ts';
import { isValidId, toStorableText } from '../../warehouse/validate-values.ts';
import { isIdBefore, readByIds } from '../account/read-by-ids.ts';
import type { LineFacts } from '../prove/line-prover.ts';
import { Cancelled } from '../queue/interruption.ts';
import { logStep } from '../queue/log-step.ts';
import type { ProgressMeter, RunProgress } from '../queue/progress.ts';
import type { RequestCounter } from '../queue/request-count.ts';
import { type Lease, type SyncConfigRow, saveProgress } from '../queue/runs.store.ts';
import { type PageReader, type PageRules, toStagedPage } from './page-reader.ts';
import type { PreparedRun } from './prepare.ts';

export type RunReadContext = {
  readonly ctx: TenantCtx;
  readonly lease: Lease;
  readonly signal: AbortSignal;
  readonly connector: Connector;
  readonly readPage: PageReader;
  readonly rules: PageRules;
  readonly recordType: RecordTypeMetadata;
  readonly prepared: PreparedRun;
  readonly config: SyncConfigRow;
  readonly requests: RequestCounter;
  readonly meter: ProgressMeter;
};

/** How many records of those that the ERP counted are done. */
export type Counted = { readonly done: number; readonly expected: number };

/**
 * Saves the progress and the number of requests; without `counted`, how much is left is unknown. Throws
 * `LostLease` when a newer lease holds the run, and `Cancelled` when its cancellation was requested.
 */
export async function reportProgress(
  { ctx, lease, requests, meter }: Pick<RunReadContext, 'ctx' | 'lease' | 'requests' | 'meter'>,
  phase: RunProgress['phase'],
  { counters: { fetched, pages } }: RunState,
  counted: Counted | null,
  moved: boolean,
): Promise<void> {
  const sent = requests.take();
  let held = false;
  let cancelRequested = false;
  try {
    const progress = {
      ...meter.measure(phase, counted?.done ?? fetched, counted?.expected ?? null),
      fetched,
      pages,
    };
    ({ held, cancelRequested } = await saveProgress(ctx, lease, progress, moved, sent));
  } finally {
    if (!held) requests.giveBack(sent);
  }
  if (!held) throw new LostLease('a newer lease holds the run');
  if (cancelRequested) throw new Cancelled('the run was cancelled');
}

/**
 * Stages a page, stores the checkpoint and adds the facts about its lines to the plan. A record that
 * PostgreSQL can't store is rejected; the others of its page are staged. The COMMIT doesn't wait for the
 * disk: rows and checkpoint are written or lost together, and `flushStaged` waits before the run is
 * published. Throws `LostLease` when a newer lease holds the run or the page was already written, and any
 * other database error.
 */
export async function stageRunPage(
  reading: RunReadContext,
  state: RunState,
  { lines = null, ...page }: StagedPage & { readonly lines?: LineFacts | null },
): Promise<RunState> {
  const plan =
    lines === null
      ? page.plan
      : { ...page.plan, ...addFacts({ plan: { ...state.plan, ...page.plan } }, 'lines', lines) };
  const next = await stagePageOrReject(reading, state, { ...page, ...(plan !== undefined && { plan }) });
  const { records, rejected } = page;
  if (records.length + rejected.length > 0) {
    const { fetched, pages } = next.counters;
    logStep(reading.ctx, 'page', {
      records: records.length,
      rejected: rejected.length,
      fetched,
      pages,
      last: !page.hasMore,
    });
  }
  return next;
}

async function stagePageOrReject(
  { ctx, prepared: { schema, generation } }: RunReadContext,
  state: RunState,
  page: StagedPage,
): Promise<RunState> {
  const write = (toWrite: StagedPage) =>
    inDataTransaction(
      ctx.db.data,
      (client) => stagePage(client, schema, state, toWrite, generation),
      'ordered',
    );
  try {
    return await write(page);
  } catch (error) {
    if (!isUnstorableError(error)) throw error;
    const unstorable = await inDataTransaction(ctx.db.data, (client) =>
      findUnstorable(client, schema, state, page.records, generation),
    );
    if (unstorable.length === 0) throw error;
    const ids = new Set(unstorable.map(({ id }) => id));
    return write({
      ...page,
      records: page.records.filter(({ id }) => !ids.has(id)),
      rejected: [...page.rejected, ...unstorable],
    });
  }
}

type StepProgress = {
  readonly lastId?: string | null;
  readonly absent?: readonly AbsentRecord[];
  readonly plan?: Partial<RunPlan>;
};

/** Stores a step's progress and what it found in addition to rows. Throws what `stageRunPage` throws. */
export const saveStep = (
  reading: RunReadContext,
  state: RunState,
  { lastId = null, ...found }: StepProgress,
): Promise<RunState> =>
  stageRunPage(reading, state, {
    records: [],
    rejected: [],
    rereads: true,
    lastId,
    hasMore: found.plan?.step !== 'done' && !state.complete,
    ...found,
  });

/** Merges facts of a check into the plan: numbers are added to the stored ones, other values replace them. */
export const addFacts = (
  { plan: { facts } }: Pick<RunState, 'plan'>,
  check: string,
  more: RunPlan['facts'][string],
): Pick<RunPlan, 'facts'> => {
  const before = facts[check] ?? {};
  const sums = Object.entries(more).map(([name, value]) => {
    const previous = before[name];
    return [name, typeof value === 'number' && typeof previous === 'number' ? previous + value : value];
  });
  return { facts: { ...facts, [check]: { ...before, ...Object.fromEntries(sums) } } };
};

/**
 * Reads records by id, whether or not this run read them before. `proof` is the reason under which ids that
 * the ERP doesn't return are staged as deletions; null stages none. Throws what `stageRunPage` and the
 * connector throw.
 */
export async function rereadByIds(
  reading: RunReadContext,
  state: RunState,
  ids: readonly string[],
  proof: AbsentRecord['proof'] | null,
): Promise<{ state: RunState; absent: string[] }> {
  const absent: string[] = [];
  let current = state;
  for await (const { ids: read, page } of readByIds(reading, reading.prepared.fields, ids)) {
    const found = new Set([...page.records, ...page.rejected].map(({ id }) => id));
    const missing = read.filter((id) => !found.has(id));
    absent.push(...missing);
    current = await stageRunPage(reading, current, {
      ...(await toStagedPage(reading.rules, page, current)),
      rereads: true,
      lastId: null,
      hasMore: !current.complete,
      absent: proof === null ? [] : missing.map((id) => ({ id, proof })),
    });
  }
  return { state: current, absent };
}

/**
 * Throws an `ErpError` `PAGE_OUT_OF_ORDER` when a page contains an id at or before the checkpoint: in that
 * order some records would be read twice and others never. Where only the ERP knows the order, just the
 * checkpoint itself can be recognized.
 */
export function assertAscendingPage(
  { recordType: { keyOrder } }: Pick<RunReadContext, 'recordType'>,
  page: { readonly records: readonly { readonly id: string }[]; readonly isUnordered?: boolean },
  { checkpoint, plan: { idType } }: RunState,
): void {
  if (checkpoint === null || page.isUnordered === true) return;
  const isEarly = (id: string): boolean =>
    keyOrder === 'server' ? id === checkpoint : isValidId(id, idType) && !isIdBefore(checkpoint, id, idType);
  const early = page.records.find(({ id }) => isEarly(id));
  if (early === undefined) return;
  throw new ErpError(
    'answer',
    'PAGE_OUT_OF_ORDER',
    `The ERP returned record ${toStorableText(early.id, 200)} on a page that starts after ${checkpoint}`,
    { fix: 'Run the sync again; if it fails again, report it to the operator of this service.' },
  );
}
