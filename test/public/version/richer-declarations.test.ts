// The rules of summaries, relations' parameters, search, `or`, sort sets and filters on lines, and what
// differences between versions say.
import { describe, expect, it } from 'vitest';
import type { Available } from '../../../src/public/version/bind.ts';
import { availableInvoices, bindEndpoints, listChanges, listProblems } from '../compiled.ts';
import { fieldsWith, invoicesEndpoint } from '../fixture.ts';

const { invoice } = availableInvoices();
const available: Available = { invoice };
const inCurrencies: Available = { invoice: { ...invoice, currency: 'entity' } };

const found = (changes: object, given: Available = available) =>
  listProblems([{ ...invoicesEndpoint, ...changes }], given).map((problem) =>
    problem.replace('endpoints[0].', ''),
  );
const bindInvoices = (changes: object, given: Available = available) =>
  bindEndpoints([{ ...invoicesEndpoint, ...changes }], given);
const named = (name: string, source = 'status') => ({
  fields: [...invoicesEndpoint.fields, { name, source }],
});
const filters = (...list: [field: string, ...operators: string[]][]) => ({
  filters: list.map(([field, ...operators]) => ({ field, operators })),
});

describe('filters on lines', () => {
  it.each<[object, string[]]>([
    [filters(['lines.item', 'eq'], ['lines.quantity', 'eq', 'gt', 'gte', 'lt', 'lte']), []],
    [filters(['lines', 'eq']), ['save filters[0].field lines']],
    [filters(['lines.unknown', 'eq']), ['save filters[0].field not_included']],
    [filters(['line.item', 'eq']), ['save filters[0].field not_included']],
    [filters(['status.name', 'eq']), ['save filters[0].field not_included']],
    [
      filters(['lines.item', 'eq'], ['lines.ITEM', 'eq']),
      ['save filters[1].field duplicate', 'save filters[1].field not_included'],
    ],
    [
      filters(['lines.item', 'not', 'null', 'contains', 'starts_with']),
      ['not', 'null', 'contains', 'starts_with'].map(
        (_, index) => `save filters[0].operators[${index}] operator_misfits`,
      ),
    ],
    [
      filters(['lines.item', 'gt', 'after']),
      [0, 1].map((index) => `publish filters[0].operators[${index}] operator_misfits`),
    ],
    [filters(['lines.quantity', 'after']), ['publish filters[0].operators[0] operator_misfits']],
  ])('%j', (changes, problems) => {
    expect(found(changes)).toEqual(problems);
  });

  it('cannot share a parameter name', () => {
    const lines = [
      { name: 'quantity', source: 'quantity' },
      { name: 'quantity_gt', source: 'secretcost' },
    ];
    const fields = fieldsWith({ lines: { fields: lines } });
    expect(found({ fields, ...filters(['lines.quantity', 'gt'], ['lines.quantity_gt', 'eq']) })).toEqual([
      'save filters[0].field clashes_with_filter',
    ]);
    expect(found({ fields, ...filters(['lines.quantity', 'lt'], ['lines.quantity_gt', 'eq']) })).toEqual([]);
  });
});

describe('search, or and sort sets', () => {
  it.each<[object, string[]]>([
    [{ search: ['number', 'customerName'], or: true, sortSets: [['date', '-total']] }, []],
    [{ search: ['number', 'NUMBER'] }, ['save search[1] duplicate', 'save search[1] not_included']],
    [
      { search: ['nothing', 'lines', 'total'] },
      ['save search[0] not_included', 'save search[1] lines', 'publish search[2] not_text'],
    ],
    [{ sortSets: [['date', '-nothing']] }, ['save sortSets[0][1] not_included']],
    [{ sortSets: [['lines', 'date']] }, ['save sortSets[0][0] lines']],
    [{ sortSets: [['date', '-date']] }, ['save sortSets[0][1] duplicate']],
    [
      {
        sortSets: [
          ['date', '-total'],
          ['date', 'total'],
          ['date', '-total'],
        ],
      },
      ['save sortSets[2] duplicate'],
    ],
  ])('%j', (changes, problems) => {
    expect(found(changes)).toEqual(problems);
  });

  it('refuse what is no declaration', () => {
    for (const changes of [
      { or: false },
      { search: [] },
      { sortSets: [['date']] },
      { aggregates: [] },
      { groups: [{ field: 'date' }] },
    ])
      expect(() => bindInvoices(changes)).toThrow();
  });
});

