// Verifies OAuth 2.0 access tokens (JWT) of the configured identity provider. Only the listed algorithms are
// accepted, keys come only from the provider's JWKS, and ID tokens are rejected: their audience is a client,
// that of access tokens is this service.
import jwt, { type JwtHeader, type JwtPayload } from 'jsonwebtoken';
import type { Ctx } from '../core/ctx.ts';
import type { Log } from '../core/log.ts';
import { readScope } from '../core/permissions.ts';
import type { Settings } from '../core/settings.ts';
import { createSigningKeys } from './signing-keys.ts';

export type TokenClaims = {
  readonly issuer: string;
  readonly subject: string;
  /** The verified e-mail address in the token, else from the issuer's userinfo endpoint. Never rejects. */
  verifiedEmail(): Promise<string | null>;
  /** Whether the token has the scope that restricts it to reading. */
  readonly readOnly: boolean;
};

/** Undefined for an invalid token. Rejects with 503 while the provider's keys are unavailable. */
export type VerifyToken = (token: string) => Promise<TokenClaims | undefined>;

type Oidc = NonNullable<Settings['oidc']>;

const algorithms: jwt.Algorithm[] = ['RS256', 'PS256', 'ES256'];
/** Many providers use plain JWT or omit the type; their ID tokens are recognized by the audience. */
const accessTokenTypes = new Set(['at+jwt', 'application/at+jwt', 'jwt']);
const clockToleranceSeconds = 5;
const providerTimeoutMs = 5_000;

const verifiedEmailIn = (claims: Record<string, unknown>): string | null =>
  claims['email_verified'] === true && typeof claims['email'] === 'string' ? claims['email'] : null;

/** Providers write the granted scopes as `scope` or `scp`, as one text or as a list. */
const parseScopes = (payload: JwtPayload): string[] =>
  [payload['scope'], payload['scp']]
    .flat()
    .flatMap((value) => (typeof value === 'string' ? value.split(' ') : []));

/** The verified e-mail address from the provider's userinfo; null when it has none or the request fails. */
async function fetchUserinfo(uri: string, token: string, subject: string, log: Log): Promise<string | null> {
  try {
    const headers = { authorization: `Bearer ${token}`, accept: 'application/json' };
    const response = await fetch(uri, {
      headers,
      redirect: 'error',
      signal: AbortSignal.timeout(providerTimeoutMs),
    });
    if (!response.ok) return null;
    const body: unknown = await response.json();
    if (typeof body !== 'object' || body === null) return null;
    const claims = body as Record<string, unknown>;
    return claims['sub'] === subject ? verifiedEmailIn(claims) : null;
  } catch (error) {
    log.warn({ err: error }, "the request to the identity provider's userinfo endpoint failed");
    return null;
  }
}

function toClaims(payload: JwtPayload, token: string, oidc: Oidc, log: Log): TokenClaims | undefined {
  const { iss: issuer, sub: subject, exp } = payload;
  if (typeof issuer !== 'string' || typeof subject !== 'string' || subject === '' || typeof exp !== 'number')
    return undefined;
  return {
    issuer,
    subject,
    verifiedEmail: async () =>
      verifiedEmailIn(payload) ??
      (oidc.userinfoUri === null ? null : fetchUserinfo(oidc.userinfoUri, token, subject, log)),
    readOnly: parseScopes(payload).includes(readScope),
  };
}

/** The header, if the token could be valid according to it; the signature isn't verified yet. */
function usableHeader(token: string): (JwtHeader & { kid: string }) | undefined {
  let header: JwtHeader | undefined;
  try {
    header = jwt.decode(token, { complete: true })?.header;
  } catch {
    return undefined;
  }
  const { kid, alg, typ, crit } = (header ?? {}) as Partial<Record<'kid' | 'alg' | 'typ' | 'crit', unknown>>;
  if (header === undefined || typeof kid !== 'string' || crit !== undefined) return undefined;
  if (!algorithms.includes(alg as jwt.Algorithm)) return undefined;
  if (typ !== undefined && !(typeof typ === 'string' && accessTokenTypes.has(typ.toLowerCase())))
    return undefined;
  return { ...header, kid };
}

/**
 * Creates the verifier; without `oidc` it rejects all tokens. `alsoFor`: further accepted audiences, other
 * names of this service as a resource. The returned function rejects with 503 while keys are unavailable.
 */
export function createTokenVerifier(
  oidc: Settings['oidc'],
  { clock, log }: Pick<Ctx, 'clock' | 'log'>,
  alsoFor: readonly string[] = [],
): VerifyToken {
  if (oidc === null) return async () => undefined;
  const keys = createSigningKeys(oidc.jwksUri, { clock, log });
  return async (token) => {
    const header = usableHeader(token);
    if (header === undefined) return undefined;
    for (const key of await keys.find(header.kid, header.alg)) {
      try {
        const payload = jwt.verify(token, key, {
          algorithms,
          issuer: oidc.issuer,
          audience: [oidc.audience, ...alsoFor],
          clockTolerance: clockToleranceSeconds,
          clockTimestamp: Math.floor(clock.now().getTime() / 1000),
        });
        return typeof payload === 'string' ? undefined : toClaims(payload, token, oidc, log);
      } catch (error) {
        log.debug({ err: error }, 'an access token was rejected');
      }
    }
    return undefined;
  };
}
