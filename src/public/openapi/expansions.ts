// Describes the related records that `expand` embeds: optional properties of a record, next to its fields.
import type { oas31 } from 'openapi3-ts';
import type { EndpointDefinition } from '../version/schema-document.ts';

/** `component` is the name of the related resource's record in the document. */
export const expansionSchema = (field: string, resource: string, component: string): oas31.SchemaObject => ({
  description: `Only with \`expand\`: the record of \`${resource}\` whose id is \`${field}\`, as that resource returns it without \`expand\`; \`null\` when there is none or it may not be read.`,
  anyOf: [{ $ref: `#/components/schemas/${component}` }, { type: 'null' }],
});

/**
 * By the name of the relation. `findComponent` finds the name of a resource's record; a relation to an unknown
 * resource is left out.
 */
export const expansionSchemas = (
  { relations = [] }: Pick<EndpointDefinition, 'relations'>,
  findComponent: (resource: string) => string | undefined,
): Record<string, oas31.SchemaObject> =>
  Object.fromEntries(
    relations.flatMap(({ name, field, resource }) => {
      const component = findComponent(resource);
      return component === undefined ? [] : [[name, expansionSchema(field, resource, component)] as const];
    }),
  );
