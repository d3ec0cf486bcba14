// Asks the ERP whether fields that came empty in an earlier run are filled again.
import type { Connector, RecordTypeMetadata } from '../../connectors/connector.ts';
import type { SourceRecord } from '../../connectors/source-records.ts';
import { type RecordColumn, sourceValue } from '../../warehouse/columns.ts';
import type { Emptied } from '../../warehouse/emptied-columns.ts';
import type { RecordState, StaleField, StalePlan } from '../../warehouse/record-state.ts';
import { isAccepted } from '../../warehouse/stale-fields.ts';
import { readRecordsByIds } from '../account/read-by-ids.ts';

/** Enough to notice that the ERP has values, and few enough to read each alone. */
export const maxRecordsAsked = 20;

type Reader = {
  readonly connector: Connector;
  readonly recordType: RecordTypeMetadata;
  readonly signal: AbortSignal;
};

/**
 * Whether the record has a value in the part of the field that came empty; of a field of lines, in more than
 * `filled` of them.
 */
export function hasValue(
  record: SourceRecord,
  emptied: Pick<Emptied, 'field' | 'part' | 'lineField'>,
  filled = 0,
): boolean {
  const { lineField } = emptied;
  if (emptied.part !== 'lines') return (sourceValue(record, emptied) ?? null) !== null;
  const lines = record.lines ?? [];
  return lineField === null
    ? lines.length > 0
    : lines.filter((line) => (line[lineField] ?? null) !== null).length > filled;
}

type EmptyField = Pick<StaleField, 'ids' | 'lineFields' | 'labelOnly'>;
export type EmptyFields = ReadonlyMap<string, EmptyField>;
/** `filled`: one of the records that came empty has a value again · `gone`: none of them exists any more. */
export type Found = 'empty' | 'filled' | 'gone';

/** Reads the records in which fields came empty, one request per field. Throws as the connector. */
export async function askFilled(reader: Reader, empty: EmptyFields): Promise<ReadonlyMap<string, Found>> {
  const answers = new Map<string, Found>();
  const { recordType } = reader;
  const readable = new Map(
    recordType.fields.filter(({ syncable }) => syncable).map((field) => [field.name, field]),
  );
  for (const [field, { ids = [], ...parts }] of empty) {
    const metadata = readable.get(field);
    if (metadata === undefined) continue;
    const records = await readRecordsByIds(reader, [field], ids.slice(0, maxRecordsAsked));
    const emptied = toParts(field, metadata.type === 'lines', parts);
    const isFilled = emptied.some((part) => records.some((record) => hasValue(record, part)));
    answers.set(field, records.length === 0 ? 'gone' : isFilled ? 'filled' : 'empty');
  }
  return answers;
}

/**
 * The fields that came empty in an earlier run and are still empty, and whether the run must be a full one
 * because a field is filled again, accepted ones included, or because there is no record left to ask for.
 * `columns` are those that the run would write.
 */
export async function findStillEmpty(
  { staleFields, acceptedFields }: Pick<RecordState, 'staleFields' | 'acceptedFields'>,
  columns: readonly RecordColumn[],
  ask: (empty: EmptyFields) => Promise<ReadonlyMap<string, Found>>,
): Promise<{ stale: StalePlan; isFilledAgain: boolean }> {
  const read = new Set(columns.filter(({ state }) => state === 'live').map(({ field }) => field));
  const isEmpty = ([field, { reason }]: readonly [string, Pick<StaleField, 'reason'>]): boolean =>
    reason === 'empty' && read.has(field);
  const stale = Object.entries(staleFields).filter(
    (entry) => isEmpty(entry) && !isAccepted(entry[1], acceptedFields[entry[0]]),
  );
  const accepted = Object.entries(acceptedFields).filter(isEmpty);
  if (stale.length + accepted.length === 0) return { stale: {}, isFilledAgain: false };
  const answers = await ask(new Map<string, EmptyField>([...accepted, ...stale]));
  const still = stale.filter(([field]) => answers.get(field) === 'empty');
  return {
    stale: Object.fromEntries(still.map(([field, { since: _, syncedAt: __, ...found }]) => [field, found])),
    isFilledAgain: still.length < stale.length || accepted.some(([field]) => answers.get(field) === 'filled'),
  };
}

const toParts = (field: string, isLines: boolean, { lineFields, labelOnly }: EmptyField) => {
  if (!isLines)
    return [{ field, part: labelOnly === true ? ('label' as const) : ('value' as const), lineField: null }];
  return (lineFields ?? [null]).map((lineField) => ({ field, part: 'lines' as const, lineField }));
};
