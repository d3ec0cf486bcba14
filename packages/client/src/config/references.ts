// References between objects: ids in the interface, names in the file.
import { isObject, type Values } from './schema.ts';

export type Reference = {
  /** The property in the file. */
  readonly name: string;
  /** What is referred to, in messages. */
  readonly noun: string;
  /** The list that has it. */
  readonly path: string;
  /** The property of its objects that the interface refers by. */
  readonly id: string;
  /** The property of its objects that the file refers by. */
  readonly by: string;
  /** Whether an object can be referred to by its name; of several, the first in the list is meant. */
  readonly isTarget: (target: Values) => boolean;
  /** Several objects have one name, as the versions of an API schema do. */
  readonly isSeries?: true;
};

const byName = { id: 'id', by: 'name', isTarget: () => true };
const view: Reference = {
  ...{ ...byName, name: 'view', noun: 'view', path: '/views' },
  isTarget: ({ visibility }) => visibility !== 'private',
};
const page: Reference = { ...byName, name: 'target', noun: 'page', path: '/portal/pages', by: 'slug' };
const team: Reference = { ...byName, name: 'team', noun: 'team', path: '/teams' };
const agent: Reference = { ...byName, name: 'agent', noun: 'agent', path: '/agents' };
const template: Reference = {
  ...{ ...byName, name: 'template', noun: 'e-mail template', path: '/portal/templates', by: 'key' },
  isTarget: ({ kind }) => kind === 'email',
};
const apiKey: Reference = {
  ...{ ...byName, name: 'apiKey', noun: 'active API key', path: '/api-keys' },
  isTarget: ({ status }) => status === 'active',
};
const apiSchema: Reference = {
  ...{ ...byName, name: 'apiSchema', noun: 'published version of the API schema', path: '/api-schema' },
  ...{ id: 'version', isTarget: ({ status }) => status === 'published', isSeries: true },
};

/** By the property of the interface. */
const references = new Map(
  Object.entries({
    ...{ viewId: view, teamId: team, templateId: template, keyId: apiKey, agentId: agent },
    version: apiSchema,
  }),
);

/** Write-only ones, secrets above all, and those that only requests have. */
const omitted = new Set(['secrets', 'clientSecret', 'logo', 'revision', 'basedOn']);

/** What a property of the interface is called in the file; undefined for one that files don't have. */
export const nameInFile = (property: string): string | undefined =>
  omitted.has(property) ? undefined : (references.get(property)?.name ?? property);

const propertyOf = new Map([...references].map(([property, { name }]) => [name, property]));
const inFile = new Map([...references.values()].map((reference) => [reference.name, reference]));

/** The path of a problem that the interface reports, as the file has it. */
export const pathInFile = (path: string): string =>
  path.replace(/\w+/g, (word) => references.get(word)?.name ?? word);

/** Items of the sidebar refer by a property whose meaning depends on another one. */
const targetsOfItems: Readonly<Record<string, Reference>> = { view: { ...view, name: 'target' }, page };

function findReference(holder: Values, property: string, known: (name: string) => Reference | undefined) {
  const { kind } = holder;
  if (property === 'target' && typeof kind === 'string' && Object.hasOwn(targetsOfItems, kind))
    return targetsOfItems[kind];
  return known(property);
}

type Walk = {
  readonly find: (holder: Values, property: string) => Reference | undefined;
  readonly rename: (property: string) => string;
  readonly swap: (reference: Reference, value: string, path: string) => Promise<unknown>;
};

async function mapReferences(value: unknown, walk: Walk, path: string): Promise<unknown> {
  if (Array.isArray(value)) {
    const items: unknown[] = [];
    for (const [index, item] of value.entries())
      items.push(await mapReferences(item, walk, `${path}[${index}]`));
    return items;
  }
  if (!isObject(value)) return value;
  const entries: [string, unknown][] = [];
  for (const [property, held] of Object.entries(value)) {
    const at = path === '' ? property : `${path}.${property}`;
    const reference = walk.find(value, property);
    const isReference = reference !== undefined && (held === null || typeof held === 'string');
    entries.push([
      isReference ? walk.rename(property) : property,
      isReference && typeof held === 'string'
        ? await walk.swap(reference, held, at)
        : await mapReferences(held, walk, at),
    ]);
  }
  return Object.fromEntries(entries);
}

type Swap = Walk['swap'];

/** An answer of the interface with names in place of ids. */
export const toNames = (value: unknown, swap: Swap): Promise<unknown> => {
  const find: Walk['find'] = (holder, property) =>
    findReference(holder, property, (name) => references.get(name));
  return mapReferences(
    value,
    { find, swap, rename: (property) => references.get(property)?.name ?? property },
    '',
  );
};

/** Values of the file with ids in place of names: a body for the interface. */
export const toIds = (value: unknown, swap: Swap): Promise<unknown> => {
  const find: Walk['find'] = (holder, property) =>
    findReference(holder, property, (name) => inFile.get(name));
  return mapReferences(value, { find, swap, rename: (name) => propertyOf.get(name) ?? name }, '');
};
