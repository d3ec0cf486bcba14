// Reads the pages of a run in order and readies their rows. The next page is asked for and readied while the one before is being
// written, so that neither the ERP nor PostgreSQL waits for the other; at most one page is ahead, and nothing of it counts until
// it is written in its turn.
import { setImmediate as otherWork } from 'node:timers/promises';
import type { Connector, Page, PageRequest, RejectedRecord, SourceRecord } from '../connectors/connector.ts';
import { type EncodedRecord, encodeRecord } from '../warehouse/encode.ts';
import type { RunState } from '../warehouse/run-row.ts';
import { isSoundId, tellable } from '../warehouse/soundness.ts';
import type { StagedPage } from '../warehouse/staging.ts';

export type ReadyPage = StagedPage & {
  /** The latest modification time among its records. */
  readonly maxModified: string | null;
};
/** What the rows are made for. */
type Target = Pick<RunState, 'columns'> & { readonly plan: Pick<RunState['plan'], 'idType'> };
/** `changedSince` null reads all. */
export type PageReader = (afterId: string | null, changedSince: string | null) => Promise<ReadyPage>;

const longestReason = 500;
const rejection = (id: unknown, code: string, message: string): RejectedRecord => ({
  id: tellable(id, 200),
  code,
  message: tellable(message, longestReason),
});

/** The record's row, or why it can't be taken as it came. */
function take(record: SourceRecord, { columns, plan: { idType } }: Target, repeated: ReadonlySet<string>): EncodedRecord | RejectedRecord {
  if (!isSoundId(record.id, idType)) return rejection(record.id, 'ID_UNREADABLE', `The id is no ${idType} id`);
  if (repeated.has(record.id)) return rejection(record.id, 'DUPLICATE_ID', 'The ERP gave more than one record with this id');
  const encoded = encodeRecord(record, columns);
  return typeof encoded === 'string' ? rejection(record.id, 'VALUE_UNREADABLE', encoded) : encoded;
}

function repeatedIds(records: readonly SourceRecord[]): Set<string> {
  const seen = new Set<string>();
  const repeated = new Set<string>();
  for (const { id } of records) (seen.has(id) ? repeated : seen).add(id);
  return repeated;
}

/** So many records are encoded at a stretch: requests that this process serves wait no longer than that takes. */
const stretch = 50;

/** What came, once it is sure that each record is what it claims to be: a bad one is rejected, the others of its page go on. */
export async function toStaged(page: Page, target: Target): Promise<StagedPage> {
  const repeated = repeatedIds(page.records);
  const records: EncodedRecord[] = [];
  const rejected = new Map<string, RejectedRecord>();
  for (const [index, record] of page.records.entries()) {
    if (index > 0 && index % stretch === 0) await otherWork();
    const taken = take(record, target, repeated);
    if ('row' in taken) records.push(taken);
    else rejected.set(taken.id, taken);
  }
  for (const { id, code, message } of page.rejected) {
    const told = rejection(id, code, message);
    rejected.set(told.id, told);
  }
  return {
    records: rejected.size === 0 ? records : records.filter(({ id }) => !rejected.has(tellable(id, 200))),
    rejected: [...rejected.values()],
    lastId: page.lastId,
    hasMore: page.hasMore,
  };
}

const latest = (records: readonly SourceRecord[]): string | null =>
  records.reduce<string | null>(
    (last, { modifiedAt }) => (last === null || (modifiedAt !== null && modifiedAt > last) ? modifiedAt : last),
    null,
  );

export function openPageReader(
  connector: Pick<Connector, 'readPage'>,
  target: Target,
  order: Omit<PageRequest, 'afterId' | 'changedSince'>,
): PageReader {
  let ahead: { readonly key: string; readonly page: Promise<ReadyPage> } | null = null;
  const keyOf = (afterId: string | null, changedSince: string | null): string => JSON.stringify([afterId, changedSince]);
  const read = async (afterId: string | null, changedSince: string | null): Promise<ReadyPage> => {
    const page = await connector.readPage({ ...order, afterId, changedSince: changedSince === null ? null : new Date(changedSince) });
    order.signal.throwIfAborted();
    return { ...(await toStaged(page, target)), maxModified: latest(page.records) };
  };
  return async (afterId, changedSince) => {
    const key = keyOf(afterId, changedSince);
    const coming = ahead?.key === key ? ahead.page : read(afterId, changedSince);
    ahead = null;
    const page = await coming;
    order.signal.throwIfAborted();
    if (page.hasMore && page.lastId !== null && page.lastId !== afterId) {
      const next = { key: keyOf(page.lastId, changedSince), page: read(page.lastId, changedSince) };
      // Whoever takes it sees how it failed; nobody takes it when the run ends here.
      next.page.catch(() => undefined);
      ahead = next;
    }
    return page;
  };
}
