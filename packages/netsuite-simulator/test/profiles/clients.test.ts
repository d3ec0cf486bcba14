// Third-party npm clients, which sign requests themselves, against accounts of both profiles: what they expect
// of a real one.
import { createHmac } from 'node:crypto';
import client from '@fye/netsuite-rest-api';
import OAuth from 'oauth-1.0a';
import { beforeAll, describe, expect, it } from 'vitest';
import { PROFILES } from '../../src/profile/profile-name.ts';
import type { TokenCredentials } from '../../src/sign-in/token-credentials.ts';
import { ACCOUNT_ID, readAnswer, useCaller } from '../test-account.ts';
import { until } from '../until.ts';

describe.each(PROFILES)('clients of an account with the profile %s', (profile) => {
  const caller = useCaller({ profile });
  let keys: TokenCredentials;
  beforeAll(async () => {
    keys = await caller.account.createTokenCredentials('client');
  });
  const subsidiary = profile === 'oneworld' ? { subsidiary: '1' } : {};

  describe('@fye/netsuite-rest-api', () => {
    type Changes = Partial<Parameters<typeof client.makeRequest>[0]>;
    const configure = (changes: Changes = {}) => ({
      netsuiteApiHost: new URL(caller.account.url).host,
      consumerKey: keys.consumerKey,
      consumerSecret: keys.consumerSecret,
      netsuiteAccountId: ACCOUNT_ID,
      netsuiteTokenKey: keys.tokenId,
      netsuiteTokenSecret: keys.tokenSecret,
      testEnv: true,
      netsuiteQueryLimit: 1000,
      ...changes,
    });
    /** `nextUrl`: the link to a further page. */
    const query = (text: string, nextUrl?: string, changes?: Changes) =>
      client.makeRequest(configure(changes), {
        method: 'POST',
        requestType: 'suiteql',
        query: text,
        ...(nextUrl !== undefined && { nextUrl }),
      });
    const record = (method: string, path: string, body?: object, changes?: Changes) =>
      client.makeRequest(configure(changes), {
        method,
        requestType: 'record',
        path: `services/rest/${path}`,
        ...(body && { query: body }),
      });

    it('connects: 204 for OPTIONS, and the invalid-login error for another token or realm', async () => {
      expect((await record('OPTIONS', '*')).statusCode).toBe(204);
      const detail =
        'Invalid login attempt. For more details, see the Login Audit Trail in the NetSuite UI at Setup > Users/Roles > User Management > View Login Audit Trail.';
      for (const [changes, reason] of [
        [{ netsuiteTokenKey: 'INVALID TOKEN' }, 'token_rejected: the token is unknown'],
        [{ netsuiteAccountId: 'invalid' }, `permission_denied: the realm is invalid, not ${ACCOUNT_ID}`],
      ] as const) {
        expect(await record('GET', 'record/v1/customer', undefined, changes)).toMatchObject({
          statusCode: 401,
          body: { 'o:errorDetails': [{ detail }] },
        });
        expect(caller.account.audit().at(-1)?.reason).toBe(reason);
      }
    });

    it('queries the books, and follows the links over all pages', async () => {
      const sums = await query(
        'SELECT accountingbook, SUM(debit) AS debits, SUM(credit) AS credits FROM transactionaccountingline GROUP BY accountingbook ORDER BY accountingbook',
      );
      expect(sums.statusCode).toBe(200);
      expect(sums.body.items).toHaveLength(profile === 'oneworld' ? 2 : 1);
      for (const { debits, credits } of sums.body.items) expect(debits).toBe(credits);
      const two = await query('select id from transaction', undefined, { netsuiteQueryLimit: 2 });
      expect(two).toMatchObject({ statusCode: 200, body: { items: [{}, {}], hasMore: true } });
      const none = await query('select id from transaction where id = 1');
      expect(none).toMatchObject({ statusCode: 200, body: { items: [] } });

      const text = "SELECT id FROM transaction WHERE type = 'CustPymt' ORDER BY id";
      let answer = await query(text);
      const ids = answer.body.items.map(({ id }) => id);
      while (answer.body.hasMore) {
        const nextUrl = answer.body.links.find(({ rel }) => rel === 'next')?.href ?? '';
        answer = await query(text, nextUrl);
        ids.push(...answer.body.items.map(({ id }) => id));
      }
      expect(new Set(ids).size).toBe(ids.length);
      const n = await caller.value("SELECT COUNT(*) AS n FROM transaction WHERE type = 'CustPymt'");
      expect(ids.length).toBe(Number(n));
    });

    it.each(['vendorBill', 'purchaseOrder', 'itemReceipt', 'journalEntry', 'account', 'department'])(
      'reads a record of the type %s, which only profiles have',
      async (type) => {
        const list = await record('GET', `record/v1/${type}?limit=1`);
        expect(list).toMatchObject({ statusCode: 200, body: { count: 1 } });
        const id = list.body.items[0]?.['id'] ?? '';
        expect(await record('GET', `record/v1/${type}/${id}`)).toMatchObject({
          statusCode: 200,
          body: { id },
        });
      },
    );

    it('creates, changes and deletes a customer', async () => {
      const body = { entityStatus: 6, firstName: 'A', lastName: 'B', companyName: 'test', ...subsidiary };
      const made = await record('POST', 'record/v1/customer/', body);
      expect([made.statusCode, made.body]).toEqual([204, '']);
      const id = made.headers['location']?.split('/').pop() ?? '';
      const changed = await client.update(configure(), {
        id,
        updateValues: { email: 'x@example.com' },
        path: 'services/rest/record/v1/customer',
      });
      expect(changed.statusCode).toBe(204);
      const { items } = (await query(`select email from customer where id = ${id}`)).body;
      expect(items).toMatchObject([{ email: 'x@example.com' }]);
      expect((await record('DELETE', `record/v1/customer/${id}`)).statusCode).toBe(204);
      expect((await record('GET', `record/v1/customer/${id}`)).statusCode).toBe(404);
    });
  });

  describe('oauth-1.0a', () => {
    /** Sends a body without a content type. `signed`: what is signed besides method and URL. */
    const send = async (method: string, path: string, prefer: string, body?: string, signed: object = {}) => {
      const url = `${caller.account.url}/services/rest/${path}`;
      const oauth = new OAuth({
        consumer: { key: keys.consumerKey, secret: keys.consumerSecret },
        realm: ACCOUNT_ID,
        signature_method: 'HMAC-SHA256',
        hash_function: (base, key) => createHmac('sha256', key).update(base).digest('base64'),
      });
      const token = { key: keys.tokenId, secret: keys.tokenSecret };
      const authorization = oauth.toHeader(oauth.authorize({ url, method, ...signed }, token)).Authorization;
      const headers = { authorization, prefer };
      return readAnswer(await fetch(url, { method, headers, ...(body && { body: Buffer.from(body) }) }));
    };

    it('signs a path with an asterisk, filters with quotes and spaces, and body hashes', async () => {
      expect((await send('OPTIONS', '*', '')).status).toBe(204);
      const q = encodeURIComponent('entityId START_WITH "CUST1" AND isInactive IS false');
      expect((await send('GET', `record/v1/customer?q=${q}&limit=2`, '')).body).toMatchObject({ count: 2 });
      const data = '{"q": "SELECT id FROM currency WHERE id = 1" }';
      const hashed = { includeBodyHash: true, data };
      const answer = await send('POST', 'query/v1/suiteql?limit=5', 'transient', data, hashed);
      expect(answer.body).toMatchObject({ count: 1 });
    });

    it('signs asynchronous requests and those for their jobs', async () => {
      const customer = JSON.stringify({ companyName: 'Signed Ltd', ...subsidiary });
      const sent = await send('POST', 'record/v1/customer', 'respond-async', customer);
      expect([sent.status, sent.headers.get('preference-applied')]).toEqual([202, 'respond-async']);
      const job =
        /services\/rest\/(async\/v1\/job\/\d+)$/.exec(sent.headers.get('location') ?? '')?.[1] ?? '';
      const done = await until(async () => {
        const { body } = await send('GET', job, '');
        return body['completed'] === true ? body : undefined;
      });
      expect(done).toMatchObject({ progress: 'succeeded' });
      expect(
        await caller.rows("SELECT companyname FROM customer WHERE companyname = 'Signed Ltd'"),
      ).toHaveLength(1);
    });
  });
});
