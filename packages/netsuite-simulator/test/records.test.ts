import { beforeAll, describe, expect, it } from 'vitest';
import { CATALOG, type Caller, useCaller } from './test-account.ts';

const caller = useCaller();
let invoice: Record<string, string>;
let credit: Record<string, string>;
beforeAll(async () => {
  const find = (type: string) =>
    caller.first(
      `SELECT id, tranid, entity, foreigntotal, TO_CHAR(trandate, 'YYYY-MM-DD') AS trandate
    FROM transaction WHERE type = '${type}' AND entity IS NOT NULL AND foreigntotal <> 0 ORDER BY id`,
      { limit: 1 },
    );
  invoice = await find('CustInvc');
  credit = await find('CustCred');
});

describe('GET metadata-catalog', () => {
  it('lists the record types with their links', async () => {
    const { status, body } = await caller.get(CATALOG);
    expect(status).toBe(200);
    expect(body.items.map((item) => item['name'])).toEqual([
      'customer',
      'inventoryItem',
      'invoice',
      'creditMemo',
      'customerPayment',
      'customerRefund',
      'salesOrder',
      'journalEntry',
      'currency',
      'vendor',
      'employee',
      'contact',
    ]);
    expect(body.items[0]?.['links']).toEqual([
      {
        rel: 'canonical',
        href: `${caller.account.url}/services/rest/${CATALOG}/customer`,
        mediaType: 'application/json',
      },
      {
        rel: 'alternate',
        href: `${caller.account.url}/services/rest/${CATALOG}/customer`,
        mediaType: 'application/swagger+json',
      },
      {
        rel: 'alternate',
        href: `${caller.account.url}/services/rest/${CATALOG}/customer`,
        mediaType: 'application/schema+json',
      },
      { rel: 'describes', href: `${caller.account.url}/services/rest/record/v1/customer` },
    ]);
  });

  it('selects by name; 400 for a space, 404 for an unknown name', async () => {
    expect((await caller.read(`${CATALOG}?select=customer,creditMemo`)).items).toHaveLength(2);
    const spaced = await caller.get(`${CATALOG}?select=customer,%20invoice`);
    expect([spaced.status, spaced.body['o:errorDetails'][0]?.['o:errorCode']]).toEqual([
      400,
      'INVALID_REQUEST',
    ]);
    expect((await caller.get(`${CATALOG}?select=unicorn`)).status).toBe(404);
  });

  it('describes a type as JSON Schema', async () => {
    const { status, headers, body } = await caller.get(`${CATALOG}/invoice`, {
      accept: 'application/schema+json',
    });
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('application/schema+json');
    expect(body).toMatchObject({
      $schema: 'https://json-schema.org/draft-06/hyper-schema#',
      $id: '/services/rest/record/v1/metadata-catalog/invoice',
      type: 'object',
      properties: {
        tranId: { title: 'Document Number', type: 'string', nullable: true, 'x-ns-filterable': true },
        tranDate: { type: 'string', format: 'date' },
        lastModifiedDate: { type: 'string', format: 'date-time' },
        total: { type: 'number', format: 'double' },
        entity: { $ref: '/services/rest/record/v1/metadata-catalog/customer' },
        status: { properties: { id: { enum: ['A', 'B'] } } },
        item: {
          properties: {
            items: {
              items: {
                properties: { item: { $ref: '/services/rest/record/v1/metadata-catalog/inventoryItem' } },
              },
            },
          },
        },
      },
    });
  });
});

