// Record types that a customer's query defines, on a simulated account with a whole company. What they must
// have is read from the account's own database.
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { journalLines } from '../../../demo/journal-lines.ts';
import type { RecordTypeMetadata } from '../../../src/connectors/connector.ts';
import type { QuerySource } from '../../../src/connectors/discovery.ts';
import { profile } from '../../setup/account-profile.ts';
import { listIds, useAccount } from './simulated-account.ts';
import { expectErpError, signal } from './wire.ts';

const company = useAccount({ profile: profile ?? 'single' });

const describeQuery = async (
  query: string,
  given: Partial<QuerySource> = {},
  last?: RecordTypeMetadata,
): Promise<RecordTypeMetadata> => {
  const source = { name: 'rows', label: 'Rows', query, keyColumn: 'id', modifiedColumn: null, ...given };
  const described = await company.connector.describeQuery?.(source, signal, last);
  if (described === undefined) throw new Error('there is no query language');
  return described;
};
const toTypes = ({ fields }: RecordTypeMetadata) =>
  Object.fromEntries(fields.map(({ name, type }) => [name, type]));
const warned = ({ fields }: RecordTypeMetadata) =>
  fields.filter(({ warning }) => warning !== undefined).map(({ name }) => name);

const bills = `SELECT t.id, t.tranid, t.trandate, t.lastmodifieddate, t.voided, t.entity, e.altname AS vendor, t.exchangerate, t.foreigntotal AS total,
  TO_CHAR(t.trandate, 'YYYY-MM-DD') AS day, TO_CHAR(t.id) AS id_text, LPAD(TO_CHAR(t.entity), 12, '0') AS padded, t.id * 1000000000000 AS large,
  CASE WHEN t.id = (SELECT MAX(id) FROM transaction WHERE recordtype = 'vendorbill') THEN 1.5 END AS sparse,
  CASE WHEN t.id = (SELECT MIN(id) FROM transaction WHERE recordtype = 'vendorbill') THEN t.createddate END AS rare, NULL AS nothing
  FROM transaction t JOIN entity e ON e.id = t.entity WHERE t.recordtype = 'vendorbill'`;

describe('describeQuery', () => {
  it('finds types over all rows, also of columns that hardly any row has', async () => {
    const before = company.requests();
    const described = await describeQuery(bills, { modifiedColumn: 'lastmodifieddate' });
    expect(company.requests() - before).toBeLessThan(40);
    expect(toTypes(described)).toEqual({
      id: 'integer',
      tranid: 'text',
      trandate: 'date',
      lastmodifieddate: 'time',
      voided: 'boolean',
      entity: 'integer',
      vendor: 'text',
      exchangerate: expect.stringMatching(/^(number|integer)$/),
      total: 'number',
      day: 'text',
      id_text: 'text',
      padded: 'text',
      large: 'number',
      sparse: 'number',
      rare: 'time',
      nothing: 'text',
    });
    expect(warned(described)).toEqual(
      expect.arrayContaining(['trandate', 'voided', 'entity', 'total', 'sparse', 'rare', 'nothing']),
    );
    expect(described).toMatchObject({
      idType: 'integer',
      modifiedField: 'lastmodifieddate',
      family: 'query',
      openWhen: null,
    });
  });

  it('few requests describe a query whose columns all have values', async () => {
    const before = company.requests();
    const query =
      "SELECT id, trandate, foreigntotal, lastmodifieddate FROM transaction WHERE recordtype = 'vendorbill'";
    await describeQuery(query, { modifiedColumn: 'lastmodifieddate' });
    expect(company.requests() - before).toBeLessThanOrEqual(7);
  });

  it('a query without rows is described by its text', async () => {
    const query = 'SELECT id, itemid AS code, lastmodifieddate AS changed FROM item WHERE 1 = 0';
    const described = await describeQuery(query, { modifiedColumn: 'changed' });
    expect(toTypes(described)).toEqual({ id: 'integer', code: 'text', changed: 'time' });
    expect(warned(described)).toEqual(['code', 'changed']);
    expect(await company.readAll(described)).toEqual({ records: [], rejected: [] });
  });

  it('keeps the last types while they hold all values', async () => {
    const query = (column: string) => `SELECT id, ${column} AS value FROM item`;
    const decimal = await describeQuery(query('id / 3'));
    const integer = await describeQuery(query('id'));
    const empty = await describeQuery(query('NULL'));
    const text = await describeQuery(query('itemid'));
    expect([decimal, integer, empty, text].map((described) => toTypes(described)['value'])).toEqual([
      'number',
      'integer',
      'text',
      'text',
    ]);
    const again = async (column: string, last: RecordTypeMetadata) =>
      toTypes(await describeQuery(query(column), {}, last))['value'];
    expect(await again('id', decimal)).toBe('number');
    expect(await again('NULL', decimal)).toBe('number');
    expect(await again('id / 3', integer)).toBe('number');
    expect(await again('id', empty)).toBe('integer');
    expect(await again('id', text)).toBe('text');
  });

  it('refuses a query that fails without a reason in NetSuite, and one over a table that the role can’t see', async () => {
    await company.control('POST', '/fields', {
      ...{ table: 'item', name: 'custitem_broken', type: 'text', label: 'Broken', refusal: 'fails' },
    });
    const refusal = { message: expect.stringMatching(/^NetSuite refuses the query: /) };
    const broken = describeQuery('SELECT id, custitem_broken FROM item');
    await expectErpError(broken, 'query', 'QUERY_UNSUITABLE', refusal);
    await company.control('PUT', '/hidden', { tables: ['item'] });
    await expectErpError(describeQuery('SELECT id FROM item'), 'query', 'QUERY_UNSUITABLE', refusal);
  });

  it('an outage is no refusal', async () => {
    await company.control('PUT', '/faults', [{ on: { kind: 'count' }, status: 503 }]);
    await expectErpError(describeQuery('SELECT id FROM item'), 'down');
  });
});

