// How the records of an entity set are read: JSON in the record type's metadata.
import { z } from 'zod';
import type { RecordTypeMetadata } from '../../connector.ts';
import { erpError } from '../requests/errors.ts';

const StoredDefinition = z.object({
  set: z.string().min(1).max(200),
  /** The key's properties in its order, as paths with `/`, and their types. */
  key: z.array(z.object({ path: z.string().min(1), type: z.string().min(1) })).readonly(),
  /** `nextLink`: the service refuses to filter and order by the key. */
  paging: z.enum(['key', 'nextLink']),
  /** The service keeps track of changes, and a read of all records ends with a link to them. */
  tracksChanges: z.boolean(),
  /** The paths of a line's key, none where it has none, and whether responses count the lines of each record. */
  lines: z
    .object({ navigation: z.string(), key: z.array(z.string()).readonly(), isCounted: z.boolean() })
    .nullable(),
  /** Paths of fields that have another name than their property; the record's id has no path. */
  renamed: z.record(z.string(), z.string()),
});
export type OdataDefinition = z.infer<typeof StoredDefinition>;

/** Throws `ErpError` of kind `query`, code `FIELD_NOT_SYNCABLE`, for a description that can't be read. */
export function getDefinition({ name, definition, filter }: RecordTypeMetadata): OdataDefinition {
  const { data } = StoredDefinition.safeParse(definition);
  if (data === undefined) throw erpError('query', 'FIELD_NOT_SYNCABLE', `Unknown record type: ${name}`);
  if (filter !== undefined)
    throw erpError('query', 'FIELD_NOT_SYNCABLE', `${name} can't be filtered by subsidiaries`);
  return data;
}

/** The field with the record's id where no property of that name is the key. */
export const idField = 'id';
export const linesField = 'lines';
