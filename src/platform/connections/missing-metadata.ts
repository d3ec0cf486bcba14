// Why no record types of the ERP are known, and what to do next.
import type { TenantCtx } from '../../core/ctx.ts';
import { inTransaction } from '../../db/transaction.ts';
import { type ConnectionName, noConnectionAdvice } from '../../sync/index.ts';
import { findConnection } from './connections.store.ts';

const noMetadataAdvice =
  'Read the record types of the ERP account first: refresh the metadata of the connection';

/** `connection`: null for the first one. */
export async function explainMissingMetadata(
  ctx: TenantCtx,
  connection: ConnectionName,
): Promise<{ code: 'no_connection' | 'no_metadata'; message: string }> {
  const row = await inTransaction(ctx, (tx) => findConnection(tx, ctx.organizationId, connection));
  if (row === undefined) return { code: 'no_connection', message: noConnectionAdvice };
  return { code: 'no_metadata', message: noMetadataAdvice };
}
