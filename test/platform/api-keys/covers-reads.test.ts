// Whether what a key may read is within what another one may read.
import { describe, expect, it } from 'vitest';
import { type AccessLayer, type ResourceRows, unlimitedLayer } from '../../../src/core/record-access.ts';
import { coversReads } from '../../../src/platform/api-keys/ceiling.ts';

const stored = (source: string, field: string, ...values: string[]): ResourceRows => ({
  recordType: 'invoice',
  conditions: [{ field, source, in: values }],
});

describe('what one layer covers of another', () => {
  const whole: ResourceRows = { recordType: 'invoice', conditions: [] };
  const rows = (resources: Record<string, ResourceRows>, others = false): AccessLayer => ({
    ...unlimitedLayer,
    rows: { resources, others },
  });
  const invoices = (read: ResourceRows, others = false) => rows({ invoices: read }, others);
  const fields = (...names: string[]): AccessLayer => ({ ...unlimitedLayer, fields: { invoices: names } });
  const only = (resource: string): AccessLayer => ({ ...unlimitedLayer, resources: [resource] });
  const one = stored('entity', 'customerId', '1');
  const two = stored('entity', 'customerId', '1', '2');
  const bill = { recordType: 'bill' };
  const ofBills = { ...unlimitedLayer, fields: { bills: ['number'] } };
  it.each<[string, AccessLayer, AccessLayer, boolean]>([
    ['fewer values', invoices(two), invoices(one), true],
    ['more values', invoices(one), invoices(two), false],
    ['the same source under another name', invoices(two), invoices(stored('entity', 'client', '2')), true],
    ['another source', invoices(two), invoices(stored('subsidiary', 'customerId', '1')), false],
    ['another record type', invoices(two), invoices({ ...one, ...bill }), false],
    ['another record type of a whole resource', invoices(whole), invoices({ ...whole, ...bill }), false],
    ['conditions of a whole resource', invoices(whole), invoices(one), true],
    ['no conditions any more', invoices(one), invoices(whole), false],
    ['rows where there were none', unlimitedLayer, invoices(one, true), true],
    ['no rows any more', invoices(one, true), unlimitedLayer, false],
    ['no rows, of a resource that was read whole', rows({ bills: one }, true), only('invoices'), true],
    ['a resource in place of all others', rows({}, true), invoices(one), true],
    ['all others', invoices(one), invoices(one, true), false],
    ['the resource as one of the others', invoices(one, true), rows({}, true), false],
    ['nothing', rows({}), rows({}), true],
    ['a resource where there was none', rows({}), invoices(one), false],
    ['a resource that can not be read', rows({}), { ...invoices(one), resources: ['bills'] }, true],
    ['fewer fields', fields('number', 'total'), fields('number', 'id'), true],
    ['more fields', fields('number'), fields('number', 'total'), false],
    ['all fields', fields('number'), unlimitedLayer, false],
    ['fields where there were none', unlimitedLayer, fields('number'), true],
    ['fields of another resource', fields('number'), ofBills, false],
    ['fields of a resource that can not be read', fields('number'), only('bills'), true],
    ['an inherited name', rows({}), rows({ constructor: one }), false],
  ])('%s', (_name, outer, inner, covered) => {
    expect(coversReads(outer, inner)).toBe(covered);
  });
});
