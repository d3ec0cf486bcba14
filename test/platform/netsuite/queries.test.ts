import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Answer, createApi, pluck } from '../../setup/api.ts';
import { makeKey, makeMember } from '../../setup/organization.ts';
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
const post = (body: object) => org.api('post', '/netsuite/queries', body);
const audits = () =>
  org.sql((tx) =>
    tx('audit_log').where('action', 'like', 'erp-query.%').orderBy('at').pluck<string[]>('action'),
  );
const toProblem = ({ status, body }: Answer) => {
  const { path, code, message } = body.error?.details?.[0] ?? {};
  return { status, path, code, message };
};

beforeEach(async () => {
  for (const { name } of (await org.api('get', '/netsuite/queries')).body.data)
    await org.api('delete', `/netsuite/queries/${name}`);
});

describe('POST /netsuite/queries', () => {
  it('defines a record type with typed fields, which is then among the others', async () => {
    const created = await post(openBalances);
    expect([created.status, created.body]).toEqual([
      201,
      { ...openBalances, modifiedColumn: null, createdAt: expect.any(String), updatedAt: expect.any(String) },
    ]);
    expect((await org.api('get', '/netsuite/queries/open_balances')).body).toEqual(created.body);
    const described = (await org.api('get', '/netsuite/metadata/open_balances')).body;
    expect(described).toMatchObject({
      label: 'Open balances',
      family: 'query',
      custom: true,
      reading: { changes: 'full', deletions: 'compared' },
    });
    expect(Object.fromEntries(pluck(described.fields, 'name', 'type'))).toEqual({
      id: 'integer',
      amount: 'number',
      invoices: 'integer',
      oldest: 'date',
      changed: 'time',
      latest: 'text',
      voided: 'boolean',
      reference: 'text',
    });
    const ofType = (name: string) => described.fields.find((field: { name: string }) => field.name === name);
    expect(ofType('amount').warning).toMatch(/follows from the values/);
    expect(ofType('reference')).toMatchObject({
      syncable: true,
      warning: expect.stringMatching(/is empty in all rows/),
    });
    const listed = (await org.api('get', '/netsuite/metadata?family=query')).body;
    expect(listed.data).toMatchObject([
      { name: 'open_balances', family: 'query', syncable: true, described: true },
    ]);
  });

  it('is audited, and listed by name', async () => {
    const before = (await audits()).length;
    await post(openBalances);
    await post({ ...openBalances, name: 'Balances', label: 'Other' });
    expect(pluck((await org.api('get', '/netsuite/queries')).body.data, 'name')).toEqual([
      'Balances',
      'open_balances',
    ]);
    expect((await org.api('get', '/netsuite/queries?q=OPEN')).body.pagination.total).toBe(1);
    await org.api('delete', '/netsuite/queries/Balances');
    expect((await audits()).slice(before)).toEqual([
      'erp-query.create',
      'erp-query.create',
      'erp-query.delete',
    ]);
  });

  it('reads by the modification time that is named', async () => {
    const query = "SELECT id, tranid, lastmodifieddate FROM transaction WHERE type = 'CustInvc'";
    expect(
      await post({
        ...openBalances,
        name: 'invoices_by_query',
        query,
        keyColumn: 'ID',
        modifiedColumn: 'LastModifiedDate',
      }),
    ).toMatchObject({ status: 201, body: { keyColumn: 'id', modifiedColumn: 'lastmodifieddate' } });
    expect((await org.api('get', '/netsuite/metadata/invoices_by_query')).body.reading.changes).toBe(
      'modified',
    );
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
    [
      'an expression without an alias',
      'SELECT id, COUNT(*) OVER () FROM item',
      /Give the column an alias: COUNT \( \* \) OVER/,
    ],
    [
      '501 columns',
      `SELECT id, ${Array.from({ length: 500 }, (_, n) => `id c${n}`).join(', ')} FROM item`,
      /at most 500 columns/,
    ],
    ['a column that occurs twice', 'SELECT id, parent AS id FROM item', /column id occurs twice/],
    ['row numbers', 'SELECT ROWNUM AS id, itemid FROM item', /ROWNUM numbers the rows of each answer again/],
    ['nothing but the key', 'SELECT id FROM item', /no column besides its key/],
    [
      'an unknown table',
      'SELECT id FROM no_such_table',
      /NetSuite refuses the query: Invalid search type: no_such_table/,
    ],
    [
      'an unknown column',
      'SELECT id, nosuchcolumn FROM item',
      /NetSuite refuses the query: .*Unknown identifier 'nosuchcolumn'/,
    ],
    ['bad syntax', 'SELECT id FROM item WHERE', /NetSuite refuses the query: Failed to parse SQL/],
  ])('422 for %s', async (_name, query, message) => {
    const answer = toProblem(await post({ ...openBalances, query, keyColumn: 'id' }));
    expect(answer).toEqual({
      status: 422,
      path: 'query',
      code: 'query_unsuitable',
      message: expect.stringMatching(message),
    });
  });

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
    [
      'is a decimal',
      'SELECT id + 0.5 AS k FROM item',
      'k',
      /k has a value that is not an integer of at most 18 digits$/,
    ],
    [
      'is too long',
      'SELECT id * 1000000000000000000 AS k FROM item',
      'k',
      /k has a value that is not an integer of at most 18 digits$/,
    ],
    ['leaves another column id', 'SELECT id, id + 1 AS k FROM item', 'k', /key k becomes the field id/],
  ])('422 for a key column that %s', async (_name, query, keyColumn, message) => {
    const answer = toProblem(await post({ ...openBalances, query, keyColumn }));
    expect(answer).toEqual({
      status: 422,
      path: 'keyColumn',
      code: 'key_column_unsuitable',
      message: expect.stringMatching(message),
    });
  });

  it.each([
    ['is missing', 'SELECT id FROM transaction', /no column changed\. It has id/],
    ['is no time', 'SELECT id, tranid AS changed FROM transaction', /changed is not a date with a time/],
    ['is a day', 'SELECT id, trandate AS changed FROM transaction', /changed has no time of day in any row/],
    [
      'is empty in some rows',
      "SELECT id, CASE WHEN type = 'CustInvc' THEN lastmodifieddate END AS changed FROM transaction",
      /changed is empty in some rows$/,
    ],
  ])('422 for a modification time that %s', async (_name, query, message) => {
    const answer = toProblem(
      await post({ ...openBalances, query, keyColumn: 'id', modifiedColumn: 'changed' }),
    );
    expect(answer).toEqual({
      status: 422,
      path: 'modifiedColumn',
      code: 'modified_column_unsuitable',
      message: expect.stringMatching(message),
    });
  });

  it('422 for a name that is reserved or taken in any case', async () => {
    await post(openBalances);
    const tryName = async (name: string) => {
      const { path, code } = toProblem(await post({ ...openBalances, name }));
      return [path, code];
    };
    for (const name of ['changes', 'summary', 'Changes'])
      expect(await tryName(name)).toEqual(['name', 'reserved']);
    for (const name of ['invoice', 'Invoice', 'Open_Balances'])
      expect(await tryName(name)).toEqual(['name', 'taken']);
  });

  it('one of two that come at the same time gets the name', async () => {
    const answers = await Promise.all([post(openBalances), post({ ...openBalances, name: 'OPEN_balances' })]);
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 422]);
  });

  it('lists a column that cannot be selected with the reason', async () => {
    const query = 'SELECT id, itemid AS "Item Name", displayname AS lines, COUNT(*) OVER () AS n FROM item';
    expect((await post({ ...openBalances, query, keyColumn: 'id' })).status).toBe(201);
    const { fields } = (await org.api('get', '/netsuite/metadata/open_balances')).body;
    expect(fields).toMatchObject([
      { name: 'id', syncable: true },
      {
        name: 'item name',
        syncable: false,
        reason: expect.stringMatching(/an alias of letters, digits and _/),
      },
      { name: 'lines', syncable: false, reason: expect.stringMatching(/another alias/) },
      { name: 'n', type: 'integer', syncable: true },
    ]);
  });
});

