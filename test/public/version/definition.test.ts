// The pure stages of a definition: schema, rules, binding, compiling, comparing.
import { describe, expect, it } from 'vitest';
import { listIndexes } from '../../../src/public/read/sql/indexes.ts';
import type { Available } from '../../../src/public/version/bind.ts';
import { compileSchema } from '../../../src/public/version/compile.ts';
import { SchemaDocument } from '../../../src/public/version/schema-document.ts';
import { validateDocument } from '../../../src/public/version/validate.ts';
import type { RecordColumn } from '../../../src/warehouse/columns.ts';
import { availableInvoices, bindEndpoints, listChanges, listProblems } from '../compiled.ts';
import { invoiceColumns, invoicesEndpoint } from '../fixture.ts';

const text = { part: 'value', type: 'text', lineFields: null } as const;
const available: Available = {
  invoice: {
    label: 'Invoice',
    idType: 'integer',
    hasData: true,
    columns: [
      ...invoiceColumns,
      { ...text, column: 'f_memo', field: 'memo', state: 'loading' },
      { ...text, column: 'f_gone', field: 'gone', state: 'vanished' },
      { ...text, column: 'f_hidden', field: 'hidden', state: 'stale' },
      { ...text, column: 'f_back', field: 'back', state: 'returned' },
      { ...text, column: 'f_moved', field: 'moved', state: 'replaced' },
      { ...text, column: 'f_moved_2', field: 'moved', state: 'live', type: 'number' },
    ],
  },
  customer: { label: 'Customer', idType: 'text', hasData: false, columns: [] },
};

type Endpoint = Record<string, unknown>;
const document = (...endpoints: Endpoint[]) => SchemaDocument.parse({ endpoints });
const endpoint = (changes: Endpoint = {}): Endpoint => ({
  name: 'invoices',
  recordType: 'invoice',
  fields: [{ name: 'number', source: 'tranid' }],
  ...changes,
});
const fields = (...list: [name: string, source: string, more?: object][]) => ({
  fields: list.map(([name, source, more]) => ({ name, source, ...more })),
});

describe('SchemaDocument', () => {
  it('is strict, bounded and fills in defaults', () => {
    expect(document(endpoint()).endpoints[0]).toEqual({
      name: 'invoices',
      recordType: 'invoice',
      description: '',
      fields: [{ name: 'number', source: 'tranid', description: '' }],
      filters: [],
      sorts: [],
      defaultSort: null,
      maxPageSize: 100,
    });
    const many = Array.from({ length: 501 }, (_, index) => ({ name: `f${index}`, source: 'tranid' }));
    for (const changes of [
      { extra: 1 },
      { fields: [] },
      { fields: many },
      { maxPageSize: 1001 },
      { maxPageSize: 0 },
      { filters: [{ field: 'number', operators: ['like'] }] },
      { filters: [{ field: 'number', operators: [] }] },
      { defaultSort: { field: 'number', order: 'up' } },
    ])
      expect(() => document(endpoint(changes)), JSON.stringify(changes)).toThrow();
    expect(() => document(...Array.from({ length: 101 }, () => endpoint()))).toThrow();
    expect(SchemaDocument.safeParse({ endpoints: [], extra: true }).success).toBe(false);
  });
});

