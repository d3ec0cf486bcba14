// Tells clients of the change feed when it has more for them, as server-sent events without records. An event
// is sent exactly when the feed after the last one isn't empty for this reader. Several publishes may merge
// into one event. The caller is authorized again before each event; a stream ends as soon as the caller may
// read something else than at its beginning, and the client learns why when it reconnects.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Ctx } from '../../core/ctx.ts';
import { AppError, unavailable } from '../../core/errors.ts';
import { toQueryText } from '../../core/text/query-text.ts';
import { type Cache, createCache } from '../../core/work/cache.ts';
import { Semaphore } from '../../core/work/semaphore.ts';
import { createWakeUp, type WakeUp } from '../../core/work/wake-up.ts';
import { freshnessFor, type ReadContext } from '../http/exchange.ts';
import { chooseMediaType } from '../http/negotiate.ts';
import { type AcquireStream, createStreamLimit } from '../load/stream-limit.ts';
import type { ReaderOf } from '../read/connection/reader.ts';
import { parseQuery } from '../read/plan/request.ts';
import {
  assertSameContent,
  cursorAt,
  decodeSince,
  encodeCursor,
  feedAddress,
  findChangesAfter,
  heardOf,
  parseChangesQuery,
} from './change-feed.ts';
import { type ChangeCursor, toMark } from './change-token.ts';
import { createGenerationWatch, type GenerationWatch } from './generation-watch.ts';

/** What the streams of one process share. */
export type ChangeStreams = Pick<Ctx['settings']['changeStreams'], 'heartbeatMs' | 'maxOpenMs'> & {
  readonly acquire: AcquireStream;
  readonly watch: GenerationWatch;
  /** Looks in progress: readers of the same records at the same position share one. */
  readonly looks: Cache<Awaited<ReturnType<typeof findChangesAfter>>>;
  /** Few run at once, so that a publish with many followers doesn't delay other reads. */
  readonly queue: Semaphore;
  /** Aborted when the service stops. */
  readonly stopping: AbortSignal;
};

const maxLooks = { maxRunning: 4, maxRunningPerOwner: 2 };

/** `stopping` ends all streams. */
export const createChangeStreams = (
  ctx: Pick<Ctx, 'db' | 'log' | 'settings' | 'openSemaphore'>,
  getReader: ReaderOf,
  stopping: AbortSignal,
): ChangeStreams => ({
  ...ctx.settings.changeStreams,
  acquire: createStreamLimit(ctx),
  watch: createGenerationWatch(ctx, getReader),
  looks: createCache({ maxBytes: 0 }),
  queue: new Semaphore(maxLooks),
  stopping,
});

/** Who follows. */
export type Follower = {
  /** For the limit of streams. */
  readonly credential: string;
  /** The read as the caller is authorized now. Rejects with 401, 403, 404, 410 or 503. */
  readonly reopen: () => Promise<ReadContext>;
};

const eventType = 'text/event-stream';

/** Only for clients that name the type: all others are answered as by versions of this service without it. */
export const asksForStream = ({ method, headers }: IncomingMessage): boolean =>
  method === 'GET' &&
  headers.accept?.toLowerCase().includes(eventType) === true &&
  chooseMediaType(headers, ['application/json', eventType]) === eventType;

/** A position and its token. */
type At = { readonly cursor: ChangeCursor; readonly token: string };

const toAt = (read: ReadContext, cursor: ChangeCursor): At => ({ cursor, token: encodeCursor(read, cursor) });

/** A client that reconnects sends the id of its last event, and the address with which it began. */
function startingPoint(read: ReadContext, since: string | null): At | undefined {
  const id = read.exchange.req.headers['last-event-id'];
  const resumed = typeof id === 'string' && id !== '' ? id : undefined;
  const token = resumed ?? since;
  if (token === null) return undefined;
  const cursor = decodeSince(read, token, resumed === undefined ? 'since' : 'Last-Event-ID');
  assertSameContent(cursor, read);
  return { token, cursor };
}

/** The new position, and the generation to announce; null when there is nothing new for the reader. */
type Look = { readonly at: At; readonly generation: string | null };

/**
 * Whether the reader has changes after the position. Rejects as `findChangesAfter` and `freshnessFor` do.
 */
async function look({ looks, queue }: ChangeStreams, read: ReadContext, from: At): Promise<Look> {
  const { reader, endpoint } = read;
  const state = await freshnessFor(read);
  const { cursor } = from;
  const isKnown = toMark(state.epoch) === cursor.epochMark && state.generation === cursor.seen;
  if (isKnown && BigInt(cursor.position.generation) > BigInt(state.generation))
    return { at: from, generation: null };
  // A look that began before this state was published doesn't count.
  const key = [reader.organizationId, endpoint.key, endpoint.reach, cursor, state.epoch, state.generation];
  const { hasChanges, freshness } = await looks.load(JSON.stringify(key), () =>
    queue.run(reader.organizationId, () => findChangesAfter(read, cursor)),
  );
  return {
    at: toAt(read, cursorAt(endpoint, freshness)),
    generation: hasChanges ? freshness.generation : null,
  };
}

