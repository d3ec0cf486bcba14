import { z } from 'zod';
import { bodyInstant, IdParams } from '../../http/fields.ts';
import { createPageSchema, NamedPageQuery, pageFields } from '../../http/page.ts';
import { defineRoute, inGroup } from '../../http/route/define.ts';
import {
  ApiSchema,
  ApiSchemaCaller,
  ApiSchemaDifference,
  ApiSchemaPatch,
  ApiSchemaValidation,
  DraftFrom,
  NewApiSchema,
  ProposedDraft,
  PublicationReport,
  PublishInput,
  RetiredApiSchema,
  SchemaSources,
  ValidateInput,
} from './api-schemas.schemas.ts';
import * as service from './api-schemas.service.ts';
import { draftFromRecordTypes } from './draft-from.ts';
import { proveApiSchema } from './prove-again.ts';
import { cancelPublication, getPublication, startIndexMaintenance, startPublication } from './publication.ts';
import { planIndexes } from './publication-steps.ts';
import { listApiSchemaSources } from './sources.ts';
import { deprecateApiSchema, listApiSchemaCallers, retireApiSchema } from './version-lifecycle.ts';

const versionLabel = z.string().regex(/^v[1-9]\d{0,5}$/, 'must be a version label such as v1');

const exampleEndpoint = {
  name: 'invoices',
  recordType: 'invoice',
  description: 'Invoices with the amount due',
  fields: [
    { name: 'number', source: 'tranid', description: 'The number printed on the invoice' },
    { name: 'date', source: 'trandate', description: 'Date of the invoice' },
    { name: 'customerName', source: 'entity.name', description: 'Name of the customer' },
    { name: 'amountDue', source: 'foreignamountunpaid', description: 'Amount that is still unpaid' },
  ],
  filters: [
    { field: 'date', operators: ['eq', 'after', 'before'] },
    { field: 'amountDue', operators: ['gt'] },
  ],
  sorts: ['date', 'amountDue'],
  defaultSort: { field: 'date', order: 'desc' },
  maxPageSize: 100,
};