describe('validateDocument', () => {
  const reserved = ['id', 'page', 'pageSize', 'sort', 'order', 'fields', 'since', 'limit', 'draft'];
  it('accepts a complete definition', () => {
    expect(listProblems([invoicesEndpoint], available)).toEqual([]);
  });

  it.each<[string, Endpoint[], string[]]>([
    ['no endpoint', [], ['publish endpoints no_endpoints']],
    [
      'illegal names',
      [
        endpoint({ name: 'Invoices' }),
        endpoint({ name: `a${'b'.repeat(63)}` }),
        endpoint({ name: 'a', ...fields(['Number', 'tranid'], ['a-b', 'status'], ['_x', 'total']) }),
      ],
      [
        'save endpoints[0].name illegal_name',
        'save endpoints[1].name illegal_name',
        'save endpoints[2].fields[0].name illegal_name',
        'save endpoints[2].fields[1].name illegal_name',
        'save endpoints[2].fields[2].name illegal_name',
      ],
    ],
    [
      'reserved names',
      [endpoint(fields(...reserved.map((name): [string, string] => [name, 'tranid'])))],
      Array.from({ length: 9 }, (_, index) => `save endpoints[0].fields[${index}].name reserved_name`),
    ],
    [
      'duplicates, ignoring case',
      [endpoint(fields(['number', 'tranid'], ['nUMBER', 'status'])), endpoint()],
      ['save endpoints[1].name duplicate', 'save endpoints[0].fields[1].name duplicate'],
    ],
    [
      'a field named like a filter of another field',
      [
        endpoint(
          fields(
            ['date', 'trandate'],
            ['date_after', 'tranid'],
            ['date_starts_with', 'tranid'],
            ['other_not', 'tranid'],
            ['id_not', 'tranid'],
          ),
        ),
      ],
      [
        'save endpoints[0].fields[1].name clashes_with_filter',
        'save endpoints[0].fields[2].name clashes_with_filter',
        'save endpoints[0].fields[4].name clashes_with_filter',
      ],
    ],
    [
      'unknown and unsynced record types',
      [
        endpoint({ recordType: 'invoyce' }),
        endpoint({ name: 'b', recordType: 'customer' }),
        endpoint({ name: 'c', recordType: 'constructor' }),
      ],
      [
        'publish endpoints[0].recordType unknown_record_type',
        'publish endpoints[1].recordType not_synced',
        'publish endpoints[1].fields[0].source unknown_source',
        'publish endpoints[2].recordType unknown_record_type',
      ],
    ],
    [
      'unknown, loading, vanished, stale and returned fields',
      [
        endpoint(
          fields(
            ['a', 'tranidd'],
            ['b', 'memo'],
            ['c', 'gone'],
            ['d', 'tranid.name'],
            ['e', 'moved'],
            ['f', 'constructor'],
            ['g', 'hidden'],
            ['h', 'back'],
          ),
        ),
      ],
      [
        'publish endpoints[0].fields[0].source unknown_source',
        'publish endpoints[0].fields[1].source still_loading',
        'publish endpoints[0].fields[2].source vanished',
        'publish endpoints[0].fields[3].source unknown_source',
        'publish endpoints[0].fields[5].source unknown_source',
        'publish endpoints[0].fields[6].source stale',
        'publish endpoints[0].fields[7].source still_loading',
      ],
    ],
    [
      'lines',
      [
        endpoint(
          fields(
            ['a', 'lines'],
            ['b', 'tranid', { fields: [{ name: 'x', source: 'y' }] }],
            [
              'c',
              'lines',
              {
                as: 'string',
                fields: [
                  { name: 'item', source: 'itm' },
                  { name: 'Item', source: 'item', as: 'string' },
                ],
              },
            ],
          ),
        ),
      ],
      [
        'save endpoints[0].fields[0].fields lines_without_fields',
        'save endpoints[0].fields[1].fields fields_without_lines',
        'save endpoints[0].fields[2].as not_a_number',
        'save endpoints[0].fields[2].fields[1].name illegal_name',
        'save endpoints[0].fields[2].fields[1].name duplicate',
        'publish endpoints[0].fields[2].fields[0].source unknown_source',
        'publish endpoints[0].fields[2].fields[1].as not_a_number',
      ],
    ],
    [
      'text as a number',
      [endpoint(fields(['a', 'tranid', { as: 'number' }], ['b', 'total', { as: 'number' }]))],
      ['publish endpoints[0].fields[0].as not_a_number'],
    ],
    [
      'filters',
      [
        endpoint({
          ...fields(
            ['number', 'tranid'],
            ['total', 'total'],
            ['paid', 'paid'],
            ['lines', 'lines', { fields: [{ name: 'item', source: 'item' }] }],
          ),
          filters: [
            { field: 'nummber', operators: ['eq'] },
            { field: 'lines', operators: ['eq'] },
            { field: 'number', operators: ['gt', 'after', 'eq', 'eq'] },
            { field: 'total', operators: ['contains'] },
            { field: 'paid', operators: ['gte'] },
            { field: 'paid', operators: ['eq'] },
          ],
        }),
      ],
      [
        'save endpoints[0].filters[5].field duplicate',
        'save endpoints[0].filters[0].field not_included',
        'save endpoints[0].filters[1].field lines',
        'save endpoints[0].filters[2].operators[3] duplicate',
        'publish endpoints[0].filters[2].operators[0] operator_misfits',
        'publish endpoints[0].filters[2].operators[1] operator_misfits',
        'publish endpoints[0].filters[3].operators[0] operator_misfits',
        'publish endpoints[0].filters[4].operators[0] operator_misfits',
      ],
    ],
    [
      'sorts',
      [
        endpoint({
          ...fields(['number', 'tranid'], ['lines', 'lines', { fields: [{ name: 'item', source: 'item' }] }]),
          sorts: ['number', 'lines', 'other', 'number'],
          defaultSort: { field: 'total', order: 'desc' },
        }),
      ],
      [
        'save endpoints[0].sorts[3] duplicate',
        'save endpoints[0].sorts[1] lines',
        'save endpoints[0].sorts[2] not_included',
        'save endpoints[0].defaultSort.field not_a_sort',
      ],
    ],
  ])('%s', (_, endpoints, problems) => {
    expect(listProblems(endpoints, available).sort()).toEqual([...problems].sort());
  });

  it('suggests the nearest name', () => {
    const [problem] = validateDocument(document(endpoint(fields(['a', 'tranidd']))), available);
    expect(problem?.message).toBe('Invoice has no synced field of this name. Did you mean "tranid"?');
  });
});

