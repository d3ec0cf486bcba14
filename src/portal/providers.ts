// The identity providers of organizations, at which their visitors may sign in.
import { LRUCache } from 'lru-cache';
import { createIdentityProvider, type IdentityProvider } from '../identity/provider.ts';
import { callbackPath, findPortalProvider, openClientSecret, type PortalCtx } from '../platform/index.ts';
import type { Site } from './sites.ts';
import { notFoundHere } from './visit.ts';

const maxClients = 500;

export type Provider = {
  readonly client: IdentityProvider;
  /** An attempt counts on the host, and with the issuer and client, with which it was started. */
  readonly audience: string;
};
export type Providers = {
  /** Rejects with 404 without a provider. */
  get(ctx: PortalCtx, site: Site): Promise<Provider>;
};

/** One for each process. Rejects from `get` with 404 without a provider. */
export function createProviders(): Providers {
  const clients = new LRUCache<string, IdentityProvider>({ max: maxClients });
  return {
    async get(ctx, { organizationId, origin, base }) {
      const found = await findPortalProvider(ctx);
      if (found === undefined) throw notFoundHere();
      const { issuer, clientId: id, sealedSecret } = found;
      const redirectUri = `${origin}${base}${callbackPath}`;
      const audience = JSON.stringify(['portal', organizationId, redirectUri, issuer, id]);
      const key = `${audience} ${sealedSecret}`;
      const registration = () => ({ issuer, id, secret: openClientSecret(ctx, found), redirectUri });
      const client = clients.get(key) ?? createIdentityProvider(ctx, { ...registration(), fetch: ctx.fetch });
      clients.set(key, client);
      return { client, audience };
    },
  };
}
