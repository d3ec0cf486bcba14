// Payments of invoices, payouts to the bank, and the configuration of payments.
import type { Item } from '../../api.ts';
import { formatAmount } from '../../format.ts';
import { StateBadge, stateColumn, stateFilter } from '../../parts/detail.tsx';
import { ageColumn, Facts, List, listQuery, searchFilter, TabbedContent } from '../../parts/list.tsx';
import { Empty, Page } from '../../parts/page.tsx';
import { DialogButton } from '../../parts/record-form.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import '../../styles/portal.css';
import { useGet } from '../../query.ts';
import { base } from '../../router.ts';
import { may } from '../../session.ts';
import { PayConfiguration } from './pay-config.tsx';
import { erpStates, type Payment, type Payout, paymentStates, payoutStates } from './payment-words.ts';

const paymentColumns: readonly Column<Item<'/pay/payments'>>[] = [
  {
    title: 'Payment',
    cell: ({ id, amount, currency, invoices }) => (
      <>
        <a href={`${base}/payments/${id}`}>{formatAmount(amount, currency)}</a>
        <span class="fine">{invoices.map(({ number }) => number).join(', ')}</span>
      </>
    ),
  },
  stateColumn(paymentStates),
  {
    title: 'In the ERP',
    cell: ({ erp }) => <StateBadge states={erpStates} state={erp.status} detail={erp.problem?.message} />,
  },
  {
    title: 'Customer',
    minor: true,
    cell: ({ customerId, visitor }) => (
      <>
        {customerId}
        {visitor !== null && <span class="fine">{visitor}</span>}
      </>
    ),
  },
  ageColumn('Created', 'createdAt'),
];

type Filters = { status: Payment['status']; erpStatus: Payment['erp']['status']; customerId: string };

const PaymentList = () => (
  <List
    label="Payments"
    read={useGet('/pay/payments', { query: listQuery<Filters>('status', 'erpStatus', 'customerId') })}
    filters={[
      stateFilter(paymentStates),
      stateFilter(erpStates, 'In the ERP', 'erpStatus', 'Any state in the ERP'),
      searchFilter('Customer id', 'customerId'),
    ]}
    next={
      <>
        Your portal creates one for each checkout, once payments are set up.{' '}
        {may('pay-config:read') && <a href={`${base}/payments?show=configuration`}>Set up payments</a>}
      </>
    }
    columns={paymentColumns}
  />
);

const PayoutDetail = ({
  payout: { currency, sums, payments, failure, providerPayoutId, provider },
}: {
  payout: Payout;
}) => (
  <div class="stack">
    {failure !== null && <p class="note warn">{failure.message}</p>}
    <Facts
      facts={[
        ['Payments', formatAmount(sums.payments, currency)],
        ['Refunds', formatAmount(sums.refunds, currency)],
        ['Fees', formatAmount(sums.fees, currency)],
        ['Other', formatAmount(sums.other, currency)],
        ['Provider', `${provider}, ${providerPayoutId}`],
      ]}
    />
    <Table
      label="Payments in the payout"
      rows={payments}
      rowKey={({ paymentId }) => paymentId}
      empty={<Empty title="It holds no payment of this organization." />}
      columns={[
        {
          title: 'Payment',
          cell: ({ paymentId, amount }) => (
            <a href={`${base}/payments/${paymentId}`}>{formatAmount(amount, currency)}</a>
          ),
        },
        {
          title: 'Refunded',
          align: 'end',
          cell: ({ refundedAmount }) => formatAmount(refundedAmount, currency),
        },
      ]}
    />
  </div>
);

const Payouts = () => (
  <List
    label="Payouts"
    read={useGet('/pay/payouts', { query: listQuery() })}
    next="The provider transfers what was paid to your bank account, usually after some days."
    columns={[
      { title: 'Arrives', cell: ({ arrivalDate }) => arrivalDate },
      { title: 'Amount', align: 'end', cell: ({ amount, currency }) => formatAmount(amount, currency) },
      stateColumn(payoutStates),
      { title: 'Payments', minor: true, align: 'end', cell: ({ payments }) => payments.length },
    ]}
    actions={(payout) => (
      <DialogButton
        label="Details"
        kind="link"
        title={`Payout of ${formatAmount(payout.amount, payout.currency)}`}
      >
        {() => <PayoutDetail payout={payout} />}
      </DialogButton>
    )}
  />
);

export const Payments = () => (
  <Page
    title="Payments"
    lead="How customers pay invoices in the portal, and how the money reaches your bank and your ERP."
  >
    <TabbedContent
      label="Payments"
      tabs={[
        ['', 'Payments', PaymentList, 'payment:read'],
        ['payouts', 'Payouts', Payouts, 'payout:read'],
        ['configuration', 'Configuration', PayConfiguration, 'pay-config:read'],
      ]}
    />
  </Page>
);
