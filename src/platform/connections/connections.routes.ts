import { z } from 'zod';
import { netsuiteName } from '../../connectors/secret-binding.ts';
import { defineRoute, inGroup } from '../../http/route/define.ts';
import {
  Connection,
  ConnectionInput,
  ConnectionList,
  ConnectionParams,
  ConnectionTest,
  ConnectionUpdate,
  ErpCertificate,
  ErpConnection,
  ErpConnectionInput,
  ErpMetadata,
  ErpRecordType,
  MetadataQuery,
  RecordTypeName,
} from './connections.schemas.ts';
import * as service from './connections.service.ts';
import * as deletion from './delete-connection.service.ts';
import * as metadata from './metadata.service.ts';
import * as tests from './test-connection.service.ts';

const PurgeQuery = z.strictObject({
  purge: z.string().optional().describe("The organization's slug, to delete the synced records too"),
});
/** For the connection of this name the permission of its own group suffices. */
export const orNetsuite = <A extends 'read' | 'update' | 'delete'>(action: A) => ({
  permission: `netsuite:${action}` as const,
  for: { connection: netsuiteName },
});
const params = ConnectionParams;
const example = {
  kind: 'netsuite',
  settings: {
    accountId: '1234567_SB1',
    authentication: { method: 'oauth2', clientId: 'client id of the integration', certificateId: null },
  },
};

/** The same operations for each connection; those of the one called `netsuite` are also at `/netsuite`. */
export const connectionRoutes = inGroup('ERP connection', [
  defineRoute('listConnections', 'GET /connections', {
    permission: 'connection:read',
    summary: 'List the ERP connections',
    description:
      'The first one, then by name. Record types of the first have bare names such as `invoice`; those of another begin with its name, such as ' +
      '`sandbox:invoice`. One API schema may publish record types of several.',
    response: ConnectionList,
    handler: (ctx) => service.listConnections(ctx),
  }),
  defineRoute('createConnection', 'POST /connections', {
    permission: 'connection:create',
    summary: 'Set up an ERP connection',
    description: '`netsuite` is the name of the connection that the operations below `/netsuite` are about.',
    body: ConnectionInput,
    example: { name: 'sandbox', ...example },
    response: Connection,
    status: 201,
    handler: (ctx, { body }) => service.createConnection(ctx, body),
  }),
  defineRoute('getConnection', 'GET /connections/{connection}', {
    permission: 'connection:read',
    orPermission: orNetsuite('read'),
    summary: 'Retrieve an ERP connection',
    description: 'Secrets are never returned, only whether they are set and their last four characters.',
    params,
    response: Connection,
    handler: (ctx, { params: { connection } }) => service.getConnection(ctx, connection),
  }),
  defineRoute('updateConnection', 'PATCH /connections/{connection}', {
    permission: 'connection:update',
    orPermission: orNetsuite('update'),
    summary: 'Replace the settings of an ERP connection',
    description:
      'Resets the connection status to `untested` and resumes paused syncs. The account cannot change while synced records of the current one ' +
      'are stored.',
    params,
    body: ConnectionUpdate,
    example,
    response: Connection,
    handler: (ctx, { params: { connection }, body }) => service.updateConnection(ctx, connection, body),
  }),
  defineRoute('deleteConnection', 'DELETE /connections/{connection}', {
    permission: 'connection:delete',
    orPermission: orNetsuite('delete'),
    summary: 'Delete an ERP connection',
    description:
      'Pauses its syncs. Rejected while a published version shows its records. `?purge=<organization slug>` deletes its records too, which any ' +
      'connection but `netsuite` requires while it has some.',
    params,
    query: PurgeQuery,
    handler: (ctx, { params: { connection }, query }) =>
      deletion.deleteConnection(ctx, connection, query.purge),
  }),
  defineRoute('createConnectionCertificate', 'POST /connections/{connection}/certificate', {
    permission: 'connection:update',
    orPermission: orNetsuite('update'),
    summary: 'Create a certificate for a connection to NetSuite',
    additionalErrors: [404],
    description: 'As for `/netsuite/connection`. A connection of another kind has none: 422.',
    params,
    response: ErpCertificate,
    status: 201,
    handler: (ctx, { params: { connection } }) => service.createErpCertificate(ctx, connection),
  }),
  defineRoute('testConnection', 'POST /connections/{connection}/test', {
    permission: 'connection:update',
    orPermission: orNetsuite('update'),
    summary: 'Test an ERP connection',
    additionalErrors: [404],
    description:
      'Signs in, requests the time and reads one row of each table. Each problem names a fix. Not `ok` when a record type cannot be read for ' +
      'which a sync is enabled.',
    params,
    response: ConnectionTest,
    handler: (ctx, { params: { connection } }) => tests.testConnection(ctx, connection),
  }),
  defineRoute('getConnectionMetadata', 'GET /connections/{connection}/metadata', {
    permission: 'connection:read',
    orPermission: orNetsuite('read'),
    summary: 'List record types of a connection',
    description:
      'As of the last refresh, under the names by which they are synced. `q` searches names and labels. The list is empty until the first ' +
      'refresh; `notListed` then says why.',
    params,
    query: MetadataQuery,
    response: ErpMetadata,
    handler: (ctx, { params: { connection }, query }) => metadata.listErpRecordTypes(ctx, connection, query),
  }),
  defineRoute('getConnectionRecordType', 'GET /connections/{connection}/metadata/{recordType}', {
    permission: 'connection:read',
    orPermission: orNetsuite('read'),
    summary: 'Retrieve a record type of a connection with its fields',
    description: 'Reads the fields from the ERP when that was not done since the last refresh.',
    params: params.extend({ recordType: RecordTypeName }),
    response: ErpRecordType,
    handler: (ctx, { params: { connection, recordType } }) =>
      metadata.getErpRecordType(ctx, connection, recordType),
  }),
  defineRoute('refreshConnectionMetadata', 'POST /connections/{connection}/metadata/refresh', {
    permission: 'connection:update',
    orPermission: orNetsuite('update'),
    summary: 'Refresh the record types of a connection',
    description:
      'Returns the first page of the list. When the ERP is unavailable, the result of the last successful refresh stays and `lastError` gives ' +
      'the reason.',
    params,
    response: ErpMetadata,
    handler: (ctx, { params: { connection } }) => metadata.refreshErpMetadata(ctx, connection),
  }),
]);

