// From metadata documents to record types: fields, references, lines, keys, and what documents can have that
// must not pass.
import { describe, expect, it } from 'vitest';
import type { FieldMetadata } from '../../../src/connectors/connector.ts';
import { expectErpError, json, sends, signal, useWire } from '../netsuite/wire.ts';
import {
  createOdataAt,
  describeOne,
  fieldNames,
  metadataWith,
  optionsOf,
  readMetadata,
  sendText,
  serving,
} from './service.ts';

const wire = useWire();
const byName = (fields: readonly FieldMetadata[] | undefined) =>
  new Map((fields ?? []).map((field) => [field.name, field]));
const set = (name: string, type = 'ns.thing') => `<EntitySet Name="${name}" EntityType="${type}"/>`;
const thing = (more = '', key = '<Key><PropertyRef Name="id"/></Key>') =>
  `<EntityType Name="thing">${key}<Property Name="id" Type="Edm.Int32"/><Property Name="name" Type="Edm.String"/>${more}</EntityType>`;
const describeThing = (types: string, sets = set('things'), name = 'things') => {
  wire.answer = serving(metadataWith(types, sets));
  return describeOne(createOdataAt(wire.url), name);
};

describe('the metadata of Business Central', () => {
  const invoices = () => {
    wire.answer = serving(readMetadata('business-central'));
    return describeOne(createOdataAt(wire.url, { dialect: 'businessCentral' }), 'salesInvoices');
  };

  it('list every entity set', async () => {
    wire.answer = serving(readMetadata('business-central'));
    const heads = await createOdataAt(wire.url).discover?.(signal);
    expect(heads?.map(({ name, syncable }) => [name, syncable])).toEqual([
      ['customers', null],
      ['journalEntries', null],
      ['salesInvoiceLines', null],
      ['salesInvoices', null],
    ]);
  });

  it('become fields with types, labels, references and reasons', async () => {
    const { fields } = await invoices();
    const types = fields.map(({ name, type, syncable }) => `${name} ${syncable ? type : '-'}`);
    expect(types).toEqual([
      'id text',
      'number text',
      'invoiceDate date',
      'customerId reference',
      'customerName text',
      'billToAddress.street text',
      'billToAddress.city text',
      'billToAddress.geo -',
      'discountAmount number',
      'remainingAmount number',
      'status list',
      'pricesIncludeTax boolean',
      'lastModifiedDateTime time',
      'picture -',
      'lines lines',
    ]);
    const named = byName(fields);
    expect(named.get('id')?.label).toBe('Id of the invoice');
    expect(named.get('customerId')?.target).toBe('customers');
    expect(named.get('remainingAmount')?.volatile).toBe(true);
    expect(named.get('picture')?.reason).toMatch(/stream/);
    expect(named.get('billToAddress.geo')?.reason).toMatch(/Geographic/);
  });

  it('have the lines of the record, not those of its dimensions', async () => {
    const { fields } = await invoices();
    const lines = byName(fields).get('lines');
    expect(lines?.label).toBe('salesInvoiceLines');
    expect(lines?.fields?.map(({ name, type }) => `${name} ${type}`)).toEqual([
      'id text',
      'documentId text',
      'sequence integer',
      'description text',
      'quantity number',
      'unitPrice number',
    ]);
  });

  it('order GUIDs as the service does, and integers as numbers', async () => {
    const { idType, keyOrder, modifiedField, shownAs } = await invoices();
    expect({ idType, keyOrder, modifiedField }).toEqual({
      idType: 'text',
      keyOrder: 'server',
      modifiedField: 'lastModifiedDateTime',
    });
    expect(shownAs).toMatchObject({ number: 'number', name: 'customerName', date: 'invoiceDate' });
    const entries = await describeOne(createOdataAt(wire.url), 'journalEntries');
    expect([entries.idType, entries.keyOrder, entries.modifiedField]).toEqual(['integer', undefined, null]);
    expect(entries.fields.map(({ name, type }) => `${name} ${type}`)).toEqual([
      'id text',
      'entryNumber integer',
      'description text',
      'debitAmount number',
      'postedAt text',
      'processing text',
      'ledgerId integer',
      'rate number',
    ]);
  });
});

describe('the metadata of SAP', () => {
  it('have labels by the aliases of vocabularies', async () => {
    wire.answer = serving(readMetadata('purchase-order'));
    const order = await describeOne(createOdataAt(wire.url, { dialect: 'sap' }), 'PurchaseOrder');
    expect(order.label).toBe('Purchase orders');
    const named = byName(order.fields);
    expect(named.get('PurchaseOrder')?.label).toBe('Purchase Order');
    expect(named.get('Supplier')?.label).toBe('Supplier & payee');
    expect(order.modifiedField).toBe('LastChangeDateTime');
    expect(named.get('lines')?.fields?.map(({ name }) => name)).toContain('OrderQuantity');
  });

  it('have keys of several properties, and the first of them as a reference', async () => {
    wire.answer = serving(readMetadata('purchase-order'));
    const item = await describeOne(createOdataAt(wire.url), 'PurchaseOrderItem');
    expect([item.idType, item.keyOrder]).toEqual(['text', 'server']);
    expect(byName(item.fields).get('PurchaseOrder')).toMatchObject({
      type: 'reference',
      target: 'PurchaseOrder',
    });
    expect(fieldNames(item)[0]).toBe('id');
  });
});

