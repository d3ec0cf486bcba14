// Saved views. Who sees one is the store's rule; here is who may change one, what a view may ask for, and its records.
import type { RequestCtx } from '../../core/ctx.ts';
import { AppError, type ErrorDetail, invalid, notFound } from '../../core/errors.ts';
import { parseExact } from '../../core/exact-json.ts';
import { newId } from '../../core/id.ts';
import { violates } from '../../db/pg-errors.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { instant } from '../../http/fields.ts';
import { type PageQuery, toPage } from '../../http/page.ts';
import type { OpenDownload } from '../../http/route.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { openRecords, type QueryProblem, type RecordQuery } from '../../public/index.ts';
import { makeRoom } from '../room.ts';
import type { ViewChanges, ViewInput, ViewShown } from './views.schemas.ts';
import * as store from './views.store.ts';

/** Whoever may change members looks after what members leave behind. */
export const viewerOf = ({ principal }: Pick<RequestCtx, 'principal'>): store.Viewer => ({
  userId: principal.user.id,
  keeper: principal.permissions.has('member:update'),
});

const shown = (row: store.ViewRow): ViewShown => ({
  id: row.id,
  name: row.name,
  recordType: row.record_type,
  columns: row.columns,
  filters: row.filters,
  sort: row.sort,
  visibility: row.visibility,
  teamId: row.team_id,
  owner: row.owner_id === null ? null : { id: row.owner_id, email: row.owner_email ?? '', name: row.owner_name ?? '' },
  createdAt: instant(row.created_at),
  updatedAt: instant(row.updated_at),
});

/** What a view asks the records for. */
export const queryOf = (view: Pick<store.ViewRow, 'record_type' | 'columns' | 'filters' | 'sort'>): RecordQuery => ({
  recordType: view.record_type,
  columns: view.columns.map((source) => ({ name: source, source })),
  filters: view.filters.map(({ field, operator, value }) => ({ source: field, operator, values: [value].flat() })),
  sort: view.sort.map(({ field, direction }) => ({ source: field, direction })),
});

/** In the words of a view. */
export const inViewWords = ({ path, code, message }: QueryProblem): ErrorDetail => ({
  path: path.replace(/\.source$/, '.field').replace(/\.values$/, '.value'),
  code,
  message,
});

async function getVisible(tx: Tx, ctx: RequestCtx, id: string): Promise<store.ViewRow> {
  const row = await store.findVisibleView(tx, ctx.organizationId, viewerOf(ctx), id);
  if (row === undefined) throw notFound('View');
  return row;
}

/** What the caller sees and may change or delete. */
async function getOwn(tx: Tx, ctx: RequestCtx, id: string): Promise<store.ViewRow> {
  const row = await getVisible(tx, ctx, id);
  const { userId, keeper } = viewerOf(ctx);
  if (row.owner_id === userId || keeper) return row;
  throw new AppError('FORBIDDEN', 'Only its owner changes a view', {
    details: [{ path: '', code: 'view_owner_needed', message: 'Ask its owner, or somebody who may change members' }],
  });
}

const duplicatesOf = (names: readonly string[], path: (index: number) => string): ErrorDetail[] =>
  names.flatMap((name, index) =>
    names.indexOf(name) === index ? [] : [{ path: path(index), code: 'duplicate', message: `"${name}" stands there already` }],
  );

type Asked = Pick<store.ViewRow, 'record_type' | 'columns' | 'filters' | 'sort'>;

/** What no sync will mend, of the parts that are given now: the others were right when they were given. */
async function checkAsked(ctx: RequestCtx, asked: Asked, parts: readonly string[]): Promise<void> {
  const reserved = asked.columns.flatMap((name, index) =>
    name === 'id' ? [{ path: `columns[${index}]`, code: 'reserved_name', message: 'The id is in every record' }] : [],
  );
  const found = [
    ...reserved,
    ...duplicatesOf(asked.columns, (index) => `columns[${index}]`),
    ...duplicatesOf(
      asked.sort.map(({ field }) => field),
      (index) => `sort[${index}].field`,
    ),
    ...(await openRecords(ctx).check(ctx, queryOf(asked))).filter(({ passing }) => !passing).map(inViewWords),
  ];
  const details = found
    .filter(({ path }) => parts.some((part) => path === part || path.startsWith(`${part}[`)))
    .filter(({ path }, index, all) => all.findIndex((other) => other.path === path) === index);
  if (details.length > 0) throw invalid('The view asks for what is not there', details.slice(0, 100));
}

const badTeam = (code: string, message: string): AppError => invalid('The team is not right', [{ path: 'teamId', code, message }]);
const noSuchTeam = (): AppError => badTeam('unknown_team', 'No team has this id');

/** A team gets a view from one of its members, or from somebody who may change teams. */
async function checkTeam(tx: Tx, ctx: RequestCtx, visibility: ViewInput['visibility'], teamId: string | null): Promise<void> {
  if (visibility !== 'team') {
    if (teamId !== null) throw badTeam('no_team_view', 'A team goes with the visibility "team" alone');
    return;
  }
  if (teamId === null) throw badTeam('team_needed', 'Say which team may see the view');
  if (!(await store.isTeam(tx, ctx.organizationId, teamId))) throw noSuchTeam();
  if (ctx.principal.permissions.has('team:update')) return;
  if (!(await store.isInTeam(tx, ctx.organizationId, teamId, ctx.principal.user.id)))
    throw badTeam('not_in_team', 'You are not in this team');
}

const inOne = <T>(ctx: RequestCtx, work: (tx: Tx) => Promise<T>): Promise<T> =>
  inTransaction(ctx, work).catch((error: unknown) => {
    // The team was deleted in this moment.
    throw violates(error, 'view_of_team') ? noSuchTeam() : error;
  });

