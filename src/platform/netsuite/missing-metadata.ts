// Why no record types of the ERP are known, and what to do next.
import type { TenantCtx } from '../../core/ctx.ts';
import type { ErrorDetail } from '../../core/errors.ts';
import { inTransaction } from '../../db/transaction.ts';
import { noConnectionAdvice } from '../../sync/index.ts';
import { findConnection } from './netsuite.store.ts';

const noMetadataAdvice = 'Read the record types of the ERP account with POST /netsuite/metadata/refresh';

/** The code is `no_connection` or `no_metadata`. */
export async function explainMissingMetadata(ctx: TenantCtx): Promise<Omit<ErrorDetail, 'path'>> {
  const connection = await inTransaction(ctx, (tx) => findConnection(tx, ctx.organizationId));
  if (connection === undefined) return { code: 'no_connection', message: noConnectionAdvice };
  return { code: 'no_metadata', message: noMetadataAdvice };
}
