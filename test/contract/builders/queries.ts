// Queries of an organization that is connected to the simulated ERP, which runs each of them before it is
// stored.
import fc from 'fast-check';
import type { BuilderGroup, Fixture } from '../builder.ts';
import { known } from './netsuite.ts';

const input = { label: 'Items', query: 'SELECT id, itemid, lastmodifieddate FROM item', keyColumn: 'id' };
const meaningful = {
  'body.query': fc.constantFrom(
    input.query,
    'SELECT lastmodifieddate, id * 2 AS id FROM item -- all',
    'SELECT MAX(id) AS id, MAX(lastmodifieddate) AS lastmodifieddate FROM item GROUP BY itemtype;',
  ),
  'body.keyColumn': fc.constantFrom('id', 'ID'),
  'body.modifiedColumn': fc.constantFrom(null, 'lastmodifieddate'),
};
const newName = (fixture: Fixture): string => `items_${fixture.next()}`;

/** Of a query that was not there before. */
async function ofQuery(fixture: Fixture) {
  const name = newName(fixture);
  const { label, query, keyColumn: key_column } = input;
  const row = { organization_id: fixture.organization.id, name, label, query, key_column };
  await fixture.sql((tx) => tx('erp_queries').insert(row));
  return { params: { name } };
}

const own = { connection: 'netsuite' };
const ofConnection = async (fixture: Fixture) => {
  const { params } = await ofQuery(fixture);
  return { params: { ...params, ...own } };
};

export const queryBuilders: BuilderGroup = {
  setUp: known,
  builders: {
    listErpQueries: { build: () => ({}) },
    // Round trips to the ERP.
    createErpQuery: {
      build: (fixture) => ({ body: { ...input, name: newName(fixture) } }),
      fields: (fixture) => ({ ...meaningful, 'body.name': fc.integer().map(() => newName(fixture)) }),
      inputs: 8,
    },
    getErpQuery: { build: ofQuery },
    putErpQuery: {
      build: async (fixture) => ({ ...(await ofQuery(fixture)), body: input }),
      fields: meaningful,
      inputs: 8,
    },
    deleteErpQuery: { build: ofQuery },
    listConnectionQueries: { build: () => ({ params: own }) },
    createConnectionQuery: {
      build: (fixture) => ({ params: own, body: { ...input, name: newName(fixture) } }),
      fields: (fixture) => ({ ...meaningful, 'body.name': fc.integer().map(() => newName(fixture)) }),
      inputs: 2,
    },
    getConnectionQuery: { build: ofConnection },
    putConnectionQuery: {
      build: async (fixture) => ({ ...(await ofConnection(fixture)), body: input }),
      fields: meaningful,
      inputs: 2,
    },
    deleteConnectionQuery: { build: ofConnection },
  },
};
