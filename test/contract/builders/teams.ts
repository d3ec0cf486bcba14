import fc from 'fast-check';
import { createId } from '../../../src/core/id.ts';
import { makeMember } from '../../setup/organization.ts';
import { asBuilt, type BuilderGroup, type Fixture } from '../builder.ts';

async function team({ organization, sql }: Fixture): Promise<string> {
  const id = createId();
  await sql((tx) => tx('teams').insert({ id, organization_id: organization.id, name: `Team ${id}` }));
  return id;
}
const ofTeam = async (fixture: Fixture) => ({ params: { id: await team(fixture) } });
const named = { 'body.name': fc.uuid().map((id) => `Team ${id}`) };
const member = async ({ ctx, organization }: Fixture): Promise<string> =>
  (await makeMember(ctx, organization.id, [])).id;

export const teamBuilders: BuilderGroup = {
  builders: {
    listTeams: { build: () => ({}) },
    createTeam: {
      build: ({ next }) => ({ body: { name: `Team ${next()}` } }),
      fields: named,
      repeatable: true,
    },
    getTeam: { build: ofTeam },
    updateTeam: {
      build: async (fixture) => ({ ...(await ofTeam(fixture)), body: { description: 'Other words' } }),
      fields: named,
    },
    deleteTeam: { build: ofTeam },
    listTeamMembers: { build: ofTeam },
    addTeamMember: {
      build: async (fixture) => ({ ...(await ofTeam(fixture)), body: { userId: await member(fixture) } }),
      fields: { 'body.userId': asBuilt },
    },
    removeTeamMember: {
      build: async (fixture) => {
        const [id, userId] = [await team(fixture), await member(fixture)];
        const row = { organization_id: fixture.organization.id, team_id: id, user_id: userId };
        await fixture.sql((tx) => tx('team_members').insert(row));
        return { params: { id, userId } };
      },
    },
  },
};
