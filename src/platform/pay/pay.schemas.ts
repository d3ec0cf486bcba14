// Pay as callers see it: amounts are decimal text with the digits of their currency. Secrets go in and never come out, and there is no
// field for a card's number.
import { z } from 'zod';
import { providerNames } from '../../gateways/payments/provider.ts';
import { Day, Id, Instant, shortText } from '../../http/fields.ts';
import { paymentStatuses } from './payment-state.ts';
import { writeBackSettings } from './write-back.schemas.ts';

const Amount = z.string().describe('Decimal, with all digits of the currency');
const Currency = z.string().describe('ISO 4217');
const RecordId = z.string().min(1).max(60).describe('Id of the record in the ERP');
const source = z.string().min(1).max(120);
const Failure = z.object({ code: z.string(), message: z.string() });

export const InvoiceMapping = z
  .strictObject({
    recordType: source.describe('A synced record type'),
    number: source.describe('What the payer knows it by'),
    amountDue: source.describe('What is still to be paid, in the currency of the record'),
    currency: source.nullable().default(null).describe('Null where all records are in the currency of the configuration'),
    customer: source.describe('Who is to pay it'),
  })
  .describe('Which synced fields mean what');
export type InvoiceMapping = z.output<typeof InvoiceMapping>;

export const WriteBack = z.union([z.literal(false), writeBackSettings]).describe('False: people enter payments in the ERP by hand');
export type WriteBack = z.output<typeof WriteBack>;

export const PayConfigInput = z.strictObject({
  provider: z.enum(providerNames),
  currency: z
    .string()
    .regex(/^[A-Z]{3}$/, 'must be a currency code such as GBP')
    .describe('ISO 4217'),
  enabled: z.boolean().default(true).describe('Off: no new checkouts; what was begun goes on'),
  invoices: InvoiceMapping,
  writeBack: WriteBack.default(false),
  secrets: z
    .record(z.string().max(40), z.string().min(1).max(500))
    .optional()
    .describe('Write-only; absent keeps the stored ones. stripe: `secretKey` and `webhookSecret`; sandbox: none'),
});
export type PayConfigInput = z.output<typeof PayConfigInput>;

export const PayConfig = z
  .object({
    provider: z.enum(providerNames).nullable().describe('Null until it is set up'),
    currency: Currency.nullable(),
    enabled: z.boolean(),
    invoices: InvoiceMapping.nullable(),
    writeBack: WriteBack,
    hasCredentials: z.boolean(),
    credentialHint: z.string().nullable().describe('The last 4 characters of the stored secret'),
    webhookUrl: z.string().nullable().describe('Enter it at the provider, which tells it what happens'),
    lastError: z.string().nullable().describe('Why the provider could not be asked what changed, the last time; null when it could'),
    updatedAt: Instant.nullable(),
  })
  .meta({ id: 'PayConfig' });
export type PayConfigView = z.input<typeof PayConfig>;

const returnUrl = z.url({ protocol: /^https?$/ }).max(2000);
export const CheckoutInput = z.strictObject({
  customerId: RecordId.describe("The customer's id in the ERP"),
  invoices: z
    .array(
      z.strictObject({
        recordId: RecordId,
        amount: z.string().max(40).optional().describe('Absent: all that is due and not in flight'),
      }),
    )
    .min(1)
    .max(200),
  successUrl: returnUrl.describe('Where the payer goes afterwards: https on a verified domain'),
  cancelUrl: returnUrl.describe('Where the payer goes who gives up'),
  allowStale: z.boolean().default(false).describe('Take the open amounts as last synced when the ERP does not answer'),
});
export type CheckoutInput = z.output<typeof CheckoutInput>;

const status = z.enum(paymentStatuses);
export const Checkout = z
  .object({
    id: Id,
    paymentId: Id,
    url: z.string().nullable().describe('Where the payer pays; null once nobody can any more'),
    status: status.describe('Of its payment'),
    amount: Amount,
    currency: Currency,
    expiresAt: Instant,
    createdAt: Instant,
  })
  .meta({ id: 'PayCheckout' });
export type CheckoutView = z.input<typeof Checkout>;

export const erpStatuses = ['OFF', 'PENDING', 'LANDED', 'PARTLY_APPLIED', 'FAILED'] as const;
export const Payment = z
  .object({
    id: Id,
    checkoutId: Id,
    status,
    amount: Amount.describe('What was to be paid'),
    receivedAmount: Amount,
    refundedAmount: Amount.describe('Of refunds that succeeded'),
    currency: Currency,
    customerId: z.string(),
    invoices: z.array(z.object({ recordId: z.string(), number: z.string(), amount: Amount })),
    method: z.object({ type: z.string(), last4: z.string().nullable() }).nullable(),
    provider: z.enum(providerNames),
    providerPaymentId: z.string().nullable(),
    failure: Failure.nullable().describe('Of the last attempt; of a PENDING payment the payer may try again'),
    refunds: z.array(
      z.object({
        id: Id,
        status: z.enum(['PENDING', 'SUCCEEDED', 'FAILED', 'CANCELED']),
        amount: Amount,
        reason: z.string().nullable(),
        providerRefundId: z.string().nullable(),
        failure: Failure.nullable(),
        createdAt: Instant,
      }),
    ),
    erp: z
      .object({
        status: z.enum(erpStatuses),
        recordId: z.string().nullable(),
        problem: z.object({ code: z.string(), message: z.string(), fix: z.string() }).nullable(),
        unappliedAmount: Amount.describe('What no invoice takes any more'),
      })
      .describe('Its way back into the ERP'),
    createdAt: Instant,
    updatedAt: Instant,
    succeededAt: Instant.nullable(),
  })
  .meta({ id: 'Payment' });
export type PaymentView = z.input<typeof Payment>;

export const RefundInput = z.strictObject({
  amount: z.string().max(40).optional().describe('Absent: all that is left of it'),
  reason: shortText(200)
    .refine((text) => !/\d(?:[ -]?\d){11,}/.test(text), 'must not hold what could be a card number')
    .optional(),
});
export type RefundInput = z.output<typeof RefundInput>;

export const payoutStatuses = ['PENDING', 'IN_TRANSIT', 'PAID', 'FAILED', 'CANCELED'] as const;
export const Payout = z
  .object({
    id: Id,
    status: z.enum(payoutStatuses),
    amount: Amount.describe('The sum of `sums`'),
    currency: Currency,
    arrivalDate: Day,
    provider: z.enum(providerNames),
    providerPayoutId: z.string(),
    sums: z.object({ payments: Amount, refunds: Amount, fees: Amount, other: Amount }).describe('Refunds and fees are negative'),
    payments: z
      .array(z.object({ paymentId: Id, amount: Amount, refundedAmount: Amount.describe('Negative: what this payout takes back') }))
      .describe('Those of this organization that it contains'),
    failure: Failure.nullable(),
    createdAt: Instant,
  })
  .meta({ id: 'Payout' });
export type PayoutView = z.input<typeof Payout>;

export const WebhookTaken = z.object({ received: z.literal(true) }).meta({ id: 'WebhookTaken' });
