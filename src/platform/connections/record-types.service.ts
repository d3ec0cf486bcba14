// Record types with their fields, described when first needed and again after the account was listed again.
import { ErpError, type RecordTypeMetadata } from '../../connectors/connector.ts';
import type { RequestCtx } from '../../core/ctx.ts';
import { invalid, unavailable } from '../../core/errors.ts';
import {
  type ConnectionName,
  connectionOf,
  fetchAndStoreDescriptions,
  groupByConnection,
  readRecordTypes,
  type StoredRecordType,
} from '../../sync/index.ts';
import { getConnector } from './test-connection.service.ts';

export const metadataTimeoutMs = 300_000;
/** Stored together, so that a request that runs out of time leaves less for the next one. */
const describedAtOnce = 20;

/** What a retry can't fix (credentials, permissions, queries) is 422; all else means unavailable: 503. */
export function metadataFailure(error: unknown, timedOut: boolean): unknown {
  if (timedOut) return unavailable('The ERP did not respond in time', 60, error);
  if (!(error instanceof ErpError)) return error;
  const permanent = ['credentials', 'forbidden', 'query'].includes(error.kind);
  if (!permanent)
    return unavailable(
      `The ERP could not be read: ${error.message.replace(/\.$/, '')}. ${error.fix}`,
      30,
      error,
    );
  return invalid(`The ERP could not be read: ${error.message}`, [
    { path: '', code: error.code, message: error.fix },
  ]);
}

/** Of one connection each. A query that the ERP refuses fails alone. */
const groupTypes = (types: readonly StoredRecordType[]): StoredRecordType[][] =>
  [...groupByConnection(types, ({ head }) => head.name).values()].flatMap(groupOfConnection);

function groupOfConnection(types: readonly StoredRecordType[]): StoredRecordType[][] {
  const others = types.filter(({ head }) => head.family !== 'query');
  const groups = Array.from({ length: Math.ceil(others.length / describedAtOnce) }, (_, index) =>
    others.slice(index * describedAtOnce, (index + 1) * describedAtOnce),
  );
  return [...groups, ...types.filter(({ head }) => head.family === 'query').map((type) => [type])];
}

/**
 * Record types by name, with their fields. Names that the account's list doesn't have are absent. What was
 * described before the account was last listed is described again, and stays as it is while the ERP can't be
 * read. For others, throws 422 without a connection or when the ERP refuses it, and 503 when it is
 * unavailable or doesn't respond within 5 minutes; what it described until then is stored.
 */
export async function describeRecordTypes(
  ctx: RequestCtx,
  names: readonly string[],
): Promise<ReadonlyMap<string, RecordTypeMetadata>> {
  const stored = [...(await readRecordTypes(ctx, names)).values()];
  const found = new Map(
    stored.flatMap(({ head, description }) =>
      description === null ? [] : [[head.name, description] as const],
    ),
  );
  const timeout = AbortSignal.timeout(metadataTimeoutMs);
  const signal = AbortSignal.any([ctx.disconnected, timeout]);
  const connectors = new Map<ConnectionName, ReturnType<typeof getConnector>>();
  const describe = async (group: readonly string[]): Promise<void> => {
    const connection = connectionOf(group[0] ?? '');
    const connector = connectors.get(connection) ?? getConnector(ctx, connection);
    connectors.set(connection, connector);
    const described = await fetchAndStoreDescriptions(ctx, await connector, group, signal);
    for (const name of group) found.delete(name);
    for (const recordType of described) found.set(recordType.name, recordType);
  };
  const groups = [
    ...groupTypes(stored.filter(({ description }) => description === null)),
    ...groupTypes(stored.filter(({ description, isOutdated }) => description !== null && isOutdated)),
  ];
  for (const group of groups) {
    try {
      await describe(group.map(({ head }) => head.name));
    } catch (error) {
      if (group.some(({ description }) => description === null))
        throw metadataFailure(error, timeout.aborted);
      ctx.log.warn({ err: error }, 'could not describe record types of the ERP again; using what is stored');
      if (!(error instanceof ErpError) || error.kind !== 'query') break;
    }
  }
  return found;
}
