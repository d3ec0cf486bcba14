// Rules of API schema versions: a draft may change, a published version never does, and nothing goes live unready.
import type { RequestCtx, TenantCtx } from '../../core/ctx.ts';
import { type AppError, invalid, notFound } from '../../core/errors.ts';
import { newId } from '../../core/id.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { instant, instantOrNull } from '../../http/fields.ts';
import { type PageQuery, toPage } from '../../http/page.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import {
  type Available,
  bindDocument,
  type Change,
  compareVersions,
  findPredecessor,
  type Problem,
  readAvailable,
  validateDocument,
} from '../../public/index.ts';
import { makeRoom } from '../room.ts';
import type { ApiSchemaChange, NewApiSchema } from './api-schemas.schemas.ts';
import * as store from './api-schemas.store.ts';

export const view = (row: store.ApiSchemaRow) => ({
  id: row.id,
  version: row.version,
  status: row.status,
  name: row.name,
  notes: row.notes,
  endpoints: row.endpoints,
  revision: row.revision,
  // Publications from before reads were tried say nothing of them.
  publication: row.publication === null ? null : { ...row.publication, proof: row.publication.proof ?? null },
  publishedAt: instantOrNull(row.published_at),
  deprecatedAt: instantOrNull(row.deprecated_at),
  sunsetAt: instantOrNull(row.sunset_at),
  createdAt: instant(row.created_at),
  updatedAt: instant(row.updated_at),
});

export async function getRow(tx: Tx, ctx: TenantCtx, id: string, lock = false): Promise<store.ApiSchemaRow> {
  const row = await store.findSchema(tx, ctx.organizationId, id, lock);
  if (row === undefined) throw notFound('API schema');
  return row;
}

async function getDraft(tx: Tx, ctx: RequestCtx, id: string): Promise<store.ApiSchemaRow> {
  const row = await getRow(tx, ctx, id, true);
  if (row.status !== 'draft')
    throw invalid('Published schemas are immutable', [
      { path: '', code: 'immutable', message: 'Make a new version: POST /api-schema/{id}/new-version' },
    ]);
  if (row.publication?.status === 'running')
    throw invalid('The draft is being published', [{ path: '', code: 'publishing', message: 'Wait until the publication has ended' }]);
  return row;
}

export function checkRevision(row: store.ApiSchemaRow, revision: number | undefined): void {
  if (revision !== undefined && revision !== row.revision) {
    throw invalid('The draft has changed meanwhile', [
      { path: 'revision', code: 'stale_revision', message: `The draft is at revision ${row.revision}` },
    ]);
  }
}

/** What must hold for any draft; readiness is asked only when it is published. */
function checkSavable(endpoints: store.ApiSchemaRow['endpoints'], available: Available): void {
  const problems = validateDocument({ endpoints }, available).filter(({ blocks }) => blocks === 'save');
  if (problems.length > 0) throw invalid('The definition breaks a rule', problems);
}

export const listApiSchemas = (ctx: RequestCtx, page: PageQuery, status: store.ApiSchemaRow['status'] | undefined) =>
  inTransaction(ctx, async (tx) => {
    const { rows, total } = await store.listSchemas(tx, ctx.organizationId, page, status);
    return toPage(rows.map(view), total, page);
  });

export const getApiSchema = (ctx: RequestCtx, id: string) => inTransaction(ctx, async (tx) => view(await getRow(tx, ctx, id)));

async function insertDraft(
  tx: Tx,
  ctx: RequestCtx,
  draft: Pick<store.ApiSchemaRow, 'name' | 'notes' | 'endpoints'>,
  basedOn: string | null,
) {
  const id = newId();
  const version = await store.nextVersion(tx, ctx.organizationId);
  await makeRoom(tx, ctx, 'apiSchemas');
  await store.insertSchema(tx, ctx.organizationId, { id, version, ...draft, created_by: ctx.principal.user.id });
  await writeAudit(tx, ctx, { action: 'api-schema.create', target: { type: 'api-schema', id }, changes: { version, basedOn } });
  return view(await getRow(tx, ctx, id));
}

