// Draws the groups of a plot: bars for the periods of a date, and a ranking of the values of a field.
import { formatCompact, formatNumber } from '../../format.ts';
import { Bars } from '../../parts/plot.tsx';
import { Ranking } from '../../parts/ranking.tsx';
import type { RecordPage, ShownField, SummaryRow } from '../../parts/read-records.tsx';
import { addressWith, type State, withFilters } from './address.ts';
import type { Endpoint } from './endpoint.ts';
import { daysOf, fillPeriods, type Period, showPeriod } from './periods.ts';
import type { Group } from './plot-groups.ts';

/** Values of a field that are shown: the largest ones. */
export const maxRanked = 12;
/** A year of months fills the width. */
const minBars = 12;

type DrawingProps = {
  endpoint: Endpoint;
  state: State;
  page: RecordPage;
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

export function Drawing(props: DrawingProps) {
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
  if (keys.length === 0) return null;
  return (
    <Bars
      label={label}
      minColumns={minBars}
      format={formatCompact}
      bars={keys.map((key) => {
        const value = values.get(key) ?? '0';
        const href = isLinked ? toHref(props, key) : undefined;
        return {
          key,
          mark: showPeriod(key, period),
          parts: [{ value: Number(value), tone: 'busy' as const }],
          title: `${showPeriod(key, period)}: ${props.toText(value)}`,
          ...(href !== undefined && { href }),
        };
      })}
    />
  );
}
