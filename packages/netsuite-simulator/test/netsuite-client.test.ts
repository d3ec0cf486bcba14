// Third-party npm clients, which sign requests themselves, against the simulated account: what they expect of
// a real one.
import client from '@fye/netsuite-rest-api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TokenCredentials } from '../src/sign-in/token-credentials.ts';
import { restApiConfiguration, signWithOauth } from './npm-clients.ts';
import { ACCOUNT_ID, type Caller, readAnswer, startShop } from './test-account.ts';

const T = '2011-07-01 10:00:00';
const numbers = Array.from({ length: 40 }, (_, i) => i + 1);

let caller: Caller;
let keys: TokenCredentials;
beforeAll(async () => {
  caller = await startShop(
    {},
    {
      customer: numbers.map((n) => `${n},CUST${n},F,F,1,,${T},${T}`),
      transaction: numbers.map((n) => `${100 + n},I${n},CustInvc,2011-07-01,${n},1,1,T,5,${T},${T}`),
      transactionline: [],
    },
  );
  keys = await caller.account.createTokenCredentials('client');
});
afterAll(() => caller.close());

const configure = (
  changes: { netsuiteTokenKey?: string; netsuiteAccountId?: string; netsuiteQueryLimit?: number } = {},
) => ({
  ...restApiConfiguration(caller.account, keys),
  ...changes,
});
const query = (sql: string, limit = 1000) =>
  client.makeRequest(configure({ netsuiteQueryLimit: limit }), {
    method: 'POST',
    requestType: 'suiteql',
    query: sql,
  });
const record = (method: string, path: string, body?: object) =>
  client.makeRequest(configure(), {
    method,
    requestType: 'record',
    path: `services/rest/${path}`,
    ...(body ? { query: body } : {}),
  });
const toDetail = (answer: Awaited<ReturnType<typeof query>>): string =>
  answer.body['o:errorDetails'][0]?.detail ?? '';

const LOGIN =
  'Invalid login attempt. For more details, see the Login Audit Trail in the NetSuite UI at Setup > Users/Roles > User Management > View Login Audit Trail.';

