// Sends an operation's whole result as a file. Until its first byte a failure is an ordinary error answer; after that the
// connection breaks, so that what ends cleanly is complete.
import { pipeline } from 'node:stream/promises';
import type { Request, Response } from 'express';
import type { CallerCtx } from '../core/ctx.ts';
import { AppError } from '../core/errors.ts';
import { notPaged } from '../db/page.ts';
import type { Route } from './route.ts';

/** A name that every system can keep: no path, no control characters, not too long. */
const safeName = (name: string): string => {
  const [, stem = '', ending = ''] = /^(.*?)(\.[a-z]+)?$/su.exec(name) ?? [];
  const kept = stem.replaceAll(/[^\p{L}\p{N} _-]+/gu, '-').replaceAll(/^[\s-]+|[\s-]+$/gu, '');
  return `${kept.slice(0, 100) || 'records'}${ending}`;
};

function refusePages(query: Request['query']): void {
  const details = ['page', 'pageSize']
    .filter((name) => name in query)
    .map((name) => ({ path: name, code: 'not_paged', message: notPaged(name) }));
  if (details.length > 0) throw new AppError('BAD_REQUEST', 'The query is not valid', { details });
}

/** Resolves when everything is sent, or nobody is there any more. `input` as it was parsed after the caller was authorized. */
export async function sendDownload(route: Route, ctx: CallerCtx, input: unknown, req: Request, res: Response): Promise<void> {
  const { download } = route;
  if (download === undefined) throw new Error(`${route.id} has no download`);
  refusePages(req.query);
  const left = new AbortController();
  res.once('close', () => left.abort());
  if (res.closed) left.abort();
  let failure: unknown;
  try {
    const { fileName, headers, bytes, cut } = await download.open(ctx, input, left.signal);
    res.attachment(safeName(fileName));
    for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
    res.setHeader('Content-Type', `${download.mediaType}; charset=utf-8; header=present`);
    res.setHeader('Cache-Control', 'no-store');
    const noted = async function* (): AsyncGenerator<Buffer> {
      try {
        yield* bytes;
      } catch (error) {
        if (!left.signal.aborted) failure = error;
        throw error;
      }
    };
    await pipeline(noted, res, { signal: cut }).catch((error: unknown) => {
      // Why it was cut off stands in the log already.
      if (!cut.aborted) throw error;
      failure = undefined;
    });
  } catch (error) {
    // Whoever left is told nothing; a failure closes the connection, which looks the same.
    if (failure !== undefined || !left.signal.aborted) throw failure ?? error;
  }
}