describe('bindDocument', () => {
  it('binds the physical column of each source, skipping one that a type change replaced', () => {
    const bound = endpoint(fields(['a', 'moved'], ['b', 'entity.name'], ['c', 'nothing']));
    expect(bindEndpoints([bound], available).bindings).toEqual({
      invoice: {
        idType: 'integer',
        foldsText: true,
        takesFormat: true,
        columns: {
          moved: { column: 'f_moved_2', type: 'number', lineFields: null },
          'entity.name': { column: 'l_entity', type: 'text', lineFields: null },
        },
      },
    });
  });
});

describe('compileSchema', () => {
  const { bindings, ...doc } = bindEndpoints([invoicesEndpoint], available);

  it('is frozen', () => {
    const compiled = compileSchema({ id: 'x', version: 'v1', bindings, ...doc }).endpoints.get('invoices');
    expect(
      [compiled, compiled?.fields, compiled?.fields[0], compiled?.filters.get('id')].every(Object.isFrozen),
    ).toBe(true);
  });

  it('throws for an incompletely bound definition', () => {
    const compile = (given: typeof bindings) =>
      compileSchema({ id: 'x', version: 'v1', bindings: given, ...doc });
    expect(() => compile({})).toThrow('lacks the binding');
    const unbound = { invoice: { idType: 'integer', columns: {} } } as const;
    expect(() => compile(unbound)).toThrow('lacks the binding of "tranid"');
  });

  it('lists the indexes for its filters and sorts, each once', () => {
    const listExpressions = (endpoint: Endpoint) =>
      listIndexes(document(endpoint), bindings)
        .get('invoice')
        ?.map(({ method, expression }) => `${method} ${expression}`) ?? [];
    const plain = listExpressions(invoicesEndpoint);
    expect(plain).toContain('btree "f_trandate", id');
    expect(plain).toContain('btree "f_status", id');
    const composed =
      'case when octet_length("f_tranid") = length("f_tranid") then "f_tranid" else normalize("f_tranid", nfc) end';
    expect(plain).toContain(`gin lower(upper(${composed} collate "pg_c_utf8")) gin_trgm_ops`);
    const usuallyByDate = listExpressions({
      ...invoicesEndpoint,
      defaultSort: { field: 'date', order: 'desc' },
    });
    expect(usuallyByDate).toContain('btree "f_status", "f_trandate", id');
    expect(usuallyByDate).toContain('btree "f_trandate", id');
    for (const expressions of [plain, usuallyByDate])
      expect(new Set(expressions).size).toBe(expressions.length);
  });
});

describe('compareVersions', () => {
  const changes = (before: Endpoint[], after: Endpoint[]) =>
    listChanges(bindEndpoints(before, available), bindEndpoints(after, available));

  it('marks breaking changes', () => {
    expect(changes([endpoint(), endpoint({ name: 'old' })], [endpoint(), endpoint({ name: 'new' })])).toEqual(
      ['old removed !', 'new added'],
    );
    expect(
      changes(
        [
          endpoint({
            ...fields(['a', 'tranid'], ['b', 'total'], ['c', 'status']),
            filters: [{ field: 'a', operators: ['eq', 'not'] }],
            sorts: ['a'],
            maxPageSize: 100,
          }),
        ],
        [
          endpoint({
            ...fields(['a', 'status'], ['b', 'total', { as: 'string' }], ['d', 'paid']),
            filters: [{ field: 'a', operators: ['eq', 'null'] }],
            sorts: ['b'],
            defaultSort: { field: 'b' },
            maxPageSize: 50,
          }),
        ],
      ),
    ).toEqual([
      'invoices.maxPageSize changed !',
      'invoices.defaultSort changed !',
      'invoices.fields.c removed !',
      'invoices.fields.d added',
      'invoices.fields.a changed !',
      'invoices.fields.b changed !',
      'invoices.filters.a_not removed !',
      'invoices.filters.a_null added',
      'invoices.sorts.a removed !',
      'invoices.sorts.b added',
    ]);
    const lines = (...names: string[]) =>
      endpoint(fields(['lines', 'lines', { fields: names.map((name) => ({ name, source: name })) }]));
    expect(changes([lines('item', 'quantity')], [lines('item', 'secretcost')])).toEqual([
      'invoices.fields.lines.quantity removed !',
      'invoices.fields.lines.secretcost added',
    ]);
  });

  it('a changed type is breaking even with the same source', () => {
    const retyped = invoiceColumns.map(
      (column): RecordColumn => (column.field === 'total' ? { ...column, type: 'text' } : column),
    );
    const list = [endpoint(fields(['total', 'total']))];
    expect(
      listChanges(bindEndpoints(list, available), bindEndpoints(list, availableInvoices(retyped))),
    ).toEqual(['invoices.fields.total changed !']);
  });
});