describe('npm @fye/netsuite-rest-api', () => {
  it('connects: 204 for OPTIONS, and the invalid-login error for another token or realm', async () => {
    expect((await record('OPTIONS', '*')).statusCode).toBe(204);
    for (const [changes, reason] of [
      [{ netsuiteTokenKey: 'INVALID TOKEN' }, 'token_rejected: the token is unknown'],
      [{ netsuiteAccountId: 'invalid' }, `permission_denied: the realm is invalid, not ${ACCOUNT_ID}`],
    ] as const) {
      const answer = await client.makeRequest(configure(changes), {
        method: 'GET',
        requestType: 'record',
        path: 'services/rest/record/v1/customer',
      });
      expect([answer.statusCode, toDetail(answer), caller.account.audit().at(-1)?.reason]).toEqual([
        401,
        LOGIN,
        reason,
      ]);
    }
  });

  it('queries: two rows of many, and none', async () => {
    const two = await query('select id from transaction', 2);
    expect([two.statusCode, two.body.items.length, two.body.hasMore]).toEqual([200, 2, true]);
    const none = await query('select id from transaction where id = 1');
    expect([none.statusCode, none.body.items]).toEqual([200, []]);
  });

  it('gets the errors for an unknown table and an unknown column', async () => {
    const prefix = 'Invalid search query. Detailed unprocessed description follows. ';
    expect(toDetail(await query('select id from transactionTableThatDoesNotExist'))).toBe(
      `${prefix}Invalid search type: transactiontablethatdoesnotexist.`,
    );
    expect(toDetail(await query('select columnThatDoesNotExist from customer'))).toMatch(
      `${prefix}Search error occurred: Unknown identifier 'columnthatdoesnotexist'. Available identifiers are: {customer=customer}`,
    );
  });

  it('follows the links over all pages', async () => {
    const rows: Record<string, string>[] = [];
    let answer = await query('select tranid, id from transaction where rownum <= 30', 10);
    for (;;) {
      rows.push(...answer.body.items);
      const next = answer.body.links.find(({ rel }) => rel === 'next')?.href;
      if (!answer.body.hasMore || next === undefined) break;
      const data = {
        method: 'POST',
        requestType: 'suiteql',
        query: 'select tranid, id from transaction where rownum <= 30',
        nextUrl: next,
      } as const;
      answer = await client.makeRequest(configure(), data);
    }
    expect(rows).toHaveLength(30);
  });

  it('lists customers at a URL with a trailing slash', async () => {
    const { statusCode, body } = await record('GET', 'record/v1/customer/');
    expect([statusCode, body.count, body.items.length]).toEqual([200, 40, 40]);
  });

  it('creates, changes and deletes a customer', async () => {
    const body = {
      entityStatus: 6,
      firstName: 'firstName',
      lastName: 'lastName',
      subsidiary: '1',
      companyName: 'integration-test',
    };
    const made = await record('POST', 'record/v1/customer/', body);
    expect([made.statusCode, made.body]).toEqual([204, '']);
    const id = made.headers['location']?.split('/').pop() ?? '';
    const changed = await client.update(configure(), {
      id,
      updateValues: { email: 'x@example.com' },
      path: 'services/rest/record/v1/customer',
    });
    expect(changed.statusCode).toBe(204);
    expect((await query(`select email from customer where id = ${id}`)).body.items[0]).toMatchObject({
      email: 'x@example.com',
    });
    expect((await record('DELETE', `record/v1/customer/${id}`)).statusCode).toBe(204);
    expect((await record('GET', `record/v1/customer/${id}`)).statusCode).toBe(404);
  });

  it('gets the errors for a bad path, a bad id and missing fields', async () => {
    expect(toDetail(await record('GET', 'record/v1/bad-path'))).toBe(
      "Record type 'bad-path' does not exist.",
    );
    expect(toDetail(await record('GET', 'record/v1/customer/-1'))).toBe(
      'The record instance does not exist. Provide a valid record instance ID.',
    );
    expect(toDetail(await record('POST', 'record/v1/customer', {}))).toMatch(
      'Error while accessing a resource. Please enter value(s) for: ',
    );
  });

  it('compares dates in the users’ format', async () => {
    const { statusCode, body } = await query(
      "SELECT id, companyName, email, dateCreated FROM customer WHERE dateCreated >= '01/01/2011' AND dateCreated < '01/01/2012'",
      5,
    );
    expect([statusCode, body.items.length, body.items[0]?.['datecreated']]).toEqual([
      200,
      5,
      expect.stringMatching(/^\d+\/\d+\/2011$/),
    ]);
  });
});

describe('npm oauth-1.0a, as other clients use it', () => {
  const send = async (
    path: string,
    method: string,
    options: { body?: string; includeBodyHash?: boolean } = {},
  ) => {
    const url = `${caller.account.url}/services/rest/${path}`;
    const hashed = options.includeBodyHash ? { includeBodyHash: true, data: options.body } : {};
    const authorization = signWithOauth(keys, { url, method, ...hashed });
    // A body is sent without a content type, and every request with a body prefers `transient`.
    const body = options.body === undefined ? {} : { body: Buffer.from(options.body), prefer: 'transient' };
    return readAnswer(
      await fetch(url, {
        method,
        headers: { authorization, ...(body.prefer ? { prefer: body.prefer } : {}) },
        ...(body.body ? { body: body.body } : {}),
      }),
    );
  };

  it('signs a path with an asterisk, filters with quotes and spaces, and body hashes', async () => {
    expect((await send('*', 'OPTIONS')).status).toBe(204);
    const q = encodeURIComponent('entityId START_WITH "CUST1" AND isInactive IS false');
    expect((await send(`record/v1/customer?q=${q}&limit=2`, 'GET')).body).toMatchObject({ count: 2 });
    expect(
      (
        await send('query/v1/suiteql?limit=5', 'POST', {
          body: '{"q": "SELECT id FROM currency" }',
          includeBodyHash: true,
        })
      ).body,
    ).toMatchObject({ count: 1 });
  });

  it('gets the error for a body that is not JSON', async () => {
    const { body } = await send('record/v1/customer', 'POST', { body: 'bad body' });
    expect(body['o:errorDetails'][0]?.detail).toMatch('Invalid content in the request body');
  });
});
