// Pages and entities as JSON. Texts are put together by hand: numbers stay as exact as they are stored.
import { createWriter, type Values } from './edm.ts';
import type { EntitySet, Profile } from './profiles/profile.ts';
import type { Query } from './query.ts';
import type { Entry, Page } from './read-page.ts';
import type { Row } from './store.ts';

export type Format = {
  profile: Profile;
  /** Of control information: `@odata.`, or `@` in OData 4.01. */
  prefix: string;
  /** Int64 and Decimal are strings. */
  isExact: boolean;
  /** odata.metadata=none: no control information but counts and links. */
  isBare: boolean;
  /** What contexts and ids begin with: the service root, or a path that leads there. */
  root: string;
  /** What links to further pages begin with. */
  self: string;
  /** The path of the list from the service root. */
  path: string;
};

/** As in URLs: `customers(…)`, with quotes and names where they belong. */
export function toEntityUrl(set: EntitySet, values: Values): string {
  const literals = set.keys.map((name) => {
    const value = String(values[name]);
    return set.properties[name]?.type === 'Edm.String'
      ? `'${encodeURIComponent(value.replaceAll("'", "''"))}'`
      : value;
  });
  const [only = ''] = literals;
  return `${set.name}(${literals.length === 1 ? only : set.keys.map((name, i) => `${name}=${literals[i]}`).join(',')})`;
}

const toEtag = ({ changedAt, linesChangedAt }: Row): string =>
  `W/"${Buffer.from(`'20;${changedAt}.${linesChangedAt};'`).toString('base64')}"`;

type Shape = Pick<Query, 'select' | 'expand'>;

function createEntityWriter(format: Format, set: EntitySet, { select, expand }: Shape): (row: Row) => string {
  const { profile, isExact, isBare, prefix } = format;
  const columns = (select ?? Object.keys(set.properties)).flatMap((name) => {
    const type = set.properties[name]?.type ?? '';
    return type === 'Edm.Stream'
      ? []
      : [{ name, start: `${JSON.stringify(name)}:`, write: createWriter(profile, type, isExact) }];
  });
  const lineSet = profile.sets.find(({ name }) => name === set.lines?.set);
  const writeLine =
    expand && lineSet && createEntityWriter(format, lineSet, { select: expand.select, expand: undefined });
  const navigation = JSON.stringify(set.lines?.navigation);
  return (row) => {
    const parts = columns.map(({ name, start, write }) => start + write(row.values[name] ?? null));
    if (!isBare) parts.unshift(`"${prefix}etag":${JSON.stringify(toEtag(row))}`);
    if (writeLine) parts.push(`${navigation}:[${row.lines.map(writeLine).join(',')}]`);
    return `{${parts.join(',')}}`;
  };
}

function writeRemoved(format: Format, set: EntitySet, removed: Values, reason: string): string {
  const { profile, prefix, root, path, isExact } = format;
  if (prefix === '@') {
    const keys = set.keys.map((name) => {
      const write = createWriter(profile, set.properties[name]?.type ?? '', isExact);
      return `${JSON.stringify(name)}:${write(removed[name] ?? null)}`;
    });
    return `{"@removed":{"reason":"${reason}"},${keys.join(',')}}`;
  }
  const isBareKey = profile.deletedEntities === 'bareKey';
  return JSON.stringify({
    '@odata.context': `${root}$metadata#${path}/$deletedEntity`,
    id: isBareKey ? set.keys.map((name) => removed[name]).join() : toEntityUrl(set, removed),
    // Business Central's documentation shows this reason for a deleted record.
    reason: isBareKey ? 'changed' : reason,
  });
}

const toContext = ({ root, path }: Format, { select }: Shape, end: string): string =>
  `${root}$metadata#${path}${select === undefined ? '' : `(${select.join(',')})`}${end}`;

export function writePage(
  format: Format,
  set: EntitySet,
  { entries, query, isDelta, count, next, delta }: Page,
): string {
  const { prefix, isBare, isExact, self } = format;
  const writeEntity = createEntityWriter(format, set, query);
  const write = (entry: Entry): string =>
    'row' in entry ? writeEntity(entry.row) : writeRemoved(format, set, entry.removed, entry.reason);
  const parts = [`"value":[${entries.map(write).join(',')}]`];
  const note = (name: string, value: string | number): string =>
    `"${prefix}${name}":${JSON.stringify(value)}`;
  if (count !== undefined) parts.unshift(note('count', isExact ? String(count) : count));
  if (!isBare) parts.unshift(note('context', toContext(format, query, isDelta ? '/$delta' : '')));
  const toLink = (link: string): string => (/^[a-z]+:|^\//.test(link) ? link : `${self}?${link}`);
  if (next !== undefined) parts.push(note('nextLink', toLink(next)));
  if (delta !== undefined) parts.push(note('deltaLink', toLink(delta)));
  return `{${parts.join(',')}}`;
}

export function writeEntity(format: Format, set: EntitySet, query: Query, row: Row): string {
  const entity = createEntityWriter(format, set, query)(row);
  const context = JSON.stringify(toContext(format, query, '/$entity'));
  return format.isBare ? entity : entity.replace('{', () => `{"${format.prefix}context":${context},`);
}
