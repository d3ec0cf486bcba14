import { z } from 'zod';
import { Id, Instant, longText, uniqueName } from '../../http/fields.ts';

export const TeamMemberParams = z.strictObject({ id: Id, userId: Id });

export const NewTeam = z.strictObject({ name: uniqueName(120), description: longText(500).default('') });
export const TeamPatch = z.strictObject({
  name: uniqueName(120).optional(),
  description: longText(500).nullable().optional(),
});
export const NewTeamMember = z.strictObject({ userId: Id.describe('A member of the organization') });

export const Team = z
  .object({ id: Id, name: z.string(), description: z.string(), memberCount: z.int(), createdAt: Instant })
  .meta({ id: 'Team' });

export const TeamMember = z
  .object({ user: z.object({ id: Id, email: z.string(), name: z.string() }), addedAt: Instant })
  .meta({ id: 'TeamMember' });

export type NewTeam = z.output<typeof NewTeam>;
export type TeamPatch = z.output<typeof TeamPatch>;
export type Team = z.input<typeof Team>;
export type TeamMember = z.input<typeof TeamMember>;
