// Compares every served field of every record, lines included, with the truth of a simulated account.
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import type { NetsuiteAccount } from 'netsuite-simulator';
import {
  documentLines,
  documentName,
  expectedValue,
  listSources,
  type Names,
  normalize,
  readNames,
  readTruth,
  type ServedField,
  type ServedValue,
  type Source,
  type TrueFields,
  type TrueRecord,
  transactionTypes,
  unreadDocument,
} from './erp-truth.ts';
import { repeatRequest } from './repeat-request.ts';

/** A resource that serves all fields of a record type. */
export type Resource = {
  readonly name: string;
  readonly recordType: string;
  readonly fields: readonly ServedField[];
};
export type PublicAccess = {
  readonly url: string;
  readonly version: string;
  readonly headers: Readonly<Record<string, string>>;
};
/**
 * `field` is a source such as `status.name` or `lines[2].item`, or `record` where one side has no such
 * record.
 */
export type Difference = {
  readonly recordType: string;
  readonly id: string;
  readonly field: string;
  readonly served: unknown;
  readonly erp: unknown;
};
export type Comparison = {
  readonly recordType: string;
  readonly records: number;
  readonly lines: number;
  readonly differences: readonly Difference[];
};

type PublishedField = {
  name: string;
  source: string;
  description: string;
  as?: 'string';
  fields?: PublishedField[];
};

/**
 * Names are positions: `f3` is the fourth source. Numbers are served as text, so that no digit is lost here.
 */
const publishedRow = (fields: readonly ServedField[]): PublishedField[] =>
  listSources(fields).map(({ source, type }, index) => ({
    name: `f${index}`,
    source,
    description: '',
    ...((type === 'number' || type === 'integer') && { as: 'string' as const }),
  }));

/** The endpoint that shows all fields of a record type, lines with all of theirs. */
export function buildEndpoint({ name, recordType, fields }: Resource): object {
  const lines = fields.find(({ type }) => type === 'lines');
  const published = publishedRow(fields);
  if (lines !== undefined)
    published.push({
      name: 'lines',
      source: 'lines',
      description: '',
      fields: publishedRow(lines.lineFields ?? []),
    });
  return { name, recordType, fields: published, maxPageSize: 1000 };
}

type ServedRow = Readonly<Record<string, ServedValue>>;
type ServedRecord = { readonly id: string; readonly lines?: readonly ServedRow[] } & ServedRow;

/** All served records by id, as JSON text. Rejects with an Error unless the whole list arrives. */
async function readServed(
  { url, version, headers }: PublicAccess,
  { name }: Resource,
): Promise<Map<string, string>> {
  const response = await repeatRequest(() =>
    fetch(`${url}/api/public/${version}/${name}`, {
      headers: { ...headers, accept: 'application/x-ndjson' },
    }),
  );
  if (!response.ok || response.body === null)
    throw new Error(`${name}: ${response.status} ${await response.text()}`);
  const served = new Map<string, string>();
  let count = 0;
  for await (const line of createInterface({ input: Readable.fromWeb(response.body as ReadableStream) })) {
    if (line === '') continue;
    count += 1;
    served.set(/^\{"id":"([^"]*)"/.exec(line)?.[1] ?? '', line);
  }
  if (count !== served.size || count !== Number(response.headers.get('x-total-count')))
    throw new Error(
      `${name}: ${count} records with ${served.size} ids instead of ${response.headers.get('x-total-count')}`,
    );
  return served;
}

type Compare = {
  readonly resource: Resource;
  readonly names: Names;
  readonly header: readonly Source[];
  /** Null for a record type without lines. */
  readonly line: readonly Source[] | null;
  /** As JSON text by id; what has been compared is removed. */
  readonly served: Map<string, string>;
  readonly found: Difference[];
  records: number;
  lines: number;
};

type Report = (field: string, served: unknown, erp: unknown) => void;

function compareRow(
  names: Names,
  sources: readonly Source[],
  type: string | undefined,
  row: TrueFields,
  served: ServedRow,
  report: Report,
) {
  for (const [index, source] of sources.entries()) {
    const [value, wanted] = [
      normalize(served[`f${index}`], source.type),
      expectedValue(names, source, type, row),
    ];
    if (value !== wanted) report(source.source, value, wanted);
  }
}

