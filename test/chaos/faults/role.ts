// A role that sees less: tables, columns, rows, lines, or a permission that was taken away. The account
// itself stays as it is.
import { getTable } from '../books.ts';
import type { RecordTypeName, StateFault } from '../plan-names.ts';
import type { Random } from '../random.ts';
import {
  countOnWire,
  type Ending,
  type FaultDefinition,
  type FaultStage,
  findLinesTable,
  inTurn,
  listReaders,
  noEnding,
  readMetadata,
  reads,
} from './fault.ts';

type Seen = Parameters<FaultStage['ledger']['hides']>[0];

/** For each record type that is read from the table. */
const noteHidden = (stage: FaultStage, table: string, note: Omit<Seen, 'recordType'>): Ending =>
  inTurn(...listReaders(stage, table).map((recordType) => stage.ledger.hides({ recordType, ...note })));

/** The table is refused in queries, or in queries and in the metadata catalog. */
async function hideTable(stage: FaultStage, table: string, random: Random, hit: () => void): Promise<Ending> {
  const { account, control } = stage.fixture;
  const stop = countOnWire(stage, ({ text }) => text.includes(`Record '${table}' was not found`), hit);
  if (random.chance(0.5)) return inTurn(stop, await control.hide({ tables: [table] }));
  account.setVisible(table, false);
  return inTurn(stop, () => account.setVisible(table, true));
}

async function hideColumns(
  stage: FaultStage,
  table: string,
  columns: readonly string[],
  random: Random,
  hit: () => void,
): Promise<Ending> {
  const { account, control } = stage.fixture;
  const stop = countOnWire(
    stage,
    ({ text }) => columns.some((column) => text.includes(`Unknown identifier '${column}'`)),
    hit,
  );
  if (random.chance(0.5)) return inTurn(stop, await control.hide({ columns: { [table]: columns } }));
  for (const column of columns) account.setColumnVisible(table, column, false);
  return inTurn(stop, () => {
    for (const column of columns) account.setColumnVisible(table, column, true);
  });
}

const headerColumns: Readonly<Record<ReturnType<typeof getTable>, readonly string[]>> = {
  customer: ['phone', 'comments', 'companyname', 'datecreated', 'entityid', 'lastmodifieddate'],
  item: ['displayname', 'salesdescription', 'createddate', 'itemid', 'lastmodifieddate'],
  transaction: [
    'memo',
    'otherrefnum',
    'duedate',
    'createddate',
    'status',
    'entity',
    'foreignamountunpaid',
    'lastmodifieddate',
  ],
  customrecord_complaint: ['name', 'owner', 'custrecord_complaint_text', 'created', 'lastmodified'],
};
const lineColumns = [
  'memo',
  'rate',
  'item',
  'quantity',
  'foreignamount',
  'netamount',
  'linesequencenumber',
  'linelastmodifieddate',
];

/** From one record to all of them; the numbers around which a run asks a person are the most interesting. */
function pickCount(random: Random, all: number): number {
  const tenth = Math.floor(all / 10);
  return random.pick([
    1,
    2,
    random.between(3, 12),
    tenth,
    tenth + 1,
    20,
    21,
    random.between(24, 40),
    Math.floor(all / 2),
    all - 1,
    all,
    all,
  ]);
}

const narrowRole: FaultDefinition = {
  async begin(stage, recordType, random, hit) {
    const all = await stage.fixture.books.ids(recordType);
    const ids = random.sample(all, Math.max(1, pickCount(random, all.length)));
    if (ids.length === 0) return noEnding;
    const table = getTable(recordType);
    const end = stage.ledger.hides({ recordType, ids });
    return inTurn(
      end,
      countOnWire(stage, reads(table), hit),
      await stage.fixture.control.hide({ rows: { [table]: ids } }),
    );
  },
};

/** All line rows are hidden, from sums and counts too, so that no answer contradicts another. */
async function hideLineRows(stage: FaultStage, recordType: RecordTypeName, hit: () => void): Promise<Ending> {
  const { books, control } = stage.fixture;
  const { rows } = await books.pool.query<{ id: string; parent: string }>(
    'select uniquekey::text as id, transaction::text as parent from ledger.transactionline',
  );
  const mine = new Set(await books.ids(recordType));
  const hidden = rows.filter(({ parent }) => mine.has(parent)).map(({ id }) => id);
  // Many records whose lines are suddenly empty may be noticed, and named.
  const endNames = stage.ledger.hides({ recordType, fields: ['lines'] });
  const end = stage.ledger.misreports({ recordType, ids: mine, field: null, bound: 'next-day' });
  const stop = countOnWire(stage, reads('transactionline'), hit);
  return inTurn(endNames, end, stop, await control.hide({ rows: { transactionline: hidden } }));
}

const hiddenLines: FaultDefinition = {
  async begin(stage, recordType, random, hit) {
    const table = findLinesTable(recordType) ?? 'transactionline';
    if (table === 'transactionline' && random.chance(0.4)) return hideLineRows(stage, recordType, hit);
    return inTurn(
      noteHidden(stage, table, { fields: ['lines'] }),
      await hideTable(stage, table, random, hit),
    );
  },
};

/** The permissions whose absence the account reports in different ways. */
const revokedPermission: FaultDefinition = {
  async begin(stage, recordType, random, hit) {
    const table = getTable(recordType);
    const own = {
      customer: 'customers',
      item: 'items',
      transaction: 'transactions',
      customrecord_complaint: 'customRecords',
    }[table];
    const permission = random.pick([
      own,
      own,
      own,
      'restWebServices',
      'suiteAnalyticsWorkbook',
      'recordsCatalog',
      'customFields',
      'deletedRecords',
    ]);
    const end = permission === own ? noteHidden(stage, table, { all: true }) : noEnding;
    const stop = countOnWire(stage, ({ status }) => status >= 400, hit);
    const grant = await stage.fixture.control.forbid([permission]);
    const asked = ['recordsCatalog', 'customFields'].includes(permission) ? readMetadata(stage) : noEnding;
    return inTurn(end, stop, asked, async () => {
      await grant();
      // A person who granted a permission tries the connection.
      await stage.company.api('post', '/netsuite/connection/test');
    });
  },
};

export const roleFaults = {
  'hidden-table': {
    begin: async (stage, recordType, random, hit) =>
      inTurn(
        noteHidden(stage, getTable(recordType), { all: true }),
        await hideTable(stage, getTable(recordType), random, hit),
      ),
  },
  'hidden-deletions': {
    begin: (stage, _recordType, random, hit) => hideTable(stage, 'deletedrecord', random, hit),
  },
  'narrow-role': narrowRole,
  'hidden-lines': hiddenLines,
  'bad-column': {
    async begin(stage, recordType, random, hit) {
      const table = getTable(recordType);
      const fields = random.sample(headerColumns[table], random.between(1, 3));
      return inTurn(
        noteHidden(stage, table, { fields }),
        await hideColumns(stage, table, fields, random, hit),
      );
    },
  },
  'hidden-line-column': {
    async begin(stage, _recordType, random, hit) {
      const columns = random.sample(lineColumns, random.between(1, 2));
      const fields = columns.map((column) => `lines.${column}`);
      return inTurn(
        noteHidden(stage, 'transactionline', { fields }),
        await hideColumns(stage, 'transactionline', columns, random, hit),
      );
    },
  },
  'revoked-permission': revokedPermission,
} as const satisfies Partial<Record<StateFault, FaultDefinition>>;
