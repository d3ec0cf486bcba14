// Rows of erp_queries. Only this file writes the table.
import { containsSql } from '../../core/text/folded-text.ts';
import { readPage } from '../../db/page.ts';
import type { Tx } from '../../db/transaction.ts';
import type { PageQuery } from '../../http/page.ts';
import { type ConnectionName, isOneOf } from '../../sync/index.ts';
import type { ErpQueryInput } from './queries.schemas.ts';

export type QueryRow = {
  name: string;
  label: string;
  query: string;
  key_column: string;
  modified_column: string | null;
  created_at: Date;
  updated_at: Date;
};
const columns = [
  'name',
  'label',
  'query',
  'key_column',
  'modified_column',
  'created_at',
  'updated_at',
] as const satisfies readonly (keyof QueryRow)[];

/** Of a connection, by name; `q` is searched in names and labels, ignoring case. */
export function listQueries(
  tx: Tx,
  organizationId: string,
  page: PageQuery,
  { types, q }: { readonly types: ConnectionName; readonly q: string | undefined },
) {
  const query = tx('erp_queries')
    .where('organization_id', organizationId)
    .whereRaw(...isOneOf('name', types))
    .orderBy('name')
    .select(...columns);
  if (q !== undefined) query.whereRaw(containsSql('name', 'label'), [q]);
  return readPage<QueryRow>(query, page);
}

export const findQuery = async (tx: Tx, organizationId: string, name: string) =>
  tx('erp_queries')
    .where({ organization_id: organizationId, name })
    .first<QueryRow | undefined>(...columns);

const written = ({ label, query, keyColumn, modifiedColumn }: ErpQueryInput) => ({
  label,
  query,
  key_column: keyColumn,
  modified_column: modifiedColumn,
});

export const insertQuery = (tx: Tx, organizationId: string, name: string, input: ErpQueryInput) =>
  tx('erp_queries').insert({ organization_id: organizationId, name, ...written(input) });

export const updateQuery = async (tx: Tx, organizationId: string, name: string, input: ErpQueryInput) =>
  tx('erp_queries')
    .where({ organization_id: organizationId, name })
    .update({ ...written(input), updated_at: tx.fn.now() });

export const deleteQuery = (tx: Tx, organizationId: string, name: string): Promise<number> =>
  tx('erp_queries').where({ organization_id: organizationId, name }).delete();

/** The configuration that reads the query's rows, locked: no run of it begins until the transaction ends. */
export const lockConfig = async (tx: Tx, organizationId: string, name: string) =>
  tx('sync_configs')
    .where({ organization_id: organizationId, record_type: name })
    .forUpdate()
    .first<{ id: string; name: string } | undefined>('id', 'name');

/** Whether a run has begun and not ended. Those that wait are locked, so that none begins meanwhile. */
export async function hasBegunRun(tx: Tx, organizationId: string, configId: string): Promise<boolean> {
  const open = await tx('sync_runs')
    .where({ organization_id: organizationId, sync_config_id: configId })
    .whereIn('status', ['queued', 'running', 'waiting', 'publishing'])
    .forUpdate()
    .select<{ status: string }[]>('status');
  return open.some(({ status }) => status !== 'queued');
}

/** Ignoring case. */
export const hasRecordTypeNamed = async (tx: Tx, organizationId: string, name: string): Promise<boolean> =>
  (await tx('erp_record_types')
    .where({ organization_id: organizationId })
    .whereRaw('lower(name) = lower(?)', [name])
    .first('name')) !== undefined;
