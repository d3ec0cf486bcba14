// Turns anything thrown into the one error body. A caller sees the message of an AppError; of any other error
// only the request id, under which the log has the cause.
import type { ErrorRequestHandler, RequestHandler, Response } from 'express';
import { ZodError } from 'zod';
import { AppError, type ErrorDetail } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import { isTransientError } from '../db/pg-errors.ts';
import { applyPendingHeaders } from './pending-headers.ts';
import { platformBase } from './served.ts';

export type ErrorBody = {
  error: { code: string; message: string; details?: readonly ErrorDetail[]; requestId: string };
};

const bodyParserProblems: Readonly<Record<string, AppError>> = {
  'entity.parse.failed': new AppError('BAD_REQUEST', 'The body is not valid JSON', {
    details: [{ path: '', code: 'malformed_json', message: 'The body is not valid JSON' }],
  }),
  'entity.too.large': new AppError('BAD_REQUEST', 'The body is too large', {
    status: 413,
    details: [{ path: '', code: 'too_large', message: 'The body is too large' }],
  }),
  'encoding.unsupported': new AppError('BAD_REQUEST', 'The content encoding is not supported', {
    status: 415,
  }),
  'charset.unsupported': new AppError('BAD_REQUEST', 'The charset is not supported; send UTF-8', {
    status: 415,
  }),
  'request.aborted': new AppError('BAD_REQUEST', 'The request ended before its body was complete'),
  'request.size.invalid': new AppError('BAD_REQUEST', 'The length of the body does not match Content-Length'),
};

const findErrorType = (error: unknown): string => {
  const { type } = (error ?? {}) as { type?: unknown };
  return typeof type === 'string' ? type : '';
};

/** The caller's errors in Express and its body parser: broken compression, malformed escape, bad length. */
const isUnreadable = (error: unknown): boolean => {
  const status =
    error instanceof Error && 'expose' in error && error.expose === true && 'status' in error
      ? error.status
      : 0;
  return typeof status === 'number' && status >= 400 && status < 500;
};

/** Messages of 500 and 503 responses, which the OpenAPI document quotes as examples. */
export const internalErrorText = 'Internal error; quote the request id when you report it';
export const unavailableText = 'The service is busy or its database is unavailable; try again';

/** The AppError to show to the caller for any thrown value. */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  if (error instanceof URIError)
    return new AppError('BAD_REQUEST', 'The URL contains a malformed percent-encoding');
  const parser = bodyParserProblems[findErrorType(error)];
  if (parser !== undefined) return parser;
  if (isUnreadable(error)) return new AppError('BAD_REQUEST', 'The request is malformed', { cause: error });
  if (isTransientError(error)) {
    return new AppError('INTERNAL_ERROR', unavailableText, {
      status: 503,
      headers: { 'Retry-After': '2' },
      cause: error,
    });
  }
  return new AppError('INTERNAL_ERROR', internalErrorText, { cause: error });
}

export const getRequestId = (res: Response): string => String(res.locals['requestId'] ?? '');

export const errorBody = ({ code, message, details }: AppError, requestId: string): ErrorBody => ({
  error: { code, message, ...(details.length > 0 && { details }), requestId },
});

/** Sets the status and the headers of an error response, whose body is JSON or, for browsers, a page. */
export function setErrorHeaders(res: Response, error: AppError): void {
  applyPendingHeaders(res);
  res.vary('Accept');
  for (const [name, value] of Object.entries(error.headers)) res.setHeader(name, value);
  if (error.status === 401 && !res.hasHeader('WWW-Authenticate')) res.setHeader('WWW-Authenticate', 'Bearer');
  // Responses of published versions never change, not even by a header.
  if (res.req.originalUrl.startsWith(platformBase))
    res.append('Link', '</docs/management#errors>; rel="help"');
  res.setHeader('Cache-Control', 'no-store');
  res.status(error.status);
}

export function sendError(res: Response, error: AppError): void {
  setErrorHeaders(res, error);
  res.json(errorBody(error, getRequestId(res)));
}

/**
 * Logs 5xx errors with their cause. A 503 without a cause is a warning only: callers can provoke it, and it
 * needs no stack trace.
 */
export function logFailure(log: Log, requestId: string, shown: AppError, error: unknown): void {
  if (shown.status < 500) return;
  if (shown.status === 503 && error === shown && shown.cause === undefined) {
    log.warn({ requestId }, shown.message);
    return;
  }
  const cause = error instanceof AppError ? (error.cause ?? error) : error;
  log.error(
    {
      requestId,
      err:
        cause instanceof ZodError
          ? new Error(`a response does not match its schema: ${cause.message}`)
          : cause,
    },
    shown.message,
  );
}

export function errorHandler(log: Log): ErrorRequestHandler {
  return (error: unknown, _req, res, _next) => {
    const shown = toAppError(error);
    logFailure(log, getRequestId(res), shown, error);
    if (res.headersSent) {
      res.destroy();
      return;
    }
    sendError(res, shown);
  };
}

/** Throws 404 for a path that no route serves. */
export const notFoundHandler: RequestHandler = () => {
  throw new AppError('NOT_FOUND', 'There is nothing at this address');
};
