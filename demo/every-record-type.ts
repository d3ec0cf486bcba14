// With `DEMO_RECORD_TYPES=all`: syncs every record type that the account has. What is done already isn't done
// again, so that a demo killed at any moment resumes there.
import { z } from 'zod';
import type { Ctx } from '../src/core/ctx.ts';
import { inTransaction } from '../src/db/transaction.ts';
import type { ManagementCall } from './management-client.ts';
import { pollUntil } from './poll-until.ts';
import type { ProgressDisplay } from './progress.ts';
import { isDone, listConfigs, readList } from './set-up.ts';

const RecordType = z.object({ name: z.string(), syncable: z.boolean().nullable() });
/** Record types in one request: few enough for the display of progress. */
const typesPerRequest = 20;
/** Fewer than the requests that a key may send in a minute. */
const requestsPerBudget = 40;

type Demo = {
  readonly ctx: Ctx;
  readonly organizationId: string;
  readonly call: ManagementCall;
  readonly progress: ProgressDisplay;
};

/**
 * `restoreBudget` gives the key of `call` its whole rate limit again: before the first call, and whenever it
 * might be used up.
 */
function withBudget(call: ManagementCall, restoreBudget: () => Promise<void>): ManagementCall {
  let calls = 0;
  return async (method, path, response, body) => {
    if (calls % requestsPerBudget === 0) await restoreBudget();
    calls += 1;
    return call(method, path, response, body);
  };
}

/** Creates a sync of every record type that has none and may be syncable. Each runs every hour. */
async function createConfigs({ call, progress }: Demo): Promise<void> {
  // An earlier start may have listed fewer.
  await call('POST', '/netsuite/metadata/refresh', z.unknown());
  const configured = new Set((await listConfigs(call)).map(({ recordType }) => recordType));
  const types = await readList(call, '/netsuite/metadata', RecordType);
  const missing = types
    .filter(({ name, syncable }) => syncable !== false && !configured.has(name))
    .map(({ name }) => name);
  for (let first = 0; first < missing.length; first += typesPerRequest) {
    const recordTypes = missing.slice(first, first + typesPerRequest);
    progress.showPart(first, missing.length);
    await call('POST', '/sync-configs/bulk', z.unknown(), {
      recordTypes,
      schedule: '0 * * * *',
      timezone: 'Europe/London',
    });
  }
}

/** Starts a run of every sync that has none that succeeded. */
async function startRuns({ call }: Demo): Promise<string[]> {
  const waiting = (await listConfigs(call)).filter(({ lastRun }) => !isDone(lastRun?.status));
  const runs: string[] = [];
  for (const { id } of waiting)
    runs.push((await call('POST', `/sync-configs/${id}/trigger`, z.object({ id: z.string() }), {})).id);
  return runs;
}

type Run = {
  id: string;
  record_type: string;
  status: string;
  attempt: number;
  progress: unknown;
  error: { message: string; fix: string } | null;
};

/**
 * Syncs every record type of the account once; from then on each runs every hour. Throws an Error when a run
 * fails or is cancelled, and ManagementApiError.
 */
export async function syncEveryRecordType(given: Demo, restoreBudget: () => Promise<void>): Promise<void> {
  const demo = { ...given, call: withBudget(given.call, restoreBudget) };
  demo.progress.startStep('Reading the fields of every record type');
  await createConfigs(demo);
  const started = await startRuns(demo);
  if (started.length === 0) return;
  demo.progress.startStep('Syncing every record type');
  await waitForRuns(demo, started);
}

/**
 * Waits for the runs, as long as one of them advances. Throws an Error when a run fails or is cancelled, and
 * when none has advanced for ten minutes.
 */
export async function waitForRuns(
  { ctx, organizationId, progress }: Pick<Demo, 'ctx' | 'organizationId' | 'progress'>,
  started: readonly string[],
): Promise<void> {
  await pollUntil(ctx.clock, async () => {
    const runs = await inTransaction({ db: ctx.db, organizationId }, (tx) =>
      tx('sync_runs')
        .whereIn('id', [...started])
        .orderBy('id')
        .select<Run[]>('id', 'record_type', 'status', 'attempt', 'progress', 'error'),
    );
    const stopped = runs.find(({ status }) => status === 'failed' || status === 'cancelled');
    if (stopped !== undefined)
      throw new Error(
        `The sync of ${stopped.record_type} ${stopped.status}: ${stopped.error?.message ?? ''} ${stopped.error?.fix ?? ''}`,
      );
    const done = runs.filter(({ status }) => isDone(status)).length;
    progress.showPart(done, started.length);
    return { result: done === started.length ? true : undefined, seen: runs };
  });
}
