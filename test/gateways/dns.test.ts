import { describe, expect, it } from 'vitest';
import { resolveTxt } from '../../src/gateways/dns.ts';
import { startDns } from '../setup/dns.ts';
import { endsWithin, until } from '../setup/until.ts';
import { useStarted } from '../setup/use-started.ts';

const dns = useStarted(startDns);
const second = useStarted(startDns);

const resolveBy = (servers: readonly string[], name: string, timeoutMs = 20_000) =>
  resolveTxt({ dnsServers: servers }, name, { timeoutMs });
const resolve = (name: string, timeoutMs?: number) => resolveBy([dns.address], name, timeoutMs);
/** For tests that wait until the timeout. */
const shortMs = 1_000;
const timed = async <T>(work: Promise<T>): Promise<[T, number]> => {
  const start = performance.now();
  return [await work, performance.now() - start];
};
/** The system never assigns this port to another process, unlike one that was free a moment ago. */
const closedAddress = '127.0.0.1:2';

describe('an answer', () => {
  it('has the records of the name, each with its strings joined', async () => {
    dns.set('two.example', { txt: ['a=1', ['portal-', 'verification=', 'x']] });
    const answer = await resolve('two.example');
    expect(answer.kind === 'found' && [...answer.values].sort()).toEqual(['a=1', 'portal-verification=x']);
  });

  it('follows an alias', async () => {
    dns.set('alias.example', { txt: ['there'], alias: 'elsewhere.example' });
    expect(await resolve('alias.example')).toEqual({ kind: 'found', values: ['there'] });
  });

  it('comes by TCP when it does not fit a datagram', async () => {
    const texts = Array.from({ length: 40 }, (_, index) => `${index}-`.padEnd(250, 'x'));
    dns.set('big.example', { txt: texts });
    const answer = await resolve('big.example');
    expect(answer.kind === 'found' && [...answer.values].sort()).toEqual([...texts].sort());
    expect(dns.asked.filter(({ name }) => name === 'big.example').map(({ by }) => by)).toEqual([
      'udp',
      'tcp',
    ]);
  });

  it('is limited to 100 values of at most 4,096 characters', async () => {
    dns.set('many.example', { txt: Array.from({ length: 300 }, (_, index) => `${index}`) });
    const many = await resolve('many.example');
    expect(many.kind === 'found' && many.values.length).toBe(100);
    dns.set('long.example', { txt: [Array.from({ length: 20 }, () => 'y'.repeat(255)), 'short'] });
    expect(await resolve('long.example')).toEqual({ kind: 'found', values: ['short'] });
  });

  it('is absent when the name or its TXT records do not exist', async () => {
    dns.set('empty.example', 'nodata');
    expect(await resolve('empty.example')).toEqual({ kind: 'absent' });
    expect(await resolve('unheard-of.example')).toEqual({ kind: 'absent' });
    dns.set('dangling.example', { txt: [], alias: 'nowhere.example' });
    expect(await resolve('dangling.example')).toEqual({ kind: 'absent' });
  });

  it('may contain any bytes', async () => {
    dns.set('bytes.example', { txt: ['\u0000\u0001"\\;', 'ünïcode', ''] });
    const answer = await resolve('bytes.example');
    expect(answer.kind === 'found' && answer.values.length).toBe(3);
  });
});

describe('a failure', () => {
  it.each([
    ['servfail', 'SERVFAIL'],
    ['refused', 'REFUSED'],
    ['garbage', 'no usable answer'],
    ['silent', 'no answer in time'],
    ['cut-off', 'no usable answer'],
  ] as const)('of kind %s makes the lookup unavailable', async (behaviour, reason) => {
    dns.set(`${behaviour}.example`, behaviour);
    expect(await resolve(`${behaviour}.example`, behaviour === 'silent' ? shortMs : undefined)).toEqual({
      kind: 'unavailable',
      reason,
    });
  });

  it('ignores a forged answer, whose id is not the one of the query', async () => {
    dns.set('forged.example', 'wrong-id');
    expect(await resolve('forged.example', shortMs)).toEqual({
      kind: 'unavailable',
      reason: 'no answer in time',
    });
  });

  it('reports an unreachable server at once', async () => {
    const limitMs = 60_000;
    const [answer, ms] = await timed(resolveBy([closedAddress], 'a.example', limitMs));
    expect(answer).toEqual({ kind: 'unavailable', reason: 'not reachable' });
    expect(ms).toBeLessThan(limitMs / 2); // how long one query without an answer would take
  });

  it('times out within five seconds by default, after a second query', async () => {
    dns.set('default.example', 'silent');
    const answer = resolveTxt({ dnsServers: [dns.address] }, 'default.example');
    expect(await endsWithin(answer, 5_000)).toBe(true);
    expect((await answer).kind).toBe('unavailable');
    // The second query may still be in flight.
    await until(async () =>
      dns.asked.filter(({ name }) => name === 'default.example').length >= 2 ? true : undefined,
    );
  });

  it('of one server is followed by a query to the next', async () => {
    second.set('fallback.example', { txt: ['here'] });
    for (const behaviour of ['servfail', 'refused', 'silent', 'cut-off'] as const) {
      dns.set('fallback.example', behaviour);
      const timeoutMs = behaviour === 'silent' ? 4_000 : undefined; // the timeout of a silent server is waited for
      expect([
        behaviour,
        await resolveBy([dns.address, second.address], 'fallback.example', timeoutMs),
      ]).toEqual([behaviour, { kind: 'found', values: ['here'] }]);
    }
    expect(await resolveBy([closedAddress, second.address], 'fallback.example')).toMatchObject({
      kind: 'found',
    });
    const servers = [dns.address, closedAddress, dns.address, dns.address, dns.address];
    // Two of the three queried servers are silent; if each took the whole timeout twice, it would be 6 s.
    expect(await endsWithin(resolveBy(servers, 'silent.example', 1_500), 5_000)).toBe(true);
  });

  it('does not include the answer that there is nothing: no other server is queried', async () => {
    second.set('nothing.example', { txt: ['other view'] });
    expect(await resolveBy([dns.address, second.address], 'nothing.example')).toEqual({ kind: 'absent' });
  });

  it('reports an invalid server address without throwing', async () => {
    expect(await resolveBy(['not an address'], 'a.example')).toEqual({
      kind: 'unavailable',
      reason: 'no usable answer',
    });
  });
});

describe('aborting', () => {
  it('ends a lookup at once', async () => {
    dns.set('slow.example', 'silent');
    const stopping = new AbortController();
    dns.onAsked((name) => name === 'slow.example' && stopping.abort());
    const options = { signal: stopping.signal, timeoutMs: 60_000 };
    const [answer, ms] = await timed(resolveTxt({ dnsServers: [dns.address] }, 'slow.example', options));
    expect(answer.kind).toBe('unavailable');
    expect(ms).toBeLessThan(options.timeoutMs / 2); // how long the first query would take
    expect(
      await resolveTxt({ dnsServers: [dns.address] }, 'slow.example', { signal: stopping.signal }),
    ).toEqual({
      kind: 'unavailable',
      reason: 'aborted',
    });
  });
});
