// Reads a metadata document (CSDL XML 4.0 and 4.01) element by element as it arrives, without a tree of the whole. It takes
// no document type declaration, so there are no entities but XML's own, and limits depth.
import sax from 'sax';
import { erpError } from '../requests/errors.ts';

/** By annotations; `label` is SAP's. */
type Labelled = { label?: string; description?: string };
/** `constraints`: pairs of a property here and the property of the target that it names. */
export type CsdlProperty = Labelled & {
  readonly name: string;
  readonly type: string;
  readonly isCollection: boolean;
  readonly isContained: boolean;
  constraints: readonly (readonly [property: string, referenced: string])[];
};
/** What its base types have comes first. The key has paths of properties. */
export type CsdlType = Labelled & {
  readonly name: string;
  readonly baseType: string;
  readonly key: string[];
  readonly properties: CsdlProperty[];
  readonly navigations: CsdlProperty[];
};
/** `bindings`: names of entity sets by navigation property. */
type CsdlSet = Labelled & {
  readonly name: string;
  readonly type: string;
  readonly bindings: Map<string, string>;
};

const maxDepth = 64;
const maxBaseTypes = 20;
const maxLabelLength = 200;
const labelTerm = 'com.sap.vocabularies.Common.v1.Label';
const descriptionTerm = 'Org.OData.Core.V1.Description';
const noConstraints: CsdlProperty['constraints'] = [];

