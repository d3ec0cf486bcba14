// This service as a client of the identity provider: authorization code with PKCE, state and nonce. What the provider says about
// itself is asked when it is first needed and again after an hour; a failure is forgotten, so that the next attempt asks anew.
import * as client from 'openid-client';
import { systemClock } from '../core/clock.ts';
import type { Ctx } from '../core/ctx.ts';
import { AppError, unavailable } from '../core/errors.ts';
import { isLoopbackHttp } from '../core/loopback.ts';
import type { Settings } from '../core/settings.ts';

/** What ties the provider's answer to the browser that asked; secret until the answer is in. */
export type Attempt = { readonly state: string; readonly nonce: string; readonly verifier: string };

export const prompts = ['login', 'select_account'] as const;
export type Prompt = (typeof prompts)[number];

export type Profile = { readonly verifiedEmail: string | null; readonly name: string | null };

/** Who the provider says it is. `profile` may ask its userinfo. */
export type Proven = { readonly issuer: string; readonly subject: string; profile(): Promise<Profile> };

export type IdentityProvider = {
  /** With a prompt the provider asks who it is even where it knows. */
  begin(prompt: Prompt | undefined): Promise<{ attempt: Attempt; url: URL }>;
  /** `answer` is the query of the callback. Throws 400 or 403 when it proves nothing, 503 while the provider is away. */
  finish(attempt: Attempt, answer: URLSearchParams): Promise<Proven>;
  /** Where the person signs out of the provider too; null when it has no such address. */
  endSessionUrl(): Promise<URL | null>;
};

type Oidc = NonNullable<Settings['oidc']>;
type Client = NonNullable<Oidc['client']>;
type ProviderCtx = Pick<Ctx, 'settings' | 'clock' | 'log'>;

const timeoutSeconds = 5;
const keepMs = 3_600_000;
const mostSkewSeconds = 5;
const retryAfterSeconds = 10;

/** As the provider prefers; Basic is what every provider must know unless it says otherwise. */
function clientAuthentication({ secret }: Client): client.ClientAuth {
  if (secret === null) return client.None();
  return (server, metadata, body, headers) => {
    const known = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const use = known.includes('client_secret_basic') ? client.ClientSecretBasic(secret) : client.ClientSecretPost(secret);
    use(server, metadata, body, headers);
  };
}

async function discover({ issuer }: Oidc, us: Client, skewSeconds: number): Promise<client.Configuration> {
  const execute = [client.enableNonRepudiationChecks, ...(isLoopbackHttp(issuer) ? [client.allowInsecureRequests] : [])];
  const found = await client.discovery(new URL(issuer), us.id, { [client.clockSkew]: skewSeconds }, clientAuthentication(us), {
    execute,
    timeout: timeoutSeconds,
  });
  // The same text as in its access tokens, or one person would be two.
  if (found.serverMetadata().issuer !== issuer) throw new Error('the provider names itself otherwise than OIDC_ISSUER does');
  return found;
}

const refused = (code: string, message: string): AppError =>
  new AppError('BAD_REQUEST', message, { details: [{ path: '', code, message: 'Start again from /auth/login' }] });

/** Errors of the library may hold codes and tokens: only their kind goes on. */
const kindOf = (error: unknown): string => {
  const { name, code } = error instanceof Error ? (error as Error & { code?: unknown }) : { name: 'unknown', code: undefined };
  return `${name} ${typeof code === 'string' ? code : ''}`.trim();
};

const providerIsAway = (error: unknown): boolean => {
  if (error instanceof client.ResponseBodyError) return error.status >= 500;
  if (error instanceof client.ClientError)
    return ['OAUTH_TIMEOUT', 'OAUTH_ABORT', 'OAUTH_RESPONSE_IS_NOT_CONFORM', 'OAUTH_RESPONSE_IS_NOT_JSON', 'OAUTH_PARSE_ERROR'].includes(
      error.code ?? '',
    );
  return error instanceof TypeError;
};

