// Fault injection: the next requests with a matching path get a given response, before any other handler sees
// them.
import type { RequestHandler, Response } from 'express';
import type { AuditTrail } from './audit-trail.ts';

export type Fault = {
  /** Matched against the path including its query. */
  path: RegExp;
  times: number;
  /** Hits only every Nth matching request, starting with the Nth. Default: every one. */
  every?: number;
  status: number;
  body?: unknown;
  headers?: Record<string, string>;
  delayMs?: number;
  /** Closes the connection in the middle of the body, or before responding if there is no body. */
  cut?: boolean;
  /** Serves the request, so that it takes effect, and then sends this response instead of the real one. */
  afterEffect?: boolean;
};
export type FaultInjector = { inject(fault: Fault): void; clear(): void; handler: RequestHandler };

export function createFaultInjector(audit: AuditTrail): FaultInjector {
  const waiting: (Fault & { seen: number })[] = [];
  const isHit = (fault: Fault & { seen: number }, path: string): boolean => {
    if (fault.times <= 0 || path.search(fault.path) < 0) return false;
    fault.seen += 1;
    return fault.seen % (fault.every ?? 1) === 0;
  };
  return {
    inject: (fault) => {
      waiting.push({ ...fault, seen: 0 });
    },
    clear: () => {
      waiting.length = 0;
    },
    async handler(request, response, next) {
      const fault = waiting.find((candidate) => isHit(candidate, request.originalUrl));
      if (!fault) return next();
      fault.times -= 1;
      if (fault.times === 0) waiting.splice(waiting.indexOf(fault), 1);
      audit.record(`${request.method} ${request.originalUrl}`, fault.status, 'injected fault');
      if (fault.delayMs)
        await new Promise((resolve) => {
          setTimeout(resolve, fault.delayMs);
        });
      if (!fault.afterEffect) return sendFault(response, fault);
      replaceResponse(response, () => sendFault(response, fault));
      next();
    },
  };
}

/** Relies on every response of the account being sent by a single `end`. */
function replaceResponse(response: Response, sendInstead: () => void): void {
  const { end } = response;
  response.end = (() => {
    response.end = end;
    response.removeHeader('location');
    response.removeHeader('content-encoding');
    sendInstead();
    return response;
  }) as typeof end;
}

function sendFault(response: Response, fault: Fault): void {
  const text =
    fault.body === undefined ? '' : typeof fault.body === 'string' ? fault.body : JSON.stringify(fault.body);
  const type =
    typeof fault.body === 'string'
      ? 'text/html; charset=UTF-8'
      : 'application/vnd.oracle.resource+json; type=error; charset=UTF-8';
  const body = Buffer.from(text);
  if (fault.cut && body.length === 0) {
    response.destroy();
    return;
  }
  response
    .status(fault.status)
    .set({ 'content-type': type, 'content-length': String(body.length), ...fault.headers });
  if (fault.cut) response.write(body.subarray(0, Math.ceil(body.length / 2)), () => response.destroy());
  else response.end(body);
}
