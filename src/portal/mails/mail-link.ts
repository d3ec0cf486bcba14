// The link of a mail that ends mails of its kind, without a sign-in. GET only shows a page, since mail scanners open
// every link; POST to the same address ends them, whatever its body holds (RFC 8058).
import type { Ctx } from '../../core/ctx.ts';
import { isId } from '../../core/id.ts';
import { type MailKind, mailKinds } from '../../core/text/portal-terms.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { findMailOrder, type MailOrder, setMailKinds } from '../../platform/index.ts';
import { type At, sendPlainPage } from '../room.ts';
import { notFoundHere } from '../visit.ts';

const binding = 'portal_mail_orders';

/** Deterministic, so that a repeated mail has the same one. */
export const mailToken = ({ keyring }: Pick<Ctx, 'keyring'>, orderId: string, kind: MailKind): string =>
  keyring.sign(`${orderId} ${kind}`, binding);

type Link = { readonly kind: MailKind; readonly order: MailOrder | undefined };

/** Throws 404 for another token than those of mails. */
async function findLink(tx: Tx, { ctx, req }: At): Promise<Link> {
  const { token } = req.query;
  const text = typeof token === 'string' && token.length < 500 ? ctx.keyring.verify(token, binding) : '';
  const [id = '', named] = text?.split(' ') ?? [];
  const kind = mailKinds.find((one) => one === named);
  if (kind === undefined || !isId(id)) throw notFoundHere();
  return { kind, order: await findMailOrder(tx, ctx.organizationId, { id }) };
}

const isOrdered = ({ kind, order }: Link): boolean => order?.kinds.includes(kind) === true;

/** Throws 404 for another token than those of mails. */
export async function showMailLink(at: At): Promise<void> {
  const link = await inTransaction(at.ctx, (tx) => findLink(tx, at));
  const email = isOrdered(link) ? (link.order?.email ?? '') : null;
  await sendPlainPage(at, { kind: 'mail-link', mail: link.kind, email, action: at.req.originalUrl });
}

/** Ends mails of the kind; those that were ended stay so. Throws 404 for another token than those of mails. */
export async function endMails(at: At): Promise<void> {
  const kind = await inTransaction(at.ctx, async (tx) => {
    const link = await findLink(tx, at);
    if (link.order !== undefined && isOrdered(link)) {
      const left = link.order.kinds.filter((one) => one !== link.kind);
      await setMailKinds(tx, at.ctx.organizationId, link.order.id, left);
    }
    return link.kind;
  });
  await sendPlainPage(at, { kind: 'mail-link', mail: kind, email: null, action: at.req.originalUrl });
}
