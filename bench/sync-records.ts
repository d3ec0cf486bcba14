// The records of the sync bench, told by number alone so that any process can make the same ones: 40 columns (37 fields, three
// of them with a label, one with three lines), about 850 bytes of text, much like an invoice. And a connector that hands them out as any ERP's would.
import { setImmediate as otherWork } from 'node:timers/promises';
import {
  type Connector,
  type FieldMetadata,
  type FieldType,
  hasLabel,
  type Page,
  type RecordTypeMetadata,
  type SourceLine,
  type SourceRecord,
} from '../src/connectors/connector.ts';

const names: Readonly<Record<Exclude<FieldType, 'lines'>, string>> = {
  text: 'tranid externalid email phone city postcode terms channel ponumber memo',
  number: 'total subtotal taxtotal discount shipping weight exchangerate balance',
  integer: 'seq quantity linecount days priority',
  boolean: 'paid taxable printed emailed',
  date: 'trandate duedate shipdate startdate',
  time: 'createddate lastmodifieddate',
  list: 'status',
  reference: 'entity subsidiary',
};
const typed = Object.entries(names) as [Exclude<FieldType, 'lines'>, string][];
const field = (name: string, type: FieldType): FieldMetadata => ({
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

/** Named like one of NetSuite's own, so that NetSuite's connector can be asked for it too. */
export const recordType: RecordTypeMetadata = {
  name: 'customer',
  label: 'Bench record',
  table: 'customer',
  source: 'bench',
  idType: 'integer',
  fields: [field('id', 'integer'), ...fields],
  openWhen: null,
  modifiedField: 'lastmodifieddate',
};

/** The ERP's clock stands still; what was changed for the bench was changed an hour before, all else long ago. */
export const erpNow = new Date('2026-03-02T10:00:00Z');
export const recently = '2026-03-02T09:59:00Z';
const longAgo = '2026-01-05T08:30:00Z';

/** A scattered number below `limit` from two others; the same in every process. */
function scatter(n: number, salt: number, limit: number): number {
  let x = Math.imul(n ^ Math.imul(salt, 0x9e3779b1), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 15), 0xc2b2ae35);
  return ((x ^ (x >>> 16)) >>> 0) % limit;
}
const two = (n: number): string => String(n).padStart(2, '0');
const day = (n: number, salt: number): string =>
  `${2020 + scatter(n, salt, 6)}-${two(1 + scatter(n, salt + 1, 12))}-${two(1 + scatter(n, salt + 2, 28))}`;
const money = (n: number, salt: number): string => `${scatter(n, salt, 900) + 10_000}.${two(scatter(n, salt + 1, 100))}`;
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

const makers: Readonly<Record<Exclude<FieldType, 'lines'>, (n: number, salt: number) => string>> = {
  text: (n, salt) => `${words[scatter(n, salt, words.length)]}-${100_000 + scatter(n, salt + 1, 5_000)}`,
  number: money,
  integer: (n, salt) => String(scatter(n, salt, 100_000)),
  boolean: (n, salt) => (scatter(n, salt, 2) === 0 ? 'false' : 'true'),
  date: day,
  time: () => longAgo,
  list: (n, salt) => String(1 + Math.min(3, Math.floor(scatter(n, salt, 100) / 27))),
  reference: (n, salt) => String(1_000 + scatter(n, salt, 4_000)),
};

const empty: Readonly<Record<string, string>> = Object.fromEntries(headerFields.map(({ name }) => [name, '']));

const makeLine = (n: number, line: number): SourceLine => ({
  line: String(line),
  item: String(1 + scatter(n, 600 + line, 5_000)),
  'item.name': `${phrase(n, 610 + line, 3)} ${scatter(n, 600 + line, 5_000)}`,
  quantity: String(-1 - scatter(n, 620 + line, 48)),
  rate: money(n, 630 + line),
  netamount: `-${money(n, 640 + line)}`,
});

/** `version` 0 is the record as it first was; any other one changed total and memo a moment ago, and in one of four records status and customer. */
export function makeRecord(n: number, version: number): SourceRecord {
  // In one shape: a record that grows name by name would be a hash table of its own.
  const values: Record<string, string> = { ...empty };
  const labels: Record<string, string> = {};
  for (const [index, { name, type }] of headerFields.entries()) {
    if (type === 'lines') continue;
    values[name] = makers[type](n, index * 10);
    if (hasLabel({ type })) labels[name] = name === 'status' ? (statuses[Number(values[name]) - 1] ?? '') : `${name} ${values[name]}`;
  }
  values['memo'] = `${phrase(n, 500, 8)} ${version}`;
  values['seq'] = String(n);
  const lines = [1, 2, 3].map((line) => makeLine(n, line));
  if (version > 0) {
    values['total'] = money(n, 700 + version);
    values['lastmodifieddate'] = recently;
    if (scatter(n, 900 + version, 4) > 0) return { id: String(n), modifiedAt: recently, values, labels, lines };
    const status = 1 + (Number(values['status']) % statuses.length);
    values['status'] = String(status);
    labels['status'] = statuses[status - 1] ?? '';
    values['entity'] = String(1_000 + scatter(n, 950 + version, 4_000));
    labels['entity'] = `entity ${values['entity']}`;
  }
  return { id: String(n), modifiedAt: values['lastmodifieddate'] ?? null, values, labels, lines };
}

/** Records 1 to `count`, without gaps. */
export type Rows = { readonly count: number; record(n: number): SourceRecord; changedRecently(n: number): boolean };

/** Equal texts held once, so that records that exist beforehand are few objects and don't slow down whoever cleans up behind them. */
export function openPool(): (record: SourceRecord) => SourceRecord {
  const pool = new Map<string, string>();
  const once = (text: string): string => {
    const held = pool.get(text);
    if (held !== undefined) return held;
    pool.set(text, text);
    return text;
  };
  const unique = new Set(['memo', 'seq']);
  return (made) => {
    // As an ERP's answer is read; a text put together here would stay a tree of pieces.
    const record: SourceRecord = JSON.parse(JSON.stringify(made));
    const values: Record<string, string> = { ...empty };
    for (const [name, value] of Object.entries(record.values)) values[name] = unique.has(name) ? (value ?? '') : once(value ?? '');
    const labels = {
      status: once(record.labels['status'] ?? ''),
      entity: once(record.labels['entity'] ?? ''),
      subsidiary: once(record.labels['subsidiary'] ?? ''),
    };
    const lines = (record.lines ?? []).map((line) =>
      Object.fromEntries(Object.entries(line).map(([name, value]) => [name, value === null ? null : once(value)])),
    );
    return { ...record, values, labels, lines };
  };
}

/** Made at the moment they are asked for, so that they take no memory. */
export const lazyRows = (count: number, versionOf: (n: number) => number): Rows => ({
  count,
  record: (n) => makeRecord(n, versionOf(n)),
  changedRecently: (n) => versionOf(n) > 0,
});

/** Making records is no work of the service, so requests don't wait for it longer than this; those that are held take no time. */
const madeAtOnceMs = 1;

/** `onPage` is called as soon as a page is ready to be handed over, and after the last one with null. */
export type Hooks = { readonly onPage?: (page: Page) => void; readonly onCount?: () => void };

type Wanted = (n: number) => boolean;
function idsAfter({ count }: Rows, afterId: string | null, limit: number, wanted: Wanted): { ids: number[]; hasMore: boolean } {
  const ids: number[] = [];
  for (let n = Number(afterId ?? 0) + 1; n <= count; n += 1) {
    if (!wanted(n)) continue;
    if (ids.length === limit) return { ids, hasMore: true };
    ids.push(n);
  }
  return { ids, hasMore: false };
}

export function connectorOf(current: () => Rows, { onPage, onCount }: Hooks = {}): Connector {
  const pageOf = async (ids: readonly number[], hasMore: boolean): Promise<Page> => {
    const rows = current();
    const records: SourceRecord[] = [];
    let sinceMs = performance.now();
    for (const n of ids) {
      records.push(rows.record(n));
      if (performance.now() - sinceMs < madeAtOnceMs) continue;
      await otherWork();
      sinceMs = performance.now();
    }
    const page = { records, rejected: [], lastId: ids.length === 0 ? null : String(ids.at(-1)), hasMore };
    onPage?.(page);
    return page;
  };
  const known = (ids: readonly string[]): number[] =>
    ids
      .map(Number)
      .filter((n) => n >= 1 && n <= current().count)
      .sort((a, b) => a - b);
  return {
    test: async () => ({ ok: true, latencyMs: 0, account: 'bench', problems: [] }),
    now: async () => erpNow,
    metadata: async () => [recordType],
    count: async () => {
      onCount?.();
      return current().count;
    },
    readPage: async ({ afterId, changedSince, limit }) => {
      const rows = current();
      const { ids, hasMore } = idsAfter(rows, afterId, limit, (n) => changedSince === null || rows.changedRecently(n));
      return pageOf(ids, hasMore);
    },
    readByIds: async ({ ids }) => pageOf(known(ids), false),
    listIds: async ({ afterId, changedSince, limit }) => {
      const rows = current();
      const { ids, hasMore } = idsAfter(rows, afterId, limit, (n) => (changedSince ?? null) === null || rows.changedRecently(n));
      return { ids: ids.map(String), hasMore };
    },
    scan: async (request) => {
      if (request.ids !== undefined) return pageOf(known(request.ids), false);
      const { ids, hasMore } = idsAfter(current(), request.afterId, request.limit, () => true);
      return pageOf(ids, hasMore);
    },
    deletedSince: async () => ({ available: true, deleted: [] }),
  };
}
