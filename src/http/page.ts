// Pagination, the same for every list: the query parameters that request a page, and the envelope that holds it.
import { z } from 'zod';
import { defaultPageSize } from '../db/page.ts';
import { queryInteger } from './fields.ts';

export const maxPageSize = 100;

export const pageFields = {
  page: queryInteger({ min: 1, max: 999_999_999, default: 1 }),
  pageSize: queryInteger({ min: 1, max: maxPageSize, default: defaultPageSize }),
};
export const PageQuery = z.strictObject(pageFields);
export type PageQuery = { readonly page: number; readonly pageSize: number };

export const Pagination = z
  .object({
    total: z.int().describe('Exact number of objects on all pages'),
    page: z.int(),
    pageSize: z.int(),
    totalPages: z.int(),
  })
  .meta({ id: 'Pagination', example: { total: 1, page: 1, pageSize: defaultPageSize, totalPages: 1 } });

export const pageOf = <T extends z.ZodType>(item: T) => z.object({ data: z.array(item), pagination: Pagination });

export type PageResult<T> = { data: T[]; pagination: z.input<typeof Pagination> };

export const toPage = <T>(data: T[], total: number, { page, pageSize }: PageQuery): PageResult<T> => ({
  data,
  pagination: { total, page, pageSize, totalPages: Math.ceil(total / pageSize) },
});
