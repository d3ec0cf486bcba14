// What a connector answers, limited to what PostgreSQL can hold: ids, cursors and modification times become
// parameters of many statements, each of which would fail for a record that no retry makes storable. Such a
// record is rejected with its id. Values are checked where rows are encoded, in `encode.ts`.
import type { Connector, LineReader, RecordTypeMetadata } from '../../connectors/connector.ts';
import type { RecordRejection, ScannedRecord } from '../../connectors/source-records.ts';
import { isTime } from '../../core/text/calendar.ts';
import { isValidId, maxIdLength, toStorableText } from '../../warehouse/validate-values.ts';

type IdType = RecordTypeMetadata['idType'];
type Page<T> = {
  readonly records: readonly T[];
  readonly rejected: readonly RecordRejection[];
  readonly lastId: string | null;
  readonly hasMore: boolean;
};

const storableId = (id: unknown): string => toStorableText(id, maxIdLength);

/** Null for a record whose id and modification time can be stored. */
function findRejection({ id, modifiedAt, values }: ScannedRecord, idType: IdType): RecordRejection | null {
  if (!isValidId(id, idType))
    return { id: storableId(id), code: 'ID_UNREADABLE', message: `The id is not a valid ${idType} id` };
  if (modifiedAt === null || isTime(modifiedAt)) return null;
  const message = 'The modification time is not a time in UTC of the years 0001 to 9999';
  return { id, code: 'VALUE_UNREADABLE', message, values };
}

/** A page with more to follow but no storable cursor has no end, as `assertPageAdvances` reports. */
function storablePage<T extends ScannedRecord>(page: Page<T>, idType: IdType): Page<T> {
  const rejected = page.records.flatMap((record) => findRejection(record, idType) ?? []);
  const { lastId } = page;
  return {
    ...page,
    lastId: lastId === null || isValidId(lastId, idType) ? lastId : null,
    records:
      rejected.length === 0
        ? page.records
        : page.records.filter((record) => findRejection(record, idType) === null),
    rejected: [...page.rejected.map((one) => ({ ...one, id: storableId(one.id) })), ...rejected],
  };
}

const storableLineReader = (lines: LineReader): LineReader => ({
  ...lines,
  listChanged: async (request) => {
    const { ids, hasMore } = await lines.listChanged(request);
    return { ids: ids.map(storableId), hasMore };
  },
});

/** The connector with answers that PostgreSQL can hold. Its methods reject as those of the connector do. */
export function withStorableAnswers(connector: Connector): Connector {
  const { lines, deletedSince, changeTracking } = connector;
  return {
    ...connector,
    readPage: async (request) => storablePage(await connector.readPage(request), request.recordType.idType),
    readByIds: async (request) => storablePage(await connector.readByIds(request), request.recordType.idType),
    scan: async (request) => storablePage(await connector.scan(request), request.recordType.idType),
    // A listed time that can't be stored counts as none: the record itself is read, and rejected.
    listIds: async (request) => {
      const { listed, hasMore } = await connector.listIds(request);
      const storable = listed.map(({ id, modifiedAt }) => ({
        id: storableId(id),
        modifiedAt: modifiedAt !== null && isTime(modifiedAt) ? modifiedAt : null,
      }));
      return { listed: storable, hasMore };
    },
    ...(deletedSince && {
      deletedSince: async (request) => {
        const feed = await deletedSince(request);
        return feed.available
          ? { ...feed, deleted: feed.deleted.filter(({ id }) => isValidId(id, request.recordType.idType)) }
          : feed;
      },
    }),
    ...(changeTracking && {
      changeTracking: {
        list: async (request) => {
          const { changed, removed, ...rest } = await changeTracking.list(request);
          const isValid = (id: string) => isValidId(id, request.recordType.idType);
          return { ...rest, changed: changed.filter(isValid), removed: removed.filter(isValid) };
        },
      },
    }),
    ...(lines !== undefined && { lines: storableLineReader(lines) }),
  };
}
