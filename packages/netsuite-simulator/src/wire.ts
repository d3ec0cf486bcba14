// What all responses share: headers, content types, gzip when the client accepts it, and error bodies.
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { getDistortion } from './answer-faults/distortion.ts';

const compress = promisify(gzip);

type ErrorKind = readonly [title: string, type: string];
type RestErrorOptions = {
  reason?: string;
  headers?: Record<string, string>;
  code?: string;
  kind?: ErrorKind;
  cause?: unknown;
};

/** An error response. `reason` goes to the audit trail and may say more than the response body. */
export class RestError extends Error {
  readonly status: number;
  readonly detail: RestErrorDetail;
  readonly reason: string;
  readonly headers: Record<string, string>;
  /** An `o:errorCode` at the top level, in addition to the one in the detail. */
  readonly code: string | undefined;
  /** Title and type, if they aren't those of the status. */
  readonly kind: ErrorKind | undefined;
  constructor(status: number, detail: RestErrorDetail, options: RestErrorOptions = {}) {
    super(detail.detail, { cause: options.cause });
    this.status = status;
    this.detail = detail;
    this.reason = options.reason ?? detail.detail;
    this.headers = options.headers ?? {};
    this.code = options.code;
    this.kind = options.kind;
  }
}

export type RestErrorDetail = {
  detail: string;
  'o:errorCode': string;
  'o:errorQueryParam'?: string;
  'o:errorHeader'?: string;
  'o:errorUrl'?: string;
  'o:errorPath'?: string;
};

const RFC9110 = 'https://www.rfc-editor.org/rfc/rfc9110.html#section-15';
const TITLES: Record<number, ErrorKind> = {
  400: ['Bad Request', `${RFC9110}.5.1`],
  401: ['Unauthorized', `${RFC9110}.5.2`],
  403: ['Forbidden', `${RFC9110}.5.4`],
  404: ['Not Found', `${RFC9110}.5.5`],
  405: ['Method Not Allowed', `${RFC9110}.5.6`],
  406: ['Not Acceptable', `${RFC9110}.5.7`],
  413: ['Content Too Large', `${RFC9110}.5.14`],
  // NetSuite really sends this title.
  429: ['Bad Request', 'https://www.w3.org/Protocols/rfc2616/rfc2616-sec10.html'],
  500: ['Internal Server Error', `${RFC9110}.6.1`],
  503: ['Service Unavailable', `${RFC9110}.6.4`],
};

function errorBody({ status, detail, code, kind }: RestError): object {
  const [title, type] = kind ?? TITLES[status] ?? ['Error', RFC9110];
  return {
    type,
    title,
    status,
    ...(code === undefined ? {} : { 'o:errorCode': code }),
    'o:errorDetails': [detail],
  };
}

/** These headers are on every response of a real account, errors included. */
export const commonHeaders: RequestHandler = (
  _request: Request,
  response: Response,
  next: NextFunction,
): void => {
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

export const RESOURCE_MEDIA_TYPE = 'application/vnd.oracle.resource+json';

export async function sendJsonBody(
  response: Response,
  status: number,
  contentType: string,
  body: unknown,
): Promise<void> {
  const { changeBody, cutAfterBytes } = getDistortion(response);
  const text = Buffer.from(JSON.stringify(status === 200 && changeBody ? changeBody(body) : body));
  const isZipped = /\bgzip\b/.test(String(response.req.headers['accept-encoding'] ?? ''));
  const content = isZipped ? await compress(text, { level: 1 }) : text;
  if (isZipped) response.set('content-encoding', 'gzip');
  response.status(status).set({ 'content-type': contentType, 'content-length': String(content.length) });
  if (cutAfterBytes !== undefined && cutAfterBytes < content.length)
    return cutResponse(response, content.subarray(0, cutAfterBytes));
  // Not response.send, which would add a charset to the content type.
  response.end(content);
}

/** Sends the headers and this beginning of the body, and closes the connection. */
function cutResponse(response: Response, beginning: Buffer): void {
  if (beginning.length === 0) response.flushHeaders();
  // Time for what was written to leave, even if it is only the headers.
  response.write(beginning, () => setImmediate(() => response.destroy()));
}

export const sendCollection = (response: Response, body: unknown): Promise<void> =>
  sendJsonBody(response, 200, `${RESOURCE_MEDIA_TYPE}; type=collection; charset=UTF-8`, body);

export const sendSingle = (response: Response, body: unknown): Promise<void> =>
  sendJsonBody(response, 200, `${RESOURCE_MEDIA_TYPE}; type=singular; charset=UTF-8`, body);

export async function sendRestError(response: Response, error: RestError): Promise<void> {
  response.set(error.headers);
  await sendJsonBody(
    response,
    error.status,
    `${RESOURCE_MEDIA_TYPE}; type=error; charset=UTF-8`,
    errorBody(error),
  );
}

/** The values of the header Prefer, in lower case. */
export const parsePreferences = (request: Request): string[] =>
  String(request.headers.prefer ?? '')
    .split(',')
    .map((preference) => preference.trim().toLowerCase());

/** The origin that the caller used, for the links in responses. */
export const getOrigin = (request: Request): string => `${request.protocol}://${request.get('host') ?? ''}`;

const LETTERS = 'abcdefghijklmnopqrstuvwxyz';

/**
 * The 500 for an internal failure: the response carries an error id, as NetSuite's does; the audit trail gets
 * the message.
 */
export function unexpectedError(error: unknown): RestError {
  const id = Array.from(randomUUID().replaceAll('-', '').slice(0, 20), (digit) =>
    LETTERS.charAt(parseInt(digit, 16)),
  ).join('');
  const reason = error instanceof Error ? error.message : String(error);
  return new RestError(
    500,
    { detail: `An unexpected error occurred. Error ID: ${id}`, 'o:errorCode': 'UNEXPECTED_ERROR' },
    { reason, cause: error },
  );
}
