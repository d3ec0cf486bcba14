// Versions of the public interface: drafts can change, published ones never; only valid drafts are published.
import type { RequestCtx, TenantCtx } from '../../core/ctx.ts';
import { type AppError, invalid, notFound } from '../../core/errors.ts';
import { createId } from '../../core/id.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { instant, instantOrNull } from '../../http/fields.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import {
  type Available,
  bindDocument,
  compareVersions,
  type DefinitionProblem,
  findPredecessor,
  isVersionLabel,
  readAvailable,
  validateDocument,
} from '../../public/index.ts';
import { assertQuota } from '../quotas.ts';
import { listerOf } from '../rows.ts';
import type { ApiSchemaPatch, NewApiSchema, ValidateInput } from './api-schemas.schemas.ts';
import * as store from './api-schemas.store.ts';
import { warnOfTaggedFields } from './tagged-fields.ts';

/** Older publications have no `proof`, no `warnings` and no estimate. */
export const publicationView = (publication: NonNullable<store.ApiSchemaRow['publication']>) => ({
  ...{ proof: null, warnings: [], ...publication },
  progress: { estimatedSecondsLeft: null, ...publication.progress },
});

/** The response form of a version. */
export const apiSchemaView = (row: store.ApiSchemaRow) => ({
  id: row.id,
  version: row.version,
  status: row.status,
  name: row.name,
  notes: row.notes,
  endpoints: row.endpoints,
  revision: row.revision,
  publication: row.publication === null ? null : publicationView(row.publication),
  publishedAt: instantOrNull(row.published_at),
  deprecatedAt: instantOrNull(row.deprecated_at),
  sunsetAt: instantOrNull(row.sunset_at),
  createdAt: instant(row.created_at),
  updatedAt: instant(row.updated_at),
});

/** Throws 404 for an unknown version. `lock`: FOR UPDATE. */
export async function getApiSchemaRow(tx: Tx, ctx: TenantCtx, id: string, lock = false) {
  const row = await store.findSchema(tx, ctx.organizationId, id, lock);
  if (row === undefined || !isVersionLabel(row.version)) throw notFound('API schema');
  return row;
}

/** Locks the row. Throws 404, 422 `immutable` when no draft, `publishing` while it is being published. */
export async function getDraft(tx: Tx, ctx: RequestCtx, id: string): Promise<store.ApiSchemaRow> {
  const row = await getApiSchemaRow(tx, ctx, id, true);
  if (row.status !== 'draft')
    throw invalid('Published schemas are immutable', [
      { path: '', code: 'immutable', message: 'Create a new version from it, and change that' },
    ]);
  if (row.publication?.status === 'running')
    throw invalid('The draft is being published', [
      { path: '', code: 'publishing', message: 'Wait until the publication has ended, or cancel it' },
    ]);
  return row;
}

/** Throws 422 `stale_revision` when a revision is given and the draft is at another one. */
export function assertRevision(row: store.ApiSchemaRow, revision: number | undefined): void {
  if (revision !== undefined && revision !== row.revision) {
    throw invalid('The draft was changed by another request', [
      { path: 'revision', code: 'stale_revision', message: `The draft is at revision ${row.revision}` },
    ]);
  }
}

/** Throws 422 for problems that no draft may have. Problems that block only publishing are allowed. */
function assertSavable(endpoints: store.ApiSchemaRow['endpoints'], available: Available): void {
  const problems = validateDocument({ endpoints }, available, { blocks: 'save' });
  if (problems.length > 0) throw invalid('The definition is not valid', problems);
}

export const listApiSchemas = listerOf(store.listSchemas, apiSchemaView);

/** Throws 404 for an unknown version. */
export const getApiSchema = (ctx: RequestCtx, id: string) =>
  inTransaction(ctx, async (tx) => apiSchemaView(await getApiSchemaRow(tx, ctx, id)));

async function insertDraft(
  tx: Tx,
  ctx: RequestCtx,
  draft: Pick<store.ApiSchemaRow, 'name' | 'notes' | 'endpoints'>,
  basedOn: string | null,
) {
  const id = createId();
  const version = await store.nextVersion(tx, ctx.organizationId);
  await assertQuota(tx, ctx, 'apiSchemas');
  await store.insertSchema(tx, ctx.organizationId, {
    id,
    version,
    ...draft,
    created_by: ctx.principal.user.id,
  });
  await writeAudit(tx, ctx, 'api-schema.create', ['api-schema', id], { version, basedOn });
  return apiSchemaView(await getApiSchemaRow(tx, ctx, id));
}

/** Throws 422 for an invalid definition, an unknown `basedOn` version, or at the quota. */
export async function createApiSchema(ctx: RequestCtx, input: NewApiSchema) {
  const available = await readAvailable(ctx);
  return inTransaction(ctx, async (tx) => {
    const base =
      input.basedOn === undefined
        ? undefined
        : await store.findVersion(tx, ctx.organizationId, input.basedOn);
    if (input.basedOn !== undefined && base === undefined)
      throw invalid('The version in basedOn does not exist', [
        { path: 'basedOn', code: 'unknown_version', message: 'must be an existing version' },
      ]);
    const endpoints = input.endpoints ?? base?.endpoints ?? [];
    assertSavable(endpoints, available);
    return insertDraft(
      tx,
      ctx,
      { name: input.name ?? base?.name ?? '', notes: input.notes ?? base?.notes ?? '', endpoints },
      base?.version ?? null,
    );
  });
}

