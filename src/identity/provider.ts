// This service as an OpenID Connect client of an identity provider: authorization code flow with PKCE, state
// and nonce. The provider's metadata is discovered on first use and again after an hour; a failed discovery
// isn't cached, so that the next attempt repeats it.
import * as client from 'openid-client';
import { systemClock } from '../core/clock.ts';
import type { Ctx } from '../core/ctx.ts';
import { AppError, unavailable } from '../core/errors.ts';
import type { GuardedFetch } from '../core/network/guarded-fetch.ts';
import { isLoopbackHttp } from '../core/network/loopback.ts';

/** Ties the provider's response to the browser that began the sign-in; secret until that was checked. */
export type SignInAttempt = { readonly state: string; readonly nonce: string; readonly verifier: string };

export const prompts = ['login', 'select_account'] as const;
export type Prompt = (typeof prompts)[number];

export type Profile = { readonly verifiedEmail: string | null; readonly name: string | null };

/** As the provider confirmed it. `profile` may request userinfo: rejects with 400 or 503 when that fails. */
export type ProvenIdentity = {
  readonly issuer: string;
  readonly subject: string;
  profile(): Promise<Profile>;
};

export type IdentityProvider = {
  /** `prompt`: the provider asks even when it has a session. Rejects with 503 while it is unreachable. */
  start(prompt: Prompt | undefined): Promise<{ attempt: SignInAttempt; url: URL }>;
  /**
   * `callbackQuery` is what the provider added to the redirect URL. Rejects with 400 `provider_refused` or
   * `not_confirmed` when it doesn't prove an identity, and with 503 while the provider is unreachable.
   */
  finish(attempt: SignInAttempt, callbackQuery: URLSearchParams): Promise<ProvenIdentity>;
  /** Signs the person out of the provider too; null if it can't. Rejects with 503 while it is unreachable. */
  endSessionUrl(): Promise<URL | null>;
};

/** What this service is registered as at the provider. */
export type ProviderClient = {
  readonly issuer: string;
  readonly id: string;
  /** Null for a client that proves itself by PKCE alone. */
  readonly secret: string | null;
  readonly redirectUri: string;
  /** For an issuer that a customer entered. */
  readonly fetch?: GuardedFetch;
};
type ProviderCtx = Pick<Ctx, 'settings' | 'clock' | 'log'>;

const timeoutSeconds = 5;
const metadataTtlMs = 3_600_000;
const maxSkewChangeSeconds = 5;
const retryAfterSeconds = 10;

/** A method that the provider supports; client_secret_basic is the default when its metadata lists none. */
function clientAuthentication({ secret }: ProviderClient): client.ClientAuth {
  if (secret === null) return client.None();
  return (server, metadata, body, headers) => {
    const known = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const use = known.includes('client_secret_basic')
      ? client.ClientSecretBasic(secret)
      : client.ClientSecretPost(secret);
    use(server, metadata, body, headers);
  };
}

const maxResponseBytes = 1_048_576;

/** An error of the guarded fetch is one of the network, as those of `fetch` are. */
const guarded =
  (send: GuardedFetch): client.CustomFetch =>
  async (url, { method, headers, body, signal }) => {
    const request = {
      ...{ headers, timeoutMs: timeoutSeconds * 1_000, maxBytes: maxResponseBytes },
      ...(signal !== undefined && { signal }),
    };
    const sent = method === 'POST' ? ({ method, body: String(body) } as const) : {};
    const {
      status,
      headers: received,
      text,
    } = await send(url, { ...request, ...sent }).catch((cause: unknown) => {
      throw new TypeError('fetch failed', { cause });
    });
    return new Response(text, { status, headers: received });
  };

async function discover(registration: ProviderClient, skewSeconds: number): Promise<client.Configuration> {
  const { issuer, id, fetch } = registration;
  const execute = [
    client.enableNonRepudiationChecks,
    ...(isLoopbackHttp(issuer) ? [client.allowInsecureRequests] : []),
  ];
  const found = await client.discovery(
    new URL(issuer),
    id,
    { [client.clockSkew]: skewSeconds },
    clientAuthentication(registration),
    { execute, timeout: timeoutSeconds, ...(fetch && { [client.customFetch]: guarded(fetch) }) },
  );
  // It must be the same text as in access tokens, or one person would become two users.
  if (found.serverMetadata().issuer !== issuer)
    throw new Error("the issuer in the provider's metadata differs from the configured one");
  return found;
}

/** What to do after a failed sign-in. */
export const startAgain = 'Start again at /auth/login.';

const refused = (code: string, message: string): AppError =>
  new AppError('BAD_REQUEST', message, { details: [{ path: '', code, message: startAgain }] });

/** Errors of the library may contain codes and tokens, so only their name and code are logged. */
const describeError = (error: unknown): string => {
  const { name, code } =
    error instanceof Error ? (error as Error & { code?: unknown }) : { name: 'unknown', code: undefined };
  return `${name} ${typeof code === 'string' ? code : ''}`.trim();
};

