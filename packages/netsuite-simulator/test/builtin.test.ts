// NetSuite's BUILTIN functions in an account without a profile: one subsidiary, one currency. Business time
// is set to a fixed moment.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useShop } from './test-account.ts';

const shop = useShop();
beforeAll(async () => {
  await shop.account.setBusinessTime(new Date('2011-08-10T11:00:00Z')); // a Wednesday
});

const one = async (expression: string, rest = 'FROM dual') =>
  await shop.value(`SELECT ${expression} AS x ${rest}`);
const UNSUPPORTED = 'Search error occurred: Invalid or unsupported search.';

describe('RELATIVE_RANGES', () => {
  const cases: [code: string, start: string, end: string][] = [
    ['TODAY', '8/10/2011', '8/10/2011'],
    ['YESTERDAY', '8/9/2011', '8/9/2011'],
    ['DAGO30', '7/11/2011', '7/11/2011'],
    ['DFN10', '8/20/2011', '8/20/2011'],
    ['MAGO2', '6/10/2011', '6/10/2011'],
    ['SDLW', '8/3/2011', '8/3/2011'],
    ['TW', '8/8/2011', '8/14/2011'],
    ['LM', '7/1/2011', '7/31/2011'],
    ['LMTD', '7/1/2011', '7/10/2011'],
    ['MBL', '6/1/2011', '6/30/2011'],
    ['MAN', '10/1/2011', '10/31/2011'],
    ['TFQ', '7/1/2011', '9/30/2011'],
    ['LFH', '1/1/2011', '6/30/2011'],
    ['TY', '1/1/2011', '12/31/2011'],
    ['LFYTD', '1/1/2010', '8/10/2010'],
    ['FYBL', '1/1/2009', '12/31/2009'],
  ];
  it.each(cases)('%s is %s to %s', async (code, start, end) => {
    const expression = `BUILTIN.RELATIVE_RANGES('${code}', 'START') AS a, BUILTIN.RELATIVE_RANGES('${code}', 'END', 'DATE')`;
    expect(await shop.rows(`SELECT ${expression} AS b FROM dual`)).toEqual([{ a: start, b: end }]);
  });

  it('compare with dates; with DATETIME the end is the last second', async () => {
    const where = (edge: string) =>
      `FROM transaction WHERE trandate >= BUILTIN.RELATIVE_RANGES('LM', '${edge}')`;
    expect([await one('COUNT(*)', where('START')), await one('COUNT(*)', where('END'))]).toEqual(['1', '0']);
    const end = "TO_CHAR(BUILTIN.RELATIVE_RANGES('TM', 'END', 'DATETIME'), 'YYYY-MM-DD HH24:MI:SS')";
    expect(await one(end)).toBe('2011-08-31 23:59:59');
  });

  it.each(["'NEVER', 'START'", "'TM', 'MIDDLE'", "'TM'", "'TM', 'START', 'HOUR'", 'id, 1'])(
    'refuse %s',
    async (args) => {
      expect(await shop.refusal(`SELECT BUILTIN.RELATIVE_RANGES(${args}) FROM dual`)).toBe(UNSUPPORTED);
    },
  );
});

it('CF is what conditions compare with: a status with its type, other columns unchanged', async () => {
  expect(
    await shop.rows(
      'SELECT BUILTIN.CF(status) AS status, BUILTIN.CF(t.tranid) AS n, status AS letter FROM transaction t',
    ),
  ).toEqual([{ status: 'CustInvc:A', n: 'I1', letter: 'A' }]);
  expect(await one('COUNT(*)', "FROM transaction WHERE BUILTIN.CF(status) IN ('CustInvc:A')")).toBe('1');
});

describe('MNFILTER', () => {
  beforeAll(() => shop.account.setFeatures({ oneWorld: true }));
  afterAll(() => shop.account.setFeatures({ oneWorld: false }));
  const count = (args: string) =>
    one('COUNT(*)', `FROM item WHERE BUILTIN.MNFILTER(subsidiary, ${args}) = 'T'`);
  it('compares the entries of a multi-select column', async () => {
    expect(await count("'MN_INCLUDE', '', 'FALSE', NULL, 1")).toBe('1');
    expect(await count("'MN_INCLUDE', '', 'TRUE', '2', '3'")).toBe('0');
    expect(await count("'MN_EXCLUDE', '', 'TRUE', '2'")).toBe('1');
    expect(await count("'MN_INCLUDE_ALL', '', 'TRUE', '1', '2'")).toBe('0');
    expect(await count("'MN_INCLUDE_EXACTLY', '', 'TRUE', '1'")).toBe('1');
    expect(await count("'MN_INCLUDE', 'DF', 'TRUE', 'parent company'")).toBe('1');
    expect(await count("'MN_INCLUDE', 'DF', 'FALSE', 'parent company'")).toBe('0');
  });

  it('is for conditions only', async () => {
    expect(
      await shop.refusal("SELECT BUILTIN.MNFILTER(subsidiary, 'MN_INCLUDE', '', 'TRUE', 1) FROM item"),
    ).toBe(UNSUPPORTED);
    expect(
      await shop.refusal(
        "SELECT id FROM item WHERE BUILTIN.MNFILTER(subsidiary, 'ANY', '', 'TRUE', 1) = 'T'",
      ),
    ).toBe(UNSUPPORTED);
  });
});

