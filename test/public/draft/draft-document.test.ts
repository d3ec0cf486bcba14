// The proposal of a definition, from descriptions and facts that are made up: it is valid whatever the ERP
// calls its fields.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ColumnFact } from '../../../src/public/draft/column-facts.ts';
import type { DescribedField, DraftSource } from '../../../src/public/draft/described.ts';
import { draftDocument } from '../../../src/public/draft/draft-document.ts';
import {
  type Available,
  type EndpointDefinition,
  SchemaDocument,
  validateDocument,
} from '../../../src/public/index.ts';
import { planColumns, type RecordColumn } from '../../../src/warehouse/columns.ts';

type Given = Pick<DescribedField, 'name' | 'label' | 'type'> & Partial<DescribedField>;
const field = (given: Given): DescribedField => ({
  syncable: true,
  volatile: false,
  custom: false,
  ...given,
});
const text = (name: string, label: string): DescribedField => field({ name, label, type: 'text' });

const records = 1_000;
const different: ColumnFact = { filled: 900, distinct: 900, length: 10 };

type GivenType = {
  readonly name: string;
  readonly label: string;
  readonly fields: readonly DescribedField[];
  readonly shownAs?: DraftSource['described']['shownAs'];
  readonly modifiedField?: string | null;
  readonly findFact?: (column: RecordColumn, lineField?: string) => ColumnFact | undefined;
  readonly masks?: DraftSource['masks'];
};

function createSource(given: GivenType): DraftSource {
  const { name, label, fields, findFact = () => different, modifiedField = null, masks = new Map() } = given;
  const metadata = fields.map((each) => ({ ...each, reason: null }));
  const { added } = planColumns(
    [],
    metadata.filter(({ syncable }) => syncable) as unknown as Parameters<typeof planColumns>[1],
  );
  const columns = added.map((column): RecordColumn => ({ ...column, state: 'live' }));
  const facts = columns.flatMap((column) => {
    const keys = column.lineFields === null ? [undefined] : column.lineFields.map((line) => line.name);
    return keys.flatMap((key) => {
      const fact = findFact(column, key);
      return fact === undefined
        ? []
        : [[key === undefined ? column.column : `${column.column}.${key}`, fact] as const];
    });
  });
  const targets = Object.fromEntries(
    fields.flatMap((each) => (each.target === undefined ? [] : [[each.name, each.target]])),
  );
  const currency = fields.find((each) => typeof each.currency === 'string')?.currency ?? undefined;
  const amounts = Object.fromEntries(
    fields.flatMap((each) => (each.currency === undefined ? [] : [[each.name, each.currency]])),
  );
  return {
    described: {
      name,
      label,
      fields,
      modifiedField,
      shownAs: given.shownAs ?? { number: null, name: null, date: null },
    },
    available: {
      label,
      idType: 'integer',
      columns,
      hasData: true,
      targets,
      amounts,
      ...(currency !== undefined && { currency }),
    },
    facts: { records, lines: records, columns: new Map(facts) },
    masks,
  };
}

function draft(...given: GivenType[]): { endpoints: EndpointDefinition[]; available: Available } {
  const sources = given.map(createSource);
  const available = Object.fromEntries(sources.map((source) => [source.described.name, source.available]));
  return { endpoints: draftDocument(sources, available).endpoints, available };
}
const invoice = (fields: readonly DescribedField[], rest: Partial<GivenType> = {}): GivenType => ({
  ...{ name: 'invoice', label: 'Invoice', fields },
  ...rest,
});
const draftNames = (fields: readonly DescribedField[], rest?: Partial<GivenType>): string[] =>
  draft(invoice(fields, rest)).endpoints[0]?.fields.map(({ name }) => name) ?? [];

