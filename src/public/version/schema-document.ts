// Schemas of the definition of a version, as customers write it, and of the bindings that publishing adds.
// Shapes and sizes only; the rules between the parts are in validate.ts.
import { z } from 'zod';
import type { ColumnType, LineField } from '../../warehouse/columns.ts';
import type { Money } from './money.ts';

export const operators = [
  'eq',
  'after',
  'before',
  'gte',
  'lte',
  'gt',
  'lt',
  'contains',
  'starts_with',
  'not',
  'all',
  'null',
] as const;
export type Operator = (typeof operators)[number];

const name = z.string().max(100).meta({ description: 'A name that clients see' });
const source = z
  .string()
  .min(1)
  .max(200)
  .meta({ description: 'A field of the record type, `<field>.name` for its label, or `lines`' });
const description = z.string().max(2_000).default('');
const writtenAs = z
  .enum(['number', 'string', 'list'])
  .optional()
  .meta({
    description:
      'How values are written. Numbers: as JSON numbers (default), or as a `string`. A field with several choices: as one text (default), or as ' +
      'a `list`, an array of the ids of the chosen entries; of its label, an array of their names, where the ERP’s role can read them',
  });

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
  .meta({
    description:
      'What the values are. Publishing warns when a tagged, unmasked field is readable by keys without `fields`',
  });

export const LineFieldDefinition = z.strictObject({ name, source, description, as: writtenAs, mask, tags });
export type LineFieldDefinition = z.infer<typeof LineFieldDefinition>;

export const FieldDefinition = z.strictObject({
  name,
  source,
  description,
  as: writtenAs,
  scopable: z
    .boolean()
    .optional()
    .meta({ description: 'Whether row scopes of keys and tokens may name the field', example: false }),
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

export const FilterDefinition = z.strictObject({
  field: z
    .string()
    .max(201)
    .meta({ description: 'A field, or `<lines>.<field>` for a field of lines: one of the lines must match' }),
  operators: z.array(z.enum(operators)).min(1).max(operators.length),
});
export type FilterDefinition = z.infer<typeof FilterDefinition>;

export const SortDefinition = z.strictObject({ field: name, order: z.enum(['asc', 'desc']).default('asc') });
export type SortDefinition = z.infer<typeof SortDefinition>;

export const aggregateFunctions = ['sum', 'avg', 'min', 'max', 'count_distinct'] as const;
export type AggregateFunction = (typeof aggregateFunctions)[number];
export const periods = ['day', 'week', 'month', 'quarter', 'year'] as const;
export type Period = (typeof periods)[number];

export const AggregateDefinition = z.strictObject({
  field: name,
  functions: z.array(z.enum(aggregateFunctions)).min(1).max(aggregateFunctions.length),
  currency: z.literal('none').optional().meta({
    description:
      'The field is not an amount of money: it is aggregated whatever the currencies of the records are',
  }),
});
export type AggregateDefinition = z.infer<typeof AggregateDefinition>;

const GroupOfPeriods = z.strictObject({
  field: name,
  periods: z.array(z.enum(periods)).min(1).max(periods.length),
});
export const GroupDefinition = z.union([name, GroupOfPeriods]).meta({
  description: 'A field whose values are groups, or a date or time with the periods that are groups',
});
export type GroupDefinition = z.infer<typeof GroupDefinition>;

export const RelationDefinition = z.strictObject({
  name,
  field: name.meta({ description: 'The field of this endpoint that refers to the other records' }),
  resource: name.meta({ description: 'The endpoint of this version in whose shape the record is embedded' }),
});
export type RelationDefinition = z.infer<typeof RelationDefinition>;

const SortSet = z
  .array(z.string().max(101))
  .min(2)
  .max(4)
  .meta({
    description:
      'Fields that the list can be sorted by together, in this order; a leading `-` means descending',
    example: ['date', '-total'],
  });

export const EndpointDefinition = z.strictObject({
  name,
  recordType: z.string().min(1).max(200),
  description,
  fields: z.array(FieldDefinition).min(1).max(500),
  filters: z.array(FilterDefinition).max(500).default([]),
  sorts: z.array(name).max(100).default([]),
  defaultSort: SortDefinition.nullable().default(null),
  maxPageSize: z.int().min(1).max(1_000).default(100),
  aggregates: z
    .array(AggregateDefinition)
    .min(1)
    .max(100)
    .optional()
    .meta({ description: 'What `/summary` computes' }),
  groups: z
    .array(GroupDefinition)
    .min(1)
    .max(100)
    .optional()
    .meta({ description: 'What `/summary` can group by' }),
  relations: z
    .array(RelationDefinition)
    .min(1)
    .max(50)
    .optional()
    .meta({ description: 'Records that `expand` embeds' }),
  search: z.array(name).min(1).max(10).optional().meta({ description: 'The text fields that `q` searches' }),
  or: z.literal(true).optional().meta({ description: 'Whether `or` may combine filters' }),
  sortSets: z.array(SortSet).min(1).max(20).optional(),
  document: z
    .literal('invoice')
    .optional()
    .meta({ description: 'Whether a record can be requested as PDF: as a document with its lines' }),
});
export type EndpointDefinition = z.infer<typeof EndpointDefinition>;

export const SchemaDocument = z.strictObject({ endpoints: z.array(EndpointDefinition).max(100) });
export type SchemaDocument = z.infer<typeof SchemaDocument>;

/** The physical column behind a source, fixed at publish so that later changes in the ERP cannot move it. */
export type BoundColumn = {
  readonly column: string;
  readonly type: ColumnType;
  readonly lineFields: readonly LineField[] | null;
};

export type RecordTypeBinding = Money & {
  readonly idType: 'integer' | 'text';
  readonly columns: Readonly<Record<string, BoundColumn>>;
  /**
   * Of the periods of times: how far the ERP account's zone is ahead of UTC. Absent: 0. Fixed at publish,
   * like the columns.
   */
  readonly utcOffsetMinutes?: number;
  /** Texts are searched folded. Absent in versions published when they were searched in lower case. */
  readonly foldsText?: true;
  /** Of summaries: `limit` without `by` is refused. Absent in versions published when it was ignored. */
  readonly limitNeedsGroups?: true;
  /**
   * `format` and `bom` are parameters of lists. Absent in versions that were published when fields could have
   * these names.
   */
  readonly takesFormat?: true;
  /** Only where an endpoint declares a document. */
  readonly document?: DocumentBinding;
};

/** How records are set as PDF. Fixed at publish: a layout never changes, a new one gets another name. */
export type DocumentBinding = {
  readonly layout: 'invoice-1';
  /** What the ERP calls one of the records, such as `Invoice`. */
  readonly label: string;
  /** The source that numbers the records; null where the ERP names none. */
  readonly number: string | null;
};

/** By record type, then by source. */
export type Bindings = Readonly<Record<string, RecordTypeBinding>>;
