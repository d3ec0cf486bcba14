// Saved views: who may change one, which fields and filters are valid, and reading the records.
// views.store.ts decides who may see one.
import type { ReadingCtx, RequestCtx, TenantCtx } from '../../core/ctx.ts';
import { AppError, type ErrorDetail, invalid, notFound, orNotFound } from '../../core/errors.ts';
import { createId } from '../../core/id.ts';
import { parseExact } from '../../core/text/exact-json.ts';
import { violatesConstraint } from '../../db/pg-errors.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { instant } from '../../http/fields.ts';
import { type PageQuery, toPage, viewPage } from '../../http/page.ts';
import type { DownloadFile } from '../../http/route/route.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import {
  allRows,
  type CallerRights,
  type FileForm,
  getRecordReader,
  type QueryProblem,
  type RecordQuery,
} from '../../public/index.ts';
import { assertQuota } from '../quotas.ts';
import { duplicateName, findSummaryProblems, toSummaryProblem, toSummaryQuery } from './view-summary.ts';
import type { NewView, View, ViewPatch } from './views.schemas.ts';
import * as store from './views.store.ts';

/** Callers with `member:update` also manage the views of members who left. */
export const toViewer = ({ principal }: Pick<RequestCtx, 'principal'>): store.Viewer => ({
  userId: principal.user.id,
  managesOrphans: principal.permissions.has('member:update'),
});

const toView = (row: store.ViewRow): View => ({
  id: row.id,
  name: row.name,
  recordType: row.record_type,
  columns: row.columns,
  filters: row.filters,
  sort: row.sort,
  summary: row.summary,
  visibility: row.visibility,
  teamId: row.team_id,
  owner:
    row.owner_id === null
      ? null
      : { id: row.owner_id, email: row.owner_email ?? '', name: row.owner_name ?? '' },
  createdAt: instant(row.created_at),
  updatedAt: instant(row.updated_at),
});

/** The record query of a view. */
export const toRecordQuery = (
  view: Pick<store.ViewRow, 'record_type' | 'columns' | 'filters' | 'sort'>,
): RecordQuery => ({
  recordType: view.record_type,
  columns: view.columns.map((source) => ({ name: source, source })),
  filters: view.filters.map(({ field, operator, value }) => ({
    source: field,
    operator,
    values: [value].flat(),
  })),
  sort: view.sort.map(({ field, direction }) => ({ source: field, direction })),
});

/** Translates the path of a query problem to the field names of a view. */
export const toViewProblem = ({ path, code, message }: QueryProblem): ErrorDetail => ({
  path: path.replace(/\.source$/, '.field').replace(/\.values$/, '.value'),
  code,
  message,
});

export const findViewForCaller = (tx: Tx, ctx: RequestCtx, id: string): Promise<store.ViewRow | undefined> =>
  store.findVisibleView(tx, ctx.organizationId, toViewer(ctx), id);

/** Throws 404 for a view that the caller may not see. */
export async function getVisibleView(tx: Tx, ctx: RequestCtx, id: string): Promise<store.ViewRow> {
  return orNotFound(await findViewForCaller(tx, ctx, id), 'View');
}

/** Throws 404 when the caller may not see the view, 403 `view_owner_needed` when they may not change it. */
async function getEditableView(tx: Tx, ctx: RequestCtx, id: string): Promise<store.ViewRow> {
  const row = await getVisibleView(tx, ctx, id);
  const { userId, managesOrphans: keeper } = toViewer(ctx);
  if (row.owner_id === userId || keeper) return row;
  const message = 'Ask the owner, or someone with the permission member:update';
  throw new AppError('FORBIDDEN', 'Only the owner of the view can change it', {
    details: [{ path: '', code: 'view_owner_needed', message }],
  });
}

const findDuplicates = (names: readonly string[], path: (index: number) => string): ErrorDetail[] =>
  names.flatMap((name, index) => (names.indexOf(name) === index ? [] : [duplicateName(path(index), name)]));

type ViewQuery = Pick<store.ViewRow, 'record_type' | 'columns' | 'filters' | 'sort' | 'summary'>;

/** Throws 422 for problems in `parts` that no later sync can resolve: other parts were checked when saved. */
async function assertQueryIsValid(ctx: RequestCtx, query: ViewQuery, parts: readonly string[]) {
  const reserved = query.columns.flatMap((name, index) =>
    name === 'id'
      ? [{ path: `columns[${index}]`, code: 'reserved_name', message: 'Every record includes the id' }]
      : [],
  );
  const found = [
    ...reserved,
    ...findDuplicates(query.columns, (index) => `columns[${index}]`),
    ...findDuplicates(
      query.sort.map(({ field }) => field),
      (index) => `sort[${index}].field`,
    ),
    ...(await getRecordReader(ctx).check(ctx, toRecordQuery(query), allRows(ctx.principal.reads)))
      .filter(({ passing }) => !passing)
      .map(toViewProblem),
    ...(await findSummaryProblems(ctx, query)),
  ];
  const details = found
    .filter(({ path }) =>
      parts.some((part) => path === part || path.startsWith(`${part}[`) || path.startsWith(`${part}.`)),
    )
    .filter(({ path }, index, all) => all.findIndex((other) => other.path === path) === index);
  if (details.length > 0) throw invalid('The view is not valid', details.slice(0, 100));
}

