// Liquid templates of mails and documents.
import { z } from 'zod';
import { Id, Instant, longText } from '../../http/fields.ts';
import { templateLimits } from '../../templates/index.ts';

const key = z
  .string()
  .max(80)
  .regex(/^[a-z0-9]+([-.][a-z0-9]+)*$/, 'must be lower-case letters, digits, single hyphens and dots')
  .meta({ example: 'open-invoices' });
export const templateKinds = ['email', 'document'] as const;
const subject = longText(500)
  .min(1)
  .describe('Liquid, rendered as one line; only for templates of kind `email`');
const body = longText(templateLimits.maxSourceLength).min(1).describe('HTML with Liquid; data is escaped');

export const NewTemplate = z.strictObject({
  key,
  kind: z.enum(templateKinds),
  subject: subject.nullable().default(null),
  body,
});
export const TemplatePatch = z.strictObject({ key, subject, body }).partial();

export const Template = z
  .object({
    id: Id,
    key,
    kind: z.enum(templateKinds),
    subject: z.string().nullable(),
    body: z.string(),
    createdAt: Instant,
    updatedAt: Instant,
  })
  .meta({ id: 'Template' });

const maxDepth = 20;
const isShallow = (value: unknown, depth: number): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (depth > 0 && Object.values(value).every((item) => isShallow(item, depth - 1)));

export const PreviewInput = z.strictObject({
  recordType: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('With `recordId`; a document needs both, a mail may do without'),
  recordId: z.string().min(1).max(200).optional().describe('The record that fills `record` and `labels`'),
  viewId: Id.optional().describe('A view that you can see; adds the variables of a subscription mail for it'),
  data: z
    .record(z.string().max(100), z.unknown())
    .refine((data) => isShallow(data, maxDepth), `must not be nested deeper than ${maxDepth} levels`)
    .default({})
    .describe('Additional variables; variables of the service take precedence'),
  subject: subject.optional().describe('Rendered instead of the stored subject'),
  body: body.optional().describe('Rendered instead of the stored body'),
});
const TemplateProblem = z.object({
  path: z.enum(['subject', 'body']),
  code: z.string(),
  message: z.string(),
  line: z.int().nullable(),
  column: z.int().nullable().describe('Column of the tag or output, counted from 1'),
});
export const Preview = z
  .object({
    subject: z.string().nullable().describe('Null for a document, and when rendering failed'),
    html: z.string().nullable().describe('Null when rendering failed'),
    problems: z.array(TemplateProblem).describe('Errors, exceeded limits and missing variables'),
  })
  .meta({ id: 'TemplatePreview' });

export type NewTemplate = z.output<typeof NewTemplate>;
export type TemplatePatch = z.output<typeof TemplatePatch>;
export type Template = z.input<typeof Template>;
export type PreviewInput = z.output<typeof PreviewInput>;
export type Preview = z.input<typeof Preview>;
