// Long work in the process that also answers requests is done in slices, between which the event loop gets a
// turn.
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';

/** As `items.map`, with a turn of the event loop after every `perTurn` items. */
export async function mapInTurns<T, R>(items: readonly T[], perTurn: number, map: (item: T) => R) {
  const results: R[] = [];
  for (const [index, item] of items.entries()) {
    if (index > 0 && index % perTurn === 0) await yieldToEventLoop();
    results.push(map(item));
  }
  return results;
}
