// Reads records by id, a part of the ids at a time, and what pages must obey so that reading ends.
import {
  type Connector,
  ErpError,
  type RecordPage,
  type RecordTypeMetadata,
} from '../../connectors/connector.ts';
import type { SourceRecord } from '../../connectors/source-records.ts';
import type { StagedPage } from '../../warehouse/staging.ts';

/** Bounded because the response contains all lines of these records. */
export const idsPerRequest = 200;

/** The sort order of ids: integers by value, texts by their bytes. */
export const isIdBefore = (a: string, b: string, idType: 'integer' | 'text'): boolean =>
  idType === 'integer' ? BigInt(a) < BigInt(b) : Buffer.compare(Buffer.from(a), Buffer.from(b)) < 0;

/** Throws an `ErpError` `PAGE_WITHOUT_END` when more is to follow but no later record is named. */
export function assertPageAdvances(page: Pick<StagedPage, 'hasMore' | 'lastId'>, checkpoint: string | null) {
  if (!page.hasMore || (page.lastId !== null && page.lastId !== checkpoint)) return;
  throw new ErpError(
    'answer',
    'PAGE_WITHOUT_END',
    'The ERP reported that more records follow but named no record to continue from',
    { fix: "Run the sync again; if it fails again, report it to the ERP's support." },
  );
}

type RecordSource = {
  readonly connector: Pick<Connector, 'readByIds'>;
  readonly recordType: RecordTypeMetadata;
  readonly signal: AbortSignal;
};

/**
 * Reads records by id, a part of the ids at a time: where records are large, the connector ends a page early.
 * Throws an `ErpError` `PAGE_WITHOUT_END` when a page doesn't advance, and the connector's errors.
 */
export async function* readByIds(
  { connector, recordType, signal }: RecordSource,
  fields: readonly string[],
  ids: readonly string[],
): AsyncGenerator<{ readonly ids: readonly string[]; readonly page: RecordPage }> {
  for (let rest = [...ids]; rest.length > 0; ) {
    const batch = rest.slice(0, idsPerRequest);
    const page = await connector.readByIds({ recordType, fields, ids: batch, signal });
    signal.throwIfAborted();
    const { lastId, hasMore } = page;
    const isUnread = (id: string): boolean =>
      hasMore && (lastId === null || isIdBefore(lastId, id, recordType.idType));
    const unread = batch.filter(isUnread);
    assertPageAdvances({ hasMore: unread.length === batch.length, lastId: null }, null);
    rest = [...unread, ...rest.slice(batch.length)];
    yield { ids: batch.filter((id) => !isUnread(id)), page };
  }
}

/** The records of these few ids at once, with some fields. Throws what `readByIds` throws. */
export async function readRecordsByIds(
  source: RecordSource,
  fields: readonly string[],
  ids: readonly string[],
): Promise<SourceRecord[]> {
  const records: SourceRecord[] = [];
  for await (const { page } of readByIds(source, fields, ids)) records.push(...page.records);
  return records;
}
