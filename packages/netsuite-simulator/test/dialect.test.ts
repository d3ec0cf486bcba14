// Oracle's dialect in SuiteQL, as a caller sees it. Business time is set to a fixed moment.
import { beforeAll, describe, expect, it } from 'vitest';
import { useCaller } from './test-account.ts';

const caller = useCaller();
beforeAll(async () => {
  await caller.account.setBusinessTime(new Date('2011-09-10T11:00:00Z'));
});

const one = async (expression: string, from = 'dual'): Promise<string | undefined> =>
  await caller.value(`SELECT ${expression} AS x FROM ${from}`);

describe('functions', () => {
  const cases: [expression: string, value: string | undefined][] = [
    ["NVL(NULL, 'a')", 'a'],
    ["NVL2(NULL, 'a', 'b')", 'b'],
    ["COALESCE(NULL, NULL, 'c')", 'c'],
    ["DECODE('b', 'a', 1, 'b', 2, 3)", '2'],
    ["DECODE(NULL, NULL, 'none')", 'none'],
    ["DECODE('x', 'a', 1)", undefined],
    ["'a' || NULL || 'b'", 'ab'],
    ["CONCAT('a', NULL)", 'a'],
    ["1 || '-' || 2.50", '1-2.5'],
    ["UPPER('aB')", 'AB'],
    ["SUBSTR('abcdef', 2, 3)", 'bcd'],
    ["INSTR('abc', 'c')", '3'],
    ["LPAD('7', 3, '0')", '007'],
    ["TRIM('  a ')", 'a'],
    ["REPLACE('aba', 'b', 'x')", 'axa'],
    ['ROUND(2.345, 2)', '2.35'],
    ['TRUNC(2.99)', '2'],
    ['MOD(7, 3)', '1'],
    ['ABS(-2.5)', '2.5'],
    ["TO_NUMBER('1.50') + 1", '2.5'],
    ["CAST('12' AS INTEGER) * 2", '24'],
    [
      "TO_CHAR(TO_DATE('2011-03-05 14:07:09', 'YYYY-MM-DD HH24:MI:SS'), 'DD.MM.YY HH24:MI')",
      '05.03.11 14:07',
    ],
    ["TO_DATE('2011-03-05', 'YYYY-MM-DD')", '3/5/2011'],
    ["TO_DATE('3/5/2011')", '3/5/2011'],
    ["TO_CHAR(TO_DATE('2011-03-05', 'YYYY-MM-DD'))", '3/5/2011'],
    ["TO_CHAR(TO_DATE('2011-01-31', 'YYYY-MM-DD') + 1, 'YYYY-MM-DD')", '2011-02-01'],
    ["TO_DATE('2011-03-05', 'YYYY-MM-DD') - TO_DATE('2011-03-01', 'YYYY-MM-DD')", '4'],
    ["ADD_MONTHS(TO_DATE('2011-01-31', 'YYYY-MM-DD'), 1)", '2/28/2011'],
    ["LAST_DAY(TO_DATE('2011-02-05', 'YYYY-MM-DD'))", '2/28/2011'],
    ["TRUNC(TO_DATE('2011-02-05', 'YYYY-MM-DD'), 'MM')", '2/1/2011'],
    ["EXTRACT(YEAR FROM TO_DATE('2011-02-05', 'YYYY-MM-DD'))", '2011'],
    ['SYSDATE', '9/10/2011'],
    ["TO_CHAR(SYSDATE, 'HH24')", '12'],
    ["TO_CHAR(SYS_EXTRACT_UTC(SYSTIMESTAMP), 'HH24')", '11'],
    ["TO_CHAR(SYSDATE - 0.5, 'YYYY-MM-DD HH24')", '2011-09-10 00'],
    ["CASE WHEN 1 = 1 THEN 'yes' ELSE 'no' END", 'yes'],
  ];
  for (const [expression, value] of cases)
    it(`${expression} is ${value}`, async () => expect(await one(expression)).toBe(value));
});

