// Which field of the console's editor a problem belongs to, names, and the definition as text.
import { describe, expect, it } from 'vitest';
import type { Endpoint } from '../../../web/console/src/screens/schemas/document.ts';
import { readText, toText } from '../../../web/console/src/screens/schemas/json-text.ts';
import { nameFor } from '../../../web/console/src/screens/schemas/names.ts';
import {
  countProblems,
  describePlace,
  placeProblems,
} from '../../../web/console/src/screens/schemas/problems.ts';

const field = (name: string, source: string) => ({ name, source, description: '' });
const endpoint: Endpoint = {
  name: 'invoices',
  recordType: 'invoice',
  description: '',
  fields: [
    field('number', 'tranid'),
    field('date', 'trandate'),
    { ...field('lines', 'lines'), fields: [field('item', 'item')] },
  ],
  filters: [
    { field: 'date', operators: ['after', 'contains'] },
    { field: 'lines.item', operators: ['eq'] },
  ],
  sorts: ['number'],
  defaultSort: null,
  maxPageSize: 100,
  aggregates: [{ field: 'number', functions: ['sum'] }],
  groups: [{ field: 'date', periods: ['month'] }],
  search: ['date'],
  sortSets: [['date', '-number']],
};
const document = [endpoint];
const [number, date, lines] = endpoint.fields;
const item = lines?.fields?.[0];

describe('a problem', () => {
  it.each([
    ['fields[0].name', number],
    ['fields[1].source', date],
    ['fields[0].mask', number],
    ['fields[2].fields', lines],
    ['fields[2].fields[0].name', item],
    ['filters[0].operators[1]', date],
    ['filters[1].field', item],
    ['sorts[0]', number],
    ['search[0]', date],
    ['aggregates[0].functions[0]', number],
    ['groups[0].periods[0]', date],
    ['sortSets[0][1]', number],
  ])('at %s belongs to its field', (path, of) => {
    const placed = placeProblems(document, [
      { path: `endpoints[0].${path}`, code: 'some', message: 'Wrong' },
    ]);
    expect(placed.get(of ?? {})).toEqual(['Wrong']);
    expect(countProblems(placed, endpoint, 0)).toBe(1);
  });

  it('of a resource or of the document belongs there, also when its path leads nowhere', () => {
    const paths = [
      'endpoints[0].name',
      'endpoints[0].filters[9].field',
      'endpoints',
      'endpoints[3].name',
      '',
    ];
    const placed = placeProblems(
      document,
      paths.map((path) => ({ path, code: 'some', message: path })),
    );
    expect(placed.get(0)).toEqual(paths.slice(0, 2));
    expect(placed.get(undefined)).toEqual(paths.slice(2));
  });

  it('is named by resource and field', () => {
    expect(describePlace(document, 'endpoints[0].filters[1].operators[0]')).toBe('invoices.item');
    expect(describePlace(document, 'endpoints[0].maxPageSize')).toBe('invoices');
    expect(describePlace(document, 'endpoints')).toBe('The definition');
  });
});

it('names of new fields come from labels and are free', () => {
  const taken = [{ name: 'dueDate' }];
  expect(nameFor('Due date', 'duedate', taken)).toBe('dueDate2');
  expect(nameFor('Customer (id)', 'entity', taken)).toBe('customerId');
  expect(nameFor('Page', 'page', taken)).toBe('pageValue');
  expect(nameFor('2nd address', 'addr2', taken)).toBe('addr2');
  expect(nameFor('日付', '日', taken)).toMatch(/^field/);
});

describe('the definition as text', () => {
  it('is read as it was written, and what may be left out is filled in', () => {
    expect(readText(toText(document))).toEqual({ document });
    const short = { endpoints: [{ name: 'a', recordType: 'b', fields: [{ name: 'c', source: 'd' }] }] };
    expect(readText(JSON.stringify(short))).toEqual({
      document: [
        {
          name: 'a',
          recordType: 'b',
          description: '',
          fields: [field('c', 'd')],
          filters: [],
          sorts: [],
          defaultSort: null,
          maxPageSize: 100,
        },
      ],
    });
  });

  it.each([
    ['[{"name": "a",\n "x" }]', /not JSON from line 2, column \d+ on/],
    ['{"endpoint": []}', /^endpoints must be a list$/],
    ['[3]', /^endpoints\[0\] must be an object$/],
    ['[{"name": "a"}]', /^endpoints\[0\]\.recordType must be text$/],
    [
      '[{"name": "a", "recordType": "b", "fields": [{}]}]',
      /^endpoints\[0\]\.fields\[0\]\.name must be text$/,
    ],
    [
      '[{"name": "a", "recordType": "b", "fields": [], "filters": [{"field": "x"}]}]',
      /^endpoints\[0\]\.filters\[0\]\.operators must be a list$/,
    ],
  ])('%j is refused with the place', (text, fault) => {
    expect(readText(text)).toEqual({ fault: expect.stringMatching(fault) });
  });
});
