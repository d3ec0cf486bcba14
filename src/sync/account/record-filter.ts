// Filters of sync configurations. A run hands its filter to the connector with the record type, so that
// pages, lists, counts and reads by id agree on which records there are: a record that leaves the filter is
// absent like a deleted one.
import { ErpError, type RecordTypeMetadata } from '../../connectors/connector.ts';
import type { RecordFilter } from '../../connectors/discovery.ts';

const subsidiaryField = 'subsidiary';

/** Whether each record belongs to one subsidiary, by which it can be filtered. */
export const canFilterBySubsidiary = ({ fields }: Pick<RecordTypeMetadata, 'fields'>): boolean =>
  fields.some(({ name, type, syncable }) => name === subsidiaryField && type === 'reference' && syncable);

/**
 * The record type as a configuration with this filter reads it. Throws an `ErpError` `FILTER_UNAVAILABLE`
 * where its field can't be read.
 */
export function withFilter(recordType: RecordTypeMetadata, filter: RecordFilter | null): RecordTypeMetadata {
  if (filter === null) return recordType;
  if (!canFilterBySubsidiary(recordType))
    throw new ErpError(
      'query',
      'FILTER_UNAVAILABLE',
      `The sync configuration filters ${recordType.name} by the field ${subsidiaryField}, which the integration role can't read`,
      {
        fix: 'Let the integration role view subsidiaries, or remove the filter of the sync configuration; then run the sync again.',
      },
    );
  return { ...recordType, filter };
}
