import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Answer, pluck, refusal } from '../../setup/api.ts';
import { useOrganization } from '../../setup/use-organization.ts';

const org = useOrganization({ erp: {} });

beforeAll(async () => {
  await org.erp.connect(org.api);
  expect((await org.api('post', '/netsuite/metadata/refresh')).status).toBe(200);
});

/** One row for each customer with open invoices. */
const openBalances = {
  name: 'open_balances',
  label: 'Open balances',
  query: `SELECT t.entity AS customer, SUM(t.foreignamountunpaid) AS amount, COUNT(*) AS invoices, MIN(t.duedate) AS oldest,
    MAX(t.lastmodifieddate) AS changed, MAX(t.tranid) AS latest, MIN(t.voided) AS voided, MAX(t.externalid) AS reference -- of open ones
    FROM transaction t WHERE t.type = 'CustInvc' AND t.foreignamountunpaid > 0 GROUP BY t.entity`,
  keyColumn: 'customer',
};
const post = (change: object = {}) => org.api('post', '/netsuite/queries', { ...openBalances, ...change });
const listQueries = async () => (await org.api('get', '/netsuite/metadata?family=query')).body.data;
const describeType = async (name = openBalances.name) =>
  (await org.api('get', `/netsuite/metadata/${name}`)).body;
const refresh = () => org.api('post', '/netsuite/metadata/refresh');
const audits = () =>
  org.admin('audit_log').where('action', 'like', 'erp-query.%').orderBy('at').pluck<string[]>('action');
const toProblem = ({ status, body }: Answer) => {
  const { path, code, message } = body.error?.details?.[0] ?? {};
  return { status, path, code, message };
};

const expectUnsuitable = async (change: object, path: string, code: string, message: RegExp) => {
  const expected = { status: 422, path, code, message: expect.stringMatching(message) };
  expect(toProblem(await post(change))).toEqual(expected);
};
const manyColumns = Array.from({ length: 500 }, (_, n) => `id c${n}`).join(', ');

beforeEach(async () => {
  for (const { name } of (await org.api('get', '/netsuite/queries')).body.data)
    await org.api('delete', `/netsuite/queries/${name}`);
});