describe('PUT /netsuite/queries/{name}', () => {
  const { name, ...input } = openBalances;
  const put = (body: object) => org.api('put', `/netsuite/queries/${name}`, body);

  it('replaces the query and the fields', async () => {
    await post(openBalances);
    const query =
      "SELECT entity AS customer, COUNT(*) AS orders FROM transaction WHERE type = 'SalesOrd' GROUP BY entity";
    const answer = await put({ ...input, label: 'Orders', query });
    expect([answer.status, answer.body.label, answer.body.query]).toEqual([200, 'Orders', query]);
    const { label, fields } = (await org.api('get', `/netsuite/metadata/${name}`)).body;
    expect([label, pluck(fields, 'name')]).toEqual(['Orders', ['id', 'orders']]);
  });

  it('404 for an unknown query; 422 for one that NetSuite refuses, which changes nothing', async () => {
    expect((await put(input)).status).toBe(404);
    const { body } = await post(openBalances);
    expect(toProblem(await put({ ...input, query: 'SELECT customer FROM nowhere' }))).toMatchObject({
      status: 422,
      path: 'query',
    });
    expect((await org.api('get', `/netsuite/queries/${name}`)).body).toEqual(body);
  });

  it('a sync configuration keeps its key and its query: 422 in_use and run_open', async () => {
    await post(openBalances);
    const config = await org.api('post', '/sync-configs', { name: 'Balances', recordType: name });
    expect(config.status).toBe(201);
    const byInvoice = {
      ...input,
      query: "SELECT id, entity AS customer FROM transaction WHERE type = 'CustInvc'",
      keyColumn: 'id',
    };
    expect(toProblem(await put(byInvoice))).toMatchObject({ status: 422, path: 'keyColumn', code: 'in_use' });
    expect(toProblem(await org.api('delete', `/netsuite/queries/${name}`))).toMatchObject({
      status: 422,
      code: 'in_use',
    });
    const run = await org.api('post', `/sync-configs/${config.body.id}/trigger`, {});
    const without = { ...input, query: input.query.replace('COUNT(*) AS invoices, ', '') };
    expect((await put(without)).status).toBe(200);
    await org.sql((tx) => tx('sync_runs').where({ id: run.body.id }).update({ status: 'running' }));
    expect(toProblem(await put(input))).toMatchObject({ status: 422, path: 'query', code: 'run_open' });
    expect((await put({ ...without, label: 'Renamed' })).body.label).toBe('Renamed');
    await org.sql((tx) => tx('sync_runs').where({ id: run.body.id }).update({ status: 'cancelled' }));
    expect((await org.api('delete', `/sync-configs/${config.body.id}`)).status).toBe(204);
    expect((await org.api('delete', `/netsuite/queries/${name}`)).status).toBe(204);
    expect((await org.api('get', `/netsuite/metadata/${name}`)).status).toBe(404);
  });
});

