// What the portal that is on needs of a record type: what its settings name, and the fields that mappings show. Its
// document has every field, in case that a mapping shows it.
import type { Tx } from '../../db/transaction.ts';
import type { EndpointDefinition } from '../../public/index.ts';
import { findAccess, findDocumentEndpoints } from './access.store.ts';
import { isNamedField } from './access-document.ts';
import { listMappedFields } from './field-mappings.store.ts';

/** The endpoints over the record type with the fields in use; none when the portal is off or doesn't use it. */
export async function listPortalUses(
  tx: Tx,
  organizationId: string,
  recordType: string,
): Promise<EndpointDefinition[]> {
  const label = (await findAccess(tx, organizationId))?.live?.document ?? null;
  if (label === null) return [];
  const mapped = await listMappedFields(tx, organizationId, recordType);
  const shown = new Set(mapped.filter(({ visible }) => visible).map(({ source }) => source));
  return (await findDocumentEndpoints(tx, organizationId, label))
    .filter((endpoint) => endpoint.recordType === recordType)
    .map((endpoint) => ({
      ...endpoint,
      fields: endpoint.fields.filter(({ name, source }) => isNamedField(name) || shown.has(source)),
    }));
}