function toRefusal(error: unknown, { log }: ProviderCtx): AppError {
  const kind = kindOf(error);
  if (error instanceof client.AuthorizationResponseError)
    return refused('provider_refused', 'The identity provider ended the sign-in without signing you in');
  if (providerIsAway(error))
    return unavailable(
      'The identity provider can not be reached; try again',
      retryAfterSeconds,
      new Error(`the identity provider: ${kind}`),
    );
  const reason = error instanceof client.ResponseBodyError ? error.error.slice(0, 100) : kind;
  log.warn({ reason }, 'a sign-in was not confirmed by the identity provider');
  return refused('not_confirmed', 'The identity provider did not confirm this sign-in');
}

type Claims = Readonly<Record<string, unknown>>;
const textIn = (claims: Claims, name: string): string | null => {
  const value = claims[name];
  return typeof value === 'string' && value !== '' ? value : null;
};
const profileIn = (claims: Claims): Profile => ({
  verifiedEmail: claims['email_verified'] === true ? textIn(claims, 'email') : null,
  name: textIn(claims, 'name'),
});

export function openIdentityProvider(ctx: ProviderCtx, oidc: Oidc, us: Client): IdentityProvider {
  let held: { readonly found: Promise<client.Configuration>; readonly untilMs: number; readonly skewSeconds: number } | undefined;

  /** Several requests at once share one question. */
  async function configuration(): Promise<client.Configuration> {
    // The library reads this machine's clock, and takes the difference with what it keeps.
    const skewSeconds = Math.round((ctx.clock.now().getTime() - systemClock.now().getTime()) / 1000);
    if (held === undefined || held.untilMs <= ctx.clock.monotonicMs() || Math.abs(held.skewSeconds - skewSeconds) > mostSkewSeconds)
      held = { found: discover(oidc, us, skewSeconds), untilMs: ctx.clock.monotonicMs() + keepMs, skewSeconds };
    const asked = held;
    try {
      return await asked.found;
    } catch (error) {
      if (held === asked) held = undefined;
      const cause = new Error(`discovery of the identity provider: ${error instanceof client.ClientError ? kindOf(error) : String(error)}`);
      throw unavailable('The identity provider can not be reached; try again', retryAfterSeconds, cause);
    }
  }

  const redirectUri = `${ctx.settings.publicUrl}/auth/callback`;

  async function askUserinfo(found: client.Configuration, accessToken: string, subject: string): Promise<Profile> {
    if (found.serverMetadata().userinfo_endpoint === undefined) return { verifiedEmail: null, name: null };
    const claims = await client.fetchUserInfo(found, accessToken, subject).catch((error: unknown) => {
      throw toRefusal(error, ctx);
    });
    return profileIn(claims);
  }

  return {
    async begin(prompt) {
      const found = await configuration();
      const attempt = { state: client.randomState(), nonce: client.randomNonce(), verifier: client.randomPKCECodeVerifier() };
      const url = client.buildAuthorizationUrl(found, {
        redirect_uri: redirectUri,
        scope: 'openid email profile',
        state: attempt.state,
        nonce: attempt.nonce,
        code_challenge: await client.calculatePKCECodeChallenge(attempt.verifier),
        code_challenge_method: 'S256',
        ...(prompt !== undefined && { prompt }),
      });
      return { attempt, url };
    },

    async finish({ state, nonce, verifier }, answer) {
      const found = await configuration();
      const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true };
      const url = new URL(`${redirectUri}?${answer}`);
      const tokens = await client.authorizationCodeGrant(found, url, checks).catch((error: unknown) => {
        throw toRefusal(error, ctx);
      });
      const claims = tokens.claims();
      if (claims === undefined) throw refused('not_confirmed', 'The identity provider did not confirm this sign-in');
      const inToken = profileIn(claims);
      return {
        issuer: oidc.issuer,
        subject: claims.sub,
        profile: async () => {
          if (inToken.verifiedEmail !== null && inToken.name !== null) return inToken;
          const asked = await askUserinfo(found, tokens.access_token, claims.sub);
          return { verifiedEmail: inToken.verifiedEmail ?? asked.verifiedEmail, name: inToken.name ?? asked.name };
        },
      };
    },

    async endSessionUrl() {
      const found = await configuration();
      if (found.serverMetadata().end_session_endpoint === undefined) return null;
      return client.buildEndSessionUrl(found, { post_logout_redirect_uri: `${ctx.settings.publicUrl}/` });
    },
  };
}
