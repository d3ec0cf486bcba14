// The table of contents of the management interface: every group, in the order of its description.
import { z } from 'zod';
import type { Ctx } from '../core/ctx.ts';
import { openStreams, type StreamOptions } from '../http/event-stream.ts';
import { routeRouter } from '../http/express.ts';
import { describeRoutes } from '../http/openapi.ts';
import { type AnyRoute, checkRoutes, definePublicRoute, type RouteGroup } from '../http/route.ts';
import { platformBase } from '../http/served.ts';
import type { VerifyToken } from '../identity/access-token.ts';
import { agentRoutes } from './agents/agents.routes.ts';
import { apiKeyRoutes } from './api-keys/api-keys.routes.ts';
import { apiSchemaRoutes } from './api-schemas/api-schemas.routes.ts';
import { auditLogRoutes } from './audit-log/audit-log.routes.ts';
import { conversationRoutes } from './conversations/conversations.routes.ts';
import { domainRoutes } from './domains/domains.routes.ts';
import { invitationRoutes } from './invitations/invitations.routes.ts';
import { memberRoutes } from './members/members.routes.ts';
import { netsuiteRoutes } from './netsuite/netsuite.routes.ts';
import { organizationRoutes } from './organizations/organizations.routes.ts';
import { payRoutes } from './pay/pay.routes.ts';
import { fieldMappingRoutes } from './portal/field-mappings.routes.ts';
import { pageRoutes } from './portal/pages.routes.ts';
import { sidebarRoutes } from './portal/sidebar.routes.ts';
import { templateRoutes } from './portal/templates.routes.ts';
import { roleRoutes } from './roles/roles.routes.ts';
import { subscriptionRoutes } from './subscriptions/subscriptions.routes.ts';
import { syncRoutes } from './syncs/syncs.routes.ts';
import { teamRoutes } from './teams/teams.routes.ts';
import { viewRoutes } from './views/views.routes.ts';
import { whoamiRoutes } from './whoami/whoami.routes.ts';

export { platformBase };

const description = `Configuration of the portal service: who may do what, where the records come from, when they are synced, and in which
shape they are published.

Every list is \`{data, pagination}\`; every error is \`{error: {code, message, details, requestId}}\`. By default 60 requests a minute are
answered per key or person; the RateLimit headers say what is left.`;

const groups: Readonly<Record<RouteGroup, string>> = {
  Identity: 'Who is calling, for which organization, with which permissions',
  Organizations: 'Members, invitations and roles',
  Teams: 'Teams and their members',
  Domains: 'Hostnames of an organization, and the proof that they are its own',
  Syncs: 'Which records are read from the ERP, when, and what became of it',
  Views: 'Saved views and e-mail subscriptions',
  'API Keys': 'Keys, and the versions of the public interface that they read',
  Agents: 'AI agents and conversations',
  Pay: 'Payments and payouts',
  'Portal Config': 'Field mappings, sidebar, pages and templates',
  'ERP connection': 'How to reach the ERP, and what it holds',
  Description: 'This interface itself',
};

const groupRoutes: readonly AnyRoute[] = [
  ...whoamiRoutes,
  ...invitationRoutes,
  ...domainRoutes,
  ...organizationRoutes,
  ...memberRoutes,
  ...roleRoutes(() => platformRoutes),
  ...auditLogRoutes,
  ...teamRoutes,
  ...netsuiteRoutes,
  ...syncRoutes,
  ...viewRoutes,
  ...subscriptionRoutes,
  ...apiKeyRoutes,
  ...apiSchemaRoutes,
  ...agentRoutes,
  ...conversationRoutes,
  ...payRoutes,
  ...fieldMappingRoutes,
  ...sidebarRoutes,
  ...pageRoutes,
  ...templateRoutes,
];

/** Every operation of the management interface. */
export const platformRoutes: readonly AnyRoute[] = [
  ...groupRoutes,
  definePublicRoute({
    id: 'getOpenApi',
    group: 'Description',
    method: 'GET',
    path: '/openapi',
    summary: 'This description',
    description: 'OpenAPI 3.0.3, made from the same definitions that answer. `GET /openapi/preview` is its reference page.',
    response: z.record(z.string(), z.unknown()),
    responseExample: { openapi: '3.0.3', info: { title: 'Portal Service: management interface', version: '1.0.0' }, paths: {} },
    handler: async (ctx) => describePlatform(ctx.settings.publicUrl),
  }),
];

const described = new Map<string, Record<string, unknown>>();

/** Made once per address: anyone may ask for it, without a credential. */
export function describePlatform(publicUrl: string): Record<string, unknown> {
  const held = described.get(publicUrl);
  if (held !== undefined) return held;
  const made = describeRoutes(platformRoutes, {
    title: 'Portal Service: management interface',
    version: '1.0.0',
    description,
    serverUrl: `${publicUrl}${platformBase}`,
    groups,
  });
  described.set(publicUrl, made);
  return made;
}

export function platformRouter(ctx: Ctx, verify: VerifyToken, streams: StreamOptions): ReturnType<typeof routeRouter> {
  checkRoutes(platformRoutes);
  return routeRouter(ctx, platformRoutes, verify, openStreams(ctx, streams));
}
