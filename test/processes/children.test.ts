// What becomes of a rolling restart whose new process doesn't start, with children that the test ends.
import { expect, it, onTestFinished, vi } from 'vitest';
import { createLog } from '../../src/core/log.ts';
import type { Child } from '../../src/processes/child-process.ts';
import { createChildren } from '../../src/processes/children.ts';

/** Ends when it is killed. */
function createChild(role: Child['role'], serves: boolean): Child {
  const [serving, ended] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
  serving.promise.catch(() => undefined);
  if (serves) serving.resolve('http://127.0.0.1');
  const kill = (): void => {
    serving.reject(new Error('SIGKILL'));
    ended.resolve('SIGKILL');
  };
  const [ask, stop] = [async () => undefined, () => kill()];
  return { role, pid: undefined, serving: serving.promise, ended: ended.promise, ask, stop, kill };
}

it('one that hangs is killed after five minutes, the old ones go on, and the next restart replaces them', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  let serves = true;
  const fork = (role: Child['role']): Child => createChild(role, serves);
  const children = createChildren({ SHUTDOWN_SECONDS: 1 }, { processes: 2, fork, log: createLog('silent') });
  await children.start();
  const before = children.current();
  serves = false;
  const restarted = children.restart();
  await vi.advanceTimersByTimeAsync(299_000);
  expect(children.living()).toHaveLength(3);
  await vi.advanceTimersByTimeAsync(1_000);
  await restarted;
  expect([children.current(), children.living()]).toEqual([before, before]);
  serves = true;
  await children.restart();
  expect(children.living()).toHaveLength(2);
  expect(before.filter((child) => children.living().includes(child))).toEqual([]);
  await children.stop();
});