describe('settings per entity set', () => {
  it('replace the key, the modification time and the lines', async () => {
    wire.answer = serving(readMetadata('business-central'));
    const own = { keyField: 'number', changedField: null, linesField: 'dimensionSetLines' };
    const connector = createOdataAt(wire.url, { entitySets: { salesInvoices: own } });
    const invoices = await describeOne(connector, 'salesInvoices');
    expect(invoices.modifiedField).toBeNull();
    const named = byName(invoices.fields);
    expect(named.get('lines')?.label).toBe('dimensionSetLines');
    expect([named.get('id')?.label, named.get('idProperty')?.label]).toEqual([
      'Record key',
      'Id of the invoice',
    ]);
    expect(wire.seen.map(optionsOf).find(({ $orderby }) => $orderby === 'number')?.['$select']).toContain(
      'id',
    );
  });
});

describe('an entity set', () => {
  it('without a key has a reason', async () => {
    const { reason, fields } = await describeThing(thing('', ''));
    expect(reason).toBe('The entity type ns.thing has no key');
    expect(fields.some(({ syncable }) => syncable)).toBe(false);
  });

  it('whose key is no comparable value has a reason', async () => {
    const type =
      '<EntityType Name="thing"><Key><PropertyRef Name="b"/></Key><Property Name="b" Type="Edm.Binary"/></EntityType>';
    expect((await describeThing(type)).reason).toMatch(/key b/);
  });

  it('with the name of another one but for case is listed with a hash, as that other one is', async () => {
    wire.answer = serving(metadataWith(thing(), set('Things') + set('things')));
    const heads = await createOdataAt(wire.url).discover?.(signal);
    expect(heads?.map(({ name, table, reason }) => [name, table, reason])).toEqual([
      ['Things_32b31975', 'Things', null],
      ['things_7e1ddfc8', 'things', null],
    ]);
  });

  it('inherits key and properties of its base types', async () => {
    const types = `<EntityType Name="base" Abstract="true"><Key><PropertyRef Name="id"/></Key><Property Name="id" Type="Edm.Int64"/></EntityType>
      <EntityType Name="thing" BaseType="ns.base"><Property Name="size" Type="ns.measure"/></EntityType>
      <TypeDefinition Name="measure" UnderlyingType="Edm.Decimal"/>`;
    const recordType = await describeThing(types);
    expect(recordType.fields.map(({ name, type }) => `${name} ${type}`)).toEqual(['id text', 'size number']);
  });

  it('names by a foreign key the set that its navigation is bound to, of several of one type', async () => {
    const types = `${thing()}<EntityType Name="other"><Key><PropertyRef Name="no"/></Key>
      <Property Name="no" Type="Edm.Int32"/><Property Name="one" Type="Edm.Int32"/><Property Name="two" Type="Edm.Int32"/>
      ${['one', 'two'].map((name) => `<NavigationProperty Name="to_${name}" Type="ns.thing"><ReferentialConstraint Property="${name}" ReferencedProperty="id"/></NavigationProperty>`).join('')}</EntityType>`;
    const bound = `<EntitySet Name="others" EntityType="ns.other"><NavigationPropertyBinding Path="to_one" Target="closed"/></EntitySet>`;
    const { fields } = await describeThing(types, set('open') + set('closed') + bound, 'others');
    expect(fields.map(({ name, type, target }) => [name, type, target])).toEqual([
      ['id', 'text', undefined],
      ['no', 'integer', undefined],
      ['one', 'reference', 'closed'],
      ['two', 'integer', undefined],
    ]);
  });

  it('with complex types that contain each other keeps its other fields', async () => {
    const types = `${thing('<Property Name="a" Type="ns.a"/>')}
      <ComplexType Name="a"><Property Name="own" Type="Edm.String"/><Property Name="b" Type="ns.b"/></ComplexType>
      <ComplexType Name="b"><Property Name="a" Type="ns.a"/></ComplexType>`;
    const { fields } = await describeThing(types);
    expect(fields.map(({ name, reason }) => [name, reason])).toEqual([
      ['id', null],
      ['name', null],
      ['a.own', null],
      ['a.b.a', 'The complex type ns.a contains itself'],
    ]);
  });

  it('whose complex types multiply has a limited number of fields', async () => {
    const levels = Array.from({ length: 5 }, (_, level) => {
      const next = level === 4 ? 'Edm.String' : `ns.c${level + 1}`;
      const properties = Array.from({ length: 12 }, (__, n) => `<Property Name="p${n}" Type="${next}"/>`);
      return `<ComplexType Name="c${level}">${properties.join('')}</ComplexType>`;
    });
    const { fields } = await describeThing(
      thing('<Property Name="c" Type="ns.c0"/><Property Name="last" Type="Edm.String"/>') + levels.join(''),
    );
    expect(fields.length).toBeLessThan(1_510);
    expect(byName(fields).get('last')?.reason).toMatch(/more than 1500 fields/);
  });

  it('of names that objects have by themselves is described', async () => {
    const types = thing(
      '<Property Name="constructor" Type="Edm.String"/><Property Name="__proto__" Type="Edm.String"/>',
    );
    const recordType = await describeThing(types, set('constructor'), 'constructor');
    expect(fieldNames(recordType)).toEqual(['id', 'name', 'constructor']);
    expect(byName(recordType.fields).get('__proto__')?.reason).toMatch(/reserved/);
  });
});

