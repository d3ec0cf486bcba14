// The demo's identity provider: real OpenID Connect on loopback, with people who need no password. It signs
// people in to the portal and to clients that register themselves (authorization code with PKCE), and issues
// an agent tokens that act for one of them (client credentials).
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider, {
  type ClientMetadata,
  type Configuration,
  errors,
  type KoaContextWithOIDC,
} from 'oidc-provider';
import { readScope } from '../../src/core/permissions.ts';
import type { ClientStore } from './client-store.ts';
import { handleInteraction } from './interaction.ts';
import { createMemoryAdapter } from './memory-adapter.ts';
import { contentSecurityPolicy, messagePage, signOutPage } from './pages.ts';
import type { IdentityProviderSecrets } from './secrets.ts';

export type DemoPerson = {
  /** Must never change: the portal identifies the person by it (`sub`). */
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly about: string;
  /** Default: true. */
  readonly emailVerified?: boolean;
};

export type IdentityProviderOptions = {
  readonly port: number;
  readonly people: readonly DemoPerson[];
  /** Id of the person for whom the agent's tokens act. */
  readonly agentFor: string;
  readonly secrets: IdentityProviderSecrets;
  /** The clients that registered themselves. */
  readonly clients: ClientStore;
  /** A monotonic clock, in milliseconds. */
  readonly nowMs: () => number;
};

/** The portal's resource indicator: `aud` of access tokens. */
const audience = 'urn:portal-service:demo';
const portalId = 'portal';
const agentId = 'demo-agent';
const signInScopes = 'openid email profile';

export type IdentityProviderServer = {
  readonly issuer: string;
  /** The portal's OpenID Connect settings. */
  readonly settings: {
    readonly issuer: string;
    readonly audience: string;
    readonly jwksUri: string;
    readonly userinfoUri: string;
    readonly client: { readonly id: string; readonly secret: string };
  };
  readonly agent: { readonly id: string; readonly secret: string; readonly tokenUrl: string };
  /** Starts serving the portal at this address; until then every response is 503. */
  startServing(portalUrl: string): void;
  stop(): Promise<void>;
};

type ProviderContext = IdentityProviderOptions & { readonly issuer: string; readonly portalUrl: string };

const sendHtml = (ctx: KoaContextWithOIDC, policy: string, body: string): void => {
  ctx.set('Content-Security-Policy', policy);
  ctx.type = 'html';
  ctx.body = body;
};

/** Clients that register themselves act for a person who signs in; only the agent gets tokens without one. */
function assertNotAnAgent(_ctx: unknown, _name: string, _value: unknown, metadata: ClientMetadata): void {
  if (metadata.client_id === agentId || metadata.grant_types?.includes('client_credentials') !== true) return;
  throw new errors.InvalidClientMetadata('grant_types must not contain client_credentials');
}

const toClaims = ({ id, email, name, emailVerified = true }: DemoPerson) => ({
  sub: id,
  email,
  email_verified: emailVerified,
  name,
});

function buildClients({ secrets, portalUrl }: ProviderContext): Configuration['clients'] {
  return [
    {
      client_id: portalId,
      client_secret: secrets.portalSecret,
      redirect_uris: [`${portalUrl}/auth/callback`],
      post_logout_redirect_uris: [`${portalUrl}/`],
      grant_types: ['authorization_code'],
      response_types: ['code'],
    },
    {
      client_id: agentId,
      client_secret: secrets.agentSecret,
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
    },
  ];
}

function buildFeatures({ portalUrl }: ProviderContext): Configuration['features'] {
  const policy = contentSecurityPolicy(portalUrl);
  return {
    devInteractions: { enabled: false },
    registration: { enabled: true, issueRegistrationAccessToken: false },
    clientCredentials: { enabled: true },
    rpInitiatedLogout: {
      enabled: true,
      logoutSource: (ctx, form) => sendHtml(ctx, policy, signOutPage(form)),
      postLogoutSuccessSource: (ctx) =>
        sendHtml(ctx, policy, messagePage('Signed out', 'You are signed out of the demo identity provider.')),
    },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (_ctx, resource) => {
        if (resource !== audience && resource !== `${portalUrl}/mcp`) throw new errors.InvalidTarget();
        return { scope: readScope, audience: resource, accessTokenTTL: 3_600, accessTokenFormat: 'jwt' };
      },
    },
  };
}

/** Lifetimes in seconds. */
const ttl = {
  AccessToken: 3_600,
  AuthorizationCode: 60,
  ClientCredentials: 3_600,
  Grant: 43_200,
  IdToken: 3_600,
  Interaction: 3_600,
  RefreshToken: 43_200,
  Session: 43_200,
};

