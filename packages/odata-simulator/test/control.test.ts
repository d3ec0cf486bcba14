// The control interface over HTTP, and what its edits do to answers.
import { describe, expect, it } from 'vitest';
import { type Json, useClient } from './simulated.ts';

const world = useClient({ profile: 'sap', generate: { PurchaseOrder: { count: 3, lines: 2 } }, control: {} });
const ORDER = '4500000001';

async function control(
  method: string,
  path: string,
  body?: unknown,
): Promise<{ status: number; body: Json }> {
  const { url, token } = world.simulator.control ?? { url: '', token: '' };
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: await response.json() };
}
const changed = async (): Promise<string> =>
  (await world.get(`PurchaseOrder('${ORDER}')`)).body.LastChangeDateTime;

describe('access', () => {
  it('needs the token', async () => {
    const { url } = world.simulator.control ?? { url: '' };
    expect((await fetch(`${url}/state`)).status).toBe(401);
  });

  it.each([
    ['GET', '/nothing', undefined, 404, []],
    ['POST', '/state', undefined, 405, []],
    ['PUT', '/faults', [{ on: {} }], 422, ['[0]']],
    ['PUT', '/faults', [{ on: {}, html: true, cut: 1 }], 422, ['[0]']],
    ['PUT', '/faults', [{ on: { table: 'x' }, html: true }], 422, ['[0].on.table']],
    ['PUT', '/faults', [{ on: {}, status: 418 }], 422, ['[0].status']],
    ['PUT', '/faults', [{ on: {}, other: 1 }], 422, ['[0].other', '[0]']],
    ['POST', '/clock', {}, 422, ['']],
    ['PATCH', `/records/PurchaseOrder/${ORDER}`, { fields: { Nothing: 1 } }, 422, ['fields.Nothing']],
    [
      'PATCH',
      `/records/PurchaseOrder/${ORDER}`,
      { fields: { ExchangeRate: 'x' } },
      422,
      ['fields.ExchangeRate'],
    ],
    ['PATCH', `/records/PurchaseOrder/${ORDER}`, { fields: { PurchaseOrder: '1' } }, 422, ['fields']],
    ['PATCH', `/records/PurchaseOrder/${ORDER}`, { touch: 'never' }, 422, ['touch']],
    ['PATCH', '/records/PurchaseOrder/none', {}, 404, []],
    ['PATCH', `/records/PurchaseOrderItem/${ORDER},10`, {}, 422, ['table']],
    ['GET', '/records/Nothing', undefined, 404, []],
  ])('%s %s %j is %i', async (method, path, body, status, paths) => {
    const answer = await control(method, path, body);
    expect(answer.status).toBe(status);
    expect((answer.body.error.details ?? []).map(({ path: at }: Json) => at)).toEqual(paths);
  });
});