it('refreshing the metadata keeps the queries, also after the connection was set up again', async () => {
  await post(openBalances);
  await org.api('post', '/netsuite/metadata/refresh');
  const queries = async () => (await org.api('get', '/netsuite/metadata?family=query')).body.data;
  expect(await queries()).toMatchObject([{ name: 'open_balances', syncable: true }]);
  await org.api('delete', '/netsuite/connection');
  await org.erp.connect(org.api);
  await org.api('post', '/netsuite/metadata/refresh');
  expect(await queries()).toMatchObject([{ name: 'open_balances', syncable: null, described: false }]);
  expect((await org.api('get', '/netsuite/metadata/open_balances')).body.fields).toHaveLength(8);
  expect(await queries()).toMatchObject([{ name: 'open_balances', syncable: true, described: true }]);
});

/**
 * A query answers questions about any record that the connection may read, and its refusal is an answer as
 * well.
 */
it('permissions: defining a query takes record:read, and no one without it learns a value or a count from a refusal', async () => {
  const { id: createdBy } = await makeMember(org.ctx, org.id, ['netsuite:read', 'netsuite:update']);
  const admin = createApi(
    org.app,
    (await makeKey(org.ctx, org.id, { permissions: ['write'], createdBy })).secret,
  );
  const { name, ...input } = {
    ...openBalances,
    query: 'SELECT id + 12415.5 AS customer, itemid FROM item',
  };
  const refused = { status: 403, path: '', code: 'record_read_needed' };
  expect(toProblem(await admin('post', '/netsuite/queries', { name, ...input }))).toMatchObject(refused);
  await post(openBalances);
  expect(toProblem(await admin('put', `/netsuite/queries/${name}`, input))).toMatchObject(refused);
  // As when the account's records have changed since. Everyone with netsuite:read makes the service
  // describe the record type again.
  await org.sql((tx) => tx('erp_queries').where({ name }).update({ query: input.query }));
  await org.api('delete', '/netsuite/connection');
  await org.erp.connect(org.api);
  await org.api('post', '/netsuite/metadata/refresh');
  const { status, body } = await admin('get', `/netsuite/metadata/${name}`);
  expect([status, body.error.message]).toEqual([
    422,
    'The ERP could not be read: customer has a value that is not an integer of at most 18 digits',
  ]);
});