/** The portal is a first-party client and needs no consent. Other clients need it each time. */
async function findGrant({ oidc: { provider, client, account, result } }: KoaContextWithOIDC) {
  if (client === undefined || account === undefined) return undefined;
  const given = result?.consent?.grantId;
  if (client.clientId !== portalId) return given === undefined ? undefined : provider.Grant.find(given);
  const grant = new provider.Grant({ clientId: client.clientId, accountId: account.accountId });
  grant.addOIDCScope(signInScopes);
  await grant.save();
  return grant;
}

/**
 * Whether the person allowed reading only: the scope restricts tokens, so a client that leaves it out later
 * must not get rid of it.
 */
const readsOnly = (grant: KoaContextWithOIDC['oidc']['entities']['Grant']): boolean =>
  Object.keys(grant?.resources ?? {}).some((resource) =>
    grant?.getResourceScope(resource).split(' ').includes(readScope),
  );

/** Who signs in, and what access tokens say of them. */
function claimsFor(
  people: ProviderContext['people'],
  agentFor: ProviderContext['agentFor'],
): Pick<Configuration, 'findAccount' | 'extraTokenClaims'> {
  const find = (id: string | undefined) => people.find((person) => person.id === id);
  return {
    findAccount: (_ctx, id) => {
      const person = find(id);
      return person === undefined ? undefined : { accountId: id, claims: () => toClaims(person) };
    },
    // Access tokens carry the email of the person. An agent's token carries the email and subject of the
    // person it acts for, as that person's own token would.
    extraTokenClaims: (_ctx, token) => {
      const person = find(token.kind === 'ClientCredentials' ? agentFor : token.accountId);
      return person === undefined
        ? undefined
        : { email: person.email, email_verified: person.emailVerified ?? true };
    },
  };
}

function buildConfiguration(context: ProviderContext): Configuration {
  const { people, secrets, clients, agentFor, nowMs, portalUrl } = context;
  const policy = contentSecurityPolicy(portalUrl);
  return {
    adapter: createMemoryAdapter(nowMs, clients),
    clients: buildClients(context),
    extraClientMetadata: { properties: ['grant_types'], validator: assertNotAnAgent },
    features: buildFeatures(context),
    jwks: { keys: [secrets.signingKey] },
    cookies: { keys: [secrets.cookieKey] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    scopes: [...signInScopes.split(' '), readScope],
    pkce: { required: () => true },
    issueRefreshToken: (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    // Clients in a browser exchange their code from the page to which they are sent.
    clientBasedCORS: (_ctx, origin, client) =>
      client.redirectUris?.some((uri) => new URL(uri).origin === origin) ?? false,
    interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
    loadExistingGrant: findGrant,
    ...claimsFor(people, agentFor),
    formats: {
      customizers: {
        jwt: ({ oidc }, token, jwt) => {
          if (token.kind === 'ClientCredentials') jwt.payload['sub'] = agentFor;
          else if (readsOnly(oidc.entities.Grant)) jwt.payload['scope'] = readScope;
        },
      },
    },
    ttl,
    renderError: (ctx, out) =>
      sendHtml(ctx, policy, messagePage('Sign-in failed', out.error_description ?? out.error)),
  };
}

function createRequestHandler(context: ProviderContext): (req: IncomingMessage, res: ServerResponse) => void {
  const provider = new Provider(context.issuer, buildConfiguration(context));
  const handleProtocol = provider.callback();
  return (req, res) => {
    const handled =
      req.url?.startsWith('/interaction/') === true
        ? handleInteraction(provider, { ...context, portalId }, req, res)
        : handleProtocol(req, res);
    handled.catch(() => {
      if (!res.headersSent) res.writeHead(500);
      res.end();
    });
  };
}

const listen = (server: Server, port: number): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });

/** Listens on 127.0.0.1; port 0 means any free port. Rejects with EADDRINUSE when the port is in use. */
export async function startIdentityProvider(
  options: IdentityProviderOptions,
): Promise<IdentityProviderServer> {
  const server = createServer();
  const issuer = `http://127.0.0.1:${await listen(server, options.port)}`;
  let handle = (_req: IncomingMessage, res: ServerResponse): void => {
    res.writeHead(503, { 'retry-after': '1' }).end();
  };
  server.on('request', (req, res) => handle(req, res));
  return {
    issuer,
    settings: {
      issuer,
      audience,
      jwksUri: `${issuer}/jwks`,
      userinfoUri: `${issuer}/me`,
      client: { id: portalId, secret: options.secrets.portalSecret },
    },
    agent: { id: agentId, secret: options.secrets.agentSecret, tokenUrl: `${issuer}/token` },
    startServing: (portalUrl) => {
      handle = createRequestHandler({ ...options, issuer, portalUrl });
    },
    stop: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
