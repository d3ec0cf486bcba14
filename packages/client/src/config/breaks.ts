// Which changes take something away from callers, from recipients of mails and from people.
import { isSame, listRemoved } from './differences.ts';
import type { Wanted } from './file.ts';
import type { Found, Organization } from './organization.ts';
import { isObject, type Values } from './schema.ts';

type Changed = Wanted & { readonly found: Found | undefined; readonly changed: Values };
type FindBreaks = (organization: Organization, change: Changed, found: Found) => Promise<string[]>;

const listLost = (property: string, changed: Values, found: Found): unknown[] =>
  property in changed ? listRemoved(found.values[property], changed[property]) : [];

const findRoleBreaks: FindBreaks = async (_organization, { changed }, found) =>
  listLost('permissions', changed, found).map((name) => `its members lose ${String(name)}`);

const isBecome = ({ changed }: Changed, property: string, value: unknown): boolean =>
  property in changed && changed[property] === value;

const shared = ['private', 'team', 'organization'];
const findViewBreaks: FindBreaks = async (_organization, { changed }, found) => {
  const [before, after] = [found.values, changed].map(({ visibility }) => shared.indexOf(String(visibility)));
  const isHidden = after !== undefined && after >= 0 && after < (before ?? 0);
  return [
    ...listLost('columns', changed, found).map(
      (name) => `it no longer shows ${String(name)}, in mails and by links as well`,
    ),
    ...(isHidden ? ['fewer people see it'] : []),
  ];
};

const findWebhookBreaks: FindBreaks = async (_organization, change, found) => {
  const { changed } = change;
  const resources = Array.isArray(changed['resources']) ? changed['resources'] : undefined;
  const isNarrowed = resources !== undefined && isSame(found.values['resources'], []);
  const names = ['apiSchema', 'apiKey'].filter((name) => name in changed && found.values[name] !== null);
  return [
    ...(isBecome(change, 'enabled', false) ? ['it is disabled'] : []),
    ...listLost('events', changed, found).map((name) => `it no longer sends ${String(name)}`),
    // None means all.
    ...(resources?.length === 0 ? [] : listLost('resources', changed, found)).map(
      (name) => `it no longer follows ${String(name)}`,
    ),
    ...(isNarrowed ? ['it no longer follows all resources'] : []),
    ...(isBecome(change, 'include', 'none') ? ['its messages no longer have the records'] : []),
    ...names.map((name) => `it has another ${name}`),
  ];
};

const findSyncBreaks: FindBreaks = async (_organization, change, { values }) => {
  const { changed } = change;
  const fields = values['fields'] === '*' && 'fields' in changed ? ['all fields'] : [];
  const lost = Array.isArray(changed['fields']) ? listRemoved(values['fields'], changed['fields']) : [];
  return [
    ...(isBecome(change, 'enabled', false) ? ['its records are no longer synced'] : []),
    ...[...fields, ...lost].map((name) => `it no longer reads ${String(name)}`),
    ...('filter' in changed && changed['filter'] !== null ? ['it reads other records'] : []),
  ];
};

const findDisabled: FindBreaks = async (_organization, change) => [
  ...(isBecome(change, 'enabled', false) ? ['it is disabled'] : []),
  ...(isBecome(change, 'publicApi', false) ? ['visitors can no longer read by the public interface'] : []),
];

const findPaymentBreaks: FindBreaks = async (_organization, change, { values, answer }) => [
  ...(isBecome(change, 'enabled', false) ? ['no one can pay any more'] : []),
  ...('provider' in change.changed && answer['hasCredentials'] === true
    ? [`${String(values['provider'])} and its credentials are given up`]
    : []),
];

const findSignInBreaks: FindBreaks = async (_organization, change, { values }) =>
  isBecome(change, 'openIdConnect', null) && values['openIdConnect'] !== null
    ? ['visitors can no longer sign in with this provider, whose client secret is lost']
    : [];

/** The newest version with this name that callers read, compared by the service with what would succeed it. */
const findSchemaBreaks: FindBreaks = async ({ connection, list, pathOf }, change, found) => {
  const { kind, changed } = change;
  const all = await list(pathOf(kind));
  const published = all.find(({ name, status }) => name === found.values['name'] && status === 'published');
  if (published === undefined) return [];
  const { id, version } = published;
  const isCompared = !('endpoints' in changed);
  if (isCompared && found.id === id) return [];
  const { changes } = isCompared
    ? await connection.get(`${pathOf(kind, found.id)}/diff?against=${String(version)}`)
    : await connection.send('POST', `${pathOf(kind, String(id))}/validate`, {
        endpoints: changed['endpoints'],
        against: version,
      });
  return (Array.isArray(changes) ? changes.filter(isObject) : [])
    .filter(({ breaking }) => breaking)
    .map(({ message }) => `${String(message)} (against ${String(version)})`);
};

const finders: Readonly<Record<string, FindBreaks>> = {
  roles: findRoleBreaks,
  apiSchemas: findSchemaBreaks,
  views: findViewBreaks,
  webhooks: findWebhookBreaks,
  syncs: findSyncBreaks,
  subscriptions: findDisabled,
  portalAccess: findDisabled,
  payments: findPaymentBreaks,
  portalSignIn: findSignInBreaks,
};

/** As sentences. Sends nothing that changes the organization. Rejects as requests do. */
export async function findBreaks(organization: Organization, change: Changed): Promise<string[]> {
  const { found, kind } = change;
  return found?.isWhole !== true ? [] : ((await finders[kind.name]?.(organization, change, found)) ?? []);
}
