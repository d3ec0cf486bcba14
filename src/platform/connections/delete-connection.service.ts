// Deletes a connection, and the records that came through it.
import { netsuiteName } from '../../connectors/secret-binding.ts';
import type { RequestCtx } from '../../core/ctx.ts';
import { AppError, invalid } from '../../core/errors.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { type ConnectionName, connectionOf, namePrefix, recordSyncHealth } from '../../sync/index.ts';
import { purgeRecordTypes } from '../../warehouse/purge.ts';
import { countSyncedRecords } from '../../warehouse/record-state.ts';
import { listServedRecordTypes } from '../api-schemas/api-schemas.store.ts';
import { findTypesIn, noConnection, target } from './connections.service.ts';
import * as store from './connections.store.ts';

const connectionDeleted = {
  code: 'NO_CONNECTION',
  message: 'The ERP connection was deleted',
  fix: 'Set up the connection again.',
};

/** Throws 422 `in_use` while a published version shows records of types with this prefix. */
async function assertNotServed(tx: Tx, ctx: RequestCtx, prefix: string): Promise<void> {
  const served = await listServedRecordTypes(tx, ctx.organizationId);
  const own = served.filter(({ recordType }) => namePrefix(connectionOf(recordType)) === prefix);
  if (own.length === 0) return;
  const names = [...new Set(own.map(({ version, recordType }) => `${recordType} in ${version}`))];
  throw invalid('Published versions show records of this connection', [
    { path: '', code: 'in_use', message: `Retire them first: ${names.slice(0, 10).join(', ')}` },
  ]);
}

/** Throws 400 `confirmation_mismatch` when `purge` isn't the organization's slug. */
function assertConfirmed(ctx: RequestCtx, purge: string | undefined): void {
  if (purge === undefined || purge === ctx.principal.organization.slug) return;
  const message = "Repeat the organization's slug in ?purge=<slug>.";
  throw new AppError('BAD_REQUEST', 'Deleting the synced records must be confirmed', {
    details: [{ path: 'purge', code: 'confirmation_mismatch', message }],
  });
}

const runOpen = () =>
  invalid('A sync run is open', [
    { path: '', code: 'run_open', message: 'Cancel the open runs first, or wait until they end' },
  ]);

type Deletion = {
  readonly name: string;
  readonly connection: ConnectionName;
  readonly row: store.ConnectionRow | undefined;
};

/** Locks what is deleted. Throws 404 when there is nothing, and 422 as `deleteConnection` says. */
async function openDeletion(
  tx: Tx,
  ctx: RequestCtx,
  name: string,
  { purges, refusesServed }: { readonly purges: boolean; readonly refusesServed: boolean },
): Promise<Deletion> {
  const { organizationId } = ctx;
  const row = await store.lockConnection(tx, organizationId, name);
  const isNetsuite = name === netsuiteName;
  const connection = isNetsuite || row !== undefined ? await findTypesIn(tx, organizationId, name) : name;
  const records = await countSyncedRecords(ctx, namePrefix(connection));
  if (row === undefined && !(purges && records > 0)) throw noConnection();
  if (!isNetsuite && !purges && records > 0)
    throw invalid('The connection has synced records', [
      { path: '', code: 'records_stored', message: 'Delete them with it: ?purge=<organization slug>' },
    ]);
  if ((purges || !isNetsuite) && (await store.hasOpenRuns(tx, organizationId, connection))) throw runOpen();
  if (refusesServed) await assertNotServed(tx, ctx, namePrefix(connection));
  return { name, connection, row };
}

/**
 * Without `purge` the synced records stay available. With the organization's slug they are deleted too, and those that are
 * left of a connection that was deleted before. Throws 404 when there is nothing to delete, 400 `confirmation_mismatch`, 422
 * `run_open`, and 422 `records_stored` for another connection than `netsuite` without `purge`: nothing would say which
 * account its records are from. `refusesServed`: also 422 `in_use` while a published version shows them.
 */
export async function deleteConnection(
  ctx: RequestCtx,
  name: string,
  purge: string | undefined,
  refusesServed = true,
): Promise<void> {
  assertConfirmed(ctx, purge);
  const { organizationId } = ctx;
  const how = { purges: purge !== undefined, refusesServed };
  const pause = async (tx: Tx, connection: ConnectionName): Promise<void> => {
    for (const { id } of await store.pauseSyncs(tx, organizationId, connection, connectionDeleted))
      await recordSyncHealth(tx, ctx, id, { health: 'paused', problem: connectionDeleted, runId: null });
  };
  if (how.purges) {
    // The connection goes last: a purge that fails can be repeated.
    const { connection } = await inTransaction(ctx, async (tx) => {
      const opened = await openDeletion(tx, ctx, name, how);
      await pause(tx, opened.connection);
      return opened;
    });
    const prefix = namePrefix(connection);
    await purgeRecordTypes(ctx, (recordType) => namePrefix(connectionOf(recordType)) === prefix);
  }
  await inTransaction(ctx, async (tx) => {
    const row = await store.lockConnection(tx, organizationId, name);
    const { connection } =
      how.purges && row === undefined
        ? { connection: null }
        : await openDeletion(tx, ctx, name, { ...how, purges: false });
    if (row !== undefined) await store.deleteConnection(tx, organizationId, row);
    if (!how.purges) await pause(tx, connection);
    if (how.purges && name === netsuiteName) await store.saveAccountOfRecords(tx, organizationId, null);
    await writeAudit(tx, ctx, 'erp-connection.delete', target, {
      ...(name !== netsuiteName && { name }),
      purged: how.purges,
    });
  });
}
