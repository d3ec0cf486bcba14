// The sidebar of the portal: a tree of at most four levels, stored whole.
import { z } from 'zod';
import { Instant, Problem, shortText } from '../../http/fields.ts';

export const kinds = ['view', 'page', 'record-type', 'link', 'group'] as const;
export const maxItems = 200;
export const maxBytes = 65_536;

const own = {
  label: shortText(80),
  icon: z
    .string()
    .regex(/^[a-z][a-z0-9-]{0,59}$/, 'must be a name such as file-text')
    .nullable()
    .default(null)
    .meta({ example: 'file-text' }),
  kind: z.enum(kinds),
  target: z
    .string()
    .min(1)
    .max(2_000)
    .nullable()
    .default(null)
    .describe('The id of a view, the id or slug of a page, a record type or an https address; null for a group'),
};
const children = <T extends z.ZodType>(item: T) => z.array(item).max(maxItems).default([]).describe('Only a group has any');

const Level4 = z.strictObject({ ...own, children: z.array(z.unknown()).max(0, 'The sidebar has at most four levels').default([]) });
const Level3 = z.strictObject({ ...own, children: children(Level4) });
const Level2 = z.strictObject({ ...own, children: children(Level3) });
const Level1 = z.strictObject({ ...own, children: children(Level2) });

export const SidebarInput = z.strictObject({
  items: z.array(Level1).max(maxItems),
  revision: z.int().min(0).optional().describe('Refuse the change if the sidebar has moved on from this revision'),
});

const shown = { label: z.string(), icon: z.string().nullable(), kind: z.enum(kinds), target: z.string().nullable() };
const Shown4 = z.object({ ...shown, children: z.array(z.unknown()) }).meta({ id: 'SidebarLeaf' });
const Shown3 = z.object({ ...shown, children: z.array(Shown4) }).meta({ id: 'SidebarSubgroup' });
const Shown2 = z.object({ ...shown, children: z.array(Shown3) }).meta({ id: 'SidebarGroup' });
const Shown1 = z.object({ ...shown, children: z.array(Shown2) }).meta({ id: 'SidebarItem' });

export const Sidebar = z
  .object({
    items: z.array(Shown1),
    revision: z.int().describe('0 until one is stored'),
    problems: z.array(Problem).describe('Targets that are gone, or pages that visitors can not see'),
    updatedAt: Instant.nullable(),
  })
  .meta({ id: 'Sidebar' });

export type SidebarInput = z.output<typeof SidebarInput>;
export type SidebarItems = SidebarInput['items'];
/** Any level of the tree. */
export type SidebarItem = {
  label: string;
  icon: string | null;
  kind: (typeof kinds)[number];
  target: string | null;
  children: readonly unknown[];
};
