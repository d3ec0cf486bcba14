// The only access to an organization's configuration: a transaction that row-level security restricts to it.
import type { Knex } from 'knex';
import type { Pool, PoolClient } from 'pg';
import type { TenantCtx } from '../core/ctx.ts';
import { serviceRole } from './session.ts';

export type Tx = Knex.Transaction;

/**
 * What a COMMIT guarantees. `flushed`: the transaction is on disk. `ordered`: it is written soon
 * (synchronous_commit = off), in commit order; a crash of the server may lose the most recent transactions,
 * always whole ones from the end.
 */
export type CommitMode = 'flushed' | 'ordered';

/** Runs `work` in a transaction on the pool `control`. Rolls back and rejects when `work` rejects. */
export function inTransaction<T>(
  ctx: Pick<TenantCtx, 'db' | 'organizationId'>,
  work: (tx: Tx) => Promise<T>,
  commit: CommitMode = 'flushed',
): Promise<T> {
  return ctx.db.control.transaction(async (tx) => {
    const asynchronous = commit === 'ordered' ? ", set_config('synchronous_commit', 'off', true)" : '';
    await tx.raw(`select set_config('portal.organization_id', ?, true)${asynchronous}`, [ctx.organizationId]);
    return work(tx);
  });
}

const nothing = (): void => undefined;

/**
 * Runs `work` in a transaction on the data pool, which may write one organization's schema and nothing else.
 * Rejects with the error of `work`, or with an Error when a statement had failed although `work` resolved;
 * both roll back. When COMMIT itself fails, the outcome is unknown: the caller must check it before a retry.
 */
export async function inDataTransaction<T>(
  pool: Pool,
  work: (client: PoolClient) => Promise<T>,
  commit: CommitMode = 'flushed',
): Promise<T> {
  const client = await pool.connect();
  // When the connection breaks between two statements, the next one fails; without a listener the event would
  // end the process.
  client.on('error', nothing);
  let broken: Error | undefined;
  try {
    const asynchronous = commit === 'ordered' ? '; set local synchronous_commit = off' : '';
    // Behind a pooler another client may have changed the role of the session.
    await client.query(
      `begin; set local role ${serviceRole}; set local statement_timeout = '15min'; set local idle_in_transaction_session_timeout = '5min'${asynchronous}`,
    );
    const result = await work(client);
    const ended = await client.query('commit');
    // For a failed transaction PostgreSQL responds to COMMIT with ROLLBACK and no error.
    if (ended.command !== 'COMMIT')
      throw new Error('A statement of the transaction failed, so it was rolled back');
    return result;
  } catch (error) {
    await client.query('rollback').catch((failure: Error) => {
      broken = failure;
    });
    throw error;
  } finally {
    client.release(broken);
    client.off('error', nothing);
  }
}
