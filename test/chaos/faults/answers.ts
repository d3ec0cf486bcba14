// Answers that lie, through the account's control interface. The books stay true. A run that gets such
// answers may fail or be partial; what no proof can find is noted in the ledger, with the bound of
// docs/guarantees.md.
import { getTable } from '../books.ts';
import { touch } from '../edits.ts';
import type { RecordTypeName, StateFault } from '../plan-names.ts';
import type { Random } from '../random.ts';
import { watchChangedIds } from './changed-ids.ts';
import type { Lie } from './control.ts';
import {
  type Ending,
  type FaultDefinition,
  type FaultStage,
  findLinesTable,
  inTurn,
  listReaders,
  readMetadata,
} from './fault.ts';

/** While answers lie, records may be named as unreadable or absent. */
async function noteRejections(stage: FaultStage, recordTypes: readonly RecordTypeName[]): Promise<Ending> {
  const noted = new Map<string, () => void>();
  const add = async (): Promise<void> => {
    for (const recordType of recordTypes)
      for (const id of await stage.fixture.books.ids(recordType)) {
        const key = `${recordType} ${id}`;
        if (!noted.has(key)) noted.set(key, stage.ledger.spoiled({ recordType, id }));
      }
  };
  await add();
  const stop = stage.watchChanges(add);
  return inTurn(() => {
    for (const end of noted.values()) end();
  }, stop);
}

/** Tells lies until the ending, and counts the answers that they met while requests pass. */
export async function tell(stage: FaultStage, lies: readonly Lie[], hit: () => void): Promise<Ending> {
  const { control, wire } = stage.fixture;
  const concerned = lies.flatMap(({ on: { table } }) =>
    table === undefined ? stage.plan.recordTypes : listReaders(stage, table),
  );
  const endNotes = await noteRejections(stage, concerned);
  const end = await control.lie(lies, hit);
  let isCounting = false;
  const stop = wire.watch(() => {
    if (isCounting) return;
    isCounting = true;
    control
      .countHits()
      .catch(() => undefined) // the next count, or the ending, finds them
      .finally(() => {
        isCounting = false;
      });
  });
  return inTurn(endNotes, end, stop);
}

/** Half of them meet a few answers only, so that reading again finds the truth. */
const pickTimes = (random: Random): { times?: number } =>
  random.chance(0.5) ? { times: random.between(1, 6) } : {};
const sign = (random: Random): 1 | -1 => (random.chance(0.5) ? 1 : -1);

/** The record's own table, that of its lines, the list of deletions, or every table. */
const anyTable = (recordType: RecordTypeName, random: Random): { table?: string } =>
  random.pick([
    { table: getTable(recordType) },
    { table: getTable(recordType) },
    { table: getTable(recordType) },
    { table: findLinesTable(recordType) ?? getTable(recordType) },
    { table: 'deletedrecord' },
    {},
    {},
    {},
  ]);

const maxTouched = 60;

/** Changes more records than fit into a page, where pages are small. */
async function touchMany(stage: FaultStage, recordType: RecordTypeName, random: Random): Promise<void> {
  const { books } = stage.fixture;
  const count = Math.min(maxTouched, stage.plan.pageSize + random.between(1, 20));
  for (const id of random.sample(await books.ids(recordType), count)) await touch(books, recordType, id);
  await stage.onChange();
}

/**
 * A fault of lists, on any of their tables. Without many changes a list has one page, of which nothing can be
 * repeated or left out.
 */
const onLists = (effect: Omit<Lie, 'on' | 'times'>): FaultDefinition => ({
  async begin(stage, recordType, random, hit) {
    await touchMany(stage, recordType, random);
    return tell(
      stage,
      [{ on: { ...anyTable(recordType, random), kind: 'rows' }, ...pickTimes(random), ...effect }],
      hit,
    );
  },
});

