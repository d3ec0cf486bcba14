// Whether visitors can pay: the organization takes payments, for the invoices that its portal shows, by the same fields.
// And whether they have statements.
import { type PayOffer, readStatementGaps, recordsEndpoint } from '../platform/index.ts';
import { findMeaning, findShown } from './shown-fields.ts';
import type { Visit } from './visit.ts';

/** `amountDue`, `customer`, `currency`: names of the fields in the portal's document. */
export type Offer = PayOffer & {
  readonly recordType: string;
  readonly amountDue: string;
  readonly customer: string | undefined;
  readonly currencyField: string | undefined;
};

/** Undefined where visitors can't pay. */
export async function findOffer(visit: Visit): Promise<Offer | undefined> {
  const offer = await visit.findPayOffer();
  if (offer === undefined) return undefined;
  const { recordType, amountDue: source, customer } = offer.invoices;
  const shown = findShown(visit, recordType);
  const amountDue = findMeaning(visit, recordType, 'amountDue');
  const fits =
    shown?.role === 'invoice' && shown.fields.amountDue === source && shown.customerField === customer;
  if (!fits || amountDue === undefined) return undefined;
  return {
    ...{ ...offer, recordType, amountDue },
    customer: visit.endpoints
      .get(recordsEndpoint(recordType))
      ?.fields.find((field) => field.source === customer)?.name,
    currencyField: findMeaning(visit, recordType, 'currency'),
  };
}

/** Whether the portal shows everything that makes up a customer's account. */
export const hasStatement = async ({ ctx, portal }: Visit): Promise<boolean> =>
  (await readStatementGaps(ctx, portal.settings)).length === 0;
