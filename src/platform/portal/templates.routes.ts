import { z } from 'zod';
import { IdParams } from '../../http/fields.ts';
import { createPageSchema, pageFields } from '../../http/page.ts';
import { defineRoute, inGroup } from '../../http/route/define.ts';
import { previewStoredTemplate } from './preview.ts';
import {
  NewTemplate,
  Preview,
  PreviewInput,
  Template,
  TemplatePatch,
  templateKinds,
} from './templates.schemas.ts';
import * as service from './templates.service.ts';

const subject = 'Invoice {{ record.tranid }}';
const body = '<p>Dear {{ labels.entity }},</p>\n<p>{{ record.foreignamountunpaid | number: 2 }} is open.</p>';
const language =
  'Liquid without `include`, `render`, `layout` and the filter `raw`; `{{ amount | number: 2 }}` writes `1,234.50`. Data in the body is ' +
  'escaped.';

export const templateRoutes = inGroup('Portal Config', [
  defineRoute('listTemplates', 'GET /portal/templates', {
    permission: 'portal:read',
    summary: 'List templates',
    description: 'Newest first. `q` searches keys.',
    query: z.strictObject({
      ...pageFields,
      q: z.string().min(1).max(120).optional(),
      kind: z.enum(templateKinds).optional(),
    }),
    response: createPageSchema(Template),
    handler: (ctx, { query: { q, kind, ...page } }) => service.listTemplates(ctx, page, { q, kind }),
  }),
  defineRoute('createTemplate', 'POST /portal/templates', {
    permission: 'portal:create',
    summary: 'Create a template',
    description: `${language} The key is unique among templates of the same kind. A template with syntax errors is rejected, with the line of each error.`,
    body: NewTemplate,
    example: { key: 'open-invoice', kind: 'email', subject, body },
    response: Template,
    status: 201,
    handler: (ctx, { body: input }) => service.createTemplate(ctx, input),
  }),
  defineRoute('getTemplate', 'GET /portal/templates/{id}', {
    permission: 'portal:read',
    summary: 'Retrieve a template',
    description: 'Subject and body are returned as stored, not rendered.',
    params: IdParams,
    response: Template,
    handler: (ctx, { params }) => service.getTemplate(ctx, params.id),
  }),
  defineRoute('updateTemplate', 'PATCH /portal/templates/{id}', {
    permission: 'portal:update',
    summary: 'Update a template',
    description: 'Changes key, subject or body; omitted fields stay. The kind cannot change.',
    params: IdParams,
    body: TemplatePatch,
    example: { body },
    response: Template,
    handler: (ctx, { params, body: input }) => service.updateTemplate(ctx, params.id, input),
  }),
  defineRoute('deleteTemplate', 'DELETE /portal/templates/{id}', {
    permission: 'portal:delete',
    summary: 'Delete a template',
    description: 'Rejected while a subscription uses it.',
    params: IdParams,
    handler: (ctx, { params }) => service.deleteTemplate(ctx, params.id),
  }),
  defineRoute('previewTemplate', 'POST /portal/templates/{id}/preview', {
    permission: 'portal:update',
    showsRecords: true,
    summary: 'Preview a template',
    description:
      'Nothing is stored or sent. The template can use `record` (values by field), `labels` (the names of references and list values in the ' +
      'ERP, by the same fields), `organization`, `now`, and the variables in `data`; with `viewId` also those of a subscription mail for ' +
      'that view: `view`, `columns`, `rows`, `total`, `syncedAt`, `problems`. A mail needs no record; without one, `record` and `labels` are ' +
      'missing. Send `subject` or `body` to preview unsaved texts. Errors and ' +
      'missing variables are reported in `problems`, with line and column. A record or a view also needs `record:read`. Fields that any ' +
      'published or deprecated version masks are masked: of a record for callers without `unmasked:read`, of a view as in every mail.',
    params: IdParams,
    body: PreviewInput,
    example: { recordType: 'invoice', recordId: '4711', data: { greeting: 'Dear' } },
    response: Preview,
    responseExample: { subject: 'Invoice INV-1', html: '<p>Dear Acme,</p>', problems: [] },
    handler: (ctx, { params, body: input }) => previewStoredTemplate(ctx, params.id, input),
  }),
]);
