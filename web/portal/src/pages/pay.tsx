// Choosing what to pay: open invoices with the amount to pay of each. The sum at the bottom follows what is typed by
// portal.js; without scripts the provider's page says it.
import type { PayPage, PayProblem } from '../../../../src/portal/view-model.ts';
import { isZero, plainAmount } from '../formats.ts';
import { Card, Empty } from '../parts/card.tsx';
import { Icon } from '../parts/icon.tsx';
import { AsOf, Title } from '../parts/title.tsx';
import { ValueView } from '../parts/value.tsx';
import { useView } from '../view.ts';

type Row = PayPage['rows'][number];

const useProblem = (page: Pick<PayPage, 'digits'>) => {
  const view = useView();
  return ({ code, says }: PayProblem): string =>
    view.text(`pay.problem.${code}`, {
      reason: says ?? '',
      example: plainAmount(view.language, page.digits === 0 ? '100' : `100.${'0'.repeat(page.digits)}`),
    });
};

const AmountInput = ({ row, page, name }: { row: Row; page: PayPage; name: string }) => {
  const view = useView();
  return (
    <input
      name={`amount.${row.id}`}
      value={row.typed ?? plainAmount(view.language, row.left)}
      inputMode={page.digits === 0 ? 'numeric' : 'decimal'}
      autoComplete="off"
      maxLength={40}
      aria-label={view.text('pay.amount', { number: row.number })}
      aria-invalid={row.problem !== null || undefined}
      aria-describedby={row.problem === null ? undefined : `${name}-problem`}
      disabled={!page.canPay}
    />
  );
};

const PayRow = ({ row, page, at }: { row: Row; page: PayPage; at: number }) => {
  const view = useView();
  const toText = useProblem(page);
  const { id, href, number, date, dueDate, due, left, isChosen, problem } = row;
  const name = `pay-${at}`;
  const isCovered = isZero(left);
  const currency = page.currency;
  const isPartly = !isCovered && view.money({ amount: left, currency }) !== view.money(due);
  return (
    <li class={problem === null ? undefined : 'wrong'}>
      <input
        type="checkbox"
        name="invoice"
        value={id}
        id={name}
        checked={isChosen}
        disabled={isCovered || !page.canPay}
        aria-label={view.text('pay.choose', { number })}
      />
      <div class="pay-what">
        <label for={name}>
          <b class="whole">{number}</b>
        </label>
        <a class="fine" href={href}>
          <ValueView value={date} />
        </a>
      </div>
      <div class="pay-due">{dueDate !== null && <ValueView value={dueDate} />}</div>
      <div class="pay-open figure">
        {isPartly ? (
          <>
            {view.money({ amount: left, currency })}
            <span class="fine"> {view.text('pay.ofDue', { amount: view.money(due) })}</span>
          </>
        ) : (
          view.money(due)
        )}
      </div>
      <div class="pay-amount">
        {isCovered ? (
          <span class="chip warn">{view.text('pay.covered')}</span>
        ) : (
          <AmountInput row={row} page={page} name={name} />
        )}
      </div>
      {problem !== null && (
        <p class="pay-problem" id={`${name}-problem`}>
          {toText(problem)}
        </p>
      )}
    </li>
  );
};

const Sum = ({ page }: { page: PayPage }) => {
  const view = useView();
  return (
    <div class="pay-sum">
      <p>
        <span class="fine">{view.text('pay.total')}</span>{' '}
        <output
          class="big middle"
          data-sum={page.digits}
          data-currency={page.currency}
          hidden={isZero(page.total.amount)}
        >
          {view.money(page.total)}
        </output>
      </p>
      <button type="button" class="button" data-chooses-all hidden>
        {view.text('pay.chooseAll')}
      </button>
      {page.canPay ? (
        <button type="submit" class="button primary">
          {view.text('pay.continue')}
          <Icon name="right" />
        </button>
      ) : (
        <span class="fine">{view.text('pay.viewAs')}</span>
      )}
    </div>
  );
};

const Pending = ({ pending }: Pick<PayPage, 'pending'>) => {
  const view = useView();
  return (
    <Card title={view.text('pay.pending')}>
      <ul class="news">
        {pending.map(({ href, amount, createdAt }) => (
          <li key={href}>
            <a href={href}>
              <span>
                <b>{view.money(amount)}</b>{' '}
                <span class="fine">{view.text('pay.startedAt', { time: view.instant(createdAt) })}</span>
              </span>
              <Icon name="right" />
            </a>
          </li>
        ))}
      </ul>
    </Card>
  );
};

const Notes = ({ page: { others, notShown, credits, isTest } }: { page: PayPage }) => {
  const view = useView();
  const company = view.frame.brand.name;
  const notes = [
    ...(isTest ? [view.text('pay.isTest')] : []),
    ...credits.map((credit) => view.text('pay.credits', { amount: view.money(credit), company })),
    ...(others > 0 ? [view.text('pay.others', { count: others })] : []),
    ...(notShown > 0 ? [view.text('pay.notShown', { count: notShown })] : []),
  ];
  return notes.map((note) => (
    <p key={note} class="card-foot">
      {note}
    </p>
  ));
};

export const Pay = ({ page }: { page: PayPage }) => {
  const view = useView();
  const toText = useProblem(page);
  const { rows, asOf, problem, pending, address, payments } = page;
  return (
    <>
      <Title
        text={view.text('own.pay')}
        below={
          <>
            <span>{view.text('pay.says', { company: view.frame.brand.name })}</span>
            {asOf !== null && ' · '}
            {asOf !== null && <AsOf instant={asOf} />}
          </>
        }
      >
        <a class="button" href={payments}>
          {view.text('own.payments')}
        </a>
      </Title>
      {problem !== null && (
        <p class="problem" role="alert">
          {toText(problem)}
        </p>
      )}
      {pending.length > 0 && <Pending pending={pending} />}
      <form class="card" method="post" action={address} data-pays={view.language}>
        {rows.length === 0 ? (
          <Empty text={view.text('pay.nothing')} icon="done" />
        ) : (
          <ul class="pay">
            {rows.map((row, at) => (
              <PayRow key={row.id} row={row} page={page} at={at} />
            ))}
          </ul>
        )}
        <Notes page={page} />
        {rows.length > 0 && <Sum page={page} />}
      </form>
    </>
  );
};
