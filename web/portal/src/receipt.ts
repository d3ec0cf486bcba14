// The texts of a receipt, and how a payment's method is called.
import type { Renderer } from '../../../src/portal/renderer-model.ts';
import type { Language, PaymentPage } from '../../../src/portal/view-model.ts';
import { formatInstant, formatMoney } from './formats.ts';
import { type MessageKey, type MessageValues, message } from './texts.ts';

/** Providers name methods in English: `card`, `sepa_debit`. */
export function methodText(language: Language, { type, last4 }: NonNullable<PaymentPage['method']>): string {
  const words = type.replaceAll('_', ' ');
  const name =
    type === 'card' ? message(language, 'payment.card') : words.charAt(0).toUpperCase() + words.slice(1);
  return last4 === null ? name : message(language, 'payment.endingIn', { type: name, last4 });
}

export const receiptTexts: Renderer['receiptTexts'] = (language, { company, payment, paidAt, method }) => {
  const text = (key: MessageKey, values?: MessageValues): string => message(language, key, values);
  const amount = formatMoney(language, payment.amount);
  const time = formatInstant(language, paidAt, { style: 'long', timeZone: 'UTC', zone: true });
  return {
    subject: text('receipt.subject', { amount, company }),
    title: text('receipt.title'),
    paragraphs: [
      text('receipt.says', { company, amount, time }),
      ...(method === null ? [] : [text('receipt.method', { method: methodText(language, method) })]),
    ],
    headings: [text('receipt.invoice'), text('meaning.amount')],
    rows: [
      ...payment.invoices.map((invoice) => [invoice.number, formatMoney(language, invoice.amount)] as const),
      [text('pay.total'), amount],
    ],
    action: text('receipt.action'),
    openAddress: text('receipt.openAddress'),
    notes: [text('receipt.note')],
  };
};
