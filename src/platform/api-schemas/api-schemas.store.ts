// Rows of api_schemas and publication_reports: their only writer. A trigger keeps published rows immutable.

import type { AccessLayer } from '../../core/record-access.ts';
import { containsSql } from '../../core/text/folded-text.ts';
import { cancelJob } from '../../db/jobs.ts';
import { readPage } from '../../db/page.ts';
import type { Tx } from '../../db/transaction.ts';
import type { PageQuery } from '../../http/page.ts';
import type { Bindings, EndpointDefinition, Proof, VersionChange } from '../../public/index.ts';
import { keyStatus } from '../api-keys/api-keys.store.ts';
import type { ProofSummary, Publication } from './api-schemas.schemas.ts';

export type ApiSchemaRow = {
  id: string;
  version: string;
  status: 'draft' | 'published' | 'deprecated' | 'retired';
  name: string;
  notes: string;
  endpoints: EndpointDefinition[];
  revision: number;
  /** Older publications have no `proof`, no `warnings` and no estimate. */
  publication:
    | (Pick<Publication, 'status' | 'problems'> &
        Partial<Pick<Publication, 'proof' | 'warnings'>> & {
          readonly progress: Omit<Publication['progress'], 'estimatedSecondsLeft'> &
            Partial<Publication['progress']>;
        })
    | null;
  bindings: Bindings | null;
  published_at: Date | null;
  sunset_at: Date | null;
  deprecated_at: Date | null;
  created_at: Date;
  updated_at: Date;
};
const columns = [
  'id',
  'version',
  'status',
  'name',
  'notes',
  'endpoints',
  'revision',
  'publication',
  'bindings',
  'published_at',
  'sunset_at',
  'deprecated_at',
  'created_at',
  'updated_at',
] as const;
/** The rows that are versions of the public interface; the others are documents of the portal. */
const isVersion = "version like 'v%'";
const byNumber = 'substr(version, 2)::int';
const isRunning = "publication ->> 'status' = 'running'";

export type SchemaFilter = {
  readonly q?: string | undefined;
  readonly status?: ApiSchemaRow['status'] | undefined;
};

export function listSchemas(tx: Tx, organizationId: string, page: PageQuery, { q, status }: SchemaFilter) {
  const query = tx('api_schemas')
    .where('organization_id', organizationId)
    .whereRaw(isVersion)
    .orderByRaw(`${byNumber} desc`)
    .select(...columns);
  if (q !== undefined) query.whereRaw(containsSql('name'), [q]);
  if (status !== undefined) query.where('status', status);
  return readPage<ApiSchemaRow>(query, page);
}

export const findSchema = async (tx: Tx, organizationId: string, id: string, lock = false) => {
  const query = tx('api_schemas')
    .where({ organization_id: organizationId, id })
    .first<ApiSchemaRow | undefined>(...columns);
  return lock ? query.forUpdate() : query;
};
export const findVersion = async (tx: Tx, organizationId: string, version: string) =>
  tx('api_schemas')
    .where({ organization_id: organizationId, version })
    .whereRaw(isVersion)
    .first<ApiSchemaRow | undefined>(...columns);

/** The counter is on the organization, so the label of a deleted draft is never reused. */
export async function nextVersion(tx: Tx, organizationId: string): Promise<string> {
  const [row] = await tx('organizations')
    .where('id', organizationId)
    .increment('last_schema_version', 1)
    .returning<{ last_schema_version: number }[]>('last_schema_version');
  return `v${row?.last_schema_version ?? 1}`;
}

type NewRow = {
  id: string;
  version: string;
  name: string;
  notes: string;
  endpoints: readonly EndpointDefinition[];
  created_by: string;
};
export const insertSchema = (tx: Tx, organizationId: string, row: NewRow) =>
  tx('api_schemas').insert({
    ...row,
    endpoints: JSON.stringify(row.endpoints),
    organization_id: organizationId,
  });

