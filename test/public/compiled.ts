// Definitions of versions through the pure stages, without a database.
import { type Described, describeVersion } from '../../src/public/openapi/describe-version.ts';
import { listIndexes } from '../../src/public/read/sql/indexes.ts';
import { type Available, bindDocument } from '../../src/public/version/bind.ts';
import { type Comparable, compareVersions } from '../../src/public/version/compare.ts';
import { compileSchema } from '../../src/public/version/compile.ts';
import { readWhole } from '../../src/public/version/narrow.ts';
import { SchemaDocument } from '../../src/public/version/schema-document.ts';
import { validateDocument } from '../../src/public/version/validate.ts';
import { invoiceColumns, invoicesEndpoint } from './fixture.ts';

/** What the warehouse has: one record type, with data. */
export const availableInvoices = (columns = invoiceColumns) => ({
  invoice: { label: 'Invoice', idType: 'integer' as const, columns, hasData: true },
});

/** Endpoints as a version has them, bound to what the warehouse has. */
export function bindEndpoints(list: readonly unknown[], available: Available = availableInvoices()) {
  const document = SchemaDocument.parse({ endpoints: list });
  return { ...document, bindings: bindDocument(document, available) };
}

/** The endpoint `invoices` as a published version has it, as a reader of everything sees it, and its indexes. */
export function compileInvoices(changes: object = {}, columns = invoiceColumns) {
  const bound = bindEndpoints([{ ...invoicesEndpoint, ...changes }], availableInvoices(columns));
  const endpoint = compileSchema({ id: 'x', version: 'v1', ...bound }).endpoints.get('invoices');
  if (endpoint === undefined) throw new Error('no endpoint');
  return {
    endpoint,
    whole: readWhole(endpoint),
    indexes: listIndexes(bound, bound.bindings).get('invoice') ?? [],
  };
}

/** Each problem as what it blocks, its path and its code. */
export const listProblems = (list: readonly unknown[], available: Available): string[] =>
  validateDocument(SchemaDocument.parse({ endpoints: list }), available).map(
    ({ path, code, blocks }) => `${blocks} ${path} ${code}`,
  );

/** Each change as its path and its code, with an exclamation mark when it breaks clients. */
export const listChanges = (before: Comparable, after: Comparable): string[] =>
  compareVersions(before, after).map(({ path, code, breaking }) => `${path} ${code}${breaking ? ' !' : ''}`);

/** The description of a version `v2` with these endpoints. */
export const describeEndpoints = (list: readonly unknown[], more: Partial<Described> = {}): string =>
  describeVersion({
    ...{ version: 'v2', name: '', notes: '', draft: false, previous: null },
    ...bindEndpoints(list),
    ...more,
  });
