// The sidebar. Targets must exist when the tree is stored. One that disappears later is reported as a problem
// and stays until the tree is stored again.
import type { RequestCtx } from '../../core/ctx.ts';
import { type ErrorDetail, invalid } from '../../core/errors.ts';
import { inTransaction } from '../../db/transaction.ts';
import { instantOrNull } from '../../http/fields.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { staleRevision } from './revisions.ts';
import {
  maxSidebarBytes,
  maxSidebarItems,
  type SidebarInput,
  type SidebarItem,
  type SidebarItems,
} from './sidebar.schemas.ts';
import * as store from './sidebar.store.ts';
import {
  isHttpsUrl,
  readTargets,
  type Targets,
  unknownRecordTypeDetail,
  unknownViewDetail,
} from './targets.ts';

type LocatedItem = { readonly item: SidebarItem; readonly path: string };

const isItem = (child: unknown): child is SidebarItem =>
  typeof child === 'object' && child !== null && 'kind' in child;
const locateItems = (items: readonly unknown[], path: string): LocatedItem[] =>
  items.flatMap((item, index) => {
    const at = `${path}[${index}]`;
    return isItem(item) ? [{ item, path: at }, ...locateItems(item.children, `${at}.children`)] : [];
  });

const listTargets = (all: readonly LocatedItem[], wanted: SidebarItem['kind']): string[] =>
  all.flatMap(({ item: { kind, target } }) => (kind === wanted && target !== null ? [target] : []));
const readItemTargets = (ctx: RequestCtx, all: readonly LocatedItem[]): Promise<Targets> =>
  readTargets(ctx, { views: listTargets(all, 'view'), pages: listTargets(all, 'page') });

/** What is wrong with an item itself, regardless of whether its target exists. */
function itemProblem({ item: { kind, target, children }, path }: LocatedItem): ErrorDetail | undefined {
  if (kind !== 'group' && children.length > 0)
    return { path: `${path}.children`, code: 'no_group', message: 'Only a group has children' };
  if (kind === 'group')
    return target === null
      ? undefined
      : { path: `${path}.target`, code: 'no_target', message: 'A group has no target' };
  if (target === null)
    return {
      path: `${path}.target`,
      code: 'target_needed',
      message: `An item of kind ${kind} needs a target`,
    };
  if (kind === 'link' && !isHttpsUrl(target))
    return {
      path: `${path}.target`,
      code: 'bad_address',
      message: 'must be an https address without a user name',
    };
  return undefined;
}

function targetProblem({ item: { kind, target }, path }: LocatedItem, targets: Targets) {
  const at = `${path}.target`;
  if (target === null) return undefined;
  if (kind === 'view' && !targets.views.has(target)) return unknownViewDetail(at);
  if (kind === 'record-type' && !Object.hasOwn(targets.available, target)) return unknownRecordTypeDetail(at);
  if (kind !== 'page') return undefined;
  const page = targets.pages.get(target);
  if (page === undefined) return { path: at, code: 'unknown_page', message: 'No page has this id or slug' };
  return page.published
    ? undefined
    : { path: at, code: 'not_published', message: 'This page is not published, so visitors cannot see it' };
}

/** Replaces page slugs by ids, so that changing a slug breaks no item. */
const withPageIds = (items: readonly unknown[], pages: Targets['pages']): SidebarItem[] =>
  items.filter(isItem).map((item) => {
    const target =
      item.kind === 'page' && item.target !== null
        ? (pages.get(item.target)?.id ?? item.target)
        : item.target;
    return { ...item, target, children: withPageIds(item.children, pages) };
  });

async function resolveItems(ctx: RequestCtx, items: SidebarItems): Promise<SidebarItem[]> {
  const all = locateItems(items, 'items');
  if (all.length > maxSidebarItems)
    throw invalid('The sidebar is too large', [
      { path: 'items', code: 'too_big', message: `A sidebar may have at most ${maxSidebarItems} items` },
    ]);
  if (Buffer.byteLength(JSON.stringify(items)) > maxSidebarBytes)
    throw invalid('The sidebar is too large', [
      { path: 'items', code: 'too_big', message: `The items may take at most ${maxSidebarBytes} bytes` },
    ]);
  const targets = await readItemTargets(ctx, all);
  const details = all.flatMap((located) => {
    const problem = itemProblem(located) ?? targetProblem(located, targets);
    // A page may be added to the sidebar first and published later.
    return problem === undefined || problem.code === 'not_published' ? [] : [problem];
  });
  if (details.length > 0) throw invalid('The sidebar is not valid', details.slice(0, 100));
  return withPageIds(items, targets.pages);
}

export async function getSidebar(ctx: RequestCtx) {
  const row = await inTransaction(ctx, (tx) => store.findSidebar(tx, ctx.organizationId));
  const all = locateItems(row?.items ?? [], 'items');
  const targets = all.length === 0 ? undefined : await readItemTargets(ctx, all);
  return {
    items: (row?.items ?? []) as SidebarItems,
    revision: row?.revision ?? 0,
    problems: targets === undefined ? [] : all.flatMap((located) => targetProblem(located, targets) ?? []),
    updatedAt: instantOrNull(row?.updated_at ?? null),
  };
}

/** Throws 422 for invalid or too large items, and `stale_revision` when it is not at the given revision. */
export async function putSidebar(ctx: RequestCtx, { items: newItems, revision }: SidebarInput) {
  const items = await resolveItems(ctx, newItems);
  await inTransaction(ctx, async (tx) => {
    const stored = await store.saveSidebar(tx, ctx.organizationId, items, revision);
    if (stored === undefined) {
      const current = (await store.findSidebar(tx, ctx.organizationId))?.revision ?? 0;
      throw staleRevision('The sidebar has changed in the meantime', `The sidebar is at revision ${current}`);
    }
    const changes = { revision: stored, items: locateItems(items, '').length };
    await writeAudit(tx, ctx, 'portal.update-sidebar', ['sidebar', null], changes);
  });
  return getSidebar(ctx);
}
