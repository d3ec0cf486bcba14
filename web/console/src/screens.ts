// Table of contents: which screen answers which path below /console. All are in one file: together they have
// some 100 kB, and a screen appears at once.
import type { ComponentType } from 'preact';
import type { IconName } from './parts/icon.tsx';
import { match, type Parameters } from './router.ts';
import { ConnectionScreen } from './screens/connection/connection.tsx';
import { Records } from './screens/data/records.tsx';
import { DataVersions } from './screens/data/versions.tsx';
import { KeyScreen } from './screens/keys/key.tsx';
import { Keys } from './screens/keys/keys.tsx';
import { NewKey } from './screens/keys/new-key.tsx';
import { Overview } from './screens/overview/overview.tsx';
import { AuditLog } from './screens/people/audit-log.tsx';
import { Domains } from './screens/people/domains.tsx';
import { People } from './screens/people/people.tsx';
import { Roles } from './screens/people/roles.tsx';
import { TeamScreen, Teams } from './screens/people/teams.tsx';
import { AgentScreen, Agents } from './screens/portal/agents.tsx';
import { Chat } from './screens/portal/chat.tsx';
import { PageScreen, Pages } from './screens/portal/pages.tsx';
import { PaymentScreen } from './screens/portal/payment.tsx';
import { Payments } from './screens/portal/payments.tsx';
import { SubscriptionScreen, Subscriptions } from './screens/portal/subscriptions.tsx';
import { ViewScreen, Views } from './screens/portal/views.tsx';
import { RecordTypeScreen } from './screens/record-types/record-type.tsx';
import { RecordTypes } from './screens/record-types/record-types.tsx';
import { Publish } from './screens/schemas/publish.tsx';
import { Schema } from './screens/schemas/schema.tsx';
import { Schemas } from './screens/schemas/schemas.tsx';
import { ProposalScreen } from './screens/syncs/proposal.tsx';
import { RunScreen } from './screens/syncs/run.tsx';
import { SyncScreen } from './screens/syncs/sync.tsx';
import { Syncs } from './screens/syncs/syncs.tsx';

export type ScreenProps = { readonly params: Parameters };

const screens: readonly (readonly [path: string, Component: ComponentType<ScreenProps>])[] = [
  ['/', Overview],
  ['/connection', ConnectionScreen],
  ['/record-types', RecordTypes],
  ['/record-types/:recordType', RecordTypeScreen],
  ['/syncs', Syncs],
  ['/syncs/:id', SyncScreen],
  ['/syncs/:id/deletions/:proposalId', ProposalScreen],
  ['/runs/:id', RunScreen],
  ['/schemas', Schemas],
  ['/schemas/:id', Schema],
  ['/schemas/:id/publish', Publish],
  ['/data', DataVersions],
  ['/data/:version/:resource', Records],
  ['/keys', Keys],
  ['/keys/new', NewKey],
  ['/keys/:id', KeyScreen],
  ['/views', Views],
  ['/views/:id', ViewScreen],
  ['/subscriptions', Subscriptions],
  ['/subscriptions/:id', SubscriptionScreen],
  ['/pages', Pages],
  ['/pages/:id', PageScreen],
  ['/agents', Agents],
  ['/agents/:id', AgentScreen],
  ['/agents/:id/:conversationId', Chat],
  ['/payments', Payments],
  ['/payments/:id', PaymentScreen],
  ['/people', People],
  ['/people/roles', Roles],
  ['/teams', Teams],
  ['/teams/:id', TeamScreen],
  ['/domains', Domains],
  ['/audit-log', AuditLog],
];

/**
 * The areas of the console, in the order of the navigation. `permission`: who lacks it doesn't see the link.
 */
export const areas: readonly {
  readonly title: string;
  readonly links: readonly (readonly [to: string, title: string, icon: IconName, permission?: string])[];
}[] = [
  { title: '', links: [['/', 'Overview', 'overview']] },
  {
    title: 'Data in',
    links: [
      ['/connection', 'Connection', 'connection', 'netsuite:read'],
      ['/record-types', 'Record types', 'recordTypes', 'netsuite:read'],
      ['/syncs', 'Syncs', 'syncs', 'sync:read'],
    ],
  },
  {
    title: 'Data out',
    links: [
      ['/schemas', 'API versions', 'versions', 'api-schema:read'],
      ['/data', 'Data', 'data', 'record:read'],
      ['/keys', 'API keys', 'keys', 'api-key:read'],
    ],
  },
  {
    title: 'Portal',
    links: [
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
export function findScreen(
  at: string,
): { readonly Component: ComponentType<ScreenProps>; readonly params: Parameters } | undefined {
  for (const [path, Component] of screens) {
    const params = match(path, at);
    if (params !== undefined) return { Component, params };
  }
  return undefined;
}
