// Sync configurations for many record types at once. Each record type is created or refused on its own; a dry
// run creates nothing and estimates the first loads instead.
import { ErpError, type RecordTypeMetadata } from '../../connectors/connector.ts';
import type { RequestCtx } from '../../core/ctx.ts';
import { AppError, type ErrorDetail, invalid } from '../../core/errors.ts';
import { createSuggestions } from '../../core/text/nearest-name.ts';
import { inTransaction } from '../../db/transaction.ts';
import {
  connectionOf,
  estimateLoads,
  findSyncConfigIds,
  hasReadableFields,
  type LoadEstimates,
  listSyncableNames,
  withFilter,
} from '../../sync/index.ts';
import { explainMissingMetadata } from '../connections/missing-metadata.ts';
import {
  describeRecordTypes,
  metadataFailure,
  metadataTimeoutMs,
} from '../connections/record-types.service.ts';
import { getConnector } from '../connections/test-connection.service.ts';
import { quotaExceeded, readQuotaLeft } from '../quotas.ts';
import type { BulkSyncConfigs, BulkSyncConfigsResult } from './bulk.schemas.ts';
import { assertFilter, assertSchedule, explainUnsyncable } from './config-checks.ts';
import { triggerSync } from './runs.service.ts';
import { insertSyncConfig } from './syncs.service.ts';

type Entry = BulkSyncConfigsResult['data'][number];
const entry = (recordType: string, status: Entry['status'], more: Partial<Entry> = {}): Entry => ({
  ...{
    recordType,
    status,
    syncConfigId: null,
    code: null,
    reason: null,
    fields: null,
    records: null,
    requests: null,
    minutes: null,
  },
  ...more,
});
const refused = (recordType: string, { code, message }: Omit<ErrorDetail, 'path'>): Entry =>
  entry(recordType, 'refused', { code, reason: message });

/** The first problem of an input that a check refused. Throws any other error again. */
function toErrorDetail(error: unknown): ErrorDetail {
  const [detail] = error instanceof AppError && error.code === 'VALIDATION_ERROR' ? error.details : [];
  if (detail === undefined) throw error;
  return detail;
}

/** A record type that can be created. */
type Chosen = { readonly name: string; readonly recordType: RecordTypeMetadata };
type Choice = Chosen | Entry;
const isChosen = (choice: Choice): choice is Chosen => !('status' in choice);

/**
 * What becomes of each name, in order, before the quota. Throws 422 until the record types of the ERP are
 * known, and as `describeRecordTypes`.
 */
async function choose(ctx: RequestCtx, { recordTypes, filter }: BulkSyncConfigs): Promise<Choice[]> {
  const names = [...new Set(recordTypes)];
  const known = await listSyncableNames(ctx);
  if (known.length === 0)
    throw invalid("The ERP's record types are not known yet", [
      { path: 'recordTypes', ...(await explainMissingMetadata(ctx, connectionOf(names[0] ?? ''))) },
    ]);
  const existing = await findSyncConfigIds(ctx, names);
  const described = await describeRecordTypes(
    ctx,
    names.filter((name) => !existing.has(name)),
  );
  const [suggest, syncable] = [createSuggestions(), new Set(known)];
  return names.map((name): Choice => {
    const syncConfigId = existing.get(name);
    if (syncConfigId !== undefined) return entry(name, 'exists', { syncConfigId });
    const recordType = described.get(name);
    if (recordType === undefined || !hasReadableFields(recordType))
      return refused(name, explainUnsyncable(name, recordType, syncable, suggest));
    try {
      assertFilter(recordType, filter);
      return { name, recordType };
    } catch (error) {
      return refused(name, toErrorDetail(error));
    }
  });
}

/** Refuses what is beyond the quota. */
async function limitToQuota(ctx: RequestCtx, choices: readonly Choice[]): Promise<Choice[]> {
  const left = await inTransaction(ctx, (tx) => readQuotaLeft(tx, ctx, 'syncs'));
  const allowed = new Set(choices.filter(isChosen).slice(0, left));
  return choices.map((choice) =>
    isChosen(choice) && !allowed.has(choice)
      ? refused(choice.name, toErrorDetail(quotaExceeded(ctx, 'syncs')))
      : choice,
  );
}

type Defaults = Omit<BulkSyncConfigs, 'recordTypes' | 'dryRun' | 'start'>;
const maxNameLength = 120;

