// The words of mails about payments on their way into the ERP. Pure.
import { type MailContent, type RecordTable, rowsThatFit } from '../../mail/index.ts';
import type { ErpState } from './erp-documents.store.ts';

export type ToldPayment = {
  readonly id: string;
  /** With its currency, such as `12.50 GBP`. */
  readonly amount: string;
  readonly customerId: string;
  readonly invoiceNumbers: readonly string[];
  readonly erp: Pick<ErpState, 'status' | 'problem'>;
};

const states: Readonly<Record<ErpState['status'], string>> = {
  OFF: 'Left to people',
  PENDING: 'Waits, and is tried again and again',
  FAILED: 'Refused by the ERP: it waits for a person',
  PARTLY_APPLIED: 'In the ERP, and not all of it is applied to invoices',
  LANDED: 'In the ERP',
};

const count = (payments: readonly unknown[]): string => `${payments.length} payment${payments.length === 1 ? '' : 's'}`;
const are = (payments: readonly unknown[]): string => (payments.length === 1 ? 'is' : 'are');

const tableOf = (payments: readonly ToldPayment[]): RecordTable => ({
  columns: ['Payment', 'Amount', 'Customer', 'Invoices', 'State', 'What happened', 'What to do'].map((label) => ({
    label,
    numeric: false,
  })),
  rows: payments.map(({ id, amount, customerId, invoiceNumbers, erp: { status, problem } }) => [
    ...[id, amount, customerId, invoiceNumbers.join(', '), states[status]],
    ...[problem === null ? '' : `${problem.message} (${problem.code})`, problem?.fix ?? ''],
  ]),
});

const wordsOfTrouble = (more: number, base: string): string[] => [
  'What was paid lies at the payment provider; its entry in the ERP is what is missing, or not as it was meant.',
  `Once that is done which is said beside a payment, ask for another attempt: POST ${base}/{id}/retry-write-back. What you enter in the ERP by hand instead is said with POST ${base}/{id}/end-write-back.`,
  ...(more > 0 ? [`And ${more} more.`] : []),
];

/** `troubled` or `well` has one at least. */
export function writeBackMail(
  organization: string,
  { troubled, well }: { readonly troubled: readonly ToldPayment[]; readonly well: readonly ToldPayment[] },
  publicUrl: string,
): MailContent {
  const base = `${publicUrl}/api/platform/v1/pay/payments`;
  const all = tableOf(troubled);
  const table = { ...all, rows: all.rows.slice(0, rowsThatFit(all)) };
  const [first] = troubled.length > 0 ? troubled : well;
  const isOne = troubled.length + well.length === 1;
  const better = `${count(well)} that we wrote of before ${are(well)} in the ERP now: ${well.map(({ id, amount }) => `${id} of ${amount}`).join(', ')}.`;
  return {
    title:
      troubled.length > 0
        ? `${count(troubled)} of ${organization} ${are(troubled)} not in the ERP as meant`
        : `${count(well)} of ${organization} ${are(well)} in the ERP now`,
    paragraphs: [
      ...(troubled.length > 0 ? wordsOfTrouble(troubled.length - table.rows.length, base) : []),
      ...(well.length > 0 ? [better] : []),
    ],
    ...(troubled.length > 0 && { table }),
    action: isOne
      ? { label: 'See the payment', url: `${base}/${first?.id}` }
      : { label: 'See the payments', url: troubled.length > 0 ? `${base}?erpStatus=${first?.erp.status}` : base },
    notes: [
      `You get this mail because your address is on the alert list of a sync of ${organization}. One comes when a payment's way into the ERP changes for worse or becomes well again, and at most one an hour.`,
    ],
  };
}
