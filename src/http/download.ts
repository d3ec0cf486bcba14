// Sends an operation's complete result as a file. A failure before the first byte is an ordinary error
// response; after it, the connection is broken off, so that a file that ends cleanly is complete.
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Request, Response } from 'express';
import type { CallerCtx } from '../core/ctx.ts';
import { AppError, unavailable } from '../core/errors.ts';
import { safeFileName } from '../core/text/file-name.ts';
import { notPagedMessage } from '../db/page.ts';
import { type DownloadFile, downloadTypes, type Route } from './route/route.ts';

function assertNotPaged(query: Request['query']): void {
  const details = ['page', 'pageSize']
    .filter((name) => name in query)
    .map((name) => ({ path: name, code: 'not_paged', message: notPagedMessage(name) }));
  if (details.length > 0) throw new AppError('BAD_REQUEST', 'Invalid query parameters', { details });
}

export const changedText =
  'The data changed since, or If-Match names another file: read it from its beginning';

/**
 * How many bytes of the file the client has already. Throws 400 for another value than a number of bytes, and
 * 412 when the bytes that it has may be those of another file.
 */
function countKnown({ headers }: Request, tag: string | undefined): number {
  const [known, required] = [headers['x-resume-at'], headers['if-match']];
  if (known !== undefined && !/^\d{1,15}$/.test(String(known)))
    throw resumeError('must be a number of bytes');
  const named = required?.split(',').map((name) => name.trim());
  if (known === undefined && (named === undefined || named.includes('*'))) return 0;
  if (tag !== undefined && named?.includes(tag) === true) return Number(known ?? 0);
  throw new AppError('BAD_REQUEST', changedText, {
    status: 412,
    details: [{ path: 'If-Match', code: 'precondition_failed', message: changedText }],
  });
}

const resumeError = (message: string): AppError =>
  new AppError('BAD_REQUEST', 'Invalid headers', {
    details: [{ path: 'X-Resume-At', code: 'invalid', message }],
  });

/** The bytes after the first `known`. Rejects with 400 when there are fewer, and with 503 when they are cut off. */
async function skip(
  bytes: AsyncIterable<Buffer>,
  known: number,
  aborted: AbortSignal,
): Promise<AsyncIterable<Buffer>> {
  const pieces = bytes[Symbol.asyncIterator]();
  let left = known;
  let rest: Buffer = Buffer.alloc(0);
  while (left > 0) {
    const { done, value } = await pieces.next().catch((error: unknown) => {
      throw aborted.aborted ? unavailable('The file was cut off; try again', 1, error) : error;
    });
    if (done === true) throw resumeError(`must be at most ${known - left}, the length of the file`);
    rest = value.subarray(left);
    left -= Math.min(left, value.length);
  }
  return (async function* () {
    if (rest.length > 0) yield rest;
    yield* { [Symbol.asyncIterator]: () => pieces };
  })();
}

/** How a file is sent. `open` gets a signal that is aborted when nothing more is read. */
type Sending = {
  readonly contentType: string;
  /** Whether it is compressed by gzip. */
  readonly isPacked?: boolean;
  open(left: AbortSignal): Promise<DownloadFile>;
};

/**
 * Resolves when everything is sent or the client has gone; HEAD gets the headers alone, and nothing more is
 * read for it. `input` is already authorized and parsed. Throws 400 for `page` and `pageSize`, which a file
 * doesn't have, and as `sendFile` does.
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
  await sendFile(req, res, {
    contentType: form === 'csv' ? `${type}; charset=utf-8; header=present` : type,
    open: (left) => download.open(ctx, input, form, left),
  });
}

function setHeaders(
  res: Response,
  { fileName, headers, tag }: DownloadFile,
  { contentType, isPacked }: Sending,
) {
  res.attachment(safeFileName(fileName));
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
  res.setHeader('Content-Type', contentType);
  res.setHeader('Cache-Control', 'no-store');
  if (isPacked === true) res.setHeader('Content-Encoding', 'gzip');
  if (tag !== undefined) res.setHeader('ETag', tag);
}

/**
 * Resolves as `sendDownload` does. Throws 400 and 412 for a part that the file doesn't have, and what `open`
 * throws before or after the first byte.
 */
export async function sendFile(req: Request, res: Response, sending: Sending): Promise<void> {
  let isGone = false;
  const unread = new AbortController();
  const leave = (): void => {
    isGone = true;
    unread.abort();
  };
  res.once('close', leave);
  if (res.closed) leave();
  let failure: unknown;
  try {
    const file = await sending.open(unread.signal);
    const known = countKnown(req, file.tag);
    const rest = req.method === 'HEAD' ? undefined : await skip(file.bytes, known, file.aborted);
    setHeaders(res, file, sending);
    if (rest === undefined) {
      unread.abort();
      return void res.end();
    }
    const observed = async function* (): AsyncGenerator<Buffer> {
      try {
        yield* rest;
      } catch (error) {
        if (!isGone) failure = error;
        throw error;
      }
    };
    const options = { signal: file.aborted };
    const sent =
      sending.isPacked === true
        ? pipeline(observed, createGzip({ level: gzipLevel }), res, options)
        : pipeline(observed, res, options);
    await sent.catch((error: unknown) => {
      // The reason is already logged.
      if (!file.aborted.aborted) throw error;
      failure = undefined;
    });
  } catch (error) {
    unread.abort();
    // A client that left needs no error. A failure closes the connection too, so `failure` tells the two
    // apart.
    if (failure !== undefined || !isGone) throw failure ?? error;
  }
}
/** As exports of the public interface. */
const gzipLevel = 4;
