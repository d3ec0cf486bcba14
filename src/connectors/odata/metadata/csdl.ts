// Reads a metadata document (CSDL XML 4.0 and 4.01) element by element, without a tree of the whole. It takes
// no document type declaration, so there are no entities but XML's own, and limits depth.
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import sax from 'sax';
import { erpError } from '../requests/errors.ts';

export type CsdlProperty = { readonly name: string; readonly type: string; readonly isCollection: boolean };
export type CsdlNavigation = CsdlProperty & {
  readonly isContained: boolean;
  /** Pairs of a property here and the property of the target that it names. */
  readonly constraints: (readonly [property: string, referenced: string])[];
};
export type CsdlType = {
  readonly name: string;
  readonly isEntity: boolean;
  readonly baseType: string | null;
  /** Paths of properties. */
  readonly key: string[];
  readonly properties: CsdlProperty[];
  readonly navigations: CsdlNavigation[];
};
export type CsdlSet = {
  readonly name: string;
  readonly type: string;
  /** Names of entity sets by navigation property. */
  readonly bindings: Map<string, string>;
};
export type Csdl = {
  readonly sets: readonly CsdlSet[];
  /** By name; the name may have an alias instead of its namespace. */
  findType(name: string): CsdlType | undefined;
  /** Whether a value has several members, `null` where the name isn't that of an enumeration. */
  isFlags(name: string): boolean | null;
  /** The primitive type that a type definition names; any other name without an alias. */
  toUnderlying(name: string): string;
  /** The text of a `Label`, else of a `Description`, for a type, a `type/property` or a set. */
  findLabel(path: string): string | undefined;
};

const maxDepth = 64;

type Attributes = Readonly<Record<string, string>>;
type Draft = {
  readonly aliases: Map<string, string>;
  readonly types: Map<string, CsdlType>;
  readonly enums: Map<string, boolean>;
  readonly definitions: Map<string, string>;
  readonly sets: CsdlSet[];
  readonly labels: Map<string, string>;
  namespace: string;
  type: CsdlType | undefined;
};

/** What an element adds; the path by which annotations name it, null where it has none. */
type Opener = (draft: Draft, attributes: Attributes) => string | null;

function toProperty({ Name: name = '', Type: type = 'Edm.String' }: Attributes): CsdlProperty {
  const element = /^Collection\((.*)\)$/.exec(type)?.[1];
  return { name, type: element ?? type, isCollection: element !== undefined };
}

const openType =
  (isEntity: boolean): Opener =>
  (draft, { Name: own = '', BaseType: baseType = null }) => {
    const name = `${draft.namespace}.${own}`;
    draft.type = { name, isEntity, baseType, key: [], properties: [], navigations: [] };
    draft.types.set(name, draft.type);
    return name;
  };

const openers: Readonly<Record<string, Opener>> = {
  Include(draft, { Namespace: namespace = '', Alias: alias = namespace }) {
    draft.aliases.set(alias, namespace);
    return null;
  },
  Schema(draft, { Namespace: namespace = '', Alias: alias = namespace }) {
    draft.namespace = namespace;
    draft.aliases.set(alias, namespace);
    return namespace;
  },
  EntityType: openType(true),
  ComplexType: openType(false),
  PropertyRef(draft, { Name: name = '' }) {
    draft.type?.key.push(name);
    return null;
  },
  Property(draft, attributes) {
    const property = toProperty(attributes);
    draft.type?.properties.push(property);
    return `${draft.type?.name}/${property.name}`;
  },
  NavigationProperty(draft, attributes) {
    const isContained = attributes['ContainsTarget'] === 'true';
    const navigation = { ...toProperty(attributes), isContained, constraints: [] };
    draft.type?.navigations.push(navigation);
    return `${draft.type?.name}/${navigation.name}`;
  },
  ReferentialConstraint(draft, { Property: property = '', ReferencedProperty: referenced = '' }) {
    draft.type?.navigations.at(-1)?.constraints.push([property, referenced]);
    return null;
  },
  EnumType(draft, { Name: name = '', IsFlags: isFlags }) {
    draft.enums.set(`${draft.namespace}.${name}`, isFlags === 'true');
    return `${draft.namespace}.${name}`;
  },
  TypeDefinition(draft, { Name: name = '', UnderlyingType: underlying = '' }) {
    draft.definitions.set(`${draft.namespace}.${name}`, underlying);
    return `${draft.namespace}.${name}`;
  },
  EntitySet(draft, { Name: name = '', EntityType: type = '' }) {
    draft.sets.push({ name, type, bindings: new Map() });
    return name;
  },
  NavigationPropertyBinding(draft, { Path: path = '', Target: target = '' }) {
    draft.sets.at(-1)?.bindings.set(path, target.split('/').at(-1) ?? '');
    return null;
  },
  Annotations: (_draft, { Target: target = '' }) => target,
};

