// What every answer has in common: headers, content types, gzip when asked for, and error bodies.
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { NextFunction, Request, RequestHandler, Response } from 'express';

const compress = promisify(gzip);

type RefusalOptions = { reason?: string; headers?: Record<string, string>; code?: string; cause?: unknown };

/** An answer that refuses a request. `reason` is for the audit list and may say more than the caller is told. */
export class Refusal extends Error {
  readonly status: number;
  readonly detail: ErrorDetail;
  readonly reason: string;
  readonly headers: Record<string, string>;
  /** A code of the whole answer, beside that of its detail. */
  readonly code: string | undefined;
  constructor(status: number, detail: ErrorDetail, options: RefusalOptions = {}) {
    super(detail.detail, { cause: options.cause });
    this.status = status;
    this.detail = detail;
    this.reason = options.reason ?? detail.detail;
    this.headers = options.headers ?? {};
    this.code = options.code;
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

const RFC9110 = 'https://www.rfc-editor.org/rfc/rfc9110.html#section-15';
const TITLES: Record<number, [title: string, type: string]> = {
  400: ['Bad Request', `${RFC9110}.5.1`],
  401: ['Unauthorized', `${RFC9110}.5.2`],
  403: ['Forbidden', `${RFC9110}.5.4`],
  404: ['Not Found', `${RFC9110}.5.5`],
  405: ['Method Not Allowed', `${RFC9110}.5.6`],
  406: ['Not Acceptable', `${RFC9110}.5.7`],
  413: ['Content Too Large', `${RFC9110}.5.14`],
  // As published, odd as it looks.
  429: ['Bad Request', 'https://www.w3.org/Protocols/rfc2616/rfc2616-sec10.html'],
  500: ['Internal Server Error', `${RFC9110}.6.1`],
};

function errorBody({ status, detail, code }: Refusal): object {
  const [title, type] = TITLES[status] ?? ['Error', RFC9110];
  return { type, title, status, ...(code === undefined ? {} : { 'o:errorCode': code }), 'o:errorDetails': [detail] };
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
  await sendJson(response, refusal.status, `${RESOURCE}; type=error; charset=UTF-8`, errorBody(refusal));
}

/** Where the caller reached us, for the links in answers. */
export const originOf = (request: Request): string => `${request.protocol}://${request.get('host') ?? ''}`;

const LETTERS = 'abcdefghijklmnopqrstuvwxyz';

/** A failure of the account's own; the caller gets an id, as NetSuite's do, and the audit list the message. */
export function unexpected(error: unknown): Refusal {
  const id = Array.from(randomUUID().replaceAll('-', '').slice(0, 20), (digit) => LETTERS.charAt(parseInt(digit, 16))).join('');
  const reason = error instanceof Error ? error.message : String(error);
  return new Refusal(
    500,
    { detail: `An unexpected error occurred. Error ID: ${id}`, 'o:errorCode': 'UNEXPECTED_ERROR' },
    { reason, cause: error },
  );
}
