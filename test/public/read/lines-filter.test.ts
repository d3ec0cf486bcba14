// Filters on lines: a record matches when one of its lines does. Random filters against the same filter in
// memory, in every way of reading a list.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { useStarted } from '../../setup/use-started.ts';
import type { Get } from '../fixture.ts';
import { describePlans, explainCount } from './explain.ts';
import {
  compares,
  days,
  expectSelected,
  type Invoice,
  instants,
  items,
  type Line,
  openSelection,
  parameter,
  quantities,
  randomInvoices,
  selectableInvoices,
  words,
} from './selection-oracle.ts';

const invoices = randomInvoices(90);
const site = useStarted(() => openSelection(invoices));
const get: Get = (path, headers) => site.get(path, headers);

type LineFilter = {
  readonly key: string;
  readonly name: string;
  readonly operator: string;
  readonly values: readonly string[];
};

const numeric = ['eq', 'gt', 'gte', 'lt', 'lte'] as const;
const dated = ['eq', 'after', 'before', 'gte', 'lte'] as const;
const createFilterArbitrary = (
  key: string,
  name: string,
  operators: readonly string[],
  values: readonly string[],
): fc.Arbitrary<LineFilter> =>
  fc
    .record({
      operator: fc.constantFrom(...operators),
      values: fc.uniqueArray(fc.constantFrom(...values), { minLength: 1, maxLength: 3 }),
    })
    .map(({ operator, values: chosen }) => ({
      key,
      name,
      operator,
      values: operator === 'eq' ? chosen : chosen.slice(0, 1),
    }));

const lineFilter = fc.oneof(
  createFilterArbitrary('item', 'lines.item', ['eq'], [...items, 'absent']),
  createFilterArbitrary('item.name', 'lines.itemName', ['eq'], [...words, 'bolt']),
  createFilterArbitrary('quantity', 'lines.quantity', numeric, [...quantities, '1.50', '007', '-0', '3']),
  createFilterArbitrary('position', 'lines.position', numeric, ['0', '1', '2', '3', '4']),
  createFilterArbitrary('taxed', 'lines.taxed', ['eq'], ['true', 'false']),
  createFilterArbitrary('due', 'lines.due', dated, [...days, '2026-01-29', '2026-03-01']),
  createFilterArbitrary('shipped', 'lines.shipped', dated, [
    ...instants,
    '2026-01-31',
    '2026-02-01',
    '2026-01-31T13:30:00+01:00',
    '2026-01-31T12:30:00.000001Z',
    '9999-12-31T23:59:59-14:00',
    '0001-01-01T00:00:00+14:00',
  ]),
);

/** The first and last millisecond of a value; a fraction of a millisecond after a second counts as one. */
function parseSpan(text: string): [number, number] {
  if (text.length === 10) return [Date.parse(`${text}T00:00:00Z`), Date.parse(`${text}T23:59:59.999Z`)];
  const at = Date.parse(text.replace('.000001', '.001'));
  return [at, at];
}

function lineMatches({ key, operator, values }: LineFilter, line: Line): boolean {
  const own = line[key];
  if (own === undefined) return false;
  if (key === 'shipped') {
    const at = Date.parse(String(own));
    if (operator === 'eq') return values.map(parseSpan).some(([from, to]) => at >= from && at <= to);
    const [from, to] = parseSpan(values[0] ?? '');
    return compares(operator, at, operator === 'after' || operator === 'lte' ? to : from);
  }
  const isNumber = key === 'quantity' || key === 'position';
  return values.some((value) =>
    compares(operator, isNumber ? Number(own) : String(own), isNumber ? Number(value) : value),
  );
}

const matches = (filters: readonly LineFilter[], { parsed }: Invoice): boolean =>
  filters.every((filter) => parsed?.some((line) => lineMatches(filter, line)) === true);
const toQuery = ({ name, operator, values }: LineFilter): string =>
  values.map((value) => parameter(operator === 'eq' ? name : `${name}_${operator}`, value)).join('&');

describe('filters on lines', () => {
  it('select the invoices of which one line matches each filter, in lists and exports', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(lineFilter, {
          minLength: 1,
          maxLength: 3,
          selector: ({ name, operator }) => name + operator,
        }),
        async (filters) => {
          const query = filters.map(toQuery).join('&');
          const expected = invoices
            .filter((invoice) => matches(filters, invoice))
            .map(({ id }) => String(id));
          await expectSelected(get, query, expected);
        },
      ),
      { numRuns: 100 },
    );
  });

  it('400 for a value of another type, a repeated range, and operators that are not declared', async () => {
    for (const [query, code] of [
      ['lines.quantity_gt=x', 'invalid_value'],
      ['lines.quantity_gt=1&lines.quantity_gt=2', 'repeated_parameter'],
      ['lines.item_not=1', 'unknown_parameter'],
      ['lines.item_contains=abc', 'unknown_parameter'],
      ['lines=1', 'unknown_parameter'],
    ] as const)
      expect((await get(`/v1/invoices?${query}`).expect(400)).body.error.details).toMatchObject([{ code }]);
  });
});

describePlans('a filter on lines', () => {
  it.each([
    ['lines.item=11', '@?'],
    ['lines.item=11&lines.item=12', '@?'],
    ['lines.quantity_gt=5', '"quantity"'],
    ['lines.due_before=2026-01-31', '"due"'],
    ['lines.shipped=2026-01-31', '"shipped"'],
  ])('%s is read through an index', async (query, condition) => {
    const plan = await explainCount(site, selectableInvoices, query);
    expect(
      plan.split('\n').filter((text) => text.includes('Index Cond') && text.includes(condition)),
    ).not.toEqual([]);
  });

  it.each([
    'lines.quantity_gt=9007199254740993',
    'lines.quantity_lt=-3',
    'lines.due_after=2026-02-01',
    'lines.due_before=2026-01-30',
  ])('%s visits only the invoices with more lines than the index holds', async (query) => {
    const plan = await explainCount(site, selectableInvoices, query, { analyze: true });
    const [found, removed] = [/ Scan .*?\(actual rows=(\d+)/, /Rows Removed by Filter: (\d+)/].map((each) =>
      Number(each.exec(plan)?.[1]),
    );
    const long = invoices.filter(({ parsed }) => (parsed?.length ?? 0) > 64);
    expect(long.length).toBeGreaterThan(0);
    expect(invoices.filter(({ parsed }) => parsed === null).length).toBeGreaterThan(0);
    expect({ plan, visited: (found ?? 0) + (removed ?? 0) }).toEqual({ plan, visited: long.length });
  });
});
