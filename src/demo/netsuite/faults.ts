// Faults on demand: the next requests whose path matches are answered as told, before anything else looks at them.
import type { RequestHandler, Response } from 'express';
import type { Audit } from './audit.ts';

export type Fault = {
  /** Tested against the path with its query. */
  path: RegExp;
  times: number;
  /** Only every nth matching request is hit, the first such being the nth; every one unless told. */
  every?: number;
  status: number;
  body?: unknown;
  headers?: Record<string, string>;
  delayMs?: number;
  /** The connection ends in the middle of the body, or before any answer if there is none. */
  cut?: boolean;
  /** The request is served and has its effect; its answer alone is put aside for this one. */
  afterEffect?: boolean;
};
export type Faults = { inject(fault: Fault): void; clear(): void; handler: RequestHandler };

export function makeFaults(audit: Audit): Faults {
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
      audit.note(`${request.method} ${request.originalUrl}`, fault.status, 'injected fault');
      if (fault.delayMs)
        await new Promise((resolve) => {
          setTimeout(resolve, fault.delayMs);
        });
      if (!fault.afterEffect) return answer(response, fault);
      insteadOfAnswer(response, () => answer(response, fault));
      next();
    },
  };
}

/** Answers here are told by a single `end`. */
function insteadOfAnswer(response: Response, answerOtherwise: () => void): void {
  const { end } = response;
  response.end = (() => {
    response.end = end;
    response.removeHeader('location');
    response.removeHeader('content-encoding');
    answerOtherwise();
    return response;
  }) as typeof end;
}

function answer(response: Response, fault: Fault): void {
  const text = fault.body === undefined ? '' : typeof fault.body === 'string' ? fault.body : JSON.stringify(fault.body);
  const type =
    typeof fault.body === 'string' ? 'text/html; charset=UTF-8' : 'application/vnd.oracle.resource+json; type=error; charset=UTF-8';
  const body = Buffer.from(text);
  if (fault.cut && body.length === 0) {
    response.destroy();
    return;
  }
  response.status(fault.status).set({ 'content-type': type, 'content-length': String(body.length), ...fault.headers });
  if (fault.cut) response.write(body.subarray(0, Math.ceil(body.length / 2)), () => response.destroy());
  else response.end(body);
}
