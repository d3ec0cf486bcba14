// Payments as API callers see them. Amounts are decimal text with the decimals of their currency. Secrets are
// write-only, and there is no field for a card number.
import { z } from 'zod';
import { payoutStates, refundStates } from '../../gateways/payments/provider.ts';
import { type ProviderName, providerNames, providers } from '../../gateways/payments/providers.ts';
import { Day, Id, Instant, shortText } from '../../http/fields.ts';
import { InvoiceMapping, WriteBack } from './ledger/config.schemas.ts';
import { erpStatuses } from './ledger/erp-states.store.ts';
import { paymentStatuses } from './ledger/payment-state.ts';

const Amount = z.string().describe('Decimal number with all decimals of the currency');
const Currency = z.string().describe('ISO 4217 currency code');
const RecordId = z.string().min(1).max(60).describe("The record's id in the ERP");
const Failure = z.object({ code: z.string(), message: z.string() });

const listSecrets = (name: ProviderName): string[] =>
  Object.keys(providers[name].secrets.shape).map((secret) => `\`${secret}\``);
const listInWords = new Intl.ListFormat('en-GB');
/** Such as "stripe: `secretKey` and `webhookSecret`; sandbox: none". */
const secretsByProvider = providerNames
  .toSorted((a, b) => listSecrets(b).length - listSecrets(a).length)
  .map((name) => `${name}: ${listInWords.format(listSecrets(name)) || 'none'}`)
  .join('; ');

export const PayConfigInput = z.strictObject({
  provider: z.enum(providerNames),
  currency: z
    .string()
    .regex(/^[A-Z]{3}$/, 'must be a currency code such as GBP')
    .describe('ISO 4217 currency code'),
  enabled: z.boolean().default(true).describe('False: no new checkouts; existing payments continue'),
  invoices: InvoiceMapping,
  writeBack: WriteBack.default(false),
  secrets: z
    .record(z.string().max(40), z.string().min(1).max(500))
    .optional()
    .describe(`Write-only; omit to keep the stored ones. ${secretsByProvider}`),
});
export type PayConfigInput = z.output<typeof PayConfigInput>;

export const PayConfig = z
  .object({
    provider: z.enum(providerNames).nullable().describe('Null until payments are set up'),
    currency: Currency.nullable(),
    enabled: z.boolean(),
    invoices: InvoiceMapping.nullable(),
    writeBack: WriteBack,
    hasCredentials: z.boolean(),
    credentialHint: z.string().nullable().describe('The last 4 characters of the stored secret'),
    webhookUrl: z
      .string()
      .nullable()
      .describe('Register this address at the provider, which sends its events to it'),
    lastError: z
      .string()
      .nullable()
      .describe('Why the last query for changes at the provider failed; null when it succeeded'),
    updatedAt: Instant.nullable(),
  })
  .meta({ id: 'PayConfig' });
export type PayConfig = z.input<typeof PayConfig>;

/** As given: `z.url` drops some characters, and accepts what a browser would drop or send elsewhere. */
const returnUrl = z
  .string()
  .max(2000)
  .refine(
    (text) => !/[\p{Cc}\p{Cf}\p{Z}]/u.test(text),
    'must not contain control characters, spaces or invisible characters',
  )
  .refine((text) => !/^https?:\/*[^/?#]*@/i.test(text), 'must not contain a user name or password')
  .pipe(z.url({ protocol: /^https?$/ }))
  .meta({ openapi: { type: 'string', format: 'uri', maxLength: 2000 } });
export const CheckoutInput = z.strictObject({
  customerId: RecordId.describe("The customer's id in the ERP"),
  invoices: z
    .array(
      z.strictObject({
        recordId: RecordId,
        amount: z.string().max(40).optional().describe('Omit for all that is due and not in flight'),
      }),
    )
    .min(1)
    .max(200),
  successUrl: returnUrl.describe('Where the payer is sent after paying: an https URL on a verified domain'),
  cancelUrl: returnUrl.describe('Where the payer is sent after canceling: an https URL on a verified domain'),
  allowStale: z
    .boolean()
    .default(false)
    .describe('Use the open amounts of the last sync when the ERP is unavailable'),
});
export type CheckoutInput = z.output<typeof CheckoutInput>;

const status = z.enum(paymentStatuses);
export const Checkout = z
  .object({
    id: Id,
    paymentId: Id,
    url: z.string().nullable().describe('Page where the payer pays; null once it can no longer be paid'),
    status: status.describe('Status of its payment'),
    amount: Amount,
    currency: Currency,
    expiresAt: Instant,
    createdAt: Instant,
  })
  .meta({ id: 'PayCheckout' });
export type Checkout = z.input<typeof Checkout>;

export const Payment = z
  .object({
    id: Id,
    checkoutId: Id,
    status,
    amount: Amount.describe('The requested amount'),
    receivedAmount: Amount,
    refundedAmount: Amount.describe('Sum of the refunds that succeeded'),
    currency: Currency,
    customerId: z.string(),
    visitor: z
      .string()
      .nullable()
      .describe('E-mail address of the visitor who paid in the portal; null for a checkout of an API caller'),
    invoices: z.array(
      z.object({
        recordId: z.string(),
        number: z
          .string()
          .describe(
            'The id of the record when the invoice has no number, or a published or deprecated version masks it',
          ),
        amount: Amount,
      }),
    ),
    method: z.object({ type: z.string(), last4: z.string().nullable() }).nullable(),
    provider: z.enum(providerNames),
    providerPaymentId: z.string().nullable(),
    failure: Failure.nullable().describe(
      'Why the last attempt failed; the payer of a PENDING payment may try again',
    ),
    refunds: z.array(
      z.object({
        id: Id,
        status: z.enum(refundStates),
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
        unappliedAmount: Amount.describe('The part that is applied to no invoice'),
      })
      .describe('State of the write-back to the ERP'),
    createdAt: Instant,
    updatedAt: Instant,
    succeededAt: Instant.nullable(),
  })
  .meta({ id: 'Payment' });
export type Payment = z.input<typeof Payment>;

export const RefundInput = z.strictObject({
  amount: z.string().max(40).optional().describe('Omit to refund all that is left'),
  reason: shortText(200)
    .refine(
      (text) => !/\d(?:[ -]?\d){11,}/.test(text),
      'must not contain anything that could be a card number',
    )
    .optional(),
});
export type RefundInput = z.output<typeof RefundInput>;

export const Payout = z
  .object({
    id: Id,
    status: z.enum(payoutStates),
    amount: Amount.describe('The sum of `sums`'),
    currency: Currency,
    arrivalDate: Day,
    provider: z.enum(providerNames),
    providerPayoutId: z.string(),
    sums: z
      .object({ payments: Amount, refunds: Amount, fees: Amount, other: Amount })
      .describe('Refunds and fees are negative'),
    payments: z
      .array(
        z.object({
          paymentId: Id,
          amount: Amount,
          refundedAmount: Amount.describe('Refunds deducted by this payout; negative'),
        }),
      )
      .describe('Payments of this organization in this payout'),
    failure: Failure.nullable(),
    createdAt: Instant,
  })
  .meta({ id: 'Payout' });
export type Payout = z.input<typeof Payout>;

export const WebhookReceived = z.object({ received: z.literal(true) }).meta({ id: 'WebhookTaken' });
