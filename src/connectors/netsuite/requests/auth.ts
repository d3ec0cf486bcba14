// OAuth 2.0 machine-to-machine: an assertion signed with the connection's private key, valid for five
// minutes, is exchanged for an access token. Each connector caches one token, renews it a minute before it
// expires, and requests it once however many requests wait for it.
import { createPrivateKey, type KeyObject } from 'node:crypto';
import jwt from 'jsonwebtoken';
import { z } from 'zod';
import type { Ctx } from '../../../core/ctx.ts';
import { createId } from '../../../core/id.ts';
import { GuardedFetchError, type GuardedResponse } from '../../../core/network/guarded-fetch.ts';
import { type AccessToken, createTokenCache } from '../../../core/network/token-cache.ts';
import { findJson } from '../../../core/text/parse-json.ts';
import type { ErpError } from '../../connector.ts';
import { erpError, networkError, responseError } from './errors.ts';

export type Authorizer = {
  /**
   * The Authorization header for one attempt of one request. Rejects with `ErpError`, of kind `credentials`
   * when the login is refused, or with the signal's reason.
   */
  authorize(request: {
    readonly method: string;
    readonly url: string;
    readonly signal: AbortSignal;
  }): Promise<string>;
  /** NetSuite refused this header: the next `authorize` returns another one. */
  invalidate(refusedHeader: string): void;
};

export type Oauth2Keys = {
  readonly clientId: string;
  readonly certificateId: string | null;
  readonly privateKeyPem: string;
  /** When the certificate expires, ISO 8601. */
  readonly notAfter?: string | undefined;
};

const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const assertionSeconds = 300;
const renewBeforeMs = 60_000;
const maxTokenResponseBytes = 100_000;

const TokenResponse = z.object({
  access_token: z.string().min(1).max(20_000),
  expires_in: z.union([z.number(), z.string().regex(/^\d+$/).transform(Number)]),
  token_type: z.string().regex(/^bearer$/i),
});

/** Logs in with the first `authorize`, not before. */
export function createOauth2Authorizer(
  ctx: Pick<Ctx, 'fetch' | 'clock' | 'settings'>,
  origin: string,
  keys: Oauth2Keys,
): Authorizer {
  const url = `${origin}/services/rest/auth/oauth2/v1/token`;
  const tokens = createTokenCache(ctx.clock, () => requestToken(ctx, url, keys));
  return { authorize: ({ signal }) => tokens.header(signal), invalidate: tokens.invalidate };
}

async function requestToken(
  ctx: Pick<Ctx, 'fetch' | 'clock' | 'settings'>,
  url: string,
  keys: Oauth2Keys,
): Promise<AccessToken> {
  const requestedAt = ctx.clock.now();
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_assertion_type: assertionType,
    client_assertion: signAssertion(keys, url, requestedAt),
  }).toString();
  const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' };
  const limits = { timeoutMs: ctx.settings.erp.requestTimeoutMs, maxBytes: maxTokenResponseBytes };
  const response = await ctx
    .fetch(url, { method: 'POST', headers, body, ...limits })
    .catch((error: unknown) => {
      throw error instanceof GuardedFetchError ? networkError(error) : error;
    });
  if (response.status !== 200) throw tokenError(response, requestedAt, keys);
  const parsed = TokenResponse.safeParse(findJson(response.text));
  if (!parsed.success)
    throw erpError('answer', 'ANSWER_UNREADABLE', 'The response to the login is not an access token', {
      cause: parsed.error,
    });
  const { access_token: token, expires_in: seconds } = parsed.data;
  return { header: `Bearer ${token}`, renewAt: requestedAt.getTime() + seconds * 1000 - renewBeforeMs };
}

/**
 * The signed assertion, a JWT. PS256 for RSA keys, ES256/384/512 for the matching curves: the algorithms that
 * NetSuite accepts; RS256 is not among them. Throws `ErpError` of kind `credentials`: `CERTIFICATE_UNKNOWN`
 * without a certificate id, `PRIVATE_KEY_UNUSABLE` for a key that can't be parsed or is of another kind.
 */
export function signAssertion(keys: Oauth2Keys, audience: string, now: Date): string {
  if (keys.certificateId === null)
    throw erpError(
      'credentials',
      'CERTIFICATE_UNKNOWN',
      'The certificate of this connection has no certificate id yet',
    );
  const issuedAt = Math.floor(now.getTime() / 1000);
  const claims = {
    iss: keys.clientId,
    scope: ['rest_webservices'],
    aud: audience,
    iat: issuedAt,
    exp: issuedAt + assertionSeconds,
    jti: createId(),
  };
  try {
    const key = createPrivateKey(keys.privateKeyPem);
    return jwt.sign(claims, key, { algorithm: getAlgorithm(key), keyid: keys.certificateId });
  } catch (error) {
    throw erpError(
      'credentials',
      'PRIVATE_KEY_UNUSABLE',
      'The private key of this connection cannot be used to sign',
      { cause: error },
    );
  }
}

const curveAlgorithms: Readonly<Record<string, jwt.Algorithm>> = {
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
};

function getAlgorithm(key: KeyObject): jwt.Algorithm {
  if (key.asymmetricKeyType === 'rsa') return 'PS256';
  const algorithm = curveAlgorithms[key.asymmetricKeyDetails?.namedCurve ?? ''];
  if (algorithm === undefined) throw new Error('unsupported key type');
  return algorithm;
}

/** Explains the token endpoint's `error` values (RFC 6749, section 5.2) to those who set up connections. */
function tokenError(response: GuardedResponse, now: Date, { notAfter }: Oauth2Keys): ErpError {
  if (response.status !== 400 && response.status !== 401) return responseError(response, now);
  const body = findJson(response.text);
  const code = typeof body === 'object' && body !== null ? String(Reflect.get(body, 'error') ?? '') : '';
  const message = `The ERP refused the login: ${code === '' ? `status ${response.status}` : code}`;
  if (code === 'invalid_client' || code === 'unauthorized_client')
    return erpError('credentials', 'CLIENT_UNKNOWN', message);
  // NetSuite has one error value for all that is wrong with a certificate; we know when ours expires.
  if (code === 'invalid_grant' && notAfter !== undefined && Date.parse(notAfter) <= now.getTime())
    return erpError(
      'credentials',
      'CERTIFICATE_EXPIRED',
      `${message}, and the certificate of this connection expired at ${notAfter}`,
    );
  if (code === 'invalid_grant') return erpError('credentials', 'CERTIFICATE_UNKNOWN', message);
  if (code === 'invalid_scope') return erpError('credentials', 'PERMISSION_MISSING', message);
  return erpError('credentials', 'INVALID_LOGIN', message);
}
