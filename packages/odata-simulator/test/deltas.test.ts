// Changes by delta links: OData 4.0 and 4.01, part 1, 11.3, and JSON format, 15.
import { beforeAll, describe, expect, it } from 'vitest';
import { type Json, useClient } from './simulated.ts';

const central = useClient({ profile: 'businessCentral', generate: { customers: 10, salesInvoices: 1 } });
const generic = useClient({ profile: 'generic', generate: { Orders: { count: 5, lines: 2 } } });
const tracking = { prefer: 'odata.track-changes' };

describe('delta links of OData 4.0', () => {
  it('follow the pages of the first read, and have later changes once', async () => {
    const { records } = central.simulator;
    const query = 'customers?$select=id,displayName&$filter=displayName ne null';
    const first = await central.all(query, { prefer: 'odata.track-changes,odata.maxpagesize=4' });
    expect([first.values.length, first.pages]).toEqual([10, 3]);
    const link = first.last['@odata.deltaLink'];
    expect((await central.get(link)).body.value).toEqual([]);
    const [a, b, c] = first.values.map(({ id }: Json) => id);
    records.patch({ table: 'customers', id: a }, { fields: { displayName: 'Changed' } });
    records.patch({ table: 'customers', id: b }, { fields: { displayName: null } });
    records.remove({ table: 'customers', id: c }, true);
    const { id: added } = records.create({ table: 'customers' }, { fields: { displayName: 'Added' } });
    const { body } = await central.get(link);
    expect(body['@odata.context']).toMatch(/customers\(id,displayName\)\/\$delta$/);
    const removed = {
      '@odata.context': expect.stringMatching(/customers\/\$deletedEntity$/),
      reason: 'changed',
    };
    expect(body.value).toEqual([
      { '@odata.etag': expect.any(String), id: a, displayName: 'Changed' },
      { ...removed, id: b },
      { ...removed, id: c },
      { '@odata.etag': expect.any(String), id: added, displayName: 'Added' },
    ]);
    expect((await central.get(body['@odata.deltaLink'])).body.value).toEqual([]);
    // A link can be used again, and its pages lead to a new one.
    const again = await central.all(link, { prefer: 'odata.maxpagesize=3' });
    expect([again.values.length, again.pages]).toEqual([4, 2]);
    expect((await central.get(again.last['@odata.deltaLink'])).body.value).toEqual([]);
  });

  it('have what changed during the first read', async () => {
    const first = await central.get('customers', { prefer: 'odata.track-changes,odata.maxpagesize=4' });
    const [{ id }] = first.body.value;
    central.simulator.records.patch(
      { table: 'customers', id },
      { fields: { displayName: 'Changed meanwhile' } },
    );
    const rest = await central.all(first.body['@odata.nextLink']);
    const { body } = await central.get(rest.last['@odata.deltaLink']);
    expect(body.value.map(({ displayName }: Json) => displayName)).toEqual(['Changed meanwhile']);
  });

  it('skip what the service keeps to itself', async () => {
    const { records } = central.simulator;
    const first = await central.all('customers', tracking);
    const [a, b] = first.values.map(({ id }: Json) => id);
    const before = (await central.get(`customers(${a})`)).body;
    records.patch({ table: 'customers', id: a }, { fields: { displayName: 'Secret' }, touch: 'none' });
    records.remove({ table: 'customers', id: b }, false);
    expect((await central.get(first.last['@odata.deltaLink'])).body.value).toEqual([]);
    expect((await central.get(`customers(${a})`)).body).toEqual({ ...before, displayName: 'Secret' });
  });

  it('expire, can’t be modified, and are refused for some entities', async () => {
    const link = (await central.all('customers', tracking)).last['@odata.deltaLink'];
    expect((await central.get(`${link}&$select=id`)).status).toBe(400);
    central.simulator.records.expireDeltas();
    const { status, headers } = await central.get(link);
    expect(status).toBe(410);
    const full = new URL(headers.get('location') ?? '', link).href;
    expect((await central.get(full)).status).toBe(200);
    const refused = await central.get('salesInvoices', tracking);
    expect([refused.status, refused.body.error.message]).toEqual([
      500,
      'Entity does not support delta requests.',
    ]);
  });
});

describe('delta links of OData 4.01', () => {
  let link = '';
  const expanded = 'Orders?$select=Id&$expand=Lines($select=LineNo)';
  beforeAll(async () => {
    const { body, headers } = await generic.get(expanded, tracking);
    expect([headers.get('odata-version'), headers.get('preference-applied')]).toEqual([
      '4.01',
      'odata.track-changes',
    ]);
    link = body['@deltaLink'];
  });

  it('with lines have changes of lines; removed entities have a reason and a key', async () => {
    const { records } = generic.simulator;
    records.patch({ table: 'Orders', id: '1' }, { lines: [{ line: '2', fields: null }], touch: 'lines' });
    records.patch(
      { table: 'Orders', id: '2' },
      { lines: [{ line: '3', fields: { Amount: '1.5' } }], touch: 'lines' },
    );
    records.remove({ table: 'Orders', id: '3' }, true);
    const { body } = await generic.get(link);
    const etag = { '@etag': expect.any(String) };
    const lines = (...numbers: number[]) => ({ Lines: numbers.map((LineNo) => ({ ...etag, LineNo })) });
    expect(body.value).toEqual([
      { ...etag, Id: 1, ...lines(1) },
      { ...etag, Id: 2, ...lines(1, 2, 3) },
      { '@removed': { reason: 'deleted' }, Id: 3 },
    ]);
    const old = await generic.get(link, { 'odata-maxversion': '4.0' });
    expect(old.body.value[2]).toEqual({
      '@odata.context': `${generic.simulator.serviceRoot}$metadata#Orders/$deletedEntity`,
      id: 'Orders(3)',
      reason: 'deleted',
    });
  });

  it('without lines ignore them, and an entity that comes back is no longer removed', async () => {
    const { records } = generic.simulator;
    const first = (await generic.get('Orders?$select=Id', tracking)).body['@deltaLink'];
    records.patch(
      { table: 'Orders', id: '4' },
      { lines: [{ line: '1', fields: { Amount: '7' } }], touch: 'lines' },
    );
    records.remove({ table: 'Orders', id: '5' }, true);
    records.put({ table: 'Orders', id: '5' }, { fields: { Number: 'Back' } });
    const { body } = await generic.get(first);
    expect(body.value.map(({ Id, '@removed': removed }: Json) => [Id, removed])).toEqual([[5, undefined]]);
  });
});
