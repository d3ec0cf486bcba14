import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { sharedLimiter } from '../../../src/connectors/netsuite/limiter.ts';
import { crowdedPlace, json, metadataOf, openAccounts, rowsAnswer, startWire } from './wire.ts';

const recordType = metadataOf('customer');
const signal = new AbortController().signal;
const open = (places: number) => sharedLimiter({}, 'account', places);

/** Work that ends when told. */
function held<T = void>(value?: T) {
  const { promise, resolve, reject } = Promise.withResolvers<T | undefined>();
  return { work: () => promise, end: () => resolve(value), fail: reject };
}

describe('the limiter of an account', () => {
  it('lets so many in at once, and the others in the order in which they came', async () => {
    const limiter = open(2);
    const begun: number[] = [];
    const works = Array.from({ length: 6 }, () => held());
    const done = works.map((each, index) => limiter.run(signal, () => (begun.push(index), each.work())));
    await sleep(0);
    expect(begun).toEqual([0, 1]);
    works[1]?.end();
    await sleep(0);
    expect(begun).toEqual([0, 1, 2]);
    for (const each of works) each.end();
    await Promise.all(done);
    expect(begun).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it('whoever gives up while waiting never starts, and takes no place along', async () => {
    const limiter = open(1);
    const first = held();
    const leaving = new AbortController();
    const running = limiter.run(signal, first.work);
    let isStarted = false;
    const waiting = limiter.run(leaving.signal, async () => void (isStarted = true));
    const last = limiter.run(signal, async () => 'in');
    leaving.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
    first.end();
    await running;
    expect([await last, isStarted]).toEqual(['in', false]);
    expect(await limiter.run(signal, async () => 'again')).toBe('again');
  });

  it('whoever gave up before asking never starts', async () => {
    const limiter = open(1);
    let isStarted = false;
    await expect(limiter.run(AbortSignal.abort(new Error('gone')), async () => void (isStarted = true))).rejects.toThrow('gone');
    expect([isStarted, await limiter.run(signal, async () => 'in')]).toEqual([false, 'in']);
  });

  it('giving up at the very moment of being let in gives the place back', async () => {
    const limiter = open(1);
    const first = held();
    const leaving = new AbortController();
    const running = limiter.run(signal, first.work);
    const second = limiter.run(leaving.signal, async () => {
      leaving.signal.throwIfAborted();
    });
    first.end();
    void running.then(() => leaving.abort(new Error('gone')));
    await second.catch(() => undefined);
    expect(await limiter.run(signal, async () => 'in')).toBe('in');
  });

  it('failed work gives its place back, and takes nobody else down', async () => {
    const limiter = open(1);
    const failing = held();
    const failed = limiter.run(signal, failing.work);
    const next = limiter.run(signal, async () => 'in');
    failing.fail(new Error('broken'));
    await expect(failed).rejects.toThrow('broken');
    expect(await next).toBe('in');
  });

  it('one who asks much does not keep out one who asks little', async () => {
    const limiter = open(1);
    const order: string[] = [];
    const turn = (name: string) => limiter.run(signal, async () => (await sleep(1), void order.push(name)));
    const greedy = Promise.all(Array.from({ length: 4 }, () => turn('many')));
    const modest = (async () => {
      for (let count = 0; count < 3; count += 1) await turn('one');
    })();
    await Promise.all([greedy, modest]);
    expect(order.indexOf('one')).toBe(4); // behind those who were there before, and no further
    const alternating: string[] = [];
    const next = (name: string) => limiter.run(signal, async () => (await sleep(1), void alternating.push(name)));
    const runs = ['a', 'b'].map(async (name) => {
      for (let count = 0; count < 5; count += 1) await next(name);
    });
    await Promise.all(runs);
    expect(alternating.join('')).toMatch(/^(?:ab|ba){5}$/);
  });

  it('is one per account and owner', () => {
    const owner = {};
    expect(sharedLimiter(owner, 'a', 2)).toBe(sharedLimiter(owner, 'a', 2));
    expect(sharedLimiter(owner, 'a', 2)).not.toBe(sharedLimiter(owner, 'b', 2));
    expect(sharedLimiter(owner, 'a', 2)).not.toBe(sharedLimiter({}, 'a', 2));
  });
});

describe('several connections to one account', () => {
  it('share its requests, with every spelling of the account, and those of another account do not count', async () => {
    const wire = await startWire();
    const other = await startWire();
    try {
      const one = rowsAnswer([{ n: '1' }]);
      const [usual, apart] = [crowdedPlace(2, one), crowdedPlace(2, one)];
      wire.answer = usual.answer;
      other.answer = apart.answer;
      const here = openAccounts([
        { url: wire.url, accountId: '1234567_SB1' },
        { url: `${wire.url}/`, accountId: '1234567-sb1' },
        { url: wire.url, accountId: '1234567_sb1' },
      ]);
      const [there] = openAccounts([{ url: other.url, accountId: '7654321' }]);
      await Promise.all([...here, ...here, ...here, there, there].map((connector) => connector?.count(recordType, signal)));
      expect([usual.most(), apart.most()]).toEqual([2, 2]);
    } finally {
      await Promise.all([wire.stop(), other.stop()]);
    }
  });

  it('one that is given up in the queue sends nothing, and the others go on', async () => {
    const wire = await startWire();
    try {
      const { promise, resolve } = Promise.withResolvers<void>();
      wire.answer = async (_seen, response) => {
        await promise;
        return json(response, 200, rowsAnswer([{ n: '1' }]));
      };
      const [first, second, third] = openAccounts(Array.from({ length: 3 }, () => ({ url: wire.url, accountId: '1234567' })));
      const leaving = new AbortController();
      const running = [first, second].map((connector) => connector?.count(recordType, signal));
      while (wire.seen.length < 2) await sleep(5);
      const waiting = third?.count(recordType, leaving.signal);
      const behind = first?.count(recordType, signal);
      leaving.abort(new Error('the lease is gone'));
      await expect(waiting).rejects.toThrow('the lease is gone');
      resolve();
      expect(await Promise.all([...running, behind])).toEqual([1, 1, 1]);
      expect(wire.seen).toHaveLength(3);
    } finally {
      await wire.stop();
    }
  });
});
