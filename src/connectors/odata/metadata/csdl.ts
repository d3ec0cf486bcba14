// Reads a metadata document (CSDL XML 4.0 and 4.01) element by element, without a tree of the whole. It takes
// no document type declaration, so there are no entities but XML's own, and limits depth.
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import sax from 'sax';
import { erpError } from '../requests/errors.ts';

/** `path`: what annotations call it. */
export type CsdlProperty = Readonly<Record<'name' | 'path' | 'type', string>> & {
  readonly isCollection: boolean;
  readonly isContained: boolean;
  /** Pairs of a property here and the property of the target that it names. */
  readonly constraints: (readonly [property: string, referenced: string])[];
};
/** What its base types have comes first. The key has paths of properties. */
export type CsdlType = {
  readonly name: string;
  readonly baseType: string;
  readonly key: string[];
  readonly properties: CsdlProperty[];
  readonly navigations: CsdlProperty[];
};
/** `bindings`: names of entity sets by navigation property. */
type CsdlSet = Pick<CsdlProperty, 'name' | 'path' | 'type'> & { readonly bindings: Map<string, string> };

const maxDepth = 64;
const maxBaseTypes = 20;
const labelTerm = 'com.sap.vocabularies.Common.v1.Label';
const descriptionTerm = 'Org.OData.Core.V1.Description';

type Attributes = Readonly<Record<string, string>>;
const createDraft = () => ({
  aliases: new Map<string, string>(),
  types: new Map<string, CsdlType>(),
  /** Primitive types and enumerations; `isFlags` only of the latter: whether a value has several members. */
  simple: new Map<string, { readonly name: string; readonly isFlags?: boolean }>(),
  sets: new Map<string, CsdlSet>(),
  labels: new Map<string, string>(),
  type: undefined as CsdlType | undefined,
  /** Of the entity set or singleton that was opened last. */
  bindings: new Map<string, string>(),
});
type Draft = ReturnType<typeof createDraft>;

/** A name, or the path of an annotation's target, with the namespace in the place of its alias. */
function resolve({ aliases }: Draft, name: string): string {
  const dot = Math.max(name.lastIndexOf('.'), 0);
  return (aliases.get(name.slice(0, dot)) ?? name.slice(0, dot)) + name.slice(dot);
}

/** Adds what an element says. Returns the path by which annotations name it; `parent`: that of the one around it. */
type Opener = (draft: Draft, attributes: Attributes, parent: string) => string | undefined;

const openNamespace: Opener = ({ aliases }, { Namespace: namespace = '', Alias: alias = namespace }) => {
  aliases.set(alias, namespace);
  return namespace;
};
const openType: Opener = (draft, { Name: own, BaseType: baseType = '' }, namespace) => {
  const name = `${namespace}.${own}`;
  draft.type = { name, baseType, key: [], properties: [], navigations: [] };
  draft.types.set(name, draft.type);
  return name;
};
const openProperty =
  (list: 'properties' | 'navigations'): Opener =>
  (draft, { Name: name = '', Type: type = 'Edm.String', ContainsTarget: contains }, owner) => {
    const path = `${owner}/${name}`;
    const [, element] = /^Collection\((.*)\)$/.exec(type) ?? [];
    const kind = { isCollection: element !== undefined, isContained: contains === 'true' };
    draft.type?.[list].push({ name, path, type: element ?? type, ...kind, constraints: [] });
    return path;
  };
const openSet: Opener = (draft, { Name: name = '', EntityType: type }, container) => {
  const path = `${container}/${name}`;
  draft.bindings = new Map();
  if (type !== undefined) draft.sets.set(name, { name, path, type, bindings: draft.bindings });
  return path;
};

const openers: Readonly<Record<string, Opener>> = {
  Include: openNamespace,
  Schema: openNamespace,
  EntityType: openType,
  ComplexType: openType,
  EnumType: ({ simple }, { Name: name, IsFlags: flags }, parent) =>
    void simple.set(`${parent}.${name}`, { name: `${parent}.${name}`, isFlags: flags === 'true' }),
  TypeDefinition: ({ simple }, { Name: name, UnderlyingType: underlying = '' }, parent) =>
    void simple.set(`${parent}.${name}`, { name: underlying }),
  PropertyRef: ({ type }, { Name: name = '' }) => void type?.key.push(name),
  Property: openProperty('properties'),
  NavigationProperty: openProperty('navigations'),
  ReferentialConstraint: ({ type }, { Property: property = '', ReferencedProperty: referenced = '' }) =>
    void type?.navigations.at(-1)?.constraints.push([property, referenced]),
  EntityContainer: (_draft, { Name: name }, namespace) => `${namespace}.${name}`,
  EntitySet: openSet,
  Singleton: openSet,
  NavigationPropertyBinding: ({ bindings }, { Path: path = '', Target: target = '' }) =>
    void bindings.set(path, target.split('/').at(-1) ?? ''),
  Annotations: (draft, { Target: target = '' }) => resolve(draft, target),
};

