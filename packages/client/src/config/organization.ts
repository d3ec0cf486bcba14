// The set-up of an organization as the interface answers it, in the terms of the file. Read once, when needed.
import { UsageError } from '../cli/settings.ts';
import type { Connection } from './connection.ts';
import { createDescription, type Description } from './description.ts';
import { type Kind, sortSets } from './kinds.ts';
import { type Reference, toNames } from './references.ts';
import { isObject, type Values } from './schema.ts';

export type Found = {
  /** What its path ends with. */
  readonly id: string;
  readonly answer: Values;
  /** As the file has it. */
  readonly values: Values;
  /** Whether the file can have all of it. An export leaves out others, and a plan compares them. */
  readonly isWhole: boolean;
};

export type Organization = {
  readonly name: string;
  /** The e-mail address of the person whose key it is. */
  readonly caller: string;
  readonly connection: Connection;
  readonly description: Description;
  readonly pathOf: (kind: Kind, id?: string) => string;
  /** Rejects with ApiError, ConnectionError, and UsageError for names that two objects have. */
  readonly find: (kind: Kind) => Promise<readonly Found[]>;
  /** The single object, also while nothing was saved. Rejects as a request does. */
  readonly readSingle: (kind: Kind) => Promise<Values>;
  /** All objects of a list. Rejects as a request does. */
  readonly list: (path: string) => Promise<readonly Values[]>;
  /** Adds what was created, or replaces what was changed, so that it can be referred to. */
  readonly remember: (path: string, answer: Values) => void;
};

const isFilled = (value: unknown) => value !== null && value !== undefined && value !== '';

/** The name of an object in messages, such as `views "Open invoices"`. */
export function labelOf({ name, identity, details = [] }: Kind, values: Values): string {
  const [first, ...others] = [...identity, ...details].map((property) => values[property]);
  const more = others.filter(isFilled).join(', ');
  return [name, identity.length > 0 && JSON.stringify(first ?? ''), more && `(${more})`]
    .filter(Boolean)
    .join(' ');
}

/** What the path of an object ends with; the name of what has no id. */
export const idOf = (answer: Values): string => String(answer['id'] ?? answer['name'] ?? '');

/** What no other object of the kind has. */
export function identityOf({ identity, details = [], foldsCase }: Kind, values: Values): string {
  const text = JSON.stringify([...identity, ...details].map((property) => values[property] ?? null));
  return foldsCase ? text.toLowerCase() : text;
}

/** Labels that two of the objects have. */
export const listDuplicates = (kind: Kind, all: readonly Values[]): string[] => {
  const identities = all.map((values) => identityOf(kind, values));
  const again = all.filter((_, index) => identities.indexOf(identities[index] ?? '') < index);
  return [...new Set(again.map((values) => labelOf(kind, values)))];
};

/** Targets of a reference with this name, the newest first. */
export const listTargets = (all: readonly Values[], { by, isTarget }: Reference, name: string) =>
  all.filter((target) => target[by] === name && isTarget(target));

/** Throws UsageError for a name that several targets have. */
export function assertOneTarget(reference: Reference, name: string, targets: readonly Values[]): void {
  if (targets.length < 2 || reference.isSeries) return;
  throw new UsageError(
    `Several objects are named ${JSON.stringify(name)}, and one of them is referred to as ${reference.noun}: rename the others.`,
  );
}

/** In place of the name of what the file doesn't cover. */
const notCovered = '(not covered)';

/** The answer of the interface in the terms of the file. Throws UsageError for a name that two objects have. */
export async function toFound(organization: Organization, kind: Kind, answer: Values): Promise<Found> {
  const { list, description } = organization;
  let isWhole = kind.isPartial?.(answer) !== true;
  const named = await toNames(kind.fromAnswer?.(answer) ?? answer, async (reference, id) => {
    const all = await list(reference.path);
    const target = all.find((each) => each[reference.id] === id);
    if (target === undefined || !(reference.isSeries || reference.isTarget(target))) {
      isWhole = false;
      return notCovered;
    }
    const name = String(target[reference.by]);
    assertOneTarget(reference, name, listTargets(all, reference, name));
    return name;
  });
  const { values } = description.read(kind, named, { isStrict: false, path: '' });
  return { id: idOf(answer), answer, values: sortSets(values), isWhole };
}

async function findObjects(organization: Organization, kind: Kind): Promise<readonly Found[]> {
  const { connection, list, pathOf } = organization;
  const single = kind.isSingle ? await organization.readSingle(kind) : undefined;
  const listed =
    single === undefined ? await list(pathOf(kind)) : single['updatedAt'] === null ? [] : [single];
  const selected = kind.select?.(listed) ?? listed;
  const objects: Found[] = [];
  for (const answer of selected) {
    if (kind.isCovered?.(answer) === false) continue;
    const whole = (await kind.complete?.(connection, answer)) ?? answer;
    objects.push(await toFound(organization, kind, whole));
  }
  const [again] = listDuplicates(
    kind,
    objects.filter(({ isWhole }) => isWhole).map(({ values }) => values),
  );
  if (again !== undefined)
    throw new UsageError(`The organization has two ${again}: change or delete one of them.`);
  return objects;
}

/** Two requests: for the organization of the key and for the description. Rejects as requests do. */
export async function openOrganization(connection: Connection): Promise<Organization> {
  const { organization, user } = await connection.get('/whoami');
  if (!isObject(organization) || !isObject(user)) throw new UsageError('The key belongs to no organization.');
  const lists = new Map<string, Promise<readonly Values[]>>();
  const cached = <T>(kept: Map<string, Promise<T>>, key: string, read: () => Promise<T>): Promise<T> => {
    const value = kept.get(key) ?? read();
    kept.set(key, value);
    return value;
  };
  const found = new Map<string, Promise<readonly Found[]>>();
  const singles = new Map<string, Promise<Values>>();
  const opened: Organization = {
    ...{ connection, name: String(organization['name']) },
    caller: String(user['email']).toLowerCase(),
    description: createDescription(await connection.get('/openapi')),
    pathOf: ({ path }, id) => {
      const list = path.replace('{id}', String(organization['id']));
      return id === undefined ? list : `${list}/${encodeURIComponent(id)}`;
    },
    find: (kind) => cached(found, kind.name, () => findObjects(opened, kind)),
    readSingle: ({ path }) => cached(singles, path, () => connection.get(path)),
    list: (path) =>
      cached(lists, path, () => connection.list(path.replace('{id}', String(organization['id'])))),
    remember: (path, answer) => {
      const others = lists.get(path) ?? Promise.resolve([]);
      lists.set(
        path,
        others.then((all) => [answer, ...all.filter((each) => idOf(each) !== idOf(answer))]),
      );
    },
  };
  return opened;
}
