import { z } from 'zod';
import { IdParams, queryBoolean } from '../../http/fields.ts';
import { createPageSchema, pageFields } from '../../http/page.ts';
import { defineRoute, inGroup } from '../../http/route/define.ts';
import { NewView, View, ViewPatch, ViewRecords, ViewRows, visibilities } from './views.schemas.ts';
import * as service from './views.service.ts';

const whoChanges = 'Allowed for its owner and for callers with `member:update`.';

export const viewRoutes = inGroup('Views', [
  defineRoute('listViews', 'GET /views', {
    permission: 'view:read',
    summary: 'List views',
    description:
      "Newest first: the caller's own views, those of their teams and those of the organization. `q` searches in names.",
    query: z.strictObject({
      ...pageFields,
      q: z.string().min(1).max(120).optional(),
      recordType: z.string().min(1).max(200).optional(),
      visibility: z.enum(visibilities).optional(),
    }),
    response: createPageSchema(View),
    handler: (ctx, { query: { q, recordType, visibility, ...page } }) =>
      service.listViews(ctx, page, { q, recordType, visibility }),
  }),
  defineRoute('createView', 'POST /views', {
    permission: 'view:create',
    summary: 'Create a view',
    description:
      'A view can use any synced field of one record type. A `private` view is visible to its owner only, a `team` view to the members ' +
      'of that team, an `organization` view to every member with `view:read`. With a `summary` it also shows groups and aggregates of its records.',
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
  defineRoute('getView', 'GET /views/{id}', {
    permission: 'view:read',
    summary: 'Retrieve a view',
    description: 'Returns 404 for a view that the caller may not see.',
    params: IdParams,
    response: View,
    handler: (ctx, { params }) => service.getView(ctx, params.id),
  }),
  defineRoute('updateView', 'PATCH /views/{id}', {
    permission: 'view:update',
    summary: 'Update a view',
    description: `${whoChanges} Omitted fields stay as they are; null clears filters, sort and summary. The record type cannot change.`,
    params: IdParams,
    body: ViewPatch,
    example: {
      columns: ['tranid', 'trandate', 'entity.name', 'foreigntotal'],
      sort: [{ field: 'foreigntotal', direction: 'desc' }],
    },
    response: View,
    handler: (ctx, { params, body }) => service.updateView(ctx, params.id, body),
  }),
  defineRoute('deleteView', 'DELETE /views/{id}', {
    permission: 'view:delete',
    summary: 'Delete a view',
    description: whoChanges,
    params: IdParams,
    handler: (ctx, { params }) => service.deleteView(ctx, params.id),
  }),
  defineRoute('listViewRecords', 'GET /views/{id}/records', {
    permission: 'view:read',
    readsRecords: true,
    summary: 'List the records of a view',
    description:
      'Reads with the engine of the public interface, so values and limits are the same. `problems` reports fields that no longer exist: such ' +
      'a column is null, such a sort is ignored, and such a filter matches nothing. A field that any published or deprecated version masks ' +
      'is masked for callers without `unmasked:read`: such a sort is ignored, and such a filter matches nothing.',
    params: IdParams,
    query: z.strictObject({
      ...pageFields,
      masked: queryBoolean
        .default(false)
        .describe('Masks fields also for callers with `unmasked:read`. Links in mails do so'),
    }),
    response: ViewRecords,
    additionalErrors: [422],
    download: {
      forms: ['csv', 'xlsx'],
      description:
        'All records of the view as a CSV file (RFC 4180) or an Excel workbook; `page` and `pageSize` are refused with 400. Texts that a spreadsheet would read as a ' +
        'formula get a leading apostrophe; numbers stay as they are. `X-Total-Count` is the number of records, `X-View-Problems` names ' +
        'the columns and sorts that do not work at the moment. Returns 422 when a filter does not work. A browser that opens the address ' +
        'saves this file.',
      example: 'id,tranid,foreigntotal\r\n7,INV-1007,-15.30\r\n',
      resumes: true,
      open: (ctx, { params, query }, form, left) => service.openViewFile(ctx, params.id, query, form, left),
    },
    handler: (ctx, { params, query }) => service.listViewRecords(ctx, params.id, query),
  }),
  defineRoute('listViewRows', 'GET /views/{id}/rows', {
    permission: 'view:read',
    readsRecords: true,
    summary: "List the rows of a view's summary",
    description:
      'Counts and aggregates the records that the filters of the view select, in its groups, with exact digits. Amounts of several ' +
      'currencies are never added up. A group, an aggregate or a filter that does not work at the moment holds the rows back and is ' +
      'reported in `problems`; so does a field that any published or deprecated version masks, for callers without `unmasked:read`. ' +
      'Returns 422 for a view without a summary.',
    params: IdParams,
    query: z.strictObject({
      masked: queryBoolean.default(false).describe('Masks fields also for callers with `unmasked:read`'),
    }),
    response: ViewRows,
    additionalErrors: [422],
    handler: (ctx, { params, query }) => service.listViewRows(ctx, params.id, query),
  }),
]);
