// Visitors of a portal that is on: its customers are records with an address.
import fc from 'fast-check';
import { loadCompany, settings } from '../../portal/company.ts';
import { asBuilt, type BuilderGroup, type Fixture, insertRow } from '../builder.ts';

const customers = Array.from({ length: 8 }, (_, at) => ({
  ...{ id: at + 1, name: `Customer ${at}`, email: `ada${at}@people.example`, isinactive: false },
}));
const email = 'ada3@people.example';

/** Resolves when the portal is on; it is made ready in this process. */
async function switchOn({ ctx, api }: Fixture): Promise<void> {
  await api('put', '/portal/access', settings);
  await ctx.work.waitUntilIdle('publications');
  await ctx.work.waitUntilIdle('portal-figures');
  const { body } = await api('get', '/portal/access');
  if (body.status !== 'on') throw new Error(`the portal is ${JSON.stringify(body.publication)}`);
}

const makeCustomerView = (fixture: Fixture): Promise<string> =>
  insertRow(fixture, 'views', {
    owner_id: fixture.owner.id,
    name: `Customers ${fixture.next()}`,
    record_type: 'customer',
    columns: ['email'],
    visibility: 'organization',
  });

export const portalVisitorBuilders: BuilderGroup = {
  setUp: async (fixture) => {
    await loadCompany(fixture.ctx, fixture.organization.id, { customers });
    await switchOn(fixture);
  },
  builders: {
    lookUpPortalAddress: {
      build: () => ({ query: { email } }),
      fields: { 'query.email': fc.uuid().map((name) => `${name}@people.example`) },
    },
    viewPortalAsVisitor: {
      build: () => ({ body: { email } }),
      fields: { 'body.email': asBuilt, 'body.customer': fc.constant('4') },
      repeatable: true,
    },
    invitePortalVisitors: {
      build: async (fixture) => ({ body: { viewId: await makeCustomerView(fixture), dryRun: false } }),
      // Either a view or an address.
      fields: { 'body.viewId': asBuilt, 'body.email': asBuilt },
      repeatable: true,
      inputs: 16,
    },
  },
};
