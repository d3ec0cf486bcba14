// A plot of the records that the filters select: how many they are, or the sum of a number, by a period of a
// date or by the values of a field. One request, which can be copied.
import { formatCompact, formatCount, formatNumber } from '../../format.ts';
import { Pending } from '../../parts/detail.tsx';
import { Select } from '../../parts/form.tsx';
import { Bars } from '../../parts/plot.tsx';
import { Ranking } from '../../parts/ranking.tsx';
import { addressWith, type State, show, toSelection, withFilters } from './address.ts';
import type { Endpoint } from './endpoint.ts';
import { daysOf, fillPeriods, type Period, periods, showPeriod } from './periods.ts';
import { PlotRequest } from './plot-request.tsx';
import {
  type Parameters,
  type Place,
  type RecordPage,
  type ShownField,
  type SummaryRow,
  showNumber,
  useSummary,
} from './read-records.tsx';
import { listSummable } from './totals.tsx';

/** Periods that are shown: the last ones. */
const maxPeriods = 366;
/** Values of a field that are shown: the largest ones. */
const maxRanked = 12;
/** Currencies of one plot. */
const maxCurrencies = 20;
const minBars = 12;

type Group = { readonly name: string; readonly field: string; readonly period: Period | null };

/** The months of dates come first. */
export function listGroups(fields: readonly ShownField[]): Group[] {
  const readable = fields.filter(({ masked }) => !masked);
  const isDate = ({ type }: ShownField): boolean => type === 'date' || type === 'time';
  const ofDates = readable.filter(isDate).flatMap(({ name }) =>
    ['month' as const, ...periods.filter((period) => period !== 'month')].map((period) => ({
      name: `${name}.${period}`,
      field: name,
      period,
    })),
  );
  const ofValues = readable
    .filter(({ type }) => type === 'text' || type === 'boolean' || type === 'texts' || type === 'integers')
    .map(({ name }) => ({ name, field: name, period: null }));
  return [...ofDates, ...ofValues];
}

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

export function RecordPlot(props: PlotProps) {
  const { state, page, place } = props;
  const { groups, sums, group, sum } = readPlot(state, page.fields);
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
            value={shown ?? ''}
            onChange={(next) => show({ currency: next })}
            options={currencies.map((one) => [one, one])}
          />
        )}
        <PlotRequest {...props} group={group} sum={sum} parameters={parameters} />
        <button type="button" onClick={() => show({ plot: null, of: null, currency: null })}>
          Close the plot
        </button>
      </div>
      {read.data === undefined ? (
        <Pending read={read} />
      ) : (
        <Drawing {...props} group={group} sum={sum} rows={rows} total={read.data.total} toText={toText} />
      )}
    </section>
  );
}

type DrawingProps = PlotProps & {
  group: Group;
  sum: ShownField | undefined;
  rows: readonly SummaryRow[];
  /** Number of all groups. */
  total: number;
  toText: (value: string) => string;
};

/** The list with one more filter; undefined where the version declares none for this. */
function toHref({ endpoint, state, group }: DrawingProps, key: string): string | undefined {
  const { field, period } = group;
  const operators = endpoint.filters.find((one) => one.field === field)?.operators ?? [];
  if (period === null)
    return operators.includes('eq')
      ? addressWith({
          filter: withFilters(state.filters, undefined, [{ field, operator: 'eq', value: key }]),
        })
      : undefined;
  const [first, last] = daysOf(key, period);
  if (!operators.includes('gte') || !operators.includes('lte')) return undefined;
  const ends = [
    { field, operator: 'gte', value: first },
    { field, operator: 'lte', value: last },
  ];
  return addressWith({ filter: withFilters(state.filters, undefined, ends) });
}

function Drawing(props: DrawingProps) {
  const { group, sum, rows, total, toText, page } = props;
  const readValue = (row: SummaryRow): string =>
    String(row[sum === undefined ? 'count' : `sum.${sum.name}`] ?? '0');
  const without = rows.find((row) => row[group.name] === null);
  const known = rows.filter((row) => row[group.name] !== null);
  const label = `${sum === undefined ? 'Number of records' : `Sum of ${sum.name}`} by ${group.name}`;
  const isCut = total > rows.length && sum?.currency == null;
  return (
    <>
      {known.length === 0 && <p class="muted">There is nothing to plot.</p>}
      {group.period === null ? (
        <Ranking
          label={label}
          rows={known.slice(0, maxRanked).map((row) => {
            const key = String(row[group.name]);
            const value = readValue(row);
            return {
              key,
              label: key || '(empty text)',
              value: Number(value),
              text: toText(value),
              href: toHref(props, key),
            };
          })}
        />
      ) : (
        <PeriodBars
          {...props}
          label={label}
          period={group.period}
          values={new Map(known.map((row) => [String(row[group.name]), readValue(row)]))}
          // The days of a time are those of the account, and those of its filters are in UTC.
          isLinked={page.fields.some(({ name, type }) => name === group.field && type === 'date')}
        />
      )}
      <p class="fine">
        {isCut &&
          `The ${formatNumber(known.length)} ${group.period === null ? 'largest' : 'latest'} of ${formatNumber(total)}. `}
        {without !== undefined && `Without ${group.field}: ${toText(readValue(without))}.`}
      </p>
    </>
  );
}

function PeriodBars({
  label,
  period,
  values,
  isLinked,
  ...props
}: DrawingProps & {
  label: string;
  period: Period;
  /** By their keys. */
  values: ReadonlyMap<string, string>;
  isLinked: boolean;
}) {
  const keys = fillPeriods([...values.keys()].sort(), period);
  const [first, last] = [keys[0], keys.at(-1)];
  if (first === undefined || last === undefined) return null;
  return (
    <Bars
      label={label}
      minColumns={minBars}
      format={formatCompact}
      ends={[first, last].map((key) => showPeriod(key, period)) as [string, string]}
      bars={keys.map((key) => {
        const value = values.get(key) ?? '0';
        const href = isLinked ? toHref(props, key) : undefined;
        return {
          key,
          parts: [{ value: Number(value), tone: 'busy' as const }],
          title: `${showPeriod(key, period)}: ${props.toText(value)}`,
          ...(href !== undefined && { href }),
        };
      })}
    />
  );
}
