// Compares the lines of records with the ERP's own totals: how many lines there are, what their numbers sum
// to, and when the latest of them changed. Lines that were just read are summed here; `changed-lines.ts` sums
// those of the table.
import type { Connector, LineReader, RecordTypeMetadata } from '../../connectors/connector.ts';
import type { LineTotals, SourceLine, SourceRecord } from '../../connectors/source-records.ts';
import type { LineField, RecordColumn } from '../../warehouse/columns.ts';
import type { RunState } from '../../warehouse/run-state-row.ts';
import { sumsUpTo } from './exact-sum.ts';

export type ComparableLines = {
  readonly reader: LineReader;
  readonly column: RecordColumn;
  readonly modifiedField: string | null;
};
type LineSource = {
  readonly connector: Connector;
  readonly recordType: RecordTypeMetadata;
  readonly fields: readonly string[];
};

const isWritten = ({ state }: RecordColumn): boolean =>
  state === 'live' || state === 'loading' || state === 'returned';

/** The lines that this run reads and the ERP has totals of; null where there are none. */
export function findComparableLines(
  { connector: { lines: reader }, recordType, fields }: LineSource,
  { columns, plan: { stale } }: Pick<RunState, 'columns' | 'plan'>,
): ComparableLines | null {
  const column = columns.find((one) => one.part === 'lines' && isWritten(one) && fields.includes(one.field));
  if (reader === undefined || column === undefined || stale[column.field] !== undefined) return null;
  const { linesModifiedField } = recordType;
  const isStored = (column.lineFields ?? []).some(({ name }) => name === linesModifiedField);
  return { reader, column, modifiedField: isStored ? linesModifiedField : null };
}

/** What is compared of a record's lines in addition to their number. */
export type Compared = {
  readonly sums: readonly string[];
  readonly modifiedField: string | null;
  readonly changedSince: string | null;
};

/** PostgreSQL truncates longer names. */
const maxNameBytes = 63;
const isNumber = ({ type }: LineField): boolean => type === 'number' || type === 'integer';

function comparedIn(
  { column, modifiedField }: ComparableLines,
  totals: readonly LineTotals[],
  since: Date | null,
): Compared {
  const stored = new Set((column.lineFields ?? []).filter(isNumber).map(({ name }) => name));
  const named = new Set(totals.flatMap(({ sums }) => Object.keys(sums)));
  const isCounted =
    since !== null && modifiedField !== null && totals.some(({ changed }) => changed !== undefined);
  return {
    sums: [...named].filter((name) => stored.has(name) && Buffer.byteLength(name) <= maxNameBytes),
    modifiedField,
    changedSince: isCounted ? `${since.toISOString().slice(0, 19)}Z` : null,
  };
}

/** What the proof of a run says was compared. */
export function describeCompared({ sums, modifiedField }: Compared): string {
  const parts = [
    'number of lines',
    ...(sums.length === 0 ? [] : [`sum of ${sums.join(', ').replace(/, ([^,]+)$/, ' and $1')}`]),
    ...(modifiedField === null ? [] : ['latest modification time of a line']),
  ];
  return parts.join(', ');
}

/** The lines of one record here. `numbers`: by the name of a sum, decimals that add up to it. */
export type OwnLines = {
  readonly count: number;
  readonly numbers: (name: string) => readonly string[];
  readonly modifiedAt: string | null;
  readonly changed: number;
};

/** Whether these are the lines that the ERP has totals of; a record without lines has none. */
export function isEqual(
  own: OwnLines,
  erp: LineTotals | undefined,
  { sums, modifiedField, changedSince }: Compared,
): boolean {
  return (
    own.count === (erp?.lines ?? 0) &&
    sums.every((name) => sumsUpTo(own.numbers(name), erp?.sums[name] ?? '0')) &&
    (modifiedField === null || own.modifiedAt === (erp?.modifiedAt ?? null)) &&
    (changedSince === null || own.changed === (erp?.changed ?? 0))
  );
}

type TotalsRequest = { readonly recordType: RecordTypeMetadata; readonly signal: AbortSignal };

/** Requests the totals of at most 1,000 records and what is comparable. Rejects as the connector. */
export async function requestTotals(
  { recordType, signal }: TotalsRequest,
  lines: ComparableLines,
  ids: readonly string[],
  changedSince: Date | null,
): Promise<{ totals: ReadonlyMap<string, LineTotals>; compared: Compared }> {
  const totals = await lines.reader.totals({
    recordType,
    ids,
    ...(changedSince !== null && { changedSince }),
    signal,
  });
  signal.throwIfAborted();
  return {
    totals: new Map(totals.map((one) => [one.id, one])),
    compared: comparedIn(lines, totals, changedSince),
  };
}

function ownLines(lines: readonly SourceLine[], { modifiedField }: Compared): OwnLines {
  const times = modifiedField === null ? [] : lines.map((line) => line[modifiedField] ?? null);
  return {
    count: lines.length,
    numbers: (name) => lines.map((line) => line[name] ?? '0'),
    modifiedAt: times.reduce<string | null>(
      (last, time) => (last === null || (time !== null && time > last) ? time : last),
      null,
    ),
    changed: 0,
  };
}

/** `read`: the number of lines that were read. */
export type DifferingLines = { readonly id: string; readonly read: number; readonly erp: number };

/**
 * Compares the lines of at most 1,000 records that were just read with the ERP's totals, which takes one
 * request. Rejects with the connector's errors.
 */
export async function compareReadLines(
  reading: TotalsRequest,
  lines: ComparableLines,
  records: readonly Pick<SourceRecord, 'id' | 'lines'>[],
): Promise<{ differing: DifferingLines[]; compared: Compared }> {
  const { totals, compared } = await requestTotals(
    reading,
    lines,
    records.map(({ id }) => id),
    null,
  );
  const differing = records.filter(
    (record) => !isEqual(ownLines(record.lines ?? [], compared), totals.get(record.id), compared),
  );
  return {
    differing: differing.map(({ id, lines: read }) => ({
      id,
      read: read?.length ?? 0,
      erp: totals.get(id)?.lines ?? 0,
    })),
    compared,
  };
}
