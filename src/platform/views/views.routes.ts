import { z } from 'zod';
import { IdParams } from '../../http/fields.ts';
import { PageQuery, pageFields, pageOf } from '../../http/page.ts';
import { defineRoute } from '../../http/route.ts';
import { NewView, View, ViewChange, ViewRecords, visibilities } from './views.schemas.ts';
import * as service from './views.service.ts';

const group = 'Views';
const whoChanges = 'Its owner may, and whoever may change members (`member:update`).';

export const viewRoutes = [
  defineRoute({
    id: 'listViews',
    group,
    method: 'GET',
    path: '/views',
    permission: 'view:read',
    summary: 'Views that the caller may see, newest first',
    description: 'Their own, those of their teams and those of the organization. `q` looks in names.',
    query: z.strictObject({
      ...pageFields,
      q: z.string().min(1).max(120).optional(),
      recordType: z.string().min(1).max(200).optional(),
      visibility: z.enum(visibilities).optional(),
    }),
    response: pageOf(View),
    handler: (ctx, { query: { q, recordType, visibility, ...page } }) => service.listViews(ctx, page, { q, recordType, visibility }),
  }),
  defineRoute({
    id: 'createView',
    group,
    method: 'POST',
    path: '/views',
    permission: 'view:create',
    summary: 'Save a view',
    description:
      'It may ask for any synced field of one record type. A `private` view is seen by its owner alone, a `team` view by the members of ' +
      'that team, an `organization` view by every member with `view:read`.',
    body: NewView,
    example: {
      name: 'Open invoices',
      recordType: 'invoice',
      columns: ['tranid', 'entity.name', 'foreigntotal'],
      filters: [{ field: 'status.name', operator: 'contains', value: 'Open' }],
      sort: [{ field: 'trandate', direction: 'desc' }],
      visibility: 'organization',
    },
    response: View,
    status: 201,
    handler: (ctx, { body }) => service.createView(ctx, body),
  }),
  defineRoute({
    id: 'getView',
    group,
    method: 'GET',
    path: '/views/{id}',
    permission: 'view:read',
    summary: 'One view',
    description: 'One that the caller may not see is not there.',
    params: IdParams,
    response: View,
    handler: (ctx, { params }) => service.getView(ctx, params.id),
  }),
  defineRoute({
    id: 'updateView',
    group,
    method: 'PATCH',
    path: '/views/{id}',
    permission: 'view:update',
    summary: 'Change a view',
    description: `${whoChanges} Fields that are left out stay; null clears filters and sort. The record type stays the same.`,
    params: IdParams,
    body: ViewChange,
    example: { columns: ['tranid', 'trandate', 'entity.name', 'foreigntotal'], sort: [{ field: 'foreigntotal', direction: 'desc' }] },
    response: View,
    handler: (ctx, { params, body }) => service.changeView(ctx, params.id, body),
  }),
  defineRoute({
    id: 'deleteView',
    group,
    method: 'DELETE',
    path: '/views/{id}',
    permission: 'view:delete',
    summary: 'Delete a view',
    description: whoChanges,
    params: IdParams,
    handler: (ctx, { params }) => service.deleteView(ctx, params.id),
  }),
  defineRoute({
    id: 'listViewRecords',
    group,
    method: 'GET',
    path: '/views/{id}/records',
    permission: 'view:read',
    summary: 'The records that a view shows',
    description:
      'Read by the engine of the public interface, with the same values and the same limits. A view whose fields have gone says so in ' +
      '`problems`: such a column is null, such a sort is left out, and such a filter lets nothing through.',
    params: IdParams,
    query: PageQuery,
    response: ViewRecords,
    alsoAnswers: [422],
    download: {
      mediaType: 'text/csv',
      description:
        'All records of the view as a file by RFC 4180, without `page` and `pageSize`. Texts that a spreadsheet would take for a formula ' +
        'get an apostrophe; numbers stay as they are. `X-Total-Count` tells how many there are, `X-View-Problems` which columns and sorts ' +
        'do not work now; with a filter that does not, the answer is 422.',
      example: 'id,tranid,foreigntotal\r\n7,INV-1007,-15.30\r\n',
      open: (ctx, { params }, left) => service.openViewCsv(ctx, params.id, left),
    },
    handler: (ctx, { params, query }) => service.readViewRecords(ctx, params.id, query),
  }),
];
