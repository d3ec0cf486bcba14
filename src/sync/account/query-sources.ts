// Record types that an organization defines by its own query (erp_queries), for the engine and the list.
import type { QuerySource, RecordTypeHead } from '../../connectors/discovery.ts';
import type { TenantCtx } from '../../core/ctx.ts';
import { inDataTransaction, inTransaction } from '../../db/transaction.ts';
import { orIfNotSetUp } from '../../warehouse/record-state.ts';
import { tenantSchema } from '../../warehouse/tenant-schema.ts';
import { type ConnectionName, isOneOf } from './connection-of.ts';

/** By name; those of these names, or all of a connection. */
export const readQuerySources = (
  ctx: TenantCtx,
  of: ConnectionName | readonly string[],
): Promise<readonly QuerySource[]> =>
  inTransaction(ctx, async (tx) => {
    const query = tx('erp_queries').where('organization_id', ctx.organizationId).orderBy('name');
    query.whereRaw(...isOneOf('name', of));
    return query.select<QuerySource[]>('name', 'label', 'query', {
      keyColumn: 'key_column',
      modifiedColumn: 'modified_column',
    });
  });

/** The list with the queries' record types, until their columns are known. Case makes no difference. */
export function withQueries(
  listed: readonly RecordTypeHead[],
  queries: readonly QuerySource[],
): RecordTypeHead[] {
  const taken = new Set(queries.map(({ name }) => name.toLowerCase()));
  const added = queries.map(
    ({ name, label }): RecordTypeHead => ({
      name,
      label,
      family: 'query',
      custom: true,
      table: null,
      source: 'query',
      syncable: null,
      reason: null,
    }),
  );
  return [...listed.filter(({ name }) => !taken.has(name.toLowerCase())), ...added];
}

/**
 * Lets the next run of the record type read all rows: another query may return other values for a row whose
 * modification time is the same. Does nothing for a type that was never synced. Throws database errors.
 */
export async function requireFullRun(ctx: TenantCtx, recordType: string): Promise<void> {
  const schema = tenantSchema(ctx.organizationId);
  const update = `update ${schema}.record_state set high_water = null where record_type = $1`;
  await orIfNotSetUp(undefined, () =>
    inDataTransaction(ctx.db.data, (client) => client.query(update, [recordType])),
  );
}
