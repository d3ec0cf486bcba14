// Reports to a page when what it shows has changed, by server-sent events. An event says no more than that: the page
// loads itself again, as any request does.
import { rateLimitExceeded } from '../http/rate-limit.ts';
import { type At, disconnected } from './room.ts';
import type { Visit } from './visit.ts';

/** Shorter than proxies wait for a response that sends nothing. Browsers connect again. */
const maxOpenMs = 50_000;

/**
 * `?seen`: the state that the page shows. Ends with the first change. Rejects as `readState` does, and with 429 for too
 * many streams of the session.
 */
export async function followChanges(
  { room, req, res }: At,
  { session }: Visit,
  topic: string,
  readState: () => Promise<string>,
): Promise<void> {
  const seen = String(req.query['seen'] ?? '');
  const isUnchanged = async () => (await readState()) === seen;
  if (req.method === 'HEAD') return void res.end();
  const release = await room.streams.tryAcquire(session.id);
  if (release === undefined) throw rateLimitExceeded(5);
  const signal = AbortSignal.any([disconnected(res), room.stopping, AbortSignal.timeout(maxOpenMs)]);
  const following = room.notices.subscribe(topic, signal);
  try {
    let unchanged = await isUnchanged();
    res.writeHead(200, {
      ...{ 'Content-Type': 'text/event-stream; charset=utf-8', 'Cache-Control': 'private, no-store' },
      // Proxies must pass each event on at once.
      'X-Accel-Buffering': 'no',
    });
    res.flushHeaders();
    for (; unchanged; unchanged = await isUnchanged()) await following.next();
    res.end('event: changed\ndata: {}\n\n');
  } catch (error) {
    if (!signal.aborted) throw error;
    res.end();
  } finally {
    following.end();
    release();
  }
}
