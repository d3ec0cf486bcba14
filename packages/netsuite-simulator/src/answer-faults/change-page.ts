// Pure functions that change the body of an answer. The result stays a well-formed answer: its `count` is the
// number of its items.

type Item = Record<string, unknown>;
/** A page of rows or of a record list. */
export type Page = {
  links: { rel: string }[];
  count: number;
  hasMore: boolean;
  items: Item[];
  offset: number;
  totalResults: number;
};

export const isPage = (body: unknown): body is Page =>
  typeof body === 'object' &&
  body !== null &&
  'items' in body &&
  Array.isArray(body.items) &&
  'totalResults' in body;

/** Says that this is the last page. `totalResults` still tells how many there are. */
export const withoutMore = (page: Page): Page => ({
  ...page,
  links: page.links.filter(({ rel }) => rel !== 'next' && rel !== 'last'),
  hasMore: false,
});

export const withOffsetTotal = (page: Page, offset: number): Page => ({
  ...page,
  totalResults: Math.max(0, page.totalResults + offset),
});

/** Leaves out every Nth row, counted from `seen` rows of earlier answers. */
export function withoutEveryNth(page: Page, every: number, seen: number): Page {
  const items = page.items.filter((_item, index) => (seen + index + 1) % every !== 0);
  return {
    ...page,
    items,
    count: items.length,
    totalResults: page.totalResults - (page.items.length - items.length),
  };
}

/** The first row twice. A full page then ends one row earlier, so that it isn't longer than `limit`. */
export function withDuplicate(page: Page, limit: number): Page {
  const [first] = page.items;
  if (!first) return page;
  const items = [first, ...page.items].slice(0, limit);
  return {
    ...page,
    items,
    count: items.length,
    hasMore: page.hasMore || items.length <= page.items.length,
    totalResults: page.totalResults + 1,
  };
}

/** A record, or each item of a page, without these properties. */
export function withoutProperties(body: unknown, names: readonly string[]): unknown {
  if (typeof body !== 'object' || body === null) return body;
  return isPage(body)
    ? { ...body, items: body.items.map((item) => without(item, names)) }
    : without(body as Item, names);
}

const without = (item: Item, names: readonly string[]): Item =>
  Object.fromEntries(Object.entries(item).filter(([name]) => !names.includes(name)));
