// The headers that sign a request in: a bearer token by client credentials, a user name with password, or a
// fixed header. A token is requested once however many requests wait for it, and renewed before it expires.
import { z } from 'zod';
import type { Ctx } from '../../../core/ctx.ts';
import { GuardedFetchError } from '../../../core/network/guarded-fetch.ts';
import { type AccessToken, createTokenCache } from '../../../core/network/token-cache.ts';
import { findJson } from '../../../core/text/parse-json.ts';
import type { ErpError } from '../../connector.ts';
import { findAddressProblem, type OdataSecrets, type OdataSettings } from '../connection.ts';
import { erpError, networkError, responseError } from './errors.ts';

export type SignInHeaders = Readonly<Record<string, string>>;
export type SignIn = {
  /** Rejects with `ErpError`, of kind `credentials` when the sign-in is refused, or with the signal's reason. */
  headers(signal: AbortSignal): Promise<SignInHeaders>;
  /** The ERP refused these headers: whether the next `headers` may be others. */
  renew(refused: SignInHeaders): boolean;
};

type SignInCtx = Pick<Ctx, 'fetch' | 'clock' | 'settings'>;
type Oauth2 = Extract<OdataSettings['signIn'], { method: 'oauth2' }> & { readonly clientSecret: string };

const renewBeforeMs = 60_000;
const defaultLifetimeSeconds = 300;
const maxTokenResponseBytes = 100_000;

const TokenResponse = z.object({
  access_token: z.string().regex(/^[\x21-\x7e]{1,20000}$/),
  expires_in: z.union([z.number(), z.string().regex(/^\d+$/).transform(Number)]).optional(),
  token_type: z.string().regex(/^bearer$/i),
});

/**
 * Secrets that don't match the settings' method can't sign in: the returned object then rejects with an
 * `ErpError`, as it does for everything that the token address did.
 */
export function createSignIn(ctx: SignInCtx, { signIn }: OdataSettings, secrets: OdataSecrets): SignIn {
  const fixed = (headers: SignInHeaders): SignIn => ({ headers: async () => headers, renew: () => false });
  if (signIn.method === 'oauth2' && 'clientSecret' in secrets)
    return createTokenSignIn(ctx, { ...signIn, ...secrets });
  if (signIn.method === 'basic' && 'password' in secrets) {
    const credentials = Buffer.from(`${signIn.userName}:${secrets.password}`).toString('base64');
    return fixed({ authorization: `Basic ${credentials}` });
  }
  if (signIn.method === 'header' && 'headerValue' in secrets)
    return fixed({ [signIn.name.toLowerCase()]: secrets.headerValue });
  const refusal = erpError('credentials', 'SIGN_IN_REFUSED', 'The secrets belong to another sign-in');
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
  if (problem !== null) throw erpError('query', 'HOST_REFUSED', problem);
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
  if (status !== 200) throw responseError(response, requestedAt);
  const { data, error } = TokenResponse.safeParse(findJson(response.text));
  if (data === undefined)
    throw erpError('answer', 'ANSWER_UNREADABLE', 'The response to the sign-in is not an access token', {
      cause: error,
    });
  const lifetimeMs = (data.expires_in ?? defaultLifetimeSeconds) * 1000;
  return {
    header: `Bearer ${data.access_token}`,
    renewAt: requestedAt.getTime() + lifetimeMs - renewBeforeMs,
  };
}

const tokenAddressMoved = (location = 'another address'): ErpError =>
  erpError('credentials', 'TOKEN_ADDRESS_MOVED', `The token address redirects to ${location.slice(0, 300)}`);

/** With the `error` of RFC 6749, section 5.2; never with a description, which may quote the request. */
function signInRefused(status: number, body: unknown): ErpError {
  const code: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, 'error') : undefined;
  const reason = typeof code === 'string' ? code.slice(0, 100) : `status ${status}`;
  return erpError('credentials', 'SIGN_IN_REFUSED', `The ERP refused the sign-in: ${reason}`);
}
