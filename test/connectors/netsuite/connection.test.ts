import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import jwt from 'jsonwebtoken';
import { describe, expect, it } from 'vitest';
import { ErpError } from '../../../src/connectors/connector.ts';
import {
  accountRealm,
  findBaseUrlProblem,
  NetsuiteSecrets,
  NetsuiteSettings,
  restHost,
  serviceOrigin,
} from '../../../src/connectors/netsuite/connection.ts';
import { signAssertion } from '../../../src/connectors/netsuite/requests/auth.ts';
import { signTba, tbaHeader } from '../../../src/connectors/netsuite/requests/tba.ts';

describe('account ids', () => {
  it.each([
    ['123456', '123456.suitetalk.api.netsuite.com', '123456'],
    ['123456_SB1', '123456-sb1.suitetalk.api.netsuite.com', '123456_SB1'],
    ['123456-sb1', '123456-sb1.suitetalk.api.netsuite.com', '123456_SB1'],
    ['TSTDRV1234567', 'tstdrv1234567.suitetalk.api.netsuite.com', 'TSTDRV1234567'],
  ])('%s', (account, host, realm) => {
    expect(restHost(account)).toBe(host);
    expect(accountRealm(account)).toBe(realm);
    expect(serviceOrigin({ accountId: account, baseUrl: null })).toBe(`https://${host}`);
  });

  it.each(['', '123.456', '123/456', '1_2_3', 'evil.example#', '123@evil', 'a b', '_1', '1-', 'ä'])(
    '%j is not accepted',
    (accountId) => {
      const settings = {
        accountId,
        baseUrl: null,
        authentication: { method: 'oauth2', clientId: 'c', certificateId: null },
      };
      expect(NetsuiteSettings.safeParse(settings).success).toBe(false);
    },
  );
});

it('stored settings and secrets accept both authentication methods and nothing else', () => {
  const authentication = { method: 'tba', consumerKey: 'k', tokenId: 't' };
  expect(NetsuiteSettings.safeParse({ accountId: '1', baseUrl: null, authentication }).success).toBe(true);
  expect(
    NetsuiteSettings.safeParse({
      accountId: '1',
      baseUrl: null,
      authentication: { ...authentication, consumerSecret: 's' },
    }).success,
  ).toBe(false);
  expect(NetsuiteSecrets.safeParse({ privateKeyPem: 'pem' }).success).toBe(true);
  expect(NetsuiteSecrets.safeParse({ consumerSecret: 'a', tokenSecret: 'b' }).success).toBe(true);
  expect(NetsuiteSecrets.safeParse({ consumerSecret: 'a' }).success).toBe(false);
});

describe('findBaseUrlProblem', () => {
  const allowed = ['127.0.0.1:8080', 'erp.internal'];
  it.each([
    'https://123456.suitetalk.api.netsuite.com',
    'https://123456-sb1.suitetalk.api.netsuite.com/',
    'https://123456-SB1.SuiteTalk.API.netsuite.com',
    'http://127.0.0.1:8080',
    'https://erp.internal',
    'https://erp.internal:8443',
    'http://erp.internal',
  ])('%s is accepted', (url) => expect(findBaseUrlProblem(url, allowed)).toBeNull());

  it.each([
    'nonsense',
    'ftp://erp.internal',
    'http://123456.suitetalk.api.netsuite.com',
    'https://evil.example',
    'https://suitetalk.api.netsuite.com',
    'https://a.b.suitetalk.api.netsuite.com',
    'https://123456.suitetalk.api.netsuite.com.evil.example',
    'https://123456.suitetalk.api.netsuite.com:8443',
    'https://user:pw@erp.internal',
    'https://erp.internal/path',
    'https://erp.internal/?q=1',
    'http://127.0.0.1:8081',
    'http://127.0.0.1',
  ])('%s is not accepted, with a reason', (url) =>
    expect(findBaseUrlProblem(url, allowed)).toMatch(/base URL/),
  );
});