type Attributes = Readonly<Record<string, string>>;
const createDraft = () => ({
  aliases: new Map<string, string>(),
  types: new Map<string, CsdlType>(),
  /** Primitive types and enumerations; `isFlags` only of the latter: whether a value has several members. */
  simple: new Map<string, { readonly name: string; readonly isFlags?: boolean }>(),
  sets: new Map<string, CsdlSet>(),
  /** What `Annotations` say of elements elsewhere, by their paths. */
  elsewhere: new Map<string, Labelled>(),
  namespace: '',
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

/** Adds what an element says. Returns what annotations within it are about; none: nothing that has a label. */
type Opener = (draft: Draft, attributes: Attributes) => Labelled | undefined;

const openNamespace: Opener = (draft, { Namespace: namespace = '', Alias: alias = namespace }) => {
  draft.aliases.set(alias, namespace);
  draft.namespace = namespace;
  return undefined;
};
const openType: Opener = (draft, { Name: own, BaseType: baseType = '' }) => {
  const name = `${draft.namespace}.${own}`;
  draft.type = { name, baseType, key: [], properties: [], navigations: [] };
  draft.types.set(name, draft.type);
  return draft.type;
};
const openProperty =
  (list: 'properties' | 'navigations'): Opener =>
  ({ type: owner }, { Name: name = '', Type: type = 'Edm.String', ContainsTarget: contains }) => {
    const isCollection = type.startsWith('Collection(');
    const property: CsdlProperty = {
      ...{ name, type: isCollection ? type.slice(11, -1) : type, isCollection },
      ...{ isContained: contains === 'true', constraints: noConstraints },
    };
    owner?.[list].push(property);
    return property;
  };
const openSet: Opener = (draft, { Name: name = '', EntityType: type }) => {
  draft.bindings = new Map();
  if (type === undefined) return undefined;
  const set: CsdlSet = { name, type, bindings: draft.bindings };
  draft.sets.set(name, set);
  return set;
};
const openAnnotations: Opener = (draft, { Target: target = '' }) => {
  const path = resolve(draft, target);
  const labels = draft.elsewhere.get(path) ?? {};
  draft.elsewhere.set(path, labels);
  return labels;
};

const openers: Readonly<Record<string, Opener>> = {
  Include: openNamespace,
  Schema: openNamespace,
  EntityType: openType,
  ComplexType: openType,
  EnumType: ({ simple, namespace: of }, { Name: name, IsFlags: flags }) =>
    void simple.set(`${of}.${name}`, { name: `${of}.${name}`, isFlags: flags === 'true' }),
  TypeDefinition: ({ simple, namespace: of }, { Name: name, UnderlyingType: underlying = '' }) =>
    void simple.set(`${of}.${name}`, { name: underlying }),
  PropertyRef: ({ type }, { Name: name = '' }) => void type?.key.push(name),
  Property: openProperty('properties'),
  NavigationProperty: openProperty('navigations'),
  ReferentialConstraint: ({ type }, { Property: property = '', ReferencedProperty: referenced = '' }) => {
    const navigation = type?.navigations.at(-1);
    if (navigation) navigation.constraints = [...navigation.constraints, [property, referenced]];
    return undefined;
  },
  EntityContainer: () => undefined,
  EntitySet: openSet,
  Singleton: openSet,
  NavigationPropertyBinding: ({ bindings }, { Path: path = '', Target: target = '' }) =>
    void bindings.set(path, target.split('/').at(-1) ?? ''),
  Annotations: openAnnotations,
};

/** `about`: what annotations are about; null within other annotations. `term`: of an annotation or its text, else empty. */
type Frame = { readonly name: string; readonly about: Labelled | null; readonly term: string };
const outside: Frame = { name: '', about: {}, term: '' };

function addLabel({ about, term }: Frame, text: string): void {
  if (about === null || text === '') return;
  if (term === labelTerm) about.label = text.slice(0, maxLabelLength);
  else if (term === descriptionTerm) about.description = text.slice(0, maxLabelLength);
}

function openElement(draft: Draft, parent: Frame, tag: string, attributes: Attributes): Frame {
  const name = tag.slice(tag.indexOf(':') + 1);
  if (parent === outside) assertVersion(name, attributes);
  const about = Object.hasOwn(openers, name) ? (openers[name]?.(draft, attributes) ?? {}) : parent.about;
  // What is said of an annotation, or for some purpose only, is no label of the element.
  const isOther = attributes['Qualifier'] !== undefined || (parent.term !== '' && name !== 'String');
  const term = name === 'String' ? parent.term : resolve(draft, attributes['Term'] ?? '');
  const frame: Frame = { name, about: isOther ? null : about, term };
  const { 'sap:label': label, String: text } = attributes;
  if (text !== undefined) addLabel(frame, text);
  if (label !== undefined) addLabel({ ...frame, term: labelTerm }, label);
  return frame;
}

function assertVersion(root: string, { Version: version = 'without a version' }: Attributes): void {
  if (root !== 'Edmx') throw unreadable(`The metadata begins with <${root.slice(0, 40)}>`);
  if (version.startsWith('4.')) return;
  // The format of OData v1 to v3 calls itself 1.0.
  throw unreadable(`The service speaks OData ${version === '1.0' ? 'v2 or v3' : version}, not v4`);
}

const unreadable = (text: string, cause?: Error) => erpError('answer', 'METADATA_UNREADABLE', text, cause);

/** Most values are there many times, and the parser builds each from its characters: a copy takes a tenth of the memory. */
function createSharedTexts(): (text: string) => string {
  const known = new Map<string, string>();
  return (text) => {
    const found = known.get(text) ?? Buffer.from(text).toString();
    known.set(found, found);
    return found;
  };
}

/**
 * Takes a metadata document part by part. `write` and `end` throw `ErpError` METADATA_UNREADABLE for what isn't
 * one, or has a document type declaration or too many levels.
 */
export function createCsdlParser() {
  const draft = createDraft();
  const frames: Frame[] = [];
  const share = createSharedTexts();
  const parser = sax.parser(true, { trim: true });
  parser.onerror = (error) => {
    throw unreadable(`The metadata is not XML: ${error.message.split('\n')[0]}`, error);
  };
  parser.ondoctype = () => {
    throw unreadable('The metadata has a document type declaration, which OData does not allow');
  };
  parser.onopentag = (tag) => {
    if (frames.length === maxDepth) throw unreadable(`The metadata has more than ${maxDepth} levels`);
    const { name, attributes } = tag as sax.Tag;
    const shared = Object.entries(attributes).map(([key, value]) => [key, share(value)]);
    frames.push(openElement(draft, frames.at(-1) ?? outside, name, Object.fromEntries(shared)));
  };
  parser.onclosetag = () => frames.pop();
  parser.ontext = (text) => addLabel(frames.at(-1) ?? outside, share(text));
  return {
    write: (part: string): void => void parser.write(part),
    end(): Csdl {
      parser.close();
      if (draft.aliases.size === 0) throw unreadable('The metadata has no schema');
      return toCsdl(draft);
    },
  };
}

function withBaseTypes(draft: Draft, type: CsdlType, levels = maxBaseTypes): CsdlType {
  const found = draft.types.get(resolve(draft, type.baseType));
  if (found === undefined || found === type || levels === 0) return type;
  const base = withBaseTypes(draft, found, levels - 1);
  const properties = [...base.properties, ...type.properties];
  const navigations = [...base.navigations, ...type.navigations];
  return { ...type, properties, navigations, key: [...new Set([...base.key, ...type.key])] };
}

/** Gives what `Annotations` say to the type, property or set that their path names. */
function addLabelsFromElsewhere({ elsewhere, types, sets }: Draft): void {
  for (const [path, labels] of elsewhere) {
    const [owner = '', name] = path.split('/');
    const type = types.get(owner);
    const members = type === undefined ? [] : [...type.properties, ...type.navigations];
    const named = name === undefined ? type : (members.find((one) => one.name === name) ?? sets.get(name));
    Object.assign(named ?? {}, labels);
  }
}

export type Csdl = ReturnType<typeof toCsdl>;
function toCsdl(draft: Draft) {
  addLabelsFromElsewhere(draft);
  const types = new Map([...draft.types].map(([name, type]) => [name, withBaseTypes(draft, type)]));
  return {
    sets: [...draft.sets.values()],
    /** By name; the name may have an alias instead of its namespace. */
    findType: (name: string) => types.get(resolve(draft, name)),
    /** The enumeration of this name, or the primitive type that a type definition names; else the name itself. */
    toSimple: (name: string) => draft.simple.get(resolve(draft, name)) ?? { name: resolve(draft, name) },
  };
}

/** The text of SAP's label, else of a description. */
export const labelOf = ({ label, description }: Labelled): string | undefined => label ?? description;
