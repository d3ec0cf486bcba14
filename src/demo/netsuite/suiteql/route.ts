// POST /services/rest/query/v1/suiteql.
import type { Request, Response } from 'express';
import type { QuerySettings } from '../database/snapshot.ts';
import { pageLinks, readPage } from '../paging.ts';
import { originOf, Refusal, sendCollection, unexpected } from '../wire.ts';
import { BeyondCap, runQuery } from './run.ts';
import { SuiteqlError } from './suiteql-error.ts';

export async function answerSuiteql(settings: QuerySettings, request: Request, response: Response): Promise<void> {
  requireTransient(request);
  const page = readPage(request);
  const { q, params } = readBody(request.body);
  const { rows, total, counted } = await runQuery(settings, { q, params, ...page }).catch((error: unknown) => {
    if (error instanceof BeyondCap) throw refuse(error.message, 'offset', error);
    throw error instanceof SuiteqlError ? refuse(error.message, 'q', error) : unexpected(error);
  });
  const href = `${originOf(request)}/services/rest/query/v1/suiteql`;
  const links = pageLinks(href, page, counted, Math.max(0, Math.ceil(total / page.limit) - 1) * page.limit).map((link) =>
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

/** The audit list also gets what PostgreSQL said. */
function refuse(detail: string, queryParam: string, error?: Error): Refusal {
  const reason = error?.cause instanceof Error ? `${detail} (${error.cause.message})` : detail;
  return new Refusal(400, { detail, 'o:errorQueryParam': queryParam, 'o:errorCode': 'INVALID_PARAMETER' }, { reason, cause: error });
}

function requireTransient(request: Request): void {
  const preferences = String(request.headers.prefer ?? '')
    .split(',')
    .map((preference) => preference.trim().toLowerCase());
  if (preferences.includes('transient')) return;
  throw new Refusal(400, {
    detail: "The required request header 'Prefer' is missing or invalid. Its value must be 'transient'.",
    'o:errorHeader': 'Prefer',
    'o:errorCode': 'INVALID_HEADER',
  });
}

/** The body is JSON whatever its content type says, or says not. */
function readBody(text: unknown): { q: string; params: (string | null)[] } {
  const body = parseObject(typeof text === 'string' ? text : '');
  const { q, params = [] } = body;
  if (typeof q !== 'string' || q.trim() === '') throw refuse('The query parameter q is required.', 'q');
  if (!Array.isArray(params)) throw refuse('The parameter params must be an array.', 'params');
  return { q, params: params.map(readParameter) };
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

const invalidContent = (cause?: unknown): Refusal =>
  new Refusal(400, { detail: 'Invalid content in the request body.', 'o:errorCode': 'INVALID_CONTENT' }, { cause });

function readParameter(value: unknown): string | null {
  if (value === null || typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  if (typeof value === 'boolean') return value ? 'T' : 'F';
  throw refuse('A value in params must be a text, a number or a boolean.', 'params');
}