describe('summaries', () => {
  const sums = [{ field: 'total', functions: ['sum', 'avg', 'min', 'max', 'count_distinct'] }];
  it.each<[object, string[]]>([
    [
      {
        aggregates: sums,
        groups: [
          'status',
          'date',
          { field: 'date', periods: ['month', 'year'] },
          { field: 'modified', periods: ['day'] },
        ],
      },
      [],
    ],
    [
      { aggregates: [...sums, { field: 'Total', functions: ['sum'] }] },
      ['save aggregates[1].field not_included', 'save aggregates[1].field duplicate'],
    ],
    [
      { aggregates: [{ field: 'total', functions: ['sum', 'sum'] }] },
      ['save aggregates[0].functions[1] duplicate'],
    ],
    [{ aggregates: [{ field: 'lines', functions: ['sum'] }] }, ['save aggregates[0].field lines']],
    [
      { aggregates: [{ field: 'date', functions: ['min', 'sum'] }] },
      ['publish aggregates[0].functions[1] function_misfits'],
    ],
    [
      { aggregates: [{ field: 'status', functions: ['count_distinct', 'min'] }] },
      ['publish aggregates[0].functions[1] function_misfits'],
    ],
    [
      { aggregates: [{ field: 'date', functions: ['min'], currency: 'none' }] },
      ['publish aggregates[0].currency not_a_number'],
    ],
    [{ groups: ['nothing', 'lines'] }, ['save groups[0] not_included', 'save groups[1] lines']],
    [{ groups: [{ field: 'total', periods: ['month'] }] }, ['publish groups[0].periods period_misfits']],
    [{ groups: ['status', 'status'] }, ['save groups[1] duplicate']],
    [
      {
        groups: [
          { field: 'date', periods: ['month', 'month'] },
          { field: 'date', periods: ['year', 'month'] },
        ],
      },
      ['save groups[0].periods[1] duplicate', 'save groups[1].periods[1] duplicate'],
    ],
  ])('%j', (changes, problems) => {
    expect(found(changes)).toEqual(problems);
  });

  it('of amounts need the currency as a group or an equality filter, where the record type has one', () => {
    const problem = ['publish aggregates[0] several_currencies'];
    expect(found({ aggregates: sums }, inCurrencies)).toEqual(problem);
    expect(found({ aggregates: sums, groups: ['status'] }, inCurrencies)).toEqual(problem);
    expect(found({ aggregates: sums, ...filters(['customer', 'not']) }, inCurrencies)).toEqual(problem);
    for (const changes of [
      { groups: ['customer'] },
      { groups: ['customerName'] },
      filters(['customer', 'eq']),
      filters(['customerName', 'eq']),
    ])
      expect(found({ aggregates: sums, ...changes }, inCurrencies)).toEqual([]);
    for (const aggregate of [
      { field: 'total', functions: ['sum'], currency: 'none' },
      { field: 'total', functions: ['count_distinct'] },
      { field: 'date', functions: ['min'] },
    ])
      expect(found({ aggregates: [aggregate] }, inCurrencies)).toEqual([]);
  });
});

describe('aggregates of what the ERP says are amounts', () => {
  const inBoth: Available = {
    invoice: { ...invoice, currency: 'entity', amounts: { total: 'entity', seq: null } },
  };
  const onlyTotal: Available = { invoice: { ...invoice, currency: 'entity', amounts: { total: 'entity' } } };
  const problem = 'publish aggregates[0] several_currencies';
  const of = (field: string, rest: object = {}) => ({ aggregates: [{ field, functions: ['avg'] }], ...rest });

  it('need the currency, and other numbers do not', () => {
    expect(found(of('total'), onlyTotal)).toEqual([problem]);
    expect(found(of('seq'), onlyTotal)).toEqual([]);
    expect(found(of('total', { groups: ['customer'] }), inBoth)).toEqual([]);
  });

  it('are refused where no field tells the currency, unless the definition says that they need none', () => {
    for (const rest of [{}, { groups: ['customer'] }, filters(['customer', 'eq'])])
      expect(found(of('seq', rest), inBoth)).toEqual([problem]);
    const functions = ['sum', 'avg', 'min', 'max'];
    for (const one of functions)
      expect(found({ aggregates: [{ field: 'seq', functions: [one] }] }, inBoth), one).toEqual([problem]);
    expect(found({ aggregates: [{ field: 'seq', functions: ['count_distinct'] }] }, inBoth)).toEqual([]);
    expect(found({ aggregates: [{ field: 'seq', functions, currency: 'none' }] }, inBoth)).toEqual([]);
  });

  it('are bound as far as the version has them', () => {
    const fields = invoicesEndpoint.fields.filter(({ source }) => source !== 'total');
    const { bindings } = bindInvoices({ ...of('seq'), fields }, inBoth);
    expect(bindings['invoice']).toMatchObject({ currency: 'entity', amounts: { seq: null } });
    expect(bindings['invoice']?.amounts).not.toHaveProperty('total');
  });
});

describe('names', () => {
  const relations = [{ name: 'invoice', field: 'customer', resource: 'invoices' }];
  const refused = (name: string, changes: object) =>
    found({ ...named(name), ...changes }).filter(
      (problem) => problem.includes('reserved_name') || problem.includes('filters'),
    );

  it.each([
    ['q', { search: ['number'] }],
    ['Or', { or: true }],
    ['expand', { relations }],
  ])('a field "%s" clashes only where the endpoint declares the parameter', (name, changes) => {
    const at = `save fields[${invoicesEndpoint.fields.length}].name`;
    const illegal = /^[a-z]/.test(name) ? [] : [`${at} illegal_name`];
    expect(refused(name, {})).toEqual([]);
    expect(refused(name, changes)).toEqual([`${at} reserved_name`]);
    expect(found(named(name))).toEqual(illegal);
  });

  it.each(['sum', 'avg', 'min', 'max', 'count', 'count_distinct', 'by'])(
    'a filter "%s" clashes only with a summary',
    (name) => {
      const filtered = filters([name, 'eq']);
      expect(found({ ...named(name), ...filtered })).toEqual([]);
      expect(found({ ...named(name), ...filtered, groups: ['status'] })).toEqual([
        'save filters[0].field reserved_name',
      ]);
      expect(found({ ...named(name), ...filters([name, 'not']), groups: ['status'] })).toEqual([]);
      expect(found({ ...named(name), groups: [name] })).toEqual(
        name === 'by' ? [] : ['save groups[0] reserved_name'],
      );
    },
  );
});