function compareRecord(compare: Compare, record: TrueRecord, type: string | undefined): void {
  const { resource, names, served, found } = compare;
  const report: Report = (field, value, erp) =>
    found.push({ recordType: resource.recordType, id: record.id, field, served: value, erp });
  compare.records += 1;
  const text = served.get(record.id);
  served.delete(record.id);
  if (text === undefined) {
    report('record', 'absent', 'present');
    return;
  }
  const row = JSON.parse(text) as ServedRecord;
  compareRow(names, compare.header, type, record.fields, row, report);
  if (compare.line === null) return;
  const [lines, servedLines] = [documentLines(record), row.lines ?? []];
  compare.lines += lines.length;
  if (lines.length !== servedLines.length)
    report('lines', `${servedLines.length} lines`, `${lines.length} lines`);
  for (const [index, line] of lines.slice(0, servedLines.length).entries())
    compareRow(names, compare.line, type, line, servedLines[index] ?? {}, (field, value, erp) =>
      report(`lines[${index}].${field}`, value, erp),
    );
}

/**
 * Labels that name a transaction, now that the names of all are known by id: left out where they are right.
 */
const resolveDocuments = (
  found: readonly Difference[],
  documents: ReadonlyMap<string, string>,
): Difference[] =>
  found.flatMap((difference) => {
    const { erp, served } = difference;
    if (typeof erp !== 'string' || !erp.startsWith(unreadDocument)) return [difference];
    const name = documents.get(erp.slice(unreadDocument.length)) ?? null;
    return name === served ? [] : [{ ...difference, erp: name }];
  });

const isTransaction = ({ recordType }: Resource): boolean =>
  [...transactionTypes.values()].some((type) => type.recordType === recordType);

/** Compares the resources whose records are in one table, which is read once. */
async function compareTable(
  account: NetsuiteAccount,
  access: PublicAccess,
  names: Names,
  table: string,
  resources: readonly Resource[],
): Promise<Comparison[]> {
  const compared = new Map<string, Compare>();
  for (const resource of resources) {
    // The lines of a payment are what it was applied to, of which the control interface has no records.
    const lines =
      resource.recordType === 'customerPayment'
        ? undefined
        : resource.fields.find(({ type }) => type === 'lines')?.lineFields;
    const [header, line] = [listSources(resource.fields), lines === undefined ? null : listSources(lines)];
    const served = await readServed(access, resource);
    compared.set(resource.recordType, {
      resource,
      names,
      header,
      line,
      served,
      found: [],
      records: 0,
      lines: 0,
    });
  }
  const documents = new Map<string, string>();
  for await (const page of readTruth(account, table)) {
    for (const record of page) {
      if (table === 'transaction') documents.set(record.id, documentName(record));
      const type = table === 'transaction' ? record.fields['type'] : undefined;
      const compare = compared.get(
        type === undefined ? table : (transactionTypes.get(type)?.recordType ?? ''),
      );
      if (compare !== undefined) compareRecord(compare, record, type);
    }
  }
  return [...compared.values()].map(({ resource: { recordType }, served, found, records, lines }) => {
    const absent = [...served.keys()].map((id) => ({
      recordType,
      id,
      field: 'record',
      served: 'present',
      erp: 'absent',
    }));
    return { recordType, records, lines, differences: [...resolveDocuments(found, documents), ...absent] };
  });
}

/**
 * Compares all resources; rejects with an Error when a side can't be read. The account must not change
 * meanwhile.
 */
export async function compareServed(
  account: NetsuiteAccount,
  access: PublicAccess,
  resources: readonly Resource[],
): Promise<readonly Comparison[]> {
  const names = await readNames(account);
  const tables = Map.groupBy(resources, (resource) =>
    isTransaction(resource) ? 'transaction' : resource.recordType,
  );
  const compared: Comparison[] = [];
  for (const [table, those] of tables)
    compared.push(...(await compareTable(account, access, names, table, those)));
  return compared;
}
