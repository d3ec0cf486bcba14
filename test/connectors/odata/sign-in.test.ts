// Signing in to an OData service: tokens by client credentials, user names, fixed headers, and what settings
// may not contain.
import { describe, expect, it } from 'vitest';
import { findAddressProblem, SignInSecrets } from '../../../src/connectors/http/sign-in.ts';
import { OdataSettings } from '../../../src/connectors/odata/connection.ts';
import { expectErpError, json, movableClock, sends, signal, useWire } from '../netsuite/wire.ts';
import { createOdataAt, settingsFor } from './service.ts';

const wire = useWire();
const oauth2 = () =>
  ({
    method: 'oauth2',
    tokenUrl: `${wire.url}/oauth2/token`,
    clientId: 'client-1',
    scope: 'https://api.example/.default',
    audience: 'https://erp.example',
  }) as const;
const secrets = { clientSecret: 's3cret&more' };
const connect = (options: Parameters<typeof createOdataAt>[2] = {}) =>
  createOdataAt(wire.url, { signIn: oauth2() }, { secrets, ...options });

describe('client credentials', () => {
  it('request one token for requests that begin together, with scope and audience', async () => {
    const bodies: string[] = [];
    const login = wire.login;
    wire.login = (seen, response) => {
      bodies.push(seen.body);
      return login(seen, response);
    };
    const connector = connect();
    await Promise.all([connector.now(signal), connector.now(signal), connector.now(signal)]);
    expect(wire.logins).toBe(1);
    expect(Object.fromEntries(new URLSearchParams(bodies[0]))).toEqual({
      grant_type: 'client_credentials',
      client_id: 'client-1',
      client_secret: 's3cret&more',
      scope: 'https://api.example/.default',
      audience: 'https://erp.example',
    });
    expect(wire.seen.map(({ headers }) => headers.authorization?.startsWith('Bearer token-'))).toEqual([
      true,
      true,
      true,
    ]);
  });

  it('are renewed once after a refusal in the middle of a run, and before the token expires', async () => {
    const clock = movableClock(new Date());
    let refusals = 1;
    wire.answer = (_seen, response) =>
      refusals-- > 0 ? json(response, 401, {}) : json(response, 200, { value: [] });
    const connector = connect({ clock });
    await connector.now(signal);
    expect([wire.logins, wire.seen.length]).toEqual([2, 2]);
    clock.advance(3_590_000);
    await connector.now(signal);
    expect(wire.logins).toBe(3);
  });

  it('are reported as wrong when a new token is refused, too', async () => {
    wire.answer = sends(401, { error: { code: 'x', message: 'no' } });
    await expectErpError(connect().now(signal), 'credentials', 'SIGN_IN_REFUSED');
    expect(wire.seen).toHaveLength(2);
  });

  it('are reported as wrong with the reason of the token address, and without the secret', async () => {
    wire.login = sends(400, { error: 'invalid_client', error_description: 's3cret&more is wrong' });
    const error = await expectErpError(connect().now(signal), 'credentials', 'SIGN_IN_REFUSED');
    expect(error.message).toContain('invalid_client');
    expect(error.message).not.toContain('s3cret');
  });

  it('are not sent to where a token address redirects', async () => {
    wire.login = sends(307, {}, { location: 'https://elsewhere.example/token' });
    const error = await expectErpError(connect().now(signal), 'credentials', 'TOKEN_ADDRESS_MOVED');
    expect(error.message).toContain('https://elsewhere.example/token');
  });

  it.each([
    ['HTML', '<html>Sign in</html>'],
    ['no token', '{"token_type":"Bearer"}'],
    ['a token with a line break', '{"access_token":"a\\nb","token_type":"Bearer"}'],
  ])('fail for %s from the token address', async (_what, text) => {
    wire.login = (_seen, response) => void response.end(text);
    await expectErpError(connect().now(signal), 'answer', 'ANSWER_UNREADABLE');
  });

  it('need an https address or an allowed host', async () => {
    const signIn = { ...oauth2(), tokenUrl: 'http://login.example/token' };
    const connector = createOdataAt(wire.url, { signIn }, { secrets });
    await expectErpError(connector.now(signal), 'query', 'HOST_REFUSED');
  });
});

describe('other sign-ins', () => {
  it('send a user name with its password', async () => {
    await createOdataAt(wire.url).now(signal);
    expect(wire.seen[0]?.headers.authorization).toBe(`Basic ${btoa('reader:secret')}`);
  });

  it('send a fixed header', async () => {
    const signIn = { method: 'header', name: 'APIKey' } as const;
    await createOdataAt(wire.url, { signIn }, { secrets: { headerValue: 'k-1' } }).now(signal);
    expect(wire.seen[0]?.headers['apikey']).toBe('k-1');
  });

  it('fail with each request where the secrets are those of another one', async () => {
    const connector = createOdataAt(wire.url, {}, { secrets: { headerValue: 'k-1' } });
    await expectErpError(connector.now(signal), 'credentials', 'SIGN_IN_REFUSED');
    expect(await connector.test(signal)).toMatchObject({
      ok: false,
      problems: [{ code: 'SIGN_IN_REFUSED' }],
    });
    expect(wire.seen).toEqual([]);
  });
});

describe('settings', () => {
  const accepts = (more: object) =>
    OdataSettings.safeParse({ ...settingsFor('https://erp.example'), ...more }).success;

  it.each([
    ...['Connection', 'keep-alive', 'Transfer-Encoding', 'TE', 'Trailer', 'Upgrade', 'Proxy-Authorization'],
    ...['Host', 'cookie', 'Content-Length', 'Accept', 'X Key', 'X-Key:', ''],
  ])('refuse a sign-in by the header %j', (name) => {
    expect(accepts({ signIn: { method: 'header', name } })).toBe(false);
    expect(accepts({ signIn: { method: 'header', name: 'X-Api-Key' } })).toBe(true);
  });

  it('refuse header values that would end the header', () => {
    expect(SignInSecrets.safeParse({ headerValue: 'a\r\nHost: b' }).success).toBe(false);
  });

  it.each([
    { in: 'path', segment: '..' },
    { in: 'path', segment: 'companies/1' },
    { in: 'path', segment: 'a?b' },
    { in: 'query', name: '$filter', value: 'x' },
  ])('refuse the company %j', (company) => {
    expect(accepts({ company })).toBe(false);
  });

  it('refuse time zones that do not exist', () => {
    expect(accepts({ timeZone: 'Europe/Atlantis' })).toBe(false);
    expect(accepts({ timeZone: 'Europe/Vienna' })).toBe(true);
  });

  it.each([
    ['ftp://erp.example/', false],
    ['erp.example', false],
    ['https://user:pass@erp.example/', false],
    ['https://erp.example/?tenant=1', false],
    ['http://erp.example/', false],
    ['http://127.0.0.1:8080/odata', true],
    ['https://erp.example/odata', true],
  ])('judge the address %s', (address, isFine) => {
    expect(findAddressProblem(address, ['127.0.0.1:8080']) === null).toBe(isFine);
  });
});
