// Request and response schemas for versions of the public interface.
import { z } from 'zod';
import { Day, Id, Instant, longText, Problem, shortText } from '../../http/fields.ts';
import { aggregateFunctions, EndpointDefinition, masks, operators } from '../../public/index.ts';

const label = z.string().regex(/^v[1-9]\d{0,5}$/, 'must be a version label such as v1');
const name = z.union([z.literal(''), shortText(120)]);
const endpoints = z.array(EndpointDefinition).max(100);

export const NewApiSchema = z.strictObject({
  basedOn: label.optional().describe('Copies the endpoints of this version'),
  name: name.optional(),
  notes: longText(10_000).optional(),
  endpoints: endpoints.optional(),
});
export const ApiSchemaPatch = z.strictObject({
  name: name.optional(),
  notes: longText(10_000).optional(),
  endpoints: endpoints.optional(),
  revision: z.int().min(1).optional().describe('Returns 422 if the draft is no longer at this revision'),
});
export const PublishInput = z.strictObject({
  revision: z.int().min(1).describe('The reviewed revision; returns 422 if the draft has changed since'),
});
export const DraftFrom = z.strictObject({
  recordTypes: z
    .array(z.string().min(1).max(200))
    .min(1)
    .max(50)
    .describe(
      'Synced record types; each gets one endpoint. Relations are proposed between those that are named together',
    ),
});
/** The body of a draft. */
export const ProposedDraft = z.object({ endpoints }).meta({ id: 'ProposedDraft' });
export type DraftFrom = z.output<typeof DraftFrom>;
export type NewApiSchema = z.output<typeof NewApiSchema>;
export type ApiSchemaPatch = z.output<typeof ApiSchemaPatch>;

const DraftProblem = Problem.extend({ blocks: z.enum(['save', 'publish']) });
const ProofSummary = z
  .object({
    pairs: z
      .int()
      .describe(
        'Number of combinations: each filter and no filter, with each sort in both directions; each field that row scopes may name; and each group of a summary',
      ),
    tried: z
      .int()
      .describe(
        'Number of measured combinations. With few records each filter and each sort is measured once instead of every combination',
      ),
    slowestMs: z.number().describe('The slowest warm read, in milliseconds'),
    warnings: z.array(Problem).describe('The slowest reads, at most 20'),
  })
  .meta({ id: 'ProofSummary' });
export type ProofSummary = z.output<typeof ProofSummary>;

const warnings = z
  .array(Problem)
  .describe(
    'Fields with tags and without a mask that active API keys without a list of fields can read, at most 100',
  );

export const Publication = z.object({
  status: z.enum(['running', 'succeeded', 'failed', 'cancelled']),
  progress: z.object({
    step: z.string(),
    done: z.int().describe('Indexes built and reads tried, over all steps'),
    total: z.int(),
    estimatedSecondsLeft: z
      .int()
      .nullable()
      .describe('Until all steps are done, at the pace so far; null before there is a pace'),
  }),
  problems: z.array(DraftProblem),
  proof: ProofSummary.nullable().describe('Measured reads on the real data; null before they were measured'),
  warnings,
});
export type Publication = z.output<typeof Publication>;

export const ApiSchema = z
  .object({
    id: Id,
    version: label,
    status: z.enum(['draft', 'published', 'deprecated', 'retired']),
    name: z.string(),
    notes: z.string(),
    endpoints: z.array(EndpointDefinition),
    revision: z.int(),
    publication: Publication.nullable(),
    publishedAt: Instant.nullable(),
    deprecatedAt: Instant.nullable().describe('When it was deprecated'),
    sunsetAt: Instant.nullable(),
    createdAt: Instant,
    updatedAt: Instant,
  })
  .meta({ id: 'ApiSchema' });

export const ApiSchemaCaller = z
  .object({
    apiKeyId: Id,
    name: z.string(),
    status: z.enum(['active', 'expired', 'revoked']),
    requests: z.int().describe('Requests answered 2xx or 304 in the last 30 days'),
    lastDay: Day.describe('Day of the last such request, UTC'),
  })
  .meta({ id: 'ApiSchemaCaller' });
export const RetiredApiSchema = ApiSchema.extend({
  callers: z
    .array(ApiSchemaCaller)
    .describe('API keys that used it in the last 30 days, most recent first, at most 100'),
}).meta({ id: 'RetiredApiSchema' });

const Change = z.object({
  path: z.string(),
  code: z.enum(['added', 'removed', 'changed']),
  breaking: z.boolean(),
  message: z.string(),
});

