// Custom fields, sign-in, role, clock, load, reset and state.
import { afterEach, describe, expect, it } from 'vitest';
import { createControlClient, startControlled, useControlled } from './control-client.ts';
import { createIdentity, requestToken, signAssertion, signIn, startOn } from './test-account.ts';

const world = useControlled();
afterEach(() => world.done('POST', '/reset'));

const addField = (table: string, name: string) =>
  world.done('POST', '/fields', { table, name, type: 'text', label: 'Label' });

describe('custom fields', () => {
  it('come: in the catalog, in queries, in records and in the list of custom fields', async () => {
    const region = { table: 'transaction', name: 'custbody_region', label: 'Region' };
    const values = ['North', "O'South"];
    expect(await world.control('POST', '/fields', { ...region, type: 'list', values })).toMatchObject({
      status: 201,
      body: { values: values.map((name, i) => ({ id: String(i + 1), name })) },
    });
    expect((await world.readProperties('invoice'))['custbody_region']).toMatchObject({
      title: 'Region',
      type: 'object',
      'x-ns-custom-field': true,
      properties: { id: { enum: ['1', '2'] } },
    });
    expect((await world.readProperties('creditMemo'))['custbody_region']).toBeDefined();
    expect(await world.rows('SELECT scriptid, name, fieldvaluetype FROM customfield')).toEqual([
      { scriptid: 'custbody_region', name: 'Region', fieldvaluetype: 'List/Record' },
    ]);
    expect(await world.rows('SELECT id, custbody_region FROM transaction WHERE id = 101')).toEqual([
      { id: '101' },
    ]);
    for (const value of ["O'South", 2, '2']) await world.edit('transaction/101', { custbody_region: value });
    expect(
      await world.rows(
        'SELECT custbody_region, BUILTIN.DF(custbody_region) AS label FROM transaction WHERE custbody_region = 2',
      ),
    ).toEqual([{ custbody_region: '2', label: "O'South" }]);
    expect((await world.read('record/v1/invoice/101'))['custbody_region']).toEqual({
      links: [],
      id: '2',
      refName: "O'South",
    });
    const east = { fields: { custbody_region: 'East' }, touch: 'none' };
    expect((await world.control('PATCH', '/records/transaction/101', east)).status).toBe(422);
    expect((await world.control('POST', '/fields', { ...region, type: 'text' })).status).toBe(422);
  });

  it.each([
    ['text', 'a', 'a', 'a', 'string'],
    ['integer', 7, '7', 7, 'integer'],
    ['Decimal Number', '1.50', '1.5', 1.5, 'number'],
    ['boolean', true, 'T', true, 'boolean'],
    ['date', '2011-07-09', '7/9/2011', '2011-07-09', 'string'],
    ['datetime', '2011-07-09T10:00:00Z', '7/9/2011', '2011-07-09T10:00:00Z', 'string'],
  ])('of the type %s hold such values', async (type, given, inQuery, inRecord, jsonType) => {
    await world.done('POST', '/fields', { table: 'customer', name: 'custentity_x', type, label: 'X' });
    await world.edit('customer/1', { custentity_x: given });
    expect(await world.value('SELECT custentity_x FROM customer WHERE id = 1')).toBe(inQuery);
    expect((await world.read('record/v1/customer/1'))['custentity_x']).toBe(inRecord);
    expect((await world.readProperties('customer'))['custentity_x']).toMatchObject({
      type: jsonType,
      'x-ns-custom-field': true,
    });
    await world.done('DELETE', '/fields/customer/custentity_x');
  });

  it('change their type and label; values that no longer fit are empty until they fit again', async () => {
    await addField('item', 'custitem_size');
    await world.edit('item/10', { custitem_size: 'large' });
    const value = async () => await world.value('SELECT custitem_size FROM item WHERE id = 10');
    expect(await value()).toBe('large');
    expect(
      await world.done('PATCH', '/fields/item/custitem_size', { type: 'number', label: 'Size in cm' }),
    ).toMatchObject({ type: 'number', label: 'Size in cm' });
    expect([await value(), (await world.readProperties('inventoryItem'))['custitem_size']]).toEqual([
      undefined,
      expect.objectContaining({ type: 'number', title: 'Size in cm' }),
    ]);
    await world.edit('item/10', { custitem_size: '12.5' });
    await world.done('PATCH', '/fields/item/custitem_size', { type: 'text' });
    expect(await value()).toBe('12.5');
    await world.edit('item/10', { custitem_size: 3 });
    expect(await world.done('PATCH', '/fields/item/custitem_size', { type: 'list' })).toMatchObject({
      values: [{ id: '3', name: '3' }],
    });
  });

  it('of lines are in the lines', async () => {
    await addField('transactionline', 'custcol_note');
    await world.done('PATCH', '/records/transaction/102', {
      lines: [{ line: 3, fields: { custcol_note: 'n' } }],
      touch: 'none',
    });
    expect(
      await world.rows(
        'SELECT uniquekey, custcol_note FROM transactionline WHERE transaction = 102 AND custcol_note IS NOT NULL',
      ),
    ).toEqual([{ uniquekey: '1006', custcol_note: 'n' }]);
    const lines = (await world.read('record/v1/invoice/102/item')).items;
    expect(lines.map((line) => line['custcol_note'])).toEqual([undefined, undefined, 'n']);
    expect((await world.readProperties('invoice'))['item'].properties.items.items.properties).toHaveProperty(
      'custcol_note',
    );
  });

  it('can be hidden and be met by faults like any column', async () => {
    await world.done('PUT', '/hidden', { columns: { transaction: ['custbody_region'] } });
    expect(await world.refusal('SELECT custbody_region FROM transaction')).toContain(
      "Unknown identifier 'custbody_region'",
    );
    expect((await world.readProperties('invoice'))['custbody_region']).toBeUndefined();
    await world.done('POST', '/reset');
    await world.done('PUT', '/faults', [{ on: { table: 'transaction' }, nullColumn: 'custbody_region' }]);
    expect(await world.rows('SELECT id, custbody_region FROM transaction WHERE id = 101')).toEqual([
      { id: '101' },
    ]);
  });

  it('go, with their values', async () => {
    expect(await world.done('DELETE', '/fields/transaction/custbody_region')).toMatchObject({
      name: 'custbody_region',
    });
    expect(await world.refusal('SELECT custbody_region FROM transaction')).toContain(
      "Unknown identifier 'custbody_region'",
    );
    expect((await world.readProperties('invoice'))['custbody_region']).toBeUndefined();
    await addField('transaction', 'custbody_region');
    expect(await world.rows('SELECT id, custbody_region FROM transaction WHERE id = 101')).toEqual([
      { id: '101' },
    ]);
  });

  it('and edits stay when the account starts again', async () => {
    const again = await startControlled();
    await again.done('POST', '/fields', { table: 'item', name: 'custitem_a', type: 'text', label: 'A' });
    await again.edit('item/10', { custitem_a: 'kept' });
    await again.done('DELETE', '/records/customer/1');
    await again.account.stop();
    const account = await startOn(again.database, { dataFolder: again.folder, control: {} });
    const next = createControlClient({ account });
    expect(next.token).not.toBe(again.token);
    expect(await next.done('GET', '/records/item/10')).toMatchObject({ fields: { custitem_a: 'kept' } });
    await next.done('POST', '/records/customer/1/restore');
    await account.stop();
    await again.close();
  });
});

