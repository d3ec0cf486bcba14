// Warns of personal or confidential fields that a version shows unmasked to keys without a list of fields.
import type { z } from 'zod';
import { type AccessLayer, allowsResource, allowsVersion } from '../../core/record-access.ts';
import type { Tx } from '../../db/transaction.ts';
import type { Problem } from '../../http/fields.ts';
import type { EndpointDefinition } from '../../public/index.ts';
import * as store from './api-schemas.store.ts';

type Warning = z.output<typeof Problem>;
type Tagged = Omit<Warning, 'code' | 'message'> & {
  readonly resource: string;
  readonly name: string;
  readonly tags: readonly string[];
};

const maxWarnings = 100;

/** The tagged fields, and fields of lines, that have no mask. */
const taggedFields = (endpoints: readonly EndpointDefinition[]): Tagged[] =>
  endpoints.flatMap(({ name: resource, fields }, at) =>
    fields.flatMap((field, index) => {
      const path = `endpoints[${at}].fields[${index}]`;
      const lines = (field.fields ?? []).map((line, position) => ({
        ...{ ...line, name: `${field.name}.${line.name}` },
        path: `${path}.fields[${position}]`,
      }));
      return [{ ...field, path }, ...lines].flatMap(({ name, tags = [], mask, path: place }) =>
        tags.length === 0 || mask !== undefined ? [] : [{ resource, name, tags, path: `${place}.tags` }],
      );
    }),
  );

/** Whether the key reads every field of the resource in the version. */
const readsAll = (layer: AccessLayer, version: string, resource: string): boolean => {
  const access = { layers: [layer], unmasked: false };
  const isLimited = layer.fields !== null && Object.hasOwn(layer.fields, resource);
  return !isLimited && allowsVersion(access, version) && allowsResource(access, resource);
};

/** At most 100, in the order of the definition; none when no active API key can read such a field. */
export async function warnOfTaggedFields(
  tx: Tx,
  organizationId: string,
  { version, endpoints }: Pick<store.ApiSchemaRow, 'version' | 'endpoints'>,
): Promise<Warning[]> {
  const tagged = taggedFields(endpoints);
  const layers = tagged.length === 0 ? [] : await store.listActiveKeyLayers(tx, organizationId);
  return tagged
    .flatMap(({ resource, name, tags, path }): Warning[] => {
      const { length: keys } = layers.filter((layer) => readsAll(layer, version, resource));
      if (keys === 0) return [];
      const message =
        `The field ${name} of ${resource} is tagged ${tags.join(' and ')} and has no mask: ` +
        `${keys === 1 ? 'one API key' : `${keys} API keys`} without a list of fields can read it`;
      return [{ path, code: 'tagged_field_readable', message }];
    })
    .slice(0, maxWarnings);
}
