import { generateKeyPairSync } from 'node:crypto';
import jwt from 'jsonwebtoken';
import { beforeAll, describe, expect, it } from 'vitest';
import type { NetsuiteAccount } from '../src/account.ts';
import { createCertificate } from './certificate.ts';
import {
  ACCOUNT_ID,
  createIdentity,
  type Identity,
  readAnswer,
  requestToken,
  signAssertion,
  signIn,
  tokenUrl,
  useShop,
} from './test-account.ts';

const shop = useShop();
let account: NetsuiteAccount;
let identity: Identity;
beforeAll(async () => {
  account = shop.account;
  identity = await createIdentity(account);
});

const now = (): number => Math.floor(Date.now() / 1000);
const lastReason = (): string => account.audit().at(-1)?.reason ?? '';
const callWith = async (headers: Record<string, string>) =>
  readAnswer(await fetch(`${account.url}/services/rest/system/v1/serverTime`, { headers }));

const sign = (claims: object, options?: jwt.SignOptions) => ({
  client_assertion: signAssertion(account, identity, claims, options),
});

describe('POST /services/rest/auth/oauth2/v1/token', () => {
  it('issues a bearer token for an hour, which the services accept', async () => {
    const answer = await requestToken(account, { client_assertion: signAssertion(account, identity) });
    expect(answer.status).toBe(200);
    expect(Object.keys(answer.body)).toEqual(['access_token', 'expires_in', 'token_type']);
    expect(answer.body).toMatchObject({ expires_in: 3600, token_type: 'Bearer' });
    expect((await callWith({ authorization: `Bearer ${answer.body['access_token']}` })).status).toBe(200);
  });

  it('accepts an RSA key with PS256, PS384 and PS512', async () => {
    const rsa = await createIdentity(account, 'rsa-3072');
    for (const algorithm of ['PS256', 'PS384', 'PS512'] as const) {
      const client_assertion = signAssertion(account, rsa, {}, { algorithm });
      expect((await requestToken(account, { client_assertion })).status).toBe(200);
    }
    const refused = await requestToken(account, {
      client_assertion: signAssertion(account, rsa, {}, { algorithm: 'RS256' }),
    });
    expect(refused.body).toEqual({ error: 'invalid_grant' });
    expect(lastReason()).toMatch(/invalid algorithm/);
  });

  it('accepts the scope as an array or a string, and the real account’s URL as audience', async () => {
    for (const claims of [
      { scope: 'rest_webservices' },
      { scope: 'restlets, rest_webservices' },
      { scope: 'restlets rest_webservices' },
      { scope: ['restlets', 'rest_webservices'] },
      { aud: 'https://tstdrv1234567.suitetalk.api.netsuite.com/services/rest/auth/oauth2/v1/token' },
    ])
      expect((await requestToken(account, sign(claims))).status).toBe(200);
  });

  const signWithAnotherKey = () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const privateKeyPem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    return { client_assertion: signAssertion(account, { ...identity, privateKeyPem }) };
  };
  const leaveUnsigned = () => {
    const claims = { iss: identity.clientId, aud: tokenUrl(account), scope: 'rest_webservices' };
    const options = { algorithm: 'none', keyid: identity.certificateId, expiresIn: 60 } as const;
    return { client_assertion: jwt.sign(claims, null, options) };
  };
  const refusals: [name: string, error: string, reason: RegExp, form: () => Record<string, string>][] = [
    ['another grant', 'unsupported_grant_type', /grant type/, () => ({ grant_type: 'authorization_code' })],
    [
      'another assertion type',
      'invalid_request',
      /assertion type/,
      () => ({ client_assertion_type: 'saml' }),
    ],
    ['no assertion', 'invalid_request', /client_assertion/, () => ({})],
    ['something that is no JWT', 'invalid_grant', /not a JWT/, () => ({ client_assertion: 'abc' })],
    ['an unknown certificate', 'invalid_grant', /no certificate/, () => sign({}, { keyid: 'unknown' })],
    ['another audience', 'invalid_grant', /audience/, () => sign({ aud: 'https://elsewhere.example/token' })],
    ['an expired assertion', 'invalid_grant', /expired/, () => sign({ iat: now() - 600, exp: now() - 300 })],
    ['one for more than an hour', 'invalid_grant', /60 minutes/, () => sign({ exp: now() + 3700 })],
    ['one from the future', 'invalid_grant', /future/, () => sign({ iat: now() + 900, exp: now() + 1200 })],
    ['one without iat', 'invalid_grant', /iat/, () => sign({ iat: undefined }, { noTimestamp: true })],
    ['a scope without rest_webservices', 'invalid_scope', /scope/, () => sign({ scope: 'restlets' })],
    ['another key', 'invalid_grant', /signature/, signWithAnotherKey],
    ['no signature at all', 'invalid_grant', /signature/, leaveUnsigned],
  ];
  it.each(refusals)('400 for %s: %s', async (_name, error, reason, form) => {
    const { status, body } = await requestToken(account, form());
    expect([status, body]).toEqual([400, { error }]);
    expect(lastReason()).toMatch(reason);
  });

  it('401 invalid_client for an unknown client id', async () => {
    const answer = await requestToken(account, {
      client_assertion: signAssertion(account, identity, { iss: 'unknown' }),
    });
    expect([answer.status, answer.body]).toEqual([401, { error: 'invalid_client' }]);
    expect(answer.headers.get('www-authenticate')).toBe(`Basic realm="${ACCOUNT_ID}"`);
  });

  it('400 for the certificate of another integration, and for a revoked one', async () => {
    const other = await createIdentity(account);
    const borrowed = await requestToken(account, {
      client_assertion: signAssertion(account, { ...other, clientId: identity.clientId }),
    });
    expect(borrowed.body).toEqual({ error: 'invalid_grant' });
    expect(lastReason()).toMatch(/another integration/);
    const token = await signIn(account, other);
    await account.revokeCertificate(other.certificateId);
    const revoked = await requestToken(account, { client_assertion: signAssertion(account, other) });
    expect(revoked.body).toEqual({ error: 'invalid_grant' });
    expect((await callWith({ authorization: `Bearer ${token}` })).status).toBe(200);
  });

  it('400 for a body that is not a form', async () => {
    const answer = await readAnswer(
      await fetch(tokenUrl(account), {
        method: 'POST',
        body: '{}',
        headers: { 'content-type': 'application/json' },
      }),
    );
    expect([answer.status, answer.body]).toEqual([400, { error: 'invalid_request' }]);
  });
});

