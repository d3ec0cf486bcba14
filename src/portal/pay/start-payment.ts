// The form that starts a payment. The amounts are those that the visitor saw and chose; `startCheckout` refuses what
// has been paid or is in flight meanwhile, and what is wrong is shown in the form.
import { type Request, type RequestHandler, urlencoded } from 'express';
import { z } from 'zod';
import { AppError } from '../../core/errors.ts';
import { callerAddress } from '../../http/caller-address.ts';
import { getRequestId } from '../../http/errors.ts';
import { parseForm } from '../../http/sign-in/browser.ts';
import { type PayerCtx, startCheckout } from '../../platform/index.ts';
import { chooseLanguage } from '../frame.ts';
import { type At, assertOwnForm, disconnected } from '../room.ts';
import { visitorAuthor } from '../sign-in.ts';
import type { Language, PayPage, PayProblem } from '../view-model.ts';
import { assertVisitor, type Visit } from '../visit.ts';
import { type Chosen, noProblems, type Payable, type Problems, readPay } from './pay-page.ts';
import { parseTypedAmount } from './typed-amount.ts';

/** As many invoices as one checkout takes, each with its amount. */
export const readPayForm: RequestHandler = urlencoded({
  extended: false,
  limit: 65_536,
  parameterLimit: 401,
});

const maxTyped = 40;
const Invoices = z.union([z.string(), z.array(z.string())]).transform((one) => [one].flat());
const PayForm = z.looseObject({ invoice: Invoices.default([]) });

/** The chosen invoices are `invoice`, and what is to be paid of each is `amount.{id}`. */
function readChosen(req: Request): Chosen {
  const { invoice, ...fields } = parseForm(PayForm, req);
  return new Map(
    invoice.map((id) => {
      const typed = fields[`amount.${id}`];
      return [id, typeof typed === 'string' ? typed.trim().slice(0, maxTyped) : null];
    }),
  );
}

const isZero = (amount: string): boolean => !/[1-9]/.test(amount);

type Line = { readonly invoice: Payable; readonly amount: string };

function toLines(
  chosen: Chosen,
  payable: readonly Payable[],
  currency: string,
  language: Language,
): { readonly lines: readonly Line[]; readonly problems: Problems } {
  const found = payable.filter(({ id }) => chosen.has(id));
  const read = found.map((invoice) => {
    const typed = chosen.get(invoice.id) ?? null;
    return { invoice, amount: typed === null ? invoice.left : parseTypedAmount(typed, currency, language) };
  });
  const lines = read.flatMap(({ invoice, amount }) => (amount === undefined ? [] : [{ invoice, amount }]));
  const wrong = read.flatMap(({ invoice: { id, left }, amount }): [string, PayProblem][] => {
    if (isZero(left)) return [[id, { code: 'in_flight' }]];
    return amount === undefined || isZero(amount) ? [[id, { code: 'amount' }]] : [];
  });
  const several = new Set(found.map(({ customer }) => customer)).size > 1;
  const code =
    chosen.size === 0
      ? 'nothing_chosen'
      : several
        ? 'several_customers'
        : found.length < chosen.size
          ? 'changed'
          : null;
  return {
    lines,
    problems: {
      form: code === null ? null : { code },
      rows: new Map(wrong),
    },
  };
}

const rowProblems: Readonly<Record<string, PayProblem['code']>> = {
  in_flight: 'in_flight',
  more_than_due: 'more_than_due',
  nothing_due: 'paid',
  unknown_invoice: 'paid',
  invalid_amount: 'amount',
};

/** What the form says of an error; undefined for one that the form can't explain. */
function toProblems({ status, details }: AppError, lines: readonly Line[]): Problems | undefined {
  if (status === 503) return { ...noProblems, form: { code: 'unavailable' } };
  if (status !== 422) return undefined;
  const rows = details.flatMap(({ path, code }): [string, PayProblem][] => {
    const at = /^invoices\[(\d+)\]/.exec(path)?.[1];
    const id = at === undefined ? undefined : lines[Number(at)]?.invoice.id;
    return id === undefined ? [] : [[id, { code: rowProblems[code] ?? 'not_payable' }]];
  });
  if (rows.length > 0) return { form: { code: 'changed' }, rows: new Map(rows) };
  const [{ code, message } = { code: '', message: '' }] = details;
  if (code === 'too_many_open' || code === 'limit_reached')
    return { ...noProblems, form: { code: 'too_many' } };
  return {
    ...noProblems,
    form: code === 'rejected' ? { code: 'rejected', says: message } : { code: 'unavailable' },
  };
}

export const payerOf = ({ req, res, site }: At, { ctx, session }: Visit): PayerCtx => {
  const client = { ip: callerAddress(req), requestId: getRequestId(res) };
  const { principal, ip, requestId } = visitorAuthor(site, session.email, session.id, client);
  return {
    ...{ ...ctx, ip, requestId, disconnected: disconnected(res) },
    principal: { ...principal, reads: { unmasked: false } },
  };
};

type Started = { readonly page: PayPage; readonly status: number } | { readonly seeOther: string };

/**
 * Starts the payment and leads to its page, which leads to the provider's; the form again with what is wrong. Throws
 * 404 where visitors can't pay.
 */
export async function startPayment(at: At, visit: Visit): Promise<Started> {
  const { ctx, site, session, portal, writtenAs } = visit;
  assertOwnForm(at);
  assertVisitor(visit);
  const chosen = readChosen(at.req);
  const { offer, payable, page } = await readPay(visit, chosen.keys());
  const language = chooseLanguage(at.req, portal.settings);
  const { lines, problems } = toLines(chosen, payable, offer.currency, language);
  const [first] = lines;
  if (problems.form !== null || problems.rows.size > 0 || first === undefined)
    return { page: page(chosen, problems), status: 422 };
  const pagesOf = `${site.origin}${site.base}`;
  try {
    const { paymentId } = await startCheckout(payerOf(at, visit), {
      customerId: first.invoice.customer,
      invoices: lines.map(({ invoice, amount }) => ({ recordId: invoice.id, amount })),
      allowStale: false,
      returnUrls: (id) => ({
        successUrl: `${pagesOf}/payments/${id}?back=paid`,
        cancelUrl: `${pagesOf}/payments/${id}?back=left`,
      }),
      visitor: { email: session.email, address: writtenAs || session.email, language },
    });
    return { seeOther: `${site.base}/payments/${paymentId}?begin=1` };
  } catch (error) {
    const shown = error instanceof AppError ? toProblems(error, lines) : undefined;
    if (shown === undefined) throw error;
    ctx.log.info({ err: error, organizationId: ctx.organizationId }, 'a visitor could not start a payment');
    return {
      page: (await readPay(visit, chosen.keys())).page(chosen, shown),
      status: error instanceof AppError ? error.status : 422,
    };
  }
}
