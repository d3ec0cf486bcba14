import { z } from 'zod';
import { IdParams } from '../../http/fields.ts';
import { createPageSchema, pageFields } from '../../http/page.ts';
import { definePersonRoute, defineRoute, inGroup } from '../../http/route/define.ts';
import { deleteOrganization } from './delete-organization.ts';
import {
  CreatedOrganization,
  NewOrganization,
  Organization,
  OrganizationPatch,
} from './organizations.schemas.ts';
import {
  createOwnOrganization,
  getOrganization,
  listOrganizations,
  updateOrganization,
} from './organizations.service.ts';

export const organizationRoutes = inGroup('Organizations', [
  definePersonRoute('listOrganizations', 'GET /organizations', {
    permission: 'authenticated',
    summary: 'List organizations',
    description:
      'Newest first. A person sees every organization they belong to, which may be none; an API key sees its own.',
    query: z.strictObject({ ...pageFields, q: z.string().min(1).max(120).optional() }),
    response: createPageSchema(Organization),
    handler: (ctx, { query: { q, ...page } }) => listOrganizations(ctx, page, q),
  }),
  definePersonRoute('createOrganization', 'POST /organizations', {
    permission: 'organization:create',
    summary: 'Create an organization',
    description:
      'For signed-in people, while sign-up is open. The creator becomes the owner. A session with an active organization keeps it: `active` ' +
      'of the response says so.',
    body: NewOrganization,
    example: { name: 'Acme', slug: 'acme' },
    response: CreatedOrganization,
    status: 201,
    handler: (ctx, { body }) => createOwnOrganization(ctx, body),
  }),
  defineRoute('getOrganization', 'GET /organizations/{id}', {
    permission: 'organization:read',
    summary: 'Retrieve the organization',
    description: 'The id must be that of the active organization. Returns 404 for any other.',
    params: IdParams,
    response: Organization,
    handler: (ctx) => getOrganization(ctx),
  }),
  defineRoute('updateOrganization', 'PATCH /organizations/{id}', {
    permission: 'organization:update',
    summary: 'Update the organization',
    description: 'Changes name or slug. A new slug does not change ids or URLs of the public interface.',
    params: IdParams,
    body: OrganizationPatch,
    example: { name: 'Acme Trading' },
    response: Organization,
    handler: (ctx, { body }) => updateOrganization(ctx, body),
  }),
  defineRoute('deleteOrganization', 'DELETE /organizations/{id}', {
    permission: 'organization:delete',
    summary: 'Delete the organization and all of its data',
    description:
      'Permanently deletes its synced records, configuration and keys, and stops running syncs. Only the audit log is kept. The request ' +
      'can be repeated after an error or a lost response.',
    params: IdParams,
    query: z.strictObject({
      confirm: z
        .string()
        .max(63)
        .optional()
        .describe("The organization's slug; without it the response is 400"),
    }),
    handler: (ctx, { query }) => deleteOrganization(ctx, query.confirm),
  }),
]);
