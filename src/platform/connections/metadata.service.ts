// The ERP's record types and fields, as when the account was last listed and each type last described.

import type { RecordTypeMetadata } from '../../connectors/connector.ts';
import { netsuiteName } from '../../connectors/secret-binding.ts';
import type { RequestCtx } from '../../core/ctx.ts';
import { errorMessage, notFound } from '../../core/errors.ts';
import { inTransaction } from '../../db/transaction.ts';
import { instant } from '../../http/fields.ts';
import { toPage } from '../../http/page.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import {
  type ConnectionName,
  connectionOf,
  findRecordType,
  findSyncConfigIds,
  listHeads,
  readConnectionRevision,
  readMetadataStatus,
  readRecordTypes,
  refreshMetadata,
  type StoredHead,
} from '../../sync/index.ts';
import { listLoadingFields } from '../../warehouse/record-state.ts';
import { MetadataQuery } from './connections.schemas.ts';
import { findTypesOf } from './connections.service.ts';
import { explainMissingMetadata } from './missing-metadata.ts';
import { proposeFields } from './propose-fields.ts';
import { describeRecordTypes, metadataFailure, metadataTimeoutMs } from './record-types.service.ts';
import { getConnector } from './test-connection.service.ts';

const countTimeoutMs = 60_000;

type SyncConfigIds = ReadonlyMap<string, string>;

/** Those that the caller may see. */
const readSyncConfigIds = async (ctx: RequestCtx, names: readonly string[]): Promise<SyncConfigIds> =>
  ctx.principal.permissions.has('sync:read') ? findSyncConfigIds(ctx, names) : new Map();

const headView = (head: StoredHead, syncConfigIds: SyncConfigIds) => ({
  ...head,
  described: head.fieldCount !== null,
  syncConfigId: syncConfigIds.get(head.name) ?? null,
});

/** The ERP's own numbers by record type; those that can't be counted, or not in time, are absent. */
async function countRecords(
  ctx: RequestCtx,
  connection: ConnectionName,
  heads: readonly StoredHead[],
): Promise<ReadonlyMap<string, number>> {
  const names = heads.filter(({ syncable }) => syncable !== false).map(({ name }) => name);
  const stored = [...(await readRecordTypes(ctx, names)).values()];
  const signal = AbortSignal.any([ctx.disconnected, AbortSignal.timeout(countTimeoutMs)]);
  const uncounted = (error: unknown): readonly (readonly [string, number])[] => {
    ctx.log.info({ reason: errorMessage(error) }, 'records of the ERP could not be counted');
    return [];
  };
  const count = async () => {
    const connector = await getConnector(ctx, connection);
    const listed = stored.flatMap(({ head, description }) => (description === null ? [head] : []));
    // One request counts all transactions; of the others, a slow one leaves the rest their counts.
    const groups = Object.values(
      Object.groupBy(listed, ({ family, name }) =>
        /transaction$/i.test(family) ? 'transactions' : `of ${name}`,
      ),
    );
    const counts = await Promise.all([
      ...groups.map(
        async (group = []) =>
          connector.countListed?.(group, signal).then((found) => [...found], uncounted) ?? [],
      ),
      ...stored.map(async ({ description }) =>
        description === null
          ? []
          : connector.count(description, signal).then((n) => [[description.name, n] as const], uncounted),
      ),
    ]);
    return counts.flat();
  };
  return new Map(await count().catch(uncounted));
}

/**
 * Those of the connection of this name: best known first, then in the ERP's order. Empty, with the reason, until the
 * account was listed.
 */
