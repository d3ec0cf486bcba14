// Custom fields, records and lists of a profile, in queries and in records.
import { describe, expect, it } from 'vitest';
import { PROFILE_FIELDS } from '../../src/profile/custom-fields.ts';
import { PROFILE_TABLES } from '../../src/tables/all-tables.ts';
import { CUSTOM_LISTS, CUSTOM_RECORD_TYPES } from '../../src/tables/custom-records.ts';
import { useControlled } from '../control-client.ts';
import { startCaller, toErrorDetail, useCaller } from '../test-account.ts';

const caller = useCaller({ profile: 'single' });

const count = async (from: string) => Number(await caller.value(`SELECT COUNT(*) AS n FROM ${from}`));
const first = (from: string) => caller.first(`SELECT * FROM ${from} FETCH FIRST 1 ROWS ONLY`);

describe('custom fields', () => {
  it('of every kind belong to bodies, lines, entities and items, and have values', async () => {
    const kinds = new Set(PROFILE_FIELDS.map(({ type }) => type));
    for (const table of [
      'transaction',
      'transactionline',
      'customer',
      'item',
      'vendor',
      'employee',
      'contact',
    ]) {
      const own = PROFILE_FIELDS.filter((field) => field.table === table);
      const queried = own.filter(({ refusal }) => refusal === undefined);
      const row = await caller.first(
        `SELECT ${queried.map(({ name }) => `COUNT(${name}) AS ${name}`).join(', ')} FROM ${table}`,
      );
      for (const { name } of queried) expect(Number(row[name]), `${table}.${name}`).toBeGreaterThan(0);
      for (const { type } of own) kinds.delete(type);
    }
    expect([...kinds]).toEqual([]);
  });

  it('are listed as in real accounts', async () => {
    const rows = await caller.rows(
      'SELECT internalid, scriptid, fieldtype, fieldvaluetype, isstored FROM customfield ORDER BY internalid',
    );
    expect(rows).toHaveLength(PROFILE_FIELDS.length);
    expect(rows.map(({ internalid }) => internalid)).toEqual(
      PROFILE_FIELDS.map((_field, i) => String(i + 1)),
    );
    expect(new Set(rows.map(({ fieldtype }) => fieldtype))).toEqual(
      new Set(['BODY', 'COLUMN', 'ENTITY', 'ITEM', 'RECORD']),
    );
    expect(rows).toContainEqual(
      expect.objectContaining({
        scriptid: 'CUSTENTITY_INTERESTS',
        fieldtype: 'ENTITY',
        fieldvaluetype: 'Multiple Select',
        isstored: 'T',
      }),
    );
    expect(rows).toContainEqual(expect.objectContaining({ scriptid: 'CUSTBODY_MARGIN', isstored: 'F' }));
  });

  it('name the list that they choose from', async () => {
    const rows = await caller.rows(`SELECT c.scriptid, l.scriptid AS list FROM customfield c
      INNER JOIN customlist l ON l.internalid = c.fieldvaluetyperecord WHERE c.fieldvaluetype = 'Multiple Select'`);
    expect(rows).toHaveLength(PROFILE_FIELDS.filter(({ type }) => type === 'multiselect').length);
    expect(rows).toContainEqual(
      expect.objectContaining({ scriptid: 'CUSTENTITY_INTERESTS', list: 'CUSTOMLIST_COLOUR' }),
    );
  });

  it('hold long texts, lists with gaps, and references that lead somewhere', async () => {
    const long = await caller.first('SELECT MAX(LENGTH(custbody_packing_history)) AS n FROM transaction');
    expect(Number(long['n'])).toBeGreaterThan(4_000);
    const channels = await caller.rows(
      'SELECT custbody_channel AS id, BUILTIN.DF(custbody_channel) AS name FROM transaction WHERE custbody_channel IS NOT NULL GROUP BY custbody_channel, BUILTIN.DF(custbody_channel) ORDER BY 1',
    );
    expect(channels.map(({ id, name }) => [id, name])).toEqual(
      (await caller.rows('SELECT id, name FROM customlist_sales_channel ORDER BY id')).map(({ id, name }) => [
        id,
        name,
      ]),
    );
    for (const { table, name, target } of PROFILE_FIELDS.filter(
      ({ type, refusal }) => type === 'reference' && refusal === undefined,
    )) {
      expect(
        await count(
          `${table} r WHERE r.${name} IS NOT NULL AND NOT EXISTS (SELECT 1 FROM ${target} t WHERE t.id = r.${name})`,
        ),
        name,
      ).toBe(0);
      expect(await count(`${table} WHERE ${name} IS NOT NULL AND BUILTIN.DF(${name}) IS NULL`), name).toBe(0);
    }
  });

  it('with several choices have a joined text, a map table and a collection in records', async () => {
    const chosen = await caller.first(
      `SELECT id, custentity_interests AS ids, BUILTIN.DF(custentity_interests) AS names FROM customer WHERE custentity_interests LIKE '%,%,%' AND isinactive = 'F' ORDER BY id FETCH FIRST 1 ROWS ONLY`,
    );
    const ids = (chosen['ids'] ?? '').split(', ');
    const mapped = await caller.rows(
      `SELECT maptwo FROM map_customer_custentity_interests WHERE mapone = ${chosen['id']} ORDER BY maptwo`,
    );
    expect(mapped.map(({ maptwo }) => maptwo)).toEqual(ids);
    const path = `record/v1/customer/${chosen['id']}`;
    const { body } = await caller.get(path);
    const self = {
      rel: 'self',
      href: `${caller.account.url}/services/rest/${path}/custentity_interests`,
      method: 'GET',
    };
    expect(body['custentity_interests']).toEqual({ links: [self] });
    const { items } = await caller.read(`${path}/custentity_interests`);
    expect(items.map(({ id }) => id)).toEqual(ids);
    expect(items.map(({ refName }) => refName).join(', ')).toBe(chosen['names']);
    expect((await caller.read(`${path}?expandSubResources=true`))['custentity_interests']).toMatchObject({
      totalResults: ids.length,
      items,
    });
  });

  it('are refused by queries for the reasons that real accounts give', async () => {
    const refused = (table: string, field: string, reason: string) =>
      `Search error occurred: Field '${field}' for record '${table}' was not found. Reason: ${reason}.`;
    const internal = 'NOT_EXPOSED - Field is marked as internal for channel SEARCH';
    expect(await caller.refusal('SELECT custbody_margin FROM transaction')).toBe(
      refused('transaction', 'custbody_margin', internal),
    );
    expect(await caller.refusal('SELECT t.custbody_fax_status FROM transaction t')).toBe(
      refused('transaction', 'custbody_fax_status', 'REMOVED - Field is removed'),
    );
    for (const column of ['amount', 'line', 'debit', 'credit'])
      expect(await caller.refusal(`SELECT l.${column} FROM transactionline l`)).toBe(
        refused('transactionline', column, internal),
      );
    expect(await caller.refusal('SELECT id FROM transaction WHERE createdfrom = 1')).toBe(
      refused('transaction', 'createdfrom', internal),
    );
    expect(await caller.refusal('SELECT x.custbody_margin FROM transaction t')).toContain(
      "Unknown identifier 'x'",
    );
    const failing = await caller.query('SELECT id, custbody_web_page FROM transaction');
    expect([failing.status, failing.body['o:errorDetails'][0]?.['o:errorCode']]).toEqual([
      500,
      'UNEXPECTED_ERROR',
    ]);
    const shown = await first("transaction WHERE type = 'CustInvc'");
    for (const name of ['custbody_margin', 'custbody_fax_status', 'custbody_web_page', 'createdfrom'])
      expect(shown).not.toHaveProperty(name);
  });
});

