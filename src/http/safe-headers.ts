// The headers that keep browsers from doing more with an answer than they should. They are the same for every answer, so helmet
// is asked once, when the application is made, and not thirteen of its functions with every request.
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { RequestHandler } from 'express';
import helmet from 'helmet';

const policy = { useDefaults: false, directives: { 'default-src': ["'none'"], 'frame-ancestors': ["'none'"] } };

/** A page with scripts of its own sets its own policy afterwards. */
export function safeHeaders(): RequestHandler {
  const asked = new IncomingMessage(new Socket());
  const answer = new ServerResponse(asked);
  helmet({ contentSecurityPolicy: policy })(asked, answer, (problem) => {
    if (problem !== undefined) throw problem;
  });
  const headers = Object.entries(answer.getHeaders()).map(([name, value]) => [name, String(value)] as const);
  if (headers.length < 10) throw new Error('helmet has not said its headers');
  return (_req, res, next) => {
    for (const [name, value] of headers) res.setHeader(name, value);
    next();
  };
}