const isProviderUnavailable = (error: unknown): boolean => {
  if (error instanceof client.ResponseBodyError) return error.status >= 500;
  if (error instanceof client.ClientError)
    return [
      'OAUTH_TIMEOUT',
      'OAUTH_ABORT',
      'OAUTH_RESPONSE_IS_NOT_CONFORM',
      'OAUTH_RESPONSE_IS_NOT_JSON',
      'OAUTH_PARSE_ERROR',
    ].includes(error.code ?? '');
  return error instanceof TypeError;
};

function toRefusal(error: unknown, { log }: ProviderCtx): AppError {
  const kind = describeError(error);
  if (error instanceof client.AuthorizationResponseError)
    return refused('provider_refused', 'The identity provider ended the sign-in without signing you in');
  if (isProviderUnavailable(error))
    return unavailable(
      'The identity provider cannot be reached. Try again in a few seconds.',
      retryAfterSeconds,
      new Error(`the identity provider: ${kind}`),
    );
  const reason = error instanceof client.ResponseBodyError ? error.error.slice(0, 100) : kind;
  log.warn({ reason }, 'the identity provider did not confirm a sign-in');
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

type Discovered = {
  readonly found: Promise<client.Configuration>;
  readonly untilMs: number;
  readonly skewSeconds: number;
};

/** The provider's metadata; concurrent callers share one discovery, which rejects with 503 when it fails. */
function createDiscovery(ctx: ProviderCtx, registration: ProviderClient) {
  let cached: Discovered | undefined;
  return async () => {
    // The library reads this machine's clock; it takes the difference to the database's clock as an option.
    const skewSeconds = Math.round((ctx.clock.now().getTime() - systemClock.now().getTime()) / 1000);
    const nowMs = ctx.clock.monotonicMs();
    if (
      cached === undefined ||
      cached.untilMs <= nowMs ||
      Math.abs(cached.skewSeconds - skewSeconds) > maxSkewChangeSeconds
    )
      cached = {
        found: discover(registration, skewSeconds),
        untilMs: nowMs + metadataTtlMs,
        skewSeconds,
      };
    const current = cached;
    try {
      return await current.found;
    } catch (error) {
      if (cached === current) cached = undefined;
      const cause = new Error(
        `discovery of the identity provider: ${error instanceof client.ClientError ? describeError(error) : String(error)}`,
      );
      throw unavailable(
        'The identity provider cannot be reached. Try again in a few seconds.',
        retryAfterSeconds,
        cause,
      );
    }
  };
}

async function fetchProfile(
  ctx: ProviderCtx,
  found: client.Configuration,
  accessToken: string,
  subject: string,
): Promise<Profile> {
  if (found.serverMetadata().userinfo_endpoint === undefined) return { verifiedEmail: null, name: null };
  const claims = await client.fetchUserInfo(found, accessToken, subject).catch((error: unknown) => {
    throw toRefusal(error, ctx);
  });
  return profileIn(claims);
}

/** Asks the provider for what the token lacks. */
async function completeProfile(
  ctx: ProviderCtx,
  found: client.Configuration,
  accessToken: string,
  claims: client.IDToken,
): Promise<Profile> {
  const known = profileIn(claims);
  if (known.verifiedEmail !== null && known.name !== null) return known;
  const fetched = await fetchProfile(ctx, found, accessToken, claims.sub);
  return { verifiedEmail: known.verifiedEmail ?? fetched.verifiedEmail, name: known.name ?? fetched.name };
}

/**
 * Creates the client. Rejects with 503 from its methods while the provider is unreachable, and with 400 from
 * `finish`: see `IdentityProvider`.
 */
export function createIdentityProvider(ctx: ProviderCtx, registration: ProviderClient): IdentityProvider {
  const configuration = createDiscovery(ctx, registration);
  const { issuer, redirectUri } = registration;
  return {
    async start(prompt) {
      const found = await configuration();
      const attempt = {
        state: client.randomState(),
        nonce: client.randomNonce(),
        verifier: client.randomPKCECodeVerifier(),
      };
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

    async finish({ state, nonce, verifier }, callbackQuery) {
      const found = await configuration();
      const checks = {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      };
      const url = new URL(`${redirectUri}?${callbackQuery}`);
      const tokens = await client.authorizationCodeGrant(found, url, checks).catch((error: unknown) => {
        throw toRefusal(error, ctx);
      });
      const claims = tokens.claims();
      if (claims === undefined)
        throw refused('not_confirmed', 'The identity provider did not confirm this sign-in');
      return {
        issuer,
        subject: claims.sub,
        profile: () => completeProfile(ctx, found, tokens.access_token, claims),
      };
    },

    async endSessionUrl() {
      const found = await configuration();
      if (found.serverMetadata().end_session_endpoint === undefined) return null;
      return client.buildEndSessionUrl(found, { post_logout_redirect_uri: `${ctx.settings.publicUrl}/` });
    },
  };
}
