// Journals, which have no header lines, and movements of stock that are neither bought nor sold.
import { ACCOUNT, at, buildPeriodSql, ID_OF, insertDocs, insertLines } from './trade-sql.ts';

/** When in a month a journal is entered: `opening` on the first day of the month before the files begin. */
type When = 'opening' | 'first' | 'wages' | 'last';
const DAY: Readonly<Record<When, string>> = {
  opening: 'm.month',
  first: 'm.month',
  wages: 'm.month + 24',
  last: 'm.lastday',
};

/** Account (`bank`: the subsidiary's), amount, department. */
type Posting = readonly [account: number | 'bank', amount: number, department: number];
type JournalKind = { memo: string; when: When; postings: readonly Posting[]; book?: number };

const JOURNALS: readonly JournalKind[] = [
  {
    memo: 'Share capital',
    when: 'opening',
    postings: [
      ['bank', 250_000, 4],
      [ACCOUNT.shareCapital, -250_000, 4],
    ],
  },
  {
    memo: 'Shelving',
    when: 'opening',
    postings: [
      [ACCOUNT.equipment, 24_000, 2],
      ['bank', -24_000, 4],
    ],
  },
  {
    memo: 'Rent paid in advance',
    when: 'first',
    postings: [
      [ACCOUNT.prepaidRent, 3_000, 4],
      ['bank', -3_000, 4],
    ],
  },
  {
    memo: 'Rent of the month',
    when: 'last',
    postings: [
      [ACCOUNT.rent, 3_000, 2],
      [ACCOUNT.prepaidRent, -3_000, 4],
    ],
  },
  {
    memo: 'Wages',
    when: 'wages',
    postings: [
      [ACCOUNT.wages, 5_000, 1],
      [ACCOUNT.wages, 3_000, 2],
      ['bank', -8_000, 4],
    ],
  },
  {
    memo: 'Depreciation',
    when: 'last',
    postings: [
      [ACCOUNT.depreciation, 400, 2],
      [ACCOUNT.accumulatedDepreciation, -400, 4],
    ],
  },
];
/** Posts to the secondary book alone. */
const LOCAL_DEPRECIATION: JournalKind = {
  memo: 'Depreciation, local rules',
  when: 'last',
  postings: [
    [ACCOUNT.depreciation, 100, 2],
    [ACCOUNT.accumulatedDepreciation, -100, 4],
  ],
  book: 2,
};

const journals = (kinds: readonly JournalKind[]): string[] => {
  const rows = kinds.map(
    ({ memo, when, book }, k) => `(${k + 1}, '${memo}', '${when}', ${book ?? 'NULL::bigint'})`,
  );
  const postings = kinds.flatMap((kind, k) =>
    kind.postings.map(
      ([account, amount, department], i) =>
        `(${k + 1}, ${i + 1}, ${account === 'bank' ? 'NULL::bigint' : account}, ${amount}.00, ${department})`,
    ),
  );
  const day = `CASE k.at ${Object.entries(DAY)
    .map(([when, sql]) => `WHEN '${when}' THEN ${sql}`)
    .join(' ')} END`;
  return [
    insertDocs(
      {
        id: `${ID_OF.journal} + m.number * 1000 + k.kind * 10 + b.id`,
        type: "'Journal'",
        tranid: "'JE' || m.number * 1000 + k.kind * 10 + b.id",
        trandate: 'd.day',
        createddate: at('d.day', '09:30'),
        lastmodifieddate: at('d.day', '09:30'),
        currency: 'b.currency',
        exchangerate: 1,
        subsidiary: 'b.id',
        department: 4,
        memo: 'k.memo',
        status: "'B'",
        accountingbook: 'k.book',
        source: '-k.kind',
      },
      `trade_month m CROSS JOIN ledger.subsidiary b CROSS JOIN (VALUES ${rows.join(', ')}) k(kind, memo, at, book)
       CROSS JOIN LATERAL (SELECT ${day} AS day) d
       WHERE b.iselimination = 'F' AND (k.at = 'opening') = m.isopening AND d.day <= (SELECT lastday FROM trade_span)`,
    ),
    insertLines(
      {
        transaction: 'd.id',
        id: 'p.id',
        memo: 'd.memo',
        netamount: 'p.amount',
        foreignamount: 'p.amount',
        account: `COALESCE(p.account, ${ACCOUNT.bank} + d.subsidiary)`,
        subsidiary: 'd.subsidiary',
        department: 'p.department',
        linelastmodifieddate: 'd.lastmodifieddate',
      },
      `trade_doc d JOIN (VALUES ${postings.join(', ')}) p(kind, id, account, amount, department) ON p.kind = -d.source WHERE d.type = 'Journal'`,
    ),
  ];
};

/**
 * The parent charges each subsidiary a thousand pounds a month: lines of two subsidiaries, which balance in
 * each of them.
 */