/** A complete configuration or none; another request may have created one meanwhile. */
async function createOne(ctx: RequestCtx, { name, recordType }: Chosen, defaults: Defaults): Promise<Entry> {
  // A character that takes two UTF-16 units isn't cut in half.
  const label = recordType.label.slice(0, maxNameLength).replace(/[\ud800-\udbff]$/, '');
  try {
    return entry(name, 'created', {
      fields: countFields(recordType),
      syncConfigId: await insertSyncConfig(ctx, { ...defaults, name: label, recordType: name, fields: '*' }),
    });
  } catch (error) {
    const problem = toErrorDetail(error);
    if (problem.code !== 'taken') return refused(name, problem);
    return entry(name, 'exists', { syncConfigId: (await findSyncConfigIds(ctx, [name])).get(name) ?? null });
  }
}

async function createChosen(
  ctx: RequestCtx,
  choices: readonly Choice[],
  defaults: Defaults,
  start: boolean,
): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (const choice of choices) {
    const made = isChosen(choice) ? await createOne(ctx, choice, defaults) : choice;
    if (start && made.status === 'created' && made.syncConfigId !== null)
      await triggerSync(ctx, made.syncConfigId, undefined);
    entries.push(made);
  }
  return entries;
}

const countFields = ({ fields }: RecordTypeMetadata) => fields.filter(({ syncable }) => syncable).length;

const computeMinutes = (requests: number, latencyMs: number | null): number | null =>
  latencyMs === null ? null : Math.ceil((requests * latencyMs) / 6_000) / 10;

function plannedEntry({ name, recordType }: Chosen, { loads, latencyMs }: LoadEstimates): Entry {
  const load = loads.get(name);
  const fields = countFields(recordType);
  if (!(load instanceof ErpError))
    return entry(name, 'planned', {
      fields,
      ...(load && { ...load, minutes: computeMinutes(load.requests, latencyMs) }),
    });
  const problem = { code: load.code, message: `${load.message}. ${load.fix}` };
  const isRefusal = load.kind === 'query' || load.kind === 'forbidden';
  return isRefusal
    ? refused(name, problem)
    : entry(name, 'planned', { fields, code: problem.code, reason: problem.message });
}

/** Throws 422 without usable credentials or when the ERP refuses, 503 when it doesn't respond in time. */
async function estimateChosen(ctx: RequestCtx, choices: readonly Choice[], filter: Defaults['filter']) {
  const recordTypes = choices.filter(isChosen).map(({ recordType }) => withFilter(recordType, filter));
  const timeout = AbortSignal.timeout(metadataTimeoutMs);
  try {
    return await estimateLoads(ctx, getConnector, recordTypes, AbortSignal.any([ctx.disconnected, timeout]));
  } catch (error) {
    throw metadataFailure(error, timeout.aborted);
  }
}

function computeTotals(
  entries: readonly Entry[],
  estimates: LoadEstimates | null,
): BulkSyncConfigsResult['totals'] {
  const count = (status: Entry['status']): number => entries.filter((one) => one.status === status).length;
  const counts = {
    created: count('created'),
    exists: count('exists'),
    planned: count('planned'),
    refused: count('refused'),
  };
  if (estimates === null) return { ...counts, records: null, requests: null, minutes: null };
  const sum = (of: 'records' | 'requests') => entries.reduce((total, one) => total + (one[of] ?? 0), 0);
  const requests = sum('requests');
  const longest = Math.max(0, ...entries.map((one) => one.requests ?? 0));
  const inTurn = Math.max(requests / estimates.concurrency, longest);
  return {
    ...counts,
    records: sum('records'),
    requests,
    minutes: computeMinutes(inTurn, estimates.latencyMs),
  };
}

/**
 * Throws 422 for an invalid schedule, and until the record types of the ERP are known; otherwise as
 * `describeRecordTypes`. Whatever concerns one record type is in its entry.
 */
export async function createSyncConfigs(
  ctx: RequestCtx,
  input: BulkSyncConfigs,
): Promise<BulkSyncConfigsResult> {
  const { recordTypes: _, dryRun, start, ...defaults } = input;
  assertSchedule(defaults.schedule, defaults.timezone);
  const choices = await limitToQuota(ctx, await choose(ctx, input));
  if (!dryRun) {
    const data = await createChosen(ctx, choices, defaults, start);
    return { data, totals: computeTotals(data, null), latencyMs: null, concurrency: null };
  }
  const estimates = await estimateChosen(ctx, choices, defaults.filter);
  const data = choices.map((choice) => (isChosen(choice) ? plannedEntry(choice, estimates) : choice));
  const { latencyMs, concurrency } = estimates;
  return {
    data,
    totals: computeTotals(data, estimates),
    latencyMs: latencyMs === null ? null : Math.round(latencyMs),
    concurrency,
  };
}
