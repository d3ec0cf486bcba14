import { z } from 'zod';
import { IdParams } from '../../http/fields.ts';
import { pageFields, pageOf } from '../../http/page.ts';
import { defineRoute } from '../../http/route.ts';
import { kinds, NewTemplate, Preview, PreviewInput, Template, TemplateChange } from './templates.schemas.ts';
import * as service from './templates.service.ts';

const group = 'Portal Config';
const subject = 'Invoice {{ record.tranid }}';
const body = '<p>Dear {{ labels.entity }},</p>\n<p>{{ record.foreignamountunpaid | number: 2 }} is open.</p>';
const language =
  'Liquid without `include`, `render`, `layout` and the filter `raw`; `{{ amount | number: 2 }}` writes `1,234.50`. What data puts into ' +
  'the body is escaped.';

export const templateRoutes = [
  defineRoute({
    id: 'listTemplates',
    group,
    method: 'GET',
    path: '/portal/templates',
    permission: 'portal:read',
    summary: 'Templates, newest first',
    description: '`q` looks in keys.',
    query: z.strictObject({ ...pageFields, q: z.string().min(1).max(120).optional(), kind: z.enum(kinds).optional() }),
    response: pageOf(Template),
    handler: (ctx, { query: { q, kind, ...page } }) => service.listTemplates(ctx, page, { q, kind }),
  }),
  defineRoute({
    id: 'createTemplate',
    group,
    method: 'POST',
    path: '/portal/templates',
    permission: 'portal:create',
    summary: 'Make a template',
    description: `${language} The key is unique among templates of its kind. A text that can't be read is refused, each mistake with its line.`,
    body: NewTemplate,
    example: { key: 'open-invoice', kind: 'email', subject, body },
    response: Template,
    status: 201,
    handler: (ctx, { body: input }) => service.createTemplate(ctx, input),
  }),
  defineRoute({
    id: 'getTemplate',
    group,
    method: 'GET',
    path: '/portal/templates/{id}',
    permission: 'portal:read',
    summary: 'One template',
    description: 'With its texts as they were written.',
    params: IdParams,
    response: Template,
    handler: (ctx, { params }) => service.getTemplate(ctx, params.id),
  }),
  defineRoute({
    id: 'updateTemplate',
    group,
    method: 'PATCH',
    path: '/portal/templates/{id}',
    permission: 'portal:update',
    summary: 'Change key, subject or body',
    description: "Fields that are left out stay. The kind can't change.",
    params: IdParams,
    body: TemplateChange,
    example: { body },
    response: Template,
    handler: (ctx, { params, body: input }) => service.changeTemplate(ctx, params.id, input),
  }),
  defineRoute({
    id: 'deleteTemplate',
    group,
    method: 'DELETE',
    path: '/portal/templates/{id}',
    permission: 'portal:delete',
    summary: 'Delete a template',
    description: 'Refused while a subscription uses it.',
    params: IdParams,
    handler: (ctx, { params }) => service.deleteTemplate(ctx, params.id),
  }),
  defineRoute({
    id: 'previewTemplate',
    group,
    method: 'POST',
    path: '/portal/templates/{id}/preview',
    // Whoever may write templates sees the records that they will show.
    permission: 'portal:update',
    summary: 'Render a template with a synced record',
    description:
      'Nothing is stored or sent. The template sees `record` (the fields by name), `labels` (what the ERP calls the values of its references ' +
      'and lists, by the same names), `organization`, `now`, and what `data` adds. With `subject` or `body` unsaved texts are tried. Mistakes ' +
      'and missing variables are told in `problems`, with line and column.',
    params: IdParams,
    body: PreviewInput,
    example: { recordType: 'invoice', recordId: '4711', data: { greeting: 'Dear' } },
    response: Preview,
    responseExample: { subject: 'Invoice INV-1', html: '<p>Dear Acme,</p>', problems: [] },
    handler: (ctx, { params, body: input }) => service.previewOf(ctx, params.id, input),
  }),
];
