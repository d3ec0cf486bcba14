// What a key may do, in a sentence or two.
import type { Answer } from '../../api.ts';
import { formatList } from '../../format.ts';

export type Key = Answer<'/api-keys/{id}'>;
export type Scopes = Key['scopes'];

const maxNames = 3;
const names = (given: readonly string[]): string => formatList(given, maxNames);

/** Keys with restrictions read the public interface only. */
export const isRestricted = ({ versions, resources, rows, fields }: Scopes): boolean =>
  versions.length > 0 || resources.length > 0 || rows !== null || fields !== null;

type Conditions = readonly { readonly field: string; readonly in: readonly string[] }[];

/** `invoices of v1 where customerId is 1042`. */
export const rowWords = (resource: string, conditions: Conditions, of = ''): string =>
  conditions.length === 0
    ? `all ${resource}${of}`
    : `${resource}${of} where ${conditions.map(({ field, in: values }) => `${field} is ${values.length <= maxNames ? values.join(' or ') : `one of ${values.length} values`}`).join(' and ')}`;

function recordWords({ versions, resources, rows }: Scopes): string {
  const of = versions.length === 0 ? '' : ` of ${names(versions)}`;
  if (rows === null) return resources.length === 0 ? `all records${of}` : `${names(resources)}${of}`;
  const named = Object.entries(rows).filter(([resource]) => resource !== '*');
  const others = '*' in rows ? [`all other resources${of}`] : [];
  return `${formatList([...named.map(([resource, conditions]) => rowWords(resource, conditions, of)), ...others])}`;
}

export function scopeWords(scopes: Scopes): string {
  const fields = scopes.fields === null ? '' : ', with chosen fields';
  const reads = `Reads ${recordWords(scopes)}${fields}${scopes.unmasked ? ', unmasked' : ''}`;
  if (isRestricted(scopes) || scopes.permissions.includes('none')) return reads;
  return scopes.permissions.includes('write')
    ? `${reads}; manages what its holder may`
    : `${reads} and the settings`;
}
