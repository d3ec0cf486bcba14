// The one way to work on an organization's configuration: a transaction that row-level security binds to it.
import type { Knex } from 'knex';
import type { Pool, PoolClient } from 'pg';
import type { TenantCtx } from '../core/ctx.ts';

export type Tx = Knex.Transaction;

/**
 * What a COMMIT promises. `flushed`: it is on disk. `ordered`: it gets there soon, never before what was committed earlier and never
 * after what is committed later; a crash of the server may undo the last moments of it, whole transactions from the end.
 */
export type Commit = 'flushed' | 'ordered';

export function inTransaction<T>(
  ctx: Pick<TenantCtx, 'db' | 'organizationId'>,
  work: (tx: Tx) => Promise<T>,
  commit: Commit = 'flushed',
): Promise<T> {
  return ctx.db.control.transaction(async (tx) => {
    const more = commit === 'ordered' ? ", set_config('synchronous_commit', 'off', true)" : '';
    await tx.raw(`select set_config('portal.organization_id', ?, true)${more}`, [ctx.organizationId]);
    return work(tx);
  });
}

const nothing = (): void => undefined;

/**
 * A transaction on the data pool: it may write one organization's schema and nothing else. When it rejects while committing, the
 * outcome is unknown: whoever asked must look it up before trying again.
 */
export async function inDataTransaction<T>(pool: Pool, work: (client: PoolClient) => Promise<T>, commit: Commit = 'flushed'): Promise<T> {
  const client = await pool.connect();
  // A connection may break between two statements; the next one says so. Unheard, the event would end the process.
  client.on('error', nothing);
  let broken: Error | undefined;
  try {
    const order = commit === 'ordered' ? '; set local synchronous_commit = off' : '';
    await client.query(`begin; set local statement_timeout = '15min'; set local idle_in_transaction_session_timeout = '5min'${order}`);
    const result = await work(client);
    const ended = await client.query('commit');
    // PostgreSQL answers COMMIT of a failed transaction with ROLLBACK and no error.
    if (ended.command !== 'COMMIT') throw new Error('the transaction had failed and was rolled back');
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