const droppedLines: FaultDefinition = {
  begin(stage, recordType, random, hit) {
    const table = findLinesTable(recordType) ?? 'transactionline';
    const isNumbered = table === 'transactionline' && random.chance(0.5);
    const dropRows = isNumbered
      ? { where: { linesequencenumber: random.between(1, 4) } }
      : { every: random.pick([1, 2, 3, 10]) };
    return tell(stage, [{ on: { table, kind: 'rows' }, ...pickTimes(random), dropRows }], hit);
  },
};

const droppedRows: FaultDefinition = {
  async begin(stage, recordType, random, hit) {
    const table = getTable(recordType);
    const every = { every: random.pick([1, 2, 3, 7]) };
    const ids = await stage.fixture.books.ids(recordType);
    const isOne = ids.length > 0 && random.chance(0.4);
    const [on, dropRows] = isOne
      ? [{ table, kind: 'rows' as const }, { where: { id: Number(random.pick(ids)) } }]
      : [{ table: random.pick([table, table, table, 'deletedrecord']), kind: 'rows' as const }, every];
    return tell(stage, [{ on, ...pickTimes(random), dropRows }], hit);
  },
};

/** What the account says about the lines of each record, while the lines themselves are true. */
const falseLineTotal: FaultDefinition = {
  begin(stage, recordType, random, hit) {
    const on = { table: findLinesTable(recordType) ?? 'transactionline', kind: 'count' } as const;
    const effect = random.chance(0.5)
      ? { countOffset: sign(random) * random.pick([1, 2, 7]) }
      : { dropRows: { where: { linesequencenumber: random.between(1, 4) } } };
    return tell(stage, [{ on, ...pickTimes(random), ...effect }], hit);
  },
};

const wrongCount: FaultDefinition = {
  begin(stage, recordType, random, hit) {
    const on = { table: getTable(recordType), kind: random.pick(['count', 'count', 'rows'] as const) };
    return tell(
      stage,
      [{ on, ...pickTimes(random), countOffset: sign(random) * random.pick([1, 2, 5, 30, 1_000]) }],
      hit,
    );
  },
};

/** Refusals, pages that are no answers, and responses that break off; of one kind of answers, or of all. */
const brokenAnswers: FaultDefinition = {
  async begin(stage, recordType, random, hit) {
    const kind = random.pick(['rows', 'rows', 'count', 'metadata', 'token', undefined] as const);
    const table = kind === 'rows' || kind === 'count' ? anyTable(recordType, random) : {};
    const effect = random.pick<Omit<Lie, 'on'>>([
      { status: random.pick([429, 403, 500, 503] as const) },
      { html: true },
      { cut: random.pick([0, 1, 40, 400]) },
    ]);
    const end = await tell(
      stage,
      [{ on: { ...table, ...(kind !== undefined && { kind }) }, ...pickTimes(random), ...effect }],
      hit,
    );
    if (kind === 'token') stage.fixture.account.revokeTokens(); // or no run would ask for one
    return kind === 'metadata' ? inTurn(end, readMetadata(stage)) : end;
  },
};

/** Notes what the lie is about, by record type; the ids of records that come later are added. */
async function misreport(
  stage: FaultStage,
  recordTypes: readonly RecordTypeName[],
  note: {
    readonly field: string | null;
    readonly bound: 'next-day' | 'full-read';
    readonly fewerThan?: number;
  },
  isConcerned: (id: string) => boolean,
): Promise<Ending> {
  const endings: Ending[] = [];
  for (const recordType of recordTypes) {
    const ids = new Set<string>();
    const add = async (): Promise<void> => {
      for (const id of await stage.fixture.books.ids(recordType)) if (isConcerned(id)) ids.add(id);
    };
    await add();
    const [end, stop] = [stage.ledger.misreports({ recordType, ids, ...note }), stage.watchChanges(add)];
    endings.push(async () => {
      await add();
      end();
      stop();
    });
  }
  return inTurn(...endings);
}

