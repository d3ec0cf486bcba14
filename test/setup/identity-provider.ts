// A real identity provider, the service that uses it for sign-in, and a minimal browser that keeps cookies by
// name and path and follows redirects only when asked, so that tests see every step.
import { createServer, type Server } from 'node:http';
import type { Express } from 'express';
import { openClientStore } from '../../demo/identity-provider/client-store.ts';
import {
  type DemoPerson,
  type IdentityProviderServer,
  startIdentityProvider,
} from '../../demo/identity-provider/identity-provider.ts';
import { createIdentityProviderSecrets } from '../../demo/identity-provider/secrets.ts';
import { type AppOptions, createApp } from '../../src/app.ts';
import type { Ctx } from '../../src/core/ctx.ts';
import type { Settings } from '../../src/core/settings.ts';
import { startUsageCounter, type UsageCounter } from '../../src/public/index.ts';
import { listenLocally } from './sockets.ts';

export type SignInSite = {
  readonly origin: string;
  readonly ctx: Ctx;
  readonly app: Express;
  readonly server: Server;
  /** Counts the calls of its public interface. */
  readonly usage: UsageCounter;
  readonly provider: IdentityProviderServer;
  /** May be changed at any time. */
  readonly people: DemoPerson[];
  /**
   * An access token for the first person; its audience is the configured one unless `resource` names another.
   * Rejects with an Error if none is issued.
   */
  agentToken(scope?: string, resource?: string): Promise<string>;
  stop(): Promise<void>;
};

type Options = {
  readonly ctx: Ctx;
  readonly people: DemoPerson[];
  readonly settings?: Partial<Settings>;
  /** PUBLIC_URL of the service; default: where it listens. */
  readonly publicUrl?: string;
  /** Port of the provider; default: any free one. */
  readonly providerPort?: number;
  readonly app?: AppOptions;
};

export async function startSignInSite({
  ctx,
  people,
  settings = {},
  publicUrl,
  providerPort = 0,
  app: more = {},
}: Options): Promise<SignInSite> {
  const secrets = await createIdentityProviderSecrets();
  const provider = await startIdentityProvider({
    port: providerPort,
    people,
    agentFor: people[0]?.id ?? '',
    secrets,
    clients: await openClientStore(null),
    nowMs: () => performance.now(),
  });
  const server = createServer({ keepAliveTimeout: 0 });
  const origin = `http://127.0.0.1:${await listenLocally(server)}`;
  const own: Settings = {
    ...ctx.settings,
    publicUrl: publicUrl ?? origin,
    oidc: provider.settings,
    ...settings,
  };
  const running = { ...ctx, settings: own };
  const usage = startUsageCounter(running);
  const app = createApp(running, { ...more, usage });
  server.on('request', app);
  provider.startServing(own.publicUrl);
  return {
    origin,
    ctx: running,
    app,
    server,
    usage,
    provider,
    people,
    async agentToken(scope, resource = provider.settings.audience) {
      const response = await fetch(provider.agent.tokenUrl, {
        method: 'POST',
        headers: {
          authorization: `Basic ${Buffer.from(`${provider.agent.id}:${provider.agent.secret}`).toString('base64')}`,
        },
        body: new URLSearchParams({
          grant_type: 'client_credentials',
          resource,
          ...(scope !== undefined && { scope }),
        }),
      });
      const { access_token: token } = (await response.json()) as { access_token?: string };
      if (token === undefined) throw new Error(`no token: ${response.status}`);
      return token;
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await provider.stop();
      await usage.stop();
    },
  };
}

type Cookie = { readonly value: string; readonly path: string };
type Sent = {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: URLSearchParams | string;
};

export function openBrowser(headers: Record<string, string> = {}) {
  const jar = new Map<string, Cookie>();

  function keep(line: string): void {
    const [pair = '', ...attributes] = line.split(';').map((part) => part.trim());
    const at = pair.indexOf('=');
    const attribute = (name: string) =>
      attributes.find((text) => text.toLowerCase().startsWith(`${name}=`))?.slice(name.length + 1);
    const expires = attribute('expires');
    const gone =
      attribute('max-age') === '0' || (expires !== undefined && new Date(expires).getTime() <= Date.now());
    if (gone) jar.delete(pair.slice(0, at));
    else jar.set(pair.slice(0, at), { value: pair.slice(at + 1), path: attribute('path') ?? '/' });
  }

  async function send(
    url: string,
    { method = 'GET', headers: more = {}, body }: Sent = {},
  ): Promise<Response> {
    const { pathname } = new URL(url);
    const cookie = [...jar]
      .filter(([, { path }]) => path === '/' || pathname === path || pathname.startsWith(`${path}/`))
      .map(([name, { value }]) => `${name}=${value}`)
      .join('; ');
    const response = await fetch(url, {
      method,
      headers: { ...headers, ...more, ...(cookie !== '' && { cookie }) },
      redirect: 'manual',
      ...(body !== undefined && { body }),
    });
    for (const line of response.headers.getSetCookie()) keep(line);
    return response;
  }

  const resolveLocation = (response: Response, from: string): string =>
    new URL(response.headers.get('location') ?? '', from).href;

  /**
   * Goes from a URL of the provider to that of the callback, which isn't requested; `personId` null cancels.
   */
  async function throughProvider(
    start: string,
    personId: string | null,
    callbackPath = '/auth/callback',
  ): Promise<string> {
    let at = start;
    for (let step = 0; step < 10; step += 1) {
      const isPage = new URL(at).pathname.startsWith('/interaction/');
      const form = new URLSearchParams(personId === null ? { cancel: 'yes' } : { person: personId });
      const response = await send(at, isPage ? { method: 'POST', body: form } : {});
      if (response.status < 300 || response.status >= 400)
        throw new Error(`${response.status} at ${at}: ${await response.text()}`);
      at = resolveLocation(response, at);
      if (new URL(at).pathname === callbackPath) return at;
    }
    throw new Error('the provider did not redirect to the callback');
  }

  return {
    jar,
    send,
    throughProvider,
    /** Requests /auth/login and returns the provider's URL. */
    async begin(origin: string, returnTo?: string): Promise<string> {
      const response = await send(
        `${origin}/auth/login${returnTo === undefined ? '' : `?returnTo=${encodeURIComponent(returnTo)}`}`,
      );
      if (response.status !== 302) throw new Error(`${response.status} ${await response.text()}`);
      return resolveLocation(response, origin);
    },
    /** The whole sign-in; returns the callback's response. */
    async signIn(origin: string, personId: string): Promise<Response> {
      const callback = await throughProvider(await this.begin(origin), personId);
      return send(callback);
    },
    session: (): string => jar.get('portal_session')?.value ?? '',
  };
}
export type Browser = ReturnType<typeof openBrowser>;
