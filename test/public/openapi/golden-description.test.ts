// The description of a published version is stored for good, but a version that declares nothing new must
// also be described as before when it is published today: generated clients are compared by their text. The
// file was made before there were summaries, relations and search; do not regenerate it. Since then only the
// filters of numbers and ids changed, which also take the texts that fields answer, and a sentence says how
// texts are sorted and searched. Its bindings lack what is new for all versions: the parameter `format`.
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { RecordAccess } from '../../../src/core/record-access.ts';
import { restrictDescription } from '../../../src/public/openapi/restrict-description.ts';
import { compileSchema } from '../../../src/public/version/compile.ts';
import { readableEndpoints } from '../../../src/public/version/narrow.ts';
import { bindEndpoints, describeEndpoints } from '../compiled.ts';
import { fieldsWith, invoicesEndpoint } from '../fixture.ts';

const marked: Record<string, object> = {
  customer: { scopable: true, mask: 'last4', tags: ['personal'] },
  modified: { as: 'string', mask: 'year' },
};
/** Names that are parameters where a version declares summaries, search and the like. */
const words = ['q', 'or', 'expand', 'sum', 'avg', 'min', 'max', 'count', 'count_distinct', 'by', 'limit'];
const endpoints = [
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
];

/**
 * The description, and then what a key sees of it that may read two of the resources, one of them in part and
 * masked.
 */
function describeGolden(): string {
  const { bindings, ...document } = bindEndpoints(endpoints);
  const older = Object.entries(bindings).map(([name, { takesFormat: _, ...binding }]) => [name, binding]);
  const bound = { ...document, bindings: Object.fromEntries(older) };
  const previous = { ...bound, version: 'v1', endpoints: bound.endpoints.slice(1) };
  const text = describeEndpoints(endpoints, { ...bound, name: 'Golden', notes: 'For partners.', previous });
  const schema = compileSchema({ ...bound, id: 'x', version: 'v2', maskSecret: Buffer.alloc(32) });
  const layer = {
    versions: [],
    resources: ['summary', 'masked-invoices'],
    rows: null,
    fields: { summary: ['sum', 'q', 'by'] },
  };
  const access: RecordAccess = { layers: [layer], unmasked: false };
  return `${text}\n${restrictDescription(text, readableEndpoints(schema, access))}\n`;
}

it('describes a version without new declarations byte for byte as before', () => {
  expect(describeGolden()).toBe(readFileSync(new URL('../golden/description.txt', import.meta.url), 'utf8'));
});
