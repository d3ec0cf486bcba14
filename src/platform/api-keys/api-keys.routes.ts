import { z } from 'zod';
import { Day, IdParams } from '../../http/fields.ts';
import { pageFields, pageOf } from '../../http/page.ts';
import { defineRoute } from '../../http/route.ts';
import { ApiKey, ApiKeyChange, ApiKeyWithSecret, NewApiKey, Rotation, UsageRow, usageGrouping } from './api-keys.schemas.ts';
import { changeKey, createKey, getKey, listKeys, revokeKey, rotateKey } from './api-keys.service.ts';
import { readUsage } from './usage.ts';

const group = 'API Keys';

export const apiKeyRoutes = [
  defineRoute({
    id: 'listApiKeys',
    group,
    method: 'GET',
    path: '/api-keys',
    permission: 'api-key:read',
    summary: 'API keys of the organization, newest first',
    description: 'Revoked and expired keys stay listed. Secrets are never shown again.',
    query: z.strictObject({
      ...pageFields,
      q: z.string().min(1).max(120).optional(),
      status: z.enum(['active', 'expired', 'revoked']).optional(),
    }),
    response: pageOf(ApiKey),
    handler: (ctx, { query: { q, status, ...page } }) => listKeys(ctx, page, { q, status }),
  }),
  defineRoute({
    id: 'createApiKey',
    group,
    method: 'POST',
    path: '/api-keys',
    permission: 'api-key:create',
    summary: 'Create an API key',
    description: 'The secret stands in this answer and nowhere else.',
    body: NewApiKey,
    example: { name: 'Reporting', scopes: { versions: ['v1'], resources: ['invoices'], permissions: ['read'] }, expiresAt: null },
    response: ApiKeyWithSecret,
    status: 201,
    writeOnce: ['secret'],
    handler: (ctx, { body }) => createKey(ctx, body),
  }),
  defineRoute({
    id: 'getApiKey',
    group,
    method: 'GET',
    path: '/api-keys/{id}',
    permission: 'api-key:read',
    summary: 'One API key',
    description: 'Its secret is never shown again.',
    params: IdParams,
    response: ApiKey,
    handler: (ctx, { params }) => getKey(ctx, params.id),
  }),
  defineRoute({
    id: 'updateApiKey',
    group,
    method: 'PATCH',
    path: '/api-keys/{id}',
    permission: 'api-key:update',
    summary: 'Change name, scopes or expiry',
    description: "Takes effect everywhere within one second. Nobody can grant what they don't hold.",
    params: IdParams,
    body: ApiKeyChange,
    example: { name: 'Reporting, nightly' },
    response: ApiKey,
    handler: (ctx, { params, body }) => changeKey(ctx, params.id, body),
  }),
  defineRoute({
    id: 'deleteApiKey',
    group,
    method: 'DELETE',
    path: '/api-keys/{id}',
    permission: 'api-key:delete',
    summary: 'Revoke an API key',
    description: 'Takes effect everywhere within one second. The key stays listed as revoked.',
    params: IdParams,
    handler: (ctx, { params }) => revokeKey(ctx, params.id),
  }),
  defineRoute({
    id: 'getApiKeyUsage',
    group,
    method: 'GET',
    path: '/api-keys/{id}/usage',
    permission: 'api-key:read',
    summary: 'What the key called',
    description:
      'Calls of the public interface by day, version and resource, newest day and most calls first. Noted every ten seconds, kept for 13 months.',
    params: IdParams,
    query: z
      .strictObject({
        ...pageFields,
        from: Day.optional().describe('First day; by default the 30 days up to the last one'),
        to: Day.optional().describe('Last day; by default today'),
        groupBy: usageGrouping,
        version: z.string().min(1).max(100).optional(),
        resource: z.string().min(1).max(100).optional(),
      })
      .refine(({ from, to }) => from === undefined || to === undefined || from <= to, {
        path: ['to'],
        error: 'must not be before "from"',
      }),
    response: pageOf(UsageRow),
    handler: (ctx, { params, query: { page, pageSize, ...asked } }) => readUsage(ctx, params.id, { page, pageSize }, asked),
  }),
  defineRoute({
    id: 'rotateApiKey',
    group,
    method: 'POST',
    path: '/api-keys/{id}/rotate',
    permission: 'api-key:update',
    summary: 'Give the key a new secret',
    description: 'The old secret goes on working for the grace period. From now on the key acts for whoever rotated it.',
    params: IdParams,
    body: Rotation,
    example: { gracePeriodSeconds: 3600 },
    response: ApiKeyWithSecret,
    status: 201,
    writeOnce: ['secret'],
    handler: (ctx, { params, body }) => rotateKey(ctx, params.id, body.gracePeriodSeconds),
  }),
];
