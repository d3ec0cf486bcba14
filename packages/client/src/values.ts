// Turns the whole numbers that JSON carries as text into bigints, where the client was generated to do so.

/** Of a field `true`, or the fields of its lines or of a related record. */
type Tree = Map<string, Tree | true>;

/** `paths` are fields, such as `total`, and those of lines and related records, such as `lines.quantity`. */
function growTree(paths: readonly string[]): Tree {
  const root: Tree = new Map();
  for (const path of paths) {
    const [name = '', inner] = path.split('.');
    if (inner === undefined) root.set(name, true);
    else {
      const branch = root.get(name);
      root.set(name, (branch instanceof Map ? branch : new Map()).set(inner, true));
    }
  }
  return root;
}

function convert(value: unknown, tree: Tree | true): unknown {
  if (Array.isArray(value)) return value.map((item) => convert(item, tree));
  if (tree === true) return typeof value === 'string' && /^-?\d+$/.test(value) ? BigInt(value) : value;
  if (typeof value !== 'object' || value === null) return value;
  const names = Object.entries(value).map(([name, inner]) => {
    const branch = tree.get(name);
    return [name, branch === undefined ? inner : convert(inner, branch)];
  });
  return Object.fromEntries(names);
}

/** A function that copies a record with these fields converted. */
export function createConverter(paths: readonly string[]): (record: unknown) => unknown {
  const tree = growTree(paths);
  return (record) => convert(record, tree);
}
