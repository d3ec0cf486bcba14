// The records of the sync benchmark, derived from their number alone so that any process can create the same
// ones: 40 columns (37 fields, three of them with a label, one with three lines), about 850 bytes of text,
// much like an invoice. Also a connector that serves them as an ERP's connector would.
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import {
  type Connector,
  type FieldMetadata,
  type FieldType,
  hasLabel,
  type LineReader,
  type RecordPage,
  type RecordTypeMetadata,
} from '../src/connectors/connector.ts';
import type { LineTotals, SourceLine, SourceRecord } from '../src/connectors/source-records.ts';

type OneValue = Exclude<FieldType, 'lines' | 'multiselect'>;
const names: Readonly<Record<OneValue, string>> = {
  text: 'tranid externalid email phone city postcode terms channel ponumber memo',
  number: 'total subtotal taxtotal discount shipping weight exchangerate balance',
  integer: 'seq quantity linecount days priority',
  boolean: 'paid taxable printed emailed',
  date: 'trandate duedate shipdate startdate',
  time: 'createddate lastmodifieddate',
  list: 'status',
  reference: 'entity subsidiary',
};
const typed = Object.entries(names) as [OneValue, string][];
/** A field that can be synced and isn't volatile, named as its label. */
export const field = (name: string, type: FieldType): FieldMetadata => ({
  name,
  label: name,
  type,
  custom: false,
  syncable: true,
  volatile: false,
  reason: null,
});
const lineTypes: Readonly<Record<string, FieldType>> = {
  line: 'integer',
  item: 'reference',
  quantity: 'number',
  rate: 'number',
  netamount: 'number',
};
const lineFields = Object.entries(lineTypes).map(([name, type]) => field(name, type));
const headerFields = typed.flatMap(([type, list]) => list.split(' ').map((name) => field(name, type)));
const fields = [...headerFields, { ...field('lines', 'lines'), fields: lineFields }];

/** Named like a NetSuite record type, so that the NetSuite connector can read it too. */
export const recordType: RecordTypeMetadata = {
  name: 'customer',
  label: 'Bench record',
  table: 'customer',
  source: 'bench',
  idType: 'integer',
  fields: [field('id', 'integer'), ...fields],
  openWhen: null,
  modifiedField: 'lastmodifieddate',
  linesModifiedField: null,
  shownAs: { number: null, name: null, date: null, amount: null },
};

/**
 * The ERP's clock is fixed. Records changed for the benchmark were changed a minute before, all others long
 * ago.
 */
export const erpNow = new Date('2026-03-02T10:00:00Z');
export const recently = '2026-03-02T09:59:00Z';
const longAgo = '2026-01-05T08:30:00Z';
const chooseModifiedAt = (version: number): string => (version > 0 ? recently : longAgo);

/** A pseudo-random number below `limit`, derived from `n` and `salt`; the same in every process. */
function scatter(n: number, salt: number, limit: number): number {
  let x = Math.imul(n ^ Math.imul(salt, 0x9e3779b1), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 15), 0xc2b2ae35);
  return ((x ^ (x >>> 16)) >>> 0) % limit;
}
const two = (n: number): string => String(n).padStart(2, '0');
const day = (n: number, salt: number): string =>
  `${2020 + scatter(n, salt, 6)}-${two(1 + scatter(n, salt + 1, 12))}-${two(1 + scatter(n, salt + 2, 28))}`;
const money = (n: number, salt: number): string =>
  `${scatter(n, salt, 900) + 10_000}.${two(scatter(n, salt + 1, 100))}`;
const words = [
  'wholesale',
  'ceramic',
  'lantern',
  'vintage',
  'heart',
  'paper',
  'garden',
  'retro',
  'kitchen',
  'hanging',
  'christmas',
  'ribbon',
];
const phrase = (n: number, salt: number, length: number): string =>
  Array.from({ length }, (_, index) => words[scatter(n, salt + index, words.length)]).join(' ');
const statuses = ['Open', 'Paid In Full', 'Pending Approval', 'Rejected'] as const;