describe('records', () => {
  it('are listed in the order of keys, with their lines and exact values', async () => {
    const first = await control('GET', '/records/PurchaseOrder?limit=2');
    expect(first.body.records.map(({ id }: Json) => id)).toEqual([ORDER, '4500000002']);
    const rest = await control('GET', `/records/PurchaseOrder?after=${first.body.next}`);
    expect([rest.body.records.length, rest.body.next]).toEqual([1, null]);
    const { body } = await control('GET', `/records/PurchaseOrder/${ORDER}`);
    expect(body.fields.ExchangeRate).toMatch(/^-?\d+\.\d{5}$/);
    expect(body.lines.map(({ line }: Json) => line)).toEqual(['10', '20']);
    const item = await control('GET', `/records/PurchaseOrderItem/${ORDER},10`);
    expect(item.body.fields).toEqual(body.lines[0].fields);
  });

  it('an edit moves the modification time, or doesn’t', async () => {
    const before = await changed();
    await control('POST', '/clock', { at: '2030-05-06T07:08:09Z' });
    const fields = { CompanyCode: '1710' };
    await control('PATCH', `/records/PurchaseOrder/${ORDER}`, { fields, touch: 'none' });
    await control('PATCH', `/records/PurchaseOrder/${ORDER}`, {
      lines: [{ line: '10', fields: {} }],
      touch: 'lines',
    });
    expect(await changed()).toBe(before);
    await control('PATCH', `/records/PurchaseOrder/${ORDER}`, { fields });
    expect(await changed()).toMatch(/^2030-05-06T07:08:09\.\d{7}Z$/);
    await control('PATCH', `/records/PurchaseOrder/${ORDER}`, { touch: '2020-01-02T03:04:05.1234567+01:00' });
    expect(await changed()).toBe('2020-01-02T02:04:05.1234567Z');
  });

  it('lines come, change and go', async () => {
    const path = `/records/PurchaseOrder/${ORDER}`;
    const lines = [
      { line: '10', fields: { NetPriceAmount: '0.10' } },
      { line: '20', fields: null },
      { line: '30', fields: { Material: 'M', OrderQuantity: 2 } },
    ];
    await control('PATCH', path, { lines });
    const { body } = await world.get(`PurchaseOrder('${ORDER}')/_PurchaseOrderItem`);
    expect(body.value).toMatchObject([
      { PurchaseOrderItem: '10', NetPriceAmount: 0.1 },
      { PurchaseOrder: ORDER, PurchaseOrderItem: '30', Material: 'M', OrderQuantity: 2 },
    ]);
    await control('PUT', path, { fields: { Supplier: 'S' }, lines: [{ line: '40', fields: {} }] });
    const { body: order } = await world.get(`PurchaseOrder('${ORDER}')?$expand=_PurchaseOrderItem`);
    expect(order).toMatchObject({
      Supplier: 'S',
      CompanyCode: null,
      _PurchaseOrderItem: [{ PurchaseOrderItem: '40' }],
    });
    expect(
      (await world.get(`PurchaseOrderItem(PurchaseOrder='${ORDER}',PurchaseOrderItem='10')`)).status,
    ).toBe(404);
  });

  it('come like others, and go with their lines', async () => {
    const { status, body } = await control('POST', '/records/PurchaseOrder', {
      like: '4500000002',
      fields: { Supplier: 'Like' },
    });
    expect(status).toBe(201);
    const model = (await control('GET', '/records/PurchaseOrder/4500000002')).body;
    expect(body.id).not.toBe(model.id);
    expect(body.fields).toMatchObject({ Supplier: 'Like', CreationDate: model.fields.CreationDate });
    const withoutKey = ({ fields: { PurchaseOrder: _key, ...rest } }: Json) => rest;
    expect(body.lines.map(withoutKey)).toEqual(model.lines.map(withoutKey));
    await control('DELETE', `/records/PurchaseOrder/${body.id}?listed=false`);
    expect((await world.get(`PurchaseOrderItem/$count?$filter=PurchaseOrder eq '${body.id}'`)).text).toBe(
      '0',
    );
  });

  it('are generated: the same for the same seed, with times that move by a step', async () => {
    const bulk = { count: 4, seed: 9, lines: 1, from: '2025-01-01T00:00:00Z', stepSeconds: 0.5 };
    expect((await control('POST', '/generate/PurchaseOrder', bulk)).body).toEqual({ count: 7 });
    const { body } = await control('GET', '/records/PurchaseOrder?after=4500000003');
    expect(body.records.map(({ fields }: Json) => fields.LastChangeDateTime)).toEqual([
      '2025-01-01T00:00:00.0000000Z',
      '2025-01-01T00:00:00.5000000Z',
      '2025-01-01T00:00:01.0000000Z',
      '2025-01-01T00:00:01.5000000Z',
    ]);
  });
});

describe('state', () => {
  it('has faults, hits, clock and requests, until it is reset', async () => {
    const fault = { on: { kind: 'rows' }, times: 1, status: 503 };
    await control('PUT', '/faults', [fault]);
    await control('POST', '/clock', { stepSeconds: 3600 });
    await world.get('PurchaseOrder');
    const { body } = await control('GET', '/state');
    expect(body).toMatchObject({
      faults: [fault],
      hits: [1],
      clock: { skewSeconds: 3600 },
      requests: { rows: 1 },
    });
    expect((await control('GET', '/requests')).body.requests).toMatchObject([{ kind: 'rows', status: 503 }]);
    const after = (await control('POST', '/reset', {})).body;
    expect(after).toMatchObject({ faults: [], clock: { skewSeconds: 0 }, requests: {} });
  });

  it('delta links and tokens can be made invalid', async () => {
    const { body } = await world.get('PurchaseOrder', { prefer: 'track-changes' });
    const link = `${world.simulator.serviceRoot}${body['@odata.deltaLink']}`;
    expect((await world.get(link)).status).toBe(200);
    await control('POST', '/deltas/expire');
    expect((await world.get(link)).status).toBe(410);
    expect((await control('POST', '/tokens/revoke')).status).toBe(200);
  });
});
