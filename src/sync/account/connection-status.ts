// What runs, metadata refreshes and tests found out about a connection. The only writer of these columns of
// erp_connections: status, last_tested_at, last_error, unreadable_record_types. Results that were obtained
// with replaced settings or credentials don't count.
import { ErpError } from '../../connectors/connector.ts';
import type { TenantCtx } from '../../core/ctx.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { announce } from '../../webhooks/index.ts';
import { type ConnectionName, selectConnection } from './connection-of.ts';

/**
 * A connection as it is now. `writtenAt` changes whenever the settings or credentials are written; null without a
 * connection. Read it before the connector is created.
 */
export type ConnectionRevision = {
  readonly connection: ConnectionName;
  readonly writtenAt: string | null;
};

export async function findConnectionRevision(
  tx: Tx,
  organizationId: string,
  connection: ConnectionName,
): Promise<ConnectionRevision> {
  const row = await selectConnection(tx, organizationId, connection).first<{ revision: string } | undefined>(
    tx.raw('updated_at::text as revision'),
  );
  return { connection, writtenAt: row?.revision ?? null };
}

export const readConnectionRevision = (
  ctx: TenantCtx,
  connection: ConnectionName,
): Promise<ConnectionRevision> =>
  inTransaction(ctx, (tx) => findConnectionRevision(tx, ctx.organizationId, connection));

const currentConnection = (tx: Tx, organizationId: string, { connection, writtenAt }: ConnectionRevision) =>
  selectConnection(tx, organizationId, connection).whereRaw('updated_at = ?::timestamptz', [writtenAt]);

/** Settings or credentials were written: nothing is known about them yet. */
export const resetConnectionStatus = (
  tx: Tx,
  organizationId: string,
  connection: ConnectionName,
): Promise<number> =>
  selectConnection(tx, organizationId, connection).update({
    status: 'untested',
    last_error: null,
    unreadable_record_types: [],
  });

/**
 * `error`: the sentence that callers see, null when the test succeeded. `unreadable`: configured record types
 * that can't be read.
 */
export type ConnectionVerdict = { readonly error: string | null; readonly unreadable: readonly string[] };

/** Stores the result of a connection test; false when the connection was replaced or deleted meanwhile. */
export async function saveConnectionTest(
  tx: Tx,
  organizationId: string,
  revision: ConnectionRevision,
  { error, unreadable }: ConnectionVerdict,
): Promise<boolean> {
  if (error !== null) await announceFailure(tx, organizationId, revision, { error, unreadable });
  const updated = await currentConnection(tx, organizationId, revision).update({
    status: error === null ? 'connected' : 'failed',
    last_error: error,
    unreadable_record_types: [...unreadable],
    last_tested_at: tx.fn.now(),
  });
  return updated === 1;
}

/** Stores that the ERP refused the credentials. Other errors say nothing about them and are ignored. */
export async function recordSignInError(ctx: TenantCtx, revision: ConnectionRevision, error: unknown) {
  if (!(error instanceof ErpError) || error.kind !== 'credentials') return;
  await inTransaction(ctx, async (tx) => {
    const found = { error: error.message, unreadable: [] };
    await announceFailure(tx, ctx.organizationId, revision, found);
    await currentConnection(tx, ctx.organizationId, revision).update({
      status: 'failed',
      last_error: found.error,
      unreadable_record_types: found.unreadable,
    });
  });
}

/** Once for each time that it fails. */
async function announceFailure(
  tx: Tx,
  organizationId: string,
  revision: ConnectionRevision,
  { error, unreadable }: ConnectionVerdict,
): Promise<void> {
  const before = await currentConnection(tx, organizationId, revision)
    .forUpdate()
    .first<{ name: string; status: string } | undefined>('name', 'status');
  if (before === undefined || before.status === 'failed') return;
  await announce(tx, organizationId, 'connection.failed', {
    connection: before.name,
    ...{ error, unreadableRecordTypes: unreadable },
  });
}

/** Stores that the ERP accepted the credentials, which doesn't disprove a failed test of record types. */
export const recordSignIn = (ctx: TenantCtx, revision: ConnectionRevision): Promise<number> =>
  inTransaction(ctx, (tx) =>
    currentConnection(tx, ctx.organizationId, revision)
      .whereNot('status', 'connected')
      .whereRaw("unreadable_record_types = '{}'")
      .update({ status: 'connected', last_error: null }),
  );
