// What first loads of record types would take, before they are configured: records by the ERP's own counts,
// requests as the engine would send them, and minutes from pages that are read here and discarded.
import type { Connector, RecordTypeMetadata } from '../../connectors/connector.ts';
import { ErpError } from '../../connectors/connector.ts';
import type { TenantCtx } from '../../core/ctx.ts';
import { createRequestCounter } from '../queue/request-count.ts';
import type { CreateConnector } from './connection.ts';
import { type ConnectionName, connectionOf } from './connection-of.ts';

/** For the token, the ERP's clock and day, and its counts and list of custom fields before and after. */
const requestsOfRun = 7;
/** Of the largest record types; their time is what a load of all of them mostly takes. */
const maxTimedTypes = 3;

export type LoadEstimate = { readonly records: number; readonly requests: number };
export type LoadEstimates = {
  /** By record type: its load, or the error because of which its records can't be counted. */
  readonly loads: ReadonlyMap<string, LoadEstimate | ErpError>;
  /** Mean time of a request; null where no page could be read. */
  readonly latencyMs: number | null;
  /** Requests that are sent at once. */
  readonly concurrency: number;
};

const listSyncableFields = ({ fields }: RecordTypeMetadata): string[] =>
  fields.flatMap(({ name, syncable }) => (syncable ? [name] : []));
const hasLines = ({ fields }: RecordTypeMetadata): boolean =>
  fields.some(({ type, syncable }) => type === 'lines' && syncable);

async function estimateLoad(
  connector: Connector,
  recordType: RecordTypeMetadata,
  limit: number,
  signal: AbortSignal,
): Promise<LoadEstimate> {
  const read = await connector.estimateRead?.({
    recordType,
    fields: listSyncableFields(recordType),
    limit,
    signal,
  });
  const records = read?.records ?? (await connector.count(recordType, signal));
  const pages = read?.pages ?? Math.max(1, Math.ceil(records / limit));
  const totals = hasLines(recordType) && connector.lines !== undefined ? pages : 0;
  return { records, requests: requestsOfRun + (read?.requests ?? pages) + totals };
}

/** An error that concerns one record type. Throws any other one again, such as refused credentials. */
function errorOfType(error: unknown): ErpError {
  if (!(error instanceof ErpError) || error.kind === 'credentials') throw error;
  return error;
}
const mayPass = ({ kind }: ErpError): boolean => kind !== 'query' && kind !== 'forbidden';

type Timed = { readonly ms: number; readonly requests: number };

/** Reads the first page of a record type. The sign-in isn't part of the time. */
async function timePage(
  ctx: TenantCtx,
  createConnector: CreateConnector,
  recordType: RecordTypeMetadata,
  signal: AbortSignal,
): Promise<Timed> {
  const counter = createRequestCounter(ctx);
  const connector = await createConnector(counter.ctx, connectionOf(recordType.name));
  await connector.now(signal);
  const [before, startedMs] = [counter.count(), ctx.clock.monotonicMs()];
  const request = {
    recordType,
    fields: listSyncableFields(recordType),
    afterId: null,
    changedSince: null,
    limit: ctx.settings.sync.pageSize,
    signal,
  };
  await connector.readPage(request);
  return { ms: ctx.clock.monotonicMs() - startedMs, requests: counter.count() - before };
}

/** Mean time of a request while the pages of these record types are read at once; null where none can be. */
async function measureLatency(
  ctx: TenantCtx,
  createConnector: CreateConnector,
  types: readonly RecordTypeMetadata[],
  signal: AbortSignal,
): Promise<number | null> {
  const timed = await Promise.all(
    types.map((recordType) => timePage(ctx, createConnector, recordType, signal).catch(errorOfType)),
  );
  const read = timed.filter((one): one is Timed => !(one instanceof ErpError));
  const sum = (of: keyof Timed): number => read.reduce((total, one) => total + one[of], 0);
  return sum('requests') === 0 ? null : sum('ms') / sum('requests');
}

/**
 * Estimates the first loads of record types, which may have a filter. One request each, and a page of the
 * largest ones. Rejects with the signal's reason, with what `createConnector` throws, and with an `ErpError`
 * for refused credentials or when the ERP responds to nothing.
 */
export async function estimateLoads(
  ctx: TenantCtx,
  createConnector: CreateConnector,
  recordTypes: readonly RecordTypeMetadata[],
  signal: AbortSignal,
): Promise<LoadEstimates> {
  const { erp, sync } = ctx.settings;
  // A process without workers leaves the runs to others, whose number isn't known.
  const concurrency = sync.workers === 0 ? erp.concurrency : Math.min(erp.concurrency, sync.workers);
  const connectors = new Map<ConnectionName, ReturnType<CreateConnector>>();
  const loads = new Map(
    await Promise.all(
      recordTypes.map(async (recordType) => {
        const connection = connectionOf(recordType.name);
        const connecting = connectors.get(connection) ?? createConnector(ctx, connection);
        connectors.set(connection, connecting);
        const connector = await connecting;
        const load = await estimateLoad(connector, recordType, sync.pageSize, signal).catch(errorOfType);
        return [recordType.name, load] as const;
      }),
    ),
  );
  const failed = [...loads.values()].filter((load) => load instanceof ErpError && mayPass(load));
  if (failed.length > 0 && failed.length === loads.size) throw failed[0];
  const countRequests = ({ name }: RecordTypeMetadata): number => {
    const load = loads.get(name);
    return load === undefined || load instanceof ErpError || load.records === 0 ? 0 : load.requests;
  };
  const largest = recordTypes
    .filter((type) => countRequests(type) > 0)
    .sort((a, b) => countRequests(b) - countRequests(a))
    .slice(0, Math.min(concurrency, maxTimedTypes));
  return { loads, latencyMs: await measureLatency(ctx, createConnector, largest, signal), concurrency };
}
