// The query service: POST /services/rest/query/v1/suiteql, and the results of saved datasets.
import type { Request, Response } from 'express';
import { getDistortion } from '../answer-faults/distortion.ts';
import type { QuerySettings } from '../database/snapshot.ts';
import { type CollectionLink, collectionLinks, parsePageWindow } from '../paging.ts';
import { recordNotFound } from '../records/record-errors.ts';
import { getOrigin, parsePreferences, RestError, sendCollection, unexpectedError } from '../wire.ts';
import type { Dataset } from './datasets.ts';
import type { WireRow } from './render.ts';
import { BeyondCap, runQuery } from './run.ts';
import { SuiteqlError } from './suiteql-error.ts';

/** Rejects with RestError: 400 for an invalid query, header, body or page, 500 for an unexpected failure. */
export async function handleSuiteql(
  settings: QuerySettings,
  request: Request,
  response: Response,
): Promise<void> {
  assertPrefersTransient(request);
  const query = parseBody(request.body);
  const href = `${getOrigin(request)}${QUERY_PATH}/suiteql`;
  response.set('preference-applied', 'transient');
  await sendRows(settings, request, response, { ...query, href, method: 'POST' });
}

/** Rejects with RestError: 404 for an unknown dataset, otherwise as `handleSuiteql`. */
export async function handleDataset(
  settings: QuerySettings,
  datasets: readonly Dataset[],
  request: Request,
  response: Response,
): Promise<void> {
  const dataset = datasets.find(({ id }) => id === request.params['id']);
  if (!dataset) throw recordNotFound();
  const origin = getOrigin(request);
  const listLinks = ({ id }: WireRow): CollectionLink[] =>
    dataset.recordType === undefined || id === undefined
      ? []
      : [
          {
            rel: 'self',
            href: `${origin}/services/rest/record/v1/${dataset.recordType.toLowerCase()}/${String(id)}`,
          },
        ];
  await sendRows(settings, request, response, {
    q: dataset.q,
    params: [],
    href: `${origin}${resultPath(dataset)}`,
    listLinks,
  });
}

/** The saved datasets, each with a link to its result. */
export async function listDatasets(
  datasets: readonly Dataset[],
  request: Request,
  response: Response,
): Promise<void> {
  const page = parsePageWindow(request);
  const origin = getOrigin(request);
  const items = datasets.slice(page.offset, page.offset + page.limit).map((dataset) => ({
    links: [{ rel: 'self', href: `${origin}${resultPath(dataset)}` }],
    id: dataset.id,
    name: dataset.name,
  }));
  const total = datasets.length;
  const links = collectionLinks(`${origin}${QUERY_PATH}/dataset`, page, total, lastOffset(total, page.limit));
  const hasMore = page.offset + items.length < total;
  await sendCollection(response, {
    links,
    count: items.length,
    hasMore,
    items,
    offset: page.offset,
    totalResults: total,
  });
}

const QUERY_PATH = '/services/rest/query/v1';
const resultPath = ({ id }: Dataset): string => `${QUERY_PATH}/dataset/${id}/result`;
const lastOffset = (total: number, limit: number): number =>
  Math.max(0, Math.ceil(total / limit) - 1) * limit;

/** `href` is the list's address; its link `self` has the method, if there is one. */
type List = {
  q: string;
  params: (string | null)[];
  href: string;
  method?: string;
  listLinks?: (row: WireRow) => CollectionLink[];
};

async function sendRows(
  settings: QuerySettings,
  request: Request,
  response: Response,
  list: List,
): Promise<void> {
  const page = parsePageWindow(request);
  const { q, params, href, method, listLinks } = list;
  const { rows, total, counted } = await runQuery(
    settings,
    { q, params, ...page },
    getDistortion(response),
  ).catch((error: unknown) => {
    if (error instanceof BeyondCap) throw invalidParameter(error.message, 'offset', error);
    throw error instanceof SuiteqlError
      ? invalidParameter(error.message, 'q', error)
      : unexpectedError(error);
  });
  const links = collectionLinks(href, page, counted, lastOffset(total, page.limit)).map((link) =>
    link.rel === 'self' && method !== undefined ? { ...link, method } : link,
  );
  await sendCollection(response, {
    links,
    count: rows.length,
    hasMore: page.offset + rows.length < counted && rows.length > 0,
    items: listLinks ? rows.map((row) => ({ ...row, links: listLinks(row) })) : rows,
    offset: page.offset,
    totalResults: total,
  });
}

/** The audit trail also gets PostgreSQL's message. */
function invalidParameter(detail: string, queryParam: string, error?: Error): RestError {
  const reason = error?.cause instanceof Error ? `${detail} (${error.cause.message})` : detail;
  return new RestError(
    400,
    { detail, 'o:errorQueryParam': queryParam, 'o:errorCode': 'INVALID_PARAMETER' },
    { reason, cause: error },
  );
}

function assertPrefersTransient(request: Request): void {
  if (parsePreferences(request).includes('transient')) return;
  throw new RestError(400, {
    detail: "The required request header 'Prefer' is missing or invalid. Its value must be 'transient'.",
    'o:errorHeader': 'Prefer',
    'o:errorCode': 'INVALID_HEADER',
  });
}

/** The body is parsed as JSON whatever its content type is. */
function parseBody(text: unknown): { q: string; params: (string | null)[] } {
  const body = parseObject(typeof text === 'string' ? text : '');
  const { q, params = [] } = body;
  if (typeof q !== 'string' || q.trim() === '')
    throw invalidParameter('The query parameter q is required.', 'q');
  if (!Array.isArray(params)) throw invalidParameter('The parameter params must be an array.', 'params');
  return { q, params: params.map(parseParameter) };
}

function parseObject(text: string): Record<string, unknown> {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (error) {
    throw invalidContent(error);
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw invalidContent();
  return body as Record<string, unknown>;
}

const invalidContent = (cause?: unknown): RestError =>
  new RestError(
    400,
    { detail: 'Invalid content in the request body.', 'o:errorCode': 'INVALID_CONTENT' },
    { cause },
  );

function parseParameter(value: unknown): string | null {
  if (value === null || value === '') return null; // the empty string is null to Oracle
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  if (typeof value === 'boolean') return value ? 'T' : 'F';
  throw invalidParameter('A value in params must be a text, a number or a boolean.', 'params');
}