describe('GET a record', () => {
  it('an invoice in typed JSON; the type in the path is case-insensitive', async () => {
    const { status, headers, body } = await caller.get(`record/v1/Invoice/${invoice['id']}`);
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe(
      'application/vnd.oracle.resource+json; type=singular; charset=UTF-8',
    );
    expect(body).toMatchObject({
      links: [
        {
          rel: 'self',
          href: `${caller.account.url}/services/rest/record/v1/invoice/${invoice['id']}`,
          method: 'GET',
        },
      ],
      id: invoice['id'],
      tranId: invoice['tranid'],
      tranDate: invoice['trandate'],
      total: Number(invoice['foreigntotal']),
      entity: { id: invoice['entity'], refName: `CUST${invoice['entity']}` },
      currency: { id: '1', refName: 'GBP' },
      status: { links: [] },
    });
    expect(body['lastModifiedDate']).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:00Z$/);
    expect(body).not.toHaveProperty('memo');
    expect(Object.keys(body['item'] ?? {})).toEqual(['links']);
  });

  it('with its lines, which add up to its total', async () => {
    const lines = (answer: Awaited<ReturnType<Caller['get']>>) =>
      (answer.body['item'] as { items: { amount: number; quantity: number }[] }).items;
    for (const [type, row, sign] of [
      ['invoice', invoice, 1],
      ['creditMemo', credit, -1],
    ] as const) {
      const items = lines(await caller.get(`record/v1/${type}/${row['id']}?expandSubResources=true`));
      const pence = items.reduce((sum, line) => sum + Math.round(line.amount * 100), 0);
      expect(pence).toBe(Math.round(sign * Number(row['foreigntotal']) * 100));
      expect(pence).toBeGreaterThan(0);
      expect(await caller.read(`record/v1/${type}/${row['id']}/item`)).toMatchObject({
        count: items.length,
        hasMore: false,
      });
    }
  });

  it('customers and items, with only the requested fields', async () => {
    expect(await caller.read(`record/v1/customer/${invoice['entity']}`)).toMatchObject({
      id: invoice['entity'],
      entityId: `CUST${invoice['entity']}`,
      isPerson: false,
      isInactive: false,
    });
    const item = await caller.first('SELECT id, itemid FROM item ORDER BY id', { limit: 1 });
    expect(await caller.read(`record/v1/inventoryItem/${item['id']}`)).toMatchObject({
      itemId: item['itemid'],
    });
    expect(Object.keys(await caller.read(`record/v1/invoice/${invoice['id']}?fields=total,tranId`))).toEqual([
      'links',
      'id',
      'tranId',
      'total',
    ]);
  });

  const readError = async (path: string, method?: string) => {
    const { status, body } = await caller.get(path, {}, method);
    return { status, ...(body['o:errorDetails'][0] ?? {}) };
  };

  it('404 for an absent type, entity or path; 400 for an absent transaction', async () => {
    expect(await readError('record/v1/bad-path')).toEqual({
      status: 404,
      detail: "Record type 'bad-path' does not exist.",
      'o:errorUrl': '/services/rest/record/v1/bad-path',
      'o:errorCode': 'NONEXISTENT_ID',
    });
    expect(await readError('record/v1/bad-path/1')).toMatchObject({
      status: 404,
      detail: "Record type 'bad-path' does not exist.",
    });
    expect(await readError('record/v1/customer/-1')).toEqual({
      status: 404,
      detail: 'The record instance does not exist. Provide a valid record instance ID.',
      'o:errorCode': 'NONEXISTENT_ID',
    });
    expect(await readError('record/v1/invoice/1')).toEqual({
      status: 400,
      detail: 'Error while accessing a resource. Transaction type specified is incorrect.',
      'o:errorCode': 'USER_ERROR',
    });
    expect(await readError(`record/v1/creditMemo/${invoice['id']}`)).toMatchObject({ status: 400 });
    expect(await readError('nothing/here')).toMatchObject({ status: 404 });
    expect(await readError('record/v1/customer/1', 'DELETE')).toMatchObject({ status: 404 });
    expect(await readError('record/v1/customer', 'DELETE')).toMatchObject({ status: 405 });
  });
});

describe('GET a record list', () => {
  it('returns only ids and links, with the wrong `last` link of real accounts', async () => {
    const { status, body } = await caller.get('record/v1/customer/?limit=5');
    expect(status).toBe(200);
    expect(body).toMatchObject({ count: 5, hasMore: true, offset: 0, totalResults: 1199 });
    const [first] = body.items;
    expect(first).toEqual({
      links: [
        {
          rel: 'self',
          href: `${caller.account.url}/services/rest/record/v1/customer/${first?.['id']}`,
          method: 'GET',
        },
      ],
      id: first?.['id'],
    });
    const last = body.links.find((link) => link.rel === 'last');
    expect(new URL(last?.href ?? '').searchParams.get('offset')).toBe('235');
  });

  it('has every record once over all pages', async () => {
    const ids: string[] = [];
    for (let offset = 0; ; offset += 1000) {
      const { body } = await caller.get(`record/v1/invoice?limit=1000&offset=${offset}`);
      ids.push(...body.items.map((item) => item['id'] ?? ''));
      if (!body.hasMore) break;
    }
    expect(new Set(ids).size).toBe(2072);
    expect(ids.length).toBe(2072);
  });
});

describe('system', () => {
  it('serverTime is business time', async () => {
    const startedMs = performance.now();
    await caller.account.setBusinessTime(new Date('2011-09-02T08:00:00Z'));
    const { body } = await caller.get('system/v1/serverTime');
    const sinceMs = Date.parse(body.serverTime) - Date.parse('2011-09-02T08:00:00Z');
    expect(sinceMs).toBeGreaterThanOrEqual(0);
    expect(sinceMs).toBeLessThan(performance.now() - startedMs + 1_000); // it keeps running
  });

  it('governanceLimits', async () => {
    expect(await caller.read('system/v1/governanceLimits')).toEqual({
      accountConcurrencyLimit: 5,
      accountUnallocatedConcurrencyLimit: 5,
      integrationLimitType: 'accountLimit',
    });
  });
});
