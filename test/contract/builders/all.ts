// Every group of builders. Add new files of builders here.
import type { BuilderGroup } from '../builder.ts';
import { agentBuilders } from './agents.ts';
import { apiKeyBuilders } from './api-keys.ts';
import { apiSchemaBuilders } from './api-schemas.ts';
import { domainBuilders } from './domains.ts';
import { netsuiteBuilders } from './netsuite.ts';
import { invitedBuilders, organizationBuilders } from './organizations.ts';
import { overviewBuilders } from './overview.ts';
import { payBuilders } from './pay.ts';
import { portalBuilders } from './portal.ts';
import { portalVisitorBuilders } from './portal-visitors.ts';
import { queryBuilders } from './queries.ts';
import { subscriptionBuilders } from './subscriptions.ts';
import { syncBuilders } from './syncs.ts';
import { teamBuilders } from './teams.ts';
import { viewBuilders } from './views.ts';
import { webhookBuilders } from './webhooks.ts';
import { newOrganizationBuilders, whoamiBuilders } from './whoami.ts';

export const builderGroups: readonly BuilderGroup[] = [
  whoamiBuilders,
  newOrganizationBuilders,
  overviewBuilders,
  organizationBuilders,
  invitedBuilders,
  teamBuilders,
  domainBuilders,
  netsuiteBuilders,
  queryBuilders,
  syncBuilders,
  viewBuilders,
  subscriptionBuilders,
  apiKeyBuilders,
  webhookBuilders,
  apiSchemaBuilders,
  agentBuilders,
  portalBuilders,
  portalVisitorBuilders,
  payBuilders,
];