describe('POST /netsuite/queries', () => {
  it('defines a record type with typed fields, which is then among the others', async () => {
    const created = await post();
    const [createdAt, updatedAt] = [expect.any(String), expect.any(String)];
    expect([created.status, created.body]).toEqual([
      201,
      { ...openBalances, modifiedColumn: null, createdAt, updatedAt },
    ]);
    expect((await org.api('get', '/netsuite/queries/open_balances')).body).toEqual(created.body);
    const described = await describeType();
    expect(described).toMatchObject({
      ...{ label: 'Open balances', family: 'query', custom: true },
      reading: { changes: 'full', deletions: 'compared' },
    });
    expect(Object.fromEntries(pluck(described.fields, 'name', 'type'))).toEqual({
      ...{ id: 'integer', amount: 'number', invoices: 'integer', oldest: 'date', changed: 'time' },
      ...{ latest: 'text', voided: 'boolean', reference: 'text' },
    });
    const ofType = (name: string) => described.fields.find((field: { name: string }) => field.name === name);
    expect(ofType('amount').warning).toMatch(/follows from the values/);
    const warning = expect.stringMatching(/is empty in all rows/);
    expect(ofType('reference')).toMatchObject({ syncable: true, warning });
    expect(await listQueries()).toMatchObject([
      { name: 'open_balances', family: 'query', syncable: true, described: true },
    ]);
  });

  it('is audited, and listed by name', async () => {
    const before = (await audits()).length;
    await post();
    await post({ name: 'Balances', label: 'Other' });
    const { data } = (await org.api('get', '/netsuite/queries')).body;
    expect(pluck(data, 'name')).toEqual(['Balances', 'open_balances']);
    expect((await org.api('get', '/netsuite/queries?q=OPEN')).body.pagination.total).toBe(1);
    await org.api('delete', '/netsuite/queries/Balances');
    const made = ['create', 'create', 'delete'].map((end) => `erp-query.${end}`);
    expect((await audits()).slice(before)).toEqual(made);
  });

  it('reads by the modification time that is named', async () => {
    const query = "SELECT id, tranid, lastmodifieddate FROM transaction WHERE type = 'CustInvc'";
    const columns = { keyColumn: 'ID', modifiedColumn: 'LastModifiedDate' };
    expect(await post({ name: 'invoices_by_query', query, ...columns })).toMatchObject({
      ...{ status: 201, body: { keyColumn: 'id', modifiedColumn: 'lastmodifieddate' } },
    });
    expect((await describeType('invoices_by_query')).reading.changes).toBe('modified');
  });

  it.each([
    ['an update', "UPDATE transaction SET memo = 'x'", /one SELECT statement/],
    ['a common table expression', 'WITH a AS (SELECT id FROM item) SELECT id FROM a', /one SELECT statement/],
    ['two statements', 'SELECT id FROM item; SELECT id FROM customer', /without a semicolon/],
    ['nothing but a comment', '-- SELECT id FROM item', /one SELECT statement/],
    ['a comment that is not closed', 'SELECT id FROM item /* all', /A comment is not closed/],
    ['a text that is not closed', "SELECT id FROM item WHERE itemid = 'x", /A text is not closed/],
    [
      'a parenthesis that ends the table',
      'SELECT id FROM item) t WHERE (1 = 1',
      /closing parenthesis has no opening one/,
    ],
    [
      'a parenthesis that stays open',
      'SELECT id FROM (SELECT id FROM item',
      /closing parenthesis is missing/,
    ],
    ['another way to quote', "SELECT id FROM item WHERE itemid <> q'[it's]'", /quoted with ' alone/],
    ['a parameter', 'SELECT id FROM item WHERE id > ?', /must not have parameters/],
    ['all columns of a table', 'SELECT id, i.* FROM item i', /Name each column instead of i \. \*/],
    ['no alias of an expression', 'SELECT id, COUNT(*) OVER () FROM item', /an alias: COUNT \( \* \) OVER/],
    ['501 columns', `SELECT id, ${manyColumns} FROM item`, /at most 500 columns/],
    ['a column that occurs twice', 'SELECT id, parent AS id FROM item', /column id occurs twice/],
    ['row numbers', 'SELECT ROWNUM AS id, itemid FROM item', /ROWNUM numbers the rows of each answer again/],
    ['nothing but the key', 'SELECT id FROM item', /no column besides its key/],
    [
      'an unknown table',
      'SELECT id FROM no_such_table',
      /refuses the query: Invalid search type: no_such_table/,
    ],
    [
      'an unknown column',
      'SELECT id, nosuchcolumn FROM item',
      /NetSuite refuses the query: .*Unknown identifier 'nosuchcolumn'/,
    ],
    ['bad syntax', 'SELECT id FROM item WHERE', /NetSuite refuses the query: Failed to parse SQL/],
  ])('422 for %s', (_name, query, message) =>
    expectUnsuitable({ query, keyColumn: 'id' }, 'query', 'query_unsuitable', message),
  );
  const noInteger = /k has a value that is not an integer of at most 18 digits$/;
  it.each([
    ['is missing', 'SELECT id, itemid FROM item', 'number', /no column number\. It has id, itemid/],
    ['is empty in some rows', 'SELECT entity AS k FROM transaction', 'k', /k is empty in some rows$/],
    [
      'is not unique',
      'SELECT currency AS k FROM customer',
      'k',
      /k is not unique: some rows have the same value$/,
    ],
    ['is a text', 'SELECT itemid AS k FROM item', 'k', /refuses to sort and compare by k as a number/],
    ['is a decimal', 'SELECT id + 0.5 AS k FROM item', 'k', noInteger],
    ['is too long', 'SELECT id * 1000000000000000000 AS k FROM item', 'k', noInteger],
    ['leaves another column id', 'SELECT id, id + 1 AS k FROM item', 'k', /key k becomes the field id/],
  ])('422 for a key column that %s', (_name, query, keyColumn, message) =>
    expectUnsuitable({ query, keyColumn }, 'keyColumn', 'key_column_unsuitable', message),
  );

  it.each([
    ['is missing', 'SELECT id FROM transaction', /no column changed\. It has id/],
    ['is no time', 'SELECT id, tranid AS changed FROM transaction', /changed is not a date with a time/],
    ['is a day', 'SELECT id, trandate AS changed FROM transaction', /changed has no time of day in any row/],
    [
      'is empty in some rows',
      "SELECT id, CASE WHEN type = 'CustInvc' THEN lastmodifieddate END AS changed FROM transaction",
      /changed is empty in some rows$/,
    ],
  ])('422 for a modification time that %s', (_name, query, message) => {
    const change = { query, keyColumn: 'id', modifiedColumn: 'changed' };
    return expectUnsuitable(change, 'modifiedColumn', 'modified_column_unsuitable', message);
  });

  it('422 for a name that is reserved or taken in any case', async () => {
    await post();
    for (const [name, code] of [
      ...['changes', 'summary', 'Changes'].map((name) => [name, 'reserved']),
      ...['invoice', 'Invoice', 'Open_Balances'].map((name) => [name, 'taken']),
    ])
      expect(toProblem(await post({ name }))).toMatchObject({ status: 422, path: 'name', code });
  });

  it('one of two that come at the same time gets the name', async () => {
    const answers = await Promise.all([post(), post({ name: 'OPEN_balances' })]);
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 422]);
  });

  it('lists a column that cannot be selected with the reason', async () => {
    const query = 'SELECT id, itemid AS "Item Name", displayname AS lines, COUNT(*) OVER () AS n FROM item';
    expect((await post({ query, keyColumn: 'id' })).status).toBe(201);
    const [alias, another] = [/an alias of letters, digits and _/, /another alias/];
    expect((await describeType()).fields).toMatchObject([
      { name: 'id', syncable: true },
      { name: 'item name', syncable: false, reason: expect.stringMatching(alias) },
      { name: 'lines', syncable: false, reason: expect.stringMatching(another) },
      { name: 'n', type: 'integer', syncable: true },
    ]);
  });
});

