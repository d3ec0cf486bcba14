// Why no record types of the ERP are known, and what to do next.
import type { TenantCtx } from '../../core/ctx.ts';
import { inTransaction } from '../../db/transaction.ts';
import { noConnectionAdvice } from '../../sync/index.ts';
import { findConnection } from './netsuite.store.ts';

const noMetadataAdvice =
  'Read the record types of the ERP account first: refresh the metadata of the connection';

export async function explainMissingMetadata(
  ctx: TenantCtx,
): Promise<{ code: 'no_connection' | 'no_metadata'; message: string }> {
  const connection = await inTransaction(ctx, (tx) => findConnection(tx, ctx.organizationId));
  if (connection === undefined) return { code: 'no_connection', message: noConnectionAdvice };
  return { code: 'no_metadata', message: noMetadataAdvice };
}
