// The door for callers inside the service that are no published version: saved views, mails, templates. They read any synced
// field of one organization through the same engine as the public interface, with its limits, its caches and its refusals.
import type { Ctx, TenantCtx } from '../core/ctx.ts';
import { readAvailableType } from './available.ts';
import { type Engine, engineOf } from './engine.ts';
import { currentFreshness, readList, readRecord } from './read.ts';
import { bindQuery, endpointOf, type QueryColumn, type QueryProblem, type RecordQuery, unknownRecordType } from './record-query.ts';
import { openRecordsCsv, type RecordsCsv } from './records-csv.ts';
import { isRecordId } from './values.ts';

type Page = { readonly page: number; readonly pageSize: number };

export type FoundRecords = {
  readonly columns: readonly QueryColumn[];
  /** The page as text of a JSON array, written by PostgreSQL with exact digits: `id` first, then the columns under their names. */
  readonly records: string;
  readonly total: number;
  /** RFC 3339; null when nothing is synced, or the time is unknown. */
  readonly syncedAt: string | null;
  readonly problems: readonly QueryProblem[];
  /** Problems keep all records back. */
  readonly heldBack: boolean;
};

export type Records = {
  /**
   * One page, `page` from 1. What the warehouse no longer holds is told in `problems`, never thrown. Throws 503 while no sync of the
   * record type has been published, when the read takes too long, and when the database is away.
   */
  list(tenant: TenantCtx, query: RecordQuery, page: Page): Promise<FoundRecords>;
  /** One record as JSON text, its values under their sources; undefined when there is none. Throws 503 as `list` does. */
  get(tenant: TenantCtx, recordType: string, id: string, sources: readonly string[]): Promise<string | undefined>;
  /**
   * All records of one snapshot as CSV, in constant memory, in turn with the public interface's exports. Resolves when the first ones
   * are there; whoever doesn't read to the end aborts the signal. Throws 503 as `list` does, and while too many exports run.
   */
  csv(tenant: TenantCtx, query: RecordQuery, signal: AbortSignal): Promise<RecordsCsv>;
  /** What `list` would tell now, without reading records. */
  check(tenant: TenantCtx, query: RecordQuery): Promise<readonly QueryProblem[]>;
};

const nothing = (query: RecordQuery): FoundRecords => ({
  columns: query.columns.map((column) => ({ ...column, type: null })),
  records: '[]',
  total: 0,
  syncedAt: null,
  problems: [unknownRecordType],
  heldBack: true,
});

async function list(engine: Engine, ctx: TenantCtx, query: RecordQuery, page: Page): Promise<FoundRecords> {
  const type = await readAvailableType(ctx, query.recordType);
  if (type === undefined) return nothing(query);
  const reader = engine.readerOf(ctx.organizationId);
  const { plan, columns, problems, letsNothingThrough } = bindQuery(query, type, page);
  if (letsNothingThrough) {
    const { syncedAt } = await currentFreshness(reader, query.recordType);
    return { columns, problems, heldBack: true, records: '[]', total: 0, syncedAt };
  }
  const { records, total, freshness } = await readList(reader, plan);
  return { columns, problems, heldBack: false, records: `[${records}]`, total, syncedAt: freshness.syncedAt };
}

async function get(
  engine: Engine,
  ctx: TenantCtx,
  recordType: string,
  id: string,
  sources: readonly string[],
): Promise<string | undefined> {
  const type = await readAvailableType(ctx, recordType);
  if (type === undefined || !isRecordId(type.idType, id)) return undefined;
  const columns = sources.filter((source) => source !== 'id').map((source) => ({ name: source, source }));
  const { endpoint } = endpointOf({ recordType, columns }, type, () => undefined);
  const plan = { endpoint, id, fields: endpoint.fields, normalized: '' };
  const { record } = await readRecord(engine.readerOf(ctx.organizationId), plan);
  return record ?? undefined;
}

async function check(ctx: TenantCtx, query: RecordQuery): Promise<readonly QueryProblem[]> {
  const type = await readAvailableType(ctx, query.recordType);
  return type === undefined ? [unknownRecordType] : bindQuery(query, type, { page: 1, pageSize: 1 }).problems;
}

/** In turn with all others that come through this door. */
async function inTurn<T>({ freeReads }: Engine, { organizationId }: TenantCtx, read: () => Promise<T>): Promise<T> {
  const end = await freeReads.take(organizationId, new AbortController().signal);
  try {
    return await read();
  } finally {
    end?.();
  }
}

/** Whatever the process remembers of reads is shared with the public interface; `ctx` and `tenant` must have the same connections. */
export function openRecords(ctx: Ctx): Records {
  const engine = engineOf(ctx);
  return {
    list: (tenant, query, page) => inTurn(engine, tenant, () => list(engine, tenant, query, page)),
    get: (tenant, recordType, id, sources) => inTurn(engine, tenant, () => get(engine, tenant, recordType, id, sources)),
    csv: (tenant, query, signal) => openRecordsCsv(engine, tenant, query, signal),
    check,
  };
}
