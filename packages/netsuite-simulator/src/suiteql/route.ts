// POST /services/rest/query/v1/suiteql.
import type { Request, Response } from 'express';
import { distortionOf } from '../answer-faults/distortion.ts';
import type { QuerySettings } from '../database/snapshot.ts';
import { collectionLinks, parsePageWindow } from '../paging.ts';
import { originOf, RestError, sendCollection, unexpectedError } from '../wire.ts';
import { BeyondCap, runQuery } from './run.ts';
import { SuiteqlError } from './suiteql-error.ts';

/** Rejects with RestError: 400 for an invalid query, header, body or page, 500 for an unexpected failure. */
export async function handleSuiteql(settings: QuerySettings, request: Request, response: Response): Promise<void> {
  assertPrefersTransient(request);
  const page = parsePageWindow(request);
  const { q, params } = parseBody(request.body);
  const { rows, total, counted } = await runQuery(settings, { q, params, ...page }, distortionOf(response)).catch((error: unknown) => {
    if (error instanceof BeyondCap) throw invalidParameter(error.message, 'offset', error);
    throw error instanceof SuiteqlError ? invalidParameter(error.message, 'q', error) : unexpectedError(error);
  });
  const href = `${originOf(request)}/services/rest/query/v1/suiteql`;
  const links = collectionLinks(href, page, counted, Math.max(0, Math.ceil(total / page.limit) - 1) * page.limit).map((link) =>
    link.rel === 'self' ? { ...link, method: 'POST' } : link,
  );
  response.set('preference-applied', 'transient');
  await sendCollection(response, {
    links,
    count: rows.length,
    hasMore: page.offset + rows.length < counted && rows.length > 0,
    items: rows,
    offset: page.offset,
    totalResults: total,
  });
}

/** The audit trail also gets PostgreSQL's message. */
function invalidParameter(detail: string, queryParam: string, error?: Error): RestError {
  const reason = error?.cause instanceof Error ? `${detail} (${error.cause.message})` : detail;
  return new RestError(400, { detail, 'o:errorQueryParam': queryParam, 'o:errorCode': 'INVALID_PARAMETER' }, { reason, cause: error });
}

function assertPrefersTransient(request: Request): void {
  const preferences = String(request.headers.prefer ?? '')
    .split(',')
    .map((preference) => preference.trim().toLowerCase());
  if (preferences.includes('transient')) return;
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
  if (typeof q !== 'string' || q.trim() === '') throw invalidParameter('The query parameter q is required.', 'q');
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
  new RestError(400, { detail: 'Invalid content in the request body.', 'o:errorCode': 'INVALID_CONTENT' }, { cause });

function parseParameter(value: unknown): string | null {
  if (value === null || typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  if (typeof value === 'boolean') return value ? 'T' : 'F';
  throw invalidParameter('A value in params must be a text, a number or a boolean.', 'params');
}
