// $metadata: the profile as CSDL XML 4.0, and what a client must survive instead of it.
import type { EntitySet, Profile, Properties, Property } from './profiles/profile.ts';

export const BAD_METADATA = ['bomb', 'cyclicTypes', 'withoutKey', 'foldedNames'] as const;
export type BadMetadata = (typeof BAD_METADATA)[number] | { megabytes: number };

const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
/** Attributes without a value are left out. */
const element = (name: string, attributes: Record<string, unknown>, content = ''): string => {
  const written = Object.entries(attributes)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ` ${key}="${escapeXml(String(value))}"`);
  return content === ''
    ? `<${name}${written.join('')}/>`
    : `<${name}${written.join('')}>${content}</${name}>`;
};

const qualify = ({ namespace }: Profile, type: string): string =>
  type.replace(
    /^(Collection\()?(?!Edm\.|Collection)/,
    (_whole, collection = '') => `${collection}${namespace}.`,
  );

function writeProperty(profile: Profile, name: string, property: Property): string {
  const { type, isRequired, MaxLength, Precision, Scale, label } = property;
  const annotation = element('Annotation', { Term: 'com.sap.vocabularies.Common.v1.Label', String: label });
  return element(
    'Property',
    {
      Name: name,
      Type: qualify(profile, type),
      Nullable: isRequired ? false : undefined,
      MaxLength,
      Precision,
      // Only 4.01 spells it in lower case.
      Scale: Scale === 'variable' ? (profile.version === '4.0' ? 'Variable' : 'variable') : Scale,
      'sap:label':
        profile.labels === 'attribute' ? (label ?? name.replace(/^An?(?=[A-Z])/, 'Sample ')) : undefined,
    },
    profile.labels === 'annotation' && label !== undefined ? annotation : '',
  );
}

const writeProperties = (profile: Profile, properties: Properties): string =>
  Object.entries(properties)
    .map(([name, property]) => writeProperty(profile, name, property))
    .join('');

function writeEntityType(profile: Profile, set: EntitySet): string {
  const find = (name: string | undefined): string =>
    `${profile.namespace}.${profile.sets.find((other) => other.name === name)?.type}`;
  const collection = (navigation: string, name: string): string =>
    element('NavigationProperty', {
      Name: navigation,
      Type: `Collection(${find(name)})`,
      ContainsTarget: true,
    });
  const references = Object.entries(set.references ?? {}).map(([name, { set: target, by }]) =>
    element(
      'NavigationProperty',
      { Name: name, Type: find(target) },
      Object.entries(by)
        .map(([Property, ReferencedProperty]) =>
          element('ReferentialConstraint', { Property, ReferencedProperty }),
        )
        .join(''),
    ),
  );
  const contained = set.name === profile.companies ? profile.sets.filter((other) => other !== set) : [];
  return element(
    'EntityType',
    { Name: set.type },
    element('Key', {}, set.keys.map((Name) => element('PropertyRef', { Name })).join('')) +
      writeProperties(profile, set.properties) +
      references.join('') +
      contained.map(({ name }) => collection(name, name)).join('') +
      (set.lines ? collection(set.lines.navigation, set.lines.set) : ''),
  );
}

function writeEntitySet(profile: Profile, set: EntitySet): string {
  const bindings = Object.entries(set.references ?? {}).map(([Path, { set: Target }]) => ({ Path, Target }));
  if (set.lines) bindings.push({ Path: set.lines.navigation, Target: set.lines.set });
  return element(
    'EntitySet',
    { Name: set.name, EntityType: `${profile.namespace}.${set.type}` },
    bindings.map((binding) => element('NavigationPropertyBinding', binding)).join(''),
  );
}

function writeSchema(profile: Profile, more = { types: '', sets: '' }): string {
  const enums = Object.entries(profile.enums).map(([Name, members]) =>
    element(
      'EnumType',
      { Name },
      members.map((member, Value) => element('Member', { Name: member, Value })).join(''),
    ),
  );
  const complexTypes = Object.entries(profile.complexTypes).map(([Name, properties]) =>
    element('ComplexType', { Name }, writeProperties(profile, properties)),
  );
  return element(
    'Schema',
    { Namespace: profile.namespace, xmlns: 'http://docs.oasis-open.org/odata/ns/edm' },
    [
      ...enums,
      ...complexTypes,
      ...profile.sets.map((set) => writeEntityType(profile, set)),
      more.types,
      element(
        'EntityContainer',
        { Name: profile.container },
        profile.sets.map((set) => writeEntitySet(profile, set)).join('') + more.sets,
      ),
    ].join(''),
  );
}

const ODD_TYPE = 'OddType';
const keyOf = (name: string): string => element('Key', {}, element('PropertyRef', { Name: name }));
const text = (Name: string): string => element('Property', { Name, Type: 'Edm.String', Nullable: false });

/** What a document has more: types that contain each other, an entity without key, two sets that differ in case alone. */
function writeOddities(profile: Profile, bad: BadMetadata | undefined): { types: string; sets: string } {
  const [{ name: first = '', type: firstType = '' } = {}] = profile.sets;
  const own = (type: string): string => `${profile.namespace}.${type}`;
  const odd = (content: string): string => element('EntityType', { Name: ODD_TYPE }, content);
  const oddSet = (name: string, type = ODD_TYPE): string =>
    element('EntitySet', { Name: name, EntityType: own(type) });
  if (bad === 'withoutKey') return { types: odd(text('Code')), sets: oddSet('WithoutKey') };
  if (bad === 'foldedNames') {
    const folded = first === first.toUpperCase() ? first.toLowerCase() : first.toUpperCase();
    return { types: '', sets: oddSet(folded, firstType) };
  }
  if (bad === 'cyclicTypes') {
    const complex = (name: string, inner: string, base?: string): string =>
      element(
        'ComplexType',
        { Name: name, BaseType: base && own(base) },
        element('Property', { Name: 'Inner', Type: own(inner) }),
      );
    const types =
      complex('CycleA', 'CycleB') + complex('CycleB', 'CycleA') + complex('CycleC', 'CycleA', 'CycleC');
    const inner = ['CycleA', 'CycleC']
      .map((type) => element('Property', { Name: type, Type: own(type) }))
      .join('');
    return { types: types + odd(keyOf('Code') + text('Code') + inner), sets: oddSet('Cyclic') };
  }
  return { types: '', sets: '' };
}

/** A bomb would be 10⁹ times the same text when expanded. */
export function writeMetadata(profile: Profile, bad?: BadMetadata): string {
  const entities = Array.from({ length: 9 }, (_, i) => `<!ENTITY e${i + 1} "${`&e${i};`.repeat(10)}">`).join(
    '',
  );
  const isBomb = bad === 'bomb';
  const schema = writeSchema(profile, writeOddities(profile, bad));
  return [
    '<?xml version="1.0" encoding="utf-8"?>',
    isBomb ? `<!DOCTYPE edmx [<!ENTITY e0 "expanded">${entities}]>` : '',
    element(
      'edmx:Edmx',
      {
        Version: '4.0',
        'xmlns:edmx': 'http://docs.oasis-open.org/odata/ns/edmx',
        'xmlns:sap': profile.labels === 'attribute' ? 'http://www.sap.com/Protocols/SAPData' : undefined,
      },
      element(
        'edmx:DataServices',
        {},
        isBomb
          ? schema.replace(
              '</Schema>',
              '<Annotation Term="Core.Description"><String>&e9;</String></Annotation></Schema>',
            )
          : schema,
      ),
    ),
  ].join('');
}

const PADDING_TYPES_PER_PART = 1_000;

/** The document in parts, with types that nothing uses, until it has this size. */
export function* padMetadata(document: string, megabytes: number): Generator<string> {
  const at = document.indexOf('<EntityContainer');
  yield document.slice(0, at);
  for (let [size, number] = [document.length, 0]; size < megabytes * 2 ** 20; ) {
    const types = Array.from({ length: PADDING_TYPES_PER_PART }, () => {
      number += 1;
      return element('ComplexType', { Name: `Padding${number}` }, text(`Text${number}`));
    });
    const part = types.join('');
    size += part.length;
    yield part;
  }
  yield document.slice(at);
}