export const netsuiteRoutes = inGroup('ERP connection', [
  defineRoute('getErpConnection', 'GET /netsuite/connection', {
    permission: 'netsuite:read',
    orPermission: { permission: 'connection:read' },
    summary: 'Retrieve the ERP connection',
    description:
      'Secrets are never returned, only whether they are set and their last four characters. Certificates are public and returned, so that one ' +
      'can be uploaded in NetSuite again after it was revoked there.',
    additionalErrors: [404],
    response: ErpConnection,
    handler: (ctx) => service.getErpConnection(ctx),
  }),
  defineRoute('putErpConnection', 'PUT /netsuite/connection', {
    permission: 'netsuite:update',
    orPermission: { permission: 'connection:update' },
    summary: 'Set up or replace the ERP connection',
    description:
      'Resets the connection status to `untested` and resumes paused syncs. Omitted secrets stay as they are. The account cannot change while ' +
      'synced records of the current one are stored.\n\n' +
      'A certificate id activates the certificate that has it. A new id belongs to the certificate that waits for one, otherwise to the active ' +
      'certificate, for example after it was uploaded in NetSuite again or to correct a typing error. `certificateSlot` names another one. ' +
      'Key pairs are never replaced by this operation.',
    body: ErpConnectionInput,
    example: {
      accountId: '1234567',
      authentication: { method: 'oauth2', clientId: 'client id of the integration', certificateId: null },
    },
    response: ErpConnection,
    handler: (ctx, { body }) => service.putErpConnection(ctx, body),
  }),
  defineRoute('deleteErpConnection', 'DELETE /netsuite/connection', {
    permission: 'netsuite:delete',
    orPermission: { permission: 'connection:delete' },
    summary: 'Delete the ERP connection',
    additionalErrors: [404],
    description:
      'Pauses all syncs; synced records stay available. `?purge=<organization slug>` also deletes the records.',
    query: PurgeQuery,
    handler: (ctx, { query }) => deletion.deleteConnection(ctx, netsuiteName, query.purge, false),
  }),
  defineRoute('createErpCertificate', 'POST /netsuite/connection/certificate', {
    permission: 'netsuite:update',
    orPermission: { permission: 'connection:update' },
    summary: 'Create a certificate for the ERP connection',
    description:
      'Generates a key pair; the private key never leaves the service. Two slots allow rotation: the new certificate takes the slot that is ' +
      'not active, and becomes active once its NetSuite id is set in the connection.',
    response: ErpCertificate,
    status: 201,
    handler: (ctx) => service.createErpCertificate(ctx, netsuiteName),
  }),
  defineRoute('testErpConnection', 'POST /netsuite/connection/test', {
    permission: 'netsuite:update',
    orPermission: { permission: 'connection:update' },
    summary: 'Test the ERP connection',
    additionalErrors: [404],
    description:
      'Signs in, requests the time and reads one row of each table. Each problem names a fix. Not `ok` when a record type cannot be read for ' +
      'which a sync is enabled.',
    response: ConnectionTest,
    handler: (ctx) => tests.testConnection(ctx, netsuiteName),
  }),
  defineRoute('getErpMetadata', 'GET /netsuite/metadata', {
    permission: 'netsuite:read',
    orPermission: { permission: 'connection:read' },
    summary: 'List record types of the ERP account',
    description:
      "As of the last refresh: the record types that the service knows by name, then all others in the ERP's order. Those are described when " +
      'they are needed for the first time; until then their fields, and whether they can be synced, are not known. `q` searches names and labels. The list is empty until the first ' +
      'refresh; `notListed` then says why.',
    query: MetadataQuery,
    response: ErpMetadata,
    handler: (ctx, { query }) => metadata.listErpRecordTypes(ctx, netsuiteName, query),
  }),
  defineRoute('getErpRecordType', 'GET /netsuite/metadata/{recordType}', {
    permission: 'netsuite:read',
    orPermission: { permission: 'connection:read' },
    summary: 'Retrieve a record type with its fields',
    description:
      'Reads the fields from the ERP when that was not done since the last refresh. `reading` says how runs find changes and deletions. Each ' +
      'field includes its type and, when it cannot be synced, the reason.',
    params: z.strictObject({
      recordType: RecordTypeName,
    }),
    response: ErpRecordType,
    handler: (ctx, { params }) => metadata.getErpRecordType(ctx, netsuiteName, params.recordType),
  }),
  defineRoute('refreshErpMetadata', 'POST /netsuite/metadata/refresh', {
    permission: 'netsuite:update',
    orPermission: { permission: 'connection:update' },
    summary: 'Refresh the record types of the ERP account',
    description:
      'Lists the record types, and describes those that the service knows by name. Returns the first page of the list. When the ERP is unavailable, the result of the last successful refresh stays and `lastError` gives ' +
      'the reason.',
    response: ErpMetadata,
    handler: (ctx) => metadata.refreshErpMetadata(ctx, netsuiteName),
  }),
]);