describe('custom records and lists', () => {
  it('are tables and record types', async () => {
    expect(CUSTOM_RECORD_TYPES.length).toBeGreaterThanOrEqual(8);
    for (const { name, hasTimes, hasName, hasExternalId } of [
      ...CUSTOM_RECORD_TYPES,
      ...CUSTOM_LISTS.map((list) => ({ ...list, hasName: true })),
    ] as typeof CUSTOM_RECORD_TYPES) {
      const row = await first(`${name} ORDER BY id`);
      const { body } = await caller.get(`record/v1/${name}/${row['id']}`);
      expect(body, name).toMatchObject({
        id: row['id'],
        scriptId: row['scriptid'],
        isInactive: row['isinactive'] === 'T',
      });
      expect([body['name'], 'name' in row], name).toEqual([row['name'], hasName === true]);
      if (name.startsWith('customrecord')) {
        expect('lastmodified' in row, name).toBe(hasTimes === true);
        expect((await count(`${name} WHERE id > 0`)) > 8, name).toBe(true);
        const externalId = hasExternalId
          ? (await first(`${name} WHERE externalid IS NOT NULL`))['externalid']
          : 'none';
        const found = await caller.get(`record/v1/${name}/eid:${externalId}`);
        expect([found.status, found.body['externalId']], name).toEqual(
          hasExternalId ? [200, externalId] : [404, undefined],
        );
      }
      expect((await caller.read(`record/v1/${name}?limit=1000`))['totalResults'], name).toBe(
        await count(name),
      );
    }
    expect(await caller.refusal('SELECT lastmodified FROM customrecord_sync_log')).toContain(
      "Unknown identifier 'lastmodified'",
    );
  });

  it('have hierarchies and references to other records', async () => {
    const child = await caller.first(
      'SELECT s.id, s.parent, BUILTIN.DF(s.parent) AS parentname, p.name FROM customrecord_sales_territory s JOIN customrecord_sales_territory p ON p.id = s.parent ORDER BY s.id FETCH FIRST 1 ROWS ONLY',
    );
    expect(child['parentname']).toBe(child['name']);
    const claim = await first(
      'customrecord_warranty WHERE custrecord_warranty_customer IS NOT NULL ORDER BY id',
    );
    const { body } = await caller.get(`record/v1/customrecord_warranty/${claim['id']}`);
    expect(body['custrecord_warranty_customer']).toMatchObject({
      id: claim['custrecord_warranty_customer'],
      refName: `CUST${claim['custrecord_warranty_customer']}`,
    });
    expect(body['created']).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:00Z$/);
  });

  it('are listed with their definitions', async () => {
    const types = await caller.rows(
      'SELECT scriptid, name, internalid FROM customrecordtype ORDER BY internalid',
    );
    expect(types.map(({ scriptid }) => scriptid?.toLowerCase())).toEqual(
      CUSTOM_RECORD_TYPES.map(({ name }) => name),
    );
    expect(await caller.column("SELECT name FROM customlist WHERE scriptid = 'CUSTOMLIST_COLOUR'")).toEqual([
      'Colour',
    ]);
    expect(await caller.column("SELECT id FROM customlist_colour WHERE isinactive = 'T'")).toEqual(['8']);
  });

  it('are absent from an account without a profile, as are all its other tables', async () => {
    const plain = await startCaller();
    for (const { name } of PROFILE_TABLES)
      expect(await plain.refusal(`SELECT * FROM ${name}`)).toBe(
        `Search error occurred: Record '${name}' was not found.`,
      );
    expect(await plain.refusal('SELECT id FROM customrecord_warranty')).toBe(
      'Invalid search type: customrecord_warranty.',
    );
    expect(toErrorDetail(await plain.get('record/v1/customrecord_warranty'))[1]).toContain(
      "Record type 'customrecord_warranty' does not exist",
    );
    expect(await plain.refusal('SELECT amount FROM transactionline')).toContain(
      "Unknown identifier 'amount'",
    );
    await plain.close();
  });
});

