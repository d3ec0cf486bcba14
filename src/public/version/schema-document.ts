// Schemas of the definition of a version, as customers write it, and of the bindings that publishing adds. Shapes and sizes only; the rules
// between the parts are in validate.ts.
import { z } from 'zod';
import type { ColumnType, LineField } from '../../warehouse/columns.ts';

export const operators = ['eq', 'after', 'before', 'gte', 'lte', 'gt', 'lt', 'contains', 'starts_with', 'not', 'null'] as const;
export type Operator = (typeof operators)[number];

const name = z.string().max(100).meta({ description: 'A name that clients see' });
const source = z.string().min(1).max(200).meta({ description: 'A field of the record type, `<field>.name` for its label, or `lines`' });
const description = z.string().max(2_000).default('');
/** How numbers are written: as JSON numbers (default) or as strings. */
const writtenAs = z.enum(['number', 'string']).optional();

/** From the strictest: see masks.ts. */
export const masks = ['hash', 'year', 'last4'] as const;
export type Mask = (typeof masks)[number];
const mask = z
  .enum(masks)
  .optional()
  .meta({
    description:
      'How readers without unmasked access see the values. `hash`: HMAC-SHA-256, equal for equal values · `last4`: the last four characters · ' +
      '`year`: of a date or time',
  });
const tags = z
  .array(z.enum(['personal', 'confidential']))
  .max(2)
  .optional()
  .meta({ description: 'What the values are. Publishing warns when a tagged, unmasked field is readable by keys without `fields`' });

export const LineFieldDefinition = z.strictObject({ name, source, description, as: writtenAs, mask, tags });
export type LineFieldDefinition = z.infer<typeof LineFieldDefinition>;

export const FieldDefinition = z.strictObject({
  name,
  source,
  description,
  as: writtenAs,
  scopable: z.boolean().optional().meta({ description: 'Whether row scopes of keys and tokens may name the field', example: false }),
  mask,
  tags,
  fields: z
    .array(LineFieldDefinition)
    .min(1)
    .max(500)
    .optional()
    .meta({ description: 'Only for the source `lines`: the sub-fields to publish' }),
});
export type FieldDefinition = z.infer<typeof FieldDefinition>;

export const FilterDefinition = z.strictObject({ field: name, operators: z.array(z.enum(operators)).min(1).max(operators.length) });
export type FilterDefinition = z.infer<typeof FilterDefinition>;

export const SortDefinition = z.strictObject({ field: name, order: z.enum(['asc', 'desc']).default('asc') });
export type SortDefinition = z.infer<typeof SortDefinition>;

export const EndpointDefinition = z.strictObject({
  name,
  recordType: z.string().min(1).max(200),
  description,
  fields: z.array(FieldDefinition).min(1).max(500),
  filters: z.array(FilterDefinition).max(500).default([]),
  sorts: z.array(name).max(100).default([]),
  defaultSort: SortDefinition.nullable().default(null),
  maxPageSize: z.int().min(1).max(1_000).default(100),
});
export type EndpointDefinition = z.infer<typeof EndpointDefinition>;

export const SchemaDocument = z.strictObject({ endpoints: z.array(EndpointDefinition).max(100) });
export type SchemaDocument = z.infer<typeof SchemaDocument>;

/** The physical column behind a source, fixed at publish so that later changes in the ERP cannot move it. */
export type BoundColumn = { readonly column: string; readonly type: ColumnType; readonly lineFields: readonly LineField[] | null };

export type RecordTypeBinding = { readonly idType: 'integer' | 'text'; readonly columns: Readonly<Record<string, BoundColumn>> };

/** By record type, then by source. */
export type Bindings = Readonly<Record<string, RecordTypeBinding>>;