describe('the names of a proposal', () => {
  it.each([
    ['Document number', 'documentNumber'],
    ['The Größe of a crate', 'grosseOfCrate'],
    ['Número de référence', 'numeroDeReference'],
    ['Amount unpaid or not yet applied', 'amountUnpaid'],
    ['Quantity (sales are negative)', 'quantity'],
    ["Customer's PO #", 'customersPo'],
    ['3rd party', 'crateNote'],
    ['送货备注', 'crateNote'],
    ['Order', 'invoiceOrder'],
    ['Sum', 'invoiceSum'],
    ['Q', 'invoiceQ'],
  ])('%s is %s', (label, name) => {
    expect(draftNames([text('crate note', label)])).toEqual([name]);
  });

  it('are different where labels are the same', () => {
    expect(draftNames([text('first', 'Note'), text('second', 'Note'), text('second ', 'Note')])).toEqual([
      'note',
      'second',
      'second2',
    ]);
  });

  it('say what the record is known by', () => {
    const fields = [
      text('lastname', 'Surname'),
      field({ name: 'changed', label: 'Date modified', type: 'time' }),
      field({ name: 'created', label: 'Created', type: 'time' }),
      field({ name: 'off', label: 'Inactive', type: 'boolean' }),
      field({ name: 'person', label: 'Is a person', type: 'boolean' }),
      field({ name: 'rep', label: 'Sales rep', type: 'reference', target: 'employee' }),
      field({ name: 'terms', label: 'Terms', type: 'reference' }),
      text('docno', 'Document number'),
    ];
    const shownAs = { number: 'docno', name: 'lastname', date: null };
    expect(draftNames(fields, { shownAs, modifiedField: 'changed' }).join(' ')).toBe(
      'number name modifiedAt createdAt isInactive isPerson salesRepId salesRepName terms',
    );
  });

  it('of custom fields without a label leave out the prefix', () => {
    const custom = { type: 'text', custom: true } as const;
    const fields = [
      field({ ...custom, name: 'custbody_packed_by', label: 'custbody_packed_by' }),
      field({ ...custom, name: 'custbody_a', label: 'Slot' }),
    ];
    expect(draftNames(fields)).toEqual(['packedBy', 'slot']);
  });

  it('of endpoints are plural, in lower case, and different', () => {
    const of = (label: string, name: string): GivenType => ({ name, label, fields: [text('a', 'A field')] });
    for (const [types, names] of [
      [
        [of('Credit memo', 'a'), of('Category', 'b'), of('Tax class', 'c')],
        'credit-memos categories tax-classes',
      ],
      [[of('Items', 'd'), of('条目', 'salesOrder')], 'items salesorders'],
      [[of('Item', 'a'), of('Items', 'b')], 'items items-2'],
    ] as const)
      expect(
        draft(...types)
          .endpoints.map(({ name }) => name)
          .join(' '),
      ).toBe(names);
  });

  it('of a derived field are those of the field that it shows', () => {
    const { endpoints } = draft(
      invoice([
        field({ name: 'status', label: 'Status', type: 'list' }),
        text('displayStatus', 'Status without the type of the transaction'),
      ]),
    );
    expect(endpoints[0]?.fields).toMatchObject([{ name: 'status', source: 'displayStatus' }]);
  });
});

describe('what a proposal offers', () => {
  const money = field({ name: 'total', label: 'Total', type: 'number', currency: 'currency' });
  const currency = field({ name: 'currency', label: 'Currency', type: 'reference' });

  it('are the fields with values alone', () => {
    const fields = [
      text('kept', 'Kept'),
      text('empty', 'Empty'),
      field({ name: 'refused', label: 'Refused', type: 'text', syncable: false }),
    ];
    expect(
      draftNames(fields, { findFact: ({ field: name }) => (name === 'empty' ? undefined : different) }),
    ).toEqual(['kept']);
    expect(draft(invoice(fields, { findFact: () => undefined })).endpoints).toEqual([]);
  });

  it('are no filters, sorts and groups by a value that all records share', () => {
    const constant = { filled: records, distinct: 1, length: 1 };
    const fields = [
      field({ name: 'voided', label: 'Voided', type: 'boolean' }),
      field({ name: 'rate', label: 'Rate', type: 'number' }),
    ];
    const [endpoint] = draft(invoice(fields, { findFact: () => constant })).endpoints;
    expect(endpoint).toMatchObject({ filters: [], sorts: [], defaultSort: null });
    for (const name of ['aggregates', 'groups', 'search', 'or']) expect(endpoint).not.toHaveProperty([name]);
  });

  it('are amounts with the currency that they need, and none without it', () => {
    const base = field({ name: 'base', label: 'Total in the base currency', type: 'number', currency: null });
    const quantity = field({ name: 'quantity', label: 'Quantity', type: 'number' });
    const [endpoint] = draft(invoice([money, base, quantity, currency])).endpoints;
    expect(endpoint?.aggregates).toEqual([
      { field: 'total', functions: ['sum', 'avg', 'min', 'max'] },
      { field: 'quantity', functions: ['sum', 'avg', 'min', 'max'] },
    ]);
    expect(endpoint?.groups).toContain('currency');
    expect(endpoint?.filters).toContainEqual({ field: 'currency', operators: ['eq'] });
    expect(draft(invoice([money, base])).endpoints[0]?.aggregates).toBeUndefined();
  });

  it('are relations between the record types that are named together', () => {
    const customer = { name: 'customer', label: 'Customer', fields: [text('entityid', 'Name')] };
    const entity = field({ name: 'entity', label: 'Customer', type: 'reference', target: 'customer' });
    const [endpoint] = draft(invoice([entity]), customer).endpoints;
    expect(endpoint?.relations).toEqual([{ name: 'customer', field: 'customerId', resource: 'customers' }]);
    expect(endpoint?.fields[0]).toMatchObject({ name: 'customerId', scopable: true });
    expect(draft(invoice([entity])).endpoints[0]?.relations).toBeUndefined();
  });

  it('are some of each kind where there are many fields', () => {
    const references = Array.from({ length: 20 }, (_, index) =>
      field({
        name: `ref${index}`,
        label: `Reference ${index}`,
        type: 'reference',
        target: index === 9 ? 'invoice' : 'other',
      }),
    );
    const [endpoint] = draft(invoice([...references, money, currency, text('docno', 'Document')])).endpoints;
    const filtered = endpoint?.filters.map(({ field: name }) => name) ?? [];
    expect(filtered).toEqual(expect.arrayContaining(['reference9Id', 'total', 'currency']));
    expect(filtered).toHaveLength(16);
    const scopable = endpoint?.fields.filter((each) => each.scopable).map(({ name }) => name);
    expect(scopable).toEqual(['reference0Id', 'reference1Id', 'reference9Id']);
  });

  it('are tags of personal and confidential fields, and the masks of versions before', () => {
    const fields = [
      text('email', 'E-mail address'),
      text('mobile', 'Mobile phone'),
      field({ name: 'cost', label: 'Average cost', type: 'number' }),
    ];
    const [endpoint] = draft(invoice(fields, { masks: new Map([['email', 'hash']]) })).endpoints;
    expect(endpoint?.fields).toMatchObject([
      { name: 'eMailAddress', tags: ['personal'], mask: 'hash' },
      { name: 'mobilePhone', tags: ['personal'] },
      { name: 'averageCost', tags: ['confidential'] },
    ]);
    expect(JSON.stringify({ ...endpoint, fields: [] })).not.toContain('eMailAddress');
  });
});

