// The part of the contract with an ERP that writes payments into its books. Errors as in connector.ts.

/** How much of a payment is applied to one invoice: decimal digits, in the payment's currency. */
export type Application = { readonly invoiceId: string; readonly amount: string };
export type PaymentOrder = {
  /** At most 100 letters, digits, `_` and `-`. The ERP must refuse a second payment with the same id. */
  readonly externalId: string;
  readonly customerId: string;
  /** ISO 4217. */
  readonly currency: string;
  /** Decimal digits, in `currency`. */
  readonly amount: string;
  /** The rest of the amount stays unapplied. */
  readonly applications: readonly Application[];
  readonly memo: string;
  /** The ERP's id of the account that receives the money; null for its account for undeposited funds. */
  readonly account: string | null;
};
/** A payment as the ERP shows it now; amounts are decimal digits in the payment's currency. */
export type PaymentRecord = {
  readonly id: string;
  readonly customerId: string;
  /** ISO 4217; null where the ERP doesn't say. */
  readonly currency: string | null;
  readonly amount: string;
  readonly applications: readonly Application[];
  /** The part that is neither applied to an invoice nor refunded. */
  readonly unapplied: string;
};
export type RefundOrder = Omit<PaymentOrder, 'applications'> & {
  /** The ERP's id of the payment to refund. At least `amount` of it must be unapplied. */
  readonly paymentId: string;
  /** The ERP's id of the payment method to refund by; null for the ERP's default. */
  readonly method: string | null;
};
export type RefundRecord = {
  readonly id: string;
  readonly customerId: string;
  /** Which payments it refunds; `amount` is decimal digits in the payment's currency. */
  readonly of: readonly { readonly paymentId: string; readonly amount: string }[];
};

/**
 * Writes payments and refunds into the ERP's books.
 *
 * Every method rejects with `ErpError` of kind `query` when the ERP's rules refuse the call: nothing was
 * written, and `fix` says what a person can do. A write that ends in any other error may have taken effect
 * all the same: look it up by external id before repeating it.
 */
export type PaymentWriter = {
  /**
   * How much can still be applied to each invoice: decimal digits, in the invoice's currency. Invoices that
   * don't exist are absent.
   */
  readAmountsDue(
    invoiceIds: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly { readonly invoiceId: string; readonly due: string }[]>;
  /** By external id; null when the ERP has no such payment or hides it from this role. */
  findPayment(externalId: string, signal: AbortSignal): Promise<PaymentRecord | null>;
  /** By the ERP's own id; null when it no longer exists. */
  readPayment(id: string, signal: AbortSignal): Promise<PaymentRecord | null>;
  /**
   * Creates the payment with all of its applications, or nothing; resolves to the ERP's id. Rejects with kind
   * `query` when an invoice takes less than its application or when the external id is taken.
   */
  createPayment(order: PaymentOrder, signal: AbortSignal): Promise<string>;
  /** Sets what is applied to these invoices, "0" to remove an application. Others stay. */
  updateApplications(
    paymentId: string,
    applications: readonly Application[],
    signal: AbortSignal,
  ): Promise<void>;
  /** By external id; null when the ERP has no such refund or hides it from this role. */
  findRefund(externalId: string, signal: AbortSignal): Promise<RefundRecord | null>;
  /** Resolves to the ERP's id. Rejects with kind `query` if less is unapplied or the id is taken. */
  createRefund(order: RefundOrder, signal: AbortSignal): Promise<string>;
};