const invalidTeam = (code: string, message: string): AppError =>
  invalid('The team is not valid', [{ path: 'teamId', code, message }]);
const noSuchTeam = (): AppError => invalidTeam('unknown_team', 'No team has this id');

/** Only members of a team, or callers with `team:update`, can share a view with it. Throws 422. */
async function assertTeam(tx: Tx, ctx: RequestCtx, visibility: NewView['visibility'], teamId: string | null) {
  if (visibility !== 'team') {
    if (teamId !== null)
      throw invalidTeam('no_team_view', 'A team is allowed only with the visibility "team"');
    return;
  }
  if (teamId === null) throw invalidTeam('team_needed', 'Name the team that may see the view');
  if (!(await store.isTeam(tx, ctx.organizationId, teamId))) throw noSuchTeam();
  if (ctx.principal.permissions.has('team:update')) return;
  if (!(await store.isInTeam(tx, ctx.organizationId, teamId, ctx.principal.user.id)))
    throw invalidTeam('not_in_team', 'You are not in this team');
}

const inViewTransaction = <T>(ctx: RequestCtx, work: (tx: Tx) => Promise<T>): Promise<T> =>
  inTransaction(ctx, work).catch((error: unknown) => {
    // The team was deleted concurrently.
    throw violatesConstraint(error, 'view_of_team') ? noSuchTeam() : error;
  });

async function readBack(tx: Tx, ctx: RequestCtx, id: string): Promise<View> {
  const row = orNotFound(await store.findView(tx, ctx.organizationId, id), 'View');
  return toView(row);
}

const toJson = (summary: store.ViewRow['summary']) => (summary === null ? null : JSON.stringify(summary));

/** More people can read the audit log than a private or team view: for those it names only changed fields. */
export const forAudit = (
  view: Pick<store.ViewRow, 'visibility' | 'record_type'>,
  change: object,
): Record<string, unknown> =>
  view.visibility === 'organization'
    ? { ...change }
    : { recordType: view.record_type, visibility: view.visibility, fields: Object.keys(change) };

export const listViews = (ctx: RequestCtx, page: PageQuery, filters: store.ViewFilters) =>
  inTransaction(ctx, async (tx) =>
    viewPage(await store.listViews(tx, ctx.organizationId, toViewer(ctx), page, filters), page, toView),
  );

/** Throws 404 for a view that the caller may not see. */
export const getView = (ctx: RequestCtx, id: string) =>
  inTransaction(ctx, async (tx) => toView(await getVisibleView(tx, ctx, id)));

/** Throws 422 for invalid columns, filters, sorts or team, and at the quota. */
export async function createView(ctx: RequestCtx, input: NewView): Promise<View> {
  const { recordType, teamId, columns, filters, sort, summary, ...same } = input;
  const parts = ['recordType', 'columns', 'filters', 'sort', 'summary'];
  await assertQueryIsValid(ctx, { record_type: recordType, columns, filters, sort, summary }, parts);
  return inViewTransaction(ctx, async (tx) => {
    await assertTeam(tx, ctx, input.visibility, teamId);
    const id = createId();
    const queryColumns = {
      columns,
      filters: JSON.stringify(filters),
      sort: JSON.stringify(sort),
      summary: toJson(summary),
    };
    const owned = { id, record_type: recordType, team_id: teamId, owner_id: ctx.principal.user.id };
    await assertQuota(tx, ctx, 'views');
    await store.insertView(tx, ctx.organizationId, { ...same, ...queryColumns, ...owned });
    const changes = forAudit({ visibility: input.visibility, record_type: recordType }, input);
    await writeAudit(tx, ctx, 'view.create', ['view', id], changes);
    return readBack(tx, ctx, id);
  });
}

/** Any visibility other than `team` clears the team. */
function visibilityColumns(row: store.ViewRow, { visibility = row.visibility, teamId }: ViewPatch) {
  if (teamId !== undefined) return { visibility, team_id: teamId };
  return { visibility, team_id: visibility === 'team' ? row.team_id : null };
}

