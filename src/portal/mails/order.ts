// Which mails a visitor wants about a customer: in the profile, and as the form says it.
import { z } from 'zod';
import { type MailKind, mailKinds } from '../../core/text/portal-terms.ts';
import { inTransaction } from '../../db/transaction.ts';
import { parseForm } from '../../http/sign-in/browser.ts';
import { findMailOrder, noteMailed, saveMailOrder, setMailKinds } from '../../platform/index.ts';
import { chooseLanguage } from '../frame.ts';
import { type At, assertOwnForm } from '../room.ts';
import type { ProfilePage } from '../view-model.ts';
import { notFoundHere, type Visit } from '../visit.ts';
import { findDocuments, listOfferedMails, monthBefore } from './documents.ts';

const usualDueDays = 3;

/** Null for who can order none: a member who sees the portal as a visitor, and who has no address. */
export async function readMailOrder(visit: Visit): Promise<ProfilePage['mails']> {
  const { ctx, session, customer, writtenAs } = visit;
  if (session.viewer_id !== null || writtenAs === '') return null;
  const [offered, order] = await Promise.all([
    listOfferedMails(visit),
    inTransaction(ctx, (tx) => findMailOrder(tx, ctx.organizationId, { email: session.email, customer })),
  ]);
  if (offered.length === 0) return null;
  return {
    offered,
    kinds: order?.kinds ?? [],
    dueDays: order?.due_days ?? usualDueDays,
    withPdf: order?.with_pdf ?? true,
  };
}

const OrderForm = z.object({
  customer: z.string().max(200),
  kind: z.union([z.enum(mailKinds), z.array(z.enum(mailKinds))]).optional(),
  dueDays: z.coerce.number().int().min(1).max(30).default(usualDueDays),
  pdf: z.literal('1').optional(),
});

/** What is there already is no news. */
async function listKnown(visit: Visit, kind: MailKind): Promise<string[]> {
  if (kind === 'due') return [];
  if (kind === 'statement') return [monthBefore(visit.today)];
  const found = await findDocuments(visit, kind, 0);
  return found.flatMap(({ rows }) => rows.map(({ key }) => key));
}

/** Throws 404 for who can order none, 403 for a form of another site, and 422 for one that makes no sense. */
export async function orderMails(at: At, visit: Visit): Promise<void> {
  assertOwnForm(at);
  const { req, res, ctx } = at;
  const { session, customer } = visit;
  const form = parseForm(OrderForm, req);
  const now = await readMailOrder(visit);
  if (now === null) throw notFoundHere();
  const wanted = new Set([form.kind ?? []].flat());
  const kept = new Set(now.kinds);
  // Another customer was chosen since the form was shown.
  if (form.customer !== customer) return res.redirect(303, `${visit.site.base}/profile#mails`);
  const kinds = mailKinds.filter((kind) => (now.offered.includes(kind) ? wanted : kept).has(kind));
  const added = kinds.filter((kind) => !now.kinds.includes(kind));
  const known = await Promise.all(added.map(async (kind) => ({ kind, keys: await listKnown(visit, kind) })));
  const language = chooseLanguage(req, visit.portal.settings);
  await inTransaction(ctx, async (tx) => {
    const { organizationId } = ctx;
    const order = await findMailOrder(tx, organizationId, { email: session.email, customer });
    if (kinds.length === 0) return order && setMailKinds(tx, organizationId, order.id, kinds);
    const orderId = await saveMailOrder(tx, organizationId, {
      ...{ email: session.email, customer, kinds, language },
      ...{ due_days: form.dueDays, with_pdf: form.pdf === '1' },
    });
    for (const { kind, keys } of known)
      await noteMailed(tx, organizationId, { orderId, kind, isMailed: false }, keys);
  });
  res.redirect(303, `${visit.site.base}/profile?mails=saved#mails`);
}
