import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createAccountLimits } from '../../../src/core/work/account-limits.ts';
import {
  concurrencyProbe,
  createConnectors,
  getMetadata,
  json,
  rowsResponse,
  signal,
  useWire,
} from './wire.ts';

const recordType = getMetadata('customer');
const createLimiter = (maxConcurrent: number) => createAccountLimits().of('account', maxConcurrent);

/** Work that the test ends. */
function controlledWork<T = void>(value?: T) {
  const { promise, resolve, reject } = Promise.withResolvers<T | undefined>();
  return { work: () => promise, end: () => resolve(value), fail: reject };
}

describe('createAccountLimits', () => {
  it('runs work up to the limit at once, and the rest in order of arrival', async () => {
    const limiter = createLimiter(2);
    const started: number[] = [];
    const works = Array.from({ length: 6 }, () => controlledWork());
    const done = works.map((each, index) => limiter.run(signal, () => (started.push(index), each.work())));
    await sleep(0);
    expect(started).toEqual([0, 1]);
    works[1]?.end();
    await sleep(0);
    expect(started).toEqual([0, 1, 2]);
    for (const each of works) each.end();
    await Promise.all(done);
    expect(started).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it('never starts work that is aborted while waiting, and loses no slot to it', async () => {
    const limiter = createLimiter(1);
    const first = controlledWork();
    const aborting = new AbortController();
    const running = limiter.run(signal, first.work);
    let isStarted = false;
    const waiting = limiter.run(aborting.signal, async () => void (isStarted = true));
    const last = limiter.run(signal, async () => 'in');
    aborting.abort(new Error('aborted'));
    await expect(waiting).rejects.toThrow('aborted');
    first.end();
    await running;
    expect([await last, isStarted]).toEqual(['in', false]);
    expect(await limiter.run(signal, async () => 'again')).toBe('again');
  });

  it('never starts work whose signal is already aborted', async () => {
    const limiter = createLimiter(1);
    let isStarted = false;
    await expect(
      limiter.run(AbortSignal.abort(new Error('aborted')), async () => void (isStarted = true)),
    ).rejects.toThrow('aborted');
    expect([isStarted, await limiter.run(signal, async () => 'in')]).toEqual([false, 'in']);
  });

  it('releases the slot of work that is aborted just as it starts', async () => {
    const limiter = createLimiter(1);
    const first = controlledWork();
    const aborting = new AbortController();
    const running = limiter.run(signal, first.work);
    const second = limiter.run(aborting.signal, async () => {
      aborting.signal.throwIfAborted();
    });
    first.end();
    void running.then(() => aborting.abort(new Error('aborted')));
    await second.catch(() => undefined);
    expect(await limiter.run(signal, async () => 'in')).toBe('in');
  });

  it('releases the slot of failed work and keeps serving others', async () => {
    const limiter = createLimiter(1);
    const failing = controlledWork();
    const failed = limiter.run(signal, failing.work);
    const next = limiter.run(signal, async () => 'in');
    failing.fail(new Error('broken'));
    await expect(failed).rejects.toThrow('broken');
    expect(await next).toBe('in');
  });

  it('does not starve a caller with little work behind one with much', async () => {
    const limiter = createLimiter(1);
    const order: string[] = [];
    const run = (name: string) => limiter.run(signal, async () => (await sleep(1), void order.push(name)));
    const greedy = Promise.all(Array.from({ length: 4 }, () => run('many')));
    const modest = (async () => {
      for (let count = 0; count < 3; count += 1) await run('one');
    })();
    await Promise.all([greedy, modest]);
    expect(order.indexOf('one')).toBe(4); // behind those that arrived before, and no further
    const alternating: string[] = [];
    const next = (name: string) =>
      limiter.run(signal, async () => (await sleep(1), void alternating.push(name)));
    const runs = ['a', 'b'].map(async (name) => {
      for (let count = 0; count < 5; count += 1) await next(name);
    });
    await Promise.all(runs);
    expect(alternating.join('')).toMatch(/^(?:ab|ba){5}$/);
  });

  it('returns one limiter per account', () => {
    const [limits, others] = [createAccountLimits(), createAccountLimits()];
    expect(limits.of('a', 2)).toBe(limits.of('a', 2));
    expect(limits.of('a', 2)).not.toBe(limits.of('b', 2));
    expect(limits.of('a', 2)).not.toBe(others.of('a', 2));
  });
});

describe('several connectors to one account', () => {
  const wire = useWire();
  const other = useWire();

  it('share the limit for every spelling of the account id, and not with other accounts', async () => {
    const one = rowsResponse([{ n: '1' }]);
    const [usual, apart] = [concurrencyProbe(2, one), concurrencyProbe(2, one)];
    wire.answer = usual.answer;
    other.answer = apart.answer;
    const here = createConnectors([
      { url: wire.url, accountId: '1234567_SB1' },
      { url: `${wire.url}/`, accountId: '1234567-sb1' },
      { url: wire.url, accountId: '1234567_sb1' },
    ]);
    const [there] = createConnectors([{ url: other.url, accountId: '7654321' }]);
    await Promise.all(
      [...here, ...here, ...here, there, there].map((connector) => connector?.count(recordType, signal)),
    );
    expect([usual.maxConcurrent(), apart.maxConcurrent()]).toEqual([2, 2]);
  });

  it('send no request that is aborted while waiting, and continue with the others', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    wire.answer = async (_seen, response) => {
      await promise;
      return json(response, 200, rowsResponse([{ n: '1' }]));
    };
    const [first, second, third] = createConnectors(
      Array.from({ length: 3 }, () => ({ url: wire.url, accountId: '1234567' })),
    );
    const aborting = new AbortController();
    const running = [first, second].map((connector) => connector?.count(recordType, signal));
    while (wire.seen.length < 2) await sleep(5);
    const waiting = third?.count(recordType, aborting.signal);
    const behind = first?.count(recordType, signal);
    aborting.abort(new Error('the lease was lost'));
    await expect(waiting).rejects.toThrow('the lease was lost');
    resolve();
    expect(await Promise.all([...running, behind])).toEqual([1, 1, 1]);
    expect(wire.seen).toHaveLength(3);
  });
});
