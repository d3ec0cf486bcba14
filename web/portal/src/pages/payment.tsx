// A payment as it goes on, and all payments that were made here.
import type { PaymentPage, PaymentsPage, ShownPayment } from '../../../../src/portal/view-model.ts';
import { Card, Empty } from '../parts/card.tsx';
import { Icon } from '../parts/icon.tsx';
import { Paging } from '../parts/paging.tsx';
import { Title } from '../parts/title.tsx';
import { methodText } from '../receipt.ts';
import { useView, type View } from '../view.ts';

const tones: Readonly<Partial<Record<ShownPayment['status'], string>>> = {
  SUCCEEDED: 'good',
  PROCESSING: 'warn',
  PENDING: 'warn',
  FAILED: 'bad',
};

const PaymentStatus = ({ status }: Pick<ShownPayment, 'status'>) => (
  <span class={`chip ${tones[status] ?? ''}`.trim()}>{useView().text(`payment.status.${status}`)}</span>
);

function saysOf({ payment, isBack }: PaymentPage, view: View): string {
  const { status, refunded } = payment;
  if (status === 'PARTIALLY_REFUNDED' || status === 'REFUNDED')
    return view.text('payment.says.refunded', { amount: refunded === null ? '' : view.money(refunded) });
  return view.text(isBack ? 'payment.says.back' : `payment.says.${status}`);
}

const Facts = ({ page: { payment, method } }: { page: PaymentPage }) => {
  const view = useView();
  const facts = [
    ['payment.started', view.instant(payment.createdAt)],
    ['payment.paidAt', payment.succeededAt && view.instant(payment.succeededAt)],
    ['payment.method', method && methodText(view.language, method)],
    ['payment.refunded', payment.refunded && view.money(payment.refunded)],
  ] as const;
  return (
    <dl class="fields">
      {facts.map(
        ([key, text]) =>
          text !== null && (
            <div key={key}>
              <dt>{view.text(key)}</dt>
              <dd>{text}</dd>
            </div>
          ),
      )}
    </dl>
  );
};

const Invoices = ({ payment: { invoices, amount } }: { payment: ShownPayment }) => {
  const view = useView();
  return (
    <Card title={view.text('payment.invoices')}>
      <div class="table-box">
        <table>
          <caption class="hidden-text">{view.text('payment.invoices')}</caption>
          <tbody>
            {invoices.map(({ number, href, amount: part }, at) => (
              <tr key={at}>
                <td>{href === null ? <b>{number}</b> : <a href={href}>{number}</a>}</td>
                <td class="numeric figure">{view.money(part)}</td>
              </tr>
            ))}
          </tbody>
          <tfoot>
            <tr>
              <th scope="row">{view.text('pay.total')}</th>
              <td class="numeric figure">{view.money(amount)}</td>
            </tr>
          </tfoot>
        </table>
      </div>
    </Card>
  );
};

const Actions = ({ url, end }: Pick<PaymentPage, 'url' | 'end'>) => {
  const view = useView();
  if (url === null && end === null) return null;
  return (
    <div class="card-text actions">
      {url !== null && (
        <a class="button primary" href={url}>
          {view.text('pay.continue')}
          <Icon name="right" />
        </a>
      )}
      {end !== null && (
        <form method="post" action={end}>
          <button type="submit" class="button danger">
            {view.text('payment.end')}
          </button>
        </form>
      )}
    </div>
  );
};

export const PaymentView = ({ page }: { page: PaymentPage }) => {
  const view = useView();
  const { payment, failure, url, end, events, list } = page;
  const { books, amount, status } = payment;
  return (
    <>
      <Title
        text={view.text('payment.title', { amount: view.money(amount) })}
        above={
          <a class="back" href={list}>
            <Icon name="left" />
            {view.text('own.payments')}
          </a>
        }
        status={<PaymentStatus status={status} />}
      >
        {url === null && (
          <button type="button" class="button" data-prints hidden>
            <Icon name="print" />
            {view.text('record.print')}
          </button>
        )}
      </Title>
      <section class="card" aria-live="polite" data-events={events ?? undefined}>
        <p class="card-text">
          {saysOf(page, view)}{' '}
          {status === 'SUCCEEDED' && books !== null && (
            <span class="muted">{view.text(`payment.books.${books}`)}</span>
          )}
        </p>
        {status === 'PENDING' && failure !== null && (
          <p class="card-text problem">{view.text('payment.attempt', { reason: failure })}</p>
        )}
        <Actions url={url} end={end} />
        <Facts page={page} />
      </section>
      <Invoices payment={payment} />
    </>
  );
};

const PaymentRow = ({ payment }: { payment: ShownPayment }) => {
  const view = useView();
  const { href, amount, createdAt, succeededAt, invoices, status } = payment;
  return (
    <tr class="linked">
      <td class="lead">
        <a class="row-link" href={href}>
          <b>{view.instant(succeededAt ?? createdAt)}</b>
        </a>
      </td>
      <td data-label={view.text('payment.invoices')}>{invoices.map(({ number }) => number).join(', ')}</td>
      <td data-label={view.text('payment.status')}>
        <PaymentStatus status={status} />
      </td>
      <td class="numeric key figure" data-label={view.text('meaning.amount')}>
        {view.money(amount)}
      </td>
    </tr>
  );
};

export const Payments = ({ page: { payments, pay, pages } }: { page: PaymentsPage }) => {
  const view = useView();
  const title = view.text('own.payments');
  const heads = [view.text('meaning.date'), view.text('payment.invoices'), view.text('payment.status')];
  return (
    <>
      <Title text={title} below={view.text('list.count', { total: pages.total })}>
        {pay !== null && (
          <a class="button primary" href={pay}>
            {view.text('own.pay')}
          </a>
        )}
      </Title>
      <div class="card">
        {payments.length === 0 ? (
          <Empty text={view.text('payments.none')} />
        ) : (
          <div class="table-box">
            <table>
              <caption class="hidden-text">{title}</caption>
              <thead>
                <tr>
                  {heads.map((head) => (
                    <th key={head} scope="col">
                      {head}
                    </th>
                  ))}
                  <th scope="col" class="numeric">
                    {view.text('meaning.amount')}
                  </th>
                </tr>
              </thead>
              <tbody>
                {payments.map((payment) => (
                  <PaymentRow key={payment.id} payment={payment} />
                ))}
              </tbody>
            </table>
          </div>
        )}
      </div>
      {pages.totalPages > 1 && <Paging pages={pages} />}
    </>
  );
};
