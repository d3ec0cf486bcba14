// Proposes a definition for record types, from the ERP's descriptions and a sample of the synced records:
// valid at once, for someone to edit. Pure; nothing is saved.
import type { Available } from '../version/bind.ts';
import type { EndpointDefinition, SchemaDocument } from '../version/schema-document.ts';
import { validateDocument } from '../version/validate.ts';
import type { DraftSource } from './described.ts';
import { recordWords, resourceName } from './names.ts';
import { proposeEndpoint } from './propose-endpoint.ts';
import { proposeFields } from './propose-fields.ts';

/** One endpoint per record type, in their order; none where all fields are empty in the sample. */
export function draftDocument(drafts: readonly DraftSource[], available: Available): SchemaDocument {
  const taken = new Set<string>();
  const named = drafts.map((draft) => {
    const words = recordWords(draft.described);
    return { draft, words, name: resourceName(words, taken) };
  });
  const resources = new Map(named.map(({ draft, name }) => [draft.described.name, name]));
  const endpoints = named.flatMap(({ draft, words, name }) => {
    const fields = proposeFields(draft, resources, words);
    return fields.length === 0 ? [] : [proposeEndpoint(name, fields, draft)];
  });
  return removeRefused({ endpoints }, available);
}

const lists = ['filters', 'sorts', 'aggregates', 'groups', 'relations', 'search'] as const;
const refusedPart = new RegExp(`^endpoints\\[(\\d+)\\]\\.(${lists.join('|')})(?:\\[(\\d+)\\]|$)`);

/**
 * Leaves out what the rules for definitions refuse, such as a relation whose target isn't known: each rule is
 * written once, in the validation. What is left out can make something else invalid, so that it takes several
 * rounds.
 */
function removeRefused(document: SchemaDocument, available: Available): SchemaDocument {
  const refused = validateDocument(document, available, { max: Infinity }).flatMap(({ path }) => {
    const [, endpoint, list, index] = refusedPart.exec(path) ?? [];
    return endpoint === undefined ? [] : [`${endpoint}.${list}.${index ?? '*'}`];
  });
  if (refused.length === 0) return document;
  const without = new Set(refused);
  return removeRefused(
    {
      endpoints: document.endpoints.map((endpoint, at) =>
        keepParts(endpoint, (part) => !without.has(`${at}.${part}`)),
      ),
    },
    available,
  );
}

/** `keeps` is asked with `<list>.<index>`, and with `<list>.*` for the list as a whole. */
function keepParts(endpoint: EndpointDefinition, keeps: (part: string) => boolean): EndpointDefinition {
  const { filters, sorts, aggregates, groups, relations, search, defaultSort, ...rest } = endpoint;
  const kept = <T>(list: (typeof lists)[number], values: readonly T[] = []): T[] =>
    keeps(`${list}.*`) ? values.filter((_, index) => keeps(`${list}.${index}`)) : [];
  const optional = {
    aggregates: kept('aggregates', aggregates),
    groups: kept('groups', groups),
    relations: kept('relations', relations),
  };
  const names = kept('sorts', sorts);
  return {
    ...rest,
    filters: kept('filters', filters),
    sorts: names,
    defaultSort: defaultSort !== null && names.includes(defaultSort.field) ? defaultSort : null,
    ...Object.fromEntries(
      Object.entries({ ...optional, search: kept('search', search) }).filter(
        ([, values]) => values.length > 0,
      ),
    ),
  };
}
