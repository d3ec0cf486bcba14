// The headers that every answer has, and when they are set. Setting thirty headers one by one costs Node.js several times what
// writing them all at once does, so a request begins with a list of them: the public interface adds its own and writes the list;
// for everyone else it is set, header by header, before they begin, and before an error is answered.
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { RequestHandler, Response } from 'express';
import helmet from 'helmet';

/** Names and values in turns, as `writeHead` takes them. */
export type HeaderList = string[];

const policy = { useDefaults: false, directives: { 'default-src': ["'none'"], 'frame-ancestors': ["'none'"] } };

/**
 * The headers that keep browsers from doing more with an answer than they should. They are the same for every answer, so helmet is
 * asked once, when the application is made. A page with scripts of its own sets its own policy afterwards.
 */
export function safeHeaders(): readonly string[] {
  const asked = new IncomingMessage(new Socket());
  const answer = new ServerResponse(asked);
  helmet({ contentSecurityPolicy: policy })(asked, answer, (problem) => {
    if (problem !== undefined) throw problem;
  });
  const headers = Object.entries(answer.getHeaders()).flatMap(([name, value]) => [name, String(value)]);
  if (headers.length < 20) throw new Error('helmet has not said its headers');
  return headers;
}

export function beginHeaders(res: Response, headers: HeaderList): void {
  res.locals['headers'] = headers;
}

/** The list so far, for whoever writes it; empty when it was set before. */
export const headersOf = (res: Response): HeaderList => (res.locals['headers'] as HeaderList | undefined) ?? [];

export function settleHeaders(res: Response): void {
  const headers = headersOf(res);
  res.locals['headers'] = undefined;
  if (res.headersSent) return;
  for (let index = 0; index < headers.length; index += 2) res.appendHeader(headers[index] ?? '', headers[index + 1] ?? '');
}

export const settled: RequestHandler = (_req, res, next) => {
  settleHeaders(res);
  next();
};