describe('amounts', () => {
  it('are the same consolidated or converted where there are no subsidiaries and rates', async () => {
    expect(
      await shop.rows(`SELECT TO_NUMBER(BUILTIN.CONSOLIDATE(t.foreigntotal, 'LEDGER', 'DEFAULT', 'DEFAULT', 1, 201107, 'DEFAULT')) AS a,
        SUM(BUILTIN.CONSOLIDATE(l.netamount, 'INCOME', 'NONE', 'DEFAULT', 0, 0, 'DEFAULT')) AS b, BUILTIN.CURRENCY_CONVERT(t.foreigntotal) AS c,
        BUILTIN.CURRENCY_CONVERT(t.foreigntotal, 1, SYSDATE) AS d, BUILTIN.CURRENCY(t.foreigntotal) AS e,
        BUILTIN.CURRENCY(BUILTIN.CONSOLIDATE(t.foreigntotal, 'LEDGER', 'DEFAULT', 'DEFAULT', 1, 201107, 'DEFAULT')) AS f
        FROM transaction t JOIN transactionline l ON l.transaction = t.id
        GROUP BY t.foreigntotal, t.currency, BUILTIN.CURRENCY(t.foreigntotal),
          BUILTIN.CURRENCY(BUILTIN.CONSOLIDATE(t.foreigntotal, 'LEDGER', 'DEFAULT', 'DEFAULT', 1, 201107, 'DEFAULT'))`),
    ).toEqual([{ a: '30.1', b: '-30.1', c: '30.1', d: '30.1', e: 'GBP', f: 'GBP' }]);
  });

  it.each([
    "foreigntotal, 'GROSS', 'DEFAULT', 'DEFAULT', 1, 1, 'DEFAULT'",
    "foreigntotal, 'LEDGER', 'DEFAULT', 'SPOT', 1, 1, 'DEFAULT'",
    "1 + 1, 'LEDGER', 'DEFAULT', 'DEFAULT', 1, 1, 'DEFAULT'",
  ])('CONSOLIDATE refuses (%s)', async (args) => {
    expect(await shop.refusal(`SELECT BUILTIN.CONSOLIDATE(${args}) FROM transaction`)).toBe(UNSUPPORTED);
  });
});

describe('others', () => {
  it('PERIOD needs the periods, HIERARCHY the records of the column', async () => {
    expect(
      await shop.refusal(
        "SELECT id FROM transaction WHERE postingperiod IN (BUILTIN.PERIOD('LP', 'START', 'NOT_LAST', 'BETWEEN'))",
      ),
    ).toBe("Search error occurred: Record 'accountingperiod' was not found.");
    expect(await shop.refusal("SELECT BUILTIN.HIERARCHY(account, 'DISPLAY_JOINED') FROM transaction")).toBe(
      "Search error occurred: Record 'account' was not found.",
    );
    expect(await one("BUILTIN.HIERARCHY(item, 'DISPLAY_JOINED')", 'FROM transactionline')).toBe('ABC');
  });

  it('BUILTIN_RESULT.TYPE_X is the value itself', async () => {
    expect(await one('BUILTIN_RESULT.TYPE_STRING(tranid)', 'FROM transaction')).toBe('I1');
    expect(
      await one(
        'BUILTIN_RESULT.TYPE_CURRENCY(foreigntotal, BUILTIN.CURRENCY(foreigntotal))',
        'FROM transaction',
      ),
    ).toBe('30.1');
  });

  it.each([
    "BUILTIN.NAMED_GROUP('employee', 'me')",
    'BUILTIN.NOTHING(id)',
    "BUILTIN.HIERARCHY(tranid, 'DISPLAY_JOINED')",
  ])('%s is not supported', async (expression) => {
    expect(await shop.refusal(`SELECT ${expression} FROM transaction`)).toBe(UNSUPPORTED);
  });
});
