// Reads the pages of a run in order, proves their lines and encodes their rows. The next page is requested
// and encoded while the previous one is being written, so that neither the ERP nor PostgreSQL waits for the
// other. At most one page is prefetched, and it has no effect until it is written in its turn.
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Connector, PageRequest, RecordPage } from '../../connectors/connector.ts';
import type { RecordRejection, SourceRecord } from '../../connectors/source-records.ts';
import { type EncodedRecord, encodeRecord } from '../../warehouse/encode.ts';
import type { RunState } from '../../warehouse/run-state-row.ts';
import type { SizeLimits } from '../../warehouse/size-limits.ts';
import type { StagedPage } from '../../warehouse/staging.ts';
import { isValidId, toStorableText } from '../../warehouse/validate-values.ts';
import type { LineFacts, LineProver } from '../prove/line-prover.ts';

/** A page whose lines were compared; `lines` is null where none could be. */
export type ProvedPage = StagedPage & { readonly lines: LineFacts | null };
export type ReadyPage = ProvedPage & {
  /** The latest modification time among its records; null when none has one. */
  readonly maxModified: string | null;
  readonly changeToken: string | null;
};
/** What decides whether a record that was read is staged or rejected. */
export type PageRules = {
  /** Rejects where the records show that fields are of other types than those that they were read as. */
  readonly checkTypes: (records: readonly SourceRecord[]) => Promise<void>;
  readonly proveLines: LineProver;
  readonly limits: SizeLimits;
};
/** The columns and the id type that rows are encoded for. */
type RowTarget = Pick<RunState, 'columns'> & { readonly plan: Pick<RunState['plan'], 'idType'> };
/** `changedSince` null reads all records. Rejects as the connector, or with the reason of the abort. */
export type PageReader = (afterId: string | null, changedSince: string | null) => Promise<ReadyPage>;

const maxReasonLength = 500;
const rejection = (
  id: unknown,
  code: string,
  message: string,
  values?: SourceRecord['values'],
): RecordRejection => ({
  id: toStorableText(id, 200),
  code,
  message: toStorableText(message, maxReasonLength),
  ...(values !== undefined && { values }),
});

/** The record's row, or a rejection that says why it can't be stored. */
function encodeOrReject(
  record: SourceRecord,
  { columns, plan: { idType } }: RowTarget,
  repeated: ReadonlySet<string>,
  limits: SizeLimits,
): EncodedRecord | RecordRejection | Promise<EncodedRecord> {
  if (!isValidId(record.id, idType))
    return rejection(record.id, 'ID_UNREADABLE', `The id is not a valid ${idType} id`);
  if (repeated.has(record.id))
    return rejection(record.id, 'DUPLICATE_ID', 'The ERP returned more than one record with this id');
  const encoded = encodeRecord(record, columns, limits);
  return encoded instanceof Promise || 'row' in encoded
    ? encoded
    : rejection(record.id, encoded.code, encoded.message, record.values);
}

function repeatedIds(records: readonly SourceRecord[]): Set<string> {
  const seen = new Set<string>();
  const repeated = new Set<string>();
  for (const { id } of records) (seen.has(id) ? repeated : seen).add(id);
  return repeated;
}

/**
 * The event loop gets a turn after this many records, or fewer with this many characters: requests to this
 * process wait no longer than encoding them takes. A rejected record, maybe a large one, counts as a turn.
 */
const recordsPerYield = 50;
const charactersPerYield = 262_144;

