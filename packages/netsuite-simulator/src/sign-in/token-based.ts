// Verifies calls signed by token-based authentication. The response is always INVALID_LOGIN; the audit trail
// gets the reason under the name that NetSuite's login audit trail uses.
import { timingSafeEqual } from 'node:crypto';
import type { Request } from 'express';
import type { Clock } from '../clock.ts';
import type { Switches } from '../switches.ts';
import { invalidLogin } from './invalid-login.ts';
import { computeSignature, type OauthHeader, OauthHeaderError, parseOauthHeader } from './oauth1.ts';
import type { KnownToken, TokenCredentialsStore } from './token-credentials.ts';

/**
 * The consumer key of the caller's integration. Throws RestError 401 for a call that isn't correctly signed.
 */
export type TokenBasedCheck = (request: Request) => string;
type Parts = {
  accountId: string;
  clock: Clock;
  credentials: TokenCredentialsStore;
  switches: Switches;
  isOn: () => boolean;
};

export const CLOCK_TOLERANCE_SECONDS = 300;
const MIN_NONCE_LENGTH = 6;
const MAX_FAILURES = 5;
const LOCK_MS = 30 * 60_000;
const REQUIRED = [
  'oauth_consumer_key',
  'oauth_token',
  'oauth_nonce',
  'oauth_timestamp',
  'oauth_signature_method',
  'oauth_version',
  'oauth_signature',
];

/** The OAuth realm of an account id. */
export const oauthRealm = (accountId: string): string => accountId.toUpperCase().replaceAll('-', '_');

class LoginFailure extends Error {}

type Failed = { count: number; lockedUntilMs: number };

const failedAgain = (failed: Failed | undefined, nowMs: number): Failed => {
  const count = (failed?.count ?? 0) + 1;
  return { count: count % MAX_FAILURES, lockedUntilMs: count === MAX_FAILURES ? nowMs + LOCK_MS : 0 };
};

/** The check throws RestError 401 when the call isn't signed as it must be or the feature is off. */
export function createTokenBasedCheck({
  accountId,
  clock,
  credentials,
  switches,
  isOn,
}: Parts): TokenBasedCheck {
  const nonces = createNonceLedger();
  const failures = new Map<string, Failed>();
  const challenge = () =>
    switches.challengesTba ? { 'www-authenticate': `OAuth realm="${oauthRealm(accountId)}"` } : {};

  const verify = (request: Request, header: OauthHeader): string => {
    const token = getToken(credentials, header, oauthRealm(accountId));
    const nowMs = clock.now().getTime();
    const failed = failures.get(token.tokenId);
    if (switches.locksAfterFailures && failed && failed.lockedUntilMs > nowMs)
      throw new LoginFailure('temporary_locked');
    try {
      assertSignature(request, header, token, nowMs);
      nonces.use(
        token.name,
        `${header.parameters.get('oauth_nonce')} ${header.parameters.get('oauth_timestamp')}`,
        nowMs,
      );
      failures.delete(token.tokenId);
      return token.consumerKey;
    } catch (error) {
      failures.set(token.tokenId, failedAgain(failed, nowMs));
      throw error;
    }
  };

  return (request) => {
    if (!isOn())
      throw invalidLogin('FeatureDisabled: token-based authentication is off in this account', challenge());
    try {
      const header = parseOauthHeader(request.headers.authorization ?? '');
      const missing = REQUIRED.filter((name) => !header.parameters.has(name));
      if (missing.length > 0)
        throw new LoginFailure(`MissingTokenPassportRequiredFields: ${missing.join(', ')}`);
      return verify(request, header);
    } catch (error) {
      if (error instanceof OauthHeaderError)
        throw invalidLogin(`parameter_rejected: ${error.message}`, challenge());
      if (error instanceof LoginFailure) throw invalidLogin(error.message, challenge());
      throw error;
    }
  };
}

function getToken(
  credentials: TokenCredentialsStore,
  { realm, parameters }: OauthHeader,
  expectedRealm: string,
): KnownToken {
  if (realm !== expectedRealm)
    throw new LoginFailure(`permission_denied: the realm is ${realm ?? 'absent'}, not ${expectedRealm}`);
  const version = parameters.get('oauth_version');
  if (version !== '1.0') throw new LoginFailure(`VersionRejected: ${version}`);
  const algorithm = parameters.get('oauth_signature_method');
  if (algorithm !== 'HMAC-SHA256') throw new LoginFailure(`UnknownAlgorithm: ${algorithm}`);
  const consumerKey = parameters.get('oauth_consumer_key') ?? '';
  if (!credentials.hasConsumer(consumerKey)) throw new LoginFailure('consumer_key_unknown');
  const token = credentials.findToken(parameters.get('oauth_token') ?? '');
  if (!token) throw new LoginFailure('token_rejected: the token is unknown');
  if (token.consumerKey !== consumerKey)
    throw new LoginFailure('token_rejected: the token is of another integration');
  if (token.isRevoked) throw new LoginFailure('token_rejected: the token has been revoked');
  if (!token.isIntegrationEnabled) throw new LoginFailure('consumer_key_refused: the integration is blocked');
  return token;
}

function assertSignature(
  request: Request,
  { parameters }: OauthHeader,
  token: KnownToken,
  nowMs: number,
): void {
  const timestamp = parameters.get('oauth_timestamp') ?? '';
  const lateSeconds = Math.abs(Math.floor(nowMs / 1000) - Number(timestamp));
  if (!/^\d{1,12}$/.test(timestamp))
    throw new LoginFailure(`InvalidTimestamp: ${timestamp} is no number of seconds`);
  if (lateSeconds > CLOCK_TOLERANCE_SECONDS)
    throw new LoginFailure(`InvalidTimestamp: ${lateSeconds} seconds from the account's clock`);
  if ((parameters.get('oauth_nonce') ?? '').length < MIN_NONCE_LENGTH)
    throw new LoginFailure('nonce_rejected: shorter than 6 characters');
  const [path = '', ...rest] = request.originalUrl.split('?');
  // The host as the caller wrote it, port included.
  const address = `${request.protocol}://${request.headers.host ?? ''}${path}`;
  const signed = { method: request.method, address, query: rest.join('?') };
  // Clients disagree on whether a plus in a query means a space.
  const readings = signed.query.includes('+') ? [true, false] : [false];
  const given = Buffer.from(parameters.get('oauth_signature') ?? '', 'utf8');
  const matches = readings.some((plusIsSpace) => {
    const expected = Buffer.from(computeSignature(signed, parameters, token, plusIsSpace), 'utf8');
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
  if (!matches) throw new LoginFailure('InvalidSignature');
}

/**
 * A nonce with its timestamp can be used once per user. It is remembered as long as its timestamp would be
 * accepted.
 */
function createNonceLedger(): { use(user: string, nonce: string, nowMs: number): void } {
  const used = new Map<string, number>();
  const KEEP_MS = (2 * CLOCK_TOLERANCE_SECONDS + 1) * 1000;
  return {
    use(user, nonce, nowMs) {
      for (const [key, expiresAtMs] of used) {
        if (expiresAtMs > nowMs) break; // the map is in the order of use
        used.delete(key);
      }
      const key = `${user}\n${nonce}`;
      if (used.has(key)) throw new LoginFailure('NonceUsed');
      used.set(key, nowMs + KEEP_MS);
    },
  };
}
