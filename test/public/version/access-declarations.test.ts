// What a definition declares about access to its fields: `scopable`, `mask` and `tags`, through the pure
// stages.
import { describe, expect, it } from 'vitest';
import { listIndexes } from '../../../src/public/read/sql/indexes.ts';
import type { Available } from '../../../src/public/version/bind.ts';
import { compareVersions } from '../../../src/public/version/compare.ts';
import { compileSchema } from '../../../src/public/version/compile.ts';
import { SchemaDocument } from '../../../src/public/version/schema-document.ts';
import { listShownColumns } from '../../../src/public/version/shown-columns.ts';
import { availableInvoices, bindEndpoints, listProblems } from '../compiled.ts';

const available: Available = { invoice: { ...availableInvoices().invoice, volatileFields: ['status'] } };

type Field = readonly [name: string, source: string, more?: object];
const endpoint = (fields: readonly Field[], more: object = {}) => ({
  name: 'invoices',
  recordType: 'invoice',
  fields: fields.map(([name, source, declared]) => ({ name, source, ...declared })),
  ...more,
});
const bind = (...fields: readonly Field[]) => bindEndpoints([endpoint(fields)], available);
const problems = (...fields: readonly Field[]) => listProblems([endpoint(fields)], available);
const scopable = { scopable: true };
const line = (name: string, source: string, more: object = {}) => ({ name, source, ...more });

describe('SchemaDocument', () => {
  it.each([
    ['a scopable field of lines', { source: 'lines', fields: [line('item', 'item', scopable)] }],
    ['an unknown mask', { source: 'total', mask: 'stars' }],
    ['an unknown tag', { source: 'total', tags: ['secret'] }],
    ['scopable that is no boolean', { source: 'total', scopable: 'yes' }],
  ])('refuses %s', (_, field) => {
    expect(SchemaDocument.safeParse({ endpoints: [endpoint([['a', field.source, field]])] }).success).toBe(
      false,
    );
  });

  it('leaves definitions without them as they were', () => {
    expect(bind(['a', 'tranid']).endpoints[0]?.fields).toEqual([
      { name: 'a', source: 'tranid', description: '' },
    ]);
  });
});

describe('validateDocument', () => {
  it('accepts every mask for the types that it can hide, tags, and scopable fields of every type', () => {
    const scalars = ['tranid', 'total', 'seq', 'paid', 'trandate', 'lastmodified'];
    const fields = (mask: string, sources: readonly string[]) =>
      sources.map((source, index): Field => [`f${index}`, source, { mask }]);
    expect(problems(...fields('hash', [...scalars, 'entity.name']))).toEqual([]);
    expect(problems(...fields('last4', ['tranid', 'total', 'seq', 'entity.name']))).toEqual([]);
    expect(problems(...fields('year', ['trandate', 'lastmodified']))).toEqual([]);
    expect(
      problems(...[...scalars, 'entity'].map((source, index): Field => [`f${index}`, source, scopable])),
    ).toEqual([]);
    const lines = [
      line('item', 'item', { mask: 'hash', tags: ['confidential'] }),
      line('quantity', 'quantity', { mask: 'last4' }),
    ];
    expect(problems(['lines', 'lines', { tags: ['personal'], fields: lines }])).toEqual([]);
  });

  it.each<[string, Field[], string[]]>([
    [
      'masks that do not fit',
      [
        ['a', 'tranid', { mask: 'year' }],
        ['b', 'paid', { mask: 'last4' }],
        ['c', 'trandate', { mask: 'last4' }],
        ['lines', 'lines', { mask: 'hash', fields: [line('quantity', 'quantity', { mask: 'year' })] }],
      ],
      [
        'publish endpoints[0].fields[0].mask mask_misfits',
        'publish endpoints[0].fields[1].mask mask_misfits',
        'publish endpoints[0].fields[2].mask mask_misfits',
        'save endpoints[0].fields[3].mask mask_misfits',
        'publish endpoints[0].fields[3].fields[0].mask mask_misfits',
      ],
    ],
    [
      'scopable labels, lines and volatile fields',
      [
        ['a', 'entity.name', scopable],
        ['b', 'status', scopable],
        ['lines', 'lines', { ...scopable, fields: [line('item', 'item')] }],
      ],
      [
        'publish endpoints[0].fields[0].scopable not_scopable',
        'publish endpoints[0].fields[1].scopable not_scopable',
        'save endpoints[0].fields[2].scopable not_scopable',
      ],
    ],
    [
      'a scopable masked field',
      [['a', 'entity', { ...scopable, mask: 'hash' }]],
      ['save endpoints[0].fields[0].scopable not_scopable'],
    ],
    [
      'a scopable field whose source another field masks, which also shows it unmasked',
      [
        ['a', 'entity', scopable],
        ['b', 'entity', { mask: 'hash' }],
      ],
      [
        'save endpoints[0].fields[0].scopable not_scopable',
        'save endpoints[0].fields[0].mask unmasked_source',
      ],
    ],
    [
      'a masked source under another name, of the record and of lines',
      [
        ['a', 'total', { mask: 'last4' }],
        ['b', 'total', { as: 'string' }],
        ['lines', 'lines', { fields: [line('item', 'item', { mask: 'hash' })] }],
        ['more', 'lines', { fields: [line('item', 'item')] }],
      ],
      [
        'save endpoints[0].fields[1].mask unmasked_source',
        'save endpoints[0].fields[3].fields[0].mask unmasked_source',
      ],
    ],
    [
      'repeated tags',
      [
        ['a', 'tranid', { tags: ['personal', 'personal'] }],
        ['lines', 'lines', { fields: [line('item', 'item', { tags: ['confidential', 'confidential'] })] }],
      ],
      [
        'save endpoints[0].fields[0].tags[1] duplicate',
        'save endpoints[0].fields[1].fields[0].tags[1] duplicate',
      ],
    ],
  ])('reports %s', (_, fields, expected) => {
    expect(problems(...fields)).toEqual(expected);
  });
});

