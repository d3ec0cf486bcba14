import { z } from 'zod';
import { IdParams } from '../../http/fields.ts';
import { pageFields, pageOf } from '../../http/page.ts';
import { definePersonRoute, defineRoute } from '../../http/route.ts';
import { deleteOrganization } from './delete-organization.ts';
import { NewOrganization, Organization, OrganizationChange } from './organizations.schemas.ts';
import { changeOrganization, foundOrganization, getOrganization, listOrganizations } from './organizations.service.ts';

const group = 'Organizations';

export const organizationRoutes = [
  defineRoute({
    id: 'listOrganizations',
    group,
    method: 'GET',
    path: '/organizations',
    permission: 'organization:read',
    summary: 'Organizations of the caller, newest first',
    description: 'A person sees every organization they belong to; a key sees its own.',
    query: z.strictObject({ ...pageFields, q: z.string().min(1).max(120).optional() }),
    response: pageOf(Organization),
    handler: (ctx, { query: { q, ...page } }) => listOrganizations(ctx, page, q),
  }),
  definePersonRoute({
    id: 'createOrganization',
    group,
    method: 'POST',
    path: '/organizations',
    permission: 'organization:create',
    summary: 'Create an organization',
    description: 'For people who signed in, while sign-up is open. The creator becomes its owner.',
    body: NewOrganization,
    example: { name: 'Acme', slug: 'acme' },
    response: Organization,
    status: 201,
    handler: (ctx, { body }) => foundOrganization(ctx, body),
  }),
  defineRoute({
    id: 'getOrganization',
    group,
    method: 'GET',
    path: '/organizations/{id}',
    permission: 'organization:read',
    summary: 'The organization',
    description: 'The id is that of the active organization; any other is unknown.',
    params: IdParams,
    response: Organization,
    handler: (ctx) => getOrganization(ctx),
  }),
  defineRoute({
    id: 'updateOrganization',
    group,
    method: 'PATCH',
    path: '/organizations/{id}',
    permission: 'organization:update',
    summary: 'Change name or slug',
    description: 'A new slug changes no id and no address of the public interface.',
    params: IdParams,
    body: OrganizationChange,
    example: { name: 'Acme Trading' },
    response: Organization,
    handler: (ctx, { body }) => changeOrganization(ctx, body),
  }),
  defineRoute({
    id: 'deleteOrganization',
    group,
    method: 'DELETE',
    path: '/organizations/{id}',
    permission: 'organization:delete',
    summary: 'Delete the organization and everything it holds',
    description:
      'Its synced records, configuration and keys are removed for good; what runs is stopped. Only the audit log is kept. If the answer is ' +
      'lost or an error, send the request again.',
    params: IdParams,
    query: z.strictObject({ confirm: z.string().max(63).optional().describe("The organization's slug; without it the answer is 400") }),
    handler: (ctx, { query }) => deleteOrganization(ctx, query.confirm),
  }),
];
