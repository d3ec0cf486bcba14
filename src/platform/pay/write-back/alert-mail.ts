// Content of the alert mails about payments in the write-back to the ERP. Pure.
import { countRowsThatFit, type MailContent, type RecordTable } from '../../../mail/index.ts';
import type { ErpState } from '../ledger/erp-states.store.ts';

export type AlertedPayment = {
  readonly id: string;
  /** With its currency, such as `12.50 GBP`. */
  readonly amount: string;
  /** Empty where a version masks it. */
  readonly customerId: string;
  readonly invoiceNumbers: readonly string[];
  readonly erp: Pick<ErpState, 'status' | 'problem'>;
};

const states: Readonly<Record<ErpState['status'], string>> = {
  OFF: 'Not written back; entered by hand',
  PENDING: 'Waiting; retried automatically',
  FAILED: 'Refused by the ERP; needs your action',
  PARTLY_APPLIED: 'In the ERP, but not fully applied to invoices',
  LANDED: 'In the ERP',
};

const count = (payments: readonly unknown[]): string =>
  `${payments.length} payment${payments.length === 1 ? '' : 's'}`;
const are = (payments: readonly unknown[]): string => (payments.length === 1 ? 'is' : 'are');

const buildTable = (payments: readonly AlertedPayment[]): RecordTable => ({
  columns: ['Payment', 'Amount', 'Customer', 'Invoices', 'State', 'What happened', 'What to do'].map(
    (label) => ({ label, numeric: false }),
  ),
  rows: payments.map(({ id, amount, customerId, invoiceNumbers, erp: { status, problem } }) => [
    ...[id, amount, customerId, invoiceNumbers.join(', '), states[status]],
    ...[problem === null ? '' : `${problem.message} (${problem.code})`, problem?.fix ?? ''],
  ]),
});

const instructions = (more: number, base: string): string[] => [
  'The payment provider holds the money; only the entry in the ERP is missing or incomplete.',
  `When you have done what the last column says, request another attempt: POST ${base}/{id}/retry-write-back. If you enter a payment in the ERP by hand instead, confirm it: POST ${base}/{id}/end-write-back.`,
  ...(more > 0 ? [`And ${more} more.`] : []),
];

/** At least one of `troubled` and `resolved` must not be empty. */
export function writeBackMail(
  organization: string,
  {
    troubled,
    resolved,
  }: { readonly troubled: readonly AlertedPayment[]; readonly resolved: readonly AlertedPayment[] },
  publicUrl: string,
): MailContent {
  const base = `${publicUrl}/api/platform/v1/pay/payments`;
  const all = buildTable(troubled);
  const table = { ...all, rows: all.rows.slice(0, countRowsThatFit(all)) };
  const [first] = troubled.length > 0 ? troubled : resolved;
  const isOne = troubled.length + resolved.length === 1;
  const resolvedLine = `${count(resolved)} from an earlier alert ${are(resolved)} now in the ERP: ${resolved.map(({ id, amount }) => `${id} of ${amount}`).join(', ')}.`;
  return {
    title:
      troubled.length > 0
        ? `${count(troubled)} of ${organization} ${are(troubled)} not fully in the ERP`
        : `${count(resolved)} of ${organization} ${are(resolved)} now in the ERP`,
    paragraphs: [
      ...(troubled.length > 0 ? instructions(troubled.length - table.rows.length, base) : []),
      ...(resolved.length > 0 ? [resolvedLine] : []),
    ],
    ...(troubled.length > 0 && { table }),
    action: isOne
      ? { label: 'See the payment', url: `${base}/${first?.id}` }
      : {
          label: 'See the payments',
          url: troubled.length > 0 ? `${base}?erpStatus=${first?.erp.status}` : base,
        },
    notes: [
      `You get this mail because your address is an alert recipient of a sync of ${organization}. We send one when the write-back of a payment to the ERP fails or recovers, at most one an hour.`,
    ],
  };
}
