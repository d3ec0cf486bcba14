// Reads `limit` and `offset` from a URL and builds the links between pages.
import type { Request } from 'express';
import { RestError } from './wire.ts';

export type PageWindow = { limit: number; offset: number };
export type CollectionLink = { rel: string; href: string; method?: string };

const MAX_PAGE_SIZE = 1000;

const invalidParameter = (name: 'limit' | 'offset', detail: string): RestError =>
  new RestError(400, { detail, 'o:errorQueryParam': name, 'o:errorCode': 'INVALID_PARAMETER' });

/**
 * Throws RestError 400 for a limit outside of 1 to 1,000 or an offset that isn't a multiple of it. NetSuite's
 * wording of these errors is not known; status, code and parameter are likely.
 */
export function parsePageWindow(request: Request): PageWindow {
  const { query } = request;
  const limit = parseNumber(query['limit'], MAX_PAGE_SIZE);
  if (limit === undefined || limit < 1 || limit > MAX_PAGE_SIZE) {
    throw invalidParameter(
      'limit',
      `Invalid value for the query parameter limit. It must be a number from 1 to ${MAX_PAGE_SIZE}.`,
    );
  }
  const offset = parseNumber(query['offset'], 0);
  if (offset === undefined || offset % limit !== 0) {
    throw invalidParameter(
      'offset',
      'Invalid value for the query parameter offset. It must be a number divisible by limit.',
    );
  }
  return { limit, offset };
}

function parseNumber(value: unknown, otherwise: number): number | undefined {
  if (value === undefined) return otherwise;
  return typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : undefined;
}

/**
 * `next` and `last` unless this is the last page, `previous` and `first` from the second page on. `more` is
 * appended to each query string.
 */
export function collectionLinks(
  href: string,
  { limit, offset }: PageWindow,
  total: number,
  lastOffset: number,
  more = '',
): CollectionLink[] {
  const at = (rel: string, to: number): CollectionLink => ({
    rel,
    href: `${href}?limit=${limit}&offset=${to}${more}`,
  });
  const hasMore = offset + limit < total;
  return [
    ...(offset > 0 ? [at('first', 0), at('previous', offset - limit)] : []),
    ...(hasMore ? [at('next', offset + limit), at('last', lastOffset)] : []),
    total > limit || offset > 0 ? at('self', offset) : { rel: 'self', href },
  ];
}
