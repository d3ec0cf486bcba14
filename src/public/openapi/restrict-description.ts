// The description of a version for a key that may read only some of its resources: the rest of the version isn't named in it.
import { z } from 'zod';

const document = z.looseObject({
  info: z.looseObject({ description: z.string() }),
  tags: z.array(z.looseObject({ name: z.string() })),
  paths: z.record(z.string(), z.unknown()),
  components: z.record(z.string(), z.record(z.string(), z.unknown())),
});
type Components = z.infer<typeof document>['components'];

const refPattern = /^#\/components\/([^/]+)\/([^/]+)$/;

/** Adds the names of the components that a value refers to, directly or through others, as `<kind>/<name>`. */
function collectRefs(value: unknown, components: Components, found: Set<string>): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, part] of Object.entries(value)) {
    const [, kind = '', name = ''] = (key === '$ref' && typeof part === 'string' && refPattern.exec(part)) || [];
    if (kind === '') collectRefs(part, components, found);
    else if (!found.has(`${kind}/${name}`)) {
      found.add(`${kind}/${name}`);
      collectRefs(components[kind]?.[name], components, found);
    }
  }
}

/** The list of changes from the version before names resources; it is the last part of the text. */
function withoutChanges(text: string): string {
  const at = text.lastIndexOf('\n\n## Changes from ');
  return at === -1 ? text : text.slice(0, at);
}

/**
 * The text of a description with nothing but these resources: their paths and tags, the components that those use, and no list of changes.
 * Throws a ZodError for a text that is no description of a version.
 */
export function restrictDescription(text: string, resources: readonly string[]): string {
  const { info, tags, paths, components, ...rest } = document.parse(JSON.parse(text));
  const isAllowed = (name: string): boolean => resources.includes(name);
  const kept = Object.entries(paths).filter(([path]) => isAllowed(path.split('/')[2] ?? ''));
  const used = new Set<string>();
  collectRefs(
    kept.map(([, item]) => item),
    components,
    used,
  );
  const keptComponents = Object.entries(components).map(([kind, all]): [string, Record<string, unknown>] => [
    kind,
    kind === 'securitySchemes' ? all : Object.fromEntries(Object.entries(all).filter(([name]) => used.has(`${kind}/${name}`))),
  ]);
  return JSON.stringify(
    {
      ...rest,
      info: { ...info, description: withoutChanges(info.description) },
      tags: tags.filter(({ name }) => isAllowed(name)),
      paths: Object.fromEntries(kept),
      components: Object.fromEntries(keptComponents),
    },
    undefined,
    2,
  );
}
