// The fields of an entity type: complex properties with dots, enumerations as lists, and a reason for each
// property that can't be synced.
import type { FieldMetadata, FieldType } from '../../connector.ts';
import { type Csdl, type CsdlProperty, type CsdlType, labelOf } from './csdl.ts';

const fieldTypes: readonly (readonly [FieldType, edm: RegExp])[] = [
  ['text', /^Edm\.(?:String|Guid|TimeOfDay|Duration)$/],
  ['boolean', /^Edm\.Boolean$/],
  ['integer', /^Edm\.(?:S?Byte|Int(?:16|32|64))$/],
  ['number', /^Edm\.(?:Decimal|Double|Single)$/],
  ['date', /^Edm\.Date$/],
  ['time', /^Edm\.DateTimeOffset$/],
];
const maxComplexDepth = 5;
const maxFields = 1_500;

export const plainField = (name: string, label: string, type: FieldType): FieldMetadata => ({
  ...{ name, label, type, custom: false, syncable: true, volatile: false, reason: null },
});

/** The type of a field with values of this primitive or enumeration type; undefined where there is none. */
function findFieldType(csdl: Csdl, type: string): FieldType | undefined {
  const { name, isFlags } = csdl.toSimple(type);
  if (isFlags !== undefined) return isFlags ? 'text' : 'list';
  return fieldTypes.find(([, edm]) => edm.test(name))?.[0];
}

/** Why a property can't be synced; `inside`: the complex types that contain it. */
function findReason(csdl: Csdl, property: CsdlProperty, inside: readonly CsdlType[]): string | undefined {
  if (property.name === '__proto__') return 'This name is reserved in JavaScript';
  if (property.isCollection) return 'A collection of values is not synced';
  const complex = csdl.findType(property.type);
  if (complex !== undefined && inside.includes(complex))
    return `The complex type ${complex.name} contains itself`;
  if (complex !== undefined && inside.length === maxComplexDepth)
    return `The complex type has more than ${maxComplexDepth} levels`;
  if (complex !== undefined || findFieldType(csdl, property.type) !== undefined) return undefined;
  const { name } = csdl.toSimple(property.type);
  if (name === 'Edm.Stream') return 'A stream is not part of a record';
  if (name === 'Edm.Binary') return 'Binary values are not synced';
  if (name.startsWith('Edm.Geo')) return 'Geographic values are not synced';
  return `The type ${property.type} is not described`;
}

/** The fields in the order of the metadata. */
export function describeFields(csdl: Csdl, type: CsdlType): FieldMetadata[] {
  const fields = new Map<string, FieldMetadata>();
  const add = (name: string, property: CsdlProperty, inside: readonly CsdlType[]): void => {
    const isFull = fields.size >= maxFields;
    if (isFull && inside.length > 0) return;
    const reason = isFull ? `There are more than ${maxFields} fields` : findReason(csdl, property, inside);
    const field = plainField(name, labelOf(property) ?? name, 'text');
    const complex = csdl.findType(property.type);
    if (reason !== undefined) fields.set(name, { ...field, syncable: false, reason });
    else if (complex === undefined)
      fields.set(name, { ...field, type: findFieldType(csdl, property.type) ?? 'text' });
    else for (const part of complex.properties) add(`${name}.${part.name}`, part, [...inside, complex]);
  };
  for (const property of type.properties) add(property.name, property, []);
  return [...fields.values()];
}
