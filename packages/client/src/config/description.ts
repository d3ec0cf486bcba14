// The description of the service: which properties the objects of a kind have, and how they are updated.
import { UsageError } from '../cli/settings.ts';
import type { Kind } from './kinds.ts';
import { nameInFile } from './references.ts';
import { isObject, type Problem, readValue, type Schema, type Values } from './schema.ts';

type Operation = {
  readonly requestBody?: { readonly content?: Readonly<Record<string, { readonly schema?: Schema }>> };
};
type Paths = Readonly<Record<string, Readonly<Record<string, Operation>>>>;

export type Shape = {
  /** What the body of a creation, or of replacing a single object, has, and `extra` of the kind. */
  readonly schema: Schema;
  readonly update: {
    readonly method: 'PATCH' | 'PUT';
    /** Names in the file of what an update can change. */
    readonly names: ReadonlySet<string>;
  };
};

export type Description = {
  /** Throws UsageError for a kind that the service doesn't have. */
  readonly shapeOf: (kind: Kind) => Shape;
  /** The object in the order of its schema and with its defaults, and what is wrong with it. */
  readonly read: (
    kind: Kind,
    value: unknown,
    options: { readonly isStrict: boolean; readonly path: string },
  ) => { readonly values: Values; readonly problems: readonly Problem[] };
};

/** Of the document at `GET /openapi`. What it returns throws UsageError for a kind that the service doesn't have. */
export function createDescription(document: Values): Description {
  const paths = (document['paths'] ?? {}) as Paths;
  const { schemas = {} } = (document['components'] ?? {}) as { readonly schemas?: Record<string, Schema> };
  const bodyOf = (path: string, method: string): Schema | undefined => {
    const schema = paths[path]?.[method]?.requestBody?.content?.['application/json']?.schema;
    return schema?.$ref === undefined ? schema : schemas[schema.$ref.replace('#/components/schemas/', '')];
  };
  const shapeOf = (kind: Kind): Shape => {
    const body = bodyOf(kind.path, kind.isSingle ? 'put' : 'post');
    const item = Object.keys(paths).find((path) =>
      kind.isSingle
        ? path === kind.path
        : path.startsWith(`${kind.path}/{`) && !path.slice(kind.path.length + 1).includes('/'),
    );
    const patch = item && bodyOf(item, 'patch');
    const update = patch || (item && bodyOf(item, 'put'));
    if (!body || !update) throw new UsageError(`The service has no ${kind.name}: its version is another.`);
    const names = Object.keys(update.properties ?? {}).flatMap((name) => nameInFile(name) ?? []);
    return {
      schema: { ...body, properties: { ...body.properties, ...kind.extra } },
      update: {
        method: patch ? 'PATCH' : 'PUT',
        names: new Set([...names, ...Object.keys(kind.extra ?? {})]),
      },
    };
  };
  const read: Description['read'] = (kind, given, { isStrict, path }) => {
    const reading = { schemas, isStrict, nameOf: nameInFile };
    const { value, problems } = readValue(given, shapeOf(kind).schema, reading, path);
    const values = isObject(value) ? value : {};
    const [first] = kind.identity;
    const isNameless = first !== undefined && problems.length === 0 && !Object.hasOwn(values, first);
    return {
      values,
      problems: isNameless ? [{ path: `${path}.${first}`, message: 'is missing' }] : problems,
    };
  };
  return { shapeOf, read };
}
