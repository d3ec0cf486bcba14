// What a sync configuration must fulfil: a schedule that can be due; a type, fields and filter of the ERP.
import type { RecordTypeMetadata } from '../../connectors/connector.ts';
import type { RecordFilter } from '../../connectors/discovery.ts';
import type { RequestCtx } from '../../core/ctx.ts';
import { type ErrorDetail, invalid } from '../../core/errors.ts';
import { createSuggestions } from '../../core/text/nearest-name.ts';
import {
  canFilterBySubsidiary,
  connectionOf,
  findScheduleProblem,
  hasReadableFields,
  listSyncableNames,
  toHead,
} from '../../sync/index.ts';
import { explainMissingMetadata } from '../connections/missing-metadata.ts';
import { describeRecordTypes } from '../connections/record-types.service.ts';

/** Throws 422 `invalid_schedule`. */
export function assertSchedule(schedule: string | null, timezone: string): void {
  const problem = findScheduleProblem(schedule ?? '0 0 * * *', timezone);
  if (problem !== null)
    throw invalid('The schedule is not valid', [
      { path: problem.path, code: 'invalid_schedule', message: problem.message },
    ]);
}

/**
 * Why a record type can't be synced. `found` is its description; undefined where the account doesn't have it.
 * `known`: the record types that could be synced as far as was known.
 */
export function explainUnsyncable(
  recordType: string,
  found: RecordTypeMetadata | undefined,
  known: ReadonlySet<string>,
  suggest = createSuggestions(),
): Omit<ErrorDetail, 'path'> {
  if (found !== undefined)
    return {
      code: 'unsyncable_record_type',
      message: `${recordType} cannot be synced: ${toHead(found).reason}`,
    };
  // Listed, and then absent when its fields were read.
  if (known.has(recordType))
    return {
      code: 'unsyncable_record_type',
      message: `${recordType} cannot be synced: the ERP account doesn't have it`,
    };
  const message = `The ERP account lists no record type "${recordType}".${suggest(recordType, () => known)} The metadata of the connection has all`;
  return { code: 'unknown_record_type', message };
}

/**
 * The description of a record type that can be synced, read from the ERP when needed. Throws 422
 * `unknown_record_type`, `unsyncable_record_type`, or why none are known; else as `describeRecordTypes`.
 */
export async function getSyncableType(ctx: RequestCtx, recordType: string): Promise<RecordTypeMetadata> {
  const found = (await describeRecordTypes(ctx, [recordType])).get(recordType);
  if (found !== undefined && hasReadableFields(found)) return found;
  const known = await listSyncableNames(ctx);
  const isMissing = found === undefined && known.length === 0;
  const problem = isMissing
    ? await explainMissingMetadata(ctx, connectionOf(recordType))
    : explainUnsyncable(recordType, found, new Set(known));
  throw invalid('The record type cannot be synced', [{ path: 'recordType', ...problem }]);
}

/** Throws 422 `unsyncable_field` for each field that can't be synced. */
export function assertSyncableFields(
  { name: recordType, fields: all }: RecordTypeMetadata,
  fields: '*' | readonly string[],
): void {
  if (fields === '*') return;
  const known = new Map(all.map((field) => [field.name, field]));
  const details = fields.flatMap((name, index) => {
    const field = known.get(name);
    if (field?.syncable === true) return [];
    return [
      {
        path: `fields[${index}]`,
        code: 'unsyncable_field',
        message:
          field === undefined
            ? `${recordType} has no field ${name}`
            : `${name} cannot be synced: ${field.reason ?? 'no reason given'}`,
      },
    ];
  });
  if (details.length > 0) throw invalid('Some fields cannot be synced', details);
}

/** Throws 422 `filter_not_supported` when the records of the type don't belong to one subsidiary each. */
export function assertFilter(recordType: RecordTypeMetadata, filter: RecordFilter | null): void {
  if (filter === null || canFilterBySubsidiary(recordType)) return;
  const message = `${recordType.name} has no field "subsidiary" that can be synced and names one subsidiary. Sync it without a filter.`;
  throw invalid('The record type cannot be filtered', [
    { path: 'filter.subsidiaries', code: 'filter_not_supported', message },
  ]);
}
