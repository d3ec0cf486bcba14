// The description of summaries, related records, search, alternatives, filters on lines, several sorts, and fields
// that are scopable, tagged or hashed. Other masks: golden-description.test.ts.
import type { oas31 } from 'openapi3-ts';
import { beforeAll, describe, expect, it } from 'vitest';
import type { AccessLayer, RecordAccess } from '../../../src/core/record-access.ts';
import { restrictDescription } from '../../../src/public/openapi/restrict-description.ts';
import { compileSchema } from '../../../src/public/version/compile.ts';
import { readableEndpoints } from '../../../src/public/version/narrow.ts';
import { availableInvoices, bindEndpoints, describeEndpoints } from '../compiled.ts';
import { lintTotals, schemaErrors } from './problems.ts';
import { parties, richInvoices } from './richer-document.ts';

const buildDocument = (list: readonly unknown[]): oas31.OpenAPIObject => JSON.parse(describeEndpoints(list));

const restricted = (
  list: readonly unknown[],
  layer: Partial<AccessLayer>,
  unmasked = true,
): { text: string; body: oas31.OpenAPIObject } => {
  const schema = compileSchema({
    ...{ id: 'x', version: 'v2', maskSecret: Buffer.alloc(32) },
    ...bindEndpoints(list),
  });
  const access: RecordAccess = {
    layers: [{ versions: [], resources: [], rows: null, fields: null, ...layer }],
    unmasked,
  };
  const text = restrictDescription(describeEndpoints(list), readableEndpoints(schema, access));
  return { text, body: JSON.parse(text) };
};

const findGetOperation = (document: oas31.OpenAPIObject, at: string): oas31.OperationObject =>
  document.paths?.[`/v2/${at}`]?.get ?? { responses: {} };
const parameter = (document: oas31.OpenAPIObject, at: string, name: string) =>
  (findGetOperation(document, at).parameters as oas31.ParameterObject[]).find((each) => each.name === name);
const listValues = (document: oas31.OpenAPIObject, at: string, name: string): unknown => {
  const schema = parameter(document, at, name)?.schema as oas31.SchemaObject | undefined;
  return (schema?.items as oas31.SchemaObject | undefined)?.enum ?? schema?.enum;
};
const findOrSchema = (document: oas31.OpenAPIObject): oas31.SchemaObject =>
  (parameter(document, 'invoices', 'or')?.schema ?? {}) as oas31.SchemaObject;
const findSchema = (document: oas31.OpenAPIObject, name: string) =>
  document.components?.schemas?.[name] as oas31.SchemaObject;

let document: oas31.OpenAPIObject;
beforeAll(() => {
  document = buildDocument([richInvoices, parties]);
});

describe('the description of a version that declares everything', () => {
  it('is valid OpenAPI 3.1 and lint-clean', async () => {
    const described = describeEndpoints([richInvoices, parties], { serverUrl: 'https://portal.example' });
    expect(await schemaErrors(described)).toEqual([]);
    expect(await lintTotals(described)).toMatchObject({ errors: 0, warnings: 0 });
  });

  it('has parameters only for resources that declare them', () => {
    for (const name of ['q', 'or', 'expand']) {
      expect(parameter(document, 'invoices', name), name).toBeDefined();
      expect(parameter(document, 'parties', name), name).toBeUndefined();
    }
    expect(document.paths).not.toHaveProperty('/v2/parties/summary');
    expect(parameter(document, 'invoices/{id}', 'expand')).toBeDefined();
    expect(parameter(document, 'invoices/{id}', 'q')).toBeUndefined();
    expect(parameter(document, 'invoices/summary', 'expand')).toBeUndefined();
    expect(parameter(document, 'invoices/changes', 'expand')).toBeUndefined();
    expect(document.info.description).toContain('## Summaries');
    const plain = buildDocument([parties]).info.description ?? '';
    for (const title of ['Summaries', 'Related records', 'Search'])
      expect(plain).not.toContain(`## ${title}`);
  });

  it('types filters on lines like the values of the lines', () => {
    const item = { schema: { items: { type: 'string' } }, explode: true };
    expect(parameter(document, 'invoices', 'lines.item')).toMatchObject(item);
    const description = expect.stringContaining('when one of its `lines` does');
    const quantity = { schema: { type: ['number', 'string'] }, description };
    expect(parameter(document, 'invoices', 'lines.quantity_gt')).toMatchObject(quantity);
  });

  it('lists single and combined sorts', () => {
    const values = listValues(document, 'invoices', 'sort');
    expect(values).toEqual([
      ...richInvoices.sorts,
      ...richInvoices.sorts.map((name) => `-${name}`),
      'date,-total',
    ]);
    const { description } = parameter(document, 'invoices', 'sort') ?? {};
    expect(description).toMatch(/Default: by id\.$/);
    // What the SQL does is proved in test/public/read/sort-sets.
    expect(description).toContain(
      'Records that are equal in all of them are in the order of their ids, in the direction of the first field.',
    );
  });

  it('has a pattern for `or` that takes what is allowed and nothing else, and an example that it takes', () => {
    const { pattern = '', examples = [] } = findOrSchema(document);
    const accepts = (text: string): boolean => new RegExp(pattern, 'u').test(text);
    expect(examples).toHaveLength(1);
    const allowed = [
      '(status:eq:Open,total:gt:1000)',
      '(status:eq:"a, ""b"" (c)",lines.item:eq:7)',
      '(modified:after:2026-01-31T10:00:00Z,status:eq:)',
      `(${Array(10).fill('id:eq:1').join()})`,
    ];
    for (const text of [...examples, ...allowed]) expect(accepts(String(text)), String(text)).toBe(true);
    const refused = [
      'status:eq:a',
      '(status:eq:a)',
      '(status:like:a,b:eq:c)',
      '(a:eq:b;c:eq:d)',
      '(a:eq:"b,c:eq:d)',
      '()',
    ];
    for (const text of [...refused, `(${Array(11).fill('id:eq:1').join()})`])
      expect(accepts(text), text).toBe(false);
  });
});

