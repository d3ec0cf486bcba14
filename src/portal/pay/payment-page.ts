// A payment as its visitor follows it, and the list of those of a customer.
import type { Request } from 'express';
import { isId } from '../../core/id.ts';
import {
  checkVisitorPayment,
  endVisitorPayment,
  getVisitorPayment,
  isOpen,
  listVisitorPayments,
  type VisitorPayment,
} from '../../platform/index.ts';
import { findOffer } from '../offer.ts';
import { recordAddress } from '../record-table.ts';
import { type At, assertOwnForm } from '../room.ts';
import { findShown } from '../shown-fields.ts';
import type { PaymentPage, PaymentsPage, ShownPayment } from '../view-model.ts';
import { assertVisitor, notFoundHere, type Visit } from '../visit.ts';
import { payerOf } from './start-payment.ts';

const pageSize = 25;

/** `OFF`: people enter it by hand, and no one reports when they did. */
const books: Readonly<Record<VisitorPayment['erp'], ShownPayment['books']>> = {
  OFF: null,
  PENDING: 'waiting',
  FAILED: 'waiting',
  LANDED: 'entered',
  PARTLY_APPLIED: 'entered',
};

function toShown(visit: Visit, payment: VisitorPayment): ShownPayment {
  const { id, status, amount, refunded, currency, recordType, createdAt, succeededAt } = payment;
  const isShown = recordType !== null && findShown(visit, recordType) !== undefined;
  return {
    ...{ id, status, createdAt, succeededAt },
    href: `${visit.site.base}/payments/${id}`,
    amount: { amount, currency },
    refunded: /[1-9]/.test(refunded) ? { amount: refunded, currency } : null,
    invoices: payment.invoices.map(({ recordId, number, amount: part }) => ({
      number,
      href: isShown ? recordAddress(visit, recordType, recordId) : null,
      amount: { amount: part, currency },
    })),
    books: books[payment.erp],
  };
}

/** Nothing more happens to it soon that a visitor waits for. */
const isSettled = ({ status, erp }: VisitorPayment): boolean =>
  !isOpen(status) && !(status === 'SUCCEEDED' && erp === 'PENDING');

/** What decides whether the page has to be loaded again. */
export const stateOf = ({ status, erp }: Pick<VisitorPayment, 'status' | 'erp'>): string =>
  `${status}-${erp}`;

/** Throws 404 for what is no id of a payment. */
export const idOf = ({ params }: Request): string => {
  const { id } = params;
  if (typeof id !== 'string' || !isId(id)) throw notFoundHere();
  return id;
};

/**
 * `?begin`: the visitor has just started it, and is sent to the provider's page. `?back`: the provider has sent the
 * visitor back. Throws 404 for a payment of another customer.
 */
export async function readPayment(visit: Visit, req: Request): Promise<PaymentPage> {
  const id = idOf(req);
  const { ctx, family, site, session } = visit;
  const payment = await getVisitorPayment(ctx, family, id);
  const shown = toShown(visit, payment);
  const isOwn = session.viewer_id === null;
  // Its browser leaves at once.
  const isBegun = isOwn && payment.url !== null && req.query['begin'] !== undefined;
  if (isOpen(payment.status) && !isBegun) await checkVisitorPayment(ctx, family, id);
  return {
    kind: 'payment',
    payment: shown,
    ...{ method: payment.method, failure: payment.failure },
    url: isOwn ? payment.url : null,
    isBegun,
    isBack: payment.status === 'PENDING' && req.query['back'] === 'paid',
    end: isOwn && payment.url !== null ? `${site.base}/payments/${id}/end` : null,
    events:
      isBegun || isSettled(payment) ? null : `${site.base}/payments/${id}/events?seen=${stateOf(payment)}`,
    list: `${site.base}/payments`,
  };
}

/** Throws 404 where visitors never could pay. */
export async function readPayments(visit: Visit, { query }: Request): Promise<PaymentsPage> {
  const asked = String(query['page'] ?? '1');
  const page = /^[1-9]\d{0,5}$/.test(asked) ? Number(asked) : 1;
  const [{ payments, total }, offer] = await Promise.all([
    listVisitorPayments(visit.ctx, visit.family, { page, pageSize }),
    findOffer(visit),
  ]);
  if (total === 0 && offer === undefined) throw notFoundHere();
  const address = `${visit.site.base}/payments`;
  const totalPages = Math.max(1, Math.ceil(total / pageSize));
  return {
    kind: 'payments',
    payments: payments.map((payment) => toShown(visit, payment)),
    pay: offer === undefined ? null : `${visit.site.base}/pay`,
    pages: {
      ...{ page, total, totalPages },
      previous: page > 1 ? `${address}?page=${page - 1}` : null,
      next: page < totalPages ? `${address}?page=${page + 1}` : null,
    },
  };
}

/** Throws 403 for a member who sees the portal as a visitor would, and 404 for a payment of another customer. */
export async function endPayment(at: At, visit: Visit): Promise<void> {
  const id = idOf(at.req);
  assertOwnForm(at);
  assertVisitor(visit);
  await endVisitorPayment(payerOf(at, visit), visit.family, id);
  at.res.redirect(303, `${visit.site.base}/payments/${id}`);
}
