// Gives every request an id and one log line of its own when the answer is done. Query values are left out: they may hold data.
import { randomUUID } from 'node:crypto';
import type { RequestHandler } from 'express';
import type { Clock } from '../core/clock.ts';
import type { Log } from '../core/log.ts';

const acceptable = /^[A-Za-z0-9._-]{8,64}$/;

export function requestLog(log: Log, clock: Clock): RequestHandler {
  return (req, res, next) => {
    const given = req.headers['x-request-id'];
    const requestId = typeof given === 'string' && acceptable.test(given) ? given : randomUUID();
    res.locals['requestId'] = requestId;
    res.setHeader('X-Request-Id', requestId);
    const startedMs = clock.monotonicMs();
    const path = req.originalUrl.split('?', 1)[0];
    res.once('close', () => {
      log.info(
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
