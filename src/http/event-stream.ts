// Serves an operation as server-sent events. Until its first event a failure is an ordinary error answer; after that an `error`
// event, and the end. A stream ends at once when the client is gone, when the service stops, and soon after its credential stops
// holding; one that can be gone on with ends after a while anyway. Whoever comes back names the last event that he saw.
import type { Response } from 'express';
import type { CallerCtx, Ctx } from '../core/ctx.ts';
import { AppError, unavailable } from '../core/errors.ts';
import { budgetKey, callerAgain } from './authenticate.ts';
import { logFailure, requestIdOf, toAppError } from './errors.ts';
import { type Notices, openNotices } from './notices.ts';
import { authorize, type EventChannel, type Route } from './route.ts';

export type StreamOptions = {
  readonly heartbeatMs?: number;
  /** How often news is looked for without a word of it. */
  readonly pollMs?: number;
  /** How often the credential is looked at again. */
  readonly recheckMs?: number;
  /** How long a client may take to read what was sent. */
  readonly stallMs?: number;
  /**
   * How long a stream is open that its client can go on with. One whose client vanished without a word is known by nothing else for a
   * quarter of an hour: what is sent, heartbeats too, the system takes and sends again and again.
   */
  readonly mostOpenMs?: number;
  /** Streams that one credential may hold open in one process. */
  readonly perCredential?: number;
  /** Ends every stream; new ones are answered 503. */
  readonly stopping?: AbortSignal;
};
type Limits = Required<Omit<StreamOptions, 'stopping'>>;
const usual: Limits = {
  heartbeatMs: 15_000,
  pollMs: 10_000,
  recheckMs: 2_000,
  stallMs: 30_000,
  mostOpenMs: 120_000,
  perCredential: 10,
};

/** Why a stream ends without anything being wrong. */
class StreamEnded extends Error {
  override readonly name = 'StreamEnded';
}

const tooMany = (most: number): AppError =>
  new AppError('RATE_LIMIT_EXCEEDED', 'Too many open streams', {
    headers: { 'Retry-After': '5' },
    details: [{ path: '', code: 'too_many_streams', message: `Close one of the ${most} that this credential holds open` }],
  });

function lastEventIdOf(header: string | string[] | undefined): string | null {
  if (header === undefined || header === '') return null;
  if (typeof header === 'string' && /^[\x21-\x7e]{1,100}$/.test(header)) return header;
  throw new AppError('BAD_REQUEST', 'The header Last-Event-ID is not valid', {
    details: [{ path: 'last-event-id', code: 'bad_event_id', message: 'Send the id of the last event, or no such header' }],
  });
}

type Stream = {
  readonly limits: Limits;
  readonly notices: Notices;
  readonly route: Route;
  readonly ctx: CallerCtx;
  readonly res: Response;
  readonly abort: AbortController;
  readonly lastEventId: string | null;
};

/** What was written has to be read some time: memory is not the place to keep it. */
const drained = ({ res, abort, limits }: Stream): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      res.off('drain', done);
      abort.signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(() => {
      abort.abort(new StreamEnded('the client does not read'));
      res.destroy();
    }, limits.stallMs);
    res.once('drain', done);
    abort.signal.addEventListener('abort', done, { once: true });
  });

function writeHead(res: Response): void {
  res.status(200).setHeader('Content-Type', 'text/event-stream; charset=utf-8');
  res.setHeader('Cache-Control', 'no-store');
  // Proxies must hand on each event as it comes.
  res.setHeader('X-Accel-Buffering', 'no');
  res.flushHeaders();
}

const eventText = (event: string, data: unknown, id?: string): string =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;

