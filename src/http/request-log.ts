// Gives every request an id, and writes one log line when its response is complete. Queries and whatever may
// be a token are left out.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import type { Clock } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import { lingeringClose } from './driver/connection-end.ts';
import { loggablePath } from './loggable-path.ts';
import { setPendingHeaders } from './pending-headers.ts';
import { maxBodyBytes } from './route/body-limits.ts';
import { getServedRoute, knownMethod, type OnServed } from './served.ts';

const acceptable = /^[A-Za-z0-9._-]{8,64}$/;

/** A client's request id that looks like an API key or a token is not used, so that no secret is logged. */
const secretive = /ps[kt]_|eyJ/i;

/**
 * `headers` are sent with every response: names and values alternate, and the request id is added. `onServed`
 * is called for each finished response; its status is `cut` when the client didn't receive all of it.
 */
export function requestLog(
  log: Log,
  clock: Clock,
  headers: readonly string[] = [],
  onServed?: OnServed,
): RequestHandler {
  // Every field of these lines is given below, so none needs redaction; searching for secrets costs more than
  // writing the line.
  const lines = log.child({}, { redact: [] });
  return (req, res, next) => {
    const given = req.headers['x-request-id'];
    const requestId =
      typeof given === 'string' && acceptable.test(given) && !secretive.test(given) ? given : randomUUID();
    res.locals['requestId'] = requestId;
    setPendingHeaders(res, ['X-Request-Id', requestId, ...headers]);
    const startedMs = clock.monotonicMs();
    const path = loggablePath(req.originalUrl);
    res.on('close', () => {
      const ms = clock.monotonicMs() - startedMs;
      const served = getServedRoute(res, path);
      onServed?.(
        served,
        knownMethod(req.method),
        res.writableFinished ? String(res.statusCode) : 'cut',
        ms / 1_000,
      );
      lines.info(
        {
          requestId,
          method: req.method,
          route: served.route,
          path,
          status: res.statusCode,
          ms: Math.round(ms * 10) / 10,
          ...(!res.writableFinished && { cut: true }),
          ...res.locals['logged'],
        },
        'request',
      );
    });
    next();
  };
}

const tooLarge = 'The body is too large';
/** Throws 413 by the announced length, before any of the body is read. */
function assertBodySize(req: IncomingMessage): void {
  if (Number(req.headers['content-length'] ?? 0) <= maxBodyBytes) return;
  lingeringClose(req);
  throw new AppError('BAD_REQUEST', tooLarge, {
    status: 413,
    details: [{ path: '', code: 'too_large', message: tooLarge }],
    headers: { Connection: 'close' },
  });
}

/** Headers that may occur once: of two, code could take the first or the last for the caller. */
const single = ['authorization', 'host', 'idempotency-key'];
const singleLengths = new Set(single.map(({ length }) => length));

/**
 * Middleware that checks every request's headers. Throws 400 for a missing Host or a repeated header that may
 * occur once, 413 for a Content-Length above the limit, 417 for an unsupported Expect.
 */
export const assertHeaders: RequestHandler = (req, _res, next) => {
  if (req.headers.host === undefined && req.httpVersion === '1.1') {
    throw new AppError('BAD_REQUEST', 'The Host header is required', {
      details: [{ path: 'host', code: 'missing', message: 'Send the Host header' }],
      headers: { Connection: 'close' },
    });
  }
  if (req.headers.expect !== undefined && !/^100-continue$/i.test(req.headers.expect)) {
    throw new AppError('BAD_REQUEST', 'The Expect header is not supported', {
      status: 417,
      details: [
        { path: 'expect', code: 'unmet_expectation', message: 'Omit the header, or send 100-continue' },
      ],
    });
  }
  assertBodySize(req);
  const { rawHeaders } = req;
  let seen = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const raw = rawHeaders[index] ?? '';
    if (!singleLengths.has(raw.length)) continue;
    const name = raw.toLowerCase();
    const place = single.indexOf(name);
    if (place === -1) continue;
    if ((seen & (1 << place)) !== 0) {
      throw new AppError('BAD_REQUEST', `The header ${name} was sent more than once`, {
        details: [{ path: name, code: 'repeated', message: 'Send the header once' }],
      });
    }
    seen |= 1 << place;
  }
  next();
};