const headerColumns: Readonly<Record<ReturnType<typeof getTable>, readonly string[]>> = {
  customer: [
    'id',
    'entityid',
    'isinactive',
    'phone',
    'comments',
    'datecreated',
    'lastmodifieddate',
    'custentity_sales_region',
  ],
  item: [
    'id',
    'itemid',
    'displayname',
    'isinactive',
    'createddate',
    'lastmodifieddate',
    'custitem_quality_grade',
  ],
  transaction: [
    'id',
    'tranid',
    'entity',
    'foreigntotal',
    'foreignamountunpaid',
    'status',
    'memo',
    'duedate',
    'lastmodifieddate',
    'custbody_sales_channel',
  ],
  customrecord_complaint: ['id', 'name', 'owner', 'created', 'lastmodified', 'custrecord_complaint_grade'],
};
const lineColumns = [
  'item',
  'memo',
  'quantity',
  'rate',
  'netamount',
  'foreignamount',
  'linesequencenumber',
  'linelastmodifieddate',
  'custcol_lot_number',
];
/** The ids and times that reading goes by, and what is summed: no run may believe that these are empty. */
const proved = new Set([
  'id',
  'lastmodifieddate',
  'lastmodified',
  'quantity',
  'foreignamount',
  'linelastmodifieddate',
]);
/** Docs/guarantees.md: in fewer records, an empty column isn't noticed. */
const minNoticed = 20;

/** In all rows, or in those whose internal id is a multiple of a number. */
async function emptyColumn(
  stage: FaultStage,
  table: string,
  column: string,
  random: Random,
  hit: () => void,
): Promise<Ending> {
  const every = random.pick([1, 1, 2, 3, 5]);
  const nullColumn = every === 1 ? column : { column, every };
  const isLines = table === 'transactionline';
  // Some lines of a record may have been emptied in the ERP: what it says twice is believed.
  const fewerThan = every === 1 || (every === 2 && !isLines) ? { fewerThan: minNoticed } : {};
  const note = { field: isLines ? null : column, bound: 'full-read', ...fewerThan } as const;
  const isConcerned = (id: string): boolean => isLines || Number(id) % every === 0;
  const readers = listReaders(stage, table);
  const end = await misreport(stage, proved.has(column) ? [] : readers, note, isConcerned);
  const fields = [isLines ? `lines.${column}` : column];
  const endNames = readers.map((recordType) => stage.ledger.hides({ recordType, fields }));
  return inTurn(
    end,
    ...endNames,
    await tell(stage, [{ on: { table, kind: 'rows' }, ...pickTimes(random), nullColumn }], hit),
  );
}

/** The books as they are when it begins, again and again. */
const stalePage: FaultDefinition = {
  async begin(stage, recordType, random, hit) {
    const { control } = stage.fixture;
    const table = random.pick([getTable(recordType), findLinesTable(recordType) ?? getTable(recordType)]);
    await control.send('POST', '/books/keep', {});
    const endings = await Promise.all(listReaders(stage, table).map((reader) => noteStale(stage, reader)));
    return inTurn(
      ...endings,
      await tell(stage, [{ on: { table, kind: 'rows' }, ...pickTimes(random), stalePage: true }], hit),
    );
  },
};

async function noteStale(stage: FaultStage, recordType: RecordTypeName): Promise<Ending> {
  const ids = new Set<string>();
  const stop = await watchChangedIds(stage, recordType, ids);
  return inTurn(stage.ledger.misreports({ recordType, ids, field: '*', bound: 'next-day' }), stop);
}

export const answerFaults = {
  'dropped-lines': droppedLines,
  'dropped-rows': droppedRows,
  'false-line-total': falseLineTotal,
  'wrong-count': wrongCount,
  'repeated-page': onLists({ repeatPage: true }),
  'false-has-more': onLists({ hasMore: false }),
  'duplicate-rows': onLists({ duplicateRow: true }),
  'stale-page': stalePage,
  'broken-answers': brokenAnswers,
  'null-column': {
    begin: (stage, recordType, random, hit) =>
      emptyColumn(stage, getTable(recordType), random.pick(headerColumns[getTable(recordType)]), random, hit),
  },
  'null-line-column': {
    begin: (stage, _recordType, random, hit) =>
      emptyColumn(stage, 'transactionline', random.pick(lineColumns), random, hit),
  },
} as const satisfies Partial<Record<StateFault, FaultDefinition>>;
