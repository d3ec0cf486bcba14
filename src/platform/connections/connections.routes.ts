import { z } from 'zod';
import { defineRoute, inGroup } from '../../http/route/define.ts';
import * as metadata from './metadata.service.ts';
import {
  ConnectionTest,
  ErpCertificate,
  ErpConnection,
  ErpConnectionInput,
  ErpMetadata,
  ErpRecordType,
  MetadataQuery,
} from './netsuite.schemas.ts';
import * as service from './netsuite.service.ts';

export const netsuiteRoutes = inGroup('ERP connection', [
  defineRoute('getErpConnection', 'GET /netsuite/connection', {
    permission: 'netsuite:read',
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
    summary: 'Delete the ERP connection',
    additionalErrors: [404],
    description:
      'Pauses all syncs; synced records stay available. `?purge=<organization slug>` also deletes the records.',
    query: z.strictObject({
      purge: z.string().optional().describe("The organization's slug, to delete the synced records too"),
    }),
    handler: (ctx, { query }) => service.deleteErpConnection(ctx, query.purge),
  }),
  defineRoute('createErpCertificate', 'POST /netsuite/connection/certificate', {
    permission: 'netsuite:update',
    summary: 'Create a certificate for the ERP connection',
    description:
      'Generates a key pair; the private key never leaves the service. Two slots allow rotation: the new certificate takes the slot that is ' +
      'not active, and becomes active once its NetSuite id is set in the connection.',
    response: ErpCertificate,
    status: 201,
    handler: (ctx) => service.createErpCertificate(ctx),
  }),
  defineRoute('testErpConnection', 'POST /netsuite/connection/test', {
    permission: 'netsuite:update',
    summary: 'Test the ERP connection',
    additionalErrors: [404],
    description:
      'Signs in, requests the time and reads one row of each table. Each problem names a fix. Not `ok` when a record type cannot be read for ' +
      'which a sync is enabled.',
    response: ConnectionTest,
    handler: (ctx) => service.testErpConnection(ctx),
  }),
  defineRoute('getErpMetadata', 'GET /netsuite/metadata', {
    permission: 'netsuite:read',
    summary: 'List record types of the ERP account',
    description:
      "As of the last refresh: the record types that the service knows by name, then all others in the ERP's order. Those are described when " +
      'they are needed for the first time; until then their fields, and whether they can be synced, are not known. `q` searches names and labels. The list is empty until the first ' +
      'refresh; `notListed` then says why.',
    query: MetadataQuery,
    response: ErpMetadata,
    handler: (ctx, { query }) => metadata.listErpRecordTypes(ctx, query),
  }),
  defineRoute('getErpRecordType', 'GET /netsuite/metadata/{recordType}', {
    permission: 'netsuite:read',
    summary: 'Retrieve a record type with its fields',
    description:
      'Reads the fields from the ERP when that was not done since the last refresh. `reading` says how runs find changes and deletions. Each ' +
      'field includes its type and, when it cannot be synced, the reason.',
    params: z.strictObject({
      recordType: z.string().regex(/^[A-Za-z][A-Za-z0-9_]{0,62}$/, 'must be a record type name'),
    }),
    response: ErpRecordType,
    handler: (ctx, { params }) => metadata.getErpRecordType(ctx, params.recordType),
  }),
  defineRoute('refreshErpMetadata', 'POST /netsuite/metadata/refresh', {
    permission: 'netsuite:update',
    summary: 'Refresh the record types of the ERP account',
    description:
      'Lists the record types, and describes those that the service knows by name. Returns the first page of the list. When the ERP is unavailable, the result of the last successful refresh stays and `lastError` gives ' +
      'the reason.',
    response: ErpMetadata,
    handler: (ctx) => metadata.refreshErpMetadata(ctx),
  }),
]);
