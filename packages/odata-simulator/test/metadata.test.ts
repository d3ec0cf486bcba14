// $metadata, judged by a parser that SAP's tools use and by an XML parser.

import { parseXml } from '@rgrove/parse-xml';
import { parse } from '@sap-ux/edmx-parser';
import { describe, expect, it } from 'vitest';
import { startClient, useClient } from './simulated.ts';

type Named = { name: string };
/** Of what the parser returns. */
type Model = {
  version: string;
  schema: {
    namespace: string;
    entitySets: Named[];
    complexTypes: Named[];
    entityTypes: (Named & {
      keys: (Named & { type: string })[];
      entityProperties: (Named & { type: string })[];
      navigationProperties: Named[];
    })[];
  };
};
const parseModel = (text: string): Model => parse(text);

const world = useClient({ profile: 'businessCentral' });

async function readModel(profile: Parameters<typeof startClient>[0]['profile']) {
  const client = await startClient({ profile });
  const { text, headers } = await client.get(`${client.simulator.serviceRoot}$metadata`);
  await client.simulator.stop();
  expect(headers.get('content-type')).toBe('application/xml; charset=utf-8');
  parseXml(text);
  return { ...parseModel(text), text };
}

describe('$metadata', () => {
  it('of Business Central has sets, keys, enums, references and lines', async () => {
    const { schema, version } = await readModel('businessCentral');
    expect([version, schema.namespace]).toEqual(['4.0', 'Microsoft.NAV']);
    expect(schema.entitySets.map(({ name }) => name)).toEqual([
      'companies',
      'customers',
      'vendors',
      'items',
      'salesInvoices',
      'salesInvoiceLines',
      'salesOrders',
    ]);
    const invoice = schema.entityTypes.find(({ name }) => name === 'salesInvoice');
    expect(invoice?.keys.map(({ name, type }) => [name, type])).toEqual([['id', 'Edm.Guid']]);
    expect(invoice?.navigationProperties).toMatchObject([
      {
        name: 'customer',
        targetTypeName: 'Microsoft.NAV.customer',
        isCollection: false,
        referentialConstraint: [{ sourceProperty: 'customerId', targetProperty: 'id' }],
      },
      {
        name: 'salesInvoiceLines',
        targetTypeName: 'Microsoft.NAV.salesInvoiceLine',
        isCollection: true,
        containsTarget: true,
      },
    ]);
    expect(invoice?.entityProperties.find(({ name }) => name === 'status')?.type).toBe(
      'Microsoft.NAV.invoiceEntityAggregateStatus',
    );
  });

  it('of SAP has composite keys, scales and labels', async () => {
    const { schema } = await readModel('sap');
    const item = schema.entityTypes.find(({ name }) => name === 'PurchaseOrderItem_Type');
    expect(item?.keys.map(({ name }) => name)).toEqual(['PurchaseOrder', 'PurchaseOrderItem']);
    expect(item?.entityProperties.find(({ name }) => name === 'OrderQuantity')).toMatchObject({
      type: 'Edm.Decimal',
      precision: 13,
      scale: 3,
    });
  });

  it('of the generic profile has every primitive type, and labels as attributes', async () => {
    const { schema, text } = await readModel('generic');
    const thing = schema.entityTypes.find(({ name }) => name === 'Thing');
    const types = new Set(thing?.entityProperties.map(({ type }) => type));
    // CSDL XML 4.01, 3.3, without abstract types.
    const primitive =
      'Binary Boolean Byte Date DateTimeOffset Decimal Double Duration Guid Int16 Int32 Int64 SByte Single Stream String TimeOfDay Geography GeographyPoint GeographyLineString GeographyPolygon GeographyMultiPoint GeographyMultiLineString GeographyMultiPolygon GeographyCollection Geometry GeometryPoint GeometryLineString GeometryPolygon GeometryMultiPoint GeometryMultiLineString GeometryMultiPolygon GeometryCollection';
    for (const type of primitive.split(' ')) expect(types).toContain(`Edm.${type}`);
    expect(schema.complexTypes.map(({ name }) => name)).toEqual(['Size']);
    expect(text).toContain('sap:label="Sample Decimal"');
  });

  it('has a service document next to it', async () => {
    const { body } = await world.get(world.simulator.serviceRoot);
    expect(body['@odata.context']).toBe(`${world.simulator.serviceRoot}$metadata`);
    expect(body.value[1]).toEqual({ name: 'customers', kind: 'EntitySet', url: 'customers' });
  });
});

describe('bad metadata', () => {
  const read = async (
    metadata: Parameters<typeof world.simulator.putFaults>[0]['metadata'],
  ): Promise<string> => {
    if (metadata !== undefined) world.simulator.putFaults({ on: { kind: 'metadata' }, times: 1, metadata });
    return (await world.get(`${world.simulator.serviceRoot}$metadata`)).text;
  };

  it('is padded to a size', async () => {
    const text = await read({ megabytes: 3 });
    expect(text.length).toBeGreaterThan(3 * 2 ** 20);
    expect(text.length).toBeLessThan(3.1 * 2 ** 20);
    expect(parseModel(text).schema.entitySets).toHaveLength(7);
    expect((await read(undefined)).length).toBeLessThan(30_000);
  });

  it('has entities that expand to 10⁹ texts', async () => {
    const text = await read('bomb');
    expect(text.match(/<!ENTITY/g)).toHaveLength(10);
    expect(text).toContain('&e9;');
  });

  it('has cyclic types, a set without key, two names that differ in case', async () => {
    const cyclic = parseModel(await read('cyclicTypes')).schema.complexTypes.map(({ name }) => name);
    expect(cyclic).toEqual(['CycleA', 'CycleB', 'CycleC']);
    const withoutKey = parseModel(await read('withoutKey')).schema.entityTypes.filter(
      ({ keys }) => keys.length === 0,
    );
    expect(withoutKey).toHaveLength(1);
    const folded = parseModel(await read('foldedNames')).schema.entitySets.map(({ name }) =>
      name.toLowerCase(),
    );
    expect([folded.length, new Set(folded).size]).toEqual([8, 7]);
  });
});