describe('sign-in and role', () => {
  it('revoking certificates ends sign-in and the tokens that were issued', async () => {
    const other = await startControlled();
    const identity = await createIdentity(other.account);
    const held = await signIn(other.account, identity);
    expect(await other.done('POST', '/certificate/revoke')).toEqual({ revoked: 2 });
    const refused = await fetch(`${other.account.url}/services/rest/system/v1/serverTime`, {
      headers: { authorization: `Bearer ${held}` },
    });
    expect(refused.status).toBe(401);
    const answer = await requestToken(other.account, {
      client_assertion: signAssertion(other.account, identity),
    });
    expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    expect((await other.done('GET', '/state')).certificates).toEqual({ active: 0 });
    expect(await signIn(other.account)).toBeTruthy();
    await other.close();
  });

  const statuses = async () => [
    (await world.query('SELECT id FROM customer ORDER BY id')).status,
    (await world.get('record/v1/customer/1')).status,
    (await world.get('record/v1/metadata-catalog')).status,
    (await world.query('SELECT recordid FROM deletedrecord ORDER BY recordid')).status,
    await world.status('PATCH', 'record/v1/customer/1', { comments: 'x' }),
    (
      await requestToken(world.account, {
        client_assertion: signAssertion(world.account, await createIdentity(world.account)),
      })
    ).status,
  ];
  it.each([
    [{ restWebServices: false }, [403, 403, 403, 403, 403, 200]],
    [{ 'SuiteAnalytics Workbook': 'none' }, [403, 200, 200, 403, 204, 200]],
    [{ recordsCatalog: false }, [200, 200, 403, 200, 204, 200]],
    [{ 'Deleted Records': false }, [200, 200, 200, 400, 204, 200]],
    [{ customers: 'view' }, [200, 200, 200, 200, 403, 200]],
    [{ customer: 'none' }, [400, 403, 200, 200, 403, 200]],
    [{ logIn: false }, [401, 401, 401, 401, 401, 400]],
    [
      ['REST Web Services', 'logIn'],
      [403, 403, 403, 403, 403, 200],
    ],
    [null, [200, 200, 200, 200, 204, 200]],
  ])('permissions %j', async (permissions, expected) => {
    await world.done('POST', '/role', { permissions });
    expect(await statuses()).toEqual(expected);
  });

  it('a table without permission stays in the catalog, as on real accounts', async () => {
    await world.done('POST', '/role', { permissions: { customers: false } });
    expect(await world.refusal('SELECT id FROM customer')).toContain("Record 'customer' was not found");
    expect((await world.readProperties('customer'))['entityId']).toBeDefined();
  });
});

