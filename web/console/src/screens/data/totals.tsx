// How many records the filters select, and the sums of the numbers that are shown. Amounts are added up in
// each currency for itself.
import { formatCount } from '../../format.ts';
import {
  type Place,
  type RecordPage,
  type ShownField,
  type SummaryRow,
  showNumber,
  useSummary,
} from '../../parts/read-records.tsx';
import { type State, toSelection } from './address.ts';
import { addDecimals } from './decimals.ts';

/** Group keys of one request. */
const maxKeys = 2;

/** The currency fields of these amounts, as many as one request can group by. */
export const listCurrencies = (fields: readonly ShownField[]): string[] =>
  [...new Set(fields.flatMap(({ currency }) => currency ?? []))].slice(0, maxKeys);

/** The numbers that can be added up when grouped by these currency fields. */
export const listSummable = (fields: readonly ShownField[]): ShownField[] => {
  const numbers = fields.filter(({ type, masked }) => type === 'number' && !masked);
  const currencies = listCurrencies(numbers);
  return numbers.filter(
    ({ currency }) => currency === undefined || (currency !== null && currencies.includes(currency)),
  );
};

/** The sums of a field, in each currency. */
function sumsOf({ name, currency }: ShownField, rows: readonly SummaryRow[]): string[] {
  const byCurrency = new Map<string | undefined, string[]>();
  for (const row of rows) {
    const value = row[`sum.${name}`];
    if (typeof value !== 'string') continue;
    const unit = currency == null ? undefined : String(row[currency] ?? 'no currency');
    byCurrency.set(unit, [...(byCurrency.get(unit) ?? []), value]);
  }
  return [...byCurrency].map(([unit, values]) => showNumber(addDecimals(values), unit));
}

export function Totals({
  place,
  state,
  columns,
  page,
}: {
  place: Place;
  state: State;
  columns: readonly string[];
  page: RecordPage;
}) {
  const shown = listSummable(page.fields.filter(({ name }) => columns.includes(name)));
  const by = listCurrencies(shown);
  const read = useSummary(
    place,
    shown.length === 0
      ? null
      : [
          ...toSelection(state),
          ['sum', shown.map(({ name }) => name).join()],
          ...(by.length === 0 ? [] : [['by', by.join()] as const]),
        ],
  );
  return (
    <dl class="data-totals" aria-live="polite">
      <div>
        <dt class="visually-hidden">Count</dt>
        <dd>{formatCount(page.pagination.total, 'record')}</dd>
      </div>
      {shown.map((field) => {
        const sums = sumsOf(field, read.data?.rows ?? []);
        return (
          sums.length > 0 && (
            <div key={field.name}>
              <dt>Sum of {field.name}</dt>
              <dd>{sums.join(' + ')}</dd>
            </div>
          )
        );
      })}
    </dl>
  );
}
