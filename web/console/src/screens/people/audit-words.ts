// Audit log entries in words: `sync-config.create` with its changes becomes "Sync config: create Invoices".
import type { Item } from '../../api.ts';
import { sentenceCase } from '../../format.ts';

export type AuditEntry = Item<'/organizations/{id}/audit-log'>;

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
/** Changes that say how people call the target. */
const nameFields = ['name', 'email', 'hostname', 'version', 'key', 'slug', 'title', 'recordType'];

/** The kind of the target, what was done, and the name of the target. */
export function describeAction({ action, changes }: AuditEntry): string {
  const words = action
    .replaceAll('-', ' ')
    .replace('.', ': ')
    .replace(/^(api|erp)\b/, (name) => name.toUpperCase());
  return [sentenceCase(words), nameFields.map((field) => changes[field]).find(isText)]
    .filter(isText)
    .join(' ');
}

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
