// Everything that a query finds, as CSV for whoever opens it in a spreadsheet: one snapshot, in constant memory, under the turns and
// limits of the public interface's exports. Texts that a spreadsheet would execute get an apostrophe; numbers are never touched.
import type { TenantCtx } from '../core/ctx.ts';
import { sqlState } from '../db/pg-errors.ts';
import { readAvailableType } from './available.ts';
import { startCopy, watch } from './copy-lines.ts';
import { openCsv } from './csv.ts';
import type { Engine } from './engine.ts';
import { asUnavailable, timedOut } from './read.ts';
import { type BoundQuery, bindQuery, type QueryColumn, type QueryProblem, type RecordQuery, unknownRecordType } from './record-query.ts';
import { openSnapshot, type Snapshot, totalOf, whileTablesSwap } from './snapshot.ts';

export type RecordsCsv = {
  readonly columns: readonly QueryColumn[];
  readonly problems: readonly QueryProblem[];
  /** Problems keep all records back. */
  readonly heldBack: boolean;
  readonly total: number;
  /** RFC 3339; null when nothing is synced, or the time is unknown. */
  readonly syncedAt: string | null;
  /** UTF-8, first the line of names, lines ended by CR LF. It ends cleanly only when it is complete. To be read once. */
  readonly bytes: AsyncIterable<Buffer>;
  /** Aborted when the service ends it early, because its reader is slow or others wait. */
  readonly cut: AbortSignal;
};

const form: Parameters<typeof startCopy>[1]['form'] = (columns) => openCsv(columns, { guardFormulas: true });
const wholeResult = { page: 1, pageSize: 1 };

const onlyHead = ({ columns }: RecordQuery): Buffer =>
  form(['id', ...columns.map(({ name }) => name)].map((name) => ({ name, kind: 'text' }))).head;

/** Nothing to show: the line of names alone. */
const empty = (query: RecordQuery, bound: Pick<BoundQuery, 'columns' | 'problems'>, syncedAt: string | null): RecordsCsv => ({
  columns: bound.columns,
  problems: bound.problems,
  heldBack: true,
  total: 0,
  syncedAt,
  bytes: (async function* () {
    yield onlyHead(query);
  })(),
  cut: new AbortController().signal,
});

type Open = { readonly engine: Engine; readonly ctx: TenantCtx; readonly query: RecordQuery; readonly left: AbortSignal };

/** One attempt. `over` is called once, when the connection is no longer needed. */
async function startOnce({ engine, ctx, query, left }: Open, over: () => void): Promise<RecordsCsv> {
  const type = await readAvailableType(ctx, query.recordType);
  if (type === undefined) {
    over();
    const columns = query.columns.map((column) => ({ ...column, type: null }));
    return empty(query, { columns, problems: [unknownRecordType] }, null);
  }
  const { plan, ...bound } = bindQuery(query, type, wholeResult);
  const reader = engine.readerOf(ctx.organizationId);
  const snapshot = await openSnapshot(ctx.db.exports, reader, query.recordType, ctx.settings.exports.limitMs, left);
  try {
    const { syncedAt } = snapshot.freshness;
    if (bound.letsNothingThrough) {
      snapshot.destroy();
      over();
      return empty(query, bound, syncedAt);
    }
    const total = await totalOf(snapshot, reader, plan);
    const lines = await startCopy(snapshot, { plan, total, left, form, giveWay: engine.exports.giveWay });
    return { ...bound, heldBack: false, total, syncedAt, ...flow({ engine, ctx, query, left }, snapshot, lines, over) };
  } catch (error) {
    snapshot.destroy();
    throw error;
  }
}

/** The bytes, watched over until they end, are cut off, or nobody listens any more. */
function flow(
  { engine, ctx, query, left }: Open,
  snapshot: Snapshot,
  lines: Awaited<ReturnType<typeof startCopy>>,
  over: () => void,
): Pick<RecordsCsv, 'bytes' | 'cut'> {
  const cut = new AbortController();
  let isOffered = false;
  const end = (): void => {
    stop();
    left.removeEventListener('abort', end);
    snapshot.destroy();
    over();
  };
  const cutOff = (reason: string): void => {
    ctx.log.info(
      { organizationId: ctx.organizationId, recordType: query.recordType, reason, bytes: lines.taken() },
      'records as CSV were cut off',
    );
    cut.abort(new Error(`cut off: ${reason}`));
    end();
  };
  const stop = watch({
    lines,
    snapshot,
    standing: engine.exports.standing,
    limits: ctx.settings.exports,
    isWaiting: () => isOffered,
    cut: cutOff,
  });
  if (left.aborted) end();
  left.addEventListener('abort', end);
  async function* read(): AsyncGenerator<Buffer> {
    try {
      for await (const piece of lines.read()) {
        isOffered = true;
        // The next one is written over it.
        yield Buffer.from(piece);
        isOffered = false;
        cut.signal.throwIfAborted();
      }
    } catch (error) {
      if (sqlState(error) === timedOut) cutOff('time limit');
      throw error;
    } finally {
      end();
    }
  }
  return { bytes: read(), cut: cut.signal };
}

/**
 * Resolves when the first rows are there. Whoever doesn't read to the end aborts the signal. Throws 503 while too many exports run, no
 * sync of the record type has been published, or the database is away; rejects with the signal's reason when it comes first.
 */
export async function openRecordsCsv(engine: Engine, ctx: TenantCtx, query: RecordQuery, left: AbortSignal): Promise<RecordsCsv> {
  const endTurn = await engine.exports.turns.take(ctx.organizationId, left);
  if (endTurn === undefined) throw left.reason;
  let isOver = false;
  const over = (): void => {
    if (!isOver) endTurn();
    isOver = true;
  };
  try {
    const reader = engine.readerOf(ctx.organizationId);
    return await whileTablesSwap(reader, query.recordType, () => startOnce({ engine, ctx, query, left }, over));
  } catch (error) {
    over();
    throw asUnavailable(error);
  }
}
