// Table of contents of the management interface: every route group, in the order of its OpenAPI description.
import { z } from 'zod';
import type { ReadingCtx } from '../core/ctx.ts';
import { sessionCookieName } from '../http/cookies.ts';
import { createStreams, type StreamOptions } from '../http/event-stream.ts';
import type { FailureLimit } from '../http/failure-limit.ts';
import { describeRoutes } from '../http/openapi/describe-routes.ts';
import { assertRoutes, definePublicRoute, inGroup } from '../http/route/define.ts';
import type { AnyRoute, RouteGroup } from '../http/route/route.ts';
import { createRouteRouter } from '../http/router.ts';
import { platformBase } from '../http/served.ts';
import type { VerifyToken } from '../identity/access-token.ts';
import { agentRoutes } from './agents/agents.routes.ts';
import { apiKeyRoutes } from './api-keys/api-keys.routes.ts';
import { tokenRoutes } from './api-keys/tokens.routes.ts';
import { apiSchemaRoutes } from './api-schemas/api-schemas.routes.ts';
import { versionRecordRoutes } from './api-schemas/version-records.routes.ts';
import { versionSummaryRoutes } from './api-schemas/version-summary.routes.ts';
import { auditLogRoutes } from './audit-log/audit-log.routes.ts';
import { connectionRoutes, netsuiteRoutes } from './connections/connections.routes.ts';
import { conversationRoutes } from './conversations/conversations.routes.ts';
import { domainRoutes } from './domains/domains.routes.ts';
import { invitationRoutes } from './invitations/invitations.routes.ts';
import { memberRoutes } from './members/members.routes.ts';
import { organizationRoutes } from './organizations/organizations.routes.ts';
import { overviewRoutes } from './overview/overview.routes.ts';
import { payRoutes } from './pay/pay.routes.ts';
import { accessRoutes } from './portal/access.routes.ts';
import { brandingRoutes } from './portal/branding.routes.ts';
import { fieldMappingRoutes } from './portal/field-mappings.routes.ts';
import { portalInvitationRoutes } from './portal/invitations.routes.ts';
import { pageRoutes } from './portal/pages.routes.ts';
import { sidebarRoutes } from './portal/sidebar.routes.ts';
import { signInRoutes } from './portal/sign-in.routes.ts';
import { templateRoutes } from './portal/templates.routes.ts';
import { visitorRoutes } from './portal/visitors.routes.ts';
import { connectionQueryRoutes, queryRoutes } from './queries/queries.routes.ts';
import { permissionRoutes, roleRoutes } from './roles/roles.routes.ts';
import { subscriptionRoutes } from './subscriptions/subscriptions.routes.ts';
import { syncRoutes } from './syncs/syncs.routes.ts';
import { teamRoutes } from './teams/teams.routes.ts';
import { viewLinkRoutes } from './view-links/view-links.routes.ts';
import { viewRoutes } from './views/views.routes.ts';
import { webhookRoutes } from './webhooks/webhooks.routes.ts';
import { whoamiRoutes } from './whoami/whoami.routes.ts';

export type { Source } from './conversations/asker.ts';
export {
  answerVisitor,
  readVisitorConversation,
  startVisitorAnswer,
  type VisitorMessage,
  visitorAnswerTopic,
} from './conversations/visitor-answers.ts';
export { isClaimable } from './domains/hostname.ts';
export { startCheckout } from './pay/checkout/checkouts.service.ts';
export type { PayerCtx } from './pay/checkout/payer.ts';
export { isOpen } from './pay/ledger/payment-state.ts';
export { paymentTopic } from './pay/ledger/payments.store.ts';
export {
  checkVisitorPayment,
  endVisitorPayment,
  findPayOffer,
  getPaidVisit,
  getVisitorPayment,
  getVisitorPaymentState,
  listVisitorPayments,
  type PayOffer,
  readLeftToPay,
  type VisitorPayment,
} from './pay/visitor-payments.ts';
export { customersEndpoint, recordsEndpoint } from './portal/access-document.ts';
export { writesNegative } from './portal/amount-signs.ts';
export {
  readShownBranding,
  readShownLogo,
  type ShownBranding,
  withoutBranding,
} from './portal/branding.service.ts';
export { readDocumentBrand } from './portal/document-brand.ts';
export type { FieldFormat } from './portal/field-mappings.schemas.ts';
export {
  findMailOrder,
  type MailOrder,
  noteMailed,
  readMailed,
  saveMailOrder,
  setMailKinds,
} from './portal/mail-orders.store.ts';
export type { Block as PageBlock } from './portal/pages.schemas.ts';
export { findSharedView, readEndpoints, readPublishedBlocks } from './portal/shown-content.ts';
export { readViewForVisitor } from './portal/shown-views.ts';
export type { SidebarItem } from './portal/sidebar.schemas.ts';
export {
  callbackPath,
  findPortalProvider,
  openClientSecret,
} from './portal/sign-in.service.ts';
export { findPortalSite, type PortalSite } from './portal/sites.store.ts';
export { listReceivables, type ReceivableEntry, readStatementGaps } from './portal/statement-roles.ts';
export { openViewAs, viewAsSeconds } from './portal/view-as.ts';
export {
  findVisitorAccess,
  findVisitorAgent,
  type VisitorAgent,
} from './portal/visitor-agent.ts';
export {
  accessOfFamily,
  assertPeopleKnown,
  findPerson,
  findPersonOf,
  findPortal,
  findTypicalAddress,
  listFamily,
  type NamedCustomer,
  nameCustomers,
  type Person,
  type Portal,
  type PortalCtx,
  type PortalReader,
  readPortal,
  type VisitorEntry,
} from './portal/visitor-scope.ts';
export { recordVisitorSignIn } from './portal/visitors.store.ts';
export {
  findVisit,
  idleDays,
  readPaperContent,
  type ShownContent,
  type VisitorSession,
} from './portal/visits.store.ts';

