import { z } from 'zod';
import { IdParams } from '../../http/fields.ts';
import { pageFields, pageOf } from '../../http/page.ts';
import { defineRoute } from '../../http/route.ts';
import { ApiKey, ApiKeyChange, ApiKeyWithSecret, NewApiKey, Rotation } from './api-keys.schemas.ts';
import { changeKey, createKey, getKey, listKeys, revokeKey, rotateKey } from './api-keys.service.ts';

const group = 'API Keys';

export const apiKeyRoutes = [
  defineRoute({
    id: 'listApiKeys',
    group,
    method: 'GET',
    path: '/api-keys',
    permission: 'api-key:read',
    summary: 'API keys of the organization, newest first',
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
