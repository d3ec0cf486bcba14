import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lookUpTxt } from '../../src/gateways/dns.ts';
import { type DnsServer, startDns } from '../setup/dns.ts';
import { endsWithin, until } from '../setup/until.ts';

let dns: DnsServer;
let second: DnsServer;
beforeAll(async () => {
  dns = await startDns();
  second = await startDns();
});
afterAll(() => Promise.all([dns.stop(), second.stop()]));

const askBy = (servers: readonly string[], name: string, withinMs = 20_000) => lookUpTxt({ dnsServers: servers }, name, { withinMs });
const ask = (name: string, withinMs?: number) => askBy([dns.address], name, withinMs);
/** For where the whole of it is waited for. */
const shortMs = 1_000;
const timed = async <T>(work: Promise<T>): Promise<[T, number]> => {
  const start = performance.now();
  return [await work, performance.now() - start];
};
/** Nobody is given this port by the system, as one that was free a moment ago may be. */
const closedAddress = '127.0.0.1:2';

describe('an answer', () => {
  it('holds the records of the name, the strings of each joined', async () => {
    dns.set('two.example', { txt: ['a=1', ['portal-', 'verification=', 'x']] });
    const answer = await ask('two.example');
    expect(answer.kind === 'found' && [...answer.values].sort()).toEqual(['a=1', 'portal-verification=x']);
  });

  it('follows an alias', async () => {
    dns.set('alias.example', { txt: ['there'], alias: 'elsewhere.example' });
    expect(await ask('alias.example')).toEqual({ kind: 'found', values: ['there'] });
  });

  it('that does not fit a datagram comes by TCP', async () => {
    const texts = Array.from({ length: 40 }, (_, index) => `${index}-`.padEnd(250, 'x'));
    dns.set('big.example', { txt: texts });
    const answer = await ask('big.example');
    expect(answer.kind === 'found' && [...answer.values].sort()).toEqual([...texts].sort());
    expect(dns.asked.filter(({ name }) => name === 'big.example').map(({ by }) => by)).toEqual(['udp', 'tcp']);
  });

  it('is taken no further than anyone needs: 100 values, none above 4,096 characters', async () => {
    dns.set('many.example', { txt: Array.from({ length: 300 }, (_, index) => `${index}`) });
    const many = await ask('many.example');
    expect(many.kind === 'found' && many.values.length).toBe(100);
    dns.set('long.example', { txt: [Array.from({ length: 20 }, () => 'y'.repeat(255)), 'short'] });
    expect(await ask('long.example')).toEqual({ kind: 'found', values: ['short'] });
  });

  it('may be that there is nothing', async () => {
    dns.set('empty.example', 'nodata');
    expect(await ask('empty.example')).toEqual({ kind: 'absent' });
    expect(await ask('unheard-of.example')).toEqual({ kind: 'absent' });
    dns.set('dangling.example', { txt: [], alias: 'nowhere.example' });
    expect(await ask('dangling.example')).toEqual({ kind: 'absent' });
  });

  it('may contain any bytes', async () => {
    dns.set('bytes.example', { txt: ['\u0000\u0001"\\;', 'ünïcode', ''] });
    const answer = await ask('bytes.example');
    expect(answer.kind === 'found' && answer.values.length).toBe(3);
  });
});

describe('trouble', () => {
  it.each([
    ['servfail', 'SERVFAIL'],
    ['refused', 'REFUSED'],
    ['garbage', 'no usable answer'],
    ['silent', 'no answer in time'],
    ['cut-off', 'no usable answer'],
  ] as const)('%s is no answer', async (behaviour, reason) => {
    dns.set(`${behaviour}.example`, behaviour);
    expect(await ask(`${behaviour}.example`, behaviour === 'silent' ? shortMs : undefined)).toEqual({ kind: 'unavailable', reason });
  });

  it('a forged answer, whose number is not the question’s, is not believed', async () => {
    dns.set('forged.example', 'wrong-id');
    expect(await ask('forged.example', shortMs)).toEqual({ kind: 'unavailable', reason: 'no answer in time' });
  });

  it('a server that is not there is told at once', async () => {
    const limitMs = 60_000;
    const [answer, ms] = await timed(askBy([closedAddress], 'a.example', limitMs));
    expect(answer).toEqual({ kind: 'unavailable', reason: 'not reachable' });
    expect(ms).toBeLessThan(limitMs / 2); // what one silent try would take
  });

  it('silence ends in time, by default within five seconds, after a second try', async () => {
    dns.set('default.example', 'silent');
    const answer = lookUpTxt({ dnsServers: [dns.address] }, 'default.example');
    expect(await endsWithin(answer, 5_000)).toBe(true);
    expect((await answer).kind).toBe('unavailable');
    // The second question may still be on its way.
    await until(async () => (dns.asked.filter(({ name }) => name === 'default.example').length >= 2 ? true : undefined));
  });

  it('of one server is made up for by the next', async () => {
    second.set('fallback.example', { txt: ['here'] });
    for (const behaviour of ['servfail', 'refused', 'silent', 'cut-off'] as const) {
      dns.set('fallback.example', behaviour);
      const withinMs = behaviour === 'silent' ? 4_000 : undefined; // what is silent is waited for
      expect([behaviour, await askBy([dns.address, second.address], 'fallback.example', withinMs)]).toEqual([
        behaviour,
        { kind: 'found', values: ['here'] },
      ]);
    }
    expect(await askBy([closedAddress, second.address], 'fallback.example')).toMatchObject({ kind: 'found' });
    const servers = [dns.address, closedAddress, dns.address, dns.address, dns.address];
    // Two of the three that are asked are silent; twice the whole limit for each were 6 s.
    expect(await endsWithin(askBy(servers, 'silent.example', 1_500), 5_000)).toBe(true);
  });

  it('is passed over where the first server answers that there is nothing', async () => {
    second.set('nothing.example', { txt: ['other view'] });
    expect(await askBy([dns.address, second.address], 'nothing.example')).toEqual({ kind: 'absent' });
  });

  it('an unusable server address is no reason to throw', async () => {
    expect(await askBy(['not an address'], 'a.example')).toEqual({ kind: 'unavailable', reason: 'no usable answer' });
  });
});

describe('giving up', () => {
  it('ends a look-up at once', async () => {
    dns.set('slow.example', 'silent');
    const stopping = new AbortController();
    dns.onAsked((name) => name === 'slow.example' && stopping.abort());
    const giveUp = { signal: stopping.signal, withinMs: 60_000 };
    const [answer, ms] = await timed(lookUpTxt({ dnsServers: [dns.address] }, 'slow.example', giveUp));
    expect(answer.kind).toBe('unavailable');
    expect(ms).toBeLessThan(giveUp.withinMs / 2); // what the first try would take
    expect(await lookUpTxt({ dnsServers: [dns.address] }, 'slow.example', { signal: stopping.signal })).toEqual({
      kind: 'unavailable',
      reason: 'given up',
    });
  });
});