const labels = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 30 }),
  fc.constantFrom('Id', 'Page', 'Sort', 'Order', 'Fields', 'Limit', 'Draft', 'Count', 'Min', 'By', 'Or'),
  fc.constantFrom('Expand', 'Total', 'Total gte', 'Number', 'Name', 'Date', 'Customer', 'Customer id'),
  fc.constantFrom('Customer name', 'Lines', 'Currency', 'Is', 'The', 'a (b)', 'Modified at'),
);
const fieldName = fc.constantFrom(
  ...['tranid', 'entity', 'total', 'currency', 'status', 'displayStatus', 'custbody_a', 'when', 'what', 'x1'],
);
const facts = fc.record({ filled: fc.nat(records), distinct: fc.nat(records), length: fc.nat(300) });
const types: DescribedField['type'][] = [
  'text',
  'number',
  'integer',
  'boolean',
  'date',
  'time',
  'reference',
  'list',
];
const anyField = fc.record({
  name: fieldName,
  label: labels,
  type: fc.constantFrom(...types),
  syncable: fc.boolean(),
  volatile: fc.boolean(),
  custom: fc.boolean(),
  target: fc.option(fc.constantFrom('one', 'two', 'three'), { nil: undefined }),
  currency: fc.constantFrom('currency', null, undefined),
}) as fc.Arbitrary<DescribedField>;
const fieldList = fc.uniqueArray(anyField, { selector: ({ name }) => name, minLength: 1, maxLength: 10 });
const anyType = (name: string) =>
  fc
    .record({
      label: labels,
      fields: fieldList,
      lines: fc.option(fieldList),
      found: fc.array(fc.option(facts, { nil: undefined }), { minLength: 40, maxLength: 40 }),
      shown: fc.record({ number: fieldName, name: fieldName, date: fieldName }),
      modified: fieldName,
    })
    .map(({ label, fields, lines, found, shown, modified }): GivenType => {
      let next = 0;
      const linesField = { name: 'lines', label: 'Lines', type: 'lines' as const, fields: lines ?? [] };
      return {
        ...{ name, label, shownAs: shown, modifiedField: modified },
        fields: lines === null ? fields : [...fields, field(linesField)],
        findFact: () => found[next++ % found.length],
      };
    });

describe('a proposal', () => {
  it('can be saved and published whatever the fields are called and hold', () => {
    fc.assert(
      fc.property(anyType('one'), anyType('two'), (one, two) => {
        const { endpoints, available } = draft(one, two);
        const document = SchemaDocument.parse({ endpoints });
        expect(validateDocument(document, available).filter(({ code }) => code !== 'no_endpoints')).toEqual(
          [],
        );
      }),
      { numRuns: 500 },
    );
  });
});
