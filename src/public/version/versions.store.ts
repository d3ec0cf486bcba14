// Reads the versions of the public interface from the database.
import type { TenantCtx } from '../../core/ctx.ts';
import { type AppError, unavailable } from '../../core/errors.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { type CompiledSchema, compileSchema } from './compile.ts';
import { findMaskSecret } from './mask-secret.ts';
import { listMasks } from './masks.ts';
import type { Bindings, EndpointDefinition } from './schema-document.ts';

export type VersionState = {
  readonly id: string;
  /**
   * Identifies the published content. Differs from `id`, because a draft whose publication was lost in a
   * failover may be changed and published again.
   */
  readonly contentId: string;
  readonly version: string;
  readonly status: 'draft' | 'published' | 'deprecated' | 'retired';
  readonly sunsetAt: Date | null;
  /** Null when it was never deprecated. */
  readonly deprecatedAt: Date | null;
  /** The newest later published version and its resources; only for a deprecated version. */
  readonly successor: { readonly version: string; readonly resources: readonly string[] } | null;
};

type StateRow = {
  id: string;
  content_id: string;
  version: string;
  status: VersionState['status'];
  sunset_at: Date | null;
  deprecated_at: Date | null;
  successor_version: string | null;
  successor_resources: string[] | null;
};

const contentIdSql = "concat_ws('/', s.id, extract(epoch from s.published_at))";

export const isVersionLabel = (text: string): boolean => /^v[1-9]\d{0,5}$/.test(text);

/** Undefined without a version of that label, and while the organization is being deleted. */
export async function findVersionState(
  ctx: Pick<TenantCtx, 'db' | 'organizationId'>,
  version: string,
): Promise<VersionState | undefined> {
  const { rows } = await inTransaction(ctx, (tx) =>
    tx.raw<{ rows: StateRow[] }>(
      `select s.id, ${contentIdSql} as content_id, s.version, s.status, s.sunset_at, s.deprecated_at, n.version as successor_version, n.resources as successor_resources
     from api_schemas s left join lateral (
       select p.version, jsonb_path_query_array(p.endpoints, '$[*].name') as resources from api_schemas p
       where p.organization_id = s.organization_id and p.version like 'v%' and p.status = 'published'
         and (length(p.version), p.version) > (length(s.version), s.version) order by length(p.version) desc, p.version desc limit 1
     ) n on s.status = 'deprecated'
     where s.organization_id = ? and s.version = ?
       and not exists (select from organizations o where o.id = s.organization_id and o.deleting_since is not null)`,
      [ctx.organizationId, version],
    ),
  );
  const row = rows[0];
  if (row === undefined) return undefined;
  return {
    id: row.id,
    contentId: row.content_id,
    version: row.version,
    status: row.status,
    sunsetAt: row.sunset_at,
    deprecatedAt: row.deprecated_at,
    successor:
      row.successor_version === null
        ? null
        : { version: row.successor_version, resources: row.successor_resources ?? [] },
  };
}

/** What names the content of a published version. */
export type ContentRef = Pick<VersionState, 'id' | 'contentId'>;

const selectContent = (tx: Tx, organizationId: string, { id, contentId }: ContentRef) =>
  tx('api_schemas as s')
    .where({ organization_id: organizationId, id })
    .whereRaw(`${contentIdSql} = ?`, [contentId]);

/** 503 with Retry-After: the version was deleted, or its publication was lost in a failover. */
const contentGone = (): AppError => unavailable('The version is being replaced; try again', 2);

type ContentRow = { version: string; endpoints: EndpointDefinition[]; bindings: Bindings };

/** Rejects with 503 when the database no longer has this content. */
export async function readCompiled(
  ctx: Pick<TenantCtx, 'db' | 'keyring' | 'organizationId'>,
  ref: ContentRef,
): Promise<CompiledSchema> {
  return inTransaction(ctx, async (tx) => {
    const row = await selectContent(tx, ctx.organizationId, ref).first<ContentRow | undefined>(
      'version',
      'endpoints',
      'bindings',
    );
    if (row === undefined) throw contentGone();
    const maskSecret = listMasks(row.endpoints).has('hash') ? await findMaskSecret(tx, ctx) : undefined;
    return compileSchema({ ...row, id: ref.contentId, maskSecret });
  });
}

/**
 * The stored OpenAPI text; with examples from records where it has any. Rejects with 503 when the database no longer has this content, and with an Error
 * when it was never published.
 */
export async function readDescription(
  ctx: Pick<TenantCtx, 'db' | 'organizationId'>,
  ref: ContentRef,
  withExamples: boolean,
): Promise<string> {
  const row = await inTransaction(ctx, (tx) =>
    selectContent(tx, ctx.organizationId, ref).first<{ openapi: string | null } | undefined>(
      withExamples ? tx.raw('coalesce(openapi_with_examples, openapi) as openapi') : 'openapi',
    ),
  );
  if (row === undefined) throw contentGone();
  if (row.openapi === null) throw new Error('a published version has no description');
  return row.openapi;
}

export type DraftRow = {
  readonly id: string;
  readonly name: string;
  readonly notes: string;
  readonly endpoints: EndpointDefinition[];
};

export const findDraft = (ctx: Pick<TenantCtx, 'db' | 'organizationId'>, version: string) =>
  inTransaction(ctx, (tx) =>
    tx('api_schemas')
      .where({ organization_id: ctx.organizationId, version, status: 'draft' })
      .first<DraftRow | undefined>('id', 'name', 'notes', 'endpoints'),
  );

export type LiveRow = {
  readonly version: string;
  readonly status: 'published' | 'deprecated';
  readonly name: string;
  readonly sunset_at: Date | null;
  readonly resources: readonly string[];
};

/** The published and deprecated versions, in the order of their labels. */
export const findLive = (ctx: Pick<TenantCtx, 'db' | 'organizationId'>): Promise<LiveRow[]> =>
  inTransaction(ctx, (tx) =>
    tx('api_schemas')
      .where('organization_id', ctx.organizationId)
      .whereLike('version', 'v%')
      .whereIn('status', ['published', 'deprecated'])
      .orderByRaw('length(version), version')
      .select<LiveRow[]>(
        'version',
        'status',
        'name',
        'sunset_at',
        tx.raw("jsonb_path_query_array(endpoints, '$[*].name') as resources"),
      ),
  );

/** The name, notes and endpoints of a published version, as written in its definition. */
export const findDefinition = (
  ctx: Pick<TenantCtx, 'db' | 'organizationId'>,
  id: string,
): Promise<
  | { readonly name: string; readonly notes: string; readonly endpoints: readonly EndpointDefinition[] }
  | undefined
> =>
  inTransaction(ctx, (tx) =>
    tx('api_schemas')
      .where({ organization_id: ctx.organizationId, id })
      .first<{ name: string; notes: string; endpoints: EndpointDefinition[] } | undefined>(
        'name',
        'notes',
        'endpoints',
      ),
  );

type PredecessorRow = {
  readonly version: string;
  readonly endpoints: EndpointDefinition[];
  readonly bindings: Bindings;
};

/** The published version right before that label, for the list of changes. */
export const findPredecessor = async (tx: Tx, organizationId: string, version: string) =>
  tx('api_schemas')
    .where('organization_id', organizationId)
    .whereLike('version', 'v%')
    .whereNot('status', 'draft')
    .whereRaw('(length(version), version) < (?, ?)', [version.length, version])
    .orderByRaw('length(version) desc, version desc')
    .first<PredecessorRow | undefined>('version', 'endpoints', 'bindings');
