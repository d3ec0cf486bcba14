// Pages by nextLink and by key, on the profiles' own habits.
import { describe, expect, it } from 'vitest';
import { useClient } from './simulated.ts';

const central = useClient({
  profile: 'businessCentral',
  generate: { customers: 250, items: 20, salesInvoices: { count: 30, seed: 5, lines: 3 } },
  companies: 2,
});
const sap = useClient({ profile: 'sap', generate: { PurchaseOrder: { count: 12, seed: 5, lines: 12 } } });

describe('Business Central', () => {
  it('pages have the preferred size and absolute links', async () => {
    const { body, headers } = await central.get('customers', { prefer: 'odata.maxpagesize=100' });
    expect(body.value).toHaveLength(100);
    expect(body['@odata.nextLink']).toContain(`${central.simulator.serviceRoot}companies(`);
    expect(headers.get('preference-applied')).toBe('odata.maxpagesize=100');
    const { values, pages } = await central.all('customers', { prefer: 'odata.maxpagesize=100' });
    expect([pages, new Set(values.map(({ id }) => id)).size]).toEqual([3, 250]);
  });

  it('a chain of links respects $top, $skip, $orderby and $count', async () => {
    const query = 'customers?$orderby=displayName desc&$top=55&$skip=10&$count=true&$select=displayName';
    const { values, pages, last } = await central.all(query, { prefer: 'maxpagesize=20' });
    const names = Array.from({ length: 250 }, (_, i) => `Generated customer ${i + 1}`)
      .sort()
      .reverse();
    expect(values.map(({ displayName }) => displayName)).toEqual(names.slice(10, 65));
    expect([pages, last['@odata.count']]).toEqual([3, 250]);
  });

  it('a link with another query is refused', async () => {
    const { body } = await central.get('customers', { prefer: 'maxpagesize=20' });
    expect((await central.get(`${body['@odata.nextLink']}&$select=id`)).status).toBe(400);
  });

  it('reading by key visits every record once, in an order that is not that of the texts', async () => {
    const ids: string[] = [];
    for (let page = ['']; page.length > 0; ids.push(...page)) {
      const last = ids.at(-1);
      const after = last === undefined ? '' : `&$filter=id gt ${last}`;
      const { body } = await central.get(`customers?$orderby=id&$top=60&$select=id${after}`);
      page = body.value.map(({ id }: { id: string }) => id);
    }
    expect(new Set(ids).size).toBe(250);
    expect(ids).not.toEqual(ids.toSorted());
    // SQL Server compares the last group first.
    expect(ids.map((id) => id.slice(-12))).toEqual(ids.map((id) => id.slice(-12)).sort());
  });

  it('records that change between pages are neither lost nor repeated', async () => {
    const { body } = await central.get('customers', { prefer: 'maxpagesize=100' });
    const [first] = body.value;
    central.simulator.records.remove({ table: 'customers', id: first.id }, true);
    const rest = await central.all(body['@odata.nextLink'], { prefer: 'maxpagesize=100' });
    expect(body.value.length + rest.values.length).toBe(250);
    central.simulator.records.create({ table: 'customers' }, {});
  });

  it('lines are expanded with their own $select, and read through their invoice', async () => {
    const query =
      'salesInvoices?$select=id,number&$expand=salesInvoiceLines($select=sequence,quantity)&$top=1';
    const { body } = await central.get(query, {
      accept: 'application/json;odata.metadata=none;IEEE754Compatible=true',
    });
    const [{ id, salesInvoiceLines: lines }] = body.value;
    expect(lines.map(({ sequence }: { sequence: number }) => sequence)).toEqual([10_000, 20_000, 30_000]);
    expect(Object.keys(lines[0])).toEqual(['sequence', 'quantity']);
    const own = await central.get(`salesInvoices(${id})/salesInvoiceLines?$top=2`);
    expect(own.body.value.map((line: { documentId: string }) => line.documentId)).toEqual([id, id]);
    expect((await central.get(`salesInvoiceLines?$filter=documentId eq ${id}`)).body.value).toHaveLength(3);
    expect((await central.get(`salesInvoices(${id})/salesInvoiceLines/$count`)).text).toBe('3');
  });

  it('lines without a header are refused', async () => {
    const { status, body } = await central.get('salesInvoiceLines?$top=1');
    expect([status, body.error.message]).toEqual([
      400,
      'You must specify an Id or a Document Id to get the lines.',
    ]);
  });

  it('each company has its own records', async () => {
    const { serviceRoot } = central.simulator;
    const { body } = await central.get(`${serviceRoot}companies`);
    expect(body.value).toHaveLength(2);
    const others = body.value.filter(({ id }: { id: string }) => !central.simulator.companyPath.includes(id));
    expect((await central.get(`${serviceRoot}companies(${others[0].id})/customers/$count`)).text).toBe('0');
    expect((await central.get(`${serviceRoot}customers`)).status).toBe(400);
    const unknown = '00000000-0000-0000-0000-000000000000';
    expect((await central.get(`${serviceRoot}companies(${unknown})/customers`)).status).toBe(404);
  });

  it('entities have an ETag that changes with them, and enums are texts', async () => {
    const { body } = await central.get('customers?$top=1');
    const [{ '@odata.etag': before, id, blocked }] = body.value;
    expect(['_x0020_', 'Ship', 'Invoice', 'All']).toContain(blocked);
    central.simulator.records.patch({ table: 'customers', id }, { fields: { blocked: 'All' } });
    const after = (await central.get(`customers(${id})`)).body;
    expect(after['@odata.context']).toMatch(/\$metadata#companies\(.*\)\/customers\/\$entity$/);
    expect(after.blocked).toBe('All');
    expect(after['@odata.etag']).not.toBe(before);
  });
});

describe('SAP', () => {
  it('links and contexts are relative to the request', async () => {
    const { body } = await sap.get('PurchaseOrder?$select=PurchaseOrder', { prefer: 'odata.maxpagesize=5' });
    expect(body['@odata.context']).toBe('$metadata#PurchaseOrder(PurchaseOrder)');
    expect(body['@odata.nextLink']).toMatch(/^PurchaseOrder\?\$select=PurchaseOrder&\$skiptoken=/);
    const { values } = await sap.all('PurchaseOrder', { prefer: 'odata.maxpagesize=5' });
    expect(values).toHaveLength(12);
  });

  it('composite keys are read by a chain of conditions, in the order of texts', async () => {
    const seen: string[] = [];
    let after = '';
    for (;;) {
      const query = `PurchaseOrderItem?$orderby=PurchaseOrder,PurchaseOrderItem&$top=50${after}`;
      const { body } = await sap.get(query);
      for (const item of body.value) seen.push(`${item.PurchaseOrder}/${item.PurchaseOrderItem}`);
      const last = body.value.at(-1);
      if (last === undefined) break;
      const { PurchaseOrder: order, PurchaseOrderItem: item } = last;
      after = `&$filter=PurchaseOrder gt '${order}' or (PurchaseOrder eq '${order}' and PurchaseOrderItem gt '${item}')`;
    }
    expect(new Set(seen).size).toBe(144);
    expect(seen.slice(0, 4).map((text) => text.split('/')[1])).toEqual(['10', '100', '110', '120']);
  });

  it('entities have composite keys with quotes', async () => {
    const { records } = sap.simulator;
    const key = "A'/%1";
    records.put(
      { table: 'PurchaseOrder', id: encodeURIComponent(key) },
      { lines: [{ line: '10', fields: { OrderQuantity: '1.500' } }] },
    );
    const literal = encodeURIComponent(key.replaceAll("'", "''"));
    const { body } = await sap.get(`PurchaseOrderItem(PurchaseOrder='${literal}',PurchaseOrderItem='10')`);
    expect([body.PurchaseOrder, body.OrderQuantity]).toEqual([key, 1.5]);
    const lines = await sap.get(`PurchaseOrder('${literal}')/_PurchaseOrderItem`);
    expect(lines.body.value).toHaveLength(1);
    expect(lines.text).toContain('"OrderQuantity":1.500');
    records.remove({ table: 'PurchaseOrder', id: encodeURIComponent(key) }, true);
  });
});
