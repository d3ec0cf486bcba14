// Which part of the documentation is about which screens: an address below /docs for each path below /console.
export const helpPages: Readonly<Record<string, string>> = {
  '': 'console',
  connection: 'management#erp-connection',
  'record-types': 'record-types',
  syncs: 'operations#runs-that-are-partial-failed-or-waiting',
  runs: 'operations#runs-that-are-partial-failed-or-waiting',
  schemas: 'management#api-versions',
  data: 'public-api',
  keys: 'record-access',
  webhooks: 'webhooks',
  portal: 'management#portal',
  visitors: 'management#portal',
  views: 'management#views',
  subscriptions: 'management#subscriptions',
  pages: 'management#portal',
  agents: 'agents',
  payments: 'pay',
  people: 'management#organizations-and-members',
  teams: 'management#organizations-and-members',
  domains: 'management#domains',
  'audit-log': 'security',
};

/** Where the screen of a path is explained. */
export const helpAddress = (path: string): string =>
  `/docs/${helpPages[path.split('/')[1] ?? ''] ?? 'console'}`;
