import { z } from 'zod';
import { Id, IdParams } from '../../http/fields.ts';
import { createPageSchema, pageFields } from '../../http/page.ts';
import { defineRoute, inGroup } from '../../http/route/define.ts';
import { NewPage, PagePatch, PagePublication, PageSummary, PortalPage } from './pages.schemas.ts';
import * as service from './pages.service.ts';

const blocks = [
  { type: 'heading', level: 1, text: 'Your invoices' },
  { type: 'text', markdown: 'Questions? Write to **billing@acme.example**.' },
  { type: 'record-list', recordType: 'invoice', title: 'All invoices' },
];

export const pageRoutes = inGroup('Portal Config', [
  defineRoute('listPages', 'GET /portal/pages', {
    permission: 'portal:read',
    summary: 'List pages',
    description:
      'Newest first, without their blocks. `q` searches titles; `viewId` lists the pages that show a view.',
    query: z.strictObject({
      ...pageFields,
      q: z.string().min(1).max(120).optional(),
      status: z.enum(['draft', 'published']).optional(),
      viewId: Id.optional().describe('Pages whose draft or published version shows this view'),
    }),
    response: createPageSchema(PageSummary),
    handler: (ctx, { query: { q, status, viewId, ...page } }) =>
      service.listPages(ctx, page, { q, status, viewId }),
  }),
  defineRoute('createPage', 'POST /portal/pages', {
    permission: 'portal:create',
    summary: 'Create a page',
    description:
      'Creates a draft of at most 100 blocks and 256 KiB. The views and record types that it shows must exist.',
    body: NewPage,
    example: { slug: 'invoices', title: 'Invoices', blocks },
    response: PortalPage,
    status: 201,
    handler: (ctx, { body }) => service.createPage(ctx, body),
  }),
  defineRoute('getPage', 'GET /portal/pages/{id}', {
    permission: 'portal:read',
    summary: 'Retrieve a page',
    description: 'Returns the draft, and in `published` the version that visitors see.',
    params: IdParams,
    response: PortalPage,
    handler: (ctx, { params }) => service.getPage(ctx, params.id),
  }),
  defineRoute('updatePage', 'PATCH /portal/pages/{id}', {
    permission: 'portal:update',
    summary: 'Update the draft of a page',
    description:
      'Visitors see the published version until the page is published again. `status: "draft"` unpublishes it.',
    params: IdParams,
    body: PagePatch,
    example: { title: 'Your invoices', blocks, revision: 1 },
    response: PortalPage,
    handler: (ctx, { params, body }) => service.updatePage(ctx, params.id, body),
  }),
  defineRoute('publishPage', 'POST /portal/pages/{id}/publish', {
    permission: 'portal:update',
    summary: 'Publish a page',
    description:
      'Rejected when the draft is no longer at `revision`, shows a view or record type that does not exist, or has the slug of another published page.',
    params: IdParams,
    body: PagePublication,
    example: { revision: 2 },
    response: PortalPage,
    handler: (ctx, { params, body }) => service.publishPage(ctx, params.id, body.revision),
  }),
  defineRoute('deletePage', 'DELETE /portal/pages/{id}', {
    permission: 'portal:delete',
    summary: 'Delete a page',
    description:
      'Deletes the draft and the published version. Sidebar items that point to it stay and are reported as problems.',
    params: IdParams,
    handler: (ctx, { params }) => service.deletePage(ctx, params.id),
  }),
]);