/** Copies a version into a new draft. Throws 404 for an unknown version, 422 at the quota. */
export const createApiSchemaVersion = (ctx: RequestCtx, id: string) =>
  inTransaction(ctx, async (tx) => {
    const { name, notes, endpoints, version } = await getApiSchemaRow(tx, ctx, id);
    return insertDraft(tx, ctx, { name, notes, endpoints }, version);
  });

/** Throws 404, 422 when it is no draft, being published or at another revision, or not valid. */
export async function updateApiSchema(
  ctx: RequestCtx,
  id: string,
  { revision, name, notes, endpoints }: ApiSchemaPatch,
) {
  const available = await readAvailable(ctx);
  return inTransaction(ctx, async (tx) => {
    assertRevision(await getDraft(tx, ctx, id), revision);
    if (endpoints !== undefined) assertSavable(endpoints, available);
    await store.updateDraft(tx, ctx.organizationId, id, {
      ...(name !== undefined && { name }),
      ...(notes !== undefined && { notes }),
      ...(endpoints !== undefined && { endpoints }),
    });
    const after = await getApiSchemaRow(tx, ctx, id);
    const changed = Object.entries({ name, notes, endpoints })
      .filter(([, value]) => value !== undefined)
      .map(([key]) => key);
    await writeAudit(tx, ctx, 'api-schema.update', ['api-schema', id], {
      version: after.version,
      revision: after.revision,
      changed,
    });
    return apiSchemaView(after);
  });
}

/** Cancels its publication: who works on it ends it once the draft is gone. Throws 404, 422 `immutable`. */
export const deleteApiSchema = (ctx: RequestCtx, id: string) =>
  inTransaction(ctx, async (tx) => {
    // The lock waits for a publication that is about to commit.
    const { status, version, publication } = await getApiSchemaRow(tx, ctx, id, true);
    if (status !== 'draft')
      throw invalid('Published schemas are immutable', [
        { path: '', code: 'immutable', message: `${version} has been published: retire it instead` },
      ]);
    await store.deleteDraft(tx, ctx.organizationId, id);
    const changes = { version, ...(publication?.status === 'running' && { publication: 'cancelled' }) };
    await writeAudit(tx, ctx, 'api-schema.delete', ['api-schema', id], changes);
  });

/** The version and the one to compare it with: `against`, or the previous published version. */
async function readComparable(ctx: TenantCtx, id: string, against: string | undefined) {
  return inTransaction(ctx, async (tx) => {
    const row = await getApiSchemaRow(tx, ctx, id);
    const other =
      against === undefined
        ? await findPredecessor(tx, ctx.organizationId, row.version)
        : await store.findVersion(tx, ctx.organizationId, against);
    return { row, other };
  });
}

type Content = Pick<store.ApiSchemaRow, 'endpoints' | 'bindings'>;

const resolveBindings = (row: Content, available: Available) => row.bindings ?? bindDocument(row, available);

/** Changes for callers from `other` to `row`; empty without `other`. */
export function changesBetween(row: Content, other: Content | undefined, available: Available) {
  if (other === undefined) return [];
  return compareVersions(
    { endpoints: other.endpoints, bindings: resolveBindings(other, available) },
    { endpoints: row.endpoints, bindings: resolveBindings(row, available) },
  );
}

/** With `endpoints`, validates them in place of those that are saved. Throws 404 for an unknown version or `against`. */
export async function validateApiSchema(
  ctx: RequestCtx,
  id: string,
  { endpoints, against }: ValidateInput,
  indexesToBuild: (
    row: store.ApiSchemaRow,
    available: Available,
  ) => Promise<{ recordType: string; method: string; expression: string }[]>,
) {
  const available = await readAvailable(ctx);
  const { row: saved, other } = await readComparable(ctx, id, against);
  if (against !== undefined && other === undefined) throw notFound('Version');
  const row =
    endpoints === undefined ? saved : { ...saved, status: 'draft' as const, bindings: null, endpoints };
  const warnings =
    row.status === 'draft'
      ? await inTransaction(ctx, (tx) => warnOfTaggedFields(tx, ctx.organizationId, row))
      : [];
  const problems: DefinitionProblem[] = row.status === 'draft' ? validateDocument(row, available) : [];
  return {
    ready: problems.length === 0,
    revision: row.revision,
    against: other?.version ?? null,
    problems,
    warnings,
    changes: changesBetween(row, other, available),
    indexes: row.status === 'draft' ? await indexesToBuild(row, available) : [],
  };
}

/** Throws 404 for an unknown version on either side, 422 `no_version` when there is no previous version. */
export async function diffApiSchema(ctx: RequestCtx, id: string, against: string | undefined) {
  const available = await readAvailable(ctx);
  const { row, other } = await readComparable(ctx, id, against);
  if (other === undefined)
    throw against === undefined
      ? invalid('There is no previous version to compare with', [
          { path: 'against', code: 'no_version', message: 'Name a version' },
        ])
      : notFound('Version');
  return { against: other.version, changes: changesBetween(row, other, available) };
}

export const notReady = (problems: readonly DefinitionProblem[]): AppError =>
  invalid('The version cannot be published yet', problems);
