// How the portal labels and formats the fields of a record type.
import { z } from 'zod';
import { Id, Instant, Problem, shortText } from '../../http/fields.ts';

/** How a value is shown. Null where it is used means the default format of the field's type. */
export const FieldFormat = z
  .discriminatedUnion('type', [
    z.strictObject({ type: z.literal('text') }),
    z.strictObject({
      type: z.literal('number'),
      digits: z.int().min(0).max(10).describe('Number of decimals'),
    }),
    z.strictObject({
      type: z.literal('currency'),
      currency: z
        .string()
        .regex(/^[A-Z]{3}$/, 'must be an ISO 4217 code such as EUR')
        .meta({ example: 'EUR' }),
      digits: z.int().min(0).max(10),
    }),
    z.strictObject({ type: z.literal('date'), style: z.enum(['iso', 'short', 'medium', 'long']) }),
    z.strictObject({ type: z.literal('date-time'), style: z.enum(['iso', 'short', 'medium', 'long']) }),
    z.strictObject({ type: z.literal('yes-no') }),
  ])
  .meta({ id: 'FieldFormat' });
export type FieldFormat = z.output<typeof FieldFormat>;

const recordType = z.string().min(1).max(200);
const source = z
  .string()
  .min(1)
  .max(200)
  .describe('A field of the record type, `<field>.name` for its label, or `lines`');

const NewField = z.strictObject({
  source,
  label: shortText(120),
  format: FieldFormat.nullable()
    .optional()
    .transform((format) => format ?? null),
  visible: z.boolean().default(true),
  position: z
    .int()
    .min(0)
    .max(10_000)
    .optional()
    .describe('Fields are ordered by it; omit it to keep the place in the list'),
});
const fields = z.array(NewField).min(1).max(200);

export const NewFieldMapping = z.strictObject({ recordType, fields });
export const FieldMappingPatch = z.strictObject({ fields: fields.optional() });

const MappedField = z.object({
  source: z.string(),
  label: z.string(),
  format: FieldFormat.nullable(),
  visible: z.boolean(),
  position: z.int().describe('From 0, without gaps'),
});
export const FieldMapping = z
  .object({
    id: Id,
    recordType,
    fields: z.array(MappedField),
    problems: z.array(Problem).describe('Fields that are no longer synced or whose type has changed'),
    createdAt: Instant,
    updatedAt: Instant,
  })
  .meta({ id: 'FieldMapping' });

export type MappedField = z.output<typeof MappedField>;
export type NewField = z.output<typeof NewField>;
export type NewFieldMapping = z.output<typeof NewFieldMapping>;
export type FieldMappingPatch = z.output<typeof FieldMappingPatch>;
export type FieldMapping = z.input<typeof FieldMapping>;
