// One payment: what was paid, what happened to it, its refunds and its way into the ERP.

import { useMemo, useState } from 'preact/hooks';
import { api } from '../../api.ts';
import { formatAmount } from '../../format.ts';
import { ObjectPage, StateBadge } from '../../parts/detail.tsx';
import { Confirm } from '../../parts/dialog.tsx';
import { Field } from '../../parts/form.tsx';
import { Facts } from '../../parts/list.tsx';
import { Section } from '../../parts/page.tsx';
import { ConfirmButton, OpenButton } from '../../parts/record-form.tsx';
import { Table } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import type { ScreenProps } from '../../router.ts';
import '../../styles/portal.css';
import { invalidate, useGet } from '../../query.ts';
import { useReadSoon } from '../../read-soon.ts';
import { may } from '../../session.ts';
import { erpStates, type Payment, paymentStates, refundStates, subtract } from './payment-words.ts';

const refresh = (): Promise<void> => invalidate('/pay/payments');

/** The same key for every attempt of one dialog, so that a repeated request refunds once. */
const createKey = (): string => crypto.getRandomValues(new Uint32Array(4)).join('-');

function RefundDialog({ payment, left, onClose }: { payment: Payment; left: string; onClose: () => void }) {
  const [amount, setAmount] = useState(left);
  const [reason, setReason] = useState('');
  const key = useMemo(createKey, []);
  const { id, currency, method } = payment;
  const shown = formatAmount(amount || '0', currency);
  const run = (): Promise<void> =>
    api
      .POST('/pay/payments/{id}/refund', {
        params: { path: { id } },
        body: { amount, ...(reason !== '' && { reason }) },
        headers: { 'Idempotency-Key': key },
      })
      .then(refresh);
  return (
    <Confirm title="Refund the payment" action={`Refund ${shown}`} danger run={run} onClose={onClose}>
      <Field
        label={`Amount in ${currency}`}
        value={amount}
        onChange={setAmount}
        required
        hint={`${formatAmount(left, currency)} is left.`}
      />
      <Field label="Reason" value={reason} onChange={setReason} hint="Optional." />
      <p>
        {shown} goes back to the payer{method === null ? '' : ` (${method.type} ${method.last4 ?? ''})`}. This
        can't be undone.
      </p>
    </Confirm>
  );
}

const isZero = (amount: string): boolean => Number(amount) === 0;

function Refund({ payment }: { payment: Payment }) {
  const left = subtract(payment.receivedAmount, payment.refundedAmount);
  if (payment.succeededAt === null || isZero(left) || !may('payment:update')) return null;
  return (
    <OpenButton label="Refund" kind="danger">
      {(close) => <RefundDialog payment={payment} left={left} onClose={close} />}
    </OpenButton>
  );
}

function WriteBackActions({ payment: { id, erp, amount, currency } }: { payment: Payment }) {
  const params = { path: { id } };
  if (!may('payment:update') || erp.status === 'OFF' || erp.status === 'LANDED') return null;
  return (
    <>
      <ConfirmButton
        label="Retry"
        kind="primary"
        action="Retry the write-back"
        danger={false}
        run={() => api.POST('/pay/payments/{id}/retry-write-back', { params }).then(refresh)}
      >
        The service enters the payment of {formatAmount(amount, currency)} in the ERP again. It is never
        entered twice.
      </ConfirmButton>
      {erp.status !== 'PARTLY_APPLIED' && (
        <ConfirmButton
          label="End the write-back"
          run={() => api.POST('/pay/payments/{id}/end-write-back', { params }).then(refresh)}
        >
          What is stuck of {formatAmount(amount, currency)} is never sent to the ERP again. New checkouts
          count its invoices as open until a person enters it there.
        </ConfirmButton>
      )}
    </>
  );
}

