// The fields of an entity type: complex properties with dots, enumerations as lists, and a reason for each
// property that can't be synced.
import type { FieldMetadata, FieldType } from '../../connector.ts';
import type { Csdl, CsdlProperty, CsdlType } from './csdl.ts';

const edmTypes: readonly (readonly [type: FieldType, names: string])[] = [
  ['text', 'String Guid TimeOfDay Duration'],
  ['boolean', 'Boolean'],
  ['integer', 'Byte SByte Int16 Int32 Int64'],
  ['number', 'Decimal Double Single'],
  ['date', 'Date'],
  ['time', 'DateTimeOffset'],
];
const fieldTypes: ReadonlyMap<string, FieldType> = new Map(
  edmTypes.flatMap(([type, names]) => names.split(' ').map((name) => [`Edm.${name}`, type])),
);

const maxComplexDepth = 5;
const maxFields = 1_500;
const maxBaseTypes = 20;

/** The type and its base types, the outermost base first. */
export function withBaseTypes(csdl: Csdl, type: CsdlType): CsdlType[] {
  const chain: CsdlType[] = [];
  for (
    let next: CsdlType | undefined = type;
    next !== undefined && !chain.includes(next) && chain.length < maxBaseTypes;
    next = next.baseType === null ? undefined : csdl.findType(next.baseType)
  )
    chain.unshift(next);
  return chain;
}

export const plainField = (name: string, label: string, type: FieldType): FieldMetadata => ({
  name,
  label,
  type,
  custom: false,
  syncable: true,
  volatile: false,
  reason: null,
});
const excludedField = (name: string, label: string, reason: string): FieldMetadata => ({
  ...plainField(name, label, 'text'),
  syncable: false,
  reason,
});

/** The type of a field with values of this primitive or enumeration type, or why there is none. */
export function toFieldType(csdl: Csdl, type: string): FieldType | { readonly reason: string } {
  const isFlags = csdl.isFlags(type);
  if (isFlags !== null) return isFlags ? 'text' : 'list';
  const edm = csdl.toUnderlying(type);
  const known = fieldTypes.get(edm);
  if (known !== undefined) return known;
  if (edm === 'Edm.Stream') return { reason: 'A stream is not part of a record' };
  if (edm === 'Edm.Binary') return { reason: 'Binary values are not synced' };
  if (/^Edm\.Geo/.test(edm)) return { reason: 'Geographic values are not synced' };
  return { reason: `The type ${type} is not described` };
}

/** Fields by the path of their property, in the order of the metadata. */
export function describeFields(csdl: Csdl, type: CsdlType): Map<string, FieldMetadata> {
  const fields = new Map<string, FieldMetadata>();
  const add = (path: string, label: string, property: CsdlProperty, inside: readonly string[]): void => {
    const name = path.replaceAll('/', '.');
    const exclude = (reason: string) => fields.set(path, excludedField(name, label, reason));
    if (property.name === '__proto__') return void exclude('This name is reserved in JavaScript');
    if (property.isCollection) return void exclude('A collection of values is not synced');
    const complex = csdl.findType(property.type);
    if (complex === undefined) {
      const fieldType = toFieldType(csdl, property.type);
      if (typeof fieldType === 'string') fields.set(path, plainField(name, label, fieldType));
      else exclude(fieldType.reason);
    } else if (inside.includes(complex.name)) exclude(`The complex type ${complex.name} contains itself`);
    else if (inside.length === maxComplexDepth)
      exclude(`The complex type has more than ${maxComplexDepth} levels`);
    else addAll(complex, `${path}/`, [...inside, complex.name]);
  };
  const addAll = (owner: CsdlType, prefix: string, inside: readonly string[]): void => {
    for (const each of withBaseTypes(csdl, owner))
      for (const property of each.properties) {
        const path = prefix + property.name;
        const label = csdl.findLabel(`${each.name}/${property.name}`) ?? path.replaceAll('/', '.');
        if (fields.size < maxFields) add(path, label, property, inside);
        else if (prefix === '')
          fields.set(path, excludedField(path, label, `There are more than ${maxFields} fields`));
      }
  };
  addAll(type, '', []);
  return fields;
}
