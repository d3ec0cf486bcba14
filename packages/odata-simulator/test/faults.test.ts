// Each fault, by what the wire then answers.
import { describe, expect, it } from 'vitest';
import { type Json, requestToken, useClient } from './simulated.ts';

const world = useClient({ profile: 'businessCentral', generate: { customers: 10, vendors: 3 } });
const put: typeof world.simulator.putFaults = (...faults) => world.simulator.putFaults(...faults);
const page = { prefer: 'odata.maxpagesize=4' };
const ids = (values: Json[]): string[] => values.map(({ id }) => id);

describe('answers that fail', () => {
  it.each([401, 403, 404, 410, 429, 500, 503] as const)(
    'status %i, as often as it is put',
    async (status) => {
      put({ on: { kind: 'rows', table: 'customers' }, times: 1, status, retryAfter: 2 });
      const [vendors, failed, after] = [
        await world.get('vendors'),
        await world.get('customers'),
        await world.get('customers'),
      ];
      expect([vendors.status, failed.status, after.status]).toEqual([200, status, 200]);
      expect(failed.headers.get('retry-after')).toBe('2');
      expect(failed.body.error.message).toBe('A fault of the simulator.');
    },
  );

  it('by the kind of request', async () => {
    const id = ids((await world.get('customers')).body.value)[0];
    const link = (await world.get('customers', { prefer: 'odata.track-changes' })).body['@odata.deltaLink'];
    const requests = [
      'customers',
      link,
      `customers(${id})`,
      'customers/$count',
      `${world.simulator.serviceRoot}$metadata`,
    ];
    const kinds = ['rows', 'delta', 'record', 'count', 'metadata'] as const;
    for (const [i, kind] of kinds.entries()) {
      put({ on: { kind }, status: 503 });
      const statuses: number[] = [];
      for (const request of requests) statuses.push((await world.get(request)).status);
      expect(statuses).toEqual(requests.map((_request, k) => (k === i ? 503 : 200)));
    }
    const { credentials } = world.simulator;
    if (credentials.kind !== 'oauth2') throw new Error('oauth2 is expected');
    put(
      { on: { kind: 'token' }, times: 1, status: 401 },
      { on: { kind: 'token' }, redirect: 'http://127.0.0.1:9/' },
    );
    const [refused, redirected] = [await requestToken(credentials), await requestToken(credentials)];
    expect([refused.status, redirected.status]).toEqual([401, 302]);
  });

  it('HTML, redirects and delays', async () => {
    put({ on: {}, times: 1, html: true }, { on: {}, delayMs: 60 });
    const started = performance.now();
    const { status, text } = await world.get('customers');
    expect([status, text.slice(0, 9)]).toEqual([200, '<!DOCTYPE']);
    expect(performance.now() - started).toBeGreaterThan(55);
  });

  it('in their order, one at a time', async () => {
    put(
      { on: {}, times: 1, html: true },
      { on: {}, times: 1, status: 429 },
      { on: {}, times: 1, status: 503 },
    );
    const statuses: number[] = [];
    for (let i = 0; i < 4; i += 1) statuses.push((await world.get('customers')).status);
    expect(statuses).toEqual([200, 429, 503, 200]);
    expect(world.simulator.state()).toMatchObject({ hits: [1, 1, 1] });
  });

  it('a body that ends early', async () => {
    put({ on: { kind: 'rows' }, times: 1, cut: 50 });
    await expect(world.get('customers')).rejects.toThrow('terminated');
    expect((await world.get('customers')).status).toBe(200);
  });

  it('an order by key that is refused', async () => {
    put({ on: { table: 'customers' }, refuseOrderBy: true });
    const orders = ['$orderby=id', '$orderby=number', ''].map(
      async (query) => (await world.get(`customers?${query}`)).status,
    );
    expect(await Promise.all(orders)).toEqual([400, 200, 200]);
  });

  it('meet no request that isn’t signed in', async () => {
    put({ on: {}, times: 1, status: 503 });
    expect((await fetch(`${world.simulator.serviceRoot}companies`)).status).toBe(401);
    expect((await world.get('customers')).status).toBe(503);
  });
});

describe('answers that lie', () => {
  it('a page that repeats', async () => {
    const first = await world.get('customers', page);
    put({ on: { kind: 'rows' }, times: 1, repeatPage: true });
    const repeated = await world.get(first.body['@odata.nextLink'], page);
    expect(ids(repeated.body.value)).toEqual(ids(first.body.value));
    const second = await world.get(repeated.body['@odata.nextLink'], page);
    expect(ids(second.body.value)).not.toEqual(ids(first.body.value));
  });

  it('a link to another host', async () => {
    put({ on: { kind: 'rows' }, nextLink: 'http://other.example/customers?$skiptoken=1' });
    const { body } = await world.get('customers', page);
    expect(body['@odata.nextLink']).toBe('http://other.example/customers?$skiptoken=1');
  });

  it('links that never end, each another one', async () => {
    put({ on: { kind: 'rows' }, endless: true });
    const seen = new Set<string>();
    let [url, rows] = ['customers', 0];
    for (let i = 0; i < 12; i += 1) {
      const { body } = await world.get(url, page);
      url = body['@odata.nextLink'];
      rows += body.value.length;
      seen.add(url);
    }
    expect([seen.size, rows]).toEqual([12, 10]);
  });

  it('a list that ends early, rows that lack or come twice, and a wrong count', async () => {
    put({ on: { kind: 'rows' }, hasMore: false }, { on: { table: 'vendors' }, countOffset: 2 });
    const { body } = await world.get('customers', page);
    expect([body.value.length, body['@odata.nextLink']]).toEqual([4, undefined]);
    expect((await world.get('vendors?$count=true')).body['@odata.count']).toBe(5);
    expect((await world.get('vendors/$count')).text).toBe('5');
    put(
      { on: { table: 'customers' }, dropRows: { every: 3 } },
      { on: { table: 'vendors' }, duplicateRow: true },
    );
    expect((await world.get('customers')).body.value).toHaveLength(7);
    const [a, b] = ids((await world.get('vendors')).body.value);
    expect(a).toBe(b);
  });
});

describe('requests', () => {
  it('are listed with the faults that they met', async () => {
    world.simulator.reset();
    put({ on: { table: 'vendors' }, times: 1, status: 500 });
    await world.get('customers?$top=1');
    await world.get('vendors');
    const at = expect.any(Date);
    const path = (end: string) => expect.stringMatching(new RegExp(`^/v2.0/.*/${end}$`));
    expect(world.simulator.requests()).toEqual([
      {
        at,
        kind: 'rows',
        table: 'customers',
        method: 'GET',
        path: path('customers\\?\\$top=1'),
        status: 200,
        faults: [],
      },
      {
        at,
        kind: 'rows',
        table: 'vendors',
        method: 'GET',
        path: path('vendors'),
        status: 500,
        faults: ['status'],
      },
    ]);
    expect(world.simulator.state()).toMatchObject({ hits: [1], requests: { rows: 2 } });
  });
});
