// Which organization's portal a request asks for: by the host of its verified primary domain, or by the slug in
// the path on the service's own host. At a host that someone could claim as a domain there is a portal or nothing.
import type { Request } from 'express';
import type { Ctx } from '../core/ctx.ts';
import { type Cache, createCache } from '../core/work/cache.ts';
import { toCookieName } from '../http/cookies.ts';
import { findPortal, findPortalSite, isClaimable, type PortalSite } from '../platform/index.ts';

export type Site = Pick<PortalSite, 'organizationId' | 'slug' | 'name'> & {
  /** Of its pages, for links in mails and the check of forms. */
  readonly origin: string;
  /** Prefix of the paths of its pages, without a slash at its end. */
  readonly base: string;
  /** Where its sessions are valid. */
  readonly host: string;
  readonly cookie: {
    readonly session: string;
    readonly code: string;
    readonly browser: string;
    readonly viewAs: string;
    readonly provider: string;
  };
  readonly isSecure: boolean;
  /** Whether the public interface is there too. */
  readonly publicApi: boolean;
};

/** A domain that was deleted or a portal that was switched off is served that much longer at most. */
const knownForMs = 5_000;
const maxBytes = 4_194_304;
type Known = (PortalSite & Pick<Site, 'publicApi'>) | 'none';

export type Sites = {
  /** `own`: the request is for the service itself; undefined: nothing is at its host. */
  ofHost(req: Request): 'own' | Promise<Site | undefined>;
  ofSlug(slug: string): Promise<Site | undefined>;
};

/** One for each process. Lookups reject with the database's error while it is unavailable. */
export function createSites(ctx: Ctx): Sites {
  const own = new URL(ctx.settings.publicUrl);
  const known: Cache<Known> = createCache({ maxBytes, ttl: { clock: ctx.clock, ms: knownForMs } });
  const find = async (by: Parameters<typeof findPortalSite>[1], key: string): Promise<Known> =>
    known.findFresh(key) ??
    known.load(key, async () => {
      const site = await findPortalSite(ctx, by);
      if (site === undefined) return 'none';
      const portal = await findPortal({ ...ctx, organizationId: site.organizationId });
      return { ...site, publicApi: portal?.settings.publicApi === true };
    });

  return {
    ofHost(req) {
      const host = req.headers['x-forwarded-host'] === undefined ? req.headers.host : req.host;
      if (host === undefined || host === own.host) return 'own';
      const hostname = URL.parse(`https://${host}`)?.hostname ?? '';
      if (hostname === own.hostname || !isClaimable(hostname)) return 'own';
      return find({ hostname }, `host ${hostname}`).then((site) =>
        site === 'none' ? undefined : onDomain(site, new URL(`https://${host}`)),
      );
    },
    async ofSlug(slug) {
      const site = await find({ slug }, `slug ${slug}`);
      return site === 'none' ? undefined : belowOwnHost(site, own);
    },
  };
}

/** Where mails lead to: the primary domain, where there is one. */
export const siteOf = ({ settings }: Pick<Ctx, 'settings'>, site: PortalSite): Site =>
  site.hostname === null
    ? belowOwnHost(site, new URL(settings.publicUrl))
    : onDomain({ ...site, publicApi: false }, new URL(`https://${site.hostname}`));

const names = ({ organizationId, slug, name }: PortalSite) => ({ organizationId, slug, name });

const onDomain = (site: Exclude<Known, 'none'>, { origin, hostname }: URL): Site => ({
  ...names(site),
  ...{ origin, host: hostname, base: '', isSecure: true, publicApi: site.publicApi },
  cookie: cookieNames(origin, ''),
});

const belowOwnHost = (site: PortalSite, own: URL): Site => ({
  ...names(site),
  ...{
    origin: own.origin,
    host: own.host,
    base: `/portal/${site.slug}`,
    isSecure: own.protocol === 'https:',
    publicApi: false,
  },
  cookie: cookieNames(own.origin, `_${site.organizationId}`),
});

/** Below the service's own host each organization has cookies of its own. */
const cookieNames = (origin: string, suffix: string): Site['cookie'] => ({
  session: toCookieName(origin, `portal_visitor${suffix}`),
  code: toCookieName(origin, `portal_visitor_code${suffix}`),
  browser: toCookieName(origin, `portal_visitor_browser${suffix}`),
  viewAs: toCookieName(origin, `portal_view_as${suffix}`),
  provider: toCookieName(origin, `portal_visitor_sign_in${suffix}`),
});