describe('compareVersions', () => {
  const changes = (before: object, after: object) =>
    compareVersions(bind(['customerId', 'entity', before]), bind(['customerId', 'entity', after]));

  it('describes masks and scopable fields, and which of their changes break clients', () => {
    const path = 'invoices.fields.customerId';
    const changed = (at: string, breaking: boolean, says: string) => [
      { path: at, code: 'changed', breaking, message: `The field customerId of invoices ${says}` },
    ];
    expect(changes({}, { mask: 'hash' })).toEqual(changed(path, true, 'changed: mask (none → hash)'));
    expect(changes({ mask: 'hash' }, { mask: 'last4' })).toMatchObject([{ path, breaking: true }]);
    const ofScopes = `${path}.scopable`;
    expect(changes({}, scopable)).toEqual(changed(ofScopes, false, 'can be named by row scopes'));
    expect(changes(scopable, { scopable: false })).toEqual(
      changed(ofScopes, true, 'can no longer be named by row scopes'),
    );
    expect(changes({ tags: ['personal'] }, { scopable: false })).toEqual([]);
  });

  it('describes the masks of fields of lines', () => {
    const lines = (more: object) => bind(['lines', 'lines', { fields: [line('item', 'item', more)] }]);
    expect(compareVersions(lines({}), lines({ mask: 'hash' }))).toMatchObject([
      { path: 'invoices.fields.lines.item', breaking: true },
    ]);
  });
});

describe('indexes and columns', () => {
  const expressions = (more: object, ...fields: readonly Field[]) => {
    const bound = bindEndpoints([endpoint(fields, more)], available);
    return listIndexes(bound, bound.bindings)
      .get('invoice')
      ?.map(({ expression }) => expression);
  };

  it('a scopable field has the index of an equality filter, and one for the change feed', () => {
    expect(expressions({}, ['customerId', 'entity', scopable])).toEqual([
      'generation, id',
      '"f_entity", generation, id',
      '"f_entity", id',
    ]);
    const sorted = { sorts: ['date'], defaultSort: { field: 'date', order: 'desc' } };
    const ofScope = expressions(sorted, ['customerId', 'entity', scopable], ['date', 'trandate']);
    expect(ofScope).toEqual([
      'generation, id',
      '"f_entity", generation, id',
      '"f_entity", "f_trandate", id',
      '"f_trandate", id',
    ]);
    const filtered = { ...sorted, filters: [{ field: 'customerId', operators: ['eq'] }] };
    expect(new Set(expressions(filtered, ['customerId', 'entity', scopable], ['date', 'trandate']))).toEqual(
      new Set(ofScope),
    );
  });

  it('marks the columns of scopable fields, under whatever name they are shown', () => {
    const { endpoints, bindings } = bind(
      ['customerId', 'entity', scopable],
      ['again', 'entity'],
      ['number', 'tranid'],
    );
    expect(listShownColumns(endpoints, bindings).get('invoice')).toEqual([
      { column: 'f_entity', scopable: true },
      { column: 'f_tranid' },
    ]);
  });

  it('compiles scopable columns by source, and masks of fields and of lines', () => {
    const bound = bind(
      ['customerId', 'entity', scopable],
      ['date', 'trandate', { mask: 'year' }],
      ['lines', 'lines', { fields: [line('item', 'item', { mask: 'hash' })] }],
    );
    const compiled = compileSchema({ ...bound, id: 'x', version: 'v1', maskSecret: Buffer.alloc(32, 1) });
    const invoices = compiled.endpoints.get('invoices');
    expect([...(invoices?.scopable ?? [])]).toEqual([
      ['id', { column: 'id', type: 'integer' }],
      ['entity', { column: 'f_entity', type: 'text' }],
    ]);
    expect(invoices?.fields).toMatchObject([
      { declared: null },
      { declared: { kind: 'year' } },
      { lines: [{ declared: { kind: 'hash', key: expect.any(Buffer) } }] },
    ]);
  });
});
