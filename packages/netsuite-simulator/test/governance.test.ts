// The concurrency limit, latency, injected faults, and the caps of a query.
import { afterEach, describe, expect, it } from 'vitest';
import { asAdmin } from './loaded-account.ts';
import { useShop } from './test-account.ts';
import { until } from './until.ts';

const shop = useShop({ concurrencyLimit: 2, latencyMs: 0 });
afterEach(() => {
  shop.account.setLatency(0);
  shop.account.clearFaults();
  shop.account.setSwitches({ retryAfterSeconds: null, beyondCap: 'truncate' });
});

const Q = 'SELECT id FROM currency';

/** While `work` runs, no query of `Q` ends before it calls `release`. */
const whileHeld = (work: (release: () => Promise<unknown>) => Promise<void>): Promise<void> =>
  asAdmin(shop.database, async (client) => {
    await client.query('BEGIN; LOCK TABLE ledger.currency');
    await work(() => client.query('ROLLBACK'));
  });

describe('the concurrency limit', () => {
  it('429 with NetSuite’s body for every call over it, and none afterwards', async () => {
    const answers: Awaited<ReturnType<typeof shop.query>>[] = [];
    await whileHeld(async (release) => {
      const calls = Array.from({ length: 6 }, () => shop.query(Q).then((answer) => answers.push(answer)));
      await until(async () => answers.length === 4 || undefined);
      await release();
      await Promise.all(calls);
    });
    const refused = answers.filter(({ status }) => status === 429);
    expect([answers.filter(({ status }) => status === 200).length, refused.length]).toEqual([2, 4]);
    expect(refused[0]?.headers.has('retry-after')).toBe(false);
    expect(refused[0]?.body).toEqual({
      type: 'https://www.w3.org/Protocols/rfc2616/rfc2616-sec10.html',
      title: 'Bad Request',
      status: 429,
      'o:errorCode': 'USER_ERROR',
      'o:errorDetails': [
        {
          detail: 'Concurrent request limit exceeded. Request blocked.',
          'o:errorCode': 'CONCURRENCY_LIMIT_EXCEEDED',
        },
      ],
    });
    for (let i = 0; i < 20; i += 1) expect((await shop.query(Q)).status).toBe(200);
  });

  it('is released by a caller that disconnects; Retry-After is sent if configured', async () => {
    shop.account.setLatency(60_000);
    shop.account.setSwitches({ retryAfterSeconds: 7 });
    const hangUp = new AbortController();
    const url = `${shop.account.url}/services/rest/system/v1/serverTime`;
    const calls = [0, 1, 2].map(() =>
      fetch(url, { headers: { authorization: shop.authorization }, signal: hangUp.signal }),
    );
    expect((await Promise.any(calls)).headers.get('retry-after')).toBe('7');
    shop.account.setLatency(0);
    expect((await shop.get('system/v1/serverTime')).status).toBe(429);
    hangUp.abort();
    await Promise.allSettled(calls);
    await until(async () => (await shop.get('system/v1/serverTime')).status === 200 || undefined);
  });

  it('is in governanceLimits; 0 is rejected', async () => {
    expect(await shop.read('system/v1/governanceLimits')).toMatchObject({ accountConcurrencyLimit: 2 });
    shop.account.setConcurrencyLimit(9);
    expect(await shop.read('system/v1/governanceLimits')).toMatchObject({ accountConcurrencyLimit: 9 });
    expect(() => shop.account.setConcurrencyLimit(0)).toThrow(RangeError);
  });
});

describe('latency and faults', () => {
  it('delay every call by the given latency', async () => {
    shop.account.setLatency(120);
    const started = performance.now();
    await shop.query(Q);
    expect(performance.now() - started).toBeGreaterThan(110);
  });

  it('fail every Nth matching call until they are cleared', async () => {
    shop.account.injectFault({ path: /suiteql/, times: 2, every: 3, status: 503 });
    const statuses: number[] = [];
    for (let i = 0; i < 9; i += 1) {
      statuses.push((await shop.query(Q)).status);
      await shop.get('system/v1/serverTime'); // doesn't count
    }
    expect(statuses).toEqual([200, 200, 503, 200, 200, 503, 200, 200, 200]);
    shop.account.injectFault({ path: /./, times: 5, status: 500 });
    shop.account.clearFaults();
    expect((await shop.query(Q)).status).toBe(200);
  });
});

describe('the caps of a query', () => {
  // Fifteen statuses, three times over: 3,375 rows.
  const MANY =
    'SELECT a.id FROM transactionstatus a, transactionstatus b, transactionstatus c ORDER BY a.fullname, b.fullname, c.fullname';

  it('a thousand pages; further rows are silently left out', async () => {
    const last = await shop.query(MANY, { limit: 1, offset: 999 });
    expect(last.body).toMatchObject({ count: 1, hasMore: false, totalResults: 1000 });
    expect((await shop.query(MANY, { limit: 1, offset: 1000 })).body).toMatchObject({
      count: 0,
      hasMore: false,
      totalResults: 1000,
    });
  });

  it('or 400 beyond it, with hasMore true until then', async () => {
    shop.account.setSwitches({ beyondCap: 'refuse' });
    const last = await shop.query(MANY, { limit: 1, offset: 999 });
    expect(last.body).toMatchObject({ count: 1, hasMore: true, totalResults: 1000 });
    const beyond = await shop.query(MANY, { limit: 1, offset: 1000 });
    expect([beyond.status, beyond.body['o:errorDetails'][0]?.['o:errorQueryParam']]).toEqual([400, 'offset']);
  });

  it('a hundred thousand rows', async () => {
    const more = `${MANY.replace(' ORDER BY a.fullname, b.fullname, c.fullname', '')}, transactionstatus d, transactionstatus e WHERE e.id = 'A' AND e.trantype IN ('CustInvc', 'CustCred') ORDER BY a.fullname, b.fullname, c.fullname, d.fullname, e.fullname`;
    expect((await shop.query(more, { offset: 99_000 })).body).toMatchObject({
      count: 1000,
      hasMore: false,
      totalResults: 100_000,
    });
    shop.account.setSwitches({ beyondCap: 'refuse' });
    expect((await shop.query(more, { offset: 99_000 })).body).toMatchObject({
      count: 1000,
      hasMore: true,
      totalResults: 100_000,
    });
    expect((await shop.query(more, { offset: 100_000 })).status).toBe(400);
  });
});
