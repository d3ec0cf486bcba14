import { z } from 'zod';
import { IdParams } from '../../http/fields.ts';
import { createPageSchema, pageFields } from '../../http/page.ts';
import { defineRoute, inGroup } from '../../http/route/define.ts';
import { NewTeam, NewTeamMember, Team, TeamMember, TeamMemberParams, TeamPatch } from './teams.schemas.ts';
import * as service from './teams.service.ts';

const listQuery = z.strictObject({ ...pageFields, q: z.string().min(1).max(120).optional() });

export const teamRoutes = inGroup('Teams', [
  defineRoute('listTeams', 'GET /teams', {
    permission: 'team:read',
    summary: 'List teams',
    description: 'Newest first. `q` searches in names.',
    query: listQuery,
    response: createPageSchema(Team),
    handler: (ctx, { query: { q, ...page } }) => service.listTeams(ctx, page, q),
  }),
  defineRoute('createTeam', 'POST /teams', {
    permission: 'team:create',
    summary: 'Create a team',
    description: 'The name is unique in the organization, ignoring case.',
    body: NewTeam,
    example: { name: 'Accounting', description: 'Closes the month' },
    response: Team,
    status: 201,
    handler: (ctx, { body }) => service.createTeam(ctx, body),
  }),
  defineRoute('getTeam', 'GET /teams/{id}', {
    permission: 'team:read',
    summary: 'Retrieve a team',
    description: 'Includes the number of members.',
    params: IdParams,
    response: Team,
    handler: (ctx, { params }) => service.getTeam(ctx, params.id),
  }),
  defineRoute('updateTeam', 'PATCH /teams/{id}', {
    permission: 'team:update',
    summary: 'Update a team',
    description: 'Omitted fields stay as they are; null clears the description.',
    params: IdParams,
    body: TeamPatch,
    example: { description: 'Closes the month and the year' },
    response: Team,
    handler: (ctx, { params, body }) => service.updateTeam(ctx, params.id, body),
  }),
  defineRoute('deleteTeam', 'DELETE /teams/{id}', {
    permission: 'team:delete',
    summary: 'Delete a team',
    description:
      'Its members stay members of the organization. Views that were shared with the team become visible to their owners only.',
    params: IdParams,
    handler: (ctx, { params }) => service.deleteTeam(ctx, params.id),
  }),
  defineRoute('listTeamMembers', 'GET /teams/{id}/members', {
    permission: 'team:read',
    summary: 'List members of a team',
    description: 'Newest first. `q` searches in names and e-mail addresses.',
    params: IdParams,
    query: listQuery,
    response: createPageSchema(TeamMember),
    handler: (ctx, { params, query: { q, ...page } }) => service.listTeamMembers(ctx, params.id, page, q),
  }),
  defineRoute('addTeamMember', 'POST /teams/{id}/members', {
    permission: 'team:update',
    summary: 'Add a member to a team',
    description: 'Only members of the organization can be in its teams.',
    params: IdParams,
    body: NewTeamMember,
    example: { userId: '01993e5f-7e2a-7c58-9a52-3b1c8f0d4e21' },
    response: TeamMember,
    status: 201,
    handler: (ctx, { params, body }) => service.addTeamMember(ctx, params.id, body.userId),
  }),
  defineRoute('removeTeamMember', 'DELETE /teams/{id}/members/{userId}', {
    permission: 'team:update',
    summary: 'Remove a member from a team',
    description: 'The person stays a member of the organization.',
    params: TeamMemberParams,
    handler: (ctx, { params }) => service.removeTeamMember(ctx, params.id, params.userId),
  }),
]);