it('the text of a query keeps what looks like a comment or an end within quotes, and loses comments', async () => {
  const described = await describeQuery(
    `SELECT /* the
        key */ id, 'it''s -- no; comment /* at all' AS "note", (SELECT COUNT(*) FROM item) AS items -- and ) this
       FROM item /* ( */ ;
      `,
  );
  const { records } = await company.readAll(described);
  expect(records[0]?.values).toMatchObject({
    note: "it's -- no; comment /* at all",
    items: String(records.length),
  });
});

describe('the record type of a query', () => {
  it('is read, counted and listed like any other', async () => {
    const described = await describeQuery(bills, { modifiedColumn: 'lastmodifieddate' });
    const truth =
      "v.id, v.foreigntotal from suiteql.transaction v where v.recordtype = 'vendorbill' order by v.id";
    const { records, rejected } = await company.readAll(described, { limit: 100 });
    expect(rejected).toEqual([]);
    expect(records.map(({ id, values }) => [id, Number(values['total'])])).toEqual(
      (await company.truth(truth)).map(([id, total]) => [id, Number(total)]),
    );
    expect(await company.connector.count(described, signal)).toBe(records.length);
    expect(await company.listAll(described, { limit: 100 })).toEqual(listIds({ records }));
    const ids = listIds({ records }).slice(5, 9);
    const fields = described.fields.map(({ name }) => name);
    const some = await company.readByIds(described, fields, [...ids, '999999999']);
    expect(listIds(some)).toEqual(ids);
    const latest =
      records
        .map(({ modifiedAt }) => String(modifiedAt))
        .sort()
        .at(-1) ?? '';
    const changed = await company.readAll(described, { changedSince: new Date(latest) });
    expect(listIds(changed)).toEqual(
      listIds({ records: records.filter(({ modifiedAt }) => modifiedAt === latest) }),
    );
    expect(await company.countChanged(described, new Date(latest))).toMatchObject({
      records: changed.records.length,
    });
  });

  it('may be an aggregate, a union or a join', async () => {
    const described = await describeQuery(
      `SELECT k, SUM(amount) AS amount FROM (SELECT account AS k, amount FROM transactionaccountingline WHERE posting = 'T'
       UNION ALL SELECT id, 0 FROM account) GROUP BY k HAVING COUNT(*) > 0`,
      { keyColumn: 'k' },
    );
    const { records } = await company.readAll(described);
    const balances = await company.truth(
      `a.id, coalesce(sum(l.amount), 0) from suiteql.account a
       left join suiteql.transactionaccountingline l on l.account = a.id and l.posting = 'T' group by a.id order by a.id`,
    );
    expect(records.map(({ id, values }) => [id, Number(values['amount'])])).toEqual(
      balances.map(([id, amount]) => [id, Number(amount)]),
    );
  });
});

describe('the query of docs/portal.md', () => {
  it('has the lines of journals on receivables accounts that name a customer', async () => {
    const [, documented] = /```sql\n([\s\S]*?)\n```/.exec(await readFile('docs/portal.md', 'utf8')) ?? [];
    expect(journalLines.query).toBe(documented);
    const described = await describeQuery(journalLines.query, journalLines);
    expect(toTypes(described)).toEqual({
      ...{ id: 'integer', journal: 'integer', tranid: 'text', trandate: 'date', customer: 'integer' },
      ...{ amount: 'number', currency: 'integer', currency_name: 'text', memo: 'text', modified: 'time' },
    });
    const { records, rejected } = await company.readAll(described);
    expect(rejected).toEqual([]);
    const lines = await company.truth(
      `l.uniquekey::text, l.transaction::text, l.entity::text, l.foreignamount::text, t.currency::text, l.memo
       from ledger.transactionline l join ledger.transaction t on t.id = l.transaction join ledger.account a on a.id = l.account
       where t.type = 'Journal' and a.accttype = 'AcctRec' order by l.uniquekey`,
    );
    expect(lines.length).toBeGreaterThan(40);
    const served = records.map(({ id, values }) =>
      [id, ...['journal', 'customer', 'amount', 'currency', 'memo'].map((name) => values[name])].map(String),
    );
    const exact = ([id, journal, customer, amount, ...rest]: readonly unknown[]) =>
      [id, journal, customer, Number(amount), ...rest].map(String);
    expect(served.map(exact)).toEqual(lines.map(exact));
    expect(new Set(served.map(([, , , amount]) => Math.sign(Number(amount))))).toEqual(new Set([-1, 1]));
  });
});
