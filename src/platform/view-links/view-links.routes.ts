import { z } from 'zod';
import { Id, IdParams } from '../../http/fields.ts';
import { createPageSchema, NamedPageQuery } from '../../http/page.ts';
import { defineRoute, inGroup } from '../../http/route/define.ts';
import { NewViewLink, ViewLink, ViewLinkWithUrl } from './view-links.schemas.ts';
import * as service from './view-links.service.ts';

export const viewLinkRoutes = inGroup('Views', [
  defineRoute('listViewLinks', 'GET /views/{id}/links', {
    permission: 'view:read',
    readsRecords: true,
    summary: "List a view's links",
    description: 'Newest first, until 30 days after their end. Addresses are never returned again.',
    params: IdParams,
    query: NamedPageQuery,
    response: createPageSchema(ViewLink),
    handler: (ctx, { params, query }) => service.listLinks(ctx, params.id, query),
  }),
  defineRoute('listAllViewLinks', 'GET /view-links', {
    permission: 'member:update',
    readsRecords: true,
    summary: 'List the links to all views',
    description:
      'Also those to views that the caller may not see, so that they can be revoked. Newest first.',
    query: NamedPageQuery,
    response: createPageSchema(ViewLink),
    handler: (ctx, { query }) => service.listAllLinks(ctx, query),
  }),
  defineRoute('createViewLink', 'POST /views/{id}/links', {
    permission: 'view:read',
    readsRecords: true,
    writes: true,
    summary: 'Create a link to a view',
    description:
      'Makes an address at which spreadsheets read the view as CSV, without an API key: `/links/{token}.csv`. Anyone who has it reads the records, with masked fields ' +
      'masked, for as long as you may see the view and read records. The address is returned only in this response.',
    params: IdParams,
    body: NewViewLink,
    example: { name: 'Weekly report', rows: [{ field: 'subsidiary', in: ['1'] }] },
    response: ViewLinkWithUrl,
    status: 201,
    shownOnce: ['url'],
    handler: (ctx, { params, body }) => service.createLink(ctx, params.id, body),
  }),
  defineRoute('deleteViewLink', 'DELETE /views/{id}/links/{linkId}', {
    permission: 'view:read',
    writes: true,
    summary: 'Revoke a link to a view',
    description:
      'Its address stops working at once. Allowed for its creator and for callers with `member:update`.',
    params: z.strictObject({ id: Id, linkId: Id }),
    handler: (ctx, { params }) => service.revokeLink(ctx, params.id, params.linkId),
  }),
]);
