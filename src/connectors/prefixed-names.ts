// The record types of a connection that isn't the organization's first one have its name before their own. The connector
// knows its own names only.
import type { Connector, FieldMetadata, RecordTypeMetadata } from './connector.ts';

type Named = { readonly recordType: RecordTypeMetadata };
type Rename = (name: string) => string;

const renameField =
  (rename: Rename) =>
  ({ target, fields, ...field }: FieldMetadata): FieldMetadata => ({
    ...field,
    ...(target !== undefined && { target: rename(target) }),
    ...(fields !== undefined && { fields: fields.map(renameField(rename)) }),
  });

const renameType = (recordType: RecordTypeMetadata, rename: Rename): RecordTypeMetadata => ({
  ...recordType,
  name: rename(recordType.name),
  fields: recordType.fields.map(renameField(rename)),
});

/** Those of the methods that are optional, where the connector has them. */
function renameOptional(connector: Connector, add: Rename, remove: Rename): Partial<Connector> {
  const own = (recordType: RecordTypeMetadata) => renameType(recordType, remove);
  const inside = <R extends Named>(request: R): R => ({ ...request, recordType: own(request.recordType) });
  const { discover, countListed, describeQuery, estimateRead, countChanged, filterMoved } = connector;
  const { deletedSince, types, lines, changeTracking } = connector;
  return {
    ...(discover && {
      discover: async (signal) => (await discover(signal)).map((head) => ({ ...head, name: add(head.name) })),
    }),
    ...(countListed && {
      countListed: async (heads, signal) => {
        const counts = await countListed(
          heads.map((head) => ({ ...head, name: remove(head.name) })),
          signal,
        );
        return new Map([...counts].map(([name, count]) => [add(name), count]));
      },
    }),
    ...(describeQuery && {
      describeQuery: async (source, signal, last) =>
        renameType(
          await describeQuery({ ...source, name: remove(source.name) }, signal, last && own(last)),
          add,
        ),
    }),
    ...(estimateRead && { estimateRead: (request) => estimateRead(inside(request)) }),
    ...(countChanged && { countChanged: (request) => countChanged(inside(request)) }),
    ...(deletedSince && { deletedSince: (request) => deletedSince(inside(request)) }),
    ...(changeTracking && {
      changeTracking: { list: (request) => changeTracking.list(inside(request)) },
    }),
    ...(filterMoved && { filterMoved: (request) => filterMoved(inside(request)) }),
    ...(types && {
      types: { ...types, compare: (recordType, signal) => types.compare(own(recordType), signal) },
    }),
    ...(lines && {
      lines: {
        totals: (request) => lines.totals(inside(request)),
        listChanged: (request) => lines.listChanged(inside(request)),
      },
    }),
  };
}

/** The same connector, with `prefix` before the name of each of its record types. Rejects as it does. */
export function withPrefixedNames(connector: Connector, prefix: string): Connector {
  const add: Rename = (name) => prefix + name;
  const remove: Rename = (name) => (name.startsWith(prefix) ? name.slice(prefix.length) : name);
  const own = (recordType: RecordTypeMetadata) => renameType(recordType, remove);
  const inside = <R extends Named>(request: R): R => ({ ...request, recordType: own(request.recordType) });
  return {
    ...connector,
    test: async (signal) => {
      const report = await connector.test(signal);
      const problems = report.problems.map(({ recordTypes, ...problem }) => ({
        ...problem,
        ...(recordTypes !== undefined && { recordTypes: recordTypes.map(add) }),
      }));
      return { ...report, problems };
    },
    metadata: async (signal, only, last) =>
      (await connector.metadata(signal, only?.map(remove), last?.map(own))).map((one) =>
        renameType(one, add),
      ),
    count: (recordType, signal, range) => connector.count(own(recordType), signal, range),
    readPage: (request) => connector.readPage(inside(request)),
    readByIds: (request) => connector.readByIds(inside(request)),
    listIds: (request) => connector.listIds(inside(request)),
    scan: (request) => connector.scan(inside(request)),
    ...renameOptional(connector, add, remove),
  };
}