function WriteBack({ payment }: { payment: Payment }) {
  const { erp, currency } = payment;
  return (
    <Section title="In the ERP" actions={<WriteBackActions payment={payment} />}>
      <div class="stack">
        {erp.problem !== null && (
          <div class="note warn" role="status">
            <p>
              <strong>{erp.problem.message}</strong>
            </p>
            <p>{erp.problem.fix}</p>
          </div>
        )}
        <Facts
          facts={[
            ['State', <StateBadge states={erpStates} state={erp.status} />],
            ['Record', erp.recordId],
            [
              'Applied to no invoice',
              !isZero(erp.unappliedAmount) && formatAmount(erp.unappliedAmount, currency),
            ],
          ]}
        />
      </div>
    </Section>
  );
}

const refundText = (
  { amount, status, reason, failure }: Payment['refunds'][number],
  currency: string,
): string =>
  [
    `Refund of ${formatAmount(amount, currency)}: ${refundStates[status][1].toLowerCase()}`,
    reason,
    failure?.message,
  ]
    .filter(Boolean)
    .join('. ');

/** What happened, oldest first. */
function toTimeline({
  createdAt,
  succeededAt,
  receivedAmount,
  currency,
  failure,
  updatedAt,
  refunds,
  method,
}: Payment) {
  const paid = method === null ? '' : ` by ${method.type} ${method.last4 ?? ''}`;
  const events = [
    [createdAt, 'The checkout was created.'],
    [succeededAt, `${formatAmount(receivedAmount, currency)} was paid${paid}.`],
    [failure && updatedAt, `An attempt to pay failed: ${failure?.message}`],
    ...refunds.map((refund) => [refund.createdAt, refundText(refund, currency)] as const),
  ] as const;
  return events
    .flatMap(([at, text]) => (at === null ? [] : [{ at, text }]))
    .toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at));
}

function PaymentDetail({ payment }: { payment: Payment }) {
  const { currency, status, provider } = payment;
  return (
    <>
      <Facts
        facts={[
          ['State', <StateBadge states={paymentStates} state={status} />],
          ['Requested', formatAmount(payment.amount, currency)],
          ['Received', formatAmount(payment.receivedAmount, currency)],
          ['Refunded', formatAmount(payment.refundedAmount, currency)],
          ['Customer', payment.customerId],
          ['Paid in the portal by', payment.visitor],
          [
            'Provider',
            payment.providerPaymentId === null ? provider : `${provider}, ${payment.providerPaymentId}`,
          ],
        ]}
      />
      <WriteBack payment={payment} />
      <Section title="Invoices">
        <Table
          label="Paid invoices"
          rows={payment.invoices}
          rowKey={({ recordId }) => recordId}
          columns={[
            { title: 'Invoice', cell: ({ number }) => number },
            { title: 'Record id', minor: true, cell: ({ recordId }) => recordId },
            { title: 'Amount', align: 'end', cell: ({ amount }) => formatAmount(amount, currency) },
          ]}
        />
      </Section>
      <Section title="What happened">
        <ol class="timeline">
          {toTimeline(payment).map(({ at, text }) => (
            <li key={`${at} ${text}`}>
              <Time at={at} /> {text}
            </li>
          ))}
        </ol>
      </Section>
    </>
  );
}

export function PaymentScreen({ params: { id = '' } }: ScreenProps) {
  const read = useGet('/pay/payments/{id}', { path: { id } });
  const payment = read.data;
  const isOpen =
    payment !== undefined &&
    (payment.status === 'PROCESSING' || payment.refunds.some(({ status }) => status === 'PENDING'));
  useReadSoon(isOpen || (payment?.erp.status === 'PENDING' && payment.erp.problem === null), read.reload);
  const show = (shown: Payment) => ({
    title: `Payment of ${formatAmount(shown.amount, shown.currency)}`,
    lead: shown.invoices.map(({ number }) => number).join(', '),
    actions: <Refund payment={shown} />,
    children: <PaymentDetail payment={shown} />,
  });
  return <ObjectPage read={read} kind="Payment" list="/payments" show={show} />;
}
