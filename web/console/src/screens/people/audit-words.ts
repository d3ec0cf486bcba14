// Audit log entries in words: areas, changes, credentials, and the screen of the target.
import type { Item } from '../../api.ts';

export type AuditEntry = Item<'/organizations/{id}/audit-log'>;
type Area = NonNullable<AuditEntry['area']>;

export const areas: Readonly<Record<Area, string>> = {
  people: 'People',
  'sign-in': 'Sign-in',
  connection: 'ERP connection',
  syncs: 'Syncs',
  'api-versions': 'API versions',
  'api-keys': 'API keys',
  webhooks: 'Webhooks',
  views: 'Views',
  agents: 'Agents',
  payments: 'Payments',
  portal: 'Portal',
  operation: 'Operation',
};

const shown = (value: unknown): string => {
  if (value === null || value === undefined || value === '') return 'nothing';
  return typeof value === 'string' ? value : JSON.stringify(value);
};
const isMove = (value: unknown): value is { readonly from: unknown; readonly to: unknown } =>
  typeof value === 'object' && value !== null && 'from' in value && 'to' in value;

/** Each change as name and value: `draft → published`. */
export const describeChanges = ({ changes }: AuditEntry): (readonly [name: string, value: string])[] =>
  Object.entries(changes).map(([name, value]) => [
    name,
    isMove(value) ? `${shown(value.from)} → ${shown(value.to)}` : shown(value),
  ]);

const credentials: Readonly<Record<string, string>> = {
  'api-key': 'with an API key',
  oauth: 'with an access token',
  session: 'in the browser',
  operator: 'on the command line of the service',
  system: 'by itself',
};
export const describeCredential = (kind: string): string => credentials[kind] ?? kind;

/** Screens of targets that are not `/<type>s`. */
const screens: Readonly<Record<string, string>> = {
  'api-key': 'keys',
  'api-schema': 'schemas',
  'sync-config': 'syncs',
  'sync-run': 'runs',
};
const named = ['agent', 'payment', 'page', 'subscription', 'team', 'view'];
/** The screen that shows the target, below /console; undefined when there is none. */
export function findTargetScreen({ action, target: { type, id } }: AuditEntry): string | undefined {
  const screen = screens[type] ?? (named.includes(type) ? `${type}s` : undefined);
  return screen === undefined || id === null || action.endsWith('.delete') ? undefined : `/${screen}/${id}`;
}
