// Liquid texts of mails and documents.
import { z } from 'zod';
import { Id, Instant, longText } from '../../http/fields.ts';
import { templateLimits } from '../../templates/index.ts';

const key = z
  .string()
  .max(80)
  .regex(/^[a-z0-9]+([-.][a-z0-9]+)*$/, 'must be lower-case letters, digits, single hyphens and dots')
  .meta({ example: 'open-invoices' });
export const kinds = ['email', 'document'] as const;
const subject = longText(500).min(1).describe('Liquid; it becomes one line. Only for mails');
const body = longText(templateLimits.sourceLength).min(1).describe('Liquid around HTML; what data puts in is escaped');

export const NewTemplate = z.strictObject({ key, kind: z.enum(kinds), subject: subject.nullable().default(null), body });
export const TemplateChange = z.strictObject({ key: key.optional(), subject: subject.optional(), body: body.optional() });

export const Template = z
  .object({
    id: Id,
    key,
    kind: z.enum(kinds),
    subject: z.string().nullable(),
    body: z.string(),
    createdAt: Instant,
    updatedAt: Instant,
  })
  .meta({ id: 'Template' });

const maxDepth = 20;
const isShallow = (value: unknown, depth: number): boolean =>
  typeof value !== 'object' || value === null || (depth > 0 && Object.values(value).every((item) => isShallow(item, depth - 1)));

export const PreviewInput = z.strictObject({
  recordType: z.string().min(1).max(200),
  recordId: z.string().min(1).max(200).describe('The record that fills `record` and `labels`'),
  data: z
    .record(z.string().max(100), z.unknown())
    .refine((data) => isShallow(data, maxDepth), `must not be nested deeper than ${maxDepth} levels`)
    .default({})
    .describe('More variables; those of the service win'),
  subject: subject.optional().describe('Tried instead of the stored one'),
  body: body.optional().describe('Tried instead of the stored one'),
});
const TemplateProblem = z.object({
  path: z.enum(['subject', 'body']),
  code: z.string(),
  message: z.string(),
  line: z.int().nullable(),
  column: z.int().nullable().describe('Of the tag or output that it is about, from 1'),
});
export const Preview = z
  .object({
    subject: z.string().nullable().describe('Null for a document, and when it failed'),
    html: z.string().nullable().describe('Null when it failed'),
    problems: z.array(TemplateProblem).describe('Mistakes, limits that were met, and variables that are missing'),
  })
  .meta({ id: 'TemplatePreview' });

export type NewTemplate = z.output<typeof NewTemplate>;
export type TemplateChange = z.output<typeof TemplateChange>;
export type TemplateView = z.input<typeof Template>;
export type PreviewInput = z.output<typeof PreviewInput>;
export type Preview = z.input<typeof Preview>;