describe('PUT /netsuite/queries/{name}', () => {
  const { name, ...input } = openBalances;
  const put = (body: object) => org.api('put', `/netsuite/queries/${name}`, body);

  it('replaces the query and the fields', async () => {
    await post();
    const from = "FROM transaction WHERE type = 'SalesOrd'";
    const query = `SELECT entity AS customer, COUNT(*) AS orders ${from} GROUP BY entity`;
    expect(await put({ ...input, label: 'Orders', query })).toMatchObject({
      ...{ status: 200, body: { label: 'Orders', query } },
    });
    const { label, fields } = await describeType();
    expect([label, pluck(fields, 'name')]).toEqual(['Orders', ['id', 'orders']]);
  });

  it('404 for an unknown query; 422 for one that NetSuite refuses, which changes nothing', async () => {
    expect((await put(input)).status).toBe(404);
    const { body } = await post();
    const refused = await put({ ...input, query: 'SELECT customer FROM nowhere' });
    expect(toProblem(refused)).toMatchObject({ status: 422, path: 'query' });
    expect((await org.api('get', `/netsuite/queries/${name}`)).body).toEqual(body);
  });

  it('a sync configuration keeps its key and its query: 422 in_use and run_open', async () => {
    await post();
    const { status, body: config } = await org.api('post', '/sync-configs', { name: 'x', recordType: name });
    expect(status).toBe(201);
    const query = "SELECT id, entity AS customer FROM transaction WHERE type = 'CustInvc'";
    expect(toProblem(await put({ ...input, query, keyColumn: 'id' }))).toMatchObject({
      ...{ status: 422, path: 'keyColumn', code: 'in_use' },
    });
    const remove = () => org.api('delete', `/netsuite/queries/${name}`);
    expect(await refusal(remove())).toEqual([422, 'in_use']);
    const run = await org.api('post', `/sync-configs/${config.id}/trigger`, {});
    const setStatus = (status: string) =>
      org.admin('sync_runs').where({ id: run.body.id }).update({ status });
    const without = { ...input, query: input.query.replace('COUNT(*) AS invoices, ', '') };
    expect((await put(without)).status).toBe(200);
    await setStatus('running');
    expect(toProblem(await put(input))).toMatchObject({ status: 422, path: 'query', code: 'run_open' });
    expect((await put({ ...without, label: 'Renamed' })).body.label).toBe('Renamed');
    await setStatus('cancelled');
    expect((await org.api('delete', `/sync-configs/${config.id}`)).status).toBe(204);
    expect((await remove()).status).toBe(204);
    expect((await org.api('get', `/netsuite/metadata/${name}`)).status).toBe(404);
  });
});

it('refreshing the metadata keeps the queries, also after the connection was set up again', async () => {
  await post();
  await refresh();
  const query = { name: 'open_balances' };
  expect(await listQueries()).toMatchObject([{ ...query, syncable: true }]);
  await org.api('delete', '/netsuite/connection');
  await org.erp.connect(org.api);
  await refresh();
  expect(await listQueries()).toMatchObject([{ ...query, syncable: null, described: false }]);
  expect((await describeType()).fields).toHaveLength(8);
  expect(await listQueries()).toMatchObject([{ ...query, syncable: true, described: true }]);
});

/**
 * A query answers questions about any record that the connection may read, and its refusal is an answer as
 * well.
 */
it('permissions: defining a query takes record:read, and no one without it learns a value or a count from a refusal', async () => {
  const { api: admin } = await org.join(['netsuite:read', 'netsuite:update']);
  const { name, ...input } = {
    ...openBalances,
    query: 'SELECT id + 12415.5 AS customer, itemid FROM item',
  };
  const refused = { status: 403, path: '', code: 'record_read_needed' };
  expect(toProblem(await admin('post', '/netsuite/queries', { name, ...input }))).toMatchObject(refused);
  await post();
  expect(toProblem(await admin('put', `/netsuite/queries/${name}`, input))).toMatchObject(refused);
  // As when the account's records have changed since. Everyone with netsuite:read makes the service
  // describe the record type again.
  await org.admin('erp_queries').where({ name }).update({ query: input.query });
  await org.api('delete', '/netsuite/connection');
  await org.erp.connect(org.api);
  await refresh();
  const message =
    'The ERP could not be read: customer has a value that is not an integer of at most 18 digits';
  expect(await admin('get', `/netsuite/metadata/${name}`)).toMatchObject({
    ...{ status: 422, body: { error: { message } } },
  });
});
