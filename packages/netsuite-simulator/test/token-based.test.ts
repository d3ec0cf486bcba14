// Token-based authentication: published test vectors, and every reason for refusing a call.
import { createHmac } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { NetsuiteAccount } from '../src/account.ts';
import { computeSignature, parseOauthHeader, percentEncode } from '../src/sign-in/oauth1.ts';
import type { TokenCredentials } from '../src/sign-in/token-credentials.ts';
import { ACCOUNT_ID, readAnswer, startOn, startShop, useShop } from './test-account.ts';

const PUBLISHED: TokenCredentials = {
  consumerKey: 'ef40afdd8abaac111b13825dd5e5e2ddddb44f86d5a0dd6dcf38c20aae6b67e4',
  consumerSecret: 'd26ad321a4b2f23b0741c8d38392ce01c3e23e109df6c96eac6d099e9ab9e8b5',
  tokenId: '2b0ce516420110bcbd36b69e99196d1b7f6de3c6234c5afb799b73d87569f5cc',
  tokenSecret: 'c29a677df7d5439a458c063654187e3d678d73aca8e3c9d8bea1478a3eb0d295',
};
const TIMESTAMP = '1508242306';

const header = new Map([
  ['oauth_consumer_key', PUBLISHED.consumerKey],
  ['oauth_token', PUBLISHED.tokenId],
  ['oauth_nonce', 'fjaLirsIcCGVZWzBX0pg'],
  ['oauth_timestamp', TIMESTAMP],
  ['oauth_signature_method', 'HMAC-SHA256'],
  ['oauth_version', '1.0'],
]);

describe('the published test vectors', () => {
  it.each([
    [
      'GET',
      'https://123456.suitetalk.api.netsuite.com/services/rest/record/v1/employee/40',
      '',
      'B5OIWznZ2YP0OB7VrJrGkYsTh+8H+5T9Hag+o92q0zY=',
    ],
    [
      'POST',
      'https://123456-sb1.suitetalk.api.netsuite.com/services/rest/query/v1/suiteql',
      'limit=1000&offset=0',
      'LjzqkKDpsRTpwqBkevEM3wfFmspmqdKggHTdHxxHp+U=',
    ],
    [
      'POST',
      'http://127.0.0.1:8080/services/rest/query/v1/suiteql',
      'limit=1000&offset=0',
      'ubmz3sI8h4Cxy+yxamYKdj5ZRv8BPg+E0Uwc/TW/2NE=',
    ],
    [
      'GET',
      'https://123456.suitetalk.api.netsuite.com/services/rest/record/v1/customer',
      `q=${encodeURIComponent('lastModifiedDate ON_OR_AFTER "1/1/2026"')}&limit=2`,
      '5vBqhzqB9ISkofH+Zwc9adeqGacPJtF3InnmkQwPXg4=',
    ],
  ])('%s %s', (method, address, query, signature) => {
    expect(computeSignature({ method, address, query }, header, PUBLISHED)).toBe(signature);
  });

  it('match a header on one line, in any order, with a percent-encoded signature', () => {
    const parsed = parseOauthHeader(
      'OAuth realm="123456_SB1", oauth_version="1.0",oauth_signature="a%2Bb%3D"',
    );
    expect([parsed.realm, [...parsed.parameters]]).toEqual([
      '123456_SB1',
      [
        ['oauth_version', '1.0'],
        ['oauth_signature', 'a+b='],
      ],
    ]);
    expect(percentEncode("a b!'()*~-._")).toBe('a%20b%21%27%28%29%2A~-._');
  });
});

const shop = useShop();
let keys: TokenCredentials;
beforeAll(async () => {
  keys = await shop.account.createTokenCredentials('Portal Service');
});
afterEach(() => {
  vi.useRealTimers();
  shop.account.setAuthenticationTime(null);
  shop.account.setSwitches({ locksAfterFailures: false, challengesTba: false });
  shop.account.setFeatures({ tokenBasedAuthentication: true });
});

const TIME_PATH = '/services/rest/system/v1/serverTime';
type Signing = Partial<TokenCredentials> & {
  realm?: string;
  account?: NetsuiteAccount;
  changes?: Record<string, string | undefined>;
  signedPath?: string;
  method?: string;
};
let nonces = 0;

/**
 * Signs independently of the code under test; `changes` override what is signed, undefined ones are left out.
 */