const description = `Configuration of the portal service: who may do what, where the records come from, when they are synced, and in which
shape they are published.

Every list is \`{data, pagination}\`; every error is \`{error: {code, message, details, requestId}}\`. The default rate limit is 60 requests
per minute for each key or person, and 600 for all keys and tokens of an organization together; the RateLimit headers report what remains.`;

/** In the order in which an organization sets them up, which is that of the reference page. */
const groups: Readonly<Record<RouteGroup, string>> = {
  Identity: 'The caller, their organization, permissions and sessions',
  Organizations: 'Members, invitations and roles',
  'ERP connection': 'Connection to the ERP, and its record types',
  Syncs: 'Which records are read from the ERP, when, and the result of each run',
  'API Keys': 'API keys, and the versions of the public interface that they read',
  Webhooks: 'Events that are sent to other systems',
  Teams: 'Teams and their members',
  Domains: 'Hostnames of an organization and their verification',
  Views: 'Saved views, links to them and e-mail subscriptions',
  'Portal Config': 'Field mappings, sidebar, pages and templates',
  Agents: 'AI agents and conversations',
  Pay: 'Payments and payouts',
  Description: 'This API description',
};

const groupRoutes: readonly AnyRoute[] = [
  ...whoamiRoutes,
  ...overviewRoutes,
  ...invitationRoutes,
  ...domainRoutes,
  ...organizationRoutes,
  ...memberRoutes,
  ...roleRoutes,
  ...permissionRoutes(() => platformRoutes),
  ...auditLogRoutes,
  ...teamRoutes,
  ...connectionRoutes,
  ...netsuiteRoutes,
  ...queryRoutes,
  ...connectionQueryRoutes,
  ...syncRoutes,
  ...viewRoutes,
  ...viewLinkRoutes,
  ...subscriptionRoutes,
  ...apiKeyRoutes,
  ...tokenRoutes,
  ...webhookRoutes,
  ...apiSchemaRoutes,
  ...versionRecordRoutes,
  ...versionSummaryRoutes,
  ...agentRoutes,
  ...conversationRoutes,
  ...payRoutes,
  ...accessRoutes,
  ...brandingRoutes,
  ...signInRoutes,
  ...visitorRoutes,
  ...portalInvitationRoutes,
  ...fieldMappingRoutes,
  ...sidebarRoutes,
  ...pageRoutes,
  ...templateRoutes,
];

/** Every operation of the management interface. */
export const platformRoutes: readonly AnyRoute[] = [
  ...groupRoutes,
  ...inGroup('Description', [
    definePublicRoute('getOpenApi', 'GET /openapi', {
      summary: 'Retrieve this description',
      description:
        'OpenAPI 3.0.3, generated from the route definitions that serve the requests. `GET /openapi/preview` is its reference page.',
      response: z.record(z.string(), z.unknown()),
      responseExample: {
        openapi: '3.0.3',
        info: { title: 'Portal Service: management interface', version: '1.0.0' },
        paths: {},
      },
      handler: async (ctx) => describePlatform(ctx.settings.publicUrl),
    }),
  ]),
];

const described = new Map<string, Record<string, unknown>>();

/** Generated once per public URL and cached: the document is served without authentication. */
export function describePlatform(publicUrl: string): Record<string, unknown> {
  const cached = described.get(publicUrl);
  if (cached !== undefined) return cached;
  const document = describeRoutes(platformRoutes, {
    title: 'Portal Service: management interface',
    version: '1.0.0',
    description,
    serverUrl: `${publicUrl}${platformBase}`,
    sessionCookie: sessionCookieName(publicUrl),
    groups,
  });
  described.set(publicUrl, document);
  return document;
}

/** The Express router. Throws when the route definitions are inconsistent, such as duplicate ids or paths. */
export function platformRouter(
  ctx: ReadingCtx,
  verify: VerifyToken,
  failures: FailureLimit,
  streams: StreamOptions,
): ReturnType<typeof createRouteRouter> {
  assertRoutes(platformRoutes);
  return createRouteRouter(ctx, platformRoutes, verify, failures, createStreams(ctx, streams));
}
