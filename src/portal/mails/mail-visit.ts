// What a visitor may see at the time when a mail is written, without a session of theirs.
import type { ReadingCtx, TenantCtx } from '../../core/ctx.ts';
import { inTransaction } from '../../db/transaction.ts';
import {
  findPerson,
  findPortal,
  findPortalSite,
  type MailOrder,
  readEndpoints,
  readPaperContent,
} from '../../platform/index.ts';
import { siteOf } from '../sites.ts';
import { openVisit, type Visit } from '../visit.ts';

/**
 * Undefined while the portal is off, and for someone who doesn't see the customer any more or has no address. Rejects
 * with 503 while the ERP doesn't deliver a field on which this depends.
 */
export async function openMailVisit(
  ctx: ReadingCtx & TenantCtx,
  { id, email, customer }: MailOrder,
  now: () => Date,
): Promise<Visit | undefined> {
  const { slug, content } = await inTransaction(ctx, async (tx) => ({
    ...(await tx('organizations').where({ id: ctx.organizationId }).first<{ slug: string }>('slug')),
    content: await readPaperContent(tx, ctx.organizationId),
  }));
  const [found, portal] = await Promise.all([findPortalSite(ctx, { slug }), findPortal(ctx)]);
  if (found === undefined || portal === undefined) return undefined;
  const { customers, writtenAs } = await findPerson(ctx, portal, email);
  if (!customers.includes(customer) || writtenAs === '') return undefined;
  const session = {
    ...{ id, email, customer, viewer_id: null, previous_visit_at: null, ends_at: '' },
    ...{ is_fresh: true, hits: 0, seconds_left: 0 },
  };
  const signedIn = {
    ctx,
    site: siteOf(ctx, found),
    portal,
    session,
    content,
    customers,
    customer,
    writtenAs,
  };
  return openVisit(signedIn, { loadEndpoints: readEndpoints, now });
}