function sign(signing: Signing = {}, path = TIME_PATH): string {
  const used = { ...keys, ...signing };
  nonces += 1;
  const oauth: Record<string, string | undefined> = {
    oauth_consumer_key: used.consumerKey,
    oauth_token: used.tokenId,
    oauth_nonce: `nonce-${process.pid}-${nonces}`,
    oauth_timestamp: String(Math.floor(Date.now() / 1000)),
    oauth_signature_method: 'HMAC-SHA256',
    oauth_version: '1.0',
    ...signing.changes,
  };
  const given = Object.entries(oauth).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  const url = new URL(`${(signing.account ?? shop.account).url}${signing.signedPath ?? path}`);
  const pairs = [...given, ...url.searchParams]
    .map(([name, value]) => `${percentEncode(name)}=${percentEncode(value)}`)
    .sort();
  const base = [signing.method ?? 'GET', url.origin + url.pathname, pairs.join('&')]
    .map(percentEncode)
    .join('&');
  const signature = createHmac(
    'sha256',
    `${percentEncode(used.consumerSecret)}&${percentEncode(used.tokenSecret)}`,
  )
    .update(base)
    .digest('base64');
  const fields = [...given, ['oauth_signature', signature] as const].map(
    ([name, value]) => `${name}="${percentEncode(value)}"`,
  );
  return `OAuth realm="${signing.realm ?? ACCOUNT_ID}", ${fields.join(', ')}`;
}

const call = async (authorization: string, path = TIME_PATH, { url } = shop.account) =>
  readAnswer(await fetch(`${url}${path}`, { headers: { authorization } }));
const lastReason = (): string => shop.account.audit().at(-1)?.reason ?? '';

