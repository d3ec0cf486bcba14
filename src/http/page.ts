// Pagination, the same for every list: the query parameters of a page, and the envelope that holds it.
import { z } from 'zod';
import { foldText } from '../core/text/folded-text.ts';
import { defaultPageSize } from '../db/page.ts';
import { queryInteger } from './fields.ts';

export const maxPageSize = 100;

export const pageFields = {
  page: queryInteger({ min: 1, max: 999_999_999, default: 1 }),
  pageSize: queryInteger({ min: 1, max: maxPageSize, default: defaultPageSize }),
};
export const PageQuery = z.strictObject(pageFields);
/** Of a list whose items have a name. */
export const NamedPageQuery = z.strictObject({ ...pageFields, q: z.string().min(1).max(120).optional() });
export type NamedPageQuery = z.output<typeof NamedPageQuery>;
export type PageQuery = { readonly page: number; readonly pageSize: number };

/** The parameters of a list that can be sorted by these fields; `sortList` applies them. */
export const sortFields = <const Field extends string>(fields: readonly [Field, ...Field[]]) => ({
  sort: z.enum(fields).optional().describe('Sorts by this field instead of newest first'),
  order: z
    .enum(['asc', 'desc'])
    .optional()
    .describe('`asc` with `sort` unless given; alone it applies to the default sort'),
});

export const Pagination = z
  .object({
    total: z.int().describe('Exact number of objects on all pages'),
    page: z.int(),
    pageSize: z.int(),
    totalPages: z.int(),
  })
  .meta({ id: 'Pagination', example: { total: 1, page: 1, pageSize: defaultPageSize, totalPages: 1 } });

export const createPageSchema = <T extends z.ZodType>(item: T) =>
  z.object({ data: z.array(item), pagination: Pagination });

export type PageResult<T> = { data: T[]; pagination: z.input<typeof Pagination> };

export const toPage = <T>(data: T[], total: number, { page, pageSize }: PageQuery): PageResult<T> => ({
  data,
  pagination: { total, page, pageSize, totalPages: Math.ceil(total / pageSize) },
});

/** The page that `readPage` returned, with each row as `view` shows it. */
export const viewPage = <Row, T>(
  { rows, total }: { readonly rows: readonly Row[]; readonly total: number },
  page: PageQuery,
  view: (row: Row) => T,
): PageResult<T> => {
  const data = rows.map((row) => view(row));
  return toPage(data, total, page);
};

/** One page of a list in memory: items of which a text of `selectTexts` contains `q`, ignoring case. */
export function findPage<T>(
  items: readonly T[],
  { q = '', ...page }: NamedPageQuery,
  selectTexts: (item: T) => readonly string[],
): PageResult<T> {
  const wanted = foldText(q);
  const found = items.filter((item) => selectTexts(item).some((text) => foldText(text).includes(wanted)));
  return toPage(found.slice((page.page - 1) * page.pageSize, page.page * page.pageSize), found.length, page);
}
