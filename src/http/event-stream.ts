// Serves an operation as server-sent events. A failure before the first event is an ordinary error response;
// after it, an `error` event that ends the stream. A stream ends at once when the client disconnects or the
// service stops, and soon after its credential becomes invalid; a resumable stream also ends after
// `maxOpenMs`. A client resumes by sending the id of the last event it saw.
import type { Response } from 'express';
import type { CallerCtx, Ctx } from '../core/ctx.ts';
import { AppError, unavailable } from '../core/errors.ts';
import { startRecurring } from '../core/work/recurring.ts';
import type { Release } from '../core/work/semaphore.ts';
import { openOwnSemaphore } from '../core/work/shared-semaphores.ts';
import { createTopicNotifications, type TopicNotifications } from '../db/topic-notifications.ts';
import { reidentifyCaller } from './authenticate.ts';
import { getRequestId, logFailure, toAppError } from './errors.ts';
import { organizationLimitKey, rateLimitKey } from './request-limits.ts';
import { authorize } from './route/authorize.ts';
import type { EventChannel, Route } from './route/route.ts';

export type StreamOptions = {
  readonly heartbeatMs?: number;
  /** How often a stream polls for changes, in case a notification was lost. */
  readonly pollMs?: number;
  /** How often the credential is checked again. */
  readonly recheckMs?: number;
  /** How long a client may take to read what was sent before the stream is closed. */
  readonly stallMs?: number;
  /**
   * How long a resumable stream stays open. Nothing else reveals a client that vanished without closing its
   * connection: for about a quarter of an hour the operating system accepts what is sent to it, heartbeats
   * included, and retransmits.
   */
  readonly maxOpenMs?: number;
  /** How many streams one credential may hold open. */
  readonly perCredential?: number;
  /**
   * How many streams all keys and tokens of an organization may hold open; those of sessions don't count.
   */
  readonly perOrganization?: number;
  /** Once aborted, every stream ends and new ones get 503. */
  readonly stopping?: AbortSignal;
};
type Limits = Required<Omit<StreamOptions, 'stopping'>>;
const defaultLimits: Limits = {
  heartbeatMs: 15_000,
  pollMs: 10_000,
  recheckMs: 2_000,
  stallMs: 30_000,
  maxOpenMs: 120_000,
  perCredential: 10,
  perOrganization: 100,
};

/** The reason when a stream ends normally. */
class StreamEnded extends Error {
  override readonly name = 'StreamEnded';
}

const tooManyStreams = (holder: string, limit: number): AppError =>
  new AppError('RATE_LIMIT_EXCEEDED', 'Too many open streams', {
    headers: { 'Retry-After': '5' },
    details: [
      {
        path: '',
        code: 'too_many_streams',
        message: `${holder} may hold ${limit} streams open; close one first`,
      },
    ],
  });

function parseLastEventId(header: string | string[] | undefined): string | null {
  if (header === undefined || header === '') return null;
  if (typeof header === 'string' && /^[\x21-\x7e]{1,100}$/.test(header)) return header;
  throw new AppError('BAD_REQUEST', 'The Last-Event-ID header is not valid', {
    details: [
      {
        path: 'last-event-id',
        code: 'bad_event_id',
        message: 'Send the id of the last event received, or omit the header',
      },
    ],
  });
}

type Stream = {
  readonly limits: Limits;
  readonly notices: TopicNotifications;
  readonly route: Route;
  readonly ctx: CallerCtx;
  readonly res: Response;
  readonly abort: AbortController;
  readonly lastEventId: string | null;
};

/** Waits until the client has read what was written, so that unread events don't pile up in memory. */
const drained = ({ res, abort, limits }: Stream): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      res.off('drain', done);
      abort.signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(() => {
      abort.abort(new StreamEnded('the client stopped reading'));
      res.destroy();
    }, limits.stallMs);
    res.once('drain', done);
    abort.signal.addEventListener('abort', done, { once: true });
  });

function writeHead(res: Response): void {
  res.status(200).setHeader('Content-Type', 'text/event-stream; charset=utf-8');
  res.setHeader('Cache-Control', 'no-store');
  // Proxies must pass each event on at once.
  res.setHeader('X-Accel-Buffering', 'no');
  res.flushHeaders();
}

const eventText = (event: string, data: unknown, id?: string): string =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;

function createChannel(stream: Stream): EventChannel {
  const { res, route, notices, abort } = stream;
  return {
    signal: abort.signal,
    lastEventId: stream.lastEventId,
    subscribe: (topic) => notices.subscribe(topic, abort.signal),
    send: async ({ event, data, id }) => {
      abort.signal.throwIfAborted();
      const schema = route.stream?.events[event];
      if (schema === undefined) throw new Error(`${route.id} does not describe the event ${event}`);
      const text = eventText(event, schema.parse(data), id);
      if (!res.headersSent) writeHead(res);
      if (!res.write(text)) await drained(stream);
      abort.signal.throwIfAborted();
    },
  };
}

