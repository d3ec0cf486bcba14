// Gives every request an id and one log line of its own when the answer is done. Query values are left out: they may hold data.
import { randomUUID } from 'node:crypto';
import type { RequestHandler } from 'express';
import type { Clock } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';

const acceptable = /^[A-Za-z0-9._-]{8,64}$/;

export function requestLog(log: Log, clock: Clock): RequestHandler {
  // Every name in these lines is given below, so there is nothing to look through; looking costs more than writing the line.
  const lines = log.child({}, { redact: [] });
  return (req, res, next) => {
    const given = req.headers['x-request-id'];
    const requestId = typeof given === 'string' && acceptable.test(given) ? given : randomUUID();
    res.locals['requestId'] = requestId;
    res.setHeader('X-Request-Id', requestId);
    const startedMs = clock.monotonicMs();
    const path = req.originalUrl.split('?', 1)[0];
    res.once('close', () => {
      lines.info(
        {
          requestId,
          method: req.method,
          path,
          status: res.statusCode,
          ms: Math.round((clock.monotonicMs() - startedMs) * 10) / 10,
          ...(!res.writableFinished && { cut: true }),
          ...res.locals['logged'],
        },
        'request',
      );
    });
    next();
  };
}

/** Headers that may stand once: of two, whoever reads the first and whoever reads the last would see different callers. */
const single = new Set(['authorization', 'host', 'idempotency-key']);

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
  const seen = new Set<string>();
  for (let index = 0; index < req.rawHeaders.length; index += 2) {
    const name = req.rawHeaders[index]?.toLowerCase() ?? '';
    if (!single.has(name)) continue;
    if (seen.has(name)) {
      throw new AppError('BAD_REQUEST', `The header ${name} stands twice`, {
        details: [{ path: name, code: 'repeated', message: 'Send it once' }],
      });
    }
    seen.add(name);
  }
  next();
};
