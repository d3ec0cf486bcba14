// Columns that come empty: a field that had values in many of the records that a run read and has none in
// them now. It may have been emptied in the ERP, or the ERP may have left it out of its answers, so records
// are read again one at a time. A value found there fails the run, unless the record changed in between. If
// they are empty too, the stored values stay until the field is filled or an administrator accepts that it is
// empty. A field that only some lines lost is believed when it is missing in the second reading too.
import type { SourceRecord } from '../../connectors/source-records.ts';
import { inDataTransaction } from '../../db/transaction.ts';
import { countRead, type Emptied, findEmptied } from '../../warehouse/emptied-columns.ts';
import { readRecordState, type StalePlan } from '../../warehouse/record-state.ts';
import type { RunState } from '../../warehouse/run-state-row.ts';
import { readRecordsByIds } from '../account/read-by-ids.ts';
import { hasValue, maxRecordsAsked } from '../fields/ask-filled.ts';
import { ProofFailed } from '../queue/retry.ts';
import { writeRunEvent } from '../queue/run-events.store.ts';
import { type RunReadContext, saveStep } from '../stage/read-context.ts';

/**
 * A field that came empty in at least `minRows` records is read again; it is suspicious when these are at
 * least `minShare` of the records read that had a value.
 */
const suspicion = { minRows: 20, minShare: 0.5 };

const describeField = ({ field, part, lineField }: Emptied): string =>
  part === 'label' ? `${field} (display text)` : lineField === null ? field : `${field}.${lineField}`;

function columnEmptied(emptied: Emptied, id: string): ProofFailed {
  return new ProofFailed(
    'COLUMN_EMPTIED',
    `The field ${describeField(emptied)} came empty in ${emptied.emptied} of ${emptied.had} records that had a value, but record ${id} has one when it is read again`,
    "Nothing was published. Run the sync again; if it fails again, report it to the ERP's support: its answers to queries leave values out.",
  );
}

type Asked = Emptied['records'][number] & { readonly emptied: Emptied };

/**
 * Whether a record that was read again is another one than the run read: since then it may have been filled
 * as well as emptied.
 */
function isChanged(
  reading: RunReadContext,
  { counters }: RunState,
  before: Asked,
  { modifiedAt, lines }: SourceRecord,
): boolean {
  if (modifiedAt !== null && modifiedAt > (before.modifiedAt ?? counters.erpStartedAt)) return true;
  const { linesModifiedField } = reading.recordType;
  if (before.emptied.part !== 'lines' || linesModifiedField === null) return false;
  return (lines ?? []).some((line) => (line[linesModifiedField] ?? '') > counters.erpStartedAt);
}

/**
 * Reads some of the records that came empty again: each alone, or all in one request; as many as it takes
 * until one of them is as it was and is empty. Throws `ProofFailed` `COLUMN_EMPTIED` when one that is as it
 * was has a value after all.
 */
async function confirmEmpty(
  reading: RunReadContext,
  state: RunState,
  found: readonly Emptied[],
  alone: boolean,
): Promise<void> {
  let open = found;
  for (let start = 0; open.length > 0; start += maxRecordsAsked) {
    const some = (emptied: Emptied): Asked[] =>
      emptied.records.slice(start, start + maxRecordsAsked).map((record) => ({ ...record, emptied }));
    const asked = open.flatMap(some);
    const confirmed = new Set<Emptied>();
    for (const batch of Map.groupBy(asked, ({ id }) => (alone ? id : '')).values()) {
      const fields = [...new Set(batch.map(({ emptied }) => emptied.field))];
      const read = await readRecordsByIds(reading, fields, [...new Set(batch.map(({ id }) => id))]);
      const records = new Map(read.map((record) => [record.id, record]));
      const unchanged = batch.flatMap((one) => {
        const record = records.get(one.id);
        return record === undefined || isChanged(reading, state, one, record) ? [] : [{ ...one, record }];
      });
      const filled = unchanged.find(({ emptied, record, filled: read }) => hasValue(record, emptied, read));
      if (filled !== undefined) throw columnEmptied(filled.emptied, filled.id);
      for (const { emptied } of unchanged) confirmed.add(emptied);
    }
    open = open.filter(
      (emptied) => !confirmed.has(emptied) && emptied.records.length > start + maxRecordsAsked,
    );
  }
}

/** One entry per field, whichever of its parts came empty. */
function staleEntries(found: readonly Emptied[]): StalePlan {
  const byField = Map.groupBy(found, ({ field }) => field);
  return Object.fromEntries(
    [...byField].map(([field, parts]) => {
      const counts = parts
        .map((part) => `${describeField(part)} in ${part.emptied} of ${part.had}`)
        .join(', ');
      const lineFields = parts.flatMap(({ lineField }) => lineField ?? []);
      const isLineFieldsOnly = lineFields.length === parts.length;
      return [
        field,
        {
          reason: 'empty' as const,
          message: `Records that had a value came empty, also when they were read alone: ${counts} records`,
          ids: parts[0]?.records.slice(0, maxRecordsAsked).map(({ id }) => id) ?? [],
          ...(isLineFieldsOnly && { lineFields }),
          ...(parts.every(({ part }) => part === 'label') && { labelOnly: true as const }),
        },
      ];
    }),
  );
}

/**
 * Looks for columns that came empty in what the run read, and withholds those that are empty in single reads
 * too: see `RunPlan.stale`. Call it when reading is complete and before anything is proved. Throws
 * `ProofFailed` `COLUMN_EMPTIED` when a single read finds a value, and as the connector and `stageRunPage`.
 */
export async function withholdEmptied(reading: RunReadContext, state: RunState): Promise<RunState> {
  const { ctx, lease, prepared } = reading;
  const { schema, activeTable } = prepared;
  if (activeTable === null) return state;
  const stored = await readRecordState(ctx.db.data, schema, state.recordType);
  const accepted = stored?.acceptedFields ?? {};
  const { modifiedField } = reading.recordType;
  const candidates = await inDataTransaction(ctx.db.data, (client) =>
    findEmptied(client, schema, state, activeTable, suspicion.minRows, modifiedField),
  );
  const counted: Emptied[] = [];
  for (const candidate of candidates) {
    if (
      Object.hasOwn(accepted, candidate.field) &&
      isCovered(accepted[candidate.field]?.lineFields, candidate)
    )
      continue;
    const had = await inDataTransaction(ctx.db.data, (client) =>
      countRead(client, schema, state, activeTable, candidate),
    );
    counted.push({ ...candidate, had });
  }
  const isSuspicious = ({ partly, emptied, had }: Emptied) => !partly && emptied >= had * suspicion.minShare;
  const suspicious = counted.filter(isSuspicious);
  // A smaller share, or some lines, may well have been emptied in the ERP: the ERP only has to say so twice.
  await confirmEmpty(
    reading,
    state,
    counted.filter((emptied) => !isSuspicious(emptied)),
    false,
  );
  await confirmEmpty(reading, state, suspicious, true);
  if (suspicious.length === 0) return state;
  const stale = staleEntries(suspicious);
  await writeRunEvent(ctx, lease.runId, 'warning', 'fields came empty; their stored values stay', {
    fields: Object.keys(stale),
  });
  return saveStep(reading, state, { plan: { stale: { ...state.plan.stale, ...stale } } });
}

const isCovered = (lineFields: readonly string[] | undefined, { lineField }: Emptied): boolean =>
  lineFields === undefined || (lineField !== null && lineFields.includes(lineField));