/** Throws 404, 403 `view_owner_needed`, 422 for invalid columns, filters, sorts or team. */
export async function updateView(ctx: RequestCtx, id: string, change: ViewPatch): Promise<View> {
  const before = await inTransaction(ctx, (tx) => getEditableView(tx, ctx, id));
  const { columns = before.columns } = change;
  const filters = change.filters === undefined ? before.filters : (change.filters ?? []);
  const sort = change.sort === undefined ? before.sort : (change.sort ?? []);
  const { summary = before.summary } = change;
  const parts = (['columns', 'filters', 'sort', 'summary'] as const).filter(
    // A summary of money may depend on a filter by the currency.
    (part) => change[part] !== undefined || (part === 'summary' && change.filters !== undefined),
  );
  if (parts.length > 0)
    await assertQueryIsValid(
      ctx,
      { record_type: before.record_type, columns, filters, sort, summary },
      parts,
    );
  return inViewTransaction(ctx, async (tx) => {
    const row = await getEditableView(tx, ctx, id);
    const shared =
      change.visibility === undefined && change.teamId === undefined
        ? undefined
        : visibilityColumns(row, change);
    if (shared !== undefined) await assertTeam(tx, ctx, shared.visibility, shared.team_id);
    await store.updateView(tx, ctx.organizationId, id, {
      ...shared,
      ...(change.name !== undefined && { name: change.name }),
      ...(change.columns !== undefined && { columns }),
      ...(change.filters !== undefined && { filters: JSON.stringify(filters) }),
      ...(change.sort !== undefined && { sort: JSON.stringify(sort) }),
      ...(change.summary !== undefined && { summary: toJson(summary) }),
    });
    const changes = forAudit({ ...row, ...shared }, change);
    await writeAudit(tx, ctx, 'view.update', ['view', id], changes);
    return readBack(tx, ctx, id);
  });
}

/** Throws 404, 403 `view_owner_needed`. */
export const deleteView = (ctx: RequestCtx, id: string): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    const row = await getEditableView(tx, ctx, id);
    if ((await store.deleteView(tx, ctx.organizationId, id)) === 0) throw notFound('View');
    await writeAudit(tx, ctx, 'view.delete', ['view', id], forAudit(row, { name: row.name }));
  });

type ViewRead = { readonly masked: boolean };
const toRights = ({ principal }: RequestCtx, { masked }: ViewRead) =>
  allRows({ unmasked: principal.reads.unmasked && !masked });

/** As `openFileOfView`, for the caller. Throws 404 for a view that they may not see. */
export async function openViewFile(
  ctx: RequestCtx,
  id: string,
  read: ViewRead,
  form: FileForm,
  left: AbortSignal,
): Promise<DownloadFile> {
  const view = await inTransaction(ctx, (tx) => getVisibleView(tx, ctx, id));
  return openFileOfView(ctx, view, toRights(ctx, read), form, left);
}

/**
 * A file has no place for problems: throws 422 when a filter does not work; columns and sorts that do not
 * work are named in the header `X-View-Problems`. `left` is aborted when the client disconnects.
 */
export async function openFileOfView(
  ctx: ReadingCtx & TenantCtx,
  view: store.ViewRow,
  rights: CallerRights,
  form: FileForm,
  left: AbortSignal,
): Promise<DownloadFile> {
  const { bytes, aborted, tag, total, problems, heldBack, syncedAt } = await getRecordReader(ctx).file(
    ctx,
    toRecordQuery(view),
    form,
    left,
    rights,
  );
  if (heldBack)
    throw invalid('A filter of the view does not work at the moment', problems.map(toViewProblem));
  const missing = problems.map((problem) => `${toViewProblem(problem).path} ${problem.code}`).join(', ');
  return {
    fileName: `${view.name}.${form === 'xlsx' ? 'xlsx' : 'csv'}`,
    headers: {
      'X-Total-Count': String(total),
      ...(syncedAt !== null && { 'X-Data-Synced-At': syncedAt }),
      ...(missing !== '' && { 'X-View-Problems': missing }),
    },
    bytes,
    aborted,
    tag,
  };
}

/** Throws 404 for a view that the caller may not see. */
export async function listViewRecords(
  ctx: RequestCtx,
  id: string,
  { masked, ...page }: PageQuery & ViewRead,
) {
  const view = await inTransaction(ctx, (tx) => getVisibleView(tx, ctx, id));
  const rights = toRights(ctx, { masked });
  const { records, total, columns, problems, syncedAt } = await getRecordReader(ctx).list(
    ctx,
    toRecordQuery(view),
    page,
    rights,
  );
  return {
    ...toPage(parseExact(records) as Record<string, unknown>[], total, page),
    columns: columns.map(({ source, type }) => ({ source, type })),
    problems: problems.map(toViewProblem),
    syncedAt,
  };
}

/** Throws 404 for a view that the caller may not see, 422 `no_summary` for one that has no summary. */
export async function listViewRows(ctx: RequestCtx, id: string, read: ViewRead) {
  const view = await inTransaction(ctx, (tx) => getVisibleView(tx, ctx, id));
  const query = toSummaryQuery(view);
  if (query === undefined)
    throw invalid('The view has no summary', [
      { path: 'summary', code: 'no_summary', message: 'Add a summary to the view' },
    ]);
  const { rows, total, problems, syncedAt } = await getRecordReader(ctx).summarize(
    ctx,
    query,
    toRights(ctx, read),
  );
  return {
    data: parseExact(rows) as Record<string, unknown>[],
    total,
    problems: problems.map(toSummaryProblem),
    syncedAt,
  };
}
