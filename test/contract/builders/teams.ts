import fc from 'fast-check';
import { createId } from '../../../src/core/id.ts';
import { makeMember } from '../../setup/organization.ts';
import { asBuilt, type BuilderGroup, byId, type Fixture, insertRow } from '../builder.ts';

export const makeTeam = (fixture: Fixture): Promise<string> =>
  insertRow(fixture, 'teams', { name: `Team ${createId()}` });
const ofTeam = byId(makeTeam);
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
        const [id, userId] = [await makeTeam(fixture), await member(fixture)];
        const row = { organization_id: fixture.organization.id, team_id: id, user_id: userId };
        await fixture.sql((tx) => tx('team_members').insert(row));
        return { params: { id, userId } };
      },
    },
  },
};