type Draft = Partial<Pick<NewRow, 'name' | 'notes' | 'endpoints'>>;
/** A publication in progress ends. */
export async function updateDraft(tx: Tx, organizationId: string, id: string, change: Draft): Promise<void> {
  await cancelJob(tx, publicationJob(organizationId, id));
  await tx('api_schemas')
    .where({ organization_id: organizationId, id })
    .update({
      ...change,
      ...(change.endpoints !== undefined && { endpoints: JSON.stringify(change.endpoints) }),
      revision: tx.raw('revision + 1'),
      publication: null,
      updated_at: tx.fn.now(),
    });
}
/** A publication in progress ends. */
export async function deleteDraft(tx: Tx, organizationId: string, id: string): Promise<void> {
  await cancelJob(tx, publicationJob(organizationId, id));
  await tx('api_schemas').where({ organization_id: organizationId, id }).delete();
}

/** Updates nothing when the draft is no longer at that revision. */
export const setPublication = (
  tx: Tx,
  organizationId: string,
  id: string,
  revision: number,
  publication: Publication,
) =>
  tx('api_schemas')
    .where({ organization_id: organizationId, id, revision, status: 'draft' })
    .update({ publication: JSON.stringify(publication) });
/** Saves progress or failure of a running publication; nothing when it has ended, also by another process. */
export const updateRunningPublication = (
  tx: Tx,
  organizationId: string,
  id: string,
  revision: number,
  publication: Publication,
) => setPublication(tx, organizationId, id, revision, publication).whereRaw(isRunning);

export const publicationJob = (organizationId: string, id: string) =>
  ({ kind: 'publications', organizationId, key: id }) as const;

type Published = {
  bindings: Bindings;
  openapi: string | null;
  openapi_with_examples: string | null;
  publication: Publication;
  published_by: string | null;
};
/** Publishes the draft: from then on the row is immutable. */
export const markPublished = (tx: Tx, organizationId: string, id: string, published: Published) =>
  tx('api_schemas')
    .where({ organization_id: organizationId, id, status: 'draft' })
    .update({
      status: 'published',
      published_at: tx.fn.now(),
      updated_at: tx.fn.now(),
      published_by: published.published_by,
      bindings: JSON.stringify(published.bindings),
      openapi: published.openapi,
      openapi_with_examples: published.openapi_with_examples,
      publication: JSON.stringify(published.publication),
    });

export const setStatus = (
  tx: Tx,
  organizationId: string,
  id: string,
  status: ApiSchemaRow['status'],
  sunsetAt: string | Date | null,
) =>
  tx('api_schemas')
    .where({ organization_id: organizationId, id })
    .update({
      status,
      sunset_at: sunsetAt,
      updated_at: tx.fn.now(),
      ...(status === 'deprecated' && { deprecated_at: tx.raw('coalesce(deprecated_at, now())') }),
    });

/** Published, deprecated, being published, or retired less than a day ago (that can be undone). */
export const listVersionsNeedingIndexes = async (tx: Tx, organizationId: string) =>
  tx('api_schemas')
    .where('organization_id', organizationId)
    .whereRaw(
      `(status in ('published', 'deprecated') or (status = 'retired' and updated_at > now() - interval '1 day')
        or (status = 'draft' and publication ->> 'status' = 'running'))`,
    )
    .select<Pick<ApiSchemaRow, 'endpoints' | 'bindings'>[]>('endpoints', 'bindings');

/** Every version that was ever published, with the columns that its sources are bound to. */
export const listBoundVersions = (
  tx: Tx,
  organizationId: string,
): Promise<(Pick<ApiSchemaRow, 'version' | 'endpoints'> & { bindings: Bindings })[]> =>
  tx('api_schemas')
    .where('organization_id', organizationId)
    .whereRaw(isVersion)
    .whereNot('status', 'draft')
    .whereNotNull('bindings')
    .select<(Pick<ApiSchemaRow, 'version' | 'endpoints'> & { bindings: Bindings })[]>(
      'version',
      'endpoints',
      'bindings',
    );

/** What each active API key reads. */
export const listActiveKeyLayers = (tx: Tx, organizationId: string): Promise<AccessLayer[]> =>
  tx('api_keys as k')
    .where('k.organization_id', organizationId)
    .whereRaw(`${keyStatus} = 'active'`)
    .select<AccessLayer[]>({
      versions: 'scope_versions',
      resources: 'scope_resources',
      rows: 'scope_rows',
      fields: 'scope_fields',
    });

