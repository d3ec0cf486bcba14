// A client of the public interface that reads continuously over HTTP: lists page by page, single records, and again with the ETag that it
// has. Every response names the generation it shows, and must equal it exactly.
import { isDeepStrictEqual } from 'node:util';
import type { RecordTypeName } from './plan.ts';
import type { View, ViewRow } from './warehouse-view.ts';

type Field = { readonly name: string; readonly source: string; readonly isNumber?: true };
const documentFields: readonly Field[] = [
  { name: 'number', source: 'tranid' },
  { name: 'memo', source: 'memo' },
  { name: 'customer', source: 'entity.name' },
  { name: 'total', source: 'foreigntotal', isNumber: true },
  { name: 'modified', source: 'lastmodifieddate' },
];
const unpaid: Field = { name: 'due', source: 'foreignamountunpaid', isNumber: true };
const fieldsOf: Readonly<Record<RecordTypeName, readonly Field[]>> = {
  customer: [
    { name: 'number', source: 'entityid' },
    { name: 'phone', source: 'phone' },
    { name: 'balance', source: 'balancesearch', isNumber: true },
    { name: 'modified', source: 'lastmodifieddate' },
  ],
  item: [
    { name: 'number', source: 'itemid' },
    { name: 'title', source: 'displayname' },
    { name: 'modified', source: 'lastmodifieddate' },
  ],
  invoice: [...documentFields, unpaid],
  creditMemo: [...documentFields, unpaid],
  customerPayment: documentFields,
};
const lineFields = [
  { name: 'line', source: 'linesequencenumber' },
  { name: 'quantity', source: 'quantity' },
  { name: 'amount', source: 'netamount' },
  { name: 'text', source: 'memo' },
];
const hasLines = (recordType: RecordTypeName): boolean => recordType === 'invoice' || recordType === 'creditMemo';
const linesField = { name: 'lines', source: 'lines', description: '', fields: lineFields };

/** The version that the company publishes for the reader. */
export const endpointsFor = (recordTypes: readonly RecordTypeName[]) =>
  recordTypes.map((recordType) => ({
    name: recordType.toLowerCase(),
    recordType,
    description: '',
    fields: [
      ...fieldsOf[recordType].map(({ name, source }) => ({ name, source, description: '' })),
      ...(hasLines(recordType) ? [linesField] : []),
    ],
    maxPageSize: 1_000,
  }));

type Line = Record<string, unknown>;
type Shown = Record<string, unknown> & { id: string; lines?: Line[] };
type Seen = {
  readonly recordType: RecordTypeName;
  readonly generation: string;
  readonly address: string;
  readonly from: number;
  readonly to: number;
  readonly total: number;
  readonly data: readonly Shown[];
};
/** The views of a record type by generation. */
export type Generations = ReadonlyMap<RecordTypeName, ReadonlyMap<string, View>>;
export type Reader = {
  /** Every page once, from now on. */
  lap(): Promise<void>;
  /** Reads everything once more, then stops. */
  finish(): Promise<void>;
  answers(): number;
  problems(generations: Generations): string[];
};

const cellOf = (view: View, row: ViewRow, source: string): string | null => {
  const [field, label] = source.split('.');
  const index = view.columns.findIndex((column) => column.field === field && column.part === (label === undefined ? 'value' : 'label'));
  return row.cells[index] ?? null;
};

function expectedRecord(recordType: RecordTypeName, view: View, id: string, row: ViewRow): Shown {
  const record: Shown = { id };
  for (const { name, source, isNumber } of fieldsOf[recordType]) {
    const cell = cellOf(view, row, source);
    record[name] = cell === null || isNumber !== true ? cell : Number(cell);
  }
  if (!hasLines(recordType)) return record;
  const index = view.columns.findIndex(({ part }) => part === 'lines');
  const lines = JSON.parse(row.cells[index] ?? '[]') as Line[];
  record.lines = lines.map((line) => Object.fromEntries(lineFields.map(({ name, source }) => [name, line[source] ?? null])));
  return record;
}

