// Writes everything that a query finds as a file for spreadsheets.
import type { TenantCtx } from '../../core/ctx.ts';
import type { RowCondition } from '../../core/record-access.ts';
import { createSheetWriter } from '../export/sheet.ts';
import { openSnapshot, type SnapshotSource } from '../export/snapshot.ts';
import { sheetNames, streamWorkbook } from '../export/workbook.ts';
import { assertScopeFresh } from '../read/result/stale-fields.ts';
import { readAvailableType } from '../version/available.ts';
import type { FindLivingMasks } from '../version/living-masks.ts';
import {
  copyRecords,
  type ExportSources,
  type FileBytes,
  type FileForm,
  type FileJob,
  startFile,
  writerOf,
} from './file-stream.ts';
import {
  type BoundQuery,
  bindQuery,
  freshnessOfQuery,
  type QueryColumn,
  type QueryMasks,
  type QueryProblem,
  type QueryTarget,
  type RecordQuery,
  unknownRecordTypeProblem,
} from './record-query.ts';

/** What every read of records returns next to its values. */
export type Found = {
  readonly problems: readonly QueryProblem[];
  /** Nothing is returned because of the problems. */
  readonly heldBack: boolean;
  readonly total: number;
  /**
   * Of the last sync that could read every field that the query uses. RFC 3339; null when nothing is synced
   * or the time is unknown.
   */
  readonly syncedAt: string | null;
};

export type RecordsFile = Found & FileBytes & { readonly columns: readonly QueryColumn[] };

const wholeResult = { page: 1, pageSize: 1 };

async function* headerOf({ columns, recordType }: RecordQuery, form: FileForm): AsyncGenerator<Buffer> {
  const names = ['id', ...columns.map(({ name }) => name)].map((name) => ({ name, kind: 'text' as const }));
  if (form !== 'xlsx') yield writerOf(form)(names).head;
  else {
    const [name = recordType] = sheetNames([recordType]);
    const open = async function* () {
      yield createSheetWriter(names).head;
    };
    yield* streamWorkbook([{ name, open }]);
  }
}

/** The header line alone. */
const headerOnly = (
  { query, form }: Pick<FileRequest, 'query' | 'form'>,
  bound: Pick<BoundQuery, 'columns' | 'problems'>,
  syncedAt: string | null,
): RecordsFile => ({
  columns: bound.columns,
  problems: bound.problems,
  heldBack: true,
  total: 0,
  syncedAt,
  bytes: headerOf(query, form),
  aborted: new AbortController().signal,
});

export type FileSources = ExportSources & { readonly findLivingMasks: FindLivingMasks };
/** Of someone who reads every record. `unmasked`: whether masked fields are read as they are. */
export const allRows = ({ unmasked }: { readonly unmasked: boolean }): CallerRights => ({
  unmasked,
  rows: 'all',
});
/** `rows`: the conditions of a row scope, or all records. */
export type CallerRights = { readonly unmasked: boolean; readonly rows: 'all' | readonly RowCondition[] };
type FileRequest = {
  readonly sources: FileSources;
  readonly ctx: TenantCtx;
  readonly query: RecordQuery;
  readonly form: FileForm;
  readonly signal: AbortSignal;
  readonly rights: CallerRights;
};

const noMasks: QueryMasks = new Map();

/** What queries of the record type are bound to; undefined when it was never set up. */
export async function findQueryTarget(
  { findLivingMasks }: FileSources,
  ctx: TenantCtx,
  recordType: string,
  { unmasked, rows }: CallerRights,
  readType: typeof readAvailableType = readAvailableType,
): Promise<QueryTarget | undefined> {
  const type = await readType(ctx, recordType);
  const masks = unmasked ? undefined : (await findLivingMasks(ctx)).get(recordType);
  return type && { type, rows, masks: masks ?? noMasks };
}

/** One attempt. `onDone` is called once, when the connection is no longer needed. */
async function startOnce(request: FileRequest, job: FileJob, source: SnapshotSource, onDone: () => void) {
  const { sources, ctx, query, signal, rights } = request;
  const target = await findQueryTarget(sources, ctx, query.recordType, rights);
  if (target === undefined) {
    onDone();
    const columns = query.columns.map((column) => ({ ...column, type: null }));
    return headerOnly(request, { columns, problems: [unknownRecordTypeProblem] }, null);
  }
  const { plan, ...bound } = bindQuery(query, target, wholeResult);
  const snapshot = await openSnapshot(source, query.recordType, ctx.settings.exports.maxDurationMs, signal);
  try {
    assertScopeFresh(plan.endpoint, snapshot.freshness);
    const { syncedAt, problems: stale } = freshnessOfQuery(query, snapshot.freshness);
    const problems = [...bound.problems, ...stale];
    if (bound.matchesNothing) {
      snapshot.destroy();
      onDone();
      return headerOnly(request, { ...bound, problems }, syncedAt);
    }
    return {
      ...bound,
      problems,
      heldBack: false,
      syncedAt,
      ...(await copyRecords(job, snapshot, plan, onDone)),
    };
  } catch (error) {
    snapshot.destroy();
    throw error;
  }
}

/**
 * Resolves when the first rows are available. A caller that does not read to the end must abort the signal.
 * Rejects with 503 when too many exports run, no sync of the record type has been published, or the database
 * is unavailable; with the reason of the signal when it aborts first.
 */
export function startRecordsFile(request: FileRequest): Promise<RecordsFile> {
  const { sources, ctx, query, form, signal } = request;
  const job: FileJob = { sources, ctx, recordType: query.recordType, form, signal };
  return startFile(job, (source, onDone) => startOnce(request, job, source, onDone));
}
