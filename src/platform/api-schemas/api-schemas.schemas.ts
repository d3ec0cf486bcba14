// A version of the public interface as the management interface shows it.
import { z } from 'zod';
import { Day, Id, Instant, longText, Problem, shortText } from '../../http/fields.ts';
import { EndpointDefinition } from '../../public/index.ts';

const label = z.string().regex(/^v[1-9]\d{0,5}$/, 'must be a version label such as v1');
const name = z.union([z.literal(''), shortText(120)]);
const endpoints = z.array(EndpointDefinition).max(100);

export const NewApiSchema = z.strictObject({
  basedOn: label.optional().describe('Start as a copy of this version'),
  name: name.optional(),
  notes: longText(10_000).optional(),
  endpoints: endpoints.optional(),
});
export const ApiSchemaChange = z.strictObject({
  name: name.optional(),
  notes: longText(10_000).optional(),
  endpoints: endpoints.optional(),
  revision: z.int().min(1).optional().describe('Refuse the change if the draft has moved on from this revision'),
});
export const PublishInput = z.strictObject({
  revision: z.int().min(1).describe('The revision that was looked at; a draft that moved on is not published'),
});
export type NewApiSchema = z.output<typeof NewApiSchema>;
export type ApiSchemaChange = z.output<typeof ApiSchemaChange>;

const DraftProblem = Problem.extend({ blocks: z.enum(['save', 'publish']) });
const ProofSummary = z
  .object({
    pairs: z.int().describe('Filters, and none, times sorts in both directions'),
    tried: z.int().describe('Of these. Over few records each filter and each sort is tried once rather than every pair'),
    slowestMs: z.number().describe('Of the warm reads'),
    warnings: z.array(Problem).describe('The slowest, at most 20'),
  })
  .meta({ id: 'ProofSummary' });
export type ProofSummary = z.output<typeof ProofSummary>;

export const Publication = z.object({
  status: z.enum(['running', 'succeeded', 'failed']),
  progress: z.object({ step: z.string(), done: z.int(), total: z.int() }),
  problems: z.array(DraftProblem),
  proof: ProofSummary.nullable().describe('What its reads take on the real data; null before they were tried'),
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
    deprecatedAt: Instant.nullable().describe('Since when its end is announced'),
    sunsetAt: Instant.nullable(),
    createdAt: Instant,
    updatedAt: Instant,
  })
  .meta({ id: 'ApiSchema' });

export const VersionCaller = z
  .object({
    apiKeyId: Id,
    name: z.string(),
    status: z.enum(['active', 'expired', 'revoked']),
    requests: z.int().describe('Calls that were answered with records or "not modified" in the last 30 days'),
    lastDay: Day.describe('The last of these days, UTC'),
  })
  .meta({ id: 'ApiSchemaCaller' });
export const RetiredSchema = ApiSchema.extend({
  callers: z.array(VersionCaller).describe('Whom it answered in the last 30 days: at most 100, whoever called last first'),
}).meta({ id: 'RetiredApiSchema' });

const Change = z.object({ path: z.string(), code: z.enum(['added', 'removed', 'changed']), breaking: z.boolean(), message: z.string() });

const ms = z.number().describe('Milliseconds');
const Trial = z.object({
  value: z.enum(['all', 'common', 'rare', 'absent']).describe('What the filter was given: a value of many records, of few, of none'),
  rows: z.int().describe('Records that it selects'),
  ms: ms.describe('The first page, total known, in milliseconds inside the database'),
  firstMs: ms.describe('The same in the default order with its total to be counted, as for the first caller after a sync'),
  byIndex: z.boolean().describe('Read by indexes alone'),
});
const TriedPair = z
  .object({
    resource: z.string(),
    filter: z.string().nullable().describe('The parameter; null for the list without one'),
    sort: z.string().nullable().describe('Null: by id'),
    order: z.enum(['asc', 'desc']),
    trials: z.array(Trial),
  })
  .meta({ id: 'TriedPair' });
export const PublicationReport = Publication.extend({
  madeAt: Instant.nullable().describe('Null while it goes on'),
  against: label.nullable().describe('The published version before; null for the first'),
  changes: z.array(Change).describe('Against that version'),
  records: z.array(z.object({ resource: z.string(), rows: z.int() })).describe('How many there were when the reads were tried'),
  pairs: z.array(TriedPair).describe('Slowest first'),
}).meta({ id: 'PublicationReport' });

export const Difference = z.object({ against: label, changes: z.array(Change) }).meta({ id: 'ApiSchemaDifference' });

export const Validation = z
  .object({
    ready: z.boolean(),
    problems: z.array(DraftProblem),
    indexes: z
      .array(z.object({ recordType: z.string(), method: z.string(), expression: z.string() }))
      .describe('What publishing would build'),
    changes: z.array(Change).describe('Against the version before'),
  })
  .meta({ id: 'ApiSchemaValidation' });