describe('dates', () => {
  const LAST =
    "tranid = (SELECT MAX(tranid) FROM transaction WHERE type = 'CustInvc' AND trandate = TO_DATE('2011-08-31', 'YYYY-MM-DD'))";

  it('are returned without time unless TO_CHAR includes it, in the users’ zone or in UTC', async () => {
    const row =
      await caller.first(`SELECT trandate, lastmodifieddate, TO_CHAR(lastmodifieddate, 'YYYY-MM-DD HH24:MI:SS') local,
      TO_CHAR(SYS_EXTRACT_UTC(lastmodifieddate), 'YYYY-MM-DD"T"HH24:MI:SS"Z"') utc FROM transaction WHERE ${LAST}`);
    expect(row['trandate']).toBe('8/31/2011');
    expect(row['lastmodifieddate']).toBe('8/31/2011');
    expect(row['local']).toMatch(/^2011-08-31 \d\d:\d\d:00$/);
    const hour = Number(row['local']?.slice(11, 13));
    expect(row['utc']).toBe(`2011-08-31T${String(hour - 1).padStart(2, '0')}:${row['local']?.slice(14)}Z`);
  });

  it('support an incremental read by time and id in two time zones', async () => {
    const rows =
      await caller.rows(`SELECT t.id, TO_CHAR(t.lastmodifieddate, 'YYYY-MM-DD HH24:MI:SS') AS cursor_ts FROM transaction t
      WHERE t.lastmodifieddate IS NOT NULL AND t.lastmodifieddate >= TO_DATE('2011-08-30 09:00:00', 'YYYY-MM-DD HH24:MI:SS')
      AND SYS_EXTRACT_UTC(t.lastmodifieddate) >= TO_TIMESTAMP('2011-08-31 09:00:00', 'YYYY-MM-DD HH24:MI:SS')
      AND ((t.lastmodifieddate > TO_DATE('2011-08-31 12:00:00', 'YYYY-MM-DD HH24:MI:SS'))
        OR (t.lastmodifieddate = TO_DATE('2011-08-31 12:00:00', 'YYYY-MM-DD HH24:MI:SS') AND t.id > 1))
      ORDER BY t.lastmodifieddate ASC, t.id ASC`);
    const count = await caller.first(
      "SELECT COUNT(*) AS n FROM transaction WHERE TO_CHAR(lastmodifieddate, 'YYYY-MM-DD HH24:MI') >= '2011-08-31 12:00'",
    );
    expect(rows.length).toBe(Number(count['n']));
    expect(rows.every((row) => (row['cursor_ts'] ?? '') >= '2011-08-31 12:00:00')).toBe(true);
  });

  it('the latest of a group is found after conversion to text, and today in the users’ zone', async () => {
    const utc = `TO_CHAR(SYS_EXTRACT_UTC(l.linelastmodifieddate), 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`;
    const from = 'FROM transactionline l INNER JOIN transaction t ON t.id = l.transaction';
    const where = `WHERE t.${LAST}`;
    const [group, ...more] = await caller.rows(
      `SELECT l.transaction AS id, COUNT(*) AS n, SUM(l.quantity) AS quantity, SUM(l.rateamount) AS paid, MAX(${utc}) AS latest ${from} ${where} GROUP BY l.transaction ORDER BY l.transaction ASC`,
    );
    const lines = await caller.rows(`SELECT l.quantity, ${utc} AS latest ${from} ${where} ORDER BY l.id ASC`);
    expect(more).toEqual([]);
    expect(group).toMatchObject({
      n: String(lines.length),
      quantity: String(lines.reduce((sum, line) => sum + Number(line['quantity']), 0)),
      latest: lines
        .map((line) => line['latest'] ?? '')
        .toSorted()
        .at(-1),
    });
    expect(
      await caller.rows(`SELECT DISTINCT l.transaction AS id ${from} ${where} ORDER BY l.transaction ASC`),
    ).toEqual([{ id: group?.['id'] }]);
    for (const now of ['CURRENT_DATE', 'SYSDATE'])
      expect(await one(`TO_CHAR(${now}, 'YYYY-MM-DD HH24')`)).toBe('2011-09-10 12');
  });

  it('can be compared with text in the users’ format', async () => {
    const text = await caller.first(
      "SELECT COUNT(*) AS n FROM transaction WHERE createddate >= '08/31/2011'",
    );
    const date = await caller.first(
      "SELECT COUNT(*) AS n FROM transaction WHERE createddate >= TO_DATE('2011-08-31', 'YYYY-MM-DD')",
    );
    expect(text).toEqual(date);
    expect(Number(text['n'])).toBeGreaterThan(70);
  });
});

