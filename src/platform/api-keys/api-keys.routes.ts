import { z } from 'zod';
import { Day, IdParams } from '../../http/fields.ts';
import { createPageSchema, pageFields, sortFields } from '../../http/page.ts';
import { defineRoute, inGroup } from '../../http/route/define.ts';
import {
  ApiKey,
  ApiKeyPatch,
  ApiKeyRotation,
  ApiKeyUsage,
  ApiKeyWithSecret,
  NewApiKey,
  usageGrouping,
} from './api-keys.schemas.ts';
import {
  createApiKey,
  getApiKey,
  keepApiKeySecret,
  listApiKeys,
  revokeApiKey,
  rotateApiKey,
  updateApiKey,
} from './api-keys.service.ts';
import { apiKeySorts } from './api-keys.store.ts';
import { getApiKeyUsage } from './usage.ts';

const ceiling =
  'Callers can grant only what they may do themselves: reading records requires `record:read`, masked fields as they are `unmasked:read`, ' +
  'and a key never outlives the API key that makes or widens it.';

export const apiKeyRoutes = inGroup('API Keys', [
  defineRoute('listApiKeys', 'GET /api-keys', {
    permission: 'api-key:read',
    summary: 'List API keys',
    description:
      'Newest first unless sorted. Revoked and expired keys stay listed. Secrets are never returned again.',
    query: z.strictObject({
      ...pageFields,
      ...sortFields(apiKeySorts),
      q: z.string().min(1).max(120).optional(),
      status: z.enum(['active', 'expired', 'revoked']).optional(),
    }),
    response: createPageSchema(ApiKey),
    handler: (ctx, { query: { page, pageSize, ...filter } }) => listApiKeys(ctx, { page, pageSize }, filter),
  }),
  defineRoute('createApiKey', 'POST /api-keys', {
    permission: 'api-key:create',
    summary: 'Create an API key',
    description:
      'The secret is returned only in this response. A key without `scopes.permissions` only reads; `["write"]` makes one that can do what ' +
      'its creator may, `["none"]` one for the public interface alone. With `versions`, `resources`, `rows` or `fields` in its scopes a key reads the public interface only. All that they ' +
      'name must exist. `rows` names `id` or fields that are `scopable` in every named version, otherwise in one. A condition keeps the ' +
      `meaning that its field has now: in a version where that differs, the resource is not readable through the key. ${ceiling}`,
    body: NewApiKey,
    example: {
      name: 'Reporting',
      scopes: {
        versions: ['v1'],
        resources: ['invoices'],
        permissions: ['read'],
        rows: { invoices: [{ field: 'customerId', in: ['1042'] }] },
        fields: { invoices: ['number', 'total', 'customerId'] },
      },
      expiresAt: null,
    },
    response: ApiKeyWithSecret,
    status: 201,
    shownOnce: ['secret'],
    handler: (ctx, { body }) => createApiKey(ctx, body),
  }),
  defineRoute('getApiKey', 'GET /api-keys/{id}', {
    permission: 'api-key:read',
    summary: 'Retrieve an API key',
    description: 'The secret is not returned.',
    params: IdParams,
    response: ApiKey,
    handler: (ctx, { params }) => getApiKey(ctx, params.id),
  }),
  defineRoute('updateApiKey', 'PATCH /api-keys/{id}', {
    permission: 'api-key:update',
    summary: 'Update an API key',
    description:
      'Changes name, scopes or expiry. Takes effect everywhere within one second. Absent `rows`, `fields` and `unmasked` of the scopes stay ' +
      `as they are. ${ceiling} Scopes can't be widened while a former ` +
      "holder's secret works: during the grace period of a rotation, and before the secret of a transferred key ends.",
    params: IdParams,
    body: ApiKeyPatch,
    example: { name: 'Reporting, nightly' },
    response: ApiKey,
    handler: (ctx, { params, body }) => updateApiKey(ctx, params.id, body),
  }),
  defineRoute('deleteApiKey', 'DELETE /api-keys/{id}', {
    permission: 'api-key:delete',
    summary: 'Revoke an API key',
    description: 'Takes effect everywhere within one second. The key stays listed as revoked.',
    params: IdParams,
    handler: (ctx, { params }) => revokeApiKey(ctx, params.id),
  }),
  defineRoute('getApiKeyUsage', 'GET /api-keys/{id}/usage', {
    permission: 'api-key:read',
    summary: 'Retrieve the usage of an API key',
    description:
      'Requests to the public interface by day, version and resource, newest day and most requests first; with `groupBy=subject` also by the ' +
      "subject of the key's tokens, of which the first 1,000 of a day are counted by name and the rest as `other`. Updated every ten seconds, " +
      'kept for 13 months.',
    params: IdParams,
    query: z
      .strictObject({
        ...pageFields,
        from: Day.optional().describe('First day; defaults to 29 days before `to`'),
        to: Day.optional().describe('Last day; defaults to today'),
        groupBy: usageGrouping,
        version: z.string().min(1).max(100).optional(),
        resource: z.string().min(1).max(100).optional(),
        subject: z.string().min(1).max(200).optional(),
      })
      .refine(({ from, to }) => from === undefined || to === undefined || from <= to, {
        path: ['to'],
        error: 'must not be before "from"',
      }),
    response: createPageSchema(ApiKeyUsage),
    handler: (ctx, { params, query: { page, pageSize, ...filter } }) =>
      getApiKeyUsage(ctx, params.id, { page, pageSize }, filter),
  }),
  defineRoute('rotateApiKey', 'POST /api-keys/{id}/rotate', {
    permission: 'api-key:update',
    summary: 'Rotate an API key',
    description:
      `Creates a new secret. The old secret keeps working for the grace period, or until its own end if that is sooner. The key then acts ` +
      `for the caller. ${ceiling}`,
    params: IdParams,
    body: ApiKeyRotation,
    example: { gracePeriodSeconds: 3600 },
    response: ApiKeyWithSecret,
    status: 201,
    shownOnce: ['secret'],
    handler: (ctx, { params, body }) => rotateApiKey(ctx, params.id, body.gracePeriodSeconds),
  }),
  defineRoute('keepApiKeySecret', 'POST /api-keys/{id}/keep-secret', {
    permission: 'api-key:update',
    summary: 'Keep the secret of a transferred API key',
    description:
      'The secret then has no end (`secretEndsAt`), although the former member may know it. Rotate the key instead where you can: then only ' +
      `the new secret works. A secret that has ended can't be kept. ${ceiling}`,
    params: IdParams,
    response: ApiKey,
    additionalErrors: [422],
    handler: (ctx, { params }) => keepApiKeySecret(ctx, params.id),
  }),
]);