/** What this response should have been, by the generation that it names; null when it is exactly that. */
function problemOf({ recordType, generation, address, from, to, total, data }: Seen, view: View | undefined): string | null {
  if (view === undefined) return `${address} shows generation ${generation}, which never was`;
  if (total !== view.rows.size) return `${address} of generation ${generation} says ${total} and has ${view.rows.size}`;
  const expected = [...view.rows].slice(from, to).map(([id, row]) => expectedRecord(recordType, view, id, row));
  if (isDeepStrictEqual(data, expected)) return null;
  const wrong = data.find((record, index) => !isDeepStrictEqual(record, expected[index]));
  const held = expected.find(({ id }) => id === wrong?.id);
  return `${address} of generation ${generation}: ${JSON.stringify(wrong)} instead of ${JSON.stringify(held)}`;
}

export type ReaderOptions = {
  readonly base: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly recordTypes: readonly RecordTypeName[];
  readonly pageSize: number;
};

/** A pause between requests; everything here shares two cores. */
const paceMs = 15;
/** The responses allowed while a server is unavailable or nothing has been published. */
const allowed = new Set([200, 304, 503]);

async function get(url: string, headers: Readonly<Record<string, string>>) {
  const response = await fetch(url, { headers });
  return {
    status: response.status,
    text: await response.text(),
    generation: response.headers.get('x-data-generation') ?? '',
    tag: response.headers.get('etag'),
  };
}

export function startReader({ base, headers, recordTypes, pageSize }: ReaderOptions): Reader {
  const seen: Seen[] = [];
  const wrong: string[] = [];
  const tags = new Map<string, { tag: string; generation: string }>();
  let done = false;

  /** Returns the number of pages; 0 without a response. */
  const readPage = async (recordType: RecordTypeName, page: number, size: number): Promise<number> => {
    const address = `/${recordType.toLowerCase()}?pageSize=${size}&page=${page}`;
    const known = tags.get(address);
    const answer = await get(`${base}${address}`, { ...headers, ...(known !== undefined && { 'if-none-match': known.tag }) });
    if (!allowed.has(answer.status)) wrong.push(`${address}: ${answer.status} ${answer.text.slice(0, 300)}`);
    if (answer.status === 304 && answer.generation !== known?.generation)
      wrong.push(`${address}: 304 for generation ${known?.generation} at generation ${answer.generation}`);
    if (answer.status !== 200) return answer.status === 304 ? 1 : 0;
    if (answer.tag !== null) tags.set(address, { tag: answer.tag, generation: answer.generation });
    const { data, pagination } = JSON.parse(answer.text) as { data: Shown[]; pagination: { total: number; totalPages: number } };
    const from = (page - 1) * size;
    seen.push({ recordType, generation: answer.generation, address, from, to: from + size, total: pagination.total, data });
    return pagination.totalPages;
  };

  const walk = async (size: number): Promise<void> => {
    for (const recordType of recordTypes) {
      const pages = await readPage(recordType, 1, size);
      for (let page = 2; page <= pages; page += 1) await readPage(recordType, page, size);
      if (!done) await new Promise((resolve) => setTimeout(resolve, paceMs));
    }
  };
  const walking = (async () => {
    while (!done) await walk(pageSize);
  })();

  return {
    lap: () => walk(pageSize),
    async finish() {
      done = true;
      await walking;
      // Pages of another size: a response from the service's cache would not read the records.
      await walk(pageSize === 1 ? 2 : pageSize - 1);
    },
    answers: () => seen.length,
    problems: (generations) => {
      const mixed = seen.flatMap((answer) => problemOf(answer, generations.get(answer.recordType)?.get(answer.generation)) ?? []);
      return [...wrong, ...mixed].slice(0, 5);
    },
  };
}