function openChannel(stream: Stream): EventChannel {
  const { res, route, notices, abort } = stream;
  return {
    signal: abort.signal,
    lastEventId: stream.lastEventId,
    follow: (topic) => notices.follow(topic, abort.signal),
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

/** A database that is away says nothing about the credential: it is looked at again the next time. */
async function recheck({ ctx, route, res, abort }: Stream): Promise<void> {
  try {
    const caller = await callerAgain(res);
    authorize(route, { ...ctx, caller });
    if (caller.principal?.organization.id !== ctx.caller.principal?.organization.id)
      throw new AppError('FORBIDDEN', 'The credential now acts for another organization');
  } catch (error) {
    if (error instanceof AppError && error.status < 500) abort.abort(error);
  }
}

/** Looks after the stream while it runs; returns how to stop that. */
function watch(stream: Stream): () => void {
  const { res, limits, abort, route } = stream;
  let checking = false;
  const heart = setInterval(() => {
    if (res.headersSent && !res.writableNeedDrain) res.write(': still here\n\n');
  }, limits.heartbeatMs);
  const checks = setInterval(() => {
    if (checking) return;
    checking = true;
    recheck(stream).finally(() => {
      checking = false;
    });
  }, limits.recheckMs);
  const gone = (): void => abort.abort(new StreamEnded('the client is gone'));
  res.once('close', gone);
  // What else is streamed, an answer as it is made, can't be gone on with, and has a time of its own.
  const over =
    route.method === 'GET'
      ? setTimeout(() => abort.abort(new StreamEnded('its client is to show that it is there')), limits.mostOpenMs)
      : undefined;
  return () => {
    clearTimeout(over);
    clearInterval(heart);
    clearInterval(checks);
    res.off('close', gone);
  };
}

function endWith(stream: Stream, error: unknown): void {
  const { ctx, res } = stream;
  if (error instanceof StreamEnded) {
    if (!res.headersSent) writeHead(res);
    res.end();
    return;
  }
  const shown = toAppError(error);
  if (!res.headersSent) throw shown;
  logFailure(ctx.log, requestIdOf(res), shown, error);
  res.end(eventText('error', { error: { code: shown.code, message: shown.message, requestId: requestIdOf(res) } }));
}

async function run(stream: Stream, input: unknown): Promise<unknown> {
  const stop = watch(stream);
  try {
    const answer = await stream.route.stream?.follow(stream.ctx, input, openChannel(stream));
    if (stream.abort.signal.aborted) endWith(stream, stream.abort.signal.reason);
    else stream.res.end();
    return answer;
  } catch (error) {
    endWith(stream, stream.abort.signal.aborted ? stream.abort.signal.reason : error);
  } finally {
    stop();
  }
}

export type Streams = {
  /**
   * `input` as it was parsed after the caller was authorized. Resolves when the stream has ended, with what its operation answered;
   * undefined where it broke off.
   */
  serve(route: Route, ctx: CallerCtx, input: unknown, lastEventId: string | string[] | undefined, res: Response): Promise<unknown>;
};

/** The kept answer of a repeated request, as a stream of its last event. */
export function replayStream(route: Route, answer: unknown, res: Response): void {
  writeHead(res);
  res.end(eventText(route.stream?.last ?? 'message', answer));
}

export function openStreams(ctx: Ctx, { stopping, ...given }: StreamOptions = {}): Streams {
  const limits: Limits = { ...usual, ...given };
  const notices = openNotices(ctx, limits.pollMs);
  const open = new Map<string, number>();
  return {
    serve: async (route, caller, input, header, res) => {
      const lastEventId = lastEventIdOf(header);
      if (stopping?.aborted === true) throw unavailable('The service is stopping', 2);
      const key = budgetKey(res);
      const held = open.get(key) ?? 0;
      if (held >= limits.perCredential) throw tooMany(limits.perCredential);
      open.set(key, held + 1);
      const abort = new AbortController();
      const onStop = (): void =>
        abort.abort(res.headersSent ? new StreamEnded('the service stops') : unavailable('The service is stopping', 2));
      stopping?.addEventListener('abort', onStop, { once: true });
      try {
        return await run({ limits, notices, route, ctx: caller, res, abort, lastEventId }, input);
      } finally {
        stopping?.removeEventListener('abort', onStop);
        const left = (open.get(key) ?? 1) - 1;
        if (left === 0) open.delete(key);
        else open.set(key, left);
      }
    },
  };
}