describe('a call', () => {
  it('401 with NetSuite’s body and challenge for a missing, unknown or revoked token', async () => {
    const token = await signIn(account, identity);
    account.revokeTokens();
    for (const headers of [
      {},
      { authorization: 'Bearer abc' },
      { authorization: `Bearer ${token}` },
      { authorization: 'Basic abc' },
    ]) {
      const answer = await callWith(headers);
      expect(answer.status).toBe(401);
      expect(answer.headers.get('www-authenticate')).toBe(
        `Bearer realm="${ACCOUNT_ID}", error="invalid_token", error_description="Invalid login attempt."`,
      );
      expect(answer.headers.get('content-type')).toBe(
        'application/vnd.oracle.resource+json; type=error; charset=UTF-8',
      );
      expect(answer.body).toMatchObject({
        title: 'Unauthorized',
        status: 401,
        'o:errorDetails': [{ 'o:errorCode': 'INVALID_LOGIN' }],
      });
      expect(answer.body['o:errorDetails'][0]?.detail).toMatch(
        /^Invalid login attempt\. For more details, see the Login Audit Trail/,
      );
    }
    expect(
      account
        .audit()
        .slice(-3)
        .map(({ status, reason }) => `${status} ${reason}`),
    ).toEqual([
      '401 token_rejected: the access token is unknown or revoked',
      '401 token_rejected: the access token is unknown or revoked',
      '401 the authorization scheme Basic is unknown',
    ]);
  });

  it('401 after an hour by the authentication clock', async () => {
    const authorization = `Bearer ${await signIn(account, identity)}`;
    account.setAuthenticationTime(new Date(Date.now() + 3_601_000));
    expect((await callWith({ authorization })).status).toBe(401);
    expect(lastReason()).toBe('token_rejected: the access token has expired');
    account.setAuthenticationTime(null);
    expect((await callWith({ authorization })).status).toBe(200);
  });

  it('400 for a malformed bearer header', async () => {
    const answer = await callWith({ authorization: 'Bearer a b' });
    expect(answer.status).toBe(400);
    expect(answer.headers.get('www-authenticate')).toContain('error="invalid_request"');
  });

  it('204 for OPTIONS with a valid token, 401 without', async () => {
    const authorization = `Bearer ${await signIn(account, identity)}`;
    const url = `${account.url}/services/rest/*`;
    expect((await fetch(url, { method: 'OPTIONS', headers: { authorization } })).status).toBe(204);
    expect((await fetch(url, { method: 'OPTIONS' })).status).toBe(401);
  });
});

describe('uploadCertificate', () => {
  const upload = async (pem: string) =>
    account.uploadCertificate((await account.createIntegration('x')).clientId, pem);
  const certificate = async (days: number, now = new Date()) =>
    (await createCertificate({ days, keyType: 'ec-p256', now })).certificatePem;

  it('rejects a certificate that is expired, valid for more than two years, or malformed', async () => {
    await expect(upload(await certificate(10, new Date(Date.now() - 20 * 86_400_000)))).rejects.toThrow(
      /expired/,
    );
    await expect(upload(await certificate(740))).rejects.toThrow(/two years/);
    await expect(upload('abc')).rejects.toThrow(/not an X.509/);
    await expect(account.uploadCertificate('unknown', await certificate(10))).rejects.toThrow(/client id/);
  });

  it('rejects a sixth active certificate', async () => {
    const { clientId } = await account.createIntegration('x');
    const ids: string[] = [];
    for (let i = 0; i < 5; i += 1)
      ids.push((await account.uploadCertificate(clientId, await certificate(10))).certificateId);
    await expect(account.uploadCertificate(clientId, await certificate(10))).rejects.toThrow(/at most 5/);
    await account.revokeCertificate(ids[0] ?? '');
    await account.uploadCertificate(clientId, await certificate(10));
  });
});