/** `limit` is that of the request: the client follows `next` with it. */
function eventText(read: ReadContext, from: At, { at, generation }: Look, limit: string): string {
  const { version, endpoint } = read;
  const since = encodeCursor(read, heardOf(from.cursor, at.cursor));
  const next = `${feedAddress(read)}?since=${since}${limit}`;
  const data = JSON.stringify({ version, resource: endpoint.name, generation: Number(generation), next });
  return `id: ${at.token}\nevent: changed\ndata: ${data}\n\n`;
}

/** Closes the connection of a client that reads so little that events pile up: it gets one for all of them later. */
function send(res: ServerResponse, text: string): void {
  if (res.writableNeedDrain) res.destroy();
  else res.write(text);
}

/** Undefined when the caller may read something else by now. Rejects as `Follower.reopen` does. */
async function reopenSame(read: ReadContext, { reopen }: Follower): Promise<ReadContext | undefined> {
  const current = await reopen();
  const { key, reach } = current.endpoint;
  return key === read.endpoint.key && reach === read.endpoint.reach ? current : undefined;
}

type Stream = {
  readonly streams: ChangeStreams;
  readonly read: ReadContext;
  readonly follower: Follower;
  readonly moves: WakeUp;
  readonly limit: string;
};

/** Sends events until there is a reason to end. Rejects once aborted, and as `look` and `reopenSame` do. */
async function follow({ streams, read, follower, moves, limit }: Stream, begin: At): Promise<void> {
  const { res } = read.exchange;
  for (let at = begin; ; ) {
    const hasMoved = await moves.next(streams.heartbeatMs);
    const current = await reopenSame(read, follower).catch((error: unknown) => {
      // While nothing changed, an unavailable database is no reason to end.
      if (!hasMoved && error instanceof AppError && error.status >= 500) return read;
      throw error;
    });
    if (current === undefined) return;
    if (!hasMoved) {
      send(res, ': still here\n\n');
      continue;
    }
    const found = await look(streams, current, at);
    if (found.at.cursor.epochMark !== at.cursor.epochMark) return;
    if (found.generation !== null) send(res, eventText(read, at, found, limit));
    at = found.at;
  }
}

/** Sends the headers and the first event, if there are changes, or else the position alone. */
async function begin({ streams, read, limit }: Stream, from: At | undefined): Promise<At> {
  const { exchange, endpoint } = read;
  const { res, headers } = exchange;
  const found: Look =
    from === undefined
      ? { at: toAt(read, cursorAt(endpoint, await freshnessFor(read))), generation: null }
      : await look(streams, read, from);
  if (streams.stopping.aborted) throw unavailable('The service is stopping', 2);
  exchange.onStream();
  // Proxies must pass each event on at once.
  headers.push('Content-Type', `${eventType}; charset=utf-8`, 'X-Accel-Buffering', 'no');
  res.writeHead(200, headers);
  // A block without data is no event, but sets the id with which a client reconnects.
  const text =
    from === undefined || found.generation === null
      ? `id: ${found.at.token}\n\n`
      : eventText(read, from, found, limit);
  send(res, text);
  return found.at;
}

/**
 * Streams until the client disconnects, the service stops, or the caller may no longer read the same. Rejects
 * before the first byte with 400 for bad parameters, 410 for a position that is too old, 429 and 503 for too
 * many streams, and 503 when nothing is synced, the database is unavailable, or the service stops.
 */
export async function serveChangeStream(
  streams: ChangeStreams,
  read: ReadContext,
  follower: Follower,
): Promise<void> {
  const { req, res } = read.exchange;
  const query = parseQuery(toQueryText(req.url ?? ''));
  const { since, limit } = parseChangesQuery(query);
  const from = startingPoint(read, since);
  const release = await streams.acquire(follower.credential, read.reader.organizationId);
  const left = new AbortController();
  if (res.closed) left.abort();
  else res.once('close', () => left.abort());
  const signal = AbortSignal.any([left.signal, streams.stopping, AbortSignal.timeout(streams.maxOpenMs)]);
  const moves = createWakeUp(signal);
  const unfollow = streams.watch.follow(read.reader.organizationId, read.endpoint.recordType, moves.wake);
  const stream = {
    streams,
    read,
    follower,
    moves,
    limit: query.has('limit') ? `&limit=${limit}` : '',
  };
  try {
    await follow(stream, await begin(stream, from));
    res.end();
  } catch (error) {
    if (!res.headersSent) throw error;
    if (!signal.aborted && !(error instanceof AppError))
      read.tenant.log.error({ err: error }, 'a stream of changes failed');
    res.end();
  } finally {
    unfollow();
    release();
  }
}
