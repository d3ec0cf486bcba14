/** How many objects of each kind an organization may have at once; ORGANIZATION_LIMITS overrides them. */
export const defaultQuotas = {
  members: 10_000,
  invitations: 2_000,
  roles: 500,
  teams: 1_000,
  // This service checks each pending domain in DNS for a week.
  domains: 200,
  syncs: 500,
  connections: 10,
  queries: 200,
  views: 5_000,
  viewLinks: 5_000,
  subscriptions: 1_000,
  apiKeys: 1_000,
  webhooks: 1_000,
  apiSchemas: 200,
  agents: 200,
  conversations: 50_000,
  pages: 1_000,
  templates: 1_000,
  fieldMappings: 500,
  visitors: 200_000,
  checkouts: 10_000,
};
export type QuotaKind = keyof typeof defaultQuotas;
