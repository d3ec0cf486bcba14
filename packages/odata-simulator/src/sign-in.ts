// Who may read: access tokens of an OAuth 2.0 token endpoint, a user with a password, or a fixed header.
import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Clock } from 'netsuite-simulator/clock';
import { ODataError } from './odata-error.ts';
import type { Profile } from './profiles/profile.ts';

export type Credentials =
  | { kind: 'oauth2'; tokenUrl: string; clientId: string; clientSecret: string; scope: string }
  | { kind: 'basic'; username: string; password: string }
  | { kind: 'header'; name: string; value: string };
export type TokenAnswer = { status: number; body: object };
export type SignIn = {
  readonly credentials: Credentials;
  /** Throws ODataError 401 for a request without valid credentials. */
  assertSignedIn(headers: IncomingHttpHeaders): void;
  /** What the token endpoint answers to a form. */
  issueToken(form: URLSearchParams, authorization: string): TokenAnswer;
  /** Makes all tokens that were issued invalid. */
  revokeTokens(): void;
};

export const TOKEN_PATH = '/11111111-1111-4111-8111-111111111111/oauth2/v2.0/token';
const SCOPE = 'https://api.businesscentral.dynamics.com/.default';
const TOKEN_SECONDS = 3_599;

const isSame = (a: string, b: string): boolean => {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
};

function createCredentials({ signIn }: Profile, tokenUrl: string, secret: string): Credentials {
  if (signIn === 'basic') return { kind: 'basic', username: 'SIMULATOR', password: secret };
  if (signIn === 'header') return { kind: 'header', name: 'x-api-key', value: secret };
  return {
    kind: 'oauth2',
    tokenUrl,
    clientId: '22222222-2222-4222-8222-222222222222',
    clientSecret: secret,
    scope: SCOPE,
  };
}

function findProblem(
  credentials: Credentials,
  form: URLSearchParams,
  authorization: string,
): TokenAnswer | undefined {
  const refuse = (status: number, error: string, description: string): TokenAnswer => ({
    status,
    body: { error, error_description: description },
  });
  if (credentials.kind !== 'oauth2') return refuse(404, 'invalid_request', 'This service issues no tokens.');
  const basic = Buffer.from(authorization.replace(/^Basic /i, ''), 'base64')
    .toString()
    .split(':')
    .map(decodeURIComponent);
  const [id = '', secret = ''] =
    authorization === '' ? [form.get('client_id') ?? '', form.get('client_secret') ?? ''] : basic;
  if (form.get('grant_type') !== 'client_credentials')
    return refuse(400, 'unsupported_grant_type', 'grant_type must be client_credentials.');
  if (id !== credentials.clientId || !isSame(secret, credentials.clientSecret))
    return refuse(401, 'invalid_client', 'The client id or the client secret is wrong.');
  return form.get('scope') === credentials.scope
    ? undefined
    : refuse(400, 'invalid_scope', `scope must be ${credentials.scope}.`);
}

/** `assertSignedIn` throws ODataError. `secret` is random by default; one that stays the same lets clients go on after a restart. */
export function createSignIn(
  profile: Profile,
  clock: Clock,
  tokenUrl: string,
  secret = randomBytes(24).toString('base64url'),
): SignIn {
  const credentials = createCredentials(profile, tokenUrl, secret);
  const tokens = new Map<string, number>();
  const isSignedIn = (headers: IncomingHttpHeaders): boolean => {
    const { authorization = '' } = headers;
    if (credentials.kind === 'header')
      return isSame(String(headers[credentials.name] ?? ''), credentials.value);
    if (credentials.kind === 'oauth2')
      return (tokens.get(authorization.replace(/^Bearer /, '')) ?? 0) > clock.now().getTime();
    const expected = Buffer.from(`${credentials.username}:${credentials.password}`).toString('base64');
    return isSame(authorization, `Basic ${expected}`);
  };
  return {
    credentials,
    assertSignedIn(headers) {
      if (isSignedIn(headers)) return;
      throw new ODataError(401, 'Unauthorized', 'The credentials provided are incorrect.', {
        'www-authenticate': credentials.kind === 'basic' ? 'Basic realm="simulator"' : 'Bearer',
      });
    },
    issueToken(form, authorization) {
      const problem = findProblem(credentials, form, authorization);
      if (problem) return problem;
      const token = randomBytes(32).toString('base64url');
      tokens.set(token, clock.now().getTime() + TOKEN_SECONDS * 1000);
      return {
        status: 200,
        body: {
          token_type: 'Bearer',
          expires_in: TOKEN_SECONDS,
          ext_expires_in: TOKEN_SECONDS,
          access_token: token,
        },
      };
    },
    revokeTokens: () => tokens.clear(),
  };
}
