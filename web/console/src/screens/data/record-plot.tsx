// A plot of the records that the filters select: how many they are, or the sum of a number, by a period of a
// date or by the values of a field. One request, which can be copied.
import type { ComponentChildren } from 'preact';
import { formatCount } from '../../format.ts';
import { Pending } from '../../parts/detail.tsx';
import { Select } from '../../parts/form.tsx';
import {
  type Parameters,
  type Place,
  type RecordPage,
  type ShownField,
  type SummaryRow,
  showNumber,
  useSummary,
} from '../../parts/read-records.tsx';
import { type State, show, toSelection } from './address.ts';
import type { Endpoint } from './endpoint.ts';
import { Drawing, maxRanked } from './plot-drawing.tsx';
import { type Group, listGroups } from './plot-groups.ts';
import { PlotRequest } from './plot-request.tsx';
import { listSummable } from './totals.tsx';

/** Periods that are shown: the last ones. */
const maxPeriods = 366;
/** Currencies of one plot. */
const maxCurrencies = 20;

/** What the address names, or the first of what there is. */
function readPlot({ plot, of }: State, fields: readonly ShownField[]) {
  const groups = listGroups(fields);
  const sums = listSummable(fields);
  const group = groups.find(({ name }) => name === plot) ?? groups[0];
  return { groups, sums, group, sum: sums.find(({ name }) => name === of) };
}

function toParameters(state: State, group: Group, sum: ShownField | undefined): Parameters {
  const value = sum === undefined ? 'count' : `sum.${sum.name}`;
  const currency = sum?.currency ?? null;
  const limit = (group.period === null ? maxRanked : maxPeriods) * (currency === null ? 1 : maxCurrencies);
  return [
    ...toSelection(state),
    ['by', currency === null ? group.name : `${group.name},${currency}`],
    sum === undefined ? ['count', 'true'] : ['sum', sum.name],
    ['sort', `-${group.period === null ? value : group.name}`],
    ['limit', String(Math.min(1_000, limit))],
  ];
}

type PlotProps = { version: string; endpoint: Endpoint; place: Place; state: State; page: RecordPage };

type ControlsProps = ReturnType<typeof readPlot> & {
  group: Group;
  currencies: readonly string[];
  currency: string | undefined;
  children: ComponentChildren;
};

/** What is plotted, and what is done with it. */
const Controls = ({ groups, sums, group, sum, currencies, currency, children }: ControlsProps) => (
  <div class="toolbar">
    <Select
      label="Show"
      value={sum?.name ?? ''}
      onChange={(of) => show({ of: of || null, currency: null })}
      options={[['', 'Number of records'], ...sums.map(({ name }) => [name, `Sum of ${name}`] as const)]}
    />
    <Select
      label="By"
      value={group.name}
      onChange={(plot) => show({ plot })}
      options={groups.map(({ name, field, period }) => [
        name,
        period === null ? field : `${period} of ${field}`,
      ])}
    />
    {currencies.length > 1 && (
      <Select
        label="Currency"
        value={currency ?? ''}
        onChange={(next) => show({ currency: next })}
        options={currencies.map((one) => [one, one])}
      />
    )}
    {children}
    <button type="button" onClick={() => show({ plot: null, of: null, currency: null })}>
      Close the plot
    </button>
  </div>
);

export function RecordPlot(props: PlotProps) {
  const { state, page, place } = props;
  const plot = readPlot(state, page.fields);
  const { group, sum } = plot;
  const parameters = group === undefined ? null : toParameters(state, group, sum);
  const read = useSummary(place, parameters);
  if (group === undefined || parameters === null)
    return <p class="note">No field of this resource can be plotted.</p>;
  const currency = sum?.currency ?? null;
  const all = read.data?.rows ?? [];
  const currencyOf = (row: SummaryRow): string => String(row[currency ?? ''] ?? 'no currency');
  const currencies = currency === null ? [] : [...new Set(all.map(currencyOf))];
  const shown = currencies.includes(state.currency) ? state.currency : currencies[0];
  const rows = currency === null ? all : all.filter((row) => currencyOf(row) === shown);
  const toText = (value: string): string =>
    sum === undefined ? formatCount(Number(value), 'record') : showNumber(value, shown);
  return (
    <section class="card data-plot" aria-label="Plot">
      <Controls {...plot} group={group} currencies={currencies} currency={shown}>
        <PlotRequest {...props} group={group} sum={sum} parameters={parameters} />
      </Controls>
      {read.data === undefined ? (
        <Pending {...read} />
      ) : (
        <Drawing {...props} group={group} sum={sum} rows={rows} total={read.data.total} toText={toText} />
      )}
    </section>
  );
}
