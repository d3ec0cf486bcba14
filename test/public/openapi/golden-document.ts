// A version that declares nothing but resources, fields, filters and sorts: its description must never
// change.
import type { RecordAccess } from '../../../src/core/record-access.ts';
import { describeVersion } from '../../../src/public/openapi/describe-version.ts';
import { restrictDescription } from '../../../src/public/openapi/restrict-description.ts';
import { bindDocument } from '../../../src/public/version/bind.ts';
import { compileSchema } from '../../../src/public/version/compile.ts';
import { readableEndpoints } from '../../../src/public/version/narrow.ts';
import { SchemaDocument } from '../../../src/public/version/schema-document.ts';
import { availableInvoices } from '../compiled.ts';
import { fieldsWith, invoicesEndpoint } from '../fixture.ts';

const marked: Record<string, object> = {
  customer: { scopable: true, mask: 'last4', tags: ['personal'] },
  modified: { as: 'string', mask: 'year' },
};
/** Names that are parameters where a version declares summaries, search and the like. */
const words = ['q', 'or', 'expand', 'sum', 'avg', 'min', 'max', 'count', 'count_distinct', 'by', 'limit'];
const document = SchemaDocument.parse({
  endpoints: [
    invoicesEndpoint,
    {
      name: 'summary',
      recordType: 'invoice',
      fields: words.map((name) => ({ name, source: 'tranid' })),
      filters: words.map((field) => ({ field, operators: ['eq', 'contains'] })),
      sorts: ['sum', 'count'],
    },
    {
      ...invoicesEndpoint,
      name: 'masked-invoices',
      fields: fieldsWith(marked),
      filters: invoicesEndpoint.filters.filter(({ field }) => ['total', 'modified', 'paid'].includes(field)),
      sorts: ['modified', 'total'],
      defaultSort: { field: 'modified', order: 'desc' },
    },
  ],
});

/**
 * The description, and then what a key sees of it that may read two of the resources, one of them in part and
 * masked.
 */
export function describeGolden(): string {
  const bindings = Object.fromEntries(
    Object.entries(bindDocument(document, availableInvoices())).map(
      ([name, { takesFormat: _, ...binding }]) => [name, binding],
    ),
  );
  const previous = { version: 'v1', endpoints: document.endpoints.slice(1), bindings };
  const text = describeVersion({
    version: 'v2',
    name: 'Golden',
    notes: 'For partners.',
    draft: false,
    previous,
    ...document,
    bindings,
  });
  const schema = compileSchema({
    id: 'x',
    version: 'v2',
    ...document,
    bindings,
    maskSecret: Buffer.alloc(32),
  });
  const layer = {
    versions: [],
    resources: ['summary', 'masked-invoices'],
    rows: null,
    fields: { summary: ['sum', 'q', 'by'] },
  };
  const access: RecordAccess = { layers: [layer], unmasked: false };
  return `${text}\n${restrictDescription(text, readableEndpoints(schema, access))}\n`;
}
