// Members see the portal as a visitor would: a code that opens it once, within a minute, in the browser of the member.
import { z } from 'zod';
import type { Ctx, RequestCtx } from '../../core/ctx.ts';
import { invalid } from '../../core/errors.ts';
import { createId } from '../../core/id.ts';
import { inTransaction } from '../../db/transaction.ts';
import { instant } from '../../http/fields.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { defineSealed } from '../../identity/sealed.ts';
import { findPortalSite } from './sites.store.ts';
import { findPerson, findPortal, type NamedCustomer, nameCustomers, type Portal } from './visitor-scope.ts';
import type { ViewAsInput } from './visitors.schemas.ts';

const openForMs = 60_000;
export const viewAsSeconds = 1_800;

/** `email` is empty for a visitor of one customer whose address doesn't matter. */
const codes = defineSealed(
  'portal-view-as',
  openForMs,
  z.object({
    id: z.string(),
    organizationId: z.string(),
    viewerId: z.string(),
    email: z.string(),
    customer: z.string().nullable(),
  }),
);
export type ViewAs = { readonly viewerId: string; readonly email: string; readonly customer: string | null };

const problem = (path: string, code: string, message: string) =>
  invalid('The portal can not be shown', [{ path, code, message }]);

/** Throws 422 `portal_off`. */
export async function getPortal(ctx: RequestCtx): Promise<Portal> {
  const portal = await findPortal(ctx);
  if (portal === undefined) throw problem('', 'portal_off', 'Enable the portal first');
  return portal;
}

/** The customers of an address, with their names. Throws 422 `portal_off`. */
export async function lookUpAddress(
  ctx: RequestCtx,
  email: string,
): Promise<{ email: string; customers: NamedCustomer[] }> {
  const portal = await getPortal(ctx);
  const { customers } = await findPerson(ctx, portal, email);
  return { email, customers: [...(await nameCustomers(ctx, portal, customers))] };
}

/**
 * Throws 422 `portal_off`, `no_customer` for an address without customers, and `unknown_customer` for one that isn't
 * of the address, or that the ERP doesn't have.
 */
export async function viewAs(ctx: RequestCtx, { email = '', ...given }: ViewAsInput) {
  const { customer = null } = given;
  const portal = await getPortal(ctx);
  if (email !== '') {
    const { customers } = await findPerson(ctx, portal, email);
    if (customers.length === 0) throw problem('email', 'no_customer', 'No customer has this address');
    if (customer !== null && !customers.includes(customer))
      throw problem('customer', 'unknown_customer', 'This is no customer of the address');
  } else if (customer !== null) {
    const [named] = await nameCustomers(ctx, portal, [customer]);
    if (named?.isFound !== true)
      throw problem('customer', 'unknown_customer', 'The ERP has no such customer');
  }
  const { id: viewerId } = ctx.principal.user;
  const expiresAt = new Date(ctx.clock.now().getTime() + openForMs);
  const { organizationId } = ctx;
  const code = codes.seal(ctx, { id: createId(), organizationId, viewerId, email, customer });
  await inTransaction(ctx, (tx) =>
    writeAudit(tx, ctx, 'portal.view-as', ['portal-visitor', null], {
      ...(email !== '' && { email }),
      ...(customer !== null && { customer }),
    }),
  );
  const site = await findPortalSite(ctx, { slug: ctx.principal.organization.slug });
  const hostname = site?.hostname ?? null;
  return {
    code,
    address: `${ctx.settings.publicUrl}/portal/${ctx.principal.organization.slug}/view-as`,
    domainAddress: hostname === null ? null : `https://${hostname}/view-as`,
    expiresAt: instant(expiresAt),
  };
}

/** What a code opens; undefined for one of another organization and one that is over. `id` must be used once. */
export function openViewAs(
  ctx: Pick<Ctx, 'keyring' | 'clock'>,
  organizationId: string,
  code: string,
): (ViewAs & { readonly id: string }) | undefined {
  const opened = codes.open(ctx, code);
  return opened?.organizationId === organizationId ? opened : undefined;
}