const createValue: Readonly<Record<OneValue, (n: number, salt: number) => string>> = {
  text: (n, salt) => `${words[scatter(n, salt, words.length)]}-${100_000 + scatter(n, salt + 1, 5_000)}`,
  number: money,
  integer: (n, salt) => String(scatter(n, salt, 100_000)),
  boolean: (n, salt) => (scatter(n, salt, 2) === 0 ? 'false' : 'true'),
  date: day,
  time: () => longAgo,
  list: (n, salt) => String(1 + Math.min(3, Math.floor(scatter(n, salt, 100) / 27))),
  reference: (n, salt) => String(1_000 + scatter(n, salt, 4_000)),
};

const empty: Readonly<Record<string, string>> = Object.fromEntries(
  headerFields.map(({ name }) => [name, '']),
);

const toLine = (n: number, line: number): SourceLine => ({
  line: String(line),
  item: String(1 + scatter(n, 600 + line, 5_000)),
  'item.name': `${phrase(n, 610 + line, 3)} ${scatter(n, 600 + line, 5_000)}`,
  quantity: String(-1 - scatter(n, 620 + line, 48)),
  rate: money(n, 630 + line),
  netamount: `-${money(n, 640 + line)}`,
});

const linesPerRecord = [1, 2, 3];

/** The ERP's totals of a record's lines, which are the same in each of its versions. */
export function createLineTotals(n: number): LineTotals {
  let [quantity, cents] = [0, 0];
  for (const line of linesPerRecord) {
    quantity -= 1 + scatter(n, 620 + line, 48);
    cents += Number(money(n, 640 + line).replace('.', ''));
  }
  const netamount = `-${Math.floor(cents / 100)}.${two(cents % 100)}`;
  return {
    id: String(n),
    lines: linesPerRecord.length,
    sums: { quantity: String(quantity), netamount },
    modifiedAt: null,
  };
}

/**
 * `version` 0 is the original record. In any other, total and memo changed recently, and in one of four
 * records status and customer.
 */
export function createRecord(n: number, version: number): SourceRecord {
  // Start with all keys: V8 gives records with the same shape one hidden class; growing key by key would end
  // in dictionary mode.
  const values: Record<string, string> = { ...empty };
  const labels: Record<string, string> = {};
  for (const [index, { name, type }] of headerFields.entries()) {
    if (type === 'lines' || type === 'multiselect') continue;
    values[name] = createValue[type](n, index * 10);
    if (hasLabel({ type }))
      labels[name] =
        name === 'status' ? (statuses[Number(values[name]) - 1] ?? '') : `${name} ${values[name]}`;
  }
  values['memo'] = `${phrase(n, 500, 8)} ${version}`;
  values['seq'] = String(n);
  const lines = linesPerRecord.map((line) => toLine(n, line));
  if (version > 0) {
    values['total'] = money(n, 700 + version);
    values['lastmodifieddate'] = recently;
    if (scatter(n, 900 + version, 4) > 0)
      return { id: String(n), modifiedAt: recently, values, labels, lines };
    const status = 1 + (Number(values['status']) % statuses.length);
    values['status'] = String(status);
    labels['status'] = statuses[status - 1] ?? '';
    values['entity'] = String(1_000 + scatter(n, 950 + version, 4_000));
    labels['entity'] = `entity ${values['entity']}`;
  }
  return { id: String(n), modifiedAt: values['lastmodifieddate'] ?? null, values, labels, lines };
}

/** Records 1 to `count`, without gaps. */
export type RecordSource = {
  readonly count: number;
  record(n: number): SourceRecord;
  changedRecently(n: number): boolean;
  modifiedAt(n: number): string | null;
  lineTotals(n: number): LineTotals;
};

/**
 * Interns equal strings, so that records held in memory are few objects and slow down the garbage collector
 * less.
 */
export function createRecordInterner(): (record: SourceRecord) => SourceRecord {
  const texts = new Map<string, string>();
  const intern = (text: string): string => {
    const known = texts.get(text);
    if (known !== undefined) return known;
    texts.set(text, text);
    return text;
  };
  const unique = new Set(['memo', 'seq']);
  return (created) => {
    // A JSON round trip flattens the strings, as those parsed from a response are; concatenated strings would
    // stay ropes.
    const record: SourceRecord = JSON.parse(JSON.stringify(created));
    const values: Record<string, string> = { ...empty };
    for (const [name, value] of Object.entries(record.values))
      values[name] = unique.has(name) ? (value ?? '') : intern(value ?? '');
    const labels = {
      status: intern(record.labels['status'] ?? ''),
      entity: intern(record.labels['entity'] ?? ''),
      subsidiary: intern(record.labels['subsidiary'] ?? ''),
    };
    const lines = (record.lines ?? []).map((line) =>
      Object.fromEntries(
        Object.entries(line).map(([name, value]) => [name, value === null ? null : intern(value)]),
      ),
    );
    return { ...record, values, labels, lines };
  };
}

