// Pages of the portal: a draft for editing, and a separate published version for visitors.
import { z } from 'zod';
import { defaultPageSize } from '../../db/page.ts';
import { Id, Instant, longText, Problem, shortText } from '../../http/fields.ts';
import { maxPageSize } from '../../http/page.ts';
import { HttpsUrl, Slug } from './targets.ts';

export const maxPageBytes = 262_144;

const pageSize = z.int().min(1).max(maxPageSize).default(defaultPageSize);

export const Block = z
  .discriminatedUnion('type', [
    z.strictObject({ type: z.literal('heading'), level: z.int().min(1).max(3), text: shortText(200) }),
    z.strictObject({
      type: z.literal('text'),
      markdown: longText(20_000)
        .min(1)
        .describe('CommonMark; HTML in it is shown as text. Links are http, https, mailto or have no scheme'),
    }),
    z.strictObject({
      type: z.literal('view'),
      viewId: Id.describe('A view that everyone in the organization can see'),
      title: shortText(200).nullable().default(null),
      pageSize,
    }),
    z.strictObject({
      type: z.literal('record-list'),
      recordType: z.string().min(1).max(200),
      title: shortText(200).nullable().default(null),
      pageSize,
    }),
    z.strictObject({ type: z.literal('link'), label: shortText(200), url: HttpsUrl }),
    z.strictObject({
      type: z.literal('image'),
      url: HttpsUrl,
      alt: z.union([z.literal(''), shortText(300)]),
    }),
  ])
  .meta({ id: 'PageBlock' });
export type Block = z.output<typeof Block>;

const title = shortText(200);
const blocks = z.array(Block).max(100);
const revision = z.int().min(1);

export const NewPage = z.strictObject({ slug: Slug, title, blocks: blocks.default([]) });
export const PagePatch = z.strictObject({
  slug: Slug.optional(),
  title: title.optional(),
  blocks: blocks.optional(),
  status: z.literal('draft').optional().describe('Unpublishes the page; the draft stays'),
  revision: revision.optional().describe('Rejects the update if the draft is no longer at this revision'),
});
export const PagePublication = z.strictObject({
  revision: revision.describe('The revision to publish; rejected if the draft is no longer at it'),
});

const common = {
  id: Id,
  slug: z.string(),
  title: z.string(),
  status: z.enum(['draft', 'published']).describe('Whether visitors can see the page'),
  revision: z.int().describe('Revision of the draft'),
  publishedRevision: z.int().nullable().describe('Revision of the draft that was published'),
  publishedAt: Instant.nullable(),
  createdAt: Instant,
  updatedAt: Instant,
};
export const PageSummary = z.object(common).meta({ id: 'PageSummary' });
export const PortalPage = z
  .object({
    ...common,
    blocks: z.array(Block).describe('Blocks of the draft'),
    published: z
      .object({ slug: z.string(), title: z.string(), blocks: z.array(Block) })
      .nullable()
      .describe(
        'The version that visitors see, without forbidden links; null when the page is not published',
      ),
    problems: z
      .array(Problem)
      .describe('Views and record types of the draft that do not exist, and forbidden links'),
  })
  .meta({ id: 'Page' });

export type NewPage = z.output<typeof NewPage>;
export type PagePatch = z.output<typeof PagePatch>;
export type PortalPage = z.input<typeof PortalPage>;
export type PageSummary = z.input<typeof PageSummary>;
