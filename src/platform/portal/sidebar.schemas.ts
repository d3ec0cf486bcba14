// The sidebar of the portal: a tree of at most four levels, stored whole.
import { z } from 'zod';
import { Instant, Problem, shortText } from '../../http/fields.ts';

export const sidebarItemKinds = ['view', 'page', 'record-type', 'link', 'group'] as const;
export const maxSidebarItems = 200;
export const maxSidebarBytes = 65_536;

const itemFields = {
  label: shortText(80),
  icon: z
    .string()
    .regex(/^[a-z][a-z0-9-]{0,59}$/, 'must be a name such as file-text')
    .nullable()
    .default(null)
    .meta({ example: 'file-text' }),
  kind: z.enum(sidebarItemKinds),
  target: z
    .string()
    .min(1)
    .max(2_000)
    .nullable()
    .default(null)
    .describe(
      'The id of a view, the id or slug of a page, a record type or an https address; null for a group',
    ),
};
const children = <T extends z.ZodType>(item: T) =>
  z.array(item).max(maxSidebarItems).default([]).describe('Only for groups');

const Level4 = z.strictObject({
  ...itemFields,
  children: z.array(z.unknown()).max(0, 'The sidebar has at most four levels').default([]),
});
const Level3 = z.strictObject({ ...itemFields, children: children(Level4) });
const Level2 = z.strictObject({ ...itemFields, children: children(Level3) });
const Level1 = z.strictObject({ ...itemFields, children: children(Level2) });

export const SidebarInput = z.strictObject({
  items: z.array(Level1).max(maxSidebarItems),
  revision: z
    .int()
    .min(0)
    .optional()
    .describe('Rejects the update if the sidebar is no longer at this revision'),
});

const returnedFields = {
  label: z.string(),
  icon: z.string().nullable(),
  kind: z.enum(sidebarItemKinds),
  target: z.string().nullable(),
};
const ReturnedItem4 = z
  .object({ ...returnedFields, children: z.array(z.unknown()) })
  .meta({ id: 'SidebarLeaf' });
const ReturnedItem3 = z
  .object({ ...returnedFields, children: z.array(ReturnedItem4) })
  .meta({ id: 'SidebarSubgroup' });
const ReturnedItem2 = z
  .object({ ...returnedFields, children: z.array(ReturnedItem3) })
  .meta({ id: 'SidebarGroup' });
const ReturnedItem1 = z
  .object({ ...returnedFields, children: z.array(ReturnedItem2) })
  .meta({ id: 'SidebarItem' });

export const Sidebar = z
  .object({
    items: z.array(ReturnedItem1),
    revision: z.int().describe('0 until a sidebar is stored'),
    problems: z.array(Problem).describe('Targets that no longer exist, and pages that visitors cannot see'),
    updatedAt: Instant.nullable(),
  })
  .meta({ id: 'Sidebar' });

export type SidebarInput = z.output<typeof SidebarInput>;
export type SidebarItems = SidebarInput['items'];
/** Any level of the tree. */
export type SidebarItem = {
  label: string;
  icon: string | null;
  kind: (typeof sidebarItemKinds)[number];
  target: string | null;
  children: readonly unknown[];
};