/** `term`: of an annotation or its text, else empty. */
type Frame = { readonly name: string; readonly path: string; readonly term: string };
const outside: Frame = { name: '', path: '', term: '' };

/** A label counts more than a description. */
function addLabel({ labels }: Draft, { path, term }: Frame, text: string): void {
  if (term === labelTerm || (term === descriptionTerm && !labels.has(path))) labels.set(path, text);
}

function openElement(draft: Draft, parent: Frame, { name: tag, attributes }: sax.Tag): Frame {
  const name = tag.slice(tag.indexOf(':') + 1);
  if (parent === outside) assertVersion(name, attributes);
  const own = Object.hasOwn(openers, name) ? openers[name]?.(draft, attributes, parent.path) : undefined;
  // What is said of an annotation, or for some purpose only, is no label of the element.
  const isOther = attributes['Qualifier'] !== undefined || (parent.term !== '' && name !== 'String');
  const path = isOther ? '' : (own ?? parent.path);
  const term = name === 'String' ? parent.term : attributes['Term'];
  const frame = { name, path, term: resolve(draft, term ?? '') };
  const { 'sap:label': label, String: text } = attributes;
  if (text !== undefined) addLabel(draft, frame, text);
  if (label !== undefined) addLabel(draft, { ...frame, term: labelTerm }, label);
  return frame;
}

function assertVersion(root: string, { Version: version = 'without a version' }: Attributes): void {
  if (root !== 'Edmx') throw unreadable(`The metadata begins with <${root.slice(0, 40)}>`);
  if (version.startsWith('4.')) return;
  // The format of OData v1 to v3 calls itself 1.0.
  throw unreadable(`The service speaks OData ${version === '1.0' ? 'v2 or v3' : version}, not v4`);
}

const unreadable = (text: string, cause?: Error) => erpError('answer', 'METADATA_UNREADABLE', text, cause);

/**
 * Parses a metadata document. Rejects with `ErpError` METADATA_UNREADABLE for what isn't one, or has a
 * document type declaration or too many levels, and with the signal's reason.
 */
export async function parseCsdl(parts: readonly string[], signal: AbortSignal): Promise<Csdl> {
  const draft = createDraft();
  const frames: Frame[] = [];
  const parser = sax.parser(true, { trim: true });
  parser.onerror = (error) => {
    throw unreadable(`The metadata is not XML: ${error.message.split('\n')[0]}`, error);
  };
  parser.ondoctype = () => {
    throw unreadable('The metadata has a document type declaration, which OData does not allow');
  };
  parser.onopentag = (tag) => {
    if (frames.length === maxDepth) throw unreadable(`The metadata has more than ${maxDepth} levels`);
    frames.push(openElement(draft, frames.at(-1) ?? outside, tag as sax.Tag));
  };
  parser.onclosetag = () => frames.pop();
  parser.ontext = (text) => addLabel(draft, frames.at(-1) ?? outside, text);
  for (const part of parts) {
    parser.write(part);
    await yieldToEventLoop();
    signal.throwIfAborted();
  }
  parser.close();
  if (draft.aliases.size === 0) throw unreadable('The metadata has no schema');
  return toCsdl(draft);
}

function withBaseTypes(draft: Draft, type: CsdlType, levels = maxBaseTypes): CsdlType {
  const found = draft.types.get(resolve(draft, type.baseType));
  if (found === undefined || found === type || levels === 0) return type;
  const base = withBaseTypes(draft, found, levels - 1);
  const properties = [...base.properties, ...type.properties];
  const navigations = [...base.navigations, ...type.navigations];
  return { ...type, properties, navigations, key: [...new Set([...base.key, ...type.key])] };
}

export type Csdl = ReturnType<typeof toCsdl>;
function toCsdl(draft: Draft) {
  const types = new Map([...draft.types].map(([name, type]) => [name, withBaseTypes(draft, type)]));
  return {
    sets: [...draft.sets.values()],
    /** By name; the name may have an alias instead of its namespace. */
    findType: (name: string) => types.get(resolve(draft, name)),
    /** The enumeration of this name, or the primitive type that a type definition names; else the name itself. */
    toSimple: (name: string) => draft.simple.get(resolve(draft, name)) ?? { name: resolve(draft, name) },
    /** The text of SAP's label, else of a description, for a type, a property or a set. */
    findLabel: (path: string) => draft.labels.get(path)?.slice(0, 200),
  };
}
