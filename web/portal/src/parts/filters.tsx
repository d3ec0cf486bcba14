// The filters of a list: a form whose answer is the list that it selects.
import type { ListFilters } from '../../../../src/portal/view-model.ts';
import { useView } from '../view.ts';
import { Icon } from './icon.tsx';

const Search = ({ text }: { text: string | null }) => {
  const view = useView();
  return (
    <label class="search">
      <span class="hidden-text">{view.text('list.search')}</span>
      <Icon name="search" />
      <input type="search" name="q" value={text ?? ''} placeholder={view.text('list.search')} />
    </label>
  );
};

const State = ({ state: { now, offered } }: { state: NonNullable<ListFilters['state']> }) => {
  const view = useView();
  return (
    <fieldset class="states">
      <legend class="hidden-text">{view.text('list.state')}</legend>
      {offered.map((state) => (
        <label key={state}>
          <input type="radio" name="state" value={state} checked={state === now} />
          <span>{view.text(`list.state.${state}`)}</span>
        </label>
      ))}
    </fieldset>
  );
};

export const Period = ({ period: { from, to } }: { period: NonNullable<ListFilters['period']> }) => {
  const view = useView();
  return (
    <div class="period">
      <label>
        <span>{view.text('list.from')}</span>
        <input type="date" name="from" value={from ?? ''} />
      </label>
      <label>
        <span>{view.text('list.to')}</span>
        <input type="date" name="to" value={to ?? ''} />
      </label>
    </div>
  );
};

export const Filters = ({ address, filters }: { address: string; filters: ListFilters }) => {
  const view = useView();
  const { q, state, period, canSearch, kept, cleared } = filters;
  if (!canSearch && state === null && period === null) return null;
  return (
    <search>
      <form class="filters" action={address} aria-label={view.text('list.filters')} data-sends-itself>
        {Object.entries(kept).map(([name, value]) => (
          <input key={name} type="hidden" name={name} value={value} />
        ))}
        {canSearch && <Search text={q} />}
        {state !== null && <State state={state} />}
        {period !== null && <Period period={period} />}
        <button type="submit" class="button">
          {view.text('list.apply')}
        </button>
        {cleared !== null && (
          <a class="more" href={cleared}>
            {view.text('list.clear')}
          </a>
        )}
      </form>
    </search>
  );
};
