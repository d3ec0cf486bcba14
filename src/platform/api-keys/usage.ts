// Reads the usage counters of API keys. src/public/serve/usage.ts counts; the database aggregates them.
import type { RequestCtx } from '../../core/ctx.ts';
import { notFound } from '../../core/errors.ts';
import { containsSql } from '../../core/text/folded-text.ts';
import { readPage } from '../../db/page.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { type NamedPageQuery, type PageQuery, viewPage } from '../../http/page.ts';
import type { UsageGroup } from './api-keys.schemas.ts';
import { type ApiKeyRow, findApiKeyRow, keyStatus } from './api-keys.store.ts';

type UsageFilter = {
  /** Days, both included. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly groupBy: readonly UsageGroup[];
  readonly version?: string | undefined;
  readonly resource?: string | undefined;
  readonly subject?: string | undefined;
};

const kinds = ['succeeded', 'not_modified', 'refused', 'failed'] as const;
const allKinds = kinds.join(' + ');
const today = "(now() at time zone 'UTC')::date";
const defaultDays = 30;

type UsageRow = Partial<Record<UsageGroup, string>> & Record<(typeof kinds)[number], string>;

const view = (row: UsageRow) => {
  const counts = {
    succeeded: Number(row.succeeded),
    notModified: Number(row.not_modified),
    refused: Number(row.refused),
    failed: Number(row.failed),
  };
  const requests = counts.succeeded + counts.notModified + counts.refused + counts.failed;
  return {
    day: row.day ?? null,
    version: row.version || null,
    resource: row.resource || null,
    subject: row.subject || null,
    requests,
    ...counts,
  };
};

function usageQuery(
  tx: Tx,
  organizationId: string,
  keyId: string,
  { from, to, groupBy, version, resource, subject }: UsageFilter,
) {
  const counted = tx('api_key_usage')
    .where({ organization_id: organizationId, api_key_id: keyId })
    .whereRaw(
      `day >= coalesce(:from::date, coalesce(:to::date, ${today}) - ${defaultDays - 1}) and day <= coalesce(:to::date, ${today})`,
      { from: from ?? null, to: to ?? null },
    )
    .groupBy(...groupBy)
    .select(...groupBy, ...kinds.map((kind) => tx.raw('sum(??)::bigint as ??', [kind, kind])));
  if (version !== undefined) counted.where({ version });
  if (resource !== undefined) counted.where({ resource });
  if (subject !== undefined) counted.where({ subject });
  const query = tx.from(counted.as('u')).select('*');
  if (groupBy.includes('day')) query.orderBy('day', 'desc');
  return query.orderByRaw(`${allKinds} desc`).orderBy(groupBy.filter((group) => group !== 'day'));
}

/** Throws 404 for an unknown key. */
export const getApiKeyUsage = (ctx: RequestCtx, id: string, page: PageQuery, filter: UsageFilter) =>
  inTransaction(ctx, async (tx) => {
    if ((await findApiKeyRow(tx, ctx.organizationId, id)) === undefined) throw notFound('API key');
    const query = usageQuery(tx, ctx.organizationId, id, filter);
    return viewPage(await readPage<UsageRow>(query, page), page, view);
  });

/** Requests of the last 7 days by key; keys without any are absent. */
export async function countRecentRequests(
  tx: Tx,
  organizationId: string,
  keyIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (keyIds.length === 0) return new Map();
  const rows = await tx('api_key_usage')
    .where({ organization_id: organizationId })
    .whereIn('api_key_id', keyIds)
    .whereRaw(`day > ${today} - 7`)
    .groupBy('api_key_id')
    .select<{ api_key_id: string; requests: string }[]>(
      'api_key_id',
      tx.raw(`sum(${allKinds})::bigint as requests`),
    );
  return new Map(rows.map((row) => [row.api_key_id, Number(row.requests)]));
}

/** Keys with requests answered 2xx or 304 in the last 7 days, by `<version> <resource>`. */
export async function countResourceCallers(
  tx: Tx,
  organizationId: string,
  versions: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await tx('api_key_usage')
    .where({ organization_id: organizationId })
    .whereIn('version', versions)
    .whereRaw(`day > ${today} - 7 and succeeded + not_modified > 0`)
    .groupBy('version', 'resource')
    .select<{ version: string; resource: string; callers: number }[]>(
      'version',
      'resource',
      tx.raw('count(distinct api_key_id)::integer as callers'),
    );
  return new Map(rows.map(({ version, resource, callers }) => [`${version} ${resource}`, callers]));
}

type VersionCaller = {
  apiKeyId: string;
  name: string;
  status: ApiKeyRow['status'];
  requests: number;
  lastDay: string;
};

/** Days for which the callers of a version are listed. */
const callerDays = 30;

/** Keys with requests answered 2xx or 304 by the version in the last 30 days, most recent first. */
export async function listVersionCallers(
  tx: Tx,
  organizationId: string,
  version: string,
  { q, ...page }: NamedPageQuery,
): Promise<{ rows: VersionCaller[]; total: number }> {
  const counted = tx('api_key_usage as u')
    .where({ 'u.organization_id': organizationId, version })
    .whereRaw(`day > ${today} - ${callerDays} and succeeded + not_modified > 0`)
    .groupBy('api_key_id')
    .select(
      'api_key_id',
      tx.raw('sum(succeeded + not_modified)::bigint as requests'),
      tx.raw('max(day) as last_day'),
    );
  const query = tx
    .from(counted.as('u'))
    .join('api_keys as k', 'k.id', 'u.api_key_id')
    .select('k.id', 'k.name', 'u.requests', 'u.last_day', tx.raw(`${keyStatus} as status`))
    .orderBy([{ column: 'u.last_day', order: 'desc' }, { column: 'u.requests', order: 'desc' }, 'k.id']);
  if (q !== undefined) query.whereRaw(containsSql('k.name'), [q]);
  type Row = { id: string; name: string; status: ApiKeyRow['status']; requests: string; last_day: string };
  const { rows, total } = await readPage<Row>(query, page);
  return {
    rows: rows.map((row) => ({
      apiKeyId: row.id,
      name: row.name,
      status: row.status,
      requests: Number(row.requests),
      lastDay: row.last_day,
    })),
    total,
  };
}