describe('the description of related records', () => {
  it('has them as optional properties that may be null', () => {
    const { properties = {}, required } = findSchema(document, 'Invoice');
    expect(properties['buyer']).toMatchObject({
      anyOf: [{ $ref: '#/components/schemas/Party' }, { type: 'null' }],
    });
    expect(required).toEqual(['id']);
    expect(listValues(document, 'invoices', 'expand')).toEqual(['buyer']);
    const answer = findGetOperation(document, 'invoices').responses?.['200'] as oas31.ResponseObject;
    expect(answer.content?.['application/json']?.example.data[0]).not.toHaveProperty('buyer');
  });

  it('describes relations between resources in both directions', async () => {
    const back = { ...parties, relations: [{ name: 'first', field: 'number', resource: 'invoices' }] };
    const described = describeEndpoints([richInvoices, back]);
    expect(await schemaErrors(described)).toEqual([]);
    expect(findSchema(JSON.parse(described), 'Party').properties).toHaveProperty('first');
  });
});

describe('the description of a summary', () => {
  const functions = ['sum', 'avg', 'min', 'max', 'count_distinct'];

  it('has the exact type of every group and result, none of which depends on the value', () => {
    const { properties = {} } = findSchema(document, 'InvoiceSummaryRow');
    expect(Object.keys(properties)).toEqual([
      ...['customer', 'paid', 'seq', 'date.day', 'date.week', 'date.month', 'date.quarter', 'date.year'],
      ...['count', 'sum', 'avg', 'min', 'max', 'count_distinct'],
    ]);
    expect(properties).toMatchObject({
      paid: { type: ['boolean', 'null'] },
      'date.day': { type: ['string', 'null'], format: 'date' },
      'date.month': { type: ['string', 'null'] },
      count: { type: 'integer' },
      sum: { properties: { total: { type: ['string', 'null'] } } },
      min: {
        properties: {
          total: { type: ['string', 'null'] },
          date: { type: ['string', 'null'], format: 'date' },
        },
      },
      count_distinct: { properties: { customer: { type: 'integer' } } },
    });
    expect(Object.keys((properties['sum'] as oas31.SchemaObject).properties ?? {})).toEqual(['total']);
  });

  it('has examples of numbers as they are served: only sums keep the zeros at their end', () => {
    const { properties = {} } = findSchema(
      buildDocument([{ ...richInvoices, aggregates: [{ field: 'total', functions }] }]),
      'InvoiceSummaryRow',
    );
    for (const name of ['avg', 'min', 'max']) {
      const { total } = (properties[name] as oas31.SchemaObject).properties ?? {};
      expect((total as oas31.SchemaObject).examples, name).toEqual([
        expect.stringMatching(/^\d+(\.\d*[1-9])?$/),
      ]);
    }
  });

  it('lists what each parameter takes', () => {
    expect(listValues(document, 'invoices/summary', 'sum')).toEqual(['total']);
    expect(listValues(document, 'invoices/summary', 'min')).toEqual(['total', 'date']);
    expect(listValues(document, 'invoices/summary', 'count_distinct')).toEqual(['customer']);
    expect(parameter(document, 'invoices/summary', 'by')).toMatchObject({
      explode: true,
      schema: { maxItems: 2 },
    });
    expect(listValues(document, 'invoices/summary', 'by')).toContain('date.quarter');
    const sorts = listValues(document, 'invoices/summary', 'sort');
    for (const name of ['-sum.total', 'min.date', 'date.month', '-count']) expect(sorts).toContain(name);
    for (const name of ['q', 'or', 'status', 'lines.item', 'limit', 'count'])
      expect(parameter(document, 'invoices/summary', name)).toBeDefined();
    for (const name of ['page', 'pageSize', 'order', 'fields'])
      expect(parameter(document, 'invoices/summary', name), name).toBeUndefined();
  });

  it('has an operation and names of its own, also where another resource has them', () => {
    expect(findGetOperation(document, 'invoices/summary')).toMatchObject({
      operationId: 'summarizeInvoices',
      summary: 'Summarize invoices',
    });
    const clashing = buildDocument([{ ...parties, name: 'invoice-summaries' }, richInvoices, parties]);
    const ids = Object.values(clashing.paths ?? {}).map((item) => item.get?.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(findSchema(clashing, 'InvoiceSummary').properties).toHaveProperty('id');
  });

  it('says that several currencies are never added up, where records have one', () => {
    const isSaid = (list: readonly unknown[], money: object = { currency: 'status' }) => {
      const bound = bindEndpoints(list, { invoice: { ...availableInvoices().invoice, ...money } });
      return describeEndpoints(list, bound).includes('several_currencies');
    };
    const aggregating = (aggregates: readonly object[]) => [{ ...richInvoices, aggregates }, parties];
    const rich = [richInvoices, parties];
    expect(isSaid(rich)).toBe(true);
    expect(isSaid(rich, {})).toBe(false);
    expect(isSaid(rich, { currency: 'status', amounts: { total: 'status' } })).toBe(true);
    expect(isSaid(rich, { currency: 'status', amounts: {} })).toBe(false);
    const none = richInvoices.aggregates.map((aggregate) => ({ ...aggregate, currency: 'none' }));
    expect(isSaid(aggregating(none))).toBe(false);
    expect(isSaid(aggregating([{ field: 'date', functions: ['min'] }]))).toBe(false);
  });
});

describe('the description for a reader of a part', () => {
  it('has the aggregates, groups, sorts, searched fields and filters of its fields alone', () => {
    const { text, body } = restricted([richInvoices, parties], {
      fields: { invoices: ['number', 'date', 'customer'] },
    });
    expect(text).not.toMatch(/totalText|customerName|quantity|[.-]total/);
    expect(listValues(body, 'invoices/summary', 'min')).toEqual(['date']);
    expect(parameter(body, 'invoices/summary', 'sum')).toBeUndefined();
    expect(listValues(body, 'invoices', 'sort')).toEqual(['number', 'date', '-number', '-date']);
    expect(parameter(body, 'invoices', 'q')?.description).toContain('in `number`, ignoring');
    expect(parameter(body, 'invoices', 'lines.item')).toBeUndefined();
    expect(findSchema(body, 'InvoiceSummaryRow').properties).not.toHaveProperty('sum');
    expect(findSchema(body, 'InvoiceSummaryRow').properties).toHaveProperty(['date.month']);
    expect(findSchema(body, 'Invoice').properties).toHaveProperty('buyer');
    const { examples = [] } = findOrSchema(body);
    expect(examples[0]).toMatch(/^\(number:/);
    const answer = findGetOperation(body, 'invoices/summary').responses?.['200'] as oas31.ResponseObject;
    expect(Object.keys(answer.content?.['application/json']?.example.data[0])).toEqual([
      'customer',
      'count',
      'min',
    ]);
  });

  it('is valid OpenAPI 3.1', async () => {
    for (const layer of [
      { resources: ['invoices'] },
      { fields: { invoices: ['number'], parties: ['paid'] } },
      { resources: ['parties'] },
    ])
      expect(await schemaErrors(restricted([richInvoices, parties], layer).text)).toEqual([]);
  });
});

describe('the description of fields', () => {
  it('shows scopable and tagged ones, how masked ones look, and those that the ERP does not have', async () => {
    const described = describeEndpoints([
      {
        name: 'invoices',
        recordType: 'invoice',
        fields: [
          { name: 'customerId', source: 'entity', scopable: true, tags: ['personal', 'confidential'] },
          { name: 'seq', source: 'seq', mask: 'hash', description: 'Position' },
          {
            ...{ name: 'lines', source: 'lines', tags: ['personal'] },
            fields: [{ name: 'item', source: 'item', mask: 'hash', tags: ['personal'] }],
          },
          { name: 'unknown', source: 'nothing', mask: 'hash', scopable: true },
        ],
      },
    ]);
    expect(await schemaErrors(described)).toEqual([]);
    expect(findSchema(JSON.parse(described), 'Invoice').properties).toMatchObject({
      customerId: { 'x-scopable': true, 'x-tags': ['personal', 'confidential'] },
      seq: {
        type: ['integer', 'string', 'null'],
        description: expect.stringMatching(/^Position\..*HMAC-SHA-256/),
        'x-mask': 'hash',
      },
      lines: {
        'x-tags': ['personal'],
        items: { properties: { item: { 'x-mask': 'hash', 'x-tags': ['personal'] } } },
      },
      unknown: { 'x-mask': 'hash', 'x-scopable': true },
    });
  });
});

describe('the servers of a description', () => {
  it('have the configured address first and the relative one second', () => {
    const { servers } = JSON.parse(describeEndpoints([parties], { serverUrl: 'https://portal.example' }));
    expect(servers.map(({ url }: { url: string }) => url)).toEqual([
      'https://portal.example/api/public',
      '/api/public',
    ]);
    expect(buildDocument([parties]).servers).toEqual([{ url: '/api/public', description: 'This service' }]);
  });
});
