// The query options of a request for a list or an entity.
import { type Condition, parseFilter } from './filter.ts';
import { badRequest, unsupported } from './odata-error.ts';
import type { EntitySet, Profile } from './profiles/profile.ts';
import type { Order } from './store.ts';

export type Query = {
  filter: Condition | undefined;
  /** Ends with the key. */
  order: Order;
  /** Whether the request names the key in $orderby. */
  isOrderedByKey: boolean;
  top: number;
  skip: number;
  /** Undefined: all properties. */
  select: readonly string[] | undefined;
  /** The lines with their own $select. */
  expand: { select: readonly string[] | undefined } | undefined;
  hasCount: boolean;
  skipToken: string | undefined;
  deltaToken: string | undefined;
  /** The options as they were sent, without $skip and tokens: what links to further pages repeat. */
  text: string;
};

const KNOWN = [
  'filter',
  'orderby',
  'top',
  'skip',
  'select',
  'expand',
  'count',
  'skiptoken',
  'deltatoken',
  'format',
];

/** As form data: `+` is a space, as Microsoft's and SAP's servers read it. */
const decode = (text: string): string => {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw badRequest(`The query '${text}' is not encoded correctly.`);
  }
};

/** By their names without $. Options without $ are custom ones and ignored. */
function splitOptions(search: string): Map<string, string> {
  const options = new Map<string, string>();
  for (const part of search.split('&')) {
    const at = part.indexOf('=');
    const name = decode(at < 0 ? part : part.slice(0, at));
    if (!name.startsWith('$')) continue;
    if (!KNOWN.includes(name.slice(1))) throw unsupported(`The query option '${name}' is not supported.`);
    if (options.has(name.slice(1)))
      throw badRequest(`The query option '${name}' is specified more than once.`);
    options.set(name.slice(1), decode(at < 0 ? '' : part.slice(at + 1)));
  }
  return options;
}

function parseCount(name: string, text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise;
  if (!/^\d{1,9}$/.test(text)) throw badRequest(`Invalid value '${text}' for $${name}.`);
  return Number(text);
}

function parseSelect({ properties, type }: EntitySet, text: string | undefined): string[] | undefined {
  if (text === undefined) return undefined;
  const names = text.split(',').map((name) => name.trim());
  if (names.includes('*')) return undefined;
  for (const name of names)
    if (!(name in properties))
      throw badRequest(`Could not find a property named '${name}' on type '${type}'.`);
  return names;
}

function parseExpand({ sets }: Profile, set: EntitySet, text: string | undefined): Query['expand'] {
  if (text === undefined) return undefined;
  const [, navigation = '', inner = ''] = /^\s*(\w+)\s*(?:\((.*)\))?\s*$/.exec(text) ?? [];
  if (set.references?.[navigation]) throw unsupported('Only the lines can be expanded.');
  const lines = sets.find(({ name }) => name === set.lines?.set);
  if (navigation !== set.lines?.navigation || !lines)
    throw badRequest(`'${text}' is not one navigation property to lines of type '${set.type}'.`);
  const select = /^\s*(?:\$select=([^;]*))?\s*$/.exec(inner);
  if (!select) throw unsupported(`Of the options within $expand only $select is supported, not '${inner}'.`);
  return { select: parseSelect(lines, select[1]) };
}

function parseOrderBy({ keys, properties, type }: EntitySet, text: string | undefined): Order {
  const named = (text?.split(',') ?? []).map((part) => {
    const [, property = '', direction = ''] = /^\s*(\w+)(?:\s+(asc|desc))?\s*$/.exec(part) ?? [];
    if (!(property in properties))
      throw badRequest(`'${part}' is not a property to order type '${type}' by.`);
    return { property, isDescending: direction === 'desc' };
  });
  const rest = keys.filter((key) => !named.some(({ property }) => property === key));
  return [...named, ...rest.map((property) => ({ property, isDescending: false }))];
}

/** Throws ODataError: 400 for wrong options, 501 for options that are not supported. */
export function parseQuery(profile: Profile, set: EntitySet, search: string): Query {
  const options = splitOptions(search);
  const get = (name: string): string | undefined => options.get(name);
  const [filter, orderBy, count] = [get('filter'), get('orderby'), get('count')];
  if (!/^(?:true|false|undefined)$/.test(String(count)))
    throw badRequest(`Invalid value '${count}' for $count.`);
  const order = parseOrderBy(set, orderBy);
  const isLink = (part: string): boolean => /^(?:\$|%24)(?:skip|skiptoken|deltatoken)=/.test(part);
  return {
    filter: filter === undefined ? undefined : parseFilter({ profile, set }, filter),
    order,
    isOrderedByKey: orderBy !== undefined && set.keys.some((key) => new RegExp(`\\b${key}\\b`).test(orderBy)),
    top: parseCount('top', get('top'), Infinity),
    skip: parseCount('skip', get('skip'), 0),
    select: parseSelect(set, get('select')),
    expand: parseExpand(profile, set, get('expand')),
    hasCount: count === 'true',
    skipToken: get('skiptoken'),
    deltaToken: get('deltatoken'),
    text: search
      .split('&')
      .filter((part) => part !== '' && !isLink(part))
      .join('&'),
  };
}
