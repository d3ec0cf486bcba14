// Tells the page of a payment when it has changed, by server-sent events. An event says no more than that: the page
// loads itself again, as any request does.
import type { Request } from 'express';
import { rateLimitExceeded } from '../../http/rate-limit.ts';
import { getVisitorPaymentState, paymentTopic } from '../../platform/index.ts';
import { type At, disconnected } from '../room.ts';
import type { Visit } from '../visit.ts';
import { idOf, stateOf } from './payment-page.ts';

/** Shorter than proxies wait for a response that sends nothing. Browsers connect again. */
const maxOpenMs = 50_000;

const seenOf = ({ query }: Request): string => String(query['seen'] ?? '');

/**
 * `?seen`: the state that the page shows. Ends with the first change. Throws 404 for a payment of another customer, and
 * 429 for too many streams of the session.
 */
export async function followPayment({ room, req, res }: At, visit: Visit): Promise<void> {
  const { ctx, family, session } = visit;
  const id = idOf(req);
  const isUnchanged = async () => stateOf(await getVisitorPaymentState(ctx, family, id)) === seenOf(req);
  if (req.method === 'HEAD') return void res.end();
  const release = room.streams.tryAcquire(session.id);
  if (release === undefined) throw rateLimitExceeded(5);
  const signal = AbortSignal.any([disconnected(res), room.stopping, AbortSignal.timeout(maxOpenMs)]);
  const following = room.notices.subscribe(paymentTopic(id), signal);
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
