// Field mappings. Fields are checked on writing; those that vanished since are reported as problems and kept.
import type { RequestCtx } from '../../core/ctx.ts';
import { type ErrorDetail, invalid, notFound } from '../../core/errors.ts';
import { createId } from '../../core/id.ts';
import { violatesConstraint } from '../../db/pg-errors.ts';
import { inTransaction } from '../../db/transaction.ts';
import { instant } from '../../http/fields.ts';
import { type PageQuery, viewPage } from '../../http/page.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { type Available, readAvailable } from '../../public/index.ts';
import { assertQuota } from '../quotas.ts';
import { getterOf } from '../rows.ts';
import type {
  FieldFormat,
  FieldMapping,
  FieldMappingPatch,
  MappedField,
  NewField,
  NewFieldMapping,
} from './field-mappings.schemas.ts';
import * as store from './field-mappings.store.ts';
import { type SourceType, sourceTypes } from './sources.ts';
import { unknownRecordTypeDetail } from './targets.ts';

const allowedFormats: Readonly<Record<SourceType, readonly FieldFormat['type'][]>> = {
  text: ['text'],
  number: ['text', 'number', 'currency'],
  integer: ['text', 'number', 'currency'],
  boolean: ['text', 'yes-no'],
  date: ['text', 'date'],
  time: ['text', 'date', 'date-time'],
  lines: [],
};

function listProblems(
  recordType: string,
  fields: readonly Pick<NewField, 'source' | 'format'>[],
  available: Available,
): ErrorDetail[] {
  if (!Object.hasOwn(available, recordType)) return [unknownRecordTypeDetail('recordType')];
  const sources = sourceTypes(available, recordType);
  return fields.flatMap(({ source, format }, index) => {
    const type = sources.get(source);
    if (type === undefined)
      return [
        {
          path: `fields[${index}].source`,
          code: 'unknown_source',
          message: 'This is not a synced field of the record type',
        },
      ];
    if (format === null || allowedFormats[type].includes(format.type)) return [];
    const allowed = allowedFormats[type].join(', ');
    const message =
      allowed === ''
        ? 'Lines cannot have a format'
        : `A field of type ${type} allows the formats: ${allowed}`;
    return [{ path: `fields[${index}].format`, code: 'format_does_not_fit', message }];
  });
}

function duplicateDetails<T>(
  fields: readonly NewField[],
  name: string,
  selectKey: (field: NewField) => T | undefined,
): ErrorDetail[] {
  const seen = new Set<T>();
  return fields.flatMap((field, index) => {
    const value = selectKey(field);
    if (value === undefined || !seen.has(value)) {
      if (value !== undefined) seen.add(value);
      return [];
    }
    return [
      { path: `fields[${index}].${name}`, code: 'duplicate', message: `Another field has this ${name}` },
    ];
  });
}

/** Sorted by position and renumbered from 0. */
const sortByPosition = (fields: readonly NewField[]): MappedField[] =>
  fields
    .map((field, index) => ({ field, at: field.position ?? index }))
    .sort((a, b) => a.at - b.at)
    .map(({ field }, position) => ({ ...field, position }));

function resolveFields(recordType: string, fields: readonly NewField[], available: Available): MappedField[] {
  const details = [
    ...listProblems(recordType, fields, available),
    ...duplicateDetails(fields, 'source', ({ source }) => source),
    ...duplicateDetails(fields, 'position', ({ position }) => position),
  ];
  if (details.length > 0) throw invalid('The fields are not valid', details.slice(0, 100));
  return sortByPosition(fields);
}

const toFieldMapping = (row: store.FieldMappingRow, available: Available): FieldMapping => ({
  id: row.id,
  recordType: row.record_type,
  fields: row.fields,
  problems: listProblems(row.record_type, row.fields, available),
  createdAt: instant(row.created_at),
  updatedAt: instant(row.updated_at),
});

const sourceNames = (fields: readonly MappedField[]): string[] => fields.map(({ source }) => source);

const getRow = getterOf(store.findMapping, 'Field mapping');

export async function listFieldMappings(ctx: RequestCtx, page: PageQuery, recordType: string | undefined) {
  const available = await readAvailable(ctx);
  return inTransaction(ctx, async (tx) =>
    viewPage(await store.listMappings(tx, ctx.organizationId, page, recordType), page, (row) =>
      toFieldMapping(row, available),
    ),
  );
}

/** Throws 404 when the organization has no such mapping. */
export async function getFieldMapping(ctx: RequestCtx, id: string) {
  const row = await inTransaction(ctx, (tx) => getRow(tx, ctx, id));
  return toFieldMapping(row, await readAvailable(ctx));
}

/** Throws 422 for invalid fields, a record type that is already mapped (`taken`), or a full quota. */
export async function createFieldMapping(
  ctx: RequestCtx,
  { recordType, fields: newFields }: NewFieldMapping,
) {
  const available = await readAvailable(ctx);
  const fields = resolveFields(recordType, newFields, available);
  return inTransaction(ctx, async (tx) => {
    const id = createId();
    await assertQuota(tx, ctx, 'fieldMappings');
    await store.insertMapping(tx, ctx.organizationId, { id, record_type: recordType, fields });
    await writeAudit(tx, ctx, 'portal.create-mapping', ['field-mapping', id], {
      recordType,
      fields: sourceNames(fields),
    });
    return toFieldMapping(await getRow(tx, ctx, id), available);
  }).catch((error: unknown) => {
    if (!violatesConstraint(error, 'mapping_record_type_is_unique')) throw error;
    const message = `${recordType} already has a mapping: update that one`;
    throw invalid('The record type already has a field mapping', [
      { path: 'recordType', code: 'taken', message },
    ]);
  });
}

/** Throws 404 when the organization has no such mapping, and 422 for fields that are not valid. */
export async function updateFieldMapping(
  ctx: RequestCtx,
  id: string,
  { fields: newFields }: FieldMappingPatch,
) {
  const available = await readAvailable(ctx);
  return inTransaction(ctx, async (tx) => {
    const { record_type: recordType } = await getRow(tx, ctx, id);
    const fields = newFields === undefined ? undefined : resolveFields(recordType, newFields, available);
    if (fields !== undefined) await store.updateMapping(tx, ctx.organizationId, id, fields);
    await writeAudit(tx, ctx, 'portal.update-mapping', ['field-mapping', id], {
      recordType,
      ...(fields !== undefined && { fields: sourceNames(fields) }),
    });
    return toFieldMapping(await getRow(tx, ctx, id), available);
  });
}

/** Throws 404 when the organization has no such mapping. */
export const deleteFieldMapping = (ctx: RequestCtx, id: string): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    const { record_type: recordType } = await getRow(tx, ctx, id);
    if ((await store.deleteMapping(tx, ctx.organizationId, id)) === 0) throw notFound('Field mapping');
    await writeAudit(tx, ctx, 'portal.delete-mapping', ['field-mapping', id], { recordType });
  });