export async function createApiSchema(ctx: RequestCtx, input: NewApiSchema) {
  const available = await readAvailable(ctx);
  return inTransaction(ctx, async (tx) => {
    const base = input.basedOn === undefined ? undefined : await store.findVersion(tx, ctx.organizationId, input.basedOn);
    if (input.basedOn !== undefined && base === undefined)
      throw invalid('There is no such version to start from', [
        { path: 'basedOn', code: 'unknown_version', message: 'must be an existing version' },
      ]);
    const endpoints = input.endpoints ?? base?.endpoints ?? [];
    checkSavable(endpoints, available);
    return insertDraft(
      tx,
      ctx,
      { name: input.name ?? base?.name ?? '', notes: input.notes ?? base?.notes ?? '', endpoints },
      base?.version ?? null,
    );
  });
}

export const newVersionOf = (ctx: RequestCtx, id: string) =>
  inTransaction(ctx, async (tx) => {
    const { name, notes, endpoints, version } = await getRow(tx, ctx, id);
    return insertDraft(tx, ctx, { name, notes, endpoints }, version);
  });

export async function changeApiSchema(ctx: RequestCtx, id: string, { revision, name, notes, endpoints }: ApiSchemaChange) {
  const available = await readAvailable(ctx);
  return inTransaction(ctx, async (tx) => {
    checkRevision(await getDraft(tx, ctx, id), revision);
    if (endpoints !== undefined) checkSavable(endpoints, available);
    await store.updateDraft(tx, ctx.organizationId, id, {
      ...(name !== undefined && { name }),
      ...(notes !== undefined && { notes }),
      ...(endpoints !== undefined && { endpoints }),
    });
    const after = await getRow(tx, ctx, id);
    const changed = Object.entries({ name, notes, endpoints })
      .filter(([, value]) => value !== undefined)
      .map(([key]) => key);
    await writeAudit(tx, ctx, {
      action: 'api-schema.update',
      target: { type: 'api-schema', id },
      changes: { version: after.version, revision: after.revision, changed },
    });
    return view(after);
  });
}

export const deleteApiSchema = (ctx: RequestCtx, id: string) =>
  inTransaction(ctx, async (tx) => {
    const row = await getDraft(tx, ctx, id);
    await store.deleteDraft(tx, ctx.organizationId, id);
    await writeAudit(tx, ctx, { action: 'api-schema.delete', target: { type: 'api-schema', id }, changes: { version: row.version } });
  });

/** The definition beside what is published before it. */
async function readComparable(ctx: TenantCtx, id: string, against: string | undefined) {
  return inTransaction(ctx, async (tx) => {
    const row = await getRow(tx, ctx, id);
    const other =
      against === undefined
        ? await findPredecessor(tx, ctx.organizationId, row.version)
        : await store.findVersion(tx, ctx.organizationId, against);
    return { row, other };
  });
}

type Content = Pick<store.ApiSchemaRow, 'endpoints' | 'bindings'>;

const bindingsOf = (row: Content, available: Available) => row.bindings ?? bindDocument(row, available);

export function changesBetween(row: Content, other: Content | undefined, available: Available): Change[] {
  if (other === undefined) return [];
  return compareVersions(
    { endpoints: other.endpoints, bindings: bindingsOf(other, available) },
    { endpoints: row.endpoints, bindings: bindingsOf(row, available) },
  );
}

export async function validateApiSchema(
  ctx: RequestCtx,
  id: string,
  indexesToBuild: (row: store.ApiSchemaRow, available: Available) => Promise<{ recordType: string; method: string; expression: string }[]>,
) {
  const available = await readAvailable(ctx);
  const { row, other } = await readComparable(ctx, id, undefined);
  const problems: Problem[] = row.status === 'draft' ? validateDocument(row, available) : [];
  return {
    ready: problems.length === 0,
    problems,
    changes: changesBetween(row, other, available),
    indexes: row.status === 'draft' ? await indexesToBuild(row, available) : [],
  };
}

export async function diffApiSchema(ctx: RequestCtx, id: string, against: string | undefined) {
  const available = await readAvailable(ctx);
  const { row, other } = await readComparable(ctx, id, against);
  if (other === undefined)
    throw against === undefined
      ? invalid('There is no earlier version to compare with', [{ path: 'against', code: 'no_version', message: 'Name a version' }])
      : notFound('Version');
  return { against: other.version, changes: changesBetween(row, other, available) };
}

export const notReady = (problems: readonly Problem[]): AppError => invalid('The version is not ready to be published', problems);
export { getDraft };
