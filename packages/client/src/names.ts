/**
 * The name of each resource as a property: `creditMemos` for `credit-memos`. Of several that would be called
 * alike, the first is, and the others keep their own name.
 */
export function toPropertyNames(resources: readonly string[]): ReadonlyMap<string, string> {
  const taken = new Set(resources);
  return new Map(
    resources.map((resource) => {
      const name = resource.replace(/-+(.)/g, (_, letter: string) => letter.toUpperCase()).replace(/-+$/, '');
      if (name === resource || taken.has(name)) return [resource, resource];
      taken.add(name);
      return [resource, name];
    }),
  );
}
