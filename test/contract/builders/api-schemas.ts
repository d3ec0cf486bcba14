// Versions are inserted in the status that an operation needs, over one record type as a complete run leaves
// it.
import fc from 'fast-check';
import { publishVersion } from '../../public/fixture.ts';
import { laterInstants } from '../arbitrary.ts';
import { asBuilt, type BuilderGroup, byId, type Fixture, insertRow, storeRecords } from '../builder.ts';

const things = [{ name: 'things', recordType: 'thing', fields: [{ name: 'title', source: 'title' }] }];

type Status = 'draft' | 'published' | 'deprecated' | 'retired';
/** Labels far above those that the server assigns, except that it continues from the highest. */
async function insertVersion(
  fixture: Fixture,
  status: Status,
  columns: object = {},
): Promise<{ id: string; version: string }> {
  const version = `v${1_000 + fixture.next()}`;
  const publication = JSON.stringify({
    status: 'succeeded',
    progress: { step: 'live', done: 1, total: 1 },
    problems: [],
  });
  const live =
    status === 'draft'
      ? {}
      : { bindings: '{}', openapi: '{}', publication, published_at: '2026-03-02T10:00:00Z' };
  const row = { version, status, created_by: fixture.owner.id, ...live, ...columns };
  return { id: await insertRow(fixture, 'api_schemas', row), version };
}

const insertDraft = byId(async (fixture) => (await insertVersion(fixture, 'draft')).id);
const insertPublished = byId(async (fixture) => (await insertVersion(fixture, 'published')).id);

const readableVersions = new WeakMap<Fixture['organization'], Promise<string>>();
/**
 * A version whose records can be read, of which there are none. One for each fixture, because their number is
 * limited.
 */
async function readable({ ctx, organization, next }: Fixture) {
  const made = readableVersions.get(organization);
  const version = `v${1_000 + next()}`;
  const id =
    made ??
    publishVersion(ctx, organization.id, { version, endpoints: [{ ...things[0], sorts: ['title'] }] });
  readableVersions.set(organization, id);
  return { params: { id: await id, resource: 'things' } };
}

/** Consistent endpoints. */
const endpoints = fc.uniqueArray(
  fc
    .record({
      name: fc.stringMatching(/^[a-z][a-z0-9-]{0,20}$/),
      description: fc.string({ maxLength: 30 }),
      names: fc.uniqueArray(fc.stringMatching(/^f[a-z0-9]{1,10}$/), { minLength: 1, maxLength: 4 }),
      maxPageSize: fc.integer({ min: 1, max: 1_000 }),
    })
    .map(({ name, description, names, maxPageSize }) => ({
      name,
      description,
      recordType: 'thing',
      fields: names.map((field) => ({ name: field, source: 'title' })),
      filters: [{ field: names[0], operators: ['eq', 'starts_with'] }],
      sorts: names,
      defaultSort: { field: names[0], order: 'desc' },
      maxPageSize,
    })),
  { maxLength: 3, selector: ({ name }) => name },
);

export const apiSchemaBuilders: BuilderGroup = {
  setUp: (fixture) => storeRecords(fixture, 'thing', { title: 'text' }, [0, 'n']),
  builders: {
    listApiSchemas: { build: () => ({}) },
    createApiSchema: {
      build: async (fixture) => ({ body: { basedOn: (await insertVersion(fixture, 'draft')).version } }),
      fields: { 'body.basedOn': asBuilt, 'body.endpoints': endpoints },
      repeatable: true,
    },
    draftApiSchemaFrom: {
      build: () => ({ body: { recordTypes: ['thing'] } }),
      fields: { 'body.recordTypes': asBuilt },
      repeatable: true,
      // It saves nothing.
      auditRows: 0,
    },
    getApiSchema: { build: insertDraft },
    updateApiSchema: {
      build: async (fixture) => ({ ...(await insertDraft(fixture)), body: { notes: 'Other' } }),
      // Only the current revision is accepted, and each change creates a new one.
      fields: { 'body.revision': asBuilt, 'body.endpoints': endpoints },
    },
    deleteApiSchema: { build: insertDraft },
    validateApiSchema: {
      build: async (fixture) => ({
        body: { against: (await insertVersion(fixture, 'draft')).version },
        ...(await insertDraft(fixture)),
      }),
      fields: { 'body.endpoints': endpoints, 'body.against': asBuilt },
      // It saves nothing.
      auditRows: 0,
    },
    listApiSchemaSources: {
      build: async (fixture) => ({ params: { ...(await insertDraft(fixture)).params, recordType: 'thing' } }),
      fields: { 'params.recordType': asBuilt },
    },
    publishApiSchema: {
      build: async ({ api }) => ({
        params: { id: (await api('POST', '/api-schema', { endpoints: things })).body.id },
        body: { revision: 1 },
      }),
      fields: { 'body.revision': asBuilt },
    },
    cancelApiSchemaPublication: {
      build: async (fixture) => {
        const progress = { step: 'starting', done: 0, total: 1 };
        const publication = JSON.stringify({ status: 'running', progress, problems: [] });
        // Under a lease, so that no worker takes it.
        const held = { publication, publication_lease_until: '2099-01-01T00:00:00Z' };
        return { params: { id: (await insertVersion(fixture, 'draft', held)).id } };
      },
    },
    getApiSchemaPublication: { build: insertPublished },
    proveApiSchema: { build: insertPublished },
    createApiSchemaVersion: { build: insertDraft },
    diffApiSchema: {
      build: async (fixture) => ({
        query: { against: (await insertVersion(fixture, 'draft')).version },
        ...(await insertDraft(fixture)),
      }),
      fields: { 'query.against': asBuilt },
    },
    deprecateApiSchema: {
      build: async (fixture) => ({ ...(await insertPublished(fixture)), body: { sunsetAt: null } }),
      fields: { 'body.sunsetAt': fc.option(laterInstants) },
    },
    listApiSchemaCallers: { build: insertPublished },
    listApiSchemaRecords: {
      build: readable,
      fields: {
        'query.pageSize': fc.integer({ min: 1, max: 100 }),
        'query.sort': fc.constant('title'),
        'query.fields': fc.constantFrom('id', 'title', 'title,id'),
        ...{ 'query.q': asBuilt, 'query.or': asBuilt, 'query.expand': asBuilt },
      },
    },
    summarizeApiSchemaRecords: {
      build: readable,
      fields: {
        'query.by': fc.constant('title'),
        'query.count': fc.constantFrom('true', 'false'),
        'query.count_distinct': fc.constant('title'),
        'query.sort': fc.constantFrom('title', '-title'),
        'query.limit': fc.integer({ min: 1, max: 1_000 }),
        ...Object.fromEntries(
          ['sum', 'avg', 'min', 'max', 'q', 'or'].map((name) => [`query.${name}`, asBuilt] as const),
        ),
      },
    },
    retireApiSchema: {
      build: async (fixture) => ({ ...(await insertPublished(fixture)), body: { undo: false } }),
      fields: { 'body.undo': asBuilt },
    },
  },
};
