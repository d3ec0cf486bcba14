// What the file covers: one entry for each kind of object, in the order in which they are written.
import type { Connection } from './connection.ts';
import { isObject, type Schema, type Values } from './schema.ts';

export type Kind = {
  readonly name: string;
  /** The list of its objects, or the single object, in the management interface. */
  readonly path: string;
  /** There is one object, which PUT replaces, instead of a list. */
  readonly isSingle?: true;
  /** Reads the part of an object that the list lacks. */
  readonly complete?: (connection: Connection, answer: Values) => Promise<Values>;
  /** The interface refuses an update whose `revision` isn't the one that was read. */
  readonly hasRevision?: true;
  /** Publishing makes a draft visible: `publish` of the object. */
  readonly isPublished?: true;
  /** Properties that name an object. */
  readonly identity: readonly string[];
  /** Properties that tell objects with the same identity apart. */
  readonly details?: readonly string[];
  /** Names that differ in case alone are the same. */
  readonly foldsCase?: true;
  /** Properties of the file that the body of a creation lacks. */
  readonly extra?: Readonly<Record<string, Schema>>;
  /** Whether the file covers an object of the interface, or may have an object; all by default. */
  readonly isCovered?: (values: Values) => boolean;
  /** Whether an object lacks what the file needs. */
  readonly isPartial?: (answer: Values) => boolean;
  /** The answer of the interface as the file has it, but for names in place of ids. */
  readonly fromAnswer?: (answer: Values) => Values;
  /** Which objects of the list count; all by default. */
  readonly select?: (answers: readonly Values[]) => readonly Values[];
  /** Whether writing it shows something to customers, for which publishing is asked. */
  readonly opensAtOnce?: (values: Values) => boolean;
  /** What has to exist before the object can be written, as a sentence; `answer` is the present state. */
  readonly findObstacle?: (values: Values, answer: Values) => string | undefined;
};

/** One that the service disabled is meant to be enabled. */
const withIntent = (answer: Values): Values => ({
  ...answer,
  enabled: answer['enabled'] === true || answer['disabledReason'] !== null,
});
const emails = { type: 'array', items: { type: 'string', format: 'email' } } satisfies Schema;
/** Who has unsubscribed is not subscribed elsewhere. */
const listRecipients = ({ recipients }: Values): unknown[] =>
  (recipients as Values[]).filter(({ status }) => status === 'active').map(({ email }) => email);

/** A list has the newest versions first. Older ones of the same name are history. */
function selectNewest(answers: readonly Values[]): readonly Values[] {
  const newest = new Map<unknown, Values>();
  for (const answer of answers)
    if (!newest.has(answer['name']) && ['draft', 'published'].includes(String(answer['status'])))
      newest.set(answer['name'], answer);
  return [...newest.values()];
}

async function withMembers(connection: Connection, answer: Values): Promise<Values> {
  const members =
    answer['memberCount'] === 0 ? [] : await connection.list(`/teams/${String(answer['id'])}/members`);
  return { ...answer, members: members.map(({ user }) => (isObject(user) ? user['email'] : undefined)) };
}

/** The secret of a provider isn't in the file, and is kept for the same client of the same issuer alone. */
function findSignInObstacle({ openIdConnect: wanted }: Values, { openIdConnect: found }: Values) {
  if (!isObject(wanted)) return undefined;
  const isSame = isObject(found) && ['issuer', 'clientId'].every((name) => found[name] === wanted[name]);
  return isSame ? undefined : 'enter this provider with its client secret first';
}

const findPaymentObstacle = (wanted: Values, found: Values) =>
  wanted['provider'] === 'sandbox' ||
  (found['provider'] === wanted['provider'] && found['hasCredentials'] === true)
    ? undefined
    : `enter the credentials of ${String(wanted['provider'])} first`;

/** Of lists whose order has no meaning. */
const sets = new Set(['permissions', 'recipients', 'alertRecipients', 'events', 'members', 'resources']);
export const sortSets = (values: Values): Values =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      sets.has(name) && Array.isArray(value) ? [...value].sort() : value,
    ]),
  );

const single = { isSingle: true, identity: [] } as const;
export const kinds: readonly Kind[] = [
  {
    ...{ name: 'roles', path: '/organizations/{id}/roles', identity: ['name'], foldsCase: true },
    isCovered: ({ builtIn }) => builtIn !== true,
  },
  {
    name: 'teams',
    path: '/teams',
    identity: ['name'],
    foldsCase: true,
    extra: { members: emails },
    complete: withMembers,
  },
  { name: 'queries', path: '/netsuite/queries', identity: ['name'], foldsCase: true },
  { name: 'syncs', path: '/sync-configs', identity: ['recordType'] },
  {
    ...{ name: 'apiSchemas', path: '/api-schema', identity: ['name'] },
    ...{ hasRevision: true, isPublished: true, select: selectNewest },
  },
  {
    ...{ name: 'views', path: '/views', identity: ['name'] },
    isCovered: ({ visibility }) => visibility !== 'private',
  },
  { name: 'templates', path: '/portal/templates', identity: ['key', 'kind'] },
  {
    ...{ name: 'subscriptions', path: '/subscriptions' },
    identity: ['view', 'format'],
    details: ['schedule', 'timezone', 'template'],
    isPartial: ({ view }) => view === null,
    fromAnswer: (answer) => withIntent({ ...answer, recipients: listRecipients(answer) }),
  },
  {
    ...{ name: 'webhooks', path: '/webhooks', identity: ['url'] },
    details: ['description', 'apiKey', 'apiSchema'],
    fromAnswer: withIntent,
  },
  { name: 'fieldMappings', path: '/portal/field-mappings', identity: ['recordType'] },
  {
    ...{ name: 'pages', path: '/portal/pages', identity: ['slug'] },
    ...{ hasRevision: true, isPublished: true },
    complete: (connection, { id }) => connection.get(`/portal/pages/${String(id)}`),
  },
  { ...single, name: 'sidebar', path: '/portal/sidebar', hasRevision: true },
  {
    ...{ ...single, name: 'portalAccess', path: '/portal/access', hasRevision: true },
    opensAtOnce: ({ enabled }) => enabled === true,
  },
  { ...single, name: 'branding', path: '/portal/branding', hasRevision: true },
  { ...single, name: 'portalSignIn', path: '/portal/sign-in', findObstacle: findSignInObstacle },
  { ...single, name: 'payments', path: '/pay/config', findObstacle: findPaymentObstacle },
];
