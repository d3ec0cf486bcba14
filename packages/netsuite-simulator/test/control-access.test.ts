// Who reaches the control interface, and how it refuses bad requests.
import { describe, expect, it } from 'vitest';
import { rawRequest, useControlled } from './control-client.ts';
import { startShop } from './test-account.ts';

const world = useControlled({ host: '0.0.0.0' });

const withToken = () => ({ authorization: `Bearer ${world.token}` });

describe('the listener', () => {
  it('exists only when it is asked for', async () => {
    const shop = await startShop();
    expect(shop.account.control).toBeUndefined();
    await shop.close();
  });

  it('is on loopback on a port of its own, whatever the account’s host is', () => {
    expect(world.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(new URL(world.account.url).host).not.toBe(new URL(world.url).host);
  });

  it('a request with any other Host is 421, with or without the token', async () => {
    const port = new URL(world.url).port;
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`]) {
      expect((await rawRequest(`${world.url}/state`, { ...withToken(), host })).status, host).toBe(200);
    }
    for (const host of [
      'evil.example',
      `evil.example:${port}`,
      `127.0.0.1.evil.example:${port}`,
      '10.0.0.1',
    ]) {
      expect((await rawRequest(`${world.url}/state`, { ...withToken(), host })).status, host).toBe(421);
      expect((await rawRequest(`${world.url}/`, { host })).status, host).toBe(421);
    }
  });

  it('has no CORS headers, and refuses other origins', async () => {
    const headers = { ...withToken(), origin: 'http://evil.example' };
    for (const method of ['OPTIONS', 'POST'])
      expect((await fetch(`${world.url}/reset`, { method, headers })).status).toBe(403);
    const own = await fetch(`${world.url}/reset`, {
      method: 'POST',
      headers: { ...withToken(), origin: world.url },
    });
    expect(own.status).toBe(200);
    expect([...own.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
  });
});

describe('the token', () => {
  it('is required by every request, also for unknown paths and methods', async () => {
    for (const [method, path] of [
      ['GET', '/state'],
      ['POST', '/reset'],
      ['GET', '/nothing'],
      ['DELETE', '/state'],
      ['POST', '/'],
    ] as const) {
      for (const authorization of [
        undefined,
        'Bearer ',
        'Bearer wrong',
        `Basic ${world.token}`,
        world.token,
        `Bearer ${world.token}x`,
      ]) {
        const answer = await fetch(`${world.url}${path}`, {
          method,
          headers: authorization === undefined ? {} : { authorization },
        });
        expect(answer.status, `${method} ${path} ${authorization}`).toBe(401);
        expect(answer.headers.get('content-type')).toContain('application/json');
        expect(await answer.json()).toMatchObject({ error: { code: 'UNAUTHORIZED' } });
      }
    }
  });

  it('is new at every start, and the page doesn’t hold it', async () => {
    const page = await fetch(world.url);
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    const text = await page.text();
    expect(text).not.toContain(world.token);
    for (const [, file] of text.matchAll(/(?:src|href)="(\/page\/[^"]+)"/g)) {
      const answer = await fetch(`${world.url}${file}`);
      expect(answer.status, file).toBe(200);
      expect(await answer.text()).not.toContain(world.token);
    }
    expect((await fetch(`${world.url}/page/..%2fcontrol.ts`)).status).toBe(401);
  });
});

describe('bad requests', () => {
  it('400 for malformed JSON, 413 for a body over a megabyte', async () => {
    expect(await world.control('PUT', '/hidden', '{"tables":')).toMatchObject({
      status: 400,
      body: { error: { code: 'MALFORMED' } },
    });
    expect((await world.control('PUT', '/hidden', `"${'x'.repeat(1_100_000)}"`)).status).toBe(413);
  });

  it('404 for an unknown path, 405 with the allowed methods for a known one', async () => {
    expect(await world.control('GET', '/nothing')).toMatchObject({
      status: 404,
      body: { error: { code: 'NOT_FOUND' } },
    });
    const wrong = await world.control('POST', '/hidden', {});
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'PUT']);
    expect((await world.control('PUT', '/records/customer/1', {})).headers.get('allow')).toBe(
      'GET, PATCH, DELETE',
    );
  });

  const cases: [method: string, path: string, body: unknown, paths: string[]][] = [
    ['PUT', '/hidden', { table: [] }, ['table']],
    ['PUT', '/hidden', [], ['']],
    [
      'PUT',
      '/hidden',
      { tables: ['transactions'], columns: { transaction: ['duedat'], nothing: ['id'] } },
      ['tables[0]', 'columns.transaction[0]', 'columns.nothing'],
    ],
    ['PUT', '/hidden', { rows: { customer: ['1', 'x'] } }, ['rows.customer[1]']],
    ['PUT', '/hidden', { rows: { nexttransactionlinelink: ['1'] } }, ['rows.nexttransactionlinelink']],
    ['POST', '/reset', { all: true }, ['all']],
    ['PATCH', '/records/transaction/101', { field: {} }, ['field']],
    [
      'PATCH',
      '/records/transaction/101',
      { fields: { nothing: 1, daysopen: 3, trandate: '1/7/2011', id: 5 }, touch: 'none' },
      ['fields.nothing', 'fields.daysopen', 'fields.trandate', 'fields.id'],
    ],
    [
      'PATCH',
      '/records/transaction/101',
      { lines: [{ line: 1, fields: { rate: 'x' } }], touch: 'none' },
      ['lines[0].fields.rate'],
    ],
    [
      'PATCH',
      '/records/transaction/101',
      { lines: [{ line: 9, fields: {} }], touch: 'none' },
      ['lines[0].line'],
    ],
    ['PATCH', '/records/transaction/101', { touch: 'yesterday' }, ['touch']],
    ['PATCH', '/records/customer/1', { lines: [], touch: 'none' }, ['lines']],
    ['PATCH', '/records/customer/x', { touch: 'none' }, ['id']],
    ['POST', '/records/transaction', {}, ['like']],
    ['POST', '/records/customer', { like: '77' }, ['like']],
    ['DELETE', '/records/customer/1?listed=yes', undefined, ['listed']],
    ['DELETE', '/records/customer/1?list=true', undefined, ['list']],
    ['GET', '/records/customer?limit=1001', undefined, ['limit']],
    ['GET', '/records/customer?after=x', undefined, ['after']],
    ['POST', '/fields', { table: 'transaction', name: 'custbody_a', type: 'colour', label: 'A' }, ['type']],
    ['POST', '/fields', { table: 'currency', name: 'custbody_a', type: 'text', label: 'A' }, ['table']],
    ['POST', '/fields', { table: 'item', name: 'custbody_a', type: 'text', label: 'A' }, ['name']],
    ['POST', '/fields', { table: 'item', name: 'custitem_a', type: 'list', label: 'A' }, ['values']],
    [
      'POST',
      '/fields',
      { table: 'item', name: 'custitem_a', type: 'text', label: 'A', values: ['x'] },
      ['values'],
    ],
    ['POST', '/fields', { table: 'item', name: 'custitem_a', type: 'text', title: 'A' }, ['label', 'title']],
    ['POST', '/role', { permissions: { flying: true } }, ['permissions.flying']],
    ['POST', '/role', { permissions: ['customers', 'flying'] }, ['permissions[1]']],
    ['POST', '/role', {}, ['permissions']],
    ['POST', '/clock', {}, ['']],
    [
      'POST',
      '/clock',
      { stepSeconds: 1.5, at: 'noon', timeZone: 'Moon/Base' },
      ['stepSeconds', 'at', 'timeZone'],
    ],
    ['POST', '/load', { concurrency: -1 }, ['concurrency']],
    ['POST', '/load', {}, ['concurrency']],
    ['POST', '/certificate/revoke', { id: 1 }, ['id']],
  ];
  it.each(cases)('422 with the paths: %s %s %j', async (method, path, body, paths) => {
    const details = paths.map((each) => ({ path: each }));
    const error = { code: 'INVALID', message: expect.stringMatching(/\.$/), details };
    expect(await world.control(method, path, body)).toMatchObject({ status: 422, body: { error } });
  });

  it('404 for unknown tables, records and fields', async () => {
    for (const [method, path, body] of [
      ['GET', '/records/transactions'],
      ['GET', '/records/transaction/9'],
      ['GET', '/records/dual'],
      ['PATCH', '/records/transaction/9', { touch: 'none' }],
      ['DELETE', '/records/transaction/9'],
      ['POST', '/records/transaction/9/restore'],
      ['PATCH', '/fields/item/custitem_x', { label: 'X' }],
      ['DELETE', '/fields/item/custitem_x'],
    ] as const) {
      expect(await world.control(method, path, body), `${method} ${path}`).toMatchObject({
        status: 404,
        body: { error: { code: 'NOT_FOUND' } },
      });
    }
  });
});
