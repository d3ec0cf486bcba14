// Which fields are proposed to be synced, by what the ERP says about them.
import { describe, expect, it } from 'vitest';
import {
  type DescribedField,
  type DescribedType,
  proposeFields,
} from '../../../src/platform/connections/propose-fields.ts';

const field = (
  name: string,
  label: string,
  type: DescribedField['type'] = 'text',
  more: Partial<DescribedField> = {},
): DescribedField => ({
  ...{ name, label, type, custom: name.startsWith('cust'), syncable: true },
  ...more,
});
/** Fields of which no rule knows anything, so that the type isn't proposed as a whole. */
const others = Array.from({ length: 30 }, (_, index) => field(`flag${index}`, `Flag ${index}`, 'boolean'));
const createType = (fields: readonly DescribedField[], more: Partial<DescribedType> = {}): DescribedType => ({
  fields: [field('id', 'Internal ID', 'integer'), ...fields, ...others],
  reading: { curated: false },
  shownAs: null,
  ...more,
});
const listReasons = (
  fields: readonly DescribedField[],
  more?: Partial<DescribedType>,
): Record<string, string> => Object.fromEntries(proposeFields(createType(fields, more)));

describe('the proposal of fields', () => {
  it.each([
    [field('tranid', 'Document Number'), 'identifies it'],
    [field('externalid', 'External ID'), 'identifies it'],
    [field('entitystatus', 'Status', 'list'), 'state'],
    [field('isinactive', 'Inactive', 'boolean'), 'state'],
    [field('trandate', 'Date', 'date'), 'date'],
    [field('lastmodifieddate', 'Last Modified', 'time'), 'date'],
    [field('entity', 'Vendor', 'reference'), 'reference'],
    [field('custbody_x', 'Region', 'reference', { target: 'customlist_region' }), 'reference'],
    [field('foreigntotal', 'Total', 'number'), 'amount'],
    [field('onhand', 'Quantity On Hand', 'integer'), 'amount'],
    [field('email', 'E-mail'), 'contact'],
    [field('memo', 'Memo'), 'description'],
    [field('lines', 'Lines', 'lines'), 'lines'],
    [field('custbody_route', 'Delivery route'), 'your own field'],
  ])('has %o', (one, why) => {
    expect(listReasons([one])).toEqual({ id: 'identifies it', [one.name]: why });
  });

  it.each([
    ['what cannot be synced', field('total', 'Total', 'number', { syncable: false })],
    ['what is marked as no longer used', field('custbody_status', 'Status (do not use)')],
    ['a field by the name of an old one', field('custbody_old_total', 'Old total', 'number')],
    ['what serves machines', field('custbody_payload', 'Order payload JSON')],
    ['a custom field without a label of its own', field('custbody_x17', 'custbody_x17')],
    [
      'a custom field of an uncertain type',
      field('custbody_q', 'Quirk', 'text', { warning: 'Its type follows from values alone' }),
    ],
    ['a reference to nothing known', field('nexus', 'Nexus', 'reference')],
    ['a switch that says nothing', field('tobeprinted', 'To be printed', 'boolean')],
  ])('leaves out %s', (_, one) => {
    expect(Object.keys(listReasons([one, field('tranid', 'Number')]))).toEqual(['id', 'tranid']);
  });

  it('has what the service shows a record by, whatever its label', () => {
    const shownAs = { number: null, name: 'altname', date: null, amount: null };
    expect(listReasons([field('altname', 'Old')], { shownAs })).toMatchObject({ altname: 'identifies it' });
  });

  it('has every field in use of a record type that the service knows by name', () => {
    const proposed = listReasons([field('custentity_old', 'Legacy rating')], { reading: { curated: true } });
    expect(proposed).toMatchObject({ flag0: 'part of the record', flag29: 'part of the record' });
    expect(proposed).not.toHaveProperty('custentity_old');
  });

  it('has all of a small record type, and of one of which no field speaks for itself', () => {
    const small = proposeFields({
      fields: [field('id', 'Id'), field('a', 'Alpha')],
      reading: null,
      shownAs: null,
    });
    expect([...small.keys()]).toEqual(['id', 'a']);
    expect(proposeFields(createType([])).size).toBe(31);
  });
});
