import { z } from 'zod';
import { IdParams } from '../../http/fields.ts';
import { pageFields, pageOf } from '../../http/page.ts';
import { defineRoute } from '../../http/route.ts';
import { NewPage, Page, PageChange, PagePublication, PageSummary } from './pages.schemas.ts';
import * as service from './pages.service.ts';

const group = 'Portal Config';
const blocks = [
  { type: 'heading', level: 1, text: 'Your invoices' },
  { type: 'text', markdown: 'Questions? Write to **billing@acme.example**.' },
  { type: 'record-list', recordType: 'invoice', title: 'All invoices' },
];

export const pageRoutes = [
  defineRoute({
    id: 'listPages',
    group,
    method: 'GET',
    path: '/portal/pages',
    permission: 'portal:read',
    summary: 'Pages, newest first',
    description: 'Without their blocks. `q` looks in titles.',
    query: z.strictObject({
      ...pageFields,
      q: z.string().min(1).max(120).optional(),
      status: z.enum(['draft', 'published']).optional(),
    }),
    response: pageOf(PageSummary),
    handler: (ctx, { query: { q, status, ...page } }) => service.listPages(ctx, page, { q, status }),
  }),
  defineRoute({
    id: 'createPage',
    group,
    method: 'POST',
    path: '/portal/pages',
    permission: 'portal:create',
    summary: 'Make a page',
    description: 'As a draft. At most 100 blocks and 256 KiB. Views and record types that it shows must be there.',
    body: NewPage,
    example: { slug: 'invoices', title: 'Invoices', blocks },
    response: Page,
    status: 201,
    handler: (ctx, { body }) => service.createPage(ctx, body),
  }),
  defineRoute({
    id: 'getPage',
    group,
    method: 'GET',
    path: '/portal/pages/{id}',
    permission: 'portal:read',
    summary: 'One page',
    description: 'Its draft, and under `published` what visitors see.',
    params: IdParams,
    response: Page,
    handler: (ctx, { params }) => service.getPage(ctx, params.id),
  }),
  defineRoute({
    id: 'updatePage',
    group,
    method: 'PATCH',
    path: '/portal/pages/{id}',
    permission: 'portal:update',
    summary: 'Change the draft of a page',
    description: 'Visitors see what was published until it is published again. `status: "draft"` takes it away from them.',
    params: IdParams,
    body: PageChange,
    example: { title: 'Your invoices', blocks, revision: 1 },
    response: Page,
    handler: (ctx, { params, body }) => service.changePage(ctx, params.id, body),
  }),
  defineRoute({
    id: 'publishPage',
    group,
    method: 'POST',
    path: '/portal/pages/{id}/publish',
    permission: 'portal:update',
    summary: 'Show the draft to visitors',
    description: 'Refused when the draft has moved on from `revision`, shows what is not there, or has the slug of another published page.',
    params: IdParams,
    body: PagePublication,
    example: { revision: 2 },
    response: Page,
    handler: (ctx, { params, body }) => service.publishPage(ctx, params.id, body.revision),
  }),
  defineRoute({
    id: 'deletePage',
    group,
    method: 'DELETE',
    path: '/portal/pages/{id}',
    permission: 'portal:delete',
    summary: 'Delete a page',
    description: 'With what is published of it. Sidebar items that point at it stay and are told as a problem.',
    params: IdParams,
    handler: (ctx, { params }) => service.deletePage(ctx, params.id),
  }),
];
