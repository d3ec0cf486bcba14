// The definition as text, as PATCH /api-schema/{id} takes it, and back. Reading fills in what may be left
// out, so that the tables can show it; whether the content is right is for the service to say.
import type { Document, Endpoint, Field } from './document.ts';

export const toText = (document: Document): string => JSON.stringify(document, null, 2);

type ReadText =
  | { readonly document: Document; readonly fault?: never }
  | { readonly document?: never; readonly fault: string };

/**
 * A text, a list whose entries have one of these forms, or an object; `?` ends the names of parts that may be
 * left out.
 */
type Form = '' | readonly Form[] | { readonly [part: string]: Form };

const lineField = { name: '', source: '' } as const;
const endpointForm: Form = {
  name: '',
  recordType: '',
  fields: [{ ...lineField, 'fields?': [lineField] }],
  'filters?': [{ field: '', operators: [''] }],
  'sorts?': [''],
  'aggregates?': [{ field: '', functions: [''] }],
  'groups?': ['', { field: '', periods: [''] }],
  'relations?': [{ name: '', field: '', resource: '' }],
  'search?': [''],
  'sortSets?': [['']],
  'document?': '',
};

const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);

/** What of `value` hasn't the form that the tables need. */
function findFault(value: unknown, form: Form, path: string): string | undefined {
  if (form === '') return typeof value === 'string' ? undefined : `${path} must be text`;
  if (isList(form)) {
    if (!isList(value)) return `${path} must be a list`;
    for (const [index, entry] of value.entries()) {
      const faults = form.map((one) => findFault(entry, one, `${path}[${index}]`));
      if (!faults.includes(undefined)) return faults.at(-1);
    }
    return undefined;
  }
  if (typeof value !== 'object' || value === null || isList(value)) return `${path} must be an object`;
  for (const [key, part] of Object.entries(form)) {
    const name = key.replace('?', '');
    const own = (value as Readonly<Record<string, unknown>>)[name];
    const fault = own === undefined && name !== key ? undefined : findFault(own, part, `${path}.${name}`);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

const empty = { description: '', filters: [], sorts: [], defaultSort: null, maxPageSize: 100 };

const fieldWithDefaults = (field: Field): Field => ({
  ...field,
  description: field.description ?? '',
  ...(field.fields && { fields: field.fields.map(fieldWithDefaults) }),
});
const withDefaults = (endpoint: Endpoint): Endpoint => ({
  ...empty,
  ...endpoint,
  fields: endpoint.fields.map(fieldWithDefaults),
});

/** From which place on a text isn't JSON, as editors count lines and columns. */
function describeFault(text: string, error: unknown): string {
  const offset = /position (\d+)/.exec(String(error))?.[1];
  if (offset === undefined) return 'This is not JSON';
  const lines = text.slice(0, Number(offset)).split('\n');
  return `This is not JSON from line ${lines.length}, column ${(lines.at(-1) ?? '').length + 1} on`;
}

/** A list of resources, or an object with `endpoints`. */
export function readText(text: string): ReadText {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { fault: describeFault(text, error) };
  }
  const endpoints: unknown = (value as { readonly endpoints?: unknown } | null)?.endpoints ?? value;
  const fault = findFault(endpoints, [endpointForm], 'endpoints');
  return fault === undefined ? { document: (endpoints as Endpoint[]).map(withDefaults) } : { fault };
}
