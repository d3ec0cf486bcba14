// The fields of an endpoint by name, for rules that look each of hundreds of names up.
import type { EndpointDefinition, FieldDefinition, LineFieldDefinition } from './schema-document.ts';

export type IndexedEndpoint = EndpointDefinition & {
  readonly byName: ReadonlyMap<string, FieldDefinition>;
  /** By `<lines>.<field>`. */
  readonly linesByName: ReadonlyMap<string, LineFieldDefinition>;
};

/** Of fields with the same name, which are reported, the first counts. */
export function indexFields(endpoint: EndpointDefinition): IndexedEndpoint {
  const fields = endpoint.fields.toReversed();
  const lines = fields.flatMap(({ name, source, fields: inner = [] }) =>
    source === 'lines' ? inner.toReversed().map((line) => [`${name}.${line.name}`, line] as const) : [],
  );
  return {
    ...endpoint,
    byName: new Map(fields.map((field) => [field.name, field])),
    linesByName: new Map(lines),
  };
}