describe('BUILTIN.DF', () => {
  it('returns the labels of references, codes and statuses', async () => {
    const row = await caller.first(
      `SELECT BUILTIN.DF(t.entity) AS entity, BUILTIN.DF(t.type) AS type, BUILTIN.DF(status) AS status, BUILTIN.DF(t.currency) AS currency,
      BUILTIN.DF(t.tranid) AS same, BUILTIN.DF(l.item) AS item, BUILTIN.DF(l.transaction) AS parent, t.tranid, i.itemid, c.entityid FROM transaction t
      INNER JOIN transactionline l ON l.transaction = t.id LEFT JOIN item i ON i.id = l.item LEFT OUTER JOIN customer c ON c.id = t.entity
      WHERE t.type = 'CustInvc' AND t.entity IS NOT NULL AND t.foreignamountunpaid > 0 ORDER BY l.uniquekey ASC`,
      { limit: 1 },
    );
    expect(row).toMatchObject({ type: 'Invoice', status: 'Invoice : Open', currency: 'GBP' });
    expect([row['entity'], row['item'], row['same'], row['parent']]).toEqual([
      row['entityid'],
      row['itemid'],
      row['tranid'],
      `Invoice #${row['tranid']}`,
    ]);
  });

  it('can be used in GROUP BY and ORDER BY', async () => {
    const rows = await caller.rows(
      'SELECT BUILTIN.DF(t.status) AS label, COUNT(*) AS n FROM transaction t GROUP BY BUILTIN.DF(t.status) HAVING COUNT(*) > 1 ORDER BY BUILTIN.DF(t.status) DESC',
    );
    expect(rows.map((row) => row['label'])).toEqual([
      'Journal : Approved for Posting',
      'Invoice : Paid In Full',
      'Invoice : Open',
      'Credit Memo : Open',
      'Credit Memo : Fully Applied',
    ]);
  });
});

describe('rows', () => {
  const ids = async (q: string) => (await caller.rows(q)).map((row) => Number(row['id']));

  it('ROWNUM applies before ordering, TOP and FETCH FIRST after it', async () => {
    const top = await ids('SELECT TOP 3 id FROM customer ORDER BY id DESC');
    expect(await ids('SELECT id FROM customer ORDER BY id DESC FETCH FIRST 3 ROWS ONLY')).toEqual(top);
    expect(
      await ids('SELECT id FROM customer ORDER BY id DESC OFFSET 1 ROWS FETCH NEXT 2 ROWS ONLY'),
    ).toEqual(top.slice(1));
    const early = await ids('SELECT id FROM customer WHERE ROWNUM <= 3 ORDER BY id DESC');
    expect(early).toHaveLength(3);
    expect(early).not.toEqual(top);
    expect(
      await caller.value("SELECT COUNT(*) AS n FROM customer WHERE isinactive = 'F' AND ROWNUM < 31"),
    ).toBe('30');
    expect(await caller.refusal('SELECT id FROM customer WHERE id = 1 OR ROWNUM <= 3')).toContain(
      'unsupported',
    );
  });

  it('Oracle’s ROWNUM pagination', async () => {
    const q =
      'SELECT * FROM (SELECT a.*, ROWNUM rn FROM (SELECT id FROM customer ORDER BY id) a WHERE ROWNUM <= 20) WHERE rn > 10 ORDER BY rn';
    expect(await ids(q)).toEqual((await ids('SELECT id FROM customer ORDER BY id')).slice(10, 20));
  });

  it('set operations, subqueries, window functions and quoted names', async () => {
    expect(
      await caller.rows('SELECT id FROM currency UNION ALL SELECT id FROM currency ORDER BY id'),
    ).toHaveLength(2);
    await caller.expectNone('SELECT id FROM currency MINUS SELECT id FROM currency');
    expect(
      await caller.value(
        'SELECT COUNT(*) AS n FROM customer c WHERE NOT EXISTS (SELECT 1 FROM transaction t WHERE t.entity = c.id)',
      ),
    ).toBe('0');
    const row = await caller.first(
      'SELECT "My Rank", s.id FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY isinactive ORDER BY id DESC) AS "My Rank" FROM customer) s ORDER BY s.id DESC',
      { limit: 1 },
    );
    expect(row['my rank']).toBe('1');
  });

  it('accepts comments, any case and line breaks', async () => {
    expect(await caller.rows('select /* all */ ID -- the key\n\tFroM\nCURRENCY')).toEqual([{ id: '1' }]);
  });

  it('SELECT * returns every column that is not null, and no hidden one', async () => {
    const row = await caller.first(
      "SELECT t.*, l.memo AS line_memo FROM transaction t JOIN transactionline l ON l.transaction = t.id WHERE t.type = 'CustInvc' ORDER BY l.uniquekey",
      { limit: 1 },
    );
    expect(Object.keys(row)).toEqual(
      expect.arrayContaining([
        'daysopen',
        'duedate',
        'foreignamountunpaid',
        'id',
        'status',
        'tranid',
        'line_memo',
      ]),
    );
    expect(Object.keys(row).filter((name) => name.endsWith('__df'))).toEqual([]);
  });
});
