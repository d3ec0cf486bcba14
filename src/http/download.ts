// Sends an operation's complete result as a file. A failure before the first byte is an ordinary error
// response; after it, the connection is broken off, so that a file that ends cleanly is complete.
import { pipeline } from 'node:stream/promises';
import type { Request, Response } from 'express';
import type { CallerCtx } from '../core/ctx.ts';
import { AppError } from '../core/errors.ts';
import { safeFileName } from '../core/file-name.ts';
import { notPagedMessage } from '../db/page.ts';
import { downloadTypes, type Route } from './route/route.ts';

function assertNotPaged(query: Request['query']): void {
  const details = ['page', 'pageSize']
    .filter((name) => name in query)
    .map((name) => ({ path: name, code: 'not_paged', message: notPagedMessage(name) }));
  if (details.length > 0) throw new AppError('BAD_REQUEST', 'Invalid query parameters', { details });
}

/**
 * Resolves when everything is sent or the client has gone; HEAD gets the headers alone, and nothing more is
 * read for it. `input` is already authorized and parsed. Throws 400 for `page` and `pageSize`, which a file
 * doesn't have, and what the operation throws before or after the first byte.
 */
export async function sendDownload(
  route: Route,
  ctx: CallerCtx,
  { input, type }: { readonly input: unknown; readonly type: string },
  req: Request,
  res: Response,
): Promise<void> {
  const { download } = route;
  if (download === undefined) throw new Error(`${route.id} has no download`);
  const form = download.forms.find((each) => downloadTypes[each] === type) ?? download.forms[0];
  assertNotPaged(req.query);
  const gone = new AbortController();
  res.once('close', () => gone.abort());
  if (res.closed) gone.abort();
  let failure: unknown;
  try {
    const { fileName, headers, bytes, aborted } = await download.open(ctx, input, form, gone.signal);
    res.attachment(safeFileName(fileName));
    for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
    res.setHeader('Content-Type', form === 'csv' ? `${type}; charset=utf-8; header=present` : type);
    res.setHeader('Cache-Control', 'no-store');
    if (req.method === 'HEAD') {
      gone.abort();
      return void res.end();
    }
    const observed = async function* (): AsyncGenerator<Buffer> {
      try {
        yield* bytes;
      } catch (error) {
        if (!gone.signal.aborted) failure = error;
        throw error;
      }
    };
    await pipeline(observed, res, { signal: aborted }).catch((error: unknown) => {
      // The reason is already logged.
      if (!aborted.aborted) throw error;
      failure = undefined;
    });
  } catch (error) {
    // A client that left needs no error. A failure closes the connection too, so `failure` tells the two
    // apart.
    if (failure !== undefined || !gone.signal.aborted) throw failure ?? error;
  }
}
