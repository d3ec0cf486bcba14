// The account over a period: what was owed before, what changed it, and what is owed at the end.
import type { StatementPage } from '../../../../src/portal/view-model.ts';
import { isZero } from '../formats.ts';
import { Aging } from '../parts/aging.tsx';
import { Card, Empty } from '../parts/card.tsx';
import { Period } from '../parts/filters.tsx';
import { Icon } from '../parts/icon.tsx';
import { NoPdf, PaperButtons } from '../parts/pdf.tsx';
import { TableView } from '../parts/table.tsx';
import { AsOf, Title } from '../parts/title.tsx';
import { useView } from '../view.ts';

type Account = NonNullable<StatementPage['accounts']>[number];

const PeriodForm = ({ page: { address, period, offered } }: { page: StatementPage }) => {
  const view = useView();
  return (
    <search>
      <form class="filters" action={address} aria-label={view.text('statement.period')} data-sends-itself>
        <Period period={period} />
        <button type="submit" class="button">
          {view.text('list.apply')}
        </button>
        <span class="quick">
          {offered.map((one) => (
            <a
              key={one.period}
              class="more"
              href={one.href}
              aria-current={one.isCurrent ? 'true' : undefined}
            >
              {view.text(`statement.${one.period}`)}
            </a>
          ))}
        </span>
      </form>
    </search>
  );
};

const Summary = ({ account }: { account: Account }) => {
  const view = useView();
  const { currency, opening, charges, payments, closing } = account;
  const parts = [
    ['statement.opening', opening],
    ['statement.charges', charges],
    ['statement.payments', payments],
    ['statement.closing', closing],
  ] as const;
  return (
    <dl class="sums-of-statement">
      {parts.map(([name, amount]) => (
        <div key={name}>
          <dt>{view.text(name)}</dt>
          <dd>{view.money({ amount, currency })}</dd>
        </div>
      ))}
    </dl>
  );
};

const AccountCard = ({ account }: { account: Account }) => {
  const view = useView();
  const { currency, table, aging } = account;
  const title = currency === null ? view.text('own.statement') : view.text('statement.in', { currency });
  return (
    <Card title={title}>
      <Summary account={account} />
      <TableView table={table} caption={title} />
      {aging?.some(({ amount }) => !isZero(amount)) === true && (
        <div class="aging-of-statement">
          <h3>{view.text('home.aging')}</h3>
          <Aging aging={aging} currency={currency} />
        </div>
      )}
    </Card>
  );
};

export const Statement = ({ page }: { page: StatementPage }) => {
  const view = useView();
  const { asOf, period, accounts, downloads } = page;
  const [from, to] = [view.date(period.from, 'long'), view.date(period.to, 'long')];
  const hasRows = accounts !== null && accounts.length > 0;
  return (
    <>
      <Title
        text={view.text('own.statement')}
        below={
          <>
            {view.text('statement.says', { from, to })} {asOf !== null && <AsOf instant={asOf} />}
          </>
        }
      >
        {hasRows && (
          <>
            <a class="button" href={downloads.csv} title={view.text('list.csvTitle')} download>
              <Icon name="download" />
              {view.text('list.csv')}
            </a>
            <PaperButtons pdf={downloads.pdf} />
          </>
        )}
      </Title>
      {page.hasNoPdf && <NoPdf />}
      <PeriodForm page={page} />
      {hasRows ? (
        accounts.map((account) => <AccountCard key={account.currency ?? ''} account={account} />)
      ) : (
        <div class="card">
          <Empty text={view.text(accounts === null ? 'statement.tooLong' : 'statement.none')} />
        </div>
      )}
    </>
  );
};