export async function listErpRecordTypes(
  ctx: RequestCtx,
  name: string,
  { page, pageSize, counts, syncable, ...filter }: MetadataQuery,
) {
  const connection = await findTypesOf(ctx, name);
  const status = await readMetadataStatus(ctx, connection);
  if (status === undefined) {
    const never = {
      account: null,
      refreshedAt: null,
      lastError: null,
      notListed: await explainMissingMetadata(ctx, connection),
    };
    return { ...toPage([], 0, { page, pageSize }), ...never };
  }
  const known = { true: true, false: false, unknown: null };
  const { rows, total } = await listHeads(
    ctx,
    connection,
    { ...filter, ...(syncable !== undefined && { syncable: known[syncable] }) },
    { page, pageSize },
  );
  const counted = counts ? await countRecords(ctx, connection, rows) : null;
  const syncConfigIds = await readSyncConfigIds(
    ctx,
    rows.map(({ name }) => name),
  );
  const data = rows.map((head) => ({
    ...headView(head, syncConfigIds),
    ...(counted !== null && { records: counted.get(head.name) ?? null }),
  }));
  const { refreshedAt, lastError, account } = status;
  return {
    ...toPage(data, total, { page, pageSize }),
    account,
    refreshedAt: instant(refreshedAt),
    lastError,
    notListed: null,
  };
}

/** What an older version of this service stored has no `shownAs` and no `reading`. */
type Stored = Pick<RecordTypeMetadata, 'fields' | 'reading'> & Partial<Pick<RecordTypeMetadata, 'shownAs'>>;

function typeView(
  { fields, reading, shownAs }: Stored,
  view: ReturnType<typeof headView>,
  loading: ReadonlySet<string>,
) {
  const described = { reading: reading ?? null, shownAs: shownAs ?? null };
  const proposed = proposeFields({ fields, ...described });
  return {
    ...view,
    ...described,
    fields: fields.map(({ fields: inner, unconfirmed: _, ...field }) => ({
      ...field,
      proposed: proposed.get(field.name) ?? null,
      loading: loading.has(field.name),
      ...(inner !== undefined && {
        fields: inner.map(({ name, label, type, syncable, reason, target, warning }) => ({
          ...{ name, label, type, syncable, reason },
          ...(target !== undefined && { target }),
          ...(warning !== undefined && { warning }),
        })),
      }),
    })),
  };
}

/**
 * Describes the record type unless that was done since the account was last listed. Throws 404 for an unknown
 * one, and until the account was listed for the first time; otherwise as `describeRecordTypes`.
 */
export async function getErpRecordType(ctx: RequestCtx, connectionName: string, name: string) {
  const connection = await findTypesOf(ctx, connectionName);
  if ((await readMetadataStatus(ctx, connection)) === undefined)
    throw notFound('ERP metadata', await explainMissingMetadata(ctx, connection));
  if (connectionOf(name) !== connection) throw notFound('Record type');
  const description = (await describeRecordTypes(ctx, [name])).get(name);
  const stored = await findRecordType(ctx, name);
  if (description === undefined || stored === undefined) throw notFound('Record type');
  const view = headView(stored.head, await readSyncConfigIds(ctx, [name]));
  return typeView(description, view, await listLoadingFields(ctx, name));
}

/**
 * Returns the first page. Throws 422 without a connection or when the ERP refuses it, 503 when the ERP is
 * unavailable or does not respond within 5 minutes.
 */
export async function refreshErpMetadata(ctx: RequestCtx, name: string) {
  const connection = await findTypesOf(ctx, name);
  const revision = await readConnectionRevision(ctx, connection);
  const connector = await getConnector(ctx, connection);
  const signal = AbortSignal.timeout(metadataTimeoutMs);
  await refreshMetadata(ctx, connector, revision, signal).catch((error: unknown) => {
    throw metadataFailure(error, signal.aborted);
  });
  const view = await listErpRecordTypes(ctx, name, MetadataQuery.parse({}));
  await inTransaction(ctx, (tx) =>
    writeAudit(tx, ctx, 'erp-metadata.refresh', ['erp-connection', null], {
      ...(name !== netsuiteName && { name }),
      recordTypes: view.pagination.total,
    }),
  );
  return view;
}