describe('differences between versions', () => {
  const bound = (changes: object, utcOffsetMinutes = 0, money: object = {}) => {
    const { endpoints, bindings } = bindInvoices(changes);
    const { invoice: own } = bindings;
    if (own === undefined) throw new Error('the invoices are not bound');
    return { endpoints, bindings: { invoice: { ...own, utcOffsetMinutes, ...money } } };
  };
  const changes = (before: object, after: object) => listChanges(bound(before), bound(after));
  const rich = {
    search: ['number'],
    or: true,
    sortSets: [['date', '-total']],
    aggregates: [{ field: 'total', functions: ['sum', 'max'] }],
    groups: ['status', { field: 'date', periods: ['month'] }],
    relations: [{ name: 'parent', field: 'customer', resource: 'invoices' }],
  };
  const parts = [
    'search.number',
    'or',
    'sortSets.date,-total',
    'aggregates.sum.total',
    'aggregates.max.total',
    'groups.status',
  ];
  const paths = [...parts, 'groups.date.month', 'relations.parent'];

  it('what is added breaks no client, and what is removed does', () => {
    expect(changes({}, rich)).toEqual(paths.map((path) => `invoices.${path} added`));
    expect(changes(rich, {})).toEqual(paths.map((path) => `invoices.${path} removed !`));
    expect(changes(rich, rich)).toEqual([]);
  });

  it('finds what changed its meaning', () => {
    const money = (currency?: 'none') => ({
      aggregates: [{ field: 'total', functions: ['sum'], ...(currency && { currency }) }],
    });
    expect(changes(money(), money('none'))).toEqual(['invoices.aggregates.total.currency changed']);
    expect(changes(money('none'), money())).toEqual(['invoices.aggregates.total.currency changed !']);
    const related = (field: string) => ({ relations: [{ name: 'parent', field, resource: 'invoices' }] });
    expect(changes(related('customer'), related('number'))).toEqual(['invoices.relations.parent changed !']);
    const periods = { groups: [{ field: 'modified', periods: ['day'] }] };
    expect(listChanges(bound(periods, 60), bound(periods, 120))).toEqual(['invoices.groups changed !']);
  });

  it('compares time zones only where both have a period of a time: dates have none', () => {
    const grouped = (...groups: object[]) => ({
      groups: groups.map((group) => ({ periods: ['month'], ...group })),
    });
    const [dates, times] = [{ field: 'date' }, { field: 'modified' }];
    const moved = (before: object[], after: object[]) =>
      listChanges(bound(grouped(...before), 60), bound(grouped(...after), 120));
    expect(moved([dates], [dates])).toEqual([]);
    expect(moved([dates], [dates, times])).toEqual(['invoices.groups.modified.month added']);
    expect(moved([dates, times], [dates, times])).toEqual(['invoices.groups changed !']);
  });

  it('finds amounts that need their currency from now on, or another one', () => {
    const aggregated = (functions: string[], field = 'total', rest: object = {}) => ({
      aggregates: [{ field, functions, ...rest }],
    });
    const between = (from: object, to: object, before: object, after = before) =>
      listChanges(bound(before, 0, from), bound(after, 0, to));
    const path = 'invoices.aggregates.total.currency changed';
    const currency = { currency: 'currency' };
    const amounts = (of: string | null) => ({ ...currency, amounts: { total: of } });
    for (const [from, to] of [
      [{}, currency],
      [{}, amounts('currency')],
      [amounts('currency'), amounts('entity')],
      [amounts('currency'), amounts(null)],
      [{ ...currency, amounts: {} }, amounts('currency')],
    ] as const) {
      expect(between(from, to, aggregated(['sum']))).toEqual([`${path} !`]);
      expect(between(from, to, aggregated(['count_distinct', 'max']))).toEqual([`${path} !`]);
      expect(between(from, to, {}, aggregated(['sum']))).toEqual(['invoices.aggregates.sum.total added']);
      for (const free of [
        aggregated(['count_distinct']),
        aggregated(['min'], 'date'),
        aggregated(['sum'], 'total', { currency: 'none' }),
        { groups: ['status'] },
      ])
        expect(between(from, to, free)).toEqual([]);
    }
    expect(between(currency, {}, aggregated(['sum']))).toEqual([path]);
    expect(between(currency, { ...currency, amounts: {} }, aggregated(['sum']))).toEqual([path]);
    expect(between(currency, amounts('currency'), aggregated(['sum']))).toEqual([]);
  });
});