describe('a probe', () => {
  const refuse = (pattern: RegExp) =>
    serving(readMetadata('business-central'), (seen, response) =>
      pattern.test(decodeURIComponent(seen.path))
        ? json(response, 400, { error: { code: 'BadRequest', message: 'not supported here' } })
        : optionsOf(seen).$filter?.includes('id gt') === true
          ? { value: [] }
          : { value: [{ id: '3f2504e0-4f89-41d3-9a0c-0305e82c3301', salesInvoiceLines: [] }] },
    );
  const probe = async (pattern: RegExp) => {
    wire.answer = refuse(pattern);
    return describeOne(createOdataAt(wire.url), 'salesInvoices');
  };

  it('finds services that do not order by the key', async () => {
    const { keyOrder, definition } = await probe(/\$orderby/);
    expect([keyOrder, definition]).toMatchObject(['server', { paging: 'nextLink' }]);
  });

  it('finds services that do not compare keys', async () => {
    expect((await probe(/id gt /)).definition).toMatchObject({ paging: 'nextLink' });
  });

  it('finds services that do not expand lines', async () => {
    const { fields, definition } = await probe(/\$expand/);
    expect(definition).toMatchObject({ paging: 'key', lines: null });
    expect(byName(fields).get('lines')).toMatchObject({
      syncable: false,
      reason: 'The ERP refuses to read lines with records: not supported here',
    });
  });

  it('finds services that do not filter by the modification time', async () => {
    const recordType = await probe(/lastModifiedDateTime ge/);
    expect([recordType.modifiedField, recordType.reading?.changes]).toEqual([null, 'full']);
  });

  it('gives the reason where records are forbidden', async () => {
    wire.answer = serving(readMetadata('business-central'), sends(403, { error: { message: 'no access' } }));
    const { reason, fields } = await describeOne(createOdataAt(wire.url), 'salesInvoices');
    expect([reason, fields.some(({ syncable }) => syncable)]).toEqual(['no access', false]);
  });
});

describe('a metadata document', () => {
  const failing = (text: string, type = 'application/xml') => {
    wire.answer = (_seen, response) => sendText(response, 200, type, text);
    return expectErpError(createOdataAt(wire.url).discover?.(signal), 'answer', 'METADATA_UNREADABLE');
  };
  const bomb = `<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>`;

  it.each([
    ['entities that multiply', bomb + metadataWith(thing('<Property Name="&b;"/>'), set('things'))],
    ['an external entity', `<!DOCTYPE x SYSTEM "file:///etc/passwd">${metadataWith(thing(), set('things'))}`],
    ['an unknown entity', metadataWith(thing('<Property Name="&b;"/>'), set('things'))],
    ['thousands of levels', metadataWith('<a>'.repeat(5_000) + '</a>'.repeat(5_000), '')],
    ['an end before its end', metadataWith(thing(), set('things')).slice(0, -20)],
    ['OData v2', metadataWith(thing(), set('things')).replace('Version="4.01"', 'Version="1.0"')],
    ['HTML', '<!DOCTYPE html><html><body>Sign in</body></html>'],
    ['JSON', '{"value":[]}'],
    ['nothing', ''],
  ])('with %s is refused', async (_what, text) => {
    await failing(text);
  });

  it('that is too large is refused by the setting', async () => {
    wire.answer = serving(metadataWith(thing(' '.repeat(2_000)), set('things')));
    const connector = createOdataAt(wire.url, {}, { erp: { maxMetadataBytes: 1_000 } });
    const error = await expectErpError(connector.discover?.(signal), 'query', 'METADATA_TOO_LARGE');
    expect(error.fix).toContain('ERP_MAX_METADATA_MB');
  });

  it('of many megabytes leaves the event loop to others', async () => {
    const many = Array.from({ length: 20_000 }, (_, n) => `<Property Name="p${n}" Type="Edm.String"/>`).join(
      '\n',
    );
    wire.answer = serving(metadataWith(thing(many), set('things')));
    let turns = 0;
    const count = setInterval(() => (turns += 1), 1);
    await createOdataAt(wire.url).discover?.(signal);
    clearInterval(count);
    expect(turns).toBeGreaterThan(3);
  });

  it('is not parsed any further once the run is over', async () => {
    wire.answer = serving(readMetadata('business-central'));
    const over = AbortSignal.abort(new Error('over'));
    await expect(createOdataAt(wire.url).discover?.(over)).rejects.toThrow('over');
  });
});
