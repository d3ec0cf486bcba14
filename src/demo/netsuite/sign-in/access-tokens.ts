// Access tokens of OAuth 2.0 and the check of every REST call. Tokens live in memory: after a restart callers sign in again,
// as they must be able to at any time.
import { randomBytes } from 'node:crypto';
import type { Request, RequestHandler } from 'express';
import type { Clock } from '../../../core/clock.ts';
import { Refusal } from '../wire.ts';
import { refuseLogin } from './refuse-login.ts';
import type { TokenBasedCheck } from './token-based.ts';

export type AccessTokens = {
  issue(): string;
  revokeAll(): void;
  /** Refuses a request without a token that is in force, or a signature that is right. */
  check: RequestHandler;
};

export const TOKEN_SECONDS = 3600;

const isTokenBased = (request: Request): boolean => /^\s*oauth\s/i.test(request.headers.authorization ?? '');

export function makeAccessTokens(clock: Clock, realm: string, checkTokenBased: TokenBasedCheck): AccessTokens {
  const expiries = new Map<string, number>();
  return {
    issue() {
      const now = clock.now().getTime();
      for (const [token, expiresAtMs] of expiries) if (expiresAtMs <= now) expiries.delete(token);
      // Three parts like the JWT that NetSuite gives, but callers have no business reading it.
      const token = [24, 96, 64].map((bytes) => randomBytes(bytes).toString('base64url')).join('.');
      expiries.set(token, now + TOKEN_SECONDS * 1000);
      return token;
    },
    revokeAll: () => expiries.clear(),
    check(request, _response, next) {
      if (isTokenBased(request)) {
        checkTokenBased(request);
        return next();
      }
      const expiresAtMs = expiries.get(bearerOf(request, realm));
      if (expiresAtMs === undefined) throw refuseBearer(realm, 'token_rejected: the access token is unknown or revoked');
      if (expiresAtMs <= clock.now().getTime()) throw refuseBearer(realm, 'token_rejected: the access token has expired');
      next();
    },
  };
}

function bearerOf(request: Request, realm: string): string {
  const header = request.headers.authorization;
  if (header === undefined || header.trim() === '') throw refuseBearer(realm, 'the request has no Authorization header');
  const [scheme = '', ...credentials] = header.trim().split(' ');
  if (scheme.toLowerCase() !== 'bearer') throw refuseBearer(realm, `the authorization scheme ${scheme} is unknown`);
  const [token] = credentials;
  if (credentials.length !== 1 || !token || !/^[A-Za-z0-9._~+/-]+=*$/.test(token)) throw malformed(realm);
  return token;
}

function refuseBearer(realm: string, reason: string): Refusal {
  const challenge = `Bearer realm="${realm}", error="invalid_token", error_description="Invalid login attempt."`;
  return refuseLogin(reason, { 'www-authenticate': challenge });
}

function malformed(realm: string): Refusal {
  const text = 'The request could not be understood by the server due to malformed syntax.';
  const challenge = `Bearer realm="${realm}", error="invalid_request", error_description="${text}"`;
  return new Refusal(
    400,
    { detail: text, 'o:errorCode': 'INVALID_REQUEST' },
    { reason: 'the bearer token is malformed', headers: { 'www-authenticate': challenge } },
  );
}