/** The text of an annotation, if it names something; a label counts more than a description. */
function addText({ labels }: Draft, path: string, term: string | undefined, text: string): void {
  const last = term?.split('.').at(-1);
  if (last === 'Label' || (last === 'Description' && !labels.has(path))) labels.set(path, text);
}

type Frame = { readonly name: string; readonly path: string; readonly term: string | undefined };

function openElement(draft: Draft, parent: Frame | undefined, tag: sax.Tag): Frame {
  const { attributes } = tag;
  const name = tag.name.slice(tag.name.indexOf(':') + 1);
  if (parent === undefined) assertVersion(name, attributes);
  const own = Object.hasOwn(openers, name) ? openers[name]?.(draft, attributes) : null;
  const path = own ?? parent?.path ?? '';
  const label = attributes['sap:label'];
  if (label !== undefined) draft.labels.set(path, label);
  const term = name === 'Annotation' ? attributes['Term'] : undefined;
  const text = attributes['String'];
  if (text !== undefined) addText(draft, path, term, text);
  return { name, path, term: term ?? (name === 'String' ? parent?.term : undefined) };
}

function assertVersion(root: string, attributes: Attributes): void {
  const version = attributes['Version'];
  if (root === 'Edmx' && version?.startsWith('4.') === true) return;
  throw unreadable(
    root === 'Edmx'
      ? `The service speaks OData ${version ?? 'without a version'}, not OData v4`
      : `The metadata begins with <${root.slice(0, 40)}>`,
  );
}

const unreadable = (message: string, cause?: unknown) =>
  erpError('answer', 'METADATA_UNREADABLE', message, cause);

/**
 * Parses a metadata document. Rejects with `ErpError` METADATA_UNREADABLE for what isn't one, or has a
 * document type declaration or too many levels, and with the signal's reason.
 */
export async function parseCsdl(parts: readonly string[], signal: AbortSignal): Promise<Csdl> {
  const draft: Draft = {
    ...{ aliases: new Map(), types: new Map(), enums: new Map(), definitions: new Map(), sets: [] },
    ...{ labels: new Map(), namespace: '', type: undefined },
  };
  const frames: Frame[] = [];
  let hasRoot = false;
  const parser = sax.parser(true, { trim: true });
  parser.onerror = (error) => {
    throw unreadable(`The metadata is not XML: ${error.message.split('\n')[0]}`, error);
  };
  parser.ondoctype = () => {
    throw unreadable('The metadata has a document type declaration, which OData does not allow');
  };
  parser.onopentag = (tag) => {
    if (frames.length === maxDepth) throw unreadable(`The metadata has more than ${maxDepth} levels`);
    frames.push(openElement(draft, frames.at(-1), tag as sax.Tag));
    hasRoot = true;
  };
  parser.onclosetag = () => frames.pop();
  parser.ontext = (text) => {
    const frame = frames.at(-1);
    if (frame?.name === 'String') addText(draft, frame.path, frame.term, text);
  };
  for (const part of parts) {
    parser.write(part);
    await yieldToEventLoop();
    signal.throwIfAborted();
  }
  parser.close();
  if (!hasRoot) throw unreadable('The metadata are empty');
  return toCsdl(draft);
}

function toCsdl(draft: Draft): Csdl {
  const resolve = (name: string): string => {
    const dot = name.lastIndexOf('.');
    const namespace = draft.aliases.get(name.slice(0, dot));
    return namespace === undefined ? name : `${namespace}${name.slice(dot)}`;
  };
  const resolvePath = (path: string): string => {
    const [type = '', ...rest] = path.split('/');
    const isContainer = rest.length > 0 && !draft.types.has(resolve(type)) && !draft.enums.has(resolve(type));
    return isContainer ? rest.join('/') : [resolve(type), ...rest].join('/');
  };
  const labels = new Map([...draft.labels].map(([path, text]) => [resolvePath(path), text.slice(0, 200)]));
  return {
    sets: draft.sets,
    findType: (name) => draft.types.get(resolve(name)),
    isFlags: (name) => draft.enums.get(resolve(name)) ?? null,
    toUnderlying: (name) => draft.definitions.get(resolve(name)) ?? resolve(name),
    findLabel: (path) => labels.get(path),
  };
}
