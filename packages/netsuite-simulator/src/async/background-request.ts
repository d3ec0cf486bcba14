// Runs a request against an Express app without a connection, and keeps its answer.
import { IncomingMessage, type OutgoingHttpHeaders, type RequestListener, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Request } from 'express';

export type BackgroundRequest = { method: string; url: string; headers: Request['headers']; body: unknown };
export type BackgroundAnswer = { status: number; headers: OutgoingHttpHeaders; body: string };

/** The request as it was received, to be run later. `changes` replaces parts of it. */
export function captureRequest(
  request: Request,
  changes: Partial<BackgroundRequest> = {},
): BackgroundRequest {
  // The answer is kept uncompressed.
  const { prefer: _prefer, 'accept-encoding': _encoding, ...headers } = request.headers;
  return {
    method: request.method,
    url: request.originalUrl,
    headers,
    body: request.body as unknown,
    ...changes,
  };
}

/**
 * Resolves to the app's answer. The app must not read the body from the connection: it is already in
 * `request.body`.
 */
export function runInBackground(
  app: RequestListener,
  { method, url, headers, body }: BackgroundRequest,
): Promise<BackgroundAnswer> {
  const request = Object.assign(new IncomingMessage(new Socket()), { method, url, headers, body });
  const response = new ServerResponse(request);
  return new Promise((resolve) => {
    // Set on the object itself, since Express replaces its prototype.
    response.end = ((content?: unknown) => {
      const text = Buffer.isBuffer(content) ? content.toString() : '';
      resolve({ status: response.statusCode, headers: response.getHeaders(), body: text });
      return response;
    }) as typeof response.end;
    app(request, response);
  });
}
