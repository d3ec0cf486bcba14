// Serves the address of the public interface itself: the versions that the caller may read, where they are
// described, and how many records of each resource it can read.

import { hash } from 'node:crypto';
import { AppError } from '../../core/errors.ts';
import { allowsVersion } from '../../core/record-access.ts';
import { toQueryText } from '../../core/text/query-text.ts';
import { inTransaction } from '../../db/transaction.ts';
import { negotiateMediaType, type PublicExchange } from '../http/exchange.ts';
import { sendJsonText, textBody } from '../http/response.ts';
import { findFreshness, type Reader } from '../read/connection/reader.ts';
import { parameterError, parameterProblem, parseQuery } from '../read/plan/request.ts';
import { countRecords } from '../read/result/count-records.ts';
import { freshnessOfFields } from '../read/result/stale-fields.ts';
import type { ReadableEndpoint } from '../version/compile.ts';
import { readableEndpoints } from '../version/narrow.ts';
import { getPublishedVersion, type KnownVersions } from '../version/published.ts';
import { findLive, type LiveRow } from '../version/versions.store.ts';
import type { Caller, PublicService } from './service.ts';

type FoundVersion = { readonly row: LiveRow; readonly endpoints: readonly ReadableEndpoint[] };

/**
 * Sends `{data: [{version, name, state, sunsetAt, description, reference, resources}]}`, with paths for
 * `description` and `reference`, and `{name, path, records, syncedAt, freshness}` for each resource. `records`
 * and `syncedAt` are null before the first sync; `records` is null too while the records of the resource cannot
 * be counted, and `freshness` without a target. Rejects with 406, 400 for any parameter, and 503 when the state of the data cannot be read.
 */
export async function serveDiscovery(service: PublicService, exchange: PublicExchange, caller: Caller) {
  const { req, baseUrl } = exchange;
  negotiateMediaType(req, ['application/json']);
  assertNoParameters(toQueryText(req.url ?? ''));
  const { organizationId } = caller.tenant;
  const data: unknown[] = [];
  const { versions, targets } = await service.runLookup(organizationId, async () => ({
    versions: await findVersions(service, caller),
    targets: await listFreshnessTargets(caller.tenant),
  }));
  for (const { row, endpoints } of versions) {
    const { version, name, status, sunset_at: sunsetAt } = row;
    const resources: unknown[] = [];
    for (const endpoint of endpoints) {
      const path = `${baseUrl}/${version}/${endpoint.name}`;
      const state = await readState(caller.reader, endpoint);
      const freshness = describeFreshness(targets.get(endpoint.recordType), state, service.ctx.clock.now());
      resources.push({ name: endpoint.name, path, ...state, freshness });
    }
    const description = `${baseUrl}/openapi/${version}`;
    const dates = { state: status, sunsetAt: sunsetAt?.toISOString() ?? null };
    data.push({ version, name, ...dates, description, reference: `${description}/preview`, resources });
  }
  const text = JSON.stringify({ data });
  await sendJsonText(
    exchange,
    [organizationId, caller.scopeKey, 'discovery', hash('sha256', text, 'base64url')],
    textBody(text),
  );
}

function assertNoParameters(query: string): void {
  const unknown = [...parseQuery(query).keys()].slice(0, 20);
  if (unknown.length === 0) return;
  throw parameterError(
    unknown.map((name) =>
      parameterProblem(
        name,
        'unknown_parameter',
        `Unknown parameter "${name.slice(0, 80)}". There are none here.`,
      ),
    ),
  );
}

/** The published and deprecated versions of which the caller may read something, by label. */
async function findVersions({ engine }: PublicService, { tenant, access }: Caller): Promise<FoundVersion[]> {
  const found: FoundVersion[] = [];
  for (const row of await findLive(tenant)) {
    if (!allowsVersion(access, row.version)) continue;
    const state = await findPublished(engine, tenant, row.version);
    if (state === undefined || state.status === 'retired') continue;
    const schema = await engine.content.loadCompiled(tenant, state);
    const endpoints = readableEndpoints(schema, access);
    if (endpoints.length > 0 || schema.endpoints.size === 0) found.push({ row, endpoints });
  }
  return found;
}

/**
 * Undefined for a version that is gone: one that was listed a moment ago may be deleted, or known to this
 * process as a draft.
 */
const findPublished = (engine: KnownVersions, tenant: Caller['tenant'], version: string) =>
  getPublishedVersion(engine, tenant, version).catch((error: unknown) => {
    if (error instanceof AppError && error.status === 404) return undefined;
    throw error;
  });

/** In minutes, by record type. */
const listFreshnessTargets = (tenant: Caller['tenant']): Promise<ReadonlyMap<string, number>> =>
  inTransaction(tenant, async (tx) => {
    const rows = await tx('sync_configs')
      .where('organization_id', tenant.organizationId)
      .whereNotNull('freshness_target')
      .select<{ record_type: string; freshness_target: number }[]>('record_type', 'freshness_target');
    return new Map(rows.map((row) => [row.record_type, row.freshness_target]));
  });

/** Null without a target. Data that were never read are stale. Pure. */
function describeFreshness(targetMinutes: number | undefined, { syncedAt }: ResourceState, now: Date) {
  if (targetMinutes === undefined) return null;
  const isStale = syncedAt === null || Date.parse(syncedAt) + targetMinutes * 60_000 < now.getTime();
  return { targetMinutes, isStale };
}

type ResourceState = { readonly records: number | null; readonly syncedAt: string | null };

/** One resource after the other: a caller's reads share a limit with its other requests. */
async function readState(reader: Reader, endpoint: ReadableEndpoint): Promise<ResourceState> {
  const freshness = await findFreshness(reader, endpoint.recordType);
  if (freshness === undefined) return { records: null, syncedAt: null };
  const { syncedAt } = freshnessOfFields(freshness, endpoint.fields);
  try {
    return { records: (await countRecords(reader, endpoint)).total, syncedAt };
  } catch (error) {
    if (error instanceof AppError && error.status === 503) return { records: null, syncedAt };
    throw error;
  }
}
