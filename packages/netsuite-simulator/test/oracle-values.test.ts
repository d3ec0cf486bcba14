// Values that Oracle treats differently from other databases: numbers, empty text, and local times around a
// change to or from daylight saving time; and what the two services show of the same time. docs/wire.md has
// the sources.
import { beforeAll, describe, expect, it } from 'vitest';
import { asAdmin } from './loaded-account.ts';
import { useShop } from './test-account.ts';

const caller = useShop({ dateFormat: 'YYYY-MM-DD' });
beforeAll(async () => {
  await asAdmin(caller.database, (client) =>
    client.query(
      "UPDATE ledger.customer SET lastmodifieddate = CASE id WHEN 1 THEN '2011-10-30T00:30:45Z'::timestamptz ELSE '2011-10-30T01:30:45Z' END",
    ),
  );
});

const one = async (expression: string): Promise<string | undefined> =>
  await caller.value(`SELECT ${expression} AS x FROM dual`);
const isTrue = (condition: string) => `CASE WHEN ${condition} THEN 'yes' ELSE 'no' END`;

describe('numbers', () => {
  const cases: [expression: string, value: string | undefined][] = [
    ['5/2', '2.5'],
    ['7/7', '1'],
    ['2147483647 * 2', '4294967294'],
    ['9223372036854775807 + 1', '9223372036854775808'],
    ['(3 - 5) * 3', '-6'],
    ['POWER(2, 100)', '1267650600228229401496703205376'],
    ["SUBSTR('abcdef', 1 + 1, 6/2)", 'bcd'],
    ["SUBSTR('abcdef', -2)", 'ef'],
    ["LPAD('7', 4 - 1, '0')", '007'],
    ["ADD_MONTHS(TO_DATE('2011-01-31', 'YYYY-MM-DD'), 2/2)", '2011-02-28'],
    ["TO_CHAR(TO_DATE('2011-01-31', 'YYYY-MM-DD') + 1/4, 'HH24:MI')", '06:00'],
    ['TO_CHAR(1/2)', '.5'],
    ["-0.25 || ''", '-.25'],
    ['ROUND(5/2)', '3'],
    ['GREATEST(1, NULL, 2)', undefined],
    ['LEAST(3, 2)', '2'],
  ];
  for (const [expression, value] of cases)
    it(`${expression} is ${value}`, async () => expect(await one(expression)).toBe(value));

  it('the quotient of columns and counts isn’t a whole number either', async () => {
    const row = await caller.first(
      'SELECT COUNT(*) / 4 AS n, SUM(id) / 2 AS half, MAX(id / 4) AS quarter FROM customer',
    );
    expect(row).toMatchObject({ n: '0.5', half: '1.5', quarter: '0.5' });
  });

  const refused = [
    "TO_NUMBER('NaN')",
    "TO_NUMBER('Infinity')",
    "TO_NUMBER('0x1F')",
    "CAST('NaN' AS NUMBER)",
    isTrue("1 < 'NaN'"),
    '1/0',
    "TO_DATE('now')",
    "TO_DATE('infinity')",
  ];
  for (const expression of refused)
    it(`${expression} is refused`, async () =>
      expect((await caller.query(`SELECT ${expression} AS x FROM dual`)).status).toBe(400));
});

it('a day that doesn’t exist is refused with its text', async () => {
  expect(await caller.refusal("SELECT TO_DATE('2011-02-30', 'YYYY-MM-DD') AS x FROM dual")).toContain(
    'date/time "2011-02-30" failed',
  );
});

describe('the empty text is null', () => {
  const cases: [expression: string, value: string | undefined][] = [
    [isTrue("'' IS NULL"), 'yes'],
    [isTrue("'' = ''"), 'no'],
    ["NVL('', 'a')", 'a'],
    ["'' || ''", undefined],
    [isTrue("TRIM('  ') IS NULL"), 'yes'],
    [isTrue("REPLACE('aa', 'a') IS NULL"), 'yes'],
    ["REPLACE('aba', 'b', '')", 'aa'],
    ["TO_NUMBER('')", undefined],
    ["SUBSTR('abc', 9)", undefined],
  ];
  for (const [expression, value] of cases)
    it(`${expression} is ${value}`, async () => expect(await one(expression)).toBe(value));

  it('also as a parameter', async () => {
    expect(await caller.column('SELECT NVL(?, 7) AS x FROM dual', { params: [''] })).toEqual(['7']);
  });
});

const utc = (column: string) => `TO_CHAR(SYS_EXTRACT_UTC(${column}), 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`;
const idsSince = async (local: string) =>
  await caller.column(
    `SELECT id FROM customer WHERE lastmodifieddate >= TO_DATE('${local}', 'YYYY-MM-DD HH24:MI:SS') ORDER BY id ASC`,
  );

describe('local times', () => {
  it('two instants have the same local text in the hour that is repeated', async () => {
    const q = `SELECT id, TO_CHAR(lastmodifieddate, 'YYYY-MM-DD HH24:MI:SS') AS local, ${utc('lastmodifieddate')} AS utc FROM customer ORDER BY id ASC`;
    expect(await caller.rows(q)).toMatchObject([
      { id: '1', local: '2011-10-30 01:30:45', utc: '2011-10-30T00:30:45Z' },
      { id: '2', local: '2011-10-30 01:30:45', utc: '2011-10-30T01:30:45Z' },
    ]);
    for (const [repeatedHour, hour] of [
      ['standard', '01'],
      ['daylight', '00'],
    ] as const) {
      caller.account.setSwitches({ repeatedHour });
      const read = `2011-10-30T${hour}:30:45Z`;
      expect(await caller.rows(q)).toMatchObject([{ utc: read }, { utc: read }]);
    }
    caller.account.setSwitches({ repeatedHour: 'exact' });
  });

  it('a local time in that hour is standard time when it is compared with a column', async () => {
    expect(await idsSince('2011-10-30 00:59:59')).toEqual(['1', '2']);
    expect(await idsSince('2011-10-30 01:00:00')).toEqual(['2']);
    expect(await one(utc("TO_DATE('2011-10-30 01:30', 'YYYY-MM-DD HH24:MI')"))).toBe('2011-10-30T01:30:00Z');
  });

  it('a local time that is skipped is a date, but no instant', async () => {
    const skipped = "TO_DATE('2011-03-27 01:30:00', 'YYYY-MM-DD HH24:MI:SS')";
    expect(await one(`TO_CHAR(${skipped}, 'HH24:MI')`)).toBe('01:30');
    expect(await caller.refusal(`SELECT ${utc(skipped)} AS x FROM dual`)).toContain(
      'Invalid or unsupported search',
    );
    expect(await caller.refusal(`SELECT id FROM customer WHERE lastmodifieddate >= ${skipped}`)).toContain(
      'Invalid or unsupported search',
    );
    expect(await idsSince('2011-03-27 02:30:00')).toEqual(['1', '2']);
  });

  it('the record service cuts them to the minute', async () => {
    expect((await caller.read('record/v1/customer/1'))['lastModifiedDate']).toBe('2011-10-30T00:30:00Z');
  });
});