const INTERCOMPANY = [
  insertDocs(
    {
      id: `${ID_OF.journal} + m.number * 1000 + 900 + b.id`,
      type: "'Journal'",
      tranid: "'ICJE' || m.number * 10 + b.id",
      trandate: 'm.month + 14',
      createddate: at('m.month + 14', '15:00'),
      lastmodifieddate: at('m.month + 14', '15:00'),
      currency: 1,
      exchangerate: 1,
      subsidiary: 1,
      department: 4,
      memo: "'Management charge of ' || b.name",
      status: "'B'",
      source: '-1000 - b.id',
    },
    `trade_month m CROSS JOIN ledger.subsidiary b
     WHERE b.id IN (2, 3) AND NOT m.isopening AND m.month + 14 <= (SELECT lastday FROM trade_span)`,
  ),
  insertLines(
    {
      transaction: 'd.id',
      id: 'v.id',
      memo: 'd.memo',
      netamount: 'round(v.amount * CASE v.subsidiary WHEN 1 THEN 1 ELSE r.exchangerate END, 2)',
      foreignamount: 'v.amount',
      account: 'v.account',
      subsidiary: 'v.subsidiary',
      department: 4,
      linelastmodifieddate: 'd.lastmodifieddate',
    },
    `trade_doc d JOIN ledger.subsidiary b ON b.id = -1000 - d.source
     JOIN trade_rate r ON r.basecurrency = b.currency AND r.transactioncurrency = 1 AND r.period = ${buildPeriodSql('d.trandate')}
     CROSS JOIN LATERAL (VALUES (1, ${ACCOUNT.intercompanyReceivable}, 1000.00, 1), (2, ${ACCOUNT.expenses}, -1000.00, 1),
       (3, ${ACCOUNT.expenses}, 1000.00, b.id), (4, ${ACCOUNT.intercompanyPayable}, -1000.00, b.id)) v(id, account, amount, subsidiary)
     WHERE d.type = 'Journal' AND d.source < -1000`,
  ),
];

/**
 * At the end of a month one piece of some items is written off, and one piece of others goes to the location
 * for returns. All of them are items of which more was bought than is sold.
 */
const STOCK_MOVEMENTS = [
  {
    type: 'InvAdjst',
    prefix: 'IA',
    from: ID_OF.adjustment,
    account: ACCOUNT.inventoryAdjustment,
    rest: 3,
    moves: '(0, -1, n.subsidiary)',
  },
  {
    type: 'InvTrnfr',
    prefix: 'IT',
    from: ID_OF.transfer,
    account: 'NULL',
    rest: 23,
    moves: '(0, -1, 1), (1, 1, 4)',
  },
].flatMap(({ type, prefix, from, account, rest, moves }) => {
  const items = `trade_need n JOIN trade_month m ON m.month = n.month
     WHERE n.item % 40 = ${rest} AND m.lastday <= (SELECT lastday FROM trade_span) ${type === 'InvTrnfr' ? 'AND n.subsidiary = 1' : ''}`;
  return [
    insertDocs(
      {
        id: 'n.id',
        type: `'${type}'`,
        tranid: `'${prefix}' || n.id`,
        trandate: 'n.lastday',
        createddate: at('n.lastday', '12:00'),
        lastmodifieddate: at('n.lastday', '12:00'),
        currency: 'b.currency',
        exchangerate: 1,
        subsidiary: 'n.subsidiary',
        department: 2,
        account,
      },
      `(SELECT DISTINCT ${from} + m.number * 10 + n.subsidiary AS id, n.subsidiary, m.lastday FROM ${items}) n JOIN ledger.subsidiary b ON b.id = n.subsidiary`,
    ),
    insertLines(
      {
        transaction: 'n.id',
        id: '2 * n.n + v.id',
        item: 'n.item',
        quantity: 'v.quantity',
        rate: 'n.cost',
        netamount: 'v.quantity * n.cost',
        foreignamount: 'v.quantity * n.cost',
        account: 'n.assetaccount',
        accountinglinetype: "'ASSET'",
        subsidiary: 'n.subsidiary',
        department: 2,
        class: 'n.class',
        location: 'v.location',
        linelastmodifieddate: at('n.lastday', '12:00'),
      },
      `(SELECT n.item, n.cost, n.assetaccount, n.class, n.subsidiary, m.lastday, ${from} + m.number * 10 + n.subsidiary AS id,
          row_number() OVER (PARTITION BY m.number, n.subsidiary ORDER BY n.item) AS n FROM ${items}) n
       CROSS JOIN LATERAL (VALUES ${moves}) v(id, quantity, location)`,
    ),
  ];
});

/** Runs after the purchases. */
export const journalStatements = (isOneWorld: boolean): string[] => [
  ...journals(isOneWorld ? [...JOURNALS, LOCAL_DEPRECIATION] : JOURNALS),
  ...(isOneWorld ? INTERCOMPANY : []),
  ...STOCK_MOVEMENTS,
];
