// Definitions of versions through the pure stages: bound to the columns of the fixture's invoices, and compiled.
import { listIndexes } from '../../src/public/read/indexes.ts';
import { bindDocument } from '../../src/public/version/bind.ts';
import { compileSchema } from '../../src/public/version/compile.ts';
import { readWhole } from '../../src/public/version/narrow.ts';
import { SchemaDocument } from '../../src/public/version/schema-document.ts';
import { invoiceColumns, invoicesEndpoint } from './fixture.ts';

/** What the warehouse has: one record type, with data. */
export const availableInvoices = (columns = invoiceColumns) => ({
  invoice: { label: 'Invoice', idType: 'integer' as const, columns, hasData: true },
});

/** The endpoint `invoices` as a published version has it, as a reader of everything sees it, and its indexes. */
export function compileInvoices(changes: object = {}, columns = invoiceColumns) {
  const document = SchemaDocument.parse({ endpoints: [{ ...invoicesEndpoint, ...changes }] });
  const bindings = bindDocument(document, availableInvoices(columns));
  const endpoint = compileSchema({ id: 'x', version: 'v1', bindings, ...document }).endpoints.get('invoices');
  if (endpoint === undefined) throw new Error('no endpoint');
  return {
    endpoint,
    whole: readWhole(endpoint),
    indexes: listIndexes(document, bindings).get('invoice') ?? [],
  };
}