/** Aborts the stream when the credential has become invalid. An unavailable database proves nothing. */
async function recheck({ ctx, route, res, abort }: Stream): Promise<void> {
  try {
    const caller = await reidentifyCaller(res);
    authorize(route, { ...ctx, caller });
    if (caller.principal?.organization.id !== ctx.caller.principal?.organization.id)
      throw new AppError('FORBIDDEN', 'The credential now acts for another organization');
  } catch (error) {
    if (error instanceof AppError && error.status < 500) abort.abort(error);
  }
}

/** Heartbeats, rechecks and watches for a disconnect while the stream runs. Returns what stops this. */
function watch(stream: Stream): () => void {
  const { res, limits, abort, route } = stream;
  const heart = setInterval(() => {
    if (res.headersSent && !res.writableNeedDrain) res.write(': still here\n\n');
  }, limits.heartbeatMs);
  const checks = startRecurring(
    limits.recheckMs,
    () => recheck(stream),
    () => undefined,
  );
  const gone = (): void => abort.abort(new StreamEnded('the client disconnected'));
  res.once('close', gone);
  // A POST streams a response while it is produced: it can't be resumed and has its own time limit.
  const over =
    route.method === 'GET'
      ? setTimeout(() => abort.abort(new StreamEnded('its client has to reconnect')), limits.maxOpenMs)
      : undefined;
  return () => {
    clearTimeout(over);
    clearInterval(heart);
    void checks.stop();
    res.off('close', gone);
  };
}

function endStream(stream: Stream, error: unknown): void {
  const { ctx, res } = stream;
  if (error instanceof StreamEnded) {
    if (!res.headersSent) writeHead(res);
    res.end();
    return;
  }
  const shown = toAppError(error);
  if (!res.headersSent) throw shown;
  logFailure(ctx.log, getRequestId(res), shown, error);
  res.end(
    eventText('error', { error: { code: shown.code, message: shown.message, requestId: getRequestId(res) } }),
  );
}

async function run(stream: Stream, input: unknown): Promise<unknown> {
  const stop = watch(stream);
  try {
    const result = await stream.route.stream?.run(stream.ctx, input, createChannel(stream));
    if (stream.abort.signal.aborted) endStream(stream, stream.abort.signal.reason);
    else stream.res.end();
    return result;
  } catch (error) {
    endStream(stream, stream.abort.signal.aborted ? stream.abort.signal.reason : error);
  } finally {
    stop();
  }
}

export type Streams = {
  /**
   * Streams to `res`; `input` is already authorized and parsed. Resolves with the operation's result when the
   * stream has ended, or with undefined when it ended early. Rejects, as long as no event was sent: 400 for a
   * malformed Last-Event-ID, 429 above the limit of streams, 503 while the service stops, and with the
   * operation's own errors.
   */
  serve(
    route: Route,
    ctx: CallerCtx,
    input: unknown,
    lastEventId: string | string[] | undefined,
    res: Response,
  ): Promise<unknown>;
};

/** Sends the stored response of a repeated request as a stream of one event. */
export function replayStream(route: Route, body: unknown, res: Response): void {
  writeHead(res);
  res.end(eventText(route.stream?.resultEvent ?? 'message', body));
}

/** The returned function rejects with 429 where the caller or its organization has too many open streams. */
function createStreamLimit(
  { openSemaphore = openOwnSemaphore }: Pick<Ctx, 'openSemaphore'>,
  { perCredential, perOrganization }: Limits,
): (res: Response) => Promise<Release> {
  const open = (name: string, maxRunningPerOwner: number) =>
    openSemaphore(`event streams of ${name}`, { maxRunning: Infinity, maxRunningPerOwner });
  const ofCredential = open('a credential', perCredential);
  const ofOrganization = open('an organization', perOrganization);
  return async (res) => {
    const release = await ofCredential.tryAcquire(rateLimitKey(res));
    if (release === undefined) throw tooManyStreams('This credential', perCredential);
    const organization = organizationLimitKey(res);
    if (organization === undefined) return release;
    const releaseShared = await ofOrganization.tryAcquire(organization);
    if (releaseShared === undefined) {
      release();
      throw tooManyStreams('All keys and tokens of an organization together', perOrganization);
    }
    return () => {
      releaseShared();
      release();
    };
  };
}

/** `serve` of the result rejects as `Streams` says. */
export function createStreams(ctx: Ctx, { stopping, ...given }: StreamOptions = {}): Streams {
  const limits: Limits = { ...defaultLimits, ...given };
  const notices = createTopicNotifications(ctx, limits.pollMs);
  const acquireStream = createStreamLimit(ctx, limits);
  return {
    serve: async (route, caller, input, header, res) => {
      const lastEventId = parseLastEventId(header);
      const release = await acquireStream(res);
      const abort = new AbortController();
      const onStop = (): void =>
        abort.abort(
          res.headersSent
            ? new StreamEnded('the service is stopping')
            : unavailable('The service is stopping', 2),
        );
      stopping?.addEventListener('abort', onStop, { once: true });
      try {
        // The client may have disconnected meanwhile.
        if (res.closed) return undefined;
        if (stopping?.aborted === true) throw unavailable('The service is stopping', 2);
        return await run({ limits, notices, route, ctx: caller, res, abort, lastEventId }, input);
      } finally {
        stopping?.removeEventListener('abort', onStop);
        release();
      }
    },
  };
}
