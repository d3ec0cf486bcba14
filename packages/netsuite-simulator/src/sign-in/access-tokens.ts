// Issues OAuth 2.0 access tokens and authenticates every REST call. Tokens are kept in memory: after a
// restart callers sign in again, which they must be able to do at any time.
import { randomBytes } from 'node:crypto';
import type { Request, RequestHandler } from 'express';
import type { Clock } from '../clock.ts';
import { RestError } from '../wire.ts';
import { setIntegration } from './caller.ts';
import { invalidLogin } from './invalid-login.ts';
import type { TokenBasedCheck } from './token-based.ts';

export type AccessTokens = {
  /** A new token of the integration with this client id. */
  issue(clientId: string): string;
  revokeAll(): void;
  /**
   * Throws RestError 401 unless the request has a valid bearer token or token-based signature, and 400 for a
   * malformed bearer token.
   */
  authenticate: RequestHandler;
};

export const TOKEN_SECONDS = 3600;

const isTokenBased = (request: Request): boolean => /^\s*oauth\s/i.test(request.headers.authorization ?? '');

/** `authenticate` throws RestError 401 or 400; see AccessTokens. `realm` is named in challenges. */
export function createAccessTokens(
  clock: Clock,
  realm: string,
  checkTokenBased: TokenBasedCheck,
): AccessTokens {
  const issued = new Map<string, { clientId: string; expiresAtMs: number }>();
  return {
    issue(clientId) {
      const now = clock.now().getTime();
      for (const [token, { expiresAtMs }] of issued) if (expiresAtMs <= now) issued.delete(token);
      // Three parts like NetSuite's JWTs. The content is random: callers must treat tokens as opaque.
      const token = [24, 96, 64].map((bytes) => randomBytes(bytes).toString('base64url')).join('.');
      issued.set(token, { clientId, expiresAtMs: now + TOKEN_SECONDS * 1000 });
      return token;
    },
    revokeAll: () => issued.clear(),
    authenticate(request, response, next) {
      if (isTokenBased(request)) {
        setIntegration(response, checkTokenBased(request));
        return next();
      }
      const token = issued.get(parseBearerToken(request, realm));
      if (!token) throw invalidBearerToken(realm, 'token_rejected: the access token is unknown or revoked');
      if (token.expiresAtMs <= clock.now().getTime())
        throw invalidBearerToken(realm, 'token_rejected: the access token has expired');
      setIntegration(response, token.clientId);
      next();
    },
  };
}

function parseBearerToken(request: Request, realm: string): string {
  const header = request.headers.authorization;
  if (header === undefined || header.trim() === '')
    throw invalidBearerToken(realm, 'the request has no Authorization header');
  const [scheme = '', ...credentials] = header.trim().split(' ');
  if (scheme.toLowerCase() !== 'bearer')
    throw invalidBearerToken(realm, `the authorization scheme ${scheme} is unknown`);
  const [token] = credentials;
  if (credentials.length !== 1 || !token || !/^[A-Za-z0-9._~+/-]+=*$/.test(token))
    throw malformedBearerToken(realm);
  return token;
}

function invalidBearerToken(realm: string, reason: string): RestError {
  const challenge = `Bearer realm="${realm}", error="invalid_token", error_description="Invalid login attempt."`;
  return invalidLogin(reason, { 'www-authenticate': challenge });
}

function malformedBearerToken(realm: string): RestError {
  const text = 'The request could not be understood by the server due to malformed syntax.';
  const challenge = `Bearer realm="${realm}", error="invalid_request", error_description="${text}"`;
  return new RestError(
    400,
    { detail: text, 'o:errorCode': 'INVALID_REQUEST' },
    { reason: 'the bearer token is malformed', headers: { 'www-authenticate': challenge } },
  );
}
