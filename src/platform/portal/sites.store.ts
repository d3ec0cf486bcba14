// Where portals are served: by the hostname of a verified primary domain, and by the organization's slug. The only
// lookup of the portal that precedes knowing the organization, so that it crosses row-level security.
import type { Ctx } from '../../core/ctx.ts';

export type PortalSite = {
  readonly organizationId: string;
  readonly slug: string;
  /** Name of the organization. */
  readonly name: string;
  /** The verified primary domain; null without one. */
  readonly hostname: string | null;
  /** Label of the document that is served. */
  readonly document: string;
};

type Row = Omit<PortalSite, 'organizationId'> & { readonly organization_id: string };

const hostnamePattern = /^[a-z0-9.-]{3,235}$/;
const slugPattern = /^[a-z0-9][a-z0-9-]{0,62}$/;

/**
 * The portal at a hostname, in any case and with or without a trailing dot, or of a slug; undefined while it is
 * off. The database isn't asked for what can't be a hostname or a slug. Rejects when it doesn't answer.
 */
export async function findPortalSite(
  ctx: Pick<Ctx, 'db'>,
  by: { readonly hostname: string } | { readonly slug: string },
): Promise<PortalSite | undefined> {
  const hostname = 'hostname' in by ? by.hostname.toLowerCase().replace(/\.$/, '') : null;
  const slug = 'slug' in by ? by.slug : null;
  if (hostname === null ? !slugPattern.test(slug ?? '') : !hostnamePattern.test(hostname)) return undefined;
  const { rows } = await ctx.db.control.raw<{ rows: Row[] }>('select * from find_portal(?, ?)', [
    hostname,
    slug,
  ]);
  const [row] = rows;
  if (row === undefined) return undefined;
  const { organization_id: organizationId, ...site } = row;
  return { organizationId, ...site };
}
