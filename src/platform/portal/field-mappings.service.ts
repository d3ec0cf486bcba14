// Field mappings. What a mapping names is checked when it is written; what the ERP took away since is told and stays.
import type { RequestCtx } from '../../core/ctx.ts';
import { type ErrorDetail, invalid, notFound } from '../../core/errors.ts';
import { newId } from '../../core/id.ts';
import { violates } from '../../db/pg-errors.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { instant } from '../../http/fields.ts';
import { type PageQuery, toPage } from '../../http/page.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { type Available, readAvailable } from '../../public/index.ts';
import { makeRoom } from '../room.ts';
import type {
  FieldFormat,
  FieldMappingChange,
  FieldMappingView,
  MappedField,
  NewField,
  NewFieldMapping,
} from './field-mappings.schemas.ts';
import * as store from './field-mappings.store.ts';
import { type ColumnType, sourcesOf } from './sources.ts';
import { unknownRecordType } from './targets.ts';

const formats: Readonly<Record<ColumnType, readonly FieldFormat['type'][]>> = {
  text: ['text'],
  number: ['text', 'number', 'currency'],
  integer: ['text', 'number', 'currency'],
  boolean: ['text', 'yes-no'],
  date: ['text', 'date'],
  time: ['text', 'date', 'date-time'],
  lines: [],
};

function problemsOf(recordType: string, fields: readonly Pick<NewField, 'source' | 'format'>[], available: Available): ErrorDetail[] {
  if (!Object.hasOwn(available, recordType)) return [unknownRecordType('recordType')];
  const sources = sourcesOf(available, recordType);
  return fields.flatMap(({ source, format }, index) => {
    const type = sources.get(source);
    if (type === undefined) return [{ path: `fields[${index}].source`, code: 'unknown_source', message: 'This is no synced field' }];
    if (format === null || formats[type].includes(format.type)) return [];
    const allowed = formats[type].join(', ');
    const message = allowed === '' ? 'Lines take no format' : `A field of type ${type} takes one of: ${allowed}`;
    return [{ path: `fields[${index}].format`, code: 'format_does_not_fit', message }];
  });
}

function duplicates<T>(fields: readonly NewField[], name: string, of: (field: NewField) => T | undefined): ErrorDetail[] {
  const seen = new Set<T>();
  return fields.flatMap((field, index) => {
    const value = of(field);
    if (value === undefined || !seen.has(value)) {
      if (value !== undefined) seen.add(value);
      return [];
    }
    return [{ path: `fields[${index}].${name}`, code: 'duplicate', message: `Another field has this ${name}` }];
  });
}

/** In the order of their positions, numbered anew from 0. */
const inOrder = (fields: readonly NewField[]): MappedField[] =>
  fields
    .map((field, index) => ({ field, at: field.position ?? index }))
    .sort((a, b) => a.at - b.at)
    .map(({ field }, position) => ({ ...field, position }));

function checkFields(recordType: string, fields: readonly NewField[], available: Available): MappedField[] {
  const details = [
    ...problemsOf(recordType, fields, available),
    ...duplicates(fields, 'source', ({ source }) => source),
    ...duplicates(fields, 'position', ({ position }) => position),
  ];
  if (details.length > 0) throw invalid('The fields are not right', details.slice(0, 100));
  return inOrder(fields);
}

const view = (row: store.FieldMappingRow, available: Available): FieldMappingView => ({
  id: row.id,
  recordType: row.record_type,
  fields: row.fields,
  problems: problemsOf(row.record_type, row.fields, available),
  createdAt: instant(row.created_at),
  updatedAt: instant(row.updated_at),
});

const sourceNames = (fields: readonly MappedField[]): string[] => fields.map(({ source }) => source);

async function getRow(tx: Tx, ctx: RequestCtx, id: string): Promise<store.FieldMappingRow> {
  const row = await store.findMapping(tx, ctx.organizationId, id);
  if (row === undefined) throw notFound('Field mapping');
  return row;
}

export async function listFieldMappings(ctx: RequestCtx, page: PageQuery, recordType: string | undefined) {
  const available = await readAvailable(ctx);
  return inTransaction(ctx, async (tx) => {
    const { rows, total } = await store.listMappings(tx, ctx.organizationId, page, recordType);
    return toPage(
      rows.map((row) => view(row, available)),
      total,
      page,
    );
  });
}

export async function getFieldMapping(ctx: RequestCtx, id: string) {
  const row = await inTransaction(ctx, (tx) => getRow(tx, ctx, id));
  return view(row, await readAvailable(ctx));
}

export async function createFieldMapping(ctx: RequestCtx, { recordType, fields: given }: NewFieldMapping) {
  const available = await readAvailable(ctx);
  const fields = checkFields(recordType, given, available);
  return inTransaction(ctx, async (tx) => {
    const id = newId();
    await makeRoom(tx, ctx, 'fieldMappings');
    await store.insertMapping(tx, ctx.organizationId, { id, record_type: recordType, fields });
    await writeAudit(tx, ctx, {
      action: 'portal.create-mapping',
      target: { type: 'field-mapping', id },
      changes: { recordType, fields: sourceNames(fields) },
    });
    return view(await getRow(tx, ctx, id), available);
  }).catch((error: unknown) => {
    if (!violates(error, 'mapping_record_type_is_unique')) throw error;
    const message = 'This record type has a mapping; change that one';
    throw invalid('There is a mapping', [{ path: 'recordType', code: 'taken', message }]);
  });
}

export async function changeFieldMapping(ctx: RequestCtx, id: string, { fields: given }: FieldMappingChange) {
  const available = await readAvailable(ctx);
  return inTransaction(ctx, async (tx) => {
    const { record_type: recordType } = await getRow(tx, ctx, id);
    const fields = given === undefined ? undefined : checkFields(recordType, given, available);
    if (fields !== undefined) await store.updateMapping(tx, ctx.organizationId, id, fields);
    await writeAudit(tx, ctx, {
      action: 'portal.update-mapping',
      target: { type: 'field-mapping', id },
      changes: { recordType, ...(fields !== undefined && { fields: sourceNames(fields) }) },
    });
    return view(await getRow(tx, ctx, id), available);
  });
}

export const deleteFieldMapping = (ctx: RequestCtx, id: string): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    const { record_type: recordType } = await getRow(tx, ctx, id);
    if ((await store.deleteMapping(tx, ctx.organizationId, id)) === 0) throw notFound('Field mapping');
    await writeAudit(tx, ctx, { action: 'portal.delete-mapping', target: { type: 'field-mapping', id }, changes: { recordType } });
  });