describe('the clock', () => {
  const serverTime = async () => Date.parse((await world.read('system/v1/serverTime')).serverTime);

  it('steps back and forth, goes on from there, and reset takes it back', async () => {
    const before = await serverTime();
    await world.done('POST', '/clock', { stepSeconds: -3600 });
    expect(Math.abs((await serverTime()) - (before - 3_600_000))).toBeLessThan(20_000);
    await world.done('POST', '/clock', { stepSeconds: -3600 });
    const { clock } = await world.done('GET', '/state');
    expect([clock.skewSeconds, Date.parse(clock.now) < before - 7_100_000]).toEqual([-7200, true]);
    await world.done('POST', '/reset');
    expect(Math.abs((await serverTime()) - before)).toBeLessThan(20_000);
  });

  it('is set; edits and queries follow it, sign-in doesn’t', async () => {
    await world.done('POST', '/clock', { at: '2030-05-06T07:08:09Z' });
    expect((await world.read('system/v1/serverTime')).serverTime).toMatch(/^2030-05-06T07:08/);
    expect(await world.value("SELECT TO_CHAR(SYSDATE, 'YYYY') AS y FROM dual")).toBe('2030');
    await world.send('PATCH', 'record/v1/customer/1', { comments: 'late' });
    expect((await world.done('GET', '/records/customer/1')).fields.lastmodifieddate).toMatch(/^2030-05-06/);
    expect(await signIn(world.account)).toBeTruthy();
  });

  it('the time zone changes what TO_CHAR and TO_DATE mean', async () => {
    const q = "SELECT TO_CHAR(lastmodifieddate, 'YYYY-MM-DD HH24:MI') AS at FROM transaction WHERE id = 107";
    expect(await world.value(q)).toBe('2011-07-01 10:00');
    await world.done('POST', '/clock', { timeZone: 'America/Los_Angeles' });
    expect(await world.value(q)).toBe('2011-07-01 02:00');
    await world.done('POST', '/reset');
    expect(await world.value(q)).toBe('2011-07-01 10:00');
  });
});

describe('load, requests and reset', () => {
  it('requests are counted by kind since the last reset, and the last ones listed', async () => {
    await world.query('SELECT id FROM customer ORDER BY id');
    await world.query('SELECT COUNT(*) FROM customer');
    await world.query('SELECT nothing FROM customer');
    await world.get('record/v1/customer/1');
    await world.get('record/v1/metadata-catalog/customer');
    await world.get('system/v1/serverTime');
    await signIn(world.account);
    const { requests, recent } = await world.done('GET', '/state');
    expect(requests).toEqual({ rows: 2, count: 1, metadata: 1, token: 1, record: 1, other: 1 });
    expect(recent[0]).toMatchObject({ kind: 'token', method: 'POST', status: 200, faults: [] });
    expect(recent.map(({ status }: { status: number }) => status)).toEqual([
      200, 200, 200, 200, 400, 200, 200,
    ]);
    await world.done('POST', '/reset');
    expect((await world.done('GET', '/state')).requests).toEqual({
      rows: 0,
      count: 0,
      metadata: 0,
      token: 0,
      record: 0,
      other: 0,
    });
  });

  it('reset takes everything back that was put, and no edit', async () => {
    await world.done('PUT', '/hidden', { tables: ['item'] });
    await world.done('PUT', '/faults', [{ on: {}, status: 500 }]);
    await world.done('POST', '/role', { permissions: [] });
    await world.done('POST', '/load', { concurrency: 9 });
    await world.edit('customer/2', { comments: 'kept' });
    const state = await world.done('POST', '/reset');
    expect(state).toMatchObject({
      hidden: { tables: [], columns: {}, rows: {} },
      faults: [],
      clock: { skewSeconds: 0, timeZone: 'Europe/London' },
      load: { concurrency: 0 },
    });
    expect(new Set(Object.values(state.role.permissions))).toEqual(new Set(['full']));
    expect(await world.value('SELECT comments FROM customer WHERE id = 2')).toBe('kept');
  });

  it('GET /tables has every table with its columns', async () => {
    const { tables } = await world.done('GET', '/tables');
    const customer = tables.find(({ name }: { name: string }) => name === 'customer');
    expect(customer).toMatchObject({ isReadable: true, isEditable: true });
    expect(customer.columns).toContainEqual({ name: 'balancesearch', kind: 'decimal', isStored: false });
  });
});
