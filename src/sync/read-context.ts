// What every step of reading shares: whom it asks, how what came is written, and how it is seen whether to go on.
import { type Connector, ErpError, type RecordTypeMetadata } from '../connectors/connector.ts';
import type { TenantCtx } from '../core/ctx.ts';
import { inDataTransaction } from '../db/transaction.ts';
import { LostLease, type RunPlan, type RunState } from '../warehouse/run-row.ts';
import { isSoundId, tellable } from '../warehouse/soundness.ts';
import { type AbsentRecord, findUnstorable, isUnstorable, type StagedPage, stagePage } from '../warehouse/staging.ts';
import { Cancelled } from './interruption.ts';
import { type PageReader, toStaged } from './page-reader.ts';
import type { PreparedRun } from './prepare.ts';
import { type ConfigRow, type Lease, noteProgress, type RunProgress } from './runs.store.ts';
import { logStep } from './steps.ts';

export type Reading = {
  readonly ctx: TenantCtx;
  readonly lease: Lease;
  readonly signal: AbortSignal;
  readonly connector: Connector;
  readonly readPage: PageReader;
  readonly recordType: RecordTypeMetadata;
  readonly prepared: PreparedRun;
  readonly config: ConfigRow;
};

/** All lines of these records come in one answer. */
export const idsAtOnce = 200;

const percentOf = (fetched: number, expected: number | null): number | null =>
  expected === null ? null : expected === 0 ? 100 : Math.min(100, Math.floor((fetched / expected) * 100));

/** Shows the progress; throws when this worker must not go on. */
export async function report(
  { ctx, lease }: Pick<Reading, 'ctx' | 'lease'>,
  phase: RunProgress['phase'],
  { counters: { fetched, pages } }: RunState,
  expected: number | null,
  moved: boolean,
): Promise<void> {
  const { held, cancelRequested } = await noteProgress(
    ctx,
    lease,
    { phase, fetched, expected, pages, percent: percentOf(fetched, expected) },
    moved,
  );
  if (!held) throw new LostLease('a newer lease holds this run');
  if (cancelRequested) throw new Cancelled('cancelled');
}

/**
 * A record that PostgreSQL can't store is rejected; the others of its page are staged. A page isn't waited for until it is on disk:
 * its rows and its checkpoint get there or are lost together, and `flushStaged` waits before anything is told of them.
 */
export async function stage(reading: Reading, state: RunState, page: StagedPage): Promise<RunState> {
  const next = await stagePageOrReject(reading, state, page);
  const { records, rejected } = page;
  if (records.length + rejected.length > 0) {
    const { fetched, pages } = next.counters;
    logStep(reading.ctx, 'page', { records: records.length, rejected: rejected.length, fetched, pages, last: !page.hasMore });
  }
  return next;
}

async function stagePageOrReject({ ctx, prepared: { schema, generation } }: Reading, state: RunState, page: StagedPage): Promise<RunState> {
  const write = (wanted: StagedPage) =>
    inDataTransaction(ctx.db.data, (client) => stagePage(client, schema, state, wanted, generation), 'ordered');
  try {
    return await write(page);
  } catch (error) {
    if (!isUnstorable(error)) throw error;
    const refused = await inDataTransaction(ctx.db.data, (client) => findUnstorable(client, schema, state, page.records, generation));
    if (refused.length === 0) throw error;
    const ids = new Set(refused.map(({ id }) => id));
    return write({ ...page, records: page.records.filter(({ id }) => !ids.has(id)), rejected: [...page.rejected, ...refused] });
  }
}

type Note = { readonly lastId?: string | null; readonly absent?: readonly AbsentRecord[]; readonly plan?: Partial<RunPlan> };

/** Writes down how far a step is, and what it found besides rows. */
export const note = (reading: Reading, state: RunState, { lastId = null, ...found }: Note): Promise<RunState> =>
  stage(reading, state, {
    records: [],
    rejected: [],
    rereads: true,
    lastId,
    hasMore: found.plan?.step !== 'done' && !state.complete,
    ...found,
  });

export const addFacts = ({ plan: { facts } }: RunState, check: string, more: RunPlan['facts'][string]): Pick<RunPlan, 'facts'> => {
  const before = facts[check] ?? {};
  const sums = Object.entries(more).map(([name, value]) => {
    const held = before[name];
    return [name, typeof value === 'number' && typeof held === 'number' ? held + value : value];
  });
  return { facts: { ...facts, [check]: { ...before, ...Object.fromEntries(sums) } } };
};

/**
 * Reads records by id, whether or not this run read them before. `proof` says what it means for those that the ERP doesn't know;
 * null means nothing.
 */
export async function reread(
  reading: Reading,
  state: RunState,
  ids: readonly string[],
  proof: AbsentRecord['proof'] | null,
): Promise<{ state: RunState; absent: string[] }> {
  const { connector, recordType, prepared, signal } = reading;
  const absent: string[] = [];
  let current = state;
  for (let start = 0; start < ids.length; start += idsAtOnce) {
    const some = ids.slice(start, start + idsAtOnce);
    const page = await connector.readByIds({ recordType, fields: prepared.fields, ids: some, signal });
    signal.throwIfAborted();
    const found = new Set([...page.records, ...page.rejected].map(({ id }) => id));
    const missing = some.filter((id) => !found.has(id));
    absent.push(...missing);
    current = await stage(reading, current, {
      ...(await toStaged(page, current)),
      rereads: true,
      lastId: null,
      hasMore: !current.complete,
      absent: proof === null ? [] : missing.map((id) => ({ id, proof })),
    });
  }
  return { state: current, absent };
}

/** The order in which ids ascend: as numbers, or by the bytes of their text. */
export const isBefore = (a: string, b: string, idType: 'integer' | 'text'): boolean =>
  idType === 'integer' ? BigInt(a) < BigInt(b) : Buffer.compare(Buffer.from(a), Buffer.from(b)) < 0;

/** A page behind the checkpoint holds nothing that an earlier one may have held: else records would come twice, and others never. */
export function checkAscent(
  page: { readonly records: readonly { readonly id: string }[] },
  { checkpoint, plan: { idType } }: RunState,
): void {
  if (checkpoint === null) return;
  const early = page.records.find(({ id }) => isSoundId(id, idType) && !isBefore(checkpoint, id, idType));
  if (early === undefined) return;
  throw new ErpError('answer', 'PAGE_OUT_OF_ORDER', `The ERP gave ${tellable(early.id, 200)} on a page that begins behind ${checkpoint}`, {
    fix: 'Run the sync again; if it repeats, report it to the operator of this service.',
  });
}

/** A page that announces more must name a record to go on from. */
export function checkOnward(page: Pick<StagedPage, 'hasMore' | 'lastId'>, checkpoint: string | null): void {
  if (!page.hasMore || (page.lastId !== null && page.lastId !== checkpoint)) return;
  throw new ErpError('answer', 'PAGE_WITHOUT_END', 'The ERP announced more records and named none to go on from', {
    fix: "Run the sync again; if it repeats, report it to the ERP's support.",
  });
}