async function answer(tx: Tx, ctx: RequestCtx, id: string): Promise<ViewShown> {
  const row = await store.findView(tx, ctx.organizationId, id);
  if (row === undefined) throw notFound('View');
  return shown(row);
}

/** The audit log is read by more people than a view that is not the whole organization's: of such a view it names no content. */
const forAudit = (view: Pick<store.ViewRow, 'visibility' | 'record_type'>, change: object): Record<string, unknown> =>
  view.visibility === 'organization'
    ? { ...change }
    : { recordType: view.record_type, visibility: view.visibility, fields: Object.keys(change) };

export const listViews = (ctx: RequestCtx, page: PageQuery, filters: store.ViewFilters) =>
  inTransaction(ctx, async (tx) => {
    const { rows, total } = await store.listViews(tx, ctx.organizationId, viewerOf(ctx), page, filters);
    return toPage(rows.map(shown), total, page);
  });

export const getView = (ctx: RequestCtx, id: string) => inTransaction(ctx, async (tx) => shown(await getVisible(tx, ctx, id)));

export async function createView(ctx: RequestCtx, input: ViewInput): Promise<ViewShown> {
  const { recordType, teamId, columns, filters, sort, ...same } = input;
  await checkAsked(ctx, { record_type: recordType, columns, filters, sort }, ['recordType', 'columns', 'filters', 'sort']);
  return inOne(ctx, async (tx) => {
    await checkTeam(tx, ctx, input.visibility, teamId);
    const id = newId();
    const asked = { columns, filters: JSON.stringify(filters), sort: JSON.stringify(sort) };
    const owned = { id, record_type: recordType, team_id: teamId, owner_id: ctx.principal.user.id };
    await makeRoom(tx, ctx, 'views');
    await store.insertView(tx, ctx.organizationId, { ...same, ...asked, ...owned });
    const changes = forAudit({ visibility: input.visibility, record_type: recordType }, input);
    await writeAudit(tx, ctx, { action: 'view.create', target: { type: 'view', id }, changes });
    return answer(tx, ctx, id);
  });
}

/** Every visibility but `team` takes the team away. */
function sharing(row: store.ViewRow, { visibility = row.visibility, teamId }: ViewChanges) {
  if (teamId !== undefined) return { visibility, team_id: teamId };
  return { visibility, team_id: visibility === 'team' ? row.team_id : null };
}

export async function changeView(ctx: RequestCtx, id: string, change: ViewChanges): Promise<ViewShown> {
  const before = await inTransaction(ctx, (tx) => getOwn(tx, ctx, id));
  const { columns = before.columns } = change;
  const filters = change.filters === undefined ? before.filters : (change.filters ?? []);
  const sort = change.sort === undefined ? before.sort : (change.sort ?? []);
  const parts = (['columns', 'filters', 'sort'] as const).filter((part) => change[part] !== undefined);
  if (parts.length > 0) await checkAsked(ctx, { record_type: before.record_type, columns, filters, sort }, parts);
  return inOne(ctx, async (tx) => {
    const row = await getOwn(tx, ctx, id);
    const shared = change.visibility === undefined && change.teamId === undefined ? undefined : sharing(row, change);
    if (shared !== undefined) await checkTeam(tx, ctx, shared.visibility, shared.team_id);
    await store.updateView(tx, ctx.organizationId, id, {
      ...shared,
      ...(change.name !== undefined && { name: change.name }),
      ...(change.columns !== undefined && { columns }),
      ...(change.filters !== undefined && { filters: JSON.stringify(filters) }),
      ...(change.sort !== undefined && { sort: JSON.stringify(sort) }),
    });
    const changes = forAudit({ ...row, ...shared }, change);
    await writeAudit(tx, ctx, { action: 'view.update', target: { type: 'view', id }, changes });
    return answer(tx, ctx, id);
  });
}

export const deleteView = (ctx: RequestCtx, id: string): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    const row = await getOwn(tx, ctx, id);
    if ((await store.deleteView(tx, ctx.organizationId, id)) === 0) throw notFound('View');
    await writeAudit(tx, ctx, { action: 'view.delete', target: { type: 'view', id }, changes: forAudit(row, { name: row.name }) });
  });

/** A file has no place for words, so what a filter keeps back is refused; columns and sorts that are missing are told in a header. */
export async function openViewCsv(ctx: RequestCtx, id: string, left: AbortSignal): Promise<OpenDownload> {
  const view = await inTransaction(ctx, (tx) => getVisible(tx, ctx, id));
  const { bytes, cut, total, problems, heldBack, syncedAt } = await openRecords(ctx).csv(ctx, queryOf(view), left);
  if (heldBack) throw invalid('The view does not work at the moment', problems.map(inViewWords));
  const missing = problems.map((problem) => `${inViewWords(problem).path} ${problem.code}`).join(', ');
  return {
    fileName: `${view.name}.csv`,
    headers: {
      'X-Total-Count': String(total),
      ...(syncedAt !== null && { 'X-Data-Synced-At': syncedAt }),
      ...(missing !== '' && { 'X-View-Problems': missing }),
    },
    bytes,
    cut,
  };
}

export async function readViewRecords(ctx: RequestCtx, id: string, page: PageQuery) {
  const view = await inTransaction(ctx, (tx) => getVisible(tx, ctx, id));
  const { records, total, columns, problems, syncedAt } = await openRecords(ctx).list(ctx, queryOf(view), page);
  return {
    ...toPage(parseExact(records) as Record<string, unknown>[], total, page),
    columns: columns.map(({ source, type }) => ({ source, type })),
    problems: problems.map(inViewWords),
    syncedAt,
  };
}