/** Creates records on demand, so that they take no memory. */
export const createLazySource = (count: number, getVersion: (n: number) => number): RecordSource => ({
  count,
  record: (n) => createRecord(n, getVersion(n)),
  changedRecently: (n) => getVersion(n) > 0,
  modifiedAt: (n) => chooseModifiedAt(getVersion(n)),
  lineTotals: createLineTotals,
});

/** Creating records isn't the service's work, so it blocks the event loop no longer than this at a time. */
const maxBlockMs = 1;

/** `onPage` is called when a page is ready to be returned. */
export type Hooks = { readonly onPage?: (page: RecordPage) => void; readonly onCount?: () => void };

type Wanted = (n: number) => boolean;
function idsAfter(
  { count }: RecordSource,
  afterId: string | null,
  limit: number,
  wanted: Wanted,
): { ids: number[]; hasMore: boolean } {
  const ids: number[] = [];
  for (let n = Number(afterId ?? 0) + 1; n <= count; n += 1) {
    if (!wanted(n)) continue;
    if (ids.length === limit) return { ids, hasMore: true };
    ids.push(n);
  }
  return { ids, hasMore: false };
}

const createLineReader = (
  current: () => RecordSource,
  existingIds: (ids: readonly string[]) => number[],
): LineReader => ({
  totals: async ({ ids }) => existingIds(ids).map((n) => current().lineTotals(n)),
  listChanged: async () => {
    throw new RangeError('lines have no modification time of their own');
  },
});

function createPages(current: () => RecordSource, onPage: Hooks['onPage']) {
  return async (ids: readonly number[], hasMore: boolean): Promise<RecordPage> => {
    const rows = current();
    const records: SourceRecord[] = [];
    let sinceMs = performance.now();
    for (const n of ids) {
      records.push(rows.record(n));
      if (performance.now() - sinceMs < maxBlockMs) continue;
      await yieldToEventLoop();
      sinceMs = performance.now();
    }
    const page = { records, rejected: [], lastId: ids.length === 0 ? null : String(ids.at(-1)), hasMore };
    onPage?.(page);
    return page;
  };
}

export function createBenchConnector(
  current: () => RecordSource,
  { onPage, onCount }: Hooks = {},
): Connector {
  const createPage = createPages(current, onPage);
  const existingIds = (ids: readonly string[]): number[] =>
    ids
      .map(Number)
      .filter((n) => n >= 1 && n <= current().count)
      .sort((a, b) => a - b);
  return {
    test: async () => ({ ok: true, latencyMs: 0, account: 'bench', problems: [] }),
    now: async () => erpNow,
    today: async () => erpNow.toISOString().slice(0, 10),
    metadata: async () => [recordType],
    count: async () => {
      onCount?.();
      return current().count;
    },
    readPage: async ({ afterId, changedSince, limit }) => {
      const rows = current();
      const { ids, hasMore } = idsAfter(
        rows,
        afterId,
        limit,
        (n) => changedSince === null || rows.changedRecently(n),
      );
      return createPage(ids, hasMore);
    },
    readByIds: async ({ ids }) => createPage(existingIds(ids), false),
    listIds: async ({ afterId, changedSince, limit }) => {
      const rows = current();
      const { ids, hasMore } = idsAfter(
        rows,
        afterId,
        limit,
        (n) => (changedSince ?? null) === null || rows.changedRecently(n),
      );
      // As the NetSuite connector does: with modification times where the request asks what changed.
      return {
        listed: ids.map((n) => ({
          id: String(n),
          modifiedAt: changedSince == null ? null : rows.modifiedAt(n),
        })),
        hasMore,
      };
    },
    scan: async (request) => {
      if (request.ids !== undefined) return createPage(existingIds(request.ids), false);
      const { ids, hasMore } = idsAfter(current(), request.afterId, request.limit, () => true);
      return createPage(ids, hasMore);
    },
    deletedSince: async () => ({ available: true, deleted: [] }),
    lines: createLineReader(current, existingIds),
  };
}
