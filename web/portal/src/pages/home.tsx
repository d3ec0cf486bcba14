// The first page: what is due, which invoices are open, what was paid lately, and what is new.
import type { Balance, HomePage } from '../../../../src/portal/view-model.ts';
import { isZero } from '../formats.ts';
import { Aging } from '../parts/aging.tsx';
import { Card, Empty } from '../parts/card.tsx';
import { Icon } from '../parts/icon.tsx';
import { TableView } from '../parts/table.tsx';
import { AsOf, Title } from '../parts/title.tsx';
import { useView } from '../view.ts';

/** Of texts in the largest size that still fit on a phone. */
const maxLargeText = 13;
const maxMiddleText = 18;

const bigClass = (text: string): string =>
  text.length <= maxLargeText ? 'big' : text.length <= maxMiddleText ? 'big middle' : 'big small-text';

const BalanceCard = ({ balance, isOnly }: { balance: Balance; isOnly: boolean }) => {
  const view = useView();
  const { currency, due, overdue, credit, aging, openCount } = balance;
  const money = (amount: string): string => view.money({ amount, currency });
  const hasAging = aging?.some(({ amount }) => !isZero(amount)) === true;
  return (
    <section class={`card balance${hasAging ? '' : ' no-aging'}`}>
      <div class="balance-due">
        <h2 class="quiet-title">
          {isOnly || currency === null
            ? view.text('home.amountDue')
            : view.text('home.amountDueIn', { currency })}
        </h2>
        <p class={bigClass(money(due))}>{money(due)}</p>
        <p class="chips">
          {isZero(overdue) ? (
            <span class="chip good">{view.text('home.nothingOverdue')}</span>
          ) : (
            <span class="chip bad">{view.text('home.overdue', { amount: money(overdue) })}</span>
          )}
          {credit !== null && !isZero(credit) && (
            <span class="chip good">{view.text('home.credit', { amount: money(credit) })}</span>
          )}
        </p>
      </div>
      {aging !== null && hasAging && (
        <div class="balance-aging">
          <div class="split">
            <h3>{view.text('home.aging')}</h3>
            <span class="fine">{view.text('home.openCount', { count: openCount })}</span>
          </div>
          <Aging aging={aging} currency={currency} />
        </div>
      )}
    </section>
  );
};

const OpenInvoices = ({ open }: { open: NonNullable<HomePage['open']> }) => {
  const view = useView();
  const title = view.text('home.openInvoices');
  const aside =
    open.total > 0 ? (
      <a class="more" href={open.all}>
        {view.text('home.allOpen', { total: open.total })}
      </a>
    ) : undefined;
  return (
    <Card title={title} aside={aside}>
      {open.table.rows.length === 0 ? (
        <Empty text={view.text('home.noOpen')} icon="done" />
      ) : (
        <TableView table={open.table} caption={title} compact />
      )}
    </Card>
  );
};

const Payments = ({ payments: { table, all } }: { payments: NonNullable<HomePage['payments']> }) => {
  const view = useView();
  const title = view.text('home.payments');
  return (
    <Card
      title={title}
      aside={
        table.rows.length > 0 && (
          <a class="more" href={all}>
            {view.text('home.allPayments')}
          </a>
        )
      }
    >
      {table.rows.length === 0 ? (
        <Empty text={view.text('home.noPayments')} />
      ) : (
        <TableView table={table} caption={title} compact />
      )}
    </Card>
  );
};

const News = ({ news: { since, counts } }: { news: NonNullable<HomePage['news']> }) => {
  const view = useView();
  return (
    <Card title={view.text('home.news')}>
      {counts.length > 0 && (
        <ul class="news">
          {counts.map(({ label, count, href }) => (
            <li key={href}>
              <a href={href}>
                <span>{view.label(label)}</span>
                <b class="count">{view.number(count)}</b>
                <Icon name="right" />
              </a>
            </li>
          ))}
        </ul>
      )}
      <p class="card-foot">
        {counts.length === 0 && `${view.text('home.noNews')} `}
        {view.text('home.since', { time: view.instant(since) })}
      </p>
    </Card>
  );
};

export const Home = ({ page: { asOf, balances, open, payments, news, pay } }: { page: HomePage }) => {
  const view = useView();
  const customer = view.frame.visitor?.customer?.name;
  const hasSide = payments !== null || news !== null;
  const isEmpty = balances.length === 0 && open === null && !hasSide;
  return (
    <>
      <Title
        text={view.text('home.title')}
        below={
          <>
            {customer !== undefined && <span class="name">{customer}</span>}
            {customer !== undefined && asOf !== null && ' · '}
            {asOf !== null && <AsOf instant={asOf} />}
          </>
        }
      >
        {pay !== null && open !== null && open.total > 0 && (
          <a class="button primary" href={pay}>
            {view.text('own.pay')}
          </a>
        )}
      </Title>
      {balances.length > 0 && (
        <div class={balances.length === 1 ? 'balances one' : 'balances'}>
          {balances.map((balance, at) => (
            <BalanceCard key={at} balance={balance} isOnly={balances.length === 1} />
          ))}
        </div>
      )}
      {isEmpty && (
        <div class="card">
          <Empty text={view.text('home.empty')} />
        </div>
      )}
      <div class={open !== null && hasSide ? 'columns' : 'columns single'}>
        {open !== null && <OpenInvoices open={open} />}
        {hasSide && (
          <div class="stack">
            {payments !== null && <Payments payments={payments} />}
            {news !== null && <News news={news} />}
          </div>
        )}
      </div>
    </>
  );
};
