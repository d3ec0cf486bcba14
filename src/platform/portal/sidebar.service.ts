// The sidebar. A target must be there when the tree is stored; one that is gone later is told and stays until the tree is stored again.
import type { RequestCtx } from '../../core/ctx.ts';
import { type ErrorDetail, invalid } from '../../core/errors.ts';
import { inTransaction } from '../../db/transaction.ts';
import { instantOrNull } from '../../http/fields.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { maxBytes, maxItems, type SidebarInput, type SidebarItem, type SidebarItems } from './sidebar.schemas.ts';
import * as store from './sidebar.store.ts';
import { isHttpsUrl, readTargets, type Targets, unknownRecordType, unknownView } from './targets.ts';

type Placed = { readonly item: SidebarItem; readonly path: string };

const isItem = (child: unknown): child is SidebarItem => typeof child === 'object' && child !== null && 'kind' in child;
const placed = (items: readonly unknown[], path: string): Placed[] =>
  items.flatMap((item, index) => {
    const at = `${path}[${index}]`;
    return isItem(item) ? [{ item, path: at }, ...placed(item.children, `${at}.children`)] : [];
  });

const targetsOf = (all: readonly Placed[], wanted: SidebarItem['kind']): string[] =>
  all.flatMap(({ item: { kind, target } }) => (kind === wanted && target !== null ? [target] : []));
const readTargetsOf = (ctx: RequestCtx, all: readonly Placed[]): Promise<Targets> =>
  readTargets(ctx, { views: targetsOf(all, 'view'), pages: targetsOf(all, 'page') });

/** What is wrong with the form of an item, whatever is there to point at. */
function formProblem({ item: { kind, target, children }, path }: Placed): ErrorDetail | undefined {
  if (kind !== 'group' && children.length > 0) return { path: `${path}.children`, code: 'no_group', message: 'Only a group has children' };
  if (kind === 'group')
    return target === null ? undefined : { path: `${path}.target`, code: 'no_target', message: 'A group points at nothing' };
  if (target === null) return { path: `${path}.target`, code: 'target_needed', message: `Say which ${kind} it points at` };
  if (kind === 'link' && !isHttpsUrl(target))
    return { path: `${path}.target`, code: 'bad_address', message: 'must be an https address without a user name' };
  return undefined;
}

function targetProblem({ item: { kind, target }, path }: Placed, targets: Targets): ErrorDetail | undefined {
  const at = `${path}.target`;
  if (target === null) return undefined;
  if (kind === 'view' && !targets.views.has(target)) return unknownView(at);
  if (kind === 'record-type' && !Object.hasOwn(targets.available, target)) return unknownRecordType(at);
  if (kind !== 'page') return undefined;
  const page = targets.pages.get(target);
  if (page === undefined) return { path: at, code: 'unknown_page', message: 'No page has this id or slug' };
  return page.published ? undefined : { path: at, code: 'not_published', message: 'Visitors can not see this page' };
}

/** Pages are stored by id, so that a new slug breaks nothing. */
const byId = (items: readonly unknown[], pages: Targets['pages']): SidebarItem[] =>
  items.filter(isItem).map((item) => {
    const target = item.kind === 'page' && item.target !== null ? (pages.get(item.target)?.id ?? item.target) : item.target;
    return { ...item, target, children: byId(item.children, pages) };
  });

async function checkItems(ctx: RequestCtx, items: SidebarItems): Promise<SidebarItem[]> {
  const all = placed(items, 'items');
  if (all.length > maxItems)
    throw invalid('The sidebar is too large', [{ path: 'items', code: 'too_big', message: `At most ${maxItems} items` }]);
  if (Buffer.byteLength(JSON.stringify(items)) > maxBytes)
    throw invalid('The sidebar is too large', [{ path: 'items', code: 'too_big', message: `At most ${maxBytes} bytes` }]);
  const targets = await readTargetsOf(ctx, all);
  const details = all.flatMap((place) => {
    const problem = formProblem(place) ?? targetProblem(place, targets);
    // A page may be put there first and published later.
    return problem === undefined || problem.code === 'not_published' ? [] : [problem];
  });
  if (details.length > 0) throw invalid('The sidebar is not right', details.slice(0, 100));
  return byId(items, targets.pages);
}

export async function getSidebar(ctx: RequestCtx) {
  const row = await inTransaction(ctx, (tx) => store.findSidebar(tx, ctx.organizationId));
  const all = placed(row?.items ?? [], 'items');
  const targets = all.length === 0 ? undefined : await readTargetsOf(ctx, all);
  return {
    items: (row?.items ?? []) as SidebarItems,
    revision: row?.revision ?? 0,
    problems: targets === undefined ? [] : all.flatMap((place) => targetProblem(place, targets) ?? []),
    updatedAt: instantOrNull(row?.updated_at ?? null),
  };
}

export async function putSidebar(ctx: RequestCtx, { items: given, revision }: SidebarInput) {
  const items = await checkItems(ctx, given);
  await inTransaction(ctx, async (tx) => {
    const stored = await store.saveSidebar(tx, ctx.organizationId, items, revision);
    if (stored === undefined) {
      const present = (await store.findSidebar(tx, ctx.organizationId))?.revision ?? 0;
      const message = `The sidebar is at revision ${present}`;
      throw invalid('The sidebar has changed meanwhile', [{ path: 'revision', code: 'stale_revision', message }]);
    }
    const changes = { revision: stored, items: placed(items, '').length };
    await writeAudit(tx, ctx, { action: 'portal.update-sidebar', target: { type: 'sidebar', id: null }, changes });
  });
  return getSidebar(ctx);
}
