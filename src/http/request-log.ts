// Gives every request an id and one log line of its own when the answer is done. Query values are left out: they may hold data.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import type { Clock } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import { closeSoftly, maxBodyBytes } from './connections.ts';
import { beginHeaders } from './first-headers.ts';
import { knownMethod, type OnServed, servedOf } from './served.ts';

const acceptable = /^[A-Za-z0-9._-]{8,64}$/;

/** What a caller of another kind would show of a secret: an id that looks like one is not taken. */
const secretive = /psk_|eyJ/i;

/**
 * `headers` are those of every answer, names and values in turns; the request's id joins them. `onServed` hears of each answer once it is
 * done; a status `cut` is that of one which its caller has no whole of.
 */
export function requestLog(log: Log, clock: Clock, headers: readonly string[] = [], onServed?: OnServed): RequestHandler {
  // Every name in these lines is given below, so there is nothing to look through; looking costs more than writing the line.
  const lines = log.child({}, { redact: [] });
  return (req, res, next) => {
    const given = req.headers['x-request-id'];
    const requestId = typeof given === 'string' && acceptable.test(given) && !secretive.test(given) ? given : randomUUID();
    res.locals['requestId'] = requestId;
    beginHeaders(res, ['X-Request-Id', requestId, ...headers]);
    const startedMs = clock.monotonicMs();
    const { originalUrl } = req;
    const queryAt = originalUrl.indexOf('?');
    const path = queryAt === -1 ? originalUrl : originalUrl.slice(0, queryAt);
    res.on('close', () => {
      const ms = clock.monotonicMs() - startedMs;
      const served = servedOf(res, path);
      onServed?.(served, knownMethod(req.method), res.writableFinished ? String(res.statusCode) : 'cut', ms / 1_000);
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
/** Refused by its announced length, before anything of it is read. */
function refuseLargeBody(req: IncomingMessage): void {
  if (Number(req.headers['content-length'] ?? 0) <= maxBodyBytes) return;
  closeSoftly(req);
  throw new AppError('BAD_REQUEST', tooLarge, {
    status: 413,
    details: [{ path: '', code: 'too_large', message: tooLarge }],
    headers: { Connection: 'close' },
  });
}

/** Headers that may stand once: of two, whoever reads the first and whoever reads the last would see different callers. */
const single = ['authorization', 'host', 'idempotency-key'];
const singleLengths = new Set(single.map(({ length }) => length));

/** What HTTP asks of every request's headers, and ours. */
export const checkHeaders: RequestHandler = (req, _res, next) => {
  if (req.headers.host === undefined && req.httpVersion === '1.1') {
    throw new AppError('BAD_REQUEST', 'The header host is missing', {
      details: [{ path: 'host', code: 'missing', message: 'Send it' }],
      headers: { Connection: 'close' },
    });
  }
  if (req.headers.expect !== undefined && !/^100-continue$/i.test(req.headers.expect)) {
    throw new AppError('BAD_REQUEST', 'What the header expect asks for is not done here', {
      status: 417,
      details: [{ path: 'expect', code: 'unmet_expectation', message: 'Leave it out, or send 100-continue' }],
    });
  }
  refuseLargeBody(req);
  const { rawHeaders } = req;
  let seen = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const raw = rawHeaders[index] ?? '';
    if (!singleLengths.has(raw.length)) continue;
    const name = raw.toLowerCase();
    const place = single.indexOf(name);
    if (place === -1) continue;
    if ((seen & (1 << place)) !== 0) {
      throw new AppError('BAD_REQUEST', `The header ${name} stands twice`, {
        details: [{ path: name, code: 'repeated', message: 'Send it once' }],
      });
    }
    seen |= 1 << place;
  }
  next();
};
