// Table of contents: which screen answers which path below /console. Each area of screens is a file of its own,
// which is loaded when it is first shown, and ahead of that once the first screen is there.
import { type ReadonlySignal, signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import type { IconName } from './parts/icon.tsx';
import { match, type Parameters, type ScreenProps } from './router.ts';

/** `component` is undefined until `load` has resolved. */
export type Screen = {
  readonly path: string;
  readonly component: ReadonlySignal<ComponentType<ScreenProps> | undefined>;
  load(): Promise<void>;
};

function screen<Name extends string>(
  path: string,
  load: () => Promise<Readonly<Record<Name, ComponentType<ScreenProps>>>>,
  name: Name,
): Screen {
  const component = signal<ComponentType<ScreenProps>>();
  return {
    path,
    component,
    async load() {
      component.value ??= (await load())[name];
    },
  };
}

const screens: readonly Screen[] = [
  screen('/', () => import('./screens/overview/overview.tsx'), 'Overview'),
  screen('/connection', () => import('./screens/connection/connections.tsx'), 'Connections'),
  screen('/connection/:connection', () => import('./screens/connection/connection.tsx'), 'ConnectionScreen'),
  screen('/record-types', () => import('./screens/record-types/record-types.tsx'), 'RecordTypes'),
  screen(
    '/record-types/:recordType',
    () => import('./screens/record-types/record-type.tsx'),
    'RecordTypeScreen',
  ),
  screen('/syncs', () => import('./screens/syncs/syncs.tsx'), 'Syncs'),
  screen('/syncs/:id', () => import('./screens/syncs/sync.tsx'), 'SyncScreen'),
  screen('/syncs/:id/deletions/:proposalId', () => import('./screens/syncs/proposal.tsx'), 'ProposalScreen'),
  screen('/runs/:id', () => import('./screens/syncs/run.tsx'), 'RunScreen'),
  screen('/schemas', () => import('./screens/schemas/schemas.tsx'), 'Schemas'),
  screen('/schemas/:id', () => import('./screens/schemas/schema.tsx'), 'Schema'),
  screen('/schemas/:id/publish', () => import('./screens/schemas/publish.tsx'), 'Publish'),
  screen('/data', () => import('./screens/data/versions.tsx'), 'DataVersions'),
  screen('/data/:version/:resource', () => import('./screens/data/records.tsx'), 'Records'),
  screen('/keys', () => import('./screens/keys/keys.tsx'), 'Keys'),
  screen('/keys/new', () => import('./screens/keys/new-key.tsx'), 'NewKey'),
  screen('/keys/:id', () => import('./screens/keys/key.tsx'), 'KeyScreen'),
  screen('/webhooks', () => import('./screens/webhooks/webhooks.tsx'), 'Webhooks'),
  screen('/webhooks/:id', () => import('./screens/webhooks/webhook.tsx'), 'WebhookScreen'),
  screen('/portal', () => import('./screens/customer-portal/portal.tsx'), 'Portal'),
  screen('/portal/access', () => import('./screens/customer-portal/access.tsx'), 'Access'),
  screen('/portal/brand', () => import('./screens/customer-portal/branding.tsx'), 'Branding'),
  screen('/visitors', () => import('./screens/customer-portal/visitors.tsx'), 'Visitors'),
  screen('/views', () => import('./screens/portal/views.tsx'), 'Views'),
  screen('/views/:id', () => import('./screens/portal/views.tsx'), 'ViewScreen'),
  screen('/subscriptions', () => import('./screens/portal/subscriptions.tsx'), 'Subscriptions'),
  screen('/subscriptions/:id', () => import('./screens/portal/subscriptions.tsx'), 'SubscriptionScreen'),
  screen('/pages', () => import('./screens/portal/pages.tsx'), 'Pages'),
  screen('/pages/:id', () => import('./screens/portal/pages.tsx'), 'PageScreen'),
  screen('/agents', () => import('./screens/portal/agents.tsx'), 'Agents'),
  screen('/agents/:id', () => import('./screens/portal/agents.tsx'), 'AgentScreen'),
  screen('/agents/:id/:conversationId', () => import('./screens/portal/chat.tsx'), 'Chat'),
  screen('/payments', () => import('./screens/portal/payments.tsx'), 'Payments'),
  screen('/payments/:id', () => import('./screens/portal/payment.tsx'), 'PaymentScreen'),
  screen('/people', () => import('./screens/people/people.tsx'), 'People'),
  screen('/people/roles', () => import('./screens/people/roles.tsx'), 'Roles'),
  screen('/teams', () => import('./screens/people/teams.tsx'), 'Teams'),
  screen('/teams/:id', () => import('./screens/people/teams.tsx'), 'TeamScreen'),
  screen('/domains', () => import('./screens/people/domains.tsx'), 'Domains'),
  screen('/audit-log', () => import('./screens/people/audit-log.tsx'), 'AuditLog'),
];

/**
 * The areas of the console, in the order of the navigation. Who has none of the permissions of a link doesn't
 * see it.
 */
export const areas: readonly {
  readonly title: string;
  readonly links: readonly (readonly [
    to: string,
    title: string,
    icon: IconName,
    ...permissions: readonly string[],
  ])[];
}[] = [
  { title: '', links: [['/', 'Overview', 'overview']] },
  {
    title: 'Data in',
    links: [
      ['/connection', 'Connections', 'connection', 'connection:read', 'netsuite:read'],
      ['/record-types', 'Record types', 'recordTypes', 'connection:read', 'netsuite:read'],
      ['/syncs', 'Syncs', 'syncs', 'sync:read'],
    ],
  },
  {
    title: 'Data out',
    links: [
      ['/schemas', 'API versions', 'versions', 'api-schema:read'],
      ['/data', 'Data', 'data', 'record:read'],
      ['/keys', 'API keys', 'keys', 'api-key:read'],
      ['/webhooks', 'Webhooks', 'webhooks', 'webhook:read'],
    ],
  },
  {
    title: 'Portal',
    links: [
      ['/portal', 'Portal', 'portal', 'portal:read'],
      ['/visitors', 'Visitors', 'visitors', 'portal:read'],
      ['/views', 'Views', 'views', 'view:read'],
      ['/subscriptions', 'Subscriptions', 'subscriptions', 'subscription:read'],
      ['/pages', 'Pages', 'pages', 'portal:read'],
      ['/agents', 'Agents', 'agents', 'agent:read'],
      ['/payments', 'Payments', 'payments', 'payment:read'],
    ],
  },
  {
    title: 'Organization',
    links: [
      ['/people', 'People', 'people', 'member:read'],
      ['/teams', 'Teams', 'teams', 'team:read'],
      ['/domains', 'Domains', 'domains', 'domain:read'],
      ['/audit-log', 'Audit log', 'audit', 'audit:read'],
    ],
  },
];

/** The screen of a path with its parameters, or undefined when no screen has it. */
export function findScreen(at: string): { readonly screen: Screen; readonly params: Parameters } | undefined {
  for (const screen of screens) {
    const params = match(screen.path, at);
    if (params !== undefined) return { screen, params };
  }
  return undefined;
}

/** Loads the code of all screens, so that each appears at once. One that can't be loaded is tried again when shown. */
export function loadScreens(): void {
  for (const { load } of screens) load().catch(() => undefined);
}
