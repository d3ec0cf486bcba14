// Reads what the names in scopes of keys and tokens mean: the endpoints of the versions.
import type { Tx } from '../../db/transaction.ts';
import type { EndpointDefinition, RecordTypeBinding } from '../../public/index.ts';

/** An endpoint of one version; `binding` is null for a draft. */
export type ScopeTarget = {
  readonly version: string;
  readonly status: 'draft' | 'published' | 'deprecated' | 'retired';
  readonly endpoint: EndpointDefinition;
  readonly binding: RecordTypeBinding | null;
};

/** The endpoints with these names in all versions, drafts and retired ones included, newest version first. */
export async function listScopeTargets(tx: Tx, organizationId: string, names: readonly string[]) {
  const { rows } = await tx.raw<{ rows: ScopeTarget[] }>(
    `select s.version, s.status, e as endpoint, s.bindings -> (e ->> 'recordType') as binding
     from api_schemas s, jsonb_array_elements(s.endpoints) e
     where s.organization_id = :organizationId and s.version like 'v%' and e ->> 'name' = any(:names)
     order by length(s.version) desc, s.version desc`,
    { organizationId, names },
  );
  return rows;
}

/** All versions, drafts and retired ones included, with the names of their resources. */
export async function listVersionResources(
  tx: Tx,
  organizationId: string,
): Promise<{ version: string; resources: string[] }[]> {
  return tx('api_schemas')
    .where('organization_id', organizationId)
    .whereLike('version', 'v%')
    .select('version', tx.raw("jsonb_path_query_array(endpoints, '$[*].name') as resources"));
}
