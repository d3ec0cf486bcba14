import { IdParams } from '../../http/fields.ts';
import { PageQuery, pageOf } from '../../http/page.ts';
import { definePersonRoute, defineRoute } from '../../http/route.ts';
import { ChosenOrganization, MyOrganization, MyOrganizationsQuery, OrganizationChoice, Session, WhoAmI } from './whoami.schemas.ts';
import {
  chooseActiveOrganization,
  describeCaller,
  endOtherSessions,
  endOwnSession,
  listOwnOrganizations,
  listOwnSessions,
} from './whoami.service.ts';

const group = 'Identity';

export const whoamiRoutes = [
  defineRoute({
    id: 'getWhoAmI',
    group,
    method: 'GET',
    path: '/whoami',
    permission: 'any',
    summary: 'Who is calling, for which organization, with which permissions',
    description: "The same for key, token and session. The organization's id is the tenant id of the public interface.",
    response: WhoAmI,
    handler: describeCaller,
  }),
  definePersonRoute({
    id: 'listMyOrganizations',
    group,
    method: 'GET',
    path: '/whoami/organizations',
    permission: 'authenticated',
    summary: 'Organizations of the caller with the role in each, newest first',
    description: 'An API key sees the one organization that it belongs to.',
    query: MyOrganizationsQuery,
    response: pageOf(MyOrganization),
    handler: (ctx, { query: { q, ...page } }) => listOwnOrganizations(ctx, page, q),
  }),
  definePersonRoute({
    id: 'chooseActiveOrganization',
    group,
    method: 'POST',
    path: '/whoami/active-organization',
    permission: 'signed-in',
    summary: "Choose the session's active organization",
    description: 'For sessions alone: a token names its organization in the header x-organization-id with each request.',
    body: OrganizationChoice,
    example: { organizationId: '01993e5f-7e2a-7c58-9a52-3b1c8f0d4e21' },
    response: ChosenOrganization,
    handler: (ctx, { body }) => chooseActiveOrganization(ctx, body.organizationId),
  }),
  definePersonRoute({
    id: 'listMySessions',
    group,
    method: 'GET',
    path: '/whoami/sessions',
    permission: 'signed-in',
    summary: 'Where the caller is signed in, newest first',
    description: 'Sessions that ended or ran out are not shown.',
    query: PageQuery,
    response: pageOf(Session),
    handler: (ctx, { query }) => listOwnSessions(ctx, query),
  }),
  definePersonRoute({
    id: 'endMyOtherSessions',
    group,
    method: 'DELETE',
    path: '/whoami/sessions',
    permission: 'signed-in',
    summary: 'Sign out everywhere but here',
    description: 'Ends all sessions of the caller but the one that asks; a token ends all of them. Takes effect at once.',
    handler: endOtherSessions,
  }),
  definePersonRoute({
    id: 'endMySession',
    group,
    method: 'DELETE',
    path: '/whoami/sessions/{id}',
    permission: 'signed-in',
    summary: 'End one session',
    description: 'Takes effect at once. The current session may end itself.',
    params: IdParams,
    handler: (ctx, { params }) => endOwnSession(ctx, params.id),
  }),
];
