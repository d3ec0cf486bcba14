// How a description shows hashed fields, those of lines, and fields that the ERP does not have. Other masks, tags
// and scopable fields: golden-description.test.ts.
import { Validator } from '@seriousme/openapi-schema-validator';
import type { oas31 } from 'openapi3-ts';
import { expect, it } from 'vitest';
import { describeVersion } from '../../../src/public/openapi/describe-version.ts';
import { bindDocument } from '../../../src/public/version/bind.ts';
import { SchemaDocument } from '../../../src/public/version/schema-document.ts';
import { availableInvoices } from '../compiled.ts';

const describeFields = (fields: readonly object[]): oas31.OpenAPIObject => {
  const { endpoints } = SchemaDocument.parse({
    endpoints: [{ name: 'invoices', recordType: 'invoice', fields }],
  });
  const bindings = bindDocument({ endpoints }, availableInvoices());
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
const listProperties = ({ components }: oas31.OpenAPIObject) =>
  (components?.schemas?.['Invoice'] as oas31.SchemaObject | undefined)?.properties as Record<
    string,
    oas31.SchemaObject
  >;

it('describes scopable and tagged fields, and how masked ones look', async () => {
  const described = describeFields([
    { name: 'customerId', source: 'entity', scopable: true, tags: ['personal', 'confidential'] },
    { name: 'seq', source: 'seq', mask: 'hash', description: 'Position' },
    {
      name: 'lines',
      source: 'lines',
      tags: ['personal'],
      fields: [{ name: 'item', source: 'item', mask: 'hash', tags: ['personal'] }],
    },
    { name: 'unknown', source: 'nothing', mask: 'hash', scopable: true },
  ]);
  expect((await new Validator().validate(JSON.parse(JSON.stringify(described)))).errors ?? []).toEqual([]);
  const { customerId, seq, lines, unknown } = listProperties(described);
  expect(customerId).toMatchObject({ 'x-scopable': true, 'x-tags': ['personal', 'confidential'] });
  expect(seq).toMatchObject({
    type: ['integer', 'string', 'null'],
    description: expect.stringMatching(/^Position\..*HMAC-SHA-256/),
    'x-mask': 'hash',
  });
  expect(lines).toMatchObject({
    'x-tags': ['personal'],
    items: { properties: { item: { 'x-mask': 'hash', 'x-tags': ['personal'] } } },
  });
  expect(unknown).toMatchObject({ 'x-mask': 'hash', 'x-scopable': true });
});
