// The semaphores that all children share, with the messages between parent and children delivered at once.
import { expect, it } from 'vitest';
import type { SharedSemaphore } from '../../src/core/work/shared-semaphores.ts';
import { createPermitClient, createPermits } from '../../src/processes/permits.ts';

type Limits = { maxRunning: number; maxRunningPerOwner?: number };

/** Two children of one parent; `end` is called when the child ends. */
function openChildren(ofOne: Limits, ofOther = ofOne) {
  const permits = createPermits();
  return [ofOne, ofOther].map((limits): SharedSemaphore & { end(): void } => {
    const parent = permits.connect((message) => {
      if (message.kind === 'acquired') client.onAcquired(message.id, message.isGranted);
    });
    const client = createPermitClient((message) => {
      if (message.kind === 'acquire') void parent.acquire(message);
      else if (message.kind === 'release') parent.release(message.id);
      return true;
    });
    return { ...client.openSemaphore('streams', limits), end: parent.releaseAll };
  });
}

it('limit all children together, by owner, until a permit is released or its child ends', async () => {
  const [one, other] = openChildren({ maxRunning: Infinity, maxRunningPerOwner: 2 });
  const first = await one?.tryAcquire('ada');
  expect(await other?.tryAcquire('ada')).toBeDefined();
  expect([await one?.tryAcquire('ada'), await other?.tryAcquire('ada')]).toEqual([undefined, undefined]);
  expect(await one?.tryAcquire('bob')).toBeDefined();
  first?.();
  expect(await one?.tryAcquire('ada')).toBeDefined();
  expect(await one?.tryAcquire('ada')).toBeUndefined();
  other?.end();
  expect(await one?.tryAcquire('ada')).toBeDefined();
});

it('a child waits for the permit of another one, and may stop waiting', async () => {
  const [one, other] = openChildren({ maxRunning: 1 });
  const { signal } = new AbortController();
  const leaving = new AbortController();
  const first = await one?.acquireUnlessAborted('', signal);
  const waiting = other?.acquireUnlessAborted('', leaving.signal);
  leaving.abort();
  expect(await waiting).toBeUndefined();
  const second = other?.acquireUnlessAborted('', signal);
  first?.();
  expect(await second).toBeDefined();
  const third = one?.acquireUnlessAborted('', signal);
  other?.end();
  expect(await third).toBeDefined();
});

it('a child whose code has other limits has these', async () => {
  const [old, fresh] = openChildren({ maxRunning: 1 }, { maxRunning: 2 });
  expect(await old?.tryAcquire('')).toBeDefined();
  const held = [await fresh?.tryAcquire(''), await fresh?.tryAcquire('')];
  expect([...held, await fresh?.tryAcquire('')]).toEqual([
    expect.any(Function),
    expect.any(Function),
    undefined,
  ]);
  // An idle semaphore is dropped; the next one has all its permits.
  for (const release of held) release?.();
  expect([await fresh?.tryAcquire(''), await fresh?.tryAcquire('')]).not.toContain(undefined);
});
