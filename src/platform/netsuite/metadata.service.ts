// The record types and fields of the ERP, as they were when the metadata was last refreshed.
import { ErpError } from '../../connectors/connector.ts';
import type { RequestCtx } from '../../core/ctx.ts';
import { invalid, notFound, unavailable } from '../../core/errors.ts';
import { defaultPageSize } from '../../db/page.ts';
import { inTransaction } from '../../db/transaction.ts';
import { instant } from '../../http/fields.ts';
import { findPage, type NamedPageQuery } from '../../http/page.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { listLoadingFields, readConnectionRevision, readStoredMetadata, refreshMetadata } from '../../sync/index.ts';
import { explainMissingMetadata } from './missing-metadata.ts';
import { getConnector } from './netsuite.service.ts';

const metadataTimeoutMs = 300_000;

type Stored = NonNullable<Awaited<ReturnType<typeof readStoredMetadata>>>;
function metadataView({ recordTypes, refreshedAt, lastError }: Stored, query: NamedPageQuery = { page: 1, pageSize: defaultPageSize }) {
  const heads = recordTypes.map(({ fields, name, label, table, source }) => ({
    name,
    label,
    table,
    source,
    fieldCount: fields.length,
    syncableFieldCount: fields.filter(({ syncable }) => syncable).length,
  }));
  return { ...findPage(heads, query, ({ name, label }) => [name, label]), refreshedAt: instant(refreshedAt), lastError };
}

/** Throws 404 `no_connection` or `no_metadata` until the metadata was refreshed for the first time. */
async function getStored(ctx: RequestCtx): Promise<Stored> {
  const stored = await readStoredMetadata(ctx);
  if (stored === undefined) throw notFound('ERP metadata', await explainMissingMetadata(ctx));
  return stored;
}

/** In the order of the ERP's catalogue. Throws 404 until the metadata was refreshed for the first time. */
export const listErpRecordTypes = async (ctx: RequestCtx, query: NamedPageQuery) => metadataView(await getStored(ctx), query);

/** Throws 404 for an unknown record type, and until the metadata was refreshed for the first time. */
export async function getErpRecordType(ctx: RequestCtx, name: string) {
  const recordType = (await getStored(ctx)).recordTypes.find((candidate) => candidate.name === name);
  if (recordType === undefined) throw notFound('Record type');
  const loading = await listLoadingFields(ctx, name);
  return {
    name: recordType.name,
    label: recordType.label,
    table: recordType.table,
    source: recordType.source,
    fields: recordType.fields.map(({ fields, ...field }) => ({
      ...field,
      loading: loading.has(field.name),
      ...(fields !== undefined && {
        fields: fields.map((line) => ({
          name: line.name,
          label: line.label,
          type: line.type,
          syncable: line.syncable,
          reason: line.reason,
        })),
      }),
    })),
  };
}

/** Failures that a retry cannot fix (credentials, permissions, queries) are 422; all others mean that the ERP is unavailable: 503. */
function metadataFailure(error: unknown, timedOut: boolean): unknown {
  if (timedOut) return unavailable('The ERP did not respond in time', 60, error);
  if (!(error instanceof ErpError)) return error;
  const permanent = ['credentials', 'forbidden', 'query'].includes(error.kind);
  if (!permanent) return unavailable(`The ERP could not be read: ${error.message}. ${error.fix}`, 30, error);
  return invalid(`The ERP could not be read: ${error.message}`, [{ path: '', code: error.code, message: error.fix }]);
}

/** Returns the first page. Throws 422 without a connection or when the ERP refuses it, 503 when the ERP is unavailable or does not respond within 5 minutes. */
export async function refreshErpMetadata(ctx: RequestCtx) {
  const revision = await readConnectionRevision(ctx);
  const connector = await getConnector(ctx);
  const signal = AbortSignal.timeout(metadataTimeoutMs);
  const stored = await refreshMetadata(ctx, connector, revision, signal).catch((error: unknown) => {
    throw metadataFailure(error, signal.aborted);
  });
  await inTransaction(ctx, (tx) =>
    writeAudit(tx, ctx, {
      action: 'erp-metadata.refresh',
      target: { type: 'erp-connection', id: null },
      changes: { recordTypes: stored.recordTypes.length },
    }),
  );
  return metadataView(stored);
}
