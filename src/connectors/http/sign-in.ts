// How requests to an ERP over HTTP are signed in: by a bearer token for client credentials, a user name with
// password, or a fixed header; and which addresses are acceptable. The guarded fetch checks these again, by IP
// address, on every request.
import { z } from 'zod';
import type { Ctx } from '../../core/ctx.ts';
import { GuardedFetchError } from '../../core/network/guarded-fetch.ts';
import { type AccessToken, createTokenCache } from '../../core/network/token-cache.ts';
import { findJson } from '../../core/text/parse-json.ts';
import type { ErpError } from '../connector.ts';
import { httpError, networkError, statusError } from './errors.ts';

/** Headers of the connection itself (RFC 9110, section 7.6.1), and those that this service sets. */
const reservedHeaders: ReadonlySet<string> = new Set([
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te'],
  ...['trailer', 'transfer-encoding', 'upgrade', 'host', 'cookie', 'content-length', 'content-type'],
  ...['expect', 'accept', 'accept-encoding', 'prefer', 'odata-version', 'odata-maxversion'],
]);

const text = (maxLength: number) => z.string().trim().min(1).max(maxLength);
const headerName = z
  .string()
  .max(100)
  .regex(/^[\w!#$%&'*+.^`|~-]+$/, 'A header name has letters, digits and hyphens')
  .refine((name) => !reservedHeaders.has(name.toLowerCase()), 'This header cannot carry a sign-in');
const headerValue = z
  .string()
  .max(4_000)
  .regex(/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/, 'A header value has printable ASCII characters');

export const SignInSettings = z.discriminatedUnion('method', [
  /** Client credentials (RFC 6749, section 4.4). */
  z
    .strictObject({
      method: z.literal('oauth2'),
      tokenUrl: z.string().max(500).meta({
        title: 'Token address',
        description:
          'Such as https://login.microsoftonline.com/<tenant>/oauth2/v2.0/token, which issues access tokens',
      }),
      clientId: text(200).describe('Of the application that is registered for this service'),
      scope: text(500)
        .nullable()
        .default(null)
        .describe(
          'Such as https://api.businesscentral.dynamics.com/.default, if the token address needs one',
        ),
      audience: text(500).nullable().default(null).describe('If the token address needs one'),
    })
    .meta({ title: 'OAuth 2.0 client credentials' }),
  z
    .strictObject({ method: z.literal('basic'), userName: z.string().regex(/^[^:\p{Cc}]{1,200}$/u) })
    .meta({ title: 'User name and password' }),
  z
    .strictObject({
      method: z.literal('header'),
      name: headerName.meta({ title: 'Header', description: 'Its name, such as X-API-Key' }),
    })
    .meta({ title: 'Fixed header' }),
]);
export type SignInSettings = z.infer<typeof SignInSettings>;

/** In the OpenAPI description: to which value of which setting a secret belongs. */
const ofMethod = (method: SignInSettings['method']) => ({ 'x-when': { 'signIn.method': method } });
/** One of these, as the sign-in needs it. */
export const SignInSecrets = z.union([
  z.strictObject({ clientSecret: z.string().min(1).max(4_000) }).meta(ofMethod('oauth2')),
  z.strictObject({ password: z.string().min(1).max(500) }).meta(ofMethod('basic')),
  z.strictObject({ headerValue }).meta(ofMethod('header')),
]);
export type SignInSecrets = z.infer<typeof SignInSecrets>;

/**
 * Why this address of an ERP or of its tokens isn't acceptable, as a sentence, or null. `allowedHosts` are `host`
 * or `host:port`; only these may be reached by plain http, which the guarded fetch limits to private ones.
 */
export function findAddressProblem(address: string, allowedHosts: readonly string[]): string | null {
  const url = URL.parse(address);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    return `Not an https address: ${address.slice(0, 200)}`;
  if (url.username !== '' || url.password !== '')
    return 'The address must not contain a user name or password';
  if (url.search !== '' || url.hash !== '') return 'The address must end with its path';
  if (url.protocol === 'https:') return null;
  const allowed = allowedHosts.some((host) => [url.host, url.hostname].includes(host.toLowerCase()));
  return allowed ? null : `The address must use https: ${url.origin}`;
}

export type SignInHeaders = Readonly<Record<string, string>>;
export type SignIn = {
  /** Rejects with `ErpError`, of kind `credentials` when the sign-in is refused, or with the signal's reason. */
  headers(signal: AbortSignal): Promise<SignInHeaders>;
  /** The ERP refused these headers: whether the next `headers` may be others. */
  renew(refused: SignInHeaders): boolean;
};

type SignInCtx = Pick<Ctx, 'fetch' | 'clock' | 'settings'>;
type Oauth2 = Extract<SignInSettings, { method: 'oauth2' }> & { readonly clientSecret: string };

const renewBeforeMs = 60_000;
const defaultLifetimeSeconds = 300;
const maxTokenResponseBytes = 100_000;

const TokenResponse = z.object({
  access_token: z.string().regex(/^[\x21-\x7e]{1,20000}$/),
  expires_in: z.union([z.number(), z.string().regex(/^\d+$/).transform(Number)]).nullish(),
  token_type: z.string().regex(/^bearer$/i),
});

/**
 * Secrets that don't match the settings' method can't sign in: the returned object then rejects with an
 * `ErpError`, as it does for everything that the token address did.
 */
export function createSignIn(ctx: SignInCtx, signIn: SignInSettings, secrets: SignInSecrets): SignIn {
  const fixed = (headers: SignInHeaders): SignIn => ({ headers: async () => headers, renew: () => false });
  if (signIn.method === 'oauth2' && 'clientSecret' in secrets)
    return createTokenSignIn(ctx, { ...signIn, ...secrets });
  if (signIn.method === 'basic' && 'password' in secrets) {
    const credentials = Buffer.from(`${signIn.userName}:${secrets.password}`).toString('base64');
    return fixed({ authorization: `Basic ${credentials}` });
  }
  if (signIn.method === 'header' && 'headerValue' in secrets)
    return fixed({ [signIn.name.toLowerCase()]: secrets.headerValue });
  const refusal = httpError('credentials', 'SIGN_IN_REFUSED', 'The secrets belong to another sign-in');
  return { headers: () => Promise.reject(refusal), renew: () => false };
}

function createTokenSignIn(ctx: SignInCtx, oauth2: Oauth2): SignIn {
  const tokens = createTokenCache(ctx.clock, () => requestToken(ctx, oauth2));
  return {
    headers: async (signal) => ({ authorization: await tokens.header(signal) }),
    renew(refused) {
      tokens.invalidate(refused['authorization'] ?? '');
      return true;
    },
  };
}

async function requestToken(ctx: SignInCtx, oauth2: Oauth2): Promise<AccessToken> {
  const { tokenUrl, clientId, clientSecret, scope, audience } = oauth2;
  const problem = findAddressProblem(tokenUrl, ctx.settings.erp.allowedHosts);
  if (problem !== null) throw httpError('query', 'HOST_REFUSED', problem);
  const requestedAt = ctx.clock.now();
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
    ...(scope !== null && { scope }),
    ...(audience !== null && { audience }),
  }).toString();
  const response = await ctx
    .fetch(tokenUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
      body,
      timeoutMs: ctx.settings.erp.requestTimeoutMs,
      maxBytes: maxTokenResponseBytes,
    })
    .catch((error: unknown) => {
      throw error instanceof GuardedFetchError ? networkError(error) : error;
    });
  const { status, headers } = response;
  if (status >= 300 && status < 400) throw tokenAddressMoved(headers['location']);
  if (status === 400 || status === 401 || status === 403)
    throw signInRefused(status, findJson(response.text));
  const problemOfStatus = statusError(
    response,
    requestedAt,
    `The token address responded with status ${status}`,
  );
  if (status !== 200 && problemOfStatus !== null) throw problemOfStatus;
  const { data, error } = TokenResponse.safeParse(findJson(response.text));
  if (status !== 200 || data === undefined)
    throw httpError('answer', 'ANSWER_UNREADABLE', 'The response to the sign-in is not an access token', {
      cause: error,
    });
  const lifetimeMs = (data.expires_in ?? defaultLifetimeSeconds) * 1000;
  return {
    header: `Bearer ${data.access_token}`,
    renewAt: requestedAt.getTime() + lifetimeMs - Math.min(renewBeforeMs, lifetimeMs / 2),
  };
}

const tokenAddressMoved = (location = 'another address'): ErpError =>
  httpError('credentials', 'TOKEN_ADDRESS_MOVED', `The token address redirects to ${location.slice(0, 300)}`);

/** With the `error` of RFC 6749, section 5.2; never with a description, which may quote the request. */
function signInRefused(status: number, body: unknown): ErpError {
  const code: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, 'error') : undefined;
  const reason = typeof code === 'string' ? code.slice(0, 100) : `status ${status}`;
  return httpError('credentials', 'SIGN_IN_REFUSED', `The ERP refused the sign-in: ${reason}`);
}
