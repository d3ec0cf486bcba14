// The address at which a spreadsheet reads a view as CSV. The token in it is the only credential, so it appears
// in no log line: the request log omits path segments that may be one.
import { type Request, type RequestHandler, type Response, Router } from 'express';
import { z } from 'zod';
import type { ReadingCtx } from '../core/ctx.ts';
import { AppError } from '../core/errors.ts';
import { toQueryText } from '../core/text/query-text.ts';
import { openOwnSemaphore, type SharedSemaphore } from '../core/work/shared-semaphores.ts';
import { sendFile } from './download.ts';
import type { FailureLimit } from './failure-limit.ts';
import { queryBoolean } from './fields.ts';
import { sendErrorPage, wantsPage } from './pages/error-page.ts';
import type { SmallPageFiles } from './pages/small-page.ts';
import { parseInput } from './route/parse.ts';
import type { DownloadFile } from './route/route.ts';
import { recordServed } from './served.ts';

/**
 * A link that works. `open` resolves with undefined when it has ended meanwhile, and rejects as a download of the
 * view does.
 */
export type FoundLink = {
  readonly id: string;
  readonly organizationId: string;
  open(raw: boolean, left: AbortSignal): Promise<DownloadFile | undefined>;
};
/** `find` resolves with undefined for a link that does not work, for whatever reason. */
export type Links = {
  find(ctx: ReadingCtx, token: string): Promise<FoundLink | undefined>;
  /** Called when the first records are there, whether or not all of them are read. */
  onRead(link: FoundLink): void;
};

export const linksBase = '/links';
export const linkPath = (token: string): string => `${linksBase}/${token}.csv`;

const Parameters = z.strictObject({ raw: queryBoolean.default(false) });

const ended = (): AppError => {
  const message =
    'It may be incomplete, revoked or expired, or its creator may no longer read these records.';
  return new AppError('NOT_FOUND', 'This link does not work', {
    details: [{ path: '', code: 'link_ended', message: `${message} Ask for a new one where you got it.` }],
  });
};

/** What is wrong with the view, such as the name of a field, is none of the reader's business. */
function withoutDetails(error: unknown): unknown {
  if (!(error instanceof AppError)) return error;
  if (error.status === 403) return ended();
  const message = 'The view of this link does not work at the moment. Its owner sees why in the console';
  return error.status === 422 ? new AppError('VALIDATION_ERROR', message, { cause: error }) : error;
}

/** More than a spreadsheet needs that asks for its head first. */
const maxReadsAtOnce = 2;

const tooMany = (): AppError => {
  const message = 'This link is being read already';
  return new AppError('RATE_LIMIT_EXCEEDED', message, {
    details: [{ path: '', code: 'link_busy', message: `${message}. Try again when that read has ended` }],
    headers: { 'Retry-After': '5' },
  });
};

const parseToken = ({ params }: Request): string => /^(.*)\.csv$/.exec(String(params['token']))?.[1] ?? '';

type Serving = {
  readonly ctx: ReadingCtx;
  readonly failures: FailureLimit;
  readonly links: Links;
  /** The reads of each link. */
  readonly reads: SharedSemaphore;
};

async function serve({ ctx, failures, links, reads }: Serving, req: Request, res: Response) {
  const link = await links.find(ctx, parseToken(req));
  if (link === undefined) {
    await failures.countGuess(req);
    throw ended();
  }
  const { id, organizationId } = link;
  res.locals['logged'] = { organizationId, credential: { kind: 'view-link', id } };
  const input = { params: {}, query: req.query, queryText: toQueryText(req.originalUrl), body: undefined };
  const { query } = parseInput({ query: Parameters }, input) as { query: z.output<typeof Parameters> };
  const open = async (left: AbortSignal) => {
    const file = await link.open(query.raw, left).catch((error) => {
      throw withoutDetails(error);
    });
    if (file === undefined) throw ended();
    links.onRead(link);
    // Each read decides again, so no part of an earlier one is continued.
    return { ...file, tag: undefined };
  };
  const release = await reads.tryAcquire(id);
  if (release === undefined) throw tooMany();
  try {
    const isPacked = req.acceptsEncodings('gzip') === 'gzip';
    await sendFile(req, res, { contentType: 'text/csv; charset=utf-8', isPacked, open });
  } finally {
    release();
  }
}

/**
 * Mount it at the path of links: GET and HEAD of `/{token}.csv`. Throws 404 for a link that does not work, which is
 * a page for browsers, and 429 for too many of these and for too many reads of a link at once.
 */
export function createCsvLinks(ctx: ReadingCtx, failures: FailureLimit, links: Links, files: SmallPageFiles) {
  const { openSemaphore = openOwnSemaphore } = ctx;
  const limits = { maxRunning: Infinity, maxRunningPerOwner: maxReadsAtOnce };
  const reads = openSemaphore('reads of a link', limits);
  const serving: Serving = { ctx, failures, links, reads };
  const handle: RequestHandler = async (req, res) => {
    recordServed(res, { route: `${linksBase}/{token}.csv`, kind: 'export' });
    res.vary('Accept-Encoding');
    res.setHeader('Referrer-Policy', 'no-referrer');
    res.setHeader('X-Robots-Tag', 'noindex');
    try {
      await serve(serving, req, res);
    } catch (error) {
      if (!(error instanceof AppError) || error.status !== 404 || !wantsPage(req)) throw error;
      sendErrorPage(res, error, { reason: error.details[0]?.message, action: undefined }, files);
    }
  };
  const router = Router({ caseSensitive: true });
  router.get('/:token', handle);
  return router;
}