describe('OAuth 2.0 assertion', () => {
  const now = new Date('2026-05-01T12:00:00Z');
  const audience = 'https://123456.suitetalk.api.netsuite.com/services/rest/auth/oauth2/v1/token';
  const generateKey = (type: 'ec' | 'rsa', option: string | number): string =>
    type === 'ec'
      ? generateKeyPairSync('ec', { namedCurve: String(option) })
          .privateKey.export({ type: 'pkcs8', format: 'pem' })
          .toString()
      : generateKeyPairSync('rsa', { modulusLength: Number(option) })
          .privateKey.export({ type: 'pkcs8', format: 'pem' })
          .toString();

  it.each([
    ['ec', 'P-256', 'ES256'],
    ['ec', 'P-384', 'ES384'],
    ['ec', 'P-521', 'ES512'],
    ['rsa', 3072, 'PS256'],
  ] as const)('%s %s signs with %s', (type, option, algorithm) => {
    const privateKeyPem = generateKey(type, option);
    const token = signAssertion({ clientId: 'client', certificateId: 'cert', privateKeyPem }, audience, now);
    const { header, payload } = jwt.verify(token, createPublicKey(privateKeyPem), {
      algorithms: [algorithm],
      complete: true,
      clockTimestamp: now.getTime() / 1000,
    });
    expect(header).toEqual({ alg: algorithm, typ: 'JWT', kid: 'cert' });
    expect(payload).toMatchObject({
      iss: 'client',
      scope: ['rest_webservices'],
      aud: audience,
      iat: now.getTime() / 1000,
      exp: now.getTime() / 1000 + 300,
    });
  });

  it.each([
    ['no certificate id', null, generateKey('ec', 'P-256'), 'CERTIFICATE_UNKNOWN'],
    ['text that is no key', 'cert', 'nonsense', 'PRIVATE_KEY_UNUSABLE'],
    ['a curve that NetSuite does not take', 'cert', generateKey('ec', 'secp256k1'), 'PRIVATE_KEY_UNUSABLE'],
  ])('%s', (_name, certificateId, privateKeyPem, code) => {
    const sign = () => signAssertion({ clientId: 'client', certificateId, privateKeyPem }, audience, now);
    expect(sign).toThrow(ErpError);
    expect(sign).toThrow(expect.objectContaining({ kind: 'credentials', code }));
  });
});

describe('token-based authentication', () => {
  // The consumer, token, nonce, time and first signature are published in Oracle's own help page on
  // signatures.
  const keys = {
    consumerKey: 'ef40afdd8abaac111b13825dd5e5e2ddddb44f86d5a0dd6dcf38c20aae6b67e4',
    consumerSecret: 'd26ad321a4b2f23b0741c8d38392ce01c3e23e109df6c96eac6d099e9ab9e8b5',
    tokenId: '2b0ce516420110bcbd36b69e99196d1b7f6de3c6234c5afb799b73d87569f5cc',
    tokenSecret: 'c29a677df7d5439a458c063654187e3d678d73aca8e3c9d8bea1478a3eb0d295',
  };
  const moment = { nonce: 'fjaLirsIcCGVZWzBX0pg', timestamp: 1508242306 };

  it.each([
    [
      'GET',
      'https://123456.suitetalk.api.netsuite.com/services/rest/record/v1/employee/40',
      'B5OIWznZ2YP0OB7VrJrGkYsTh+8H+5T9Hag+o92q0zY=',
    ],
    [
      'POST',
      'https://123456-sb1.suitetalk.api.netsuite.com/services/rest/query/v1/suiteql?limit=1000&offset=0',
      'LjzqkKDpsRTpwqBkevEM3wfFmspmqdKggHTdHxxHp+U=',
    ],
    [
      'POST',
      'http://127.0.0.1:8080/services/rest/query/v1/suiteql?limit=1000&offset=0',
      'ubmz3sI8h4Cxy+yxamYKdj5ZRv8BPg+E0Uwc/TW/2NE=',
    ],
    [
      'GET',
      'https://123456.suitetalk.api.netsuite.com/services/rest/record/v1/customer?q=lastModifiedDate ON_OR_AFTER "1/1/2026"&limit=2',
      '5vBqhzqB9ISkofH+Zwc9adeqGacPJtF3InnmkQwPXg4=',
    ],
  ])('%s %s', (method, url, signature) => expect(signTba(method, url, keys, moment)).toBe(signature));

  it('formats the header with the realm in capitals and the signature percent-encoded', () => {
    const header = tbaHeader(
      accountRealm('123456-sb1'),
      'GET',
      'https://123456.suitetalk.api.netsuite.com/services/rest/record/v1/employee/40',
      keys,
      moment,
    );
    expect(header).toMatch(/^OAuth realm="123456_SB1", oauth_consumer_key="ef40/);
    expect(header).toContain(
      'oauth_signature_method="HMAC-SHA256", oauth_version="1.0", oauth_signature="B5OIWznZ2YP0OB7VrJrGkYsTh%2B8H%2B5T9Hag%2Bo92q0zY%3D"',
    );
  });
});
