import { IdParams } from '../../http/fields.ts';
import { createPageSchema, NamedPageQuery, PageQuery } from '../../http/page.ts';
import { definePersonRoute, inGroup } from '../../http/route/define.ts';
import {
  ChosenOrganization,
  MyOrganization,
  MySession,
  OrganizationChoice,
  WhoAmI,
} from './whoami.schemas.ts';
import {
  chooseActiveOrganization,
  describeCaller,
  endOtherSessions,
  endOwnSession,
  listOwnOrganizations,
  listOwnSessions,
} from './whoami.service.ts';

export const whoamiRoutes = inGroup('Identity', [
  definePersonRoute('getWhoAmI', 'GET /whoami', {
    permission: 'any',
    summary: 'Retrieve the caller',
    description:
      "Person, active organization, permissions and credential, for keys, tokens and sessions alike. The organization's id is the tenant " +
      'id of the public interface. While no organization is selected, `organization`, `membership` and `metrics` are null and `nextStep` ' +
      'says what to do. When the active organization of a session is gone and the person belongs to one other, this request selects it.',
    response: WhoAmI,
    handler: describeCaller,
  }),
  definePersonRoute('listMyOrganizations', 'GET /whoami/organizations', {
    permission: 'authenticated',
    summary: "List the caller's organizations",
    description:
      'Newest first, with the role in each. An API key sees only the organization that it belongs to.',
    query: NamedPageQuery,
    response: createPageSchema(MyOrganization),
    handler: (ctx, { query }) => listOwnOrganizations(ctx, query),
  }),
  definePersonRoute('chooseActiveOrganization', 'POST /whoami/active-organization', {
    permission: 'signed-in',
    summary: "Choose the session's active organization",
    description:
      'Only for sessions. A token names its organization in the header x-organization-id of each request; a session may do so as well, ' +
      'and acts for that organization in that request only.',
    body: OrganizationChoice,
    example: { organizationId: '01993e5f-7e2a-7c58-9a52-3b1c8f0d4e21' },
    response: ChosenOrganization,
    handler: (ctx, { body }) => chooseActiveOrganization(ctx, body.organizationId),
  }),
  definePersonRoute('listMySessions', 'GET /whoami/sessions', {
    permission: 'signed-in',
    summary: "List the caller's sessions",
    description: 'Newest first. Ended and expired sessions are not listed.',
    query: PageQuery,
    response: createPageSchema(MySession),
    handler: (ctx, { query }) => listOwnSessions(ctx, query),
  }),
  definePersonRoute('endMyOtherSessions', 'DELETE /whoami/sessions', {
    permission: 'signed-in',
    summary: "End the caller's other sessions",
    description:
      'Ends all sessions of the caller except the current one; a token ends all of them. Takes effect immediately.',
    handler: endOtherSessions,
  }),
  definePersonRoute('endMySession', 'DELETE /whoami/sessions/{id}', {
    permission: 'signed-in',
    summary: 'End a session',
    description: 'Takes effect immediately. The current session can end itself.',
    params: IdParams,
    handler: (ctx, { params }) => endOwnSession(ctx, params.id),
  }),
]);