describe('the control interface', () => {
  const world = useControlled({ profile: 'single' });
  const value = async (name: string): Promise<unknown> =>
    await world.first(`SELECT ${name}, BUILTIN.DF(${name}) AS label FROM customer WHERE id = 1`);

  it.each([
    ['longtext', {}, 'x'.repeat(6_000), 'x'.repeat(6_000), 'string'],
    ['Email Address', {}, 'a@example.com', 'a@example.com', 'string'],
    ['url', {}, 'https://example.com/', 'https://example.com/', 'string'],
    ['phone', {}, '+44 20', '+44 20', 'string'],
    ['multiselect', { values: ['One, two', 'Three'] }, '1, 2', 'One, two, Three', 'object'],
    ['reference', { target: 'item' }, 10, 'ABC', undefined],
  ])('adds fields of the type %s', async (type, more, given, label, jsonType) => {
    const field = { table: 'customer', name: 'custentity_new', label: 'New', type, ...more };
    await world.done('POST', '/fields', field);
    await world.edit('customer/1', { custentity_new: given });
    expect(await value('custentity_new')).toMatchObject({ custentity_new: String(given), label });
    expect((await world.readProperties('customer'))['custentity_new'].type).toBe(jsonType);
    if (type === 'multiselect')
      expect(await world.rows('SELECT mapone, maptwo FROM map_customer_custentity_new')).toHaveLength(2);
    await world.done('DELETE', '/fields/customer/custentity_new');
    expect(await world.refusal('SELECT mapone FROM map_customer_custentity_new')).toContain(
      'Invalid search type',
    );
  });

  it('renames the entries of a custom list for every field that chooses from it', async () => {
    const values = [
      { id: '1', name: 'Scarlet' },
      { id: '8', name: 'Red' },
    ];
    await world.edit('customer/2', { custentity_interests: '8, 1' });
    await world.edit('item/10', { custitem_colours: '1' });
    await world.done('PATCH', '/fields/customer/custentity_interests', { values });
    expect(
      await world.column('SELECT BUILTIN.DF(custentity_interests) AS n FROM customer WHERE id = 2'),
    ).toEqual(['Red, Scarlet']);
    expect(await world.column('SELECT BUILTIN.DF(custitem_colours) AS n FROM item WHERE id = 10')).toEqual([
      'Scarlet',
    ]);
    expect(await world.column('SELECT name FROM customlist_colour WHERE id = 1')).toEqual(['Scarlet']);
    await world.done('POST', '/reset');
  });

  it('adds fields that queries refuse, and fields that only they have', async () => {
    const field = { table: 'item', type: 'text', label: 'Label' };
    await world.done('POST', '/fields', { ...field, name: 'custitem_a', refusal: 'removed' });
    await world.done('POST', '/fields', { ...field, name: 'custitem_b', isOnlyInQueries: true });
    await world.edit('item/10', { custitem_a: 'a', custitem_b: 'b' });
    expect(await world.refusal('SELECT custitem_a FROM item')).toContain('REMOVED - Field is removed');
    expect(await world.value('SELECT custitem_b FROM item WHERE id = 10')).toBe('b');
    const { body } = await world.get('record/v1/inventoryItem/10');
    expect([body['custitem_a'], body['custitem_b']]).toEqual(['a', undefined]);
  });

  it('edits, removes and creates custom records, and adds fields to them', async () => {
    const table = 'customrecord_sales_territory';
    await world.done('POST', '/fields', { table, name: 'custrecord_size', type: 'integer', label: 'Size' });
    await world.done('PATCH', `/records/${table}/2`, { fields: { custrecord_size: 5, name: 'Isles' } });
    expect(await world.read(`record/v1/${table}/2`)).toMatchObject({
      name: 'Isles',
      custrecord_size: 5,
    });
    const { id } = await world.done('POST', `/records/${table}`, { like: '2' });
    expect(await world.read(`record/v1/${table}/${id}`)).toMatchObject({
      name: `Isles-${id}`,
      custrecord_size: 5,
    });
    await world.done('DELETE', `/records/${table}/2`);
    expect(
      await world.rows('SELECT recordid, scriptid, name, iscustomrecord, recordtypeid FROM deletedrecord'),
    ).toEqual([{ recordid: '2', scriptid: table, name: 'Isles', iscustomrecord: 'T', recordtypeid: '505' }]);
    await world.done('POST', `/records/${table}/2/restore`);
    expect((await world.get(`record/v1/${table}/2`)).status).toBe(200);
  });

  it('hides what was chosen in a record along with the record', async () => {
    const rows = () => world.rows('SELECT mapone FROM map_customer_custentity_interests WHERE mapone = 2');
    await world.edit('customer/2', { custentity_interests: '1' });
    expect(await rows()).toHaveLength(1);
    await world.done('PUT', '/hidden', { rows: { customer: ['2'] } });
    expect(await rows()).toEqual([]);
    await world.done('POST', '/reset');
  });

  it('refuses custom records without permission', async () => {
    await world.done('POST', '/role', { permissions: { customRecords: false, customers: false } });
    expect(await world.refusal('SELECT id FROM customrecord_complaint')).toContain(
      "Record 'customrecord_complaint' was not found",
    );
    expect(await world.refusal('SELECT mapone FROM map_customer_custentity_interests')).toContain(
      'was not found',
    );
    expect((await world.get('record/v1/customrecord_complaint')).status).toBe(403);
    await world.done('POST', '/reset');
  });

  it('422 for fields that don’t go together', async () => {
    const field = { table: 'customer', name: 'custentity_z', label: 'Z' };
    for (const [body, path] of [
      [{ ...field, type: 'reference' }, 'target'],
      [{ ...field, type: 'reference', target: 'currency' }, 'target'],
      [{ ...field, type: 'text', target: 'item' }, 'target'],
      [{ ...field, type: 'multiselect' }, 'values'],
      [{ ...field, type: 'text', refusal: 'moody' }, 'refusal'],
      [{ ...field, table: 'customrecord_nothing', type: 'text' }, 'table'],
    ] as const) {
      expect(await world.refuse('POST', '/fields', body)).toEqual([422, path]);
    }
  });
});
