// Views over one record type as a complete run leaves it, created by the owner for the whole organization.
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { createId } from '../../../src/core/id.ts';
import { asBuilt, type BuilderGroup, byId, type Fixture, insertRow, storeRecords } from '../builder.ts';
import { makeTeam } from './teams.ts';

export const makeView = (fixture: Fixture): Promise<string> =>
  insertRow(fixture, 'views', {
    owner_id: fixture.owner.id,
    name: `View ${createId()}`,
    record_type: 'thing',
    columns: ['title'],
    visibility: 'organization',
    summary: '{"aggregates":[],"groups":[],"sort":null,"limit":10}',
  });
const ofView = byId(makeView);

const fields = {
  'body.recordType': asBuilt,
  'body.columns': fc.uniqueArray(fc.constantFrom('title', 'amount'), { minLength: 1 }),
  'body.filters': fc.array(
    fc.constantFrom(
      { field: 'title', operator: 'eq', value: ['a', 'b'] },
      { field: 'title', operator: 'contains', value: 'abc' },
      { field: 'amount', operator: 'gte', value: 1.5 },
      { field: 'amount', operator: 'not', value: '12345678901234567890' },
      { field: 'id', operator: 'null', value: false },
    ),
    { maxLength: 3 },
  ),
  'body.sort': fc.uniqueArray(
    fc.record({ field: fc.constantFrom('title', 'amount', 'id'), direction: fc.constantFrom('asc', 'desc') }),
    {
      maxLength: 3,
      selector: ({ field }) => field,
    },
  ),
  'body.summary': fc.constantFrom(
    null,
    {},
    { groups: [{ field: 'title' }], sort: '-count', limit: 3 },
    {
      aggregates: [{ field: 'amount', functions: ['sum', 'avg', 'min', 'max', 'count_distinct'] }],
      sort: 'sum.amount',
    },
    {
      aggregates: [{ field: 'title', functions: ['count_distinct'] }],
      groups: [{ field: 'amount', period: null }, { field: 'title' }],
    },
  ),
  'body.visibility': asBuilt,
  'body.teamId': asBuilt,
} as const;

const makeLink = async (fixture: Fixture) => {
  const id = await makeView(fixture);
  const linkId = await insertRow(fixture, 'view_links', {
    ...{ view_id: id, name: 'Report', token_hash: randomBytes(32), rows: '[]' },
    ...{ created_by: fixture.owner.id, expires_at: '2126-01-01' },
  });
  return { id, linkId };
};

/** Shared views may be changed by their owner and by callers who may update members. */
const mayRefuse = ['view_owner_needed'];

export const viewBuilders: BuilderGroup = {
  setUp: (fixture) =>
    storeRecords(fixture, 'thing', { title: 'text', amount: 'number' }, [30, "'title ' || n, n * 1.50"]),
  builders: {
    listViews: { build: () => ({ query: { recordType: 'thing', visibility: 'organization' } }) },
    createView: {
      build: async (fixture) => ({
        body: {
          name: `View ${fixture.next()}`,
          recordType: 'thing',
          columns: ['title'],
          visibility: 'team',
          teamId: await makeTeam(fixture),
        },
      }),
      fields,
      repeatable: true,
    },
    getView: { build: ofView },
    updateView: {
      build: async (fixture) => {
        const [id, teamId] = [await makeView(fixture), await makeTeam(fixture)];
        return { params: { id }, body: { visibility: 'team', teamId } };
      },
      fields,
      mayRefuse,
    },
    deleteView: { build: ofView, mayRefuse },
    listViewLinks: { build: async (fixture) => ({ params: { id: (await makeLink(fixture)).id } }) },
    listAllViewLinks: {
      build: async (fixture) => {
        await makeLink(fixture);
        return {};
      },
    },
    createViewLink: {
      build: async (fixture) => ({
        params: { id: await makeView(fixture) },
        body: { rows: [{ field: 'id', in: ['1'] }] },
      }),
      fields: {
        'body.rows': fc.constantFrom([], [{ field: 'id', in: ['1', 2] }]),
        'body.expiresAt': fc
          .integer({ min: 1, max: 365 })
          .map((days) => new Date(Date.now() + days * 86_400_000).toISOString()),
      },
    },
    deleteViewLink: {
      build: async (fixture) => ({ params: await makeLink(fixture) }),
      mayRefuse: ['link_creator_needed'],
    },
    listViewRecords: { build: ofView },
    listViewRows: { build: ofView },
  },
};
