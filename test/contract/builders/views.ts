// Views over one record type as a complete run leaves it, created by the owner for the whole organization.
import fc from 'fast-check';
import { createId } from '../../../src/core/id.ts';
import { createTenantSchema, tenantSchema } from '../../../src/warehouse/tenant-schema.ts';
import { asBuilt, type BuilderGroup, type Fixture } from '../builder.ts';

async function team({ organization, sql }: Fixture): Promise<string> {
  const id = createId();
  await sql((tx) => tx('teams').insert({ id, organization_id: organization.id, name: `Team ${id}` }));
  return id;
}

export async function makeView(fixture: Fixture): Promise<{ id: string; teamId: string }> {
  const [id, teamId] = [createId(), await team(fixture)];
  const row = {
    id,
    organization_id: fixture.organization.id,
    owner_id: fixture.owner.id,
    name: `View ${id}`,
    record_type: 'thing',
  };
  await fixture.sql((tx) =>
    tx('views').insert({
      ...row,
      columns: ['title'],
      visibility: 'organization',
      summary: '{"aggregates":[],"groups":[],"sort":null,"limit":10}',
    }),
  );
  return { id, teamId };
}
const ofView = async (fixture: Fixture) => ({ params: { id: (await makeView(fixture)).id } });

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

/** Shared views may be changed by their owner and by callers who may update members. */
const mayRefuse = ['view_owner_needed'];

export const viewBuilders: BuilderGroup = {
  setUp: async ({ ctx, organization }) => {
    await createTenantSchema(ctx, organization.id);
    const schema = tenantSchema(organization.id);
    await ctx.db.data.query(
      `create table ${schema}.thing_1 (id bigint primary key, c1 text collate "C", c2 numeric);
       insert into ${schema}.thing_1 select n, 'title ' || n, n * 1.50 from generate_series(1, 30) as n;
       insert into ${schema}.record_state (record_type, id_type, generation, row_count, epoch, active_table, synced_at)
         values ('thing', 'integer', 1, 30, gen_random_uuid(), 'thing_1', now());
       insert into ${schema}.record_columns (record_type, column_name, field, part, type, state, position)
         values ('thing', 'c1', 'title', 'value', 'text', 'live', 1), ('thing', 'c2', 'amount', 'value', 'number', 'live', 2)`,
    );
  },
  builders: {
    listViews: { build: () => ({ query: { recordType: 'thing', visibility: 'organization' } }) },
    createView: {
      build: async (fixture) => ({
        body: {
          name: `View ${fixture.next()}`,
          recordType: 'thing',
          columns: ['title'],
          visibility: 'team',
          teamId: await team(fixture),
        },
      }),
      fields,
      repeatable: true,
    },
    getView: { build: ofView },
    updateView: {
      build: async (fixture) => {
        const { id, teamId } = await makeView(fixture);
        return { params: { id }, body: { visibility: 'team', teamId } };
      },
      fields,
      mayRefuse,
    },
    deleteView: { build: ofView, mayRefuse },
    listViewRecords: { build: ofView },
    listViewRows: { build: ofView },
  },
};
