// Third-party npm clients, which sign requests themselves, against accounts of both profiles.
import client from '@fye/netsuite-rest-api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { NetsuiteAccount } from '../../src/account.ts';
import { PROFILES } from '../../src/profile/profile-name.ts';
import type { TokenCredentials } from '../../src/sign-in/token-credentials.ts';
import { restApiConfiguration, signWithOauth } from '../npm-clients.ts';
import { type Caller, readAnswer, startCaller } from '../test-account.ts';
import { until } from '../until.ts';

/** The requests of the two clients to an account of the profile. */
function createClients(account: NetsuiteAccount, keys: TokenCredentials) {
  const configuration = restApiConfiguration(account, keys);
  return {
    /** `nextUrl`: the link to a further page. */
    query: (text: string, nextUrl?: string) =>
      client.makeRequest(configuration, {
        method: 'POST',
        requestType: 'suiteql',
        query: text,
        ...(nextUrl !== undefined && { nextUrl }),
      }),
    record: (path: string) =>
      client.makeRequest(configuration, {
        method: 'GET',
        requestType: 'record',
        path: `services/rest/record/v1/${path}`,
      }),
    async signed(method: string, path: string, body?: object, headers: Record<string, string> = {}) {
      const url = `${account.url}/services/rest/${path}`;
      const authorization = signWithOauth(keys, { url, method });
      return readAnswer(
        await fetch(url, {
          method,
          headers: { authorization, ...headers },
          ...(body && { body: Buffer.from(JSON.stringify(body)) }),
        }),
      );
    },
  };
}

describe.each(PROFILES)('clients of an account with the profile %s', (profile) => {
  let caller: Caller;
  let clients: ReturnType<typeof createClients>;
  beforeAll(async () => {
    caller = await startCaller({ profile });
    clients = createClients(caller.account, await caller.account.createTokenCredentials('client'));
  });
  afterAll(() => caller.close());

  it('@fye/netsuite-rest-api queries the books, and follows the links over all pages', async () => {
    const sums = await clients.query(
      'SELECT accountingbook, SUM(debit) AS debits, SUM(credit) AS credits FROM transactionaccountingline GROUP BY accountingbook ORDER BY accountingbook',
    );
    expect(sums.statusCode).toBe(200);
    expect(sums.body.items).toHaveLength(profile === 'oneworld' ? 2 : 1);
    for (const { debits, credits } of sums.body.items) expect(debits).toBe(credits);

    const text = "SELECT id FROM transaction WHERE type = 'CustPymt' ORDER BY id";
    let answer = await clients.query(text);
    const ids = answer.body.items.map(({ id }) => id);
    while (answer.body.hasMore) {
      const nextUrl = answer.body.links.find(({ rel }) => rel === 'next')?.href ?? '';
      answer = await clients.query(text, nextUrl);
      ids.push(...answer.body.items.map(({ id }) => id));
    }
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length).toBe(
      Number((await caller.rows("SELECT COUNT(*) AS n FROM transaction WHERE type = 'CustPymt'"))[0]?.['n']),
    );
  });

  it('@fye/netsuite-rest-api reads records of the types that only profiles have', async () => {
    for (const type of [
      'vendorBill',
      'purchaseOrder',
      'itemReceipt',
      'journalEntry',
      'account',
      'department',
    ]) {
      const list = await clients.record(`${type}?limit=1`);
      expect([type, list.statusCode, list.body.count]).toEqual([type, 200, 1]);
      const id = list.body.items[0]?.['id'] ?? '';
      expect([type, await clients.record(`${type}/${id}`)]).toMatchObject([
        type,
        { statusCode: 200, body: { id } },
      ]);
    }
  });

  it('oauth-1.0a signs asynchronous requests and those for their jobs', async () => {
    const customer = { companyName: 'Signed Ltd', ...(profile === 'oneworld' && { subsidiary: '1' }) };
    const sent = await clients.signed('POST', 'record/v1/customer', customer, { prefer: 'respond-async' });
    expect([sent.status, sent.headers.get('preference-applied')]).toEqual([202, 'respond-async']);
    const job = /services\/rest\/(async\/v1\/job\/\d+)$/.exec(sent.headers.get('location') ?? '')?.[1] ?? '';
    const done = await until(async () => {
      const { body } = await clients.signed('GET', job);
      return body['completed'] === true ? body : undefined;
    });
    expect(done).toMatchObject({ progress: 'succeeded' });
    expect(
      await caller.rows("SELECT companyname FROM customer WHERE companyname = 'Signed Ltd'"),
    ).toHaveLength(1);
  });
});
