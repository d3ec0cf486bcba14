// `limit` and `offset` of a URL, and the links between pages.
import type { Request } from 'express';
import { Refusal } from './wire.ts';

export type Page = { limit: number; offset: number };
export type Link = { rel: string; href: string; method?: string };

const MOST_PER_PAGE = 1000;

const refuse = (name: 'limit' | 'offset', detail: string): Refusal =>
  new Refusal(400, { detail, 'o:errorQueryParam': name, 'o:errorCode': 'INVALID_PARAMETER' });

/** NetSuite's wording for these refusals isn't known; their status, code and parameter are likely. */
export function readPage(request: Request): Page {
  const { query } = request;
  const limit = readNumber(query['limit'], MOST_PER_PAGE);
  if (limit === undefined || limit < 1 || limit > MOST_PER_PAGE) {
    throw refuse('limit', `Invalid value for the query parameter limit. It must be a number from 1 to ${MOST_PER_PAGE}.`);
  }
  const offset = readNumber(query['offset'], 0);
  if (offset === undefined || offset % limit !== 0) {
    throw refuse('offset', 'Invalid value for the query parameter offset. It must be a number divisible by limit.');
  }
  return { limit, offset };
}

function readNumber(value: unknown, otherwise: number): number | undefined {
  if (value === undefined) return otherwise;
  return typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : undefined;
}

/** `next` and `last` while there are more pages, `previous` and `first` from the second on. `more` is the rest of the query. */
export function pageLinks(href: string, { limit, offset }: Page, total: number, lastOffset: number, more = ''): Link[] {
  const at = (rel: string, to: number): Link => ({ rel, href: `${href}?limit=${limit}&offset=${to}${more}` });
  const hasMore = offset + limit < total;
  return [
    ...(offset > 0 ? [at('first', 0), at('previous', offset - limit)] : []),
    ...(hasMore ? [at('next', offset + limit), at('last', lastOffset)] : []),
    total > limit || offset > 0 ? at('self', offset) : { rel: 'self', href },
  ];
}
