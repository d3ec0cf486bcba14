import { afterAll, beforeAll } from 'vitest';

type Started = { close(): Promise<unknown> } | { stop(): Promise<unknown> };

/**
 * For the top level of a test file or a `describe`: what `start` returns is there when its own hooks and tests
 * run, and is closed after them.
 */
export function useStarted<T extends Started>(start: () => Promise<T>): T {
  const started = {} as T;
  beforeAll(async () => {
    Object.assign(started, await start());
  });
  afterAll(() => ('close' in started ? started.close() : started.stop()));
  return started;
}
