// Verifies OAuth 2.0 access tokens (JWT) of the configured identity provider. The algorithm list is closed, keys come from the
// provider's JWKS alone, and an ID token is no access token: its audience is a client, ours is this service.
import jwt, { type JwtHeader, type JwtPayload } from 'jsonwebtoken';
import { JwksClient } from 'jwks-rsa';
import type { Log } from '../core/log.ts';
import type { Settings } from '../core/settings.ts';

export type TokenClaims = {
  readonly issuer: string;
  readonly subject: string;
  /** Only when the token itself says that the issuer verified it. */
  readonly verifiedEmail: string | null;
  /** A scope naming portal:read bounds the token to reading. */
  readonly readOnly: boolean;
};

/** Undefined for any token that must not be believed. */
export type VerifyToken = (token: string) => Promise<TokenClaims | undefined>;

const algorithms: jwt.Algorithm[] = ['RS256', 'PS256', 'ES256'];
const accessTokenTypes = new Set(['at+jwt', 'application/at+jwt', 'jwt']);
const clockToleranceSeconds = 5;

function toClaims(payload: JwtPayload): TokenClaims | undefined {
  if (typeof payload.iss !== 'string' || typeof payload.sub !== 'string' || payload.sub === '' || typeof payload.exp !== 'number')
    return undefined;
  const email = payload['email_verified'] === true && typeof payload['email'] === 'string' ? payload['email'] : null;
  const scopes = typeof payload['scope'] === 'string' ? payload['scope'].split(' ') : [];
  return {
    issuer: payload.iss,
    subject: payload.sub,
    verifiedEmail: email,
    readOnly: scopes.includes('portal:read') && !scopes.includes('portal:write'),
  };
}

const decodedHeader = (token: string): JwtHeader | undefined => {
  try {
    return jwt.decode(token, { complete: true })?.header;
  } catch {
    return undefined;
  }
};

export function openTokenVerifier(oidc: Settings['oidc'], log: Log): VerifyToken {
  if (oidc === null) return async () => undefined;
  const keys = new JwksClient({
    jwksUri: oidc.jwksUri,
    cache: true,
    cacheMaxAge: 600_000,
    rateLimit: true,
    jwksRequestsPerMinute: 10,
    timeout: 5_000,
  });
  return async (token) => {
    const header = decodedHeader(token);
    if (header?.kid === undefined || !algorithms.includes(header.alg as jwt.Algorithm)) return undefined;
    if (header.typ !== undefined && !accessTokenTypes.has(header.typ.toLowerCase())) return undefined;
    try {
      const key = await keys.getSigningKey(header.kid);
      const payload = jwt.verify(token, key.getPublicKey(), {
        algorithms,
        issuer: oidc.issuer,
        audience: oidc.audience,
        clockTolerance: clockToleranceSeconds,
      });
      return typeof payload === 'string' ? undefined : toClaims(payload);
    } catch (error) {
      log.debug({ err: error }, 'a token was refused');
      return undefined;
    }
  };
}
