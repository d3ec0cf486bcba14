// What every answer has in common: headers, content types, gzip when asked for, and error bodies.
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { NextFunction, Request, RequestHandler, Response } from 'express';

const compress = promisify(gzip);

/** An answer that refuses a request. `reason` is for the audit list and may say more than the caller is told. */
export class Refusal extends Error {
  readonly status: number;
  readonly detail: ErrorDetail;
  readonly reason: string;
  readonly headers: Record<string, string>;
  constructor(status: number, detail: ErrorDetail, options: { reason?: string; headers?: Record<string, string>; cause?: unknown } = {}) {
    super(detail.detail, { cause: options.cause });
    this.status = status;
    this.detail = detail;
    this.reason = options.reason ?? detail.detail;
    this.headers = options.headers ?? {};
  }
}

export type ErrorDetail = {
  detail: string;
  'o:errorCode': string;
  'o:errorQueryParam'?: string;
  'o:errorHeader'?: string;
  'o:errorUrl'?: string;
  'o:errorPath'?: string;
};

const TITLES: Record<number, [title: string, section: string]> = {
  400: ['Bad Request', '15.5.1'], 401: ['Unauthorized', '15.5.2'], 403: ['Forbidden', '15.5.4'], 404: ['Not Found', '15.5.5'],
  405: ['Method Not Allowed', '15.5.6'], 406: ['Not Acceptable', '15.5.7'], 413: ['Content Too Large', '15.5.14'],
  500: ['Internal Server Error', '15.6.1'],
};

export function errorBody(status: number, detail: ErrorDetail): object {
  const [title, section] = TITLES[status] ?? ['Error', '15'];
  return { type: `https://www.rfc-editor.org/rfc/rfc9110.html#section-${section}`, title, status, 'o:errorDetails': [detail] };
}

/** Seen on every live answer, errors included. */
export const commonHeaders: RequestHandler = (_request: Request, response: Response, next: NextFunction): void => {
  response.set({
    'x-n-operationid': randomUUID(),
    'x-netsuite-jobid': randomUUID(),
    'cache-control': 'No-Cache',
    pragma: 'No-Cache',
    expires: '0',
    'strict-transport-security': 'max-age=31536000',
    vary: 'User-Agent, Accept-Encoding',
    'x-content-type-options': 'nosniff',
  });
  next();
};

export const RESOURCE = 'application/vnd.oracle.resource+json';

export async function sendJson(response: Response, status: number, contentType: string, body: unknown): Promise<void> {
  const text = Buffer.from(JSON.stringify(body));
  const isZipped = /\bgzip\b/.test(String(response.req.headers['accept-encoding'] ?? ''));
  const content = isZipped ? await compress(text, { level: 1 }) : text;
  if (isZipped) response.set('content-encoding', 'gzip');
  response.status(status).set({ 'content-type': contentType, 'content-length': String(content.length) });
  // Express adds a character set to texts of its own; this is bytes already.
  response.end(content);
}

export const sendCollection = (response: Response, body: unknown): Promise<void> =>
  sendJson(response, 200, `${RESOURCE}; type=collection; charset=UTF-8`, body);

export const sendSingle = (response: Response, body: unknown): Promise<void> =>
  sendJson(response, 200, `${RESOURCE}; type=singular; charset=UTF-8`, body);

export async function sendRefusal(response: Response, refusal: Refusal): Promise<void> {
  response.set(refusal.headers);
  await sendJson(response, refusal.status, `${RESOURCE}; type=error; charset=UTF-8`, errorBody(refusal.status, refusal.detail));
}

/** Where the caller reached us, for the links in answers. */
export const originOf = (request: Request): string => `${request.protocol}://${request.get('host') ?? ''}`;

const LETTERS = 'abcdefghijklmnopqrstuvwxyz';

/** A failure of the account's own; the caller gets an id, as NetSuite's do, and the audit list the message. */
export function unexpected(error: unknown): Refusal {
  const id = Array.from(randomUUID().replaceAll('-', '').slice(0, 20), (digit) => LETTERS.charAt(parseInt(digit, 16))).join('');
  const reason = error instanceof Error ? error.message : String(error);
  return new Refusal(500, { detail: `An unexpected error occurred. Error ID: ${id}`, 'o:errorCode': 'UNEXPECTED_ERROR' }, { reason, cause: error });
}
