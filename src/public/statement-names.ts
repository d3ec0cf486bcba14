// Which statements are worth preparing by name. A prepared statement costs a connection memory until the connection is
// replaced, and callers can make any number of shapes with `fields` and filters; so only shapes that come again get a name,
// and only so many of them between one replacement of connections and the next.
import { LRUCache } from 'lru-cache';
import type { Clock } from '../core/clock.ts';

export type MayName = (statementName: string) => boolean;

const mostNamed = 200;
const mostCandidates = 2_000;
/** No connection lives longer than this, so none holds more than twice `mostNamed` statements. */
const periodMs = 600_000;

export function openStatementNames(clock: Pick<Clock, 'monotonicMs'>, most = mostNamed): MayName {
  const named = new Set<string>();
  const seenOnce = new LRUCache<string, true>({ max: mostCandidates });
  let startedMs = clock.monotonicMs();
  return (statementName) => {
    if (clock.monotonicMs() - startedMs >= periodMs) {
      startedMs = clock.monotonicMs();
      named.clear();
    }
    if (named.has(statementName)) return true;
    if (!seenOnce.has(statementName) || named.size >= most) {
      seenOnce.set(statementName, true);
      return false;
    }
    named.add(statementName);
    return true;
  };
}
