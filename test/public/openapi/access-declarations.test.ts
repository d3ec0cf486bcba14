// How a description shows fields that row scopes may name, masked fields and tags.
import { Validator } from '@seriousme/openapi-schema-validator';
import type { oas31 } from 'openapi3-ts';
import { expect, it } from 'vitest';
import { describeVersion } from '../../../src/public/openapi/describe-version.ts';
import { bindDocument } from '../../../src/public/version/bind.ts';
import { SchemaDocument } from '../../../src/public/version/schema-document.ts';
import { invoiceColumns } from '../fixture.ts';

const available = {
  invoice: { label: 'Invoice', idType: 'integer' as const, columns: invoiceColumns, hasData: true },
};
const describeFields = (fields: readonly object[]): oas31.OpenAPIObject => {
  const { endpoints } = SchemaDocument.parse({
    endpoints: [{ name: 'invoices', recordType: 'invoice', fields }],
  });
  const bindings = bindDocument({ endpoints }, available);
  return JSON.parse(
    describeVersion({
      version: 'v1',
      name: '',
      notes: '',
      draft: false,
      previous: null,
      endpoints,
      bindings,
    }),
  );
};
const propertiesOf = ({ components }: oas31.OpenAPIObject) =>
  (components?.schemas?.['Invoice'] as oas31.SchemaObject | undefined)?.properties as Record<
    string,
    oas31.SchemaObject
  >;

it('describes scopable and tagged fields, and how masked ones look', async () => {
  const described = describeFields([
    { name: 'customerId', source: 'entity', scopable: true, tags: ['personal', 'confidential'] },
    { name: 'seq', source: 'seq', mask: 'hash', description: 'Position' },
    { name: 'total', source: 'total', mask: 'last4' },
    { name: 'totalText', source: 'total', mask: 'last4', as: 'string' },
    { name: 'date', source: 'trandate', mask: 'year' },
    {
      name: 'lines',
      source: 'lines',
      tags: ['personal'],
      fields: [{ name: 'item', source: 'item', mask: 'hash', tags: ['personal'] }],
    },
    { name: 'unknown', source: 'nothing', mask: 'hash', scopable: true },
  ]);
  expect((await new Validator().validate(JSON.parse(JSON.stringify(described)))).errors ?? []).toEqual([]);
  const { customerId, seq, total, totalText, date, lines, unknown } = propertiesOf(described);
  expect(customerId).toEqual({
    type: ['string', 'null'],
    description: 'Row scopes of keys and tokens may name this field.',
    examples: ['Example'],
    'x-scopable': true,
    'x-tags': ['personal', 'confidential'],
  });
  expect(seq).toMatchObject({
    type: ['integer', 'string', 'null'],
    description: expect.stringMatching(/^Position\..*HMAC-SHA-256/),
    'x-mask': 'hash',
  });
  expect(total).toMatchObject({ type: ['number', 'string', 'null'], 'x-mask': 'last4' });
  expect(totalText).toMatchObject({ type: ['string', 'null'], 'x-mask': 'last4' });
  expect(date).toMatchObject({
    type: ['string', 'null'],
    description: expect.stringContaining('the year alone'),
    'x-mask': 'year',
  });
  expect(date).not.toHaveProperty('format');
  expect(lines).toMatchObject({
    'x-tags': ['personal'],
    items: { properties: { item: { 'x-mask': 'hash', 'x-tags': ['personal'] } } },
  });
  expect(unknown).toMatchObject({ 'x-mask': 'hash', 'x-scopable': true });
  expect(described.info.description).toContain('## Masked fields');
});

it('describes a version without them as before', () => {
  const fields = [{ name: 'date', source: 'trandate' }];
  const plain = JSON.stringify(describeFields(fields));
  expect(plain).not.toMatch(/x-mask|x-tags|x-scopable|Masked fields/);
  expect(
    JSON.stringify(describeFields(fields.map((field) => ({ ...field, scopable: false, tags: [] })))),
  ).toBe(plain);
});
