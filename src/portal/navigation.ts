// Where visitors can go: as the company arranged it, or to everything that the portal shows. What shows nothing
// to this visitor is left out.

import type { Clock } from '../core/clock.ts';
import { isId } from '../core/id.ts';
import { type Cache, createCache } from '../core/work/cache.ts';
import { readPortal, recordsEndpoint, type SidebarItem } from '../platform/index.ts';
import { findOffer, hasStatement } from './offer.ts';
import { listAddress } from './record-table.ts';
import { findShown } from './shown-fields.ts';
import type { Label, NavigationItem } from './view-model.ts';
import type { Visit } from './visit.ts';

/** What records of the type are called: by their role where no other type has it, else as in the ERP. */
export function nameType({ portal: { settings } }: Pick<Visit, 'portal'>, recordType: string): Label {
  const entry = settings.records.find((one) => one.recordType === recordType);
  const isAlone = settings.records.filter(({ role }) => role === entry?.role).length === 1;
  if (entry !== undefined && entry.role !== 'other' && isAlone) return { role: entry.role };
  return settings.labels?.[recordType] ?? recordType;
}

/** What one record of the type is called. */
export function nameDocument({ portal: { settings } }: Pick<Visit, 'portal'>, recordType: string): Label {
  const role = settings.records.find((one) => one.recordType === recordType)?.role;
  if (role !== undefined && role !== 'other') return { document: role };
  return settings.labels?.[recordType] ?? recordType;
}

/** A record type that got its first record is in the navigation so much later at most. */
const knownForMs = 60_000;
const maxBytes = 4_194_304;

/** Which record types have records of a customer. One for each process. */
export type HasRecords = Cache<boolean>;
export const createHasRecords = (clock: Pick<Clock, 'monotonicMs'>): HasRecords =>
  createCache({ maxBytes, ttl: { clock, ms: knownForMs } });

export function findHasRecords(visit: Visit, known: HasRecords, recordType: string): Promise<boolean> {
  const { ctx, portal, customer, reads } = visit;
  const key = JSON.stringify([ctx.organizationId, portal.document, customer, recordType]);
  const read = async (): Promise<boolean> => {
    // Not with the visitor's reader, since the visitor didn't ask for it.
    const reader = readPortal(ctx, portal, reads);
    const { total } = await reader.listKnown(recordsEndpoint(recordType), { pageSize: '1' });
    return total > 0;
  };
  const found = known.findFresh(key);
  return found === undefined ? known.load(key, read) : Promise.resolve(found);
}

type Place = Omit<NavigationItem, 'isCurrent'>;
const place = (label: Label, href: string | null, more: Partial<Place> = {}): Place => ({
  ...{ label, href, isExternal: false, children: [] },
  ...more,
});

async function toPlaces(visit: Visit, known: HasRecords, items: readonly SidebarItem[]): Promise<Place[]> {
  const found = await Promise.all(items.map((item) => toPlace(visit, known, item)));
  return found.flatMap((one) => one ?? []);
}

async function toPlace(visit: Visit, known: HasRecords, item: SidebarItem): Promise<Place | undefined> {
  const { label, kind, target } = item;
  const { base } = visit.site;
  if (kind === 'group') {
    const children = await toPlaces(visit, known, item.children as readonly SidebarItem[]);
    return children.length === 0 ? undefined : place(label, null, { children: children.map(withoutMark) });
  }
  if (target === null) return undefined;
  if (kind === 'link') return place(label, target, { isExternal: true });
  if (kind === 'page') {
    const page = visit.content.pages.find(({ id, slug }) => id === target || slug === target);
    return page && place(label, `${base}/pages/${page.slug}`);
  }
  if (kind === 'view') return isId(target) ? place(label, `${base}/views/${target}`) : undefined;
  if (findShown(visit, target) === undefined) return undefined;
  return (await findHasRecords(visit, known, target)) ? place(label, listAddress(visit, target)) : undefined;
}

const withoutMark = (one: Place): NavigationItem => ({ ...one, isCurrent: false });

async function listByDefault(visit: Visit, known: HasRecords): Promise<Place[]> {
  const types = visit.portal.settings.records.map(({ recordType }) => recordType);
  const shown = await Promise.all(types.map((type) => findHasRecords(visit, known, type)));
  return [
    ...types
      .filter((_, index) => shown[index])
      .map((type) => place(nameType(visit, type), listAddress(visit, type))),
    ...visit.content.pages.map(({ slug, title }) => place(title, `${visit.site.base}/pages/${slug}`)),
  ];
}

/** What visitors can do here, besides looking at records. */
async function listOwn(visit: Visit): Promise<Place[]> {
  const found = { pay: findOffer(visit), statement: hasStatement(visit), ask: visit.findAgent() };
  const places = Object.entries(found).map(async ([own, offered]) =>
    (await offered) ? [place({ own: own as keyof typeof found }, `${visit.site.base}/${own}`)] : [],
  );
  return (await Promise.all(places)).flat();
}

function markCurrent(items: readonly Place[], path: string): NavigationItem[] {
  return items.map((item) => {
    const isCurrent = item.href !== null && (item.href === path || path.startsWith(`${item.href}/`));
    return { ...item, isCurrent, children: markCurrent(item.children, path) };
  });
}

/** `path` is that of the page. */
export async function listPlaces(visit: Visit, known: HasRecords, path: string): Promise<NavigationItem[]> {
  const { sidebar } = visit.content;
  const [chosen, own] = await Promise.all([
    sidebar.length === 0 ? listByDefault(visit, known) : toPlaces(visit, known, sidebar),
    listOwn(visit),
  ]);
  const home = {
    ...place({ own: 'home' }, `${visit.site.base}/`),
    isCurrent: path === `${visit.site.base}/`,
  };
  return [home, ...markCurrent([...chosen, ...own], path)];
}
