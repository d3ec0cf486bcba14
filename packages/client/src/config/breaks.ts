// Which changes take something away from callers, from recipients of mails and from people.
import { listRemoved } from './differences.ts';
import type { Wanted } from './file.ts';
import { kinds } from './kinds.ts';
import type { Found, Organization } from './organization.ts';
import { isObject, type Values } from './schema.ts';

type Changed = Wanted & { readonly found: Found | undefined; readonly changed: Values };
type FindBreaks = (organization: Organization, change: Changed, found: Found) => Promise<string[]>;

const listLost = (property: string, changed: Values, found: Found): unknown[] =>
  property in changed ? listRemoved(found.values[property], changed[property]) : [];

const findRoleBreaks: FindBreaks = async (_organization, { changed }, found) =>
  listLost('permissions', changed, found).map((name) => `its members lose ${String(name)}`);

const findViewBreaks: FindBreaks = async (organization, { changed }, found) => {
  const lost = listLost('columns', changed, found);
  const subscriptions = kinds.find(({ name }) => name === 'subscriptions');
  if (lost.length === 0 || subscriptions === undefined) return [];
  const { objects } = await organization.find(subscriptions);
  const isMailed = objects.some(({ values }) => values['view'] === found.values['name'] && values['enabled']);
  return isMailed ? lost.map((name) => `a subscription mails the column ${String(name)}`) : [];
};

const findWebhookBreaks: FindBreaks = async (_organization, { changed }, found) => {
  const { resources } = found.values;
  const isNarrowed = Array.isArray(resources) && resources.length === 0 && 'resources' in changed;
  return [
    ...(changed['enabled'] === false ? ['it is disabled'] : []),
    ...listLost('events', changed, found).map((name) => `it no longer sends ${String(name)}`),
    ...listLost('resources', changed, found).map((name) => `it no longer follows ${String(name)}`),
    ...(isNarrowed ? ['it no longer follows all resources'] : []),
  ];
};

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
};

/** As sentences. Sends nothing that changes the organization. Rejects as requests do. */
export async function findBreaks(organization: Organization, change: Changed): Promise<string[]> {
  const { found, kind } = change;
  return found === undefined ? [] : ((await finders[kind.name]?.(organization, change, found)) ?? []);
}
