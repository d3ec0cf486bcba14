// Pages of the portal: a draft that is edited, and beside it what visitors see.
import { z } from 'zod';
import { Id, Instant, longText, Problem, shortText } from '../../http/fields.ts';
import { HttpsUrl, Slug } from './targets.ts';

export const maxPageBytes = 262_144;

export const Block = z
  .discriminatedUnion('type', [
    z.strictObject({ type: z.literal('heading'), level: z.int().min(1).max(3), text: shortText(200) }),
    z.strictObject({ type: z.literal('text'), markdown: longText(20_000).min(1).describe('CommonMark; HTML inside is shown as text') }),
    z.strictObject({
      type: z.literal('view'),
      viewId: Id.describe('A view that everybody in the organization may see'),
      title: shortText(200).nullable().default(null),
      pageSize: z.int().min(1).max(100).default(25),
    }),
    z.strictObject({
      type: z.literal('record-list'),
      recordType: z.string().min(1).max(200),
      title: shortText(200).nullable().default(null),
      pageSize: z.int().min(1).max(100).default(25),
    }),
    z.strictObject({ type: z.literal('link'), label: shortText(200), url: HttpsUrl }),
    z.strictObject({ type: z.literal('image'), url: HttpsUrl, alt: z.union([z.literal(''), shortText(300)]) }),
  ])
  .meta({ id: 'PageBlock' });
export type Block = z.output<typeof Block>;

const title = shortText(200);
const blocks = z.array(Block).max(100);
const revision = z.int().min(1);

export const NewPage = z.strictObject({ slug: Slug, title, blocks: blocks.default([]) });
export const PageChange = z.strictObject({
  slug: Slug.optional(),
  title: title.optional(),
  blocks: blocks.optional(),
  status: z.literal('draft').optional().describe('Takes the page away from visitors; the draft stays'),
  revision: revision.optional().describe('Refuse the change if the draft has moved on from this revision'),
});
export const PagePublication = z.strictObject({ revision: revision.describe('The revision that was looked at') });

const common = {
  id: Id,
  slug: z.string(),
  title: z.string(),
  status: z.enum(['draft', 'published']).describe('Whether visitors see it'),
  revision: z.int().describe('Of the draft'),
  publishedRevision: z.int().nullable().describe('What visitors see is the draft as it was at this revision'),
  publishedAt: Instant.nullable(),
  createdAt: Instant,
  updatedAt: Instant,
};
export const PageSummary = z.object(common).meta({ id: 'PageSummary' });
export const Page = z
  .object({
    ...common,
    blocks: z.array(Block).describe('Of the draft'),
    published: z
      .object({ slug: z.string(), title: z.string(), blocks: z.array(Block) })
      .nullable()
      .describe('What visitors see'),
    problems: z.array(Problem).describe('What the draft shows that is not there'),
  })
  .meta({ id: 'Page' });

export type NewPage = z.output<typeof NewPage>;
export type PageChange = z.output<typeof PageChange>;
export type PageView = z.input<typeof Page>;
export type PageSummaryView = z.input<typeof PageSummary>;