describe('a signed call', () => {
  it('is accepted with query parameters of any kind', async () => {
    for (const query of ['', '?limit=5&offset=0', '?a=%20b&a=a&c=%C3%BC&d=1+2&e=%21%2A&f']) {
      expect((await call(sign({}, `${TIME_PATH}${query}`), `${TIME_PATH}${query}`)).status, query).toBe(200);
    }
  });

  it('with further oauth parameters in the header is accepted only if they were signed', async () => {
    expect((await call(sign({ changes: { oauth_body_hash: 'abc=' } }))).status).toBe(200);
    expect((await call(`${sign()}, oauth_body_hash="abc"`)).status).toBe(401);
    expect(lastReason()).toBe('InvalidSignature');
  });

  it('signed for another host and port is accepted by its Host header, at the time of the published vector', async () => {
    const account = shop.account;
    await account.createTokenCredentials('published', PUBLISHED);
    account.setAuthenticationTime(new Date(Number(TIMESTAMP) * 1000));
    const signature: [string, string] = ['oauth_signature', 'ubmz3sI8h4Cxy+yxamYKdj5ZRv8BPg+E0Uwc/TW/2NE='];
    const list = [...header, signature].map(([name, value]) => `${name}="${percentEncode(value)}"`);
    const headers = {
      host: '127.0.0.1:8080',
      prefer: 'transient',
      authorization: `OAuth realm="${ACCOUNT_ID}", ${list.join(', ')}`,
    };
    const send = () =>
      new Promise<number | undefined>((resolve, reject) => {
        const sent = httpRequest(
          `${account.url}/services/rest/query/v1/suiteql?limit=1000&offset=0`,
          { method: 'POST', headers },
          (response) => {
            response.resume().on('end', () => resolve(response.statusCode));
          },
        );
        sent.on('error', reject).end('{"q":"SELECT id FROM currency"}');
      });
    expect(await send()).toBe(200);
    expect(await send()).toBe(401);
    expect(lastReason()).toBe('NonceUsed');
  });

  const refused: [name: string, reason: string | RegExp, authorization: () => string][] = [
    [
      'the realm in lower case',
      /^permission_denied: the realm is tstdrv/,
      () => sign({ realm: ACCOUNT_ID.toLowerCase() }),
    ],
    ['another version', 'VersionRejected: 2.0', () => sign({ changes: { oauth_version: '2.0' } })],
    [
      'HMAC-SHA1',
      'UnknownAlgorithm: HMAC-SHA1',
      () => sign({ changes: { oauth_signature_method: 'HMAC-SHA1' } }),
    ],
    ['an unknown consumer key', 'consumer_key_unknown', () => sign({ consumerKey: 'unknown' })],
    ['an unknown token', /^token_rejected: the token is unknown/, () => sign({ tokenId: 'unknown' })],
    ['another consumer secret', 'InvalidSignature', () => sign({ consumerSecret: 'x' })],
    ['another token secret', 'InvalidSignature', () => sign({ tokenSecret: 'x' })],
    ['another method', 'InvalidSignature', () => sign({ method: 'POST' })],
    ['another path', 'InvalidSignature', () => sign({ signedPath: '/services/rest/other' })],
    ['another query', 'InvalidSignature', () => sign({ signedPath: `${TIME_PATH}?a=1` })],
    [
      'a timestamp that is no number',
      /^InvalidTimestamp/,
      () => sign({ changes: { oauth_timestamp: 'now' } }),
    ],
    ['a short nonce', /^nonce_rejected/, () => sign({ changes: { oauth_nonce: 'abcde' } })],
    [
      'a parameter left out',
      'MissingTokenPassportRequiredFields: oauth_nonce',
      () => sign({ changes: { oauth_nonce: undefined } }),
    ],
    [
      'an empty parameter',
      /^parameter_rejected: oauth_version is empty/,
      () => sign().replace('"1.0"', '""'),
    ],
    [
      'a parameter twice',
      /^parameter_rejected: oauth_version occurs twice/,
      () => `${sign()}, oauth_version="1.0"`,
    ],
    ['something that is no parameter', /^parameter_rejected/, () => `${sign()}, hello`],
    ['a value that is not percent-encoded', /^parameter_rejected/, () => `${sign()}, oauth_x="%zz"`],
  ];
  it.each(refused)('401 for %s', async (_name, reason, authorization) => {
    const answer = await call(authorization());
    expect([
      answer.status,
      answer.body['o:errorDetails'][0]?.['o:errorCode'],
      answer.headers.get('www-authenticate'),
    ]).toEqual([401, 'INVALID_LOGIN', null]);
    expect(lastReason()).toMatch(reason);
  });

  it('401 for a header that was used before, from any sender', async () => {
    const header = sign();
    expect((await call(header)).status).toBe(200);
    expect((await call(header)).status).toBe(401);
    expect(lastReason()).toBe('NonceUsed');
  });

  it('of twenty concurrent calls with one header one is accepted', async () => {
    shop.account.setConcurrencyLimit(50);
    const header = sign();
    const answers = await Promise.all(Array.from({ length: 20 }, () => call(header)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    shop.account.setConcurrencyLimit(5);
  });

  it('is accepted within five minutes of the account’s clock, either way', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: new Date('2026-05-01T12:00:00Z') }); // the clocks are frozen
    const at = (seconds: number) => shop.account.setAuthenticationTime(new Date(Date.now() + seconds * 1000));
    for (const [seconds, status] of [
      [300, 200],
      [-300, 200],
      [301, 401],
      [-301, 401],
    ] as const) {
      at(seconds);
      expect((await call(sign())).status, String(seconds)).toBe(status);
    }
    expect(lastReason()).toMatch(/^InvalidTimestamp: 301 seconds/);
  });

  it('401 for a revoked token, a blocked integration, and while the feature is off', async () => {
    const other = await shop.account.createTokenCredentials('other');
    expect((await call(sign(other))).status).toBe(200);
    await shop.account.setIntegrationEnabled(other.consumerKey, false);
    await call(sign(other));
    expect(lastReason()).toMatch(/^consumer_key_refused/);
    await shop.account.setIntegrationEnabled(other.consumerKey, true);
    await shop.account.revokeTokenCredentials(other.tokenId);
    await call(sign(other));
    expect(lastReason()).toBe('token_rejected: the token has been revoked');
    await call(sign({ tokenId: other.tokenId, tokenSecret: other.tokenSecret }));
    expect(lastReason()).toBe('token_rejected: the token is of another integration');
    shop.account.setFeatures({ tokenBasedAuthentication: false });
    await call(sign());
    expect(lastReason()).toMatch(/^FeatureDisabled/);
    await expect(shop.account.revokeTokenCredentials('unknown')).rejects.toThrow(RangeError);
    await expect(shop.account.setIntegrationEnabled('unknown', true)).rejects.toThrow(RangeError);
  });

  it('five failures lock the token for half an hour if locksAfterFailures is on', async () => {
    shop.account.setSwitches({ locksAfterFailures: true, challengesTba: true });
    const other = await shop.account.createTokenCredentials('locked');
    const wrong = () => call(sign({ ...other, tokenSecret: 'x' }));
    for (let i = 0; i < 4; i += 1) await wrong();
    expect((await call(sign(other))).status).toBe(200); // and the count starts again
    for (let i = 0; i < 5; i += 1) await wrong();
    const locked = await call(sign(other));
    expect([locked.status, lastReason(), locked.headers.get('www-authenticate')]).toEqual([
      401,
      'temporary_locked',
      `OAuth realm="${ACCOUNT_ID}"`,
    ]);
    const later = Date.now() + 31 * 60_000;
    shop.account.setAuthenticationTime(new Date(later));
    expect(
      (await call(sign({ ...other, changes: { oauth_timestamp: String(Math.floor(later / 1000)) } }))).status,
    ).toBe(200);
  });
});

it('tokens survive a restart, and a realm is in upper case with underscores', async () => {
  const other = await startShop({ accountId: '123456-sb1' });
  const made = await other.account.createTokenCredentials('Portal Service');
  await other.account.stop();
  const again = await startOn(other.database, { dataFolder: other.folder, accountId: '123456-sb1' });
  for (const [realm, status] of [
    ['123456_SB1', 200],
    ['123456-SB1', 401],
  ] as const)
    expect((await call(sign({ ...made, realm, account: again }), TIME_PATH, again)).status).toBe(status);
  await again.stop();
  await other.close();
});
