// How a service writes what has changed: entities, those that were deleted or left what may be read, in OData 4.0 and 4.01,
// and what can't be attributed to a record.
import { beforeEach, expect, it } from 'vitest';
import type { Connector, RecordTypeMetadata } from '../../../src/connectors/connector.ts';
import { expectErpError, firstPage, json, signal, useWire } from '../netsuite/wire.ts';
import { createOdataAt, describeOne, metadataWith, optionsOf, serving } from './service.ts';

const wire = useWire();
const metadata = metadataWith(
  `<EntityType Name="order"><Key><PropertyRef Name="no"/></Key><Property Name="no" Type="Edm.String"/>
   <NavigationProperty Name="orderLines" Type="Collection(ns.line)" ContainsTarget="true"/></EntityType>
   <EntityType Name="line"><Key><PropertyRef Name="no"/></Key><Property Name="no" Type="Edm.Int32"/></EntityType>`,
  '<EntitySet Name="orders" EntityType="ns.order"/>',
);
let connector: Connector;
let recordType: RecordTypeMetadata;
let token: string;
let changes: object[];

beforeEach(async () => {
  changes = [];
  connector = createOdataAt(wire.url);
  wire.answer = serving(metadata, (seen, response) => {
    const link = { '@odata.deltaLink': `orders?$deltatoken=${wire.seen.length}` };
    if (optionsOf(seen)['$deltatoken'] !== undefined) return { value: changes, ...link };
    response.setHeader('preference-applied', 'odata.track-changes');
    return json(response, 200, { value: [], ...(seen.headers['prefer'] && link) });
  });
  recordType = await describeOne(connector, 'orders');
  const request = { ...firstPage, recordType, fields: ['no', 'lines'], tracksChanges: true };
  token = (await connector.readPage(request)).changeToken ?? '';
});
const list = () => connector.changeTracking?.list({ recordType, token, signal }) ?? Promise.reject();
const context = (of: string) => `${wire.url}/api/$metadata#${of}`;

it('names changed records, deleted ones, and those that left as changed', async () => {
  changes = [
    { no: 'A', orderLines: [] },
    { '@removed': { reason: 'deleted' }, no: 'B' },
    { '@removed': { reason: 'changed' }, no: 'C' },
    { '@odata.context': context('orders/$deletedEntity'), id: "orders('D%2F1')", reason: 'deleted' },
    { '@odata.context': context('orders(no)/$deletedEntity'), id: "orders(no='O''E')", reason: 'changed' },
    { '@odata.context': context('orders/$deletedEntity'), id: '100%', reason: 'deleted' },
    { '@odata.context': context('orders(no,orderLines(no))/$entity'), no: 'G', orderLines: [] },
    { '@removed': { reason: 'deleted' } },
  ];
  const { changed, removed, hasMore, token: next } = await list();
  expect(changed).toEqual(['A', 'C', "O'E", 'G']);
  expect(removed).toEqual(['B', 'D/1', '100%']);
  expect(hasMore).toBe(false);
  expect(next).not.toBe(token);
});

it.each([
  ['a line that changed', 'orderLines/$entity', { no: '77' }],
  ['a line that was deleted', "orders('A')/orderLines/$deletedEntity", { id: '77' }],
  ['a link between records', 'orders/$link', { source: "orders('A')" }],
  ['an entity without its key', 'orders/$entity', { '@odata.id': "orders('A')", orderLines: [] }],
])('ends the report by links where it has %s', async (_what, of, change) => {
  changes = [{ '@odata.context': context(of), ...change }];
  await expectErpError(list(), 'query', 'CHANGES_EXPIRED');
});