/** Validates and encodes each record of a page. Invalid ones are rejected, the others staged. */
async function encodePage(page: RecordPage, target: RowTarget, limits: SizeLimits): Promise<StagedPage> {
  const repeated = repeatedIds(page.records);
  const records: EncodedRecord[] = [];
  const rejected = new Map<string, RecordRejection>();
  let work = 0;
  for (const record of page.records) {
    if (work >= 1) {
      await yieldToEventLoop();
      work = 0;
    }
    const made = encodeOrReject(record, target, repeated, limits);
    const result = made instanceof Promise ? await made : made;
    if ('row' in result) records.push(result);
    else rejected.set(result.id, result);
    work += 1 / recordsPerYield + ('row' in result ? result.row.length / charactersPerYield : 1);
  }
  for (const { id, code, message, values } of page.rejected) {
    const storable = rejection(id, code, message, values);
    rejected.set(storable.id, storable);
  }
  return {
    records:
      rejected.size === 0 ? records : records.filter(({ id }) => !rejected.has(toStorableText(id, 200))),
    rejected: [...rejected.values()],
    lastId: page.lastId,
    hasMore: page.hasMore,
  };
}

/** Replaces records by what was read of them later; those that weren't found again stay as they are. */
function replaceRecords(page: RecordPage, later: readonly RecordPage[]): RecordPage {
  const records = new Map(later.flatMap((one) => one.records).map((record) => [record.id, record]));
  const rejected = later.flatMap((one) => one.rejected);
  const isRejected = new Set(rejected.map(({ id }) => id));
  return {
    ...page,
    records: page.records
      .filter(({ id }) => !isRejected.has(id))
      .map((record) => records.get(record.id) ?? record),
    rejected: [...page.rejected, ...rejected],
  };
}

/** Encodes a page that was read, and proves the lines of its storable records. Rejects as the rules do. */
export async function toStagedPage(
  { checkTypes, proveLines, limits }: PageRules,
  page: RecordPage,
  target: RowTarget,
): Promise<ProvedPage> {
  await checkTypes(page.records);
  const encoded = await encodePage(page, target, limits);
  const isRejected = new Set(encoded.rejected.map(({ id }) => id));
  const { again, lines } = await proveLines(
    page.records.filter(({ id }) => !isRejected.has(toStorableText(id, 200))),
  );
  for (const { records } of again) await checkTypes(records);
  return {
    ...(again.length === 0 ? encoded : await encodePage(replaceRecords(page, again), target, limits)),
    lines,
  };
}

const latestModified = (records: readonly SourceRecord[]): string | null =>
  records.reduce<string | null>(
    (last, { modifiedAt }) =>
      last === null || (modifiedAt !== null && modifiedAt > last) ? modifiedAt : last,
    null,
  );

/**
 * The reader rejects with the connector's error, as the prover does, or with the signal's reason when
 * `request.signal` aborts.
 */
export function createPageReader(
  connector: Pick<Connector, 'readPage'>,
  rules: PageRules,
  target: RowTarget,
  request: Omit<PageRequest, 'afterId' | 'changedSince'>,
): PageReader {
  let prefetched: { readonly key: string; readonly page: Promise<ReadyPage> } | null = null;
  const toKey = (afterId: string | null, changedSince: string | null): string =>
    JSON.stringify([afterId, changedSince]);
  const read = async (afterId: string | null, changedSince: string | null): Promise<ReadyPage> => {
    const page = await connector.readPage({
      ...request,
      afterId,
      changedSince: changedSince === null ? null : new Date(changedSince),
    });
    request.signal.throwIfAborted();
    const { records, changeToken = null, isUnordered = false } = page;
    const found = { maxModified: latestModified(records), changeToken, isUnordered };
    return { ...(await toStagedPage(rules, page, target)), ...found };
  };
  return async (afterId, changedSince) => {
    const key = toKey(afterId, changedSince);
    const pending = prefetched?.key === key ? prefetched.page : read(afterId, changedSince);
    prefetched = null;
    const page = await pending;
    request.signal.throwIfAborted();
    if (page.hasMore && page.lastId !== null && page.lastId !== afterId) {
      const next = { key: toKey(page.lastId, changedSince), page: read(page.lastId, changedSince) };
      // The caller that awaits the page sees its error. Without this handler it would be unhandled when the
      // run ends before that.
      next.page.catch(() => undefined);
      prefetched = next;
    }
    return page;
  };
}