const ms = z.number().describe('Milliseconds');
const Trial = z.object({
  value: z
    .enum(['all', 'common', 'rare', 'absent', 'many', 'many_absent'])
    .describe(
      'The filter value: of many records, of few, of none; as many values as a request may have; `all` without a filter',
    ),
  rows: z.int().describe('Number of matching records'),
  ms: ms.describe('Time of the first page with a cached total, in milliseconds inside the database'),
  firstMs: ms.describe(
    'The same in the default order without a cached total, as for the first caller after a sync',
  ),
  byIndex: z.boolean().describe('Whether only indexes were used'),
});
const TriedPair = z
  .object({
    resource: z.string(),
    filter: z.string().nullable().describe('The filter parameter; null for the unfiltered list'),
    scope: z.string().optional().describe('The field of a row scope; absent for reads without one'),
    group: z
      .string()
      .optional()
      .describe('The group of a summary of all records; absent for reads of records'),
    sort: z.string().nullable().describe('Null when sorted by id, and for summaries'),
    order: z.enum(['asc', 'desc']),
    trials: z.array(Trial),
  })
  .meta({ id: 'TriedPair' });
export const PublicationReport = Publication.extend({
  madeAt: Instant.nullable().describe('When the report was completed; null while the publication is running'),
  against: label.nullable().describe('The previous published version; null for the first'),
  changes: z.array(Change).describe('Changes against that version'),
  records: z
    .array(z.object({ resource: z.string(), rows: z.int() }))
    .describe('Number of records when the reads were measured'),
  pairs: z.array(TriedPair).describe('Slowest first'),
}).meta({ id: 'PublicationReport' });

export const ApiSchemaDifference = z
  .object({ against: label, changes: z.array(Change) })
  .meta({ id: 'ApiSchemaDifference' });

export const ValidateInput = z.strictObject({
  endpoints: endpoints
    .optional()
    .describe('Validates this definition in place of the saved one, and saves nothing'),
  against: label
    .optional()
    .describe('The version with which `changes` compares; by default the previous published one'),
});
export type ValidateInput = z.output<typeof ValidateInput>;

export const ApiSchemaValidation = z
  .object({
    ready: z.boolean(),
    revision: z.int().describe('The saved revision of the draft'),
    against: label
      .nullable()
      .describe('The version with which `changes` compares; null where there is no previous one'),
    problems: z.array(DraftProblem),
    warnings,
    indexes: z
      .array(z.object({ recordType: z.string(), method: z.string(), expression: z.string() }))
      .describe('Indexes that publishing would build'),
    changes: z.array(Change).describe('Changes against that version'),
  })
  .meta({ id: 'ApiSchemaValidation' });

const columnType = z.enum(['text', 'number', 'integer', 'boolean', 'date', 'time', 'lines']);
const listType = z.enum(['integers', 'texts']);
const erpLabel = z.string().describe('The label in the ERP');
const LineSource = z.object({
  source: z.string(),
  label: erpLabel,
  type: columnType,
  list: listType
    .nullable()
    .describe(
      'The type as a list (`as`): of a field with several choices, and of its label; null for others',
    ),
});
const SchemaSource = z
  .object({
    ...LineSource.shape,
    state: z
      .enum(['live', 'loading', 'stale', 'returned', 'vanished'])
      .describe('Only `live` and `stale` sources have values now'),
    target: z.string().nullable().describe('The record type whose records a reference names'),
    scopable: z.boolean().describe('Whether row scopes may name a field with this source'),
    lines: z.array(LineSource).nullable().describe('The fields of the source `lines`'),
  })
  .meta({ id: 'SchemaSource' });
const FittingType = z
  .object({
    type: z.enum([...columnType.options, ...listType.options]),
    operators: z.array(z.enum(operators)),
    lineOperators: z.array(z.enum(operators)).describe('Of a field of lines'),
    functions: z.array(z.enum(aggregateFunctions)),
    masks: z.array(z.enum(masks)),
  })
  .meta({ id: 'FittingType' });
export const SchemaSources = z
  .object({
    recordType: z.string(),
    label: erpLabel,
    total: z.int().describe('Number of synced records'),
    types: z.array(FittingType).describe('What fits the values of each type'),
    sources: z.array(SchemaSource),
    records: z
      .array(z.record(z.string(), z.unknown()))
      .describe('At most five records, their values by source'),
  })
  .meta({ id: 'SchemaSources' });
