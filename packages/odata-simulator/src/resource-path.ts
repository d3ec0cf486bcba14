// The path of a request below the service root: which entity set, entity, lines or count it names.

import { tokenize, toLiteralValue } from './filter.ts';
import { badRequest, notFound } from './odata-error.ts';
import type { EntitySet, Profile } from './profiles/profile.ts';
import { toKey } from './store.ts';

export type Resource = {
  /** The key of the company, or empty. */
  company: string;
  set: EntitySet;
  /** Of an entity, or of the header of lines. */
  key?: string;
  /** The lines of the header `key` of another set. */
  header?: EntitySet;
  isCount: boolean;
  /** As in contexts: `companies(…)/customers`. */
  path: string;
};

/** The key as the store has it. Throws ODataError 400 unless it has all key properties with values of their types. */
function parseKey(profile: Profile, set: EntitySet, text: string): string {
  const tokens = tokenize(profile, text.replaceAll(/=(?=(?:[^']*'[^']*')*[^']*$)/g, ' '));
  const values: Record<string, string> = {};
  do {
    const first = tokens.take();
    const name = first.literal ? (set.keys[0] ?? '') : first.word;
    const { literal } = first.literal ? first : tokens.take();
    const property = set.properties[name];
    if (
      !literal ||
      !property ||
      !set.keys.includes(name) ||
      name in values ||
      (first.literal && set.keys.length > 1)
    )
      throw badRequest(`'${text}' is not a key of ${set.name}.`);
    toLiteralValue(profile, property, literal);
    values[name] = property.type === 'Edm.Guid' ? literal.text.toLowerCase() : literal.text;
  } while (tokens.accept(','));
  if (tokens.peek() || set.keys.some((name) => values[name] === undefined))
    throw badRequest(`'${text}' is not a key of ${set.name}.`);
  return toKey(set, values);
}

const decode = (segment: string): string => {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw badRequest(`The path segment '${segment}' is not encoded correctly.`);
  }
};

/** Throws ODataError: 404 for what doesn't exist, 400 for wrong keys and a missing company. */
export function parsePath(profile: Profile, raw: string): Resource {
  const segments = raw.split('/').map(decode);
  const isCount = segments.at(-1) === '$count';
  if (isCount) segments.pop();
  const named = segments.map((segment) => /^(\w+)(?:\((.*)\))?$/s.exec(segment) ?? []);
  const find = (name: string | undefined): EntitySet | undefined =>
    profile.sets.find((set) => set.name === name);
  const companies = find(profile.companies);
  let company = '';
  if (companies && named.length > 1 && named[0]?.[1] === companies.name)
    company = parseKey(profile, companies, named.shift()?.[2] ?? '');
  const [[, name, key] = [], [, navigation, more] = []] = named;
  const set = find(name);
  if (!set || named.length > 2) throw notFound(`Resource not found for the segment '${segments.at(-1)}'.`);
  if (companies && set !== companies && company === '') throw badRequest('You must choose a company.');
  const path = raw.replace(/\/\$count$/, '');
  if (navigation === undefined)
    return { company, set, isCount, path, ...(key !== undefined && { key: parseKey(profile, set, key) }) };
  const lines = navigation === set.lines?.navigation ? find(set.lines.set) : undefined;
  if (!lines || key === undefined || more !== undefined)
    throw notFound(`Resource not found for the segment '${navigation}'.`);
  return { company, set: lines, header: set, key: parseKey(profile, set, key), isCount, path };
}
