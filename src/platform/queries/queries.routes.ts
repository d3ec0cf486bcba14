import { z } from 'zod';
import { netsuiteName } from '../../connectors/secret-binding.ts';
import { createPageSchema, NamedPageQuery } from '../../http/page.ts';
import { defineRoute, inGroup } from '../../http/route/define.ts';
import { orNetsuite } from '../connections/connections.routes.ts';
import { ConnectionParams } from '../connections/connections.schemas.ts';
import { ErpQuery, ErpQueryInput, NewErpQuery, QueryName } from './queries.schemas.ts';
import * as service from './queries.service.ts';

const params = z.strictObject({ name: QueryName });
const ofConnection = ConnectionParams.extend({ name: QueryName });
const example = {
  label: 'Open balances by customer',
  query:
    "SELECT entity, SUM(foreignamountunpaid) AS unpaid FROM transaction WHERE type = 'CustInvc' GROUP BY entity",
  keyColumn: 'entity',
};
const rules =
  'The query is one SELECT of at most 10,000 characters and 500 columns, without parameters. Its key column has an integer in every row that ' +
  'no other row has. Each column has a name of letters, digits and _: an expression needs an alias, and `*` names none. The type of a field ' +
  'follows from its values. The ERP runs the query before it is stored; a refusal is reported in its words.';

export const queryRoutes = inGroup('ERP connection', [
  defineRoute('listErpQueries', 'GET /netsuite/queries', {
    permission: 'netsuite:read',
    orPermission: { permission: 'connection:read' },
    summary: 'List queries that define record types',
    description: 'By name. `q` searches names and labels.',
    query: NamedPageQuery,
    response: createPageSchema(ErpQuery),
    handler: (ctx, { query: { q, ...page } }) => service.listErpQueries(ctx, netsuiteName, page, q),
  }),
  defineRoute('createErpQuery', 'POST /netsuite/queries', {
    permission: 'netsuite:update',
    orPermission: { permission: 'connection:update' },
    readsRecords: true,
    summary: 'Define a record type by a query',
    description: `The record type can then be synced and published like any other. ${rules}`,
    body: NewErpQuery,
    example: { name: 'open_balances', ...example },
    response: ErpQuery,
    status: 201,
    handler: (ctx, { body }) => service.createErpQuery(ctx, netsuiteName, body),
  }),
  defineRoute('getErpQuery', 'GET /netsuite/queries/{name}', {
    permission: 'netsuite:read',
    orPermission: { permission: 'connection:read' },
    summary: 'Retrieve a query',
    description: 'GET /netsuite/metadata/{recordType} returns the fields of the record type that it defines.',
    params,
    response: ErpQuery,
    handler: (ctx, { params: { name } }) => service.getErpQuery(ctx, netsuiteName, name),
  }),
  defineRoute('putErpQuery', 'PUT /netsuite/queries/{name}', {
    permission: 'netsuite:update',
    orPermission: { permission: 'connection:update' },
    readsRecords: true,
    summary: 'Replace a query',
    description:
      `${rules}\n\nThe next run of its sync configuration reads all rows. Columns that are gone or have another type are reported as drift ` +
      'and treated like fields that changed in the ERP. While a sync configuration uses the query, its key column cannot change, and nothing ' +
      'but the label can while a run is open.',
    params,
    body: ErpQueryInput,
    example,
    response: ErpQuery,
    handler: (ctx, { params: { name }, body }) => service.putErpQuery(ctx, netsuiteName, name, body),
  }),
  defineRoute('deleteErpQuery', 'DELETE /netsuite/queries/{name}', {
    permission: 'netsuite:update',
    orPermission: { permission: 'connection:update' },
    summary: 'Delete a query',
    description: 'Rejected while a sync configuration uses it. Synced records stay available.',
    params,
    handler: (ctx, { params: { name } }) => service.deleteErpQuery(ctx, netsuiteName, name),
  }),
]);

/** The same for each connection. */
export const connectionQueryRoutes = inGroup('ERP connection', [
  defineRoute('listConnectionQueries', 'GET /connections/{connection}/queries', {
    permission: 'connection:read',
    orPermission: orNetsuite('read'),
    summary: 'List queries of a connection that define record types',
    description: 'By name. `q` searches names and labels.',
    params: ConnectionParams,
    query: NamedPageQuery,
    response: createPageSchema(ErpQuery),
    handler: (ctx, { params: { connection }, query: { q, ...page } }) =>
      service.listErpQueries(ctx, connection, page, q),
  }),
  defineRoute('createConnectionQuery', 'POST /connections/{connection}/queries', {
    permission: 'connection:update',
    orPermission: orNetsuite('update'),
    readsRecords: true,
    summary: 'Define a record type by a query of a connection',
    description: `Its name is that of the query, after the prefix of the connection. ${rules} An ERP without a query language refuses it: 422.`,
    params: ConnectionParams,
    body: NewErpQuery,
    example: { name: 'open_balances', ...example },
    response: ErpQuery,
    status: 201,
    handler: (ctx, { params: { connection }, body }) => service.createErpQuery(ctx, connection, body),
  }),
  defineRoute('getConnectionQuery', 'GET /connections/{connection}/queries/{name}', {
    permission: 'connection:read',
    orPermission: orNetsuite('read'),
    summary: 'Retrieve a query of a connection',
    description: 'The metadata of the connection has the record type that it defines.',
    params: ofConnection,
    response: ErpQuery,
    handler: (ctx, { params: { connection, name } }) => service.getErpQuery(ctx, connection, name),
  }),
  defineRoute('putConnectionQuery', 'PUT /connections/{connection}/queries/{name}', {
    permission: 'connection:update',
    orPermission: orNetsuite('update'),
    readsRecords: true,
    summary: 'Replace a query of a connection',
    description: 'As `PUT /netsuite/queries/{name}`.',
    params: ofConnection,
    body: ErpQueryInput,
    example,
    response: ErpQuery,
    handler: (ctx, { params: { connection, name }, body }) =>
      service.putErpQuery(ctx, connection, name, body),
  }),
  defineRoute('deleteConnectionQuery', 'DELETE /connections/{connection}/queries/{name}', {
    permission: 'connection:update',
    orPermission: orNetsuite('update'),
    summary: 'Delete a query of a connection',
    description: 'Rejected while a sync configuration uses it. Synced records stay available.',
    params: ofConnection,
    handler: (ctx, { params: { connection, name } }) => service.deleteErpQuery(ctx, connection, name),
  }),
]);