export const apiSchemaRoutes = inGroup('API Keys', [
  defineRoute('listApiSchemas', 'GET /api-schema', {
    permission: 'api-schema:read',
    summary: 'List API versions',
    description: 'Newest first: draft, published, deprecated and retired versions of the public interface.',
    query: z.strictObject({
      ...pageFields,
      q: z.string().min(1).max(120).optional(),
      status: z.enum(['draft', 'published', 'deprecated', 'retired']).optional(),
    }),
    response: createPageSchema(ApiSchema),
    handler: (ctx, { query: { q, status, ...page } }) => service.listApiSchemas(ctx, page, { q, status }),
  }),
  defineRoute('createApiSchema', 'POST /api-schema', {
    permission: 'api-schema:create',
    summary: 'Create a draft of the next version',
    description: 'The service assigns the label: v1, v2, … Labels are never reused.',
    body: NewApiSchema,
    example: { name: 'Records for customers', endpoints: [exampleEndpoint] },
    response: ApiSchema,
    status: 201,
    handler: (ctx, { body }) => service.createApiSchema(ctx, body),
  }),
  defineRoute('draftApiSchemaFrom', 'POST /api-schema/draft-from', {
    permission: 'api-schema:create',
    summary: 'Propose a draft from synced records',
    description:
      'Returns a definition for the record types, made from what the ERP says about their fields and from a sample of the records: names, ' +
      'filters, sorts, aggregates, groups, relations, search and tags. It is valid as it is and saved as nothing: edit it, then send it to ' +
      '`POST /api-schema`. Fields without a value in the sample are left out. Documents come first, then entities, items and the rest.',
    body: DraftFrom,
    example: { recordTypes: ['invoice', 'customer'] },
    response: ProposedDraft,
    handler: (ctx, { body }) => draftFromRecordTypes(ctx, body),
  }),
  defineRoute('getApiSchema', 'GET /api-schema/{id}', {
    permission: 'api-schema:read',
    summary: 'Retrieve an API version',
    description:
      'Includes its endpoints and the state of its publication; `/api-schema/{id}/publication` has the full report.',
    params: IdParams,
    response: ApiSchema,
    handler: (ctx, { params }) => service.getApiSchema(ctx, params.id),
  }),
  defineRoute('updateApiSchema', 'PATCH /api-schema/{id}', {
    permission: 'api-schema:update',
    summary: 'Update a draft',
    description:
      'Only drafts can be changed. With `revision`, returns 422 if the draft has changed since that revision.',
    params: IdParams,
    body: ApiSchemaPatch,
    example: { revision: 1, notes: 'First version for customers', endpoints: [exampleEndpoint] },
    response: ApiSchema,
    handler: (ctx, { params, body }) => service.updateApiSchema(ctx, params.id, body),
  }),
  defineRoute('deleteApiSchema', 'DELETE /api-schema/{id}', {
    permission: 'api-schema:delete',
    summary: 'Delete a draft',
    description:
      'Its label is not reused. While the draft is being published, this cancels the publication: nothing goes live, and its indexes are ' +
      'dropped in the background. A published version cannot be deleted, only retired (422 `immutable`).',
    params: IdParams,
    handler: (ctx, { params }) => service.deleteApiSchema(ctx, params.id),
  }),
  defineRoute('validateApiSchema', 'POST /api-schema/{id}/validate', {
    permission: 'api-schema:read',
    summary: 'Validate a draft',
    description:
      'Lists the first 100 problems with their paths, the indexes that publishing would build, and the changes since the previous version. With ' +
      '`endpoints` it validates these in place of the saved ones, as an editor does while a person types, and saves nothing. ' +
      '`against` names another version to compare with; 404 when there is none.',
    params: IdParams,
    body: ValidateInput,
    example: { endpoints: [exampleEndpoint] },
    response: ApiSchemaValidation,
    handler: (ctx, { params, body }) =>
      service.validateApiSchema(ctx, params.id, body, (row, available) => planIndexes(ctx, row, available)),
  }),
  defineRoute('listApiSchemaSources', 'GET /api-schema/{id}/sources/{recordType}', {
    permission: 'api-schema:read',
    readsRecords: true,
    summary: 'List the sources of a record type',
    description:
      'What an endpoint over the record type can publish: the synced sources with their types, the operators, functions and masks that fit ' +
      'each type, and at most five records with their values by source. A field that any published or deprecated version masks is masked ' +
      'for callers without `unmasked:read`. Returns 404 for a record type that is not synced.',
    params: z.strictObject({ ...IdParams.shape, recordType: z.string().min(1).max(200) }),
    response: SchemaSources,
    handler: (ctx, { params }) => listApiSchemaSources(ctx, params.id, params.recordType),
  }),
  defineRoute('publishApiSchema', 'POST /api-schema/{id}/publish', {
    permission: 'api-schema:publish',
    summary: 'Publish a draft',
    description:
      'Accepted; processing continues in the background: indexes are built and the reads are tried on the real data. Poll the version or ' +
      '`/api-schema/{id}/publication` for the result. A published version never changes.',
    params: IdParams,
    body: PublishInput,
    example: { revision: 1 },
    response: ApiSchema,
    status: 202,
    handler: (ctx, { params, body }) => startPublication(ctx, params.id, body.revision),
  }),
  defineRoute('cancelApiSchemaPublication', 'POST /api-schema/{id}/cancel-publication', {
    permission: 'api-schema:publish',
    summary: 'Cancel a publication',
    description:
      'The draft can be edited and published again at once: nothing goes live, and the indexes of the publication are dropped in the ' +
      'background. Returns 422 `not_publishing` unless the draft is being published.',
    params: IdParams,
    additionalErrors: [422],
    response: ApiSchema,
    handler: (ctx, { params }) => cancelPublication(ctx, params.id),
  }),
  defineRoute('getApiSchemaPublication', 'GET /api-schema/{id}/publication', {
    permission: 'api-schema:read',
    summary: 'Retrieve the publication report',
    description:
      'Progress or result of the publication, the changes for callers since the previous version, and the time of each filter with each ' +
      'sort on the real data. A warm read over 250 ms is a warning; one over the read timeout fails the publication.',
    params: IdParams,
    response: PublicationReport,
    handler: (ctx, { params }) => getPublication(ctx, params.id),
  }),
  defineRoute('proveApiSchema', 'POST /api-schema/{id}/prove', {
    permission: 'api-schema:publish',
    summary: "Measure a version's read times again",
    description:
      'For versions whose data has grown since they were published; `records` is the number of records at that time. Accepted; ' +
      'processing continues in the background. The response is the current report: poll it until `madeAt` is newer. Nothing changes ' +
      'for callers.',
    params: IdParams,
    additionalErrors: [422],
    response: PublicationReport,
    status: 202,
    handler: (ctx, { params }) => proveApiSchema(ctx, params.id),
  }),
  defineRoute('createApiSchemaVersion', 'POST /api-schema/{id}/new-version', {
    permission: 'api-schema:create',
    summary: 'Create a draft from a version',
    description:
      'Copies its endpoints to a new draft with the next label. The version itself does not change.',
    params: IdParams,
    response: ApiSchema,
    status: 201,
    handler: (ctx, { params }) => service.createApiSchemaVersion(ctx, params.id),
  }),
  defineRoute('diffApiSchema', 'GET /api-schema/{id}/diff', {
    permission: 'api-schema:read',
    summary: 'Compare two versions',
    description:
      'Compares with the previous version unless `against` names another. Breaking changes are marked.',
    additionalErrors: [422],
    params: IdParams,
    query: z.strictObject({
      against: versionLabel.optional().describe('The version to compare with; defaults to the previous one'),
    }),
    response: ApiSchemaDifference,
    handler: (ctx, { params, query }) => service.diffApiSchema(ctx, params.id, query.against),
  }),
  defineRoute('deprecateApiSchema', 'POST /api-schema/{id}/deprecate', {
    permission: 'api-schema:publish',
    summary: 'Deprecate a version',
    description:
      'The version keeps working; its responses carry the headers Deprecation and Sunset. Only retiring it ends it.',
    params: IdParams,
    body: z.strictObject({ sunsetAt: bodyInstant.default(null) }),
    example: { sunsetAt: '2099-12-31T00:00:00Z' },
    response: ApiSchema,
    handler: (ctx, { params, body }) => deprecateApiSchema(ctx, params.id, body.sunsetAt),
  }),
  defineRoute('listApiSchemaCallers', 'GET /api-schema/{id}/callers', {
    permission: 'api-key:read',
    summary: 'List callers of a version',
    description:
      'API keys that used the version on the public interface in the last 30 days, most recent first: notify them before you retire it. ' +
      'Reads through `GET /api-schema/{id}/records/{resource}` are not counted.',
    params: IdParams,
    query: NamedPageQuery,
    response: createPageSchema(ApiSchemaCaller),
    handler: (ctx, { params, query }) => listApiSchemaCallers(ctx, params.id, query),
  }),
  defineRoute('retireApiSchema', 'POST /api-schema/{id}/retire', {
    permission: 'api-schema:retire',
    summary: 'Retire a version',
    description:
      'Reads of the version return 410 from then on. The response lists the API keys that used it in the last 30 days. `{"undo": true}` restores ' +
      'a retired version as deprecated; after more than a day its indexes are rebuilt in the background, and its reads are slower ' +
      'until then.',
    params: IdParams,
    body: z.strictObject({ undo: z.boolean().default(false) }),
    example: { undo: false },
    response: RetiredApiSchema,
    handler: async (ctx, { params, body }) => {
      const moved = await retireApiSchema(ctx, params.id, body.undo);
      if (body.undo) startIndexMaintenance(ctx);
      return moved;
    },
  }),
]);