/** Endpoints over this record type, newest version first; of all versions that aren't retired by default. */
export async function listEndpointsOfRecordType(
  tx: Tx,
  organizationId: string,
  recordType: string,
  statuses: readonly ApiSchemaRow['status'][] = ['draft', 'published', 'deprecated'],
): Promise<{ id: string; version: string; endpoint: EndpointDefinition }[]> {
  const rows = await tx('api_schemas')
    .where('organization_id', organizationId)
    .whereRaw(isVersion)
    .whereIn('status', statuses)
    .whereRaw('endpoints @> ?::jsonb', [JSON.stringify([{ recordType }])])
    .orderByRaw(`${byNumber} desc`)
    .select<Pick<ApiSchemaRow, 'id' | 'version' | 'endpoints'>[]>('id', 'version', 'endpoints');
  return rows.flatMap(({ id, version, endpoints }) =>
    endpoints
      .filter((endpoint) => endpoint.recordType === recordType)
      .map((endpoint) => ({ id, version, endpoint })),
  );
}

/** The record types of the endpoints of published and deprecated versions. */
export async function listServedRecordTypes(tx: Tx, organizationId: string) {
  const { rows } = await tx.raw<{ rows: { version: string; recordType: string }[] }>(
    `select s.version, e ->> 'recordType' as "recordType" from api_schemas s, jsonb_array_elements(s.endpoints) e
     where s.organization_id = ? and s.${isVersion} and s.status in ('published', 'deprecated') order by 1, 2`,
    [organizationId],
  );
  return rows;
}

/** Published and deprecated versions with the sources of this record type that they use. */
export async function listVersionSources(tx: Tx, organizationId: string, recordType: string) {
  const { rows } = await tx.raw<{ rows: { version: string; sources: string[] }[] }>(
    `select s.version, array_agg(distinct f ->> 'source') as sources
     from api_schemas s, jsonb_array_elements(s.endpoints) e, jsonb_array_elements(e -> 'fields') f
     where s.organization_id = ? and s.${isVersion} and s.status in ('published', 'deprecated') and e ->> 'recordType' = ? group by s.version`,
    [organizationId, recordType],
  );
  return rows;
}

export type ReportRow = {
  revision: number;
  against: string | null;
  changes: readonly VersionChange[];
  pairs: Proof['pairs'];
  records: Proof['records'];
  /** Null in older reports, whose proof is in the publication. */
  proof: ProofSummary | null;
  made_at: Date;
};

export const saveReport = (tx: Tx, organizationId: string, id: string, report: Omit<ReportRow, 'made_at'>) =>
  tx('publication_reports')
    .insert({
      organization_id: organizationId,
      api_schema_id: id,
      ...report,
      changes: JSON.stringify(report.changes),
      pairs: JSON.stringify(report.pairs),
      records: JSON.stringify(report.records),
      proof: JSON.stringify(report.proof),
    })
    .onConflict('api_schema_id')
    .merge(['revision', 'against', 'changes', 'pairs', 'records', 'proof', 'made_at']);

/** Replaces the measured reads; the changes for callers stay as they are. */
export const updateReportReads = (
  tx: Tx,
  organizationId: string,
  id: string,
  revision: number,
  shown: Pick<ReportRow, 'pairs' | 'records' | 'proof'>,
) =>
  tx('publication_reports')
    .insert({
      organization_id: organizationId,
      api_schema_id: id,
      revision,
      pairs: JSON.stringify(shown.pairs),
      records: JSON.stringify(shown.records),
      proof: JSON.stringify(shown.proof),
    })
    .onConflict('api_schema_id')
    .merge(['pairs', 'records', 'proof', 'made_at']);

export const findReport = async (tx: Tx, organizationId: string, id: string, revision: number) =>
  tx('publication_reports')
    .where({ organization_id: organizationId, api_schema_id: id, revision })
    .first<ReportRow | undefined>('revision', 'against', 'changes', 'pairs', 'records', 'proof', 'made_at');

export const deleteReport = (tx: Tx, organizationId: string, id: string) =>
  tx('publication_reports').where({ organization_id: organizationId, api_schema_id: id }).delete();

/** Skips labels after a restore: versions newer than the backup may have used them. */
export const skipVersionLabels = (tx: Tx, organizationId: string, labels: number) =>
  tx('organizations').where({ id: organizationId }).increment('last_schema_version', labels);
