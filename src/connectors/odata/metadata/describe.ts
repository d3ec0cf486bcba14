// From a metadata document to record types: one for each entity set, with the reason where it can't be synced.
// Pure; what the service supports of the queries is found by probe.ts.
import type { FieldMetadata, RecordTypeMetadata } from '../../connector.ts';
import type { RecordTypeHead } from '../../discovery.ts';
import type { OdataDialect, OdataSettings } from '../connection.ts';
import type { Csdl, CsdlNavigation, CsdlSet, CsdlType } from './csdl.ts';
import { idField, linesField, type OdataDefinition } from './definition.ts';
import { describeFields, plainField, withBaseTypes } from './fields.ts';

type Options = Pick<OdataSettings, 'dialect' | 'entitySets'>;
type EntitySet = {
  readonly set: CsdlSet;
  readonly name: string;
  readonly label: string;
  readonly type: CsdlType | undefined;
  readonly key: OdataDefinition['key'];
  /** What the settings say of this one. */
  readonly own: OdataSettings['entitySets'][string];
  readonly reason: string | null;
};
export type Described = Omit<RecordTypeMetadata, 'definition' | 'reason'> & {
  readonly definition: OdataDefinition;
  readonly reason: string | null;
};
type Fields = ReadonlyMap<string, FieldMetadata>;

const modifiedNames = [
  ...['lastmodifieddatetime', 'systemmodifiedat', 'modifieddatetime', 'lastchangedatetime', 'lastmodifiedon'],
  ...['lastmodified', 'modifiedat', 'changedat'],
];
/** Calculated from other records: they change without the modification time moving. */
const volatileNames: Partial<Record<OdataDialect, readonly string[]>> = {
  businessCentral: ['status', 'remainingAmount', 'balance', 'balanceDue', 'overdueAmount', 'inventory'],
  acumatica: ['Balance', 'Status'],
};
const integerKeys = /^Edm\.(?:S?Byte|Int(?:16|32|64))$/;
const otherKeys = /^Edm\.(?:String|Guid|Decimal|Date|DateTimeOffset|TimeOfDay|Boolean)$/;
const lineNotes = [
  'A change of a line that does not move the time of its record is found by the next full read.',
  'That a response lacks no line of a record is not proved: the service is not asked for their number.',
];

/** Letters, digits and `_`, at most 63, the first a letter. */
const toRecordTypeName = (set: string): string =>
  `${/^[A-Za-z]/.test(set) ? '' : 'x'}${set.replaceAll(/\W/g, '_')}`.slice(0, 63);

/** The type of the property at a path; empty where there is none. */
function typeOfPath(csdl: Csdl, type: CsdlType | undefined, path: string): string {
  const [first = '', ...rest] = path.split('/');
  const properties = type === undefined ? [] : withBaseTypes(csdl, type).flatMap((one) => one.properties);
  const found = properties.find(({ name }) => name === first)?.type ?? '';
  return rest.length === 0
    ? csdl.toUnderlying(found)
    : typeOfPath(csdl, csdl.findType(found), rest.join('/'));
}

function findReason(csdl: Csdl, { set, type, key }: Pick<EntitySet, 'set' | 'type' | 'key'>): string | null {
  if (type === undefined) return `The type ${set.type} is not described`;
  if (key.length === 0) return `The entity type ${set.type} has no key`;
  const isComparable = (edm: string) =>
    integerKeys.test(edm) || otherKeys.test(edm) || csdl.isFlags(edm) === false;
  const unusable = key.find((part) => !isComparable(part.type));
  return unusable === undefined ? null : `The key ${unusable.path} is of a type that can't be queried`;
}

/** Every entity set, by the name of its record type: of several names that fold to one, the first has it. */
function listEntitySets(csdl: Csdl, { entitySets }: Options): EntitySet[] {
  const taken = new Map<string, string>();
  return csdl.sets
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map((set) => {
      const type = csdl.findType(set.type);
      const own = Object.hasOwn(entitySets, set.name) ? (entitySets[set.name] ?? {}) : {};
      const inherited = type === undefined ? [] : withBaseTypes(csdl, type).flatMap(({ key }) => key);
      const paths = own.keyField === undefined ? inherited : [own.keyField.replaceAll('.', '/')];
      const key = paths.map((path) => ({ path, type: typeOfPath(csdl, type, path) }));
      const wanted = toRecordTypeName(set.name);
      const first = taken.get(wanted.toLowerCase());
      let name = wanted;
      for (let n = 2; taken.has(name.toLowerCase()); n += 1) name = `${wanted.slice(0, 59)}_${n}`;
      taken.set(name.toLowerCase(), set.name);
      const clash = `The entity set ${first} has the same name but for case and punctuation`;
      const label = csdl.findLabel(set.name) ?? (type && csdl.findLabel(type.name)) ?? set.name;
      const reason = first === undefined ? findReason(csdl, { set, type, key }) : clash;
      return { set, name, label, type, key, own, reason };
    });
}

/** The record types that the metadata list, without their fields. */
export const listHeads = (csdl: Csdl, options: Options): RecordTypeHead[] =>
  listEntitySets(csdl, options).map(({ set, name, label, reason }) => ({
    ...{ name, label, reason, family: 'list', custom: false, table: set.name, source: '$metadata' },
    syncable: reason === null ? null : false,
  }));

const navigationsOf = (csdl: Csdl, type: CsdlType | undefined): CsdlNavigation[] =>
  type === undefined ? [] : withBaseTypes(csdl, type).flatMap(({ navigations }) => navigations);

/** The record types that foreign keys name, by the path of the key. */
function findReferences(csdl: Csdl, { set, type }: EntitySet, all: readonly EntitySet[]) {
  const targets = new Map<string, string>();
  for (const { name, type: target, isCollection, constraints } of navigationsOf(csdl, type)) {
    const [pair, ...more] = constraints;
    if (isCollection || pair === undefined || more.length > 0) continue;
    const ofType = all.filter((one) => one.type !== undefined && one.type === csdl.findType(target));
    const bound = ofType.find((one) => one.set.name === set.bindings.get(name));
    const found = bound ?? (ofType.length === 1 ? ofType[0] : undefined);
    const isKey = found?.key.length === 1 && found.key[0]?.path === pair[1];
    if (isKey && found.reason === null) targets.set(pair[0], found.name);
  }
  return targets;
}

const isSame = (name: string, other: string): boolean => name.toLowerCase() === other.toLowerCase();

/** The collection with the lines of a record: by name; of several, that of the type's own name or a contained one. */
function findLines(csdl: Csdl, { type, own }: EntitySet): CsdlNavigation | undefined {
  const collections = navigationsOf(csdl, type).filter(
    ({ isCollection, type: line }) => isCollection && csdl.findType(line) !== undefined,
  );
  if (own?.linesField !== undefined) return collections.find(({ name }) => name === own.linesField);
  const stem = (type?.name.split('.').at(-1) ?? '').replace(/_?type$/i, '');
  const named = collections.filter(({ name }) => /(?:lines?|items?)$/i.test(name));
  const ofType = named.filter(({ name }) => isSame(name.replace(/^_|^to_/, '').slice(0, stem.length), stem));
  const contained = named.filter(({ isContained }) => isContained);
  return [ofType, contained, named].find(({ length }) => length === 1)?.[0];
}

type Lines = { readonly field: FieldMetadata; readonly of: OdataDefinition['lines'] };
function describeLines(csdl: Csdl, entitySet: EntitySet): Lines | null {
  const navigation = entitySet.reason === null ? findLines(csdl, entitySet) : undefined;
  const type = navigation && csdl.findType(navigation.type);
  if (navigation === undefined || type === undefined) return null;
  const label = csdl.findLabel(`${entitySet.type?.name}/${navigation.name}`) ?? navigation.name;
  const fields = [...describeFields(csdl, type).values()];
  const key = withBaseTypes(csdl, type).flatMap((one) => one.key);
  return {
    field: { ...plainField(linesField, label, 'lines'), fields },
    of: { navigation: navigation.name, key, isCounted: true },
  };
}

/** The path of the property with the time of the last modification. */
function findModified({ own }: EntitySet, fields: Fields): string | null {
  const times = [...fields].filter(([, { type, syncable }]) => type === 'time' && syncable);
  if (own?.changedField !== undefined)
    return times.find(([, { name }]) => name === own.changedField)?.[0] ?? null;
  const named = modifiedNames.map((wanted) => times.find(([path]) => isSame(path, wanted)));
  return named.find((found) => found !== undefined)?.[0] ?? null;
}

function describeHeader(csdl: Csdl, entitySet: EntitySet, all: readonly EntitySet[], { dialect }: Options) {
  const { type, reason } = entitySet;
  const references = findReferences(csdl, entitySet, all);
  const described = type === undefined ? [] : [...describeFields(csdl, type)];
  return new Map(
    described.map(([path, field]) => {
      const target = field.syncable ? references.get(path) : undefined;
      const volatile = volatileNames[dialect]?.includes(field.name) === true;
      const reference = target === undefined ? {} : { type: 'reference' as const, target };
      return [
        path,
        { ...field, volatile, ...reference, ...(reason !== null && { syncable: false, reason }) },
      ];
    }),
  );
}

/** With a name of its own where the warehouse has another meaning for that of the property. */
function nameFields(fields: Fields, { key, reason }: EntitySet) {
  const renamed: Record<string, string> = {};
  const isKey = key.length === 1 && key[0]?.path === idField;
  const named = [...fields].map(([path, field]) => {
    if (path !== linesField && (path !== idField || isKey)) return field;
    renamed[`${path}Property`] = path;
    return { ...field, name: `${path}Property` };
  });
  const own = { ...plainField(idField, 'Record key', 'text'), syncable: reason === null, reason };
  return { renamed, fields: isKey ? named : [own, ...named] };
}

const findNamed = (fields: readonly FieldMetadata[], names: readonly string[]): string | null =>
  names.find((name) => fields.some((field) => field.name === name && field.syncable)) ?? null;

/** As the metadata describe it; ids other than integers are in the order of the service. */
function toRecordType(
  csdl: Csdl,
  entitySet: EntitySet,
  all: readonly EntitySet[],
  options: Options,
): Described {
  const { set, name, label, key, reason } = entitySet;
  const header = describeHeader(csdl, entitySet, all, options);
  const lines = describeLines(csdl, entitySet);
  const modified = findModified(entitySet, header);
  const { renamed, fields } = nameFields(header, entitySet);
  const isInteger = key.length === 1 && integerKeys.test(key[0]?.type ?? '');
  return {
    ...{ name, label, reason, table: set.name, source: '$metadata', family: 'list', custom: false },
    idType: isInteger ? 'integer' : 'text',
    ...(!isInteger && { keyOrder: 'server' as const }),
    fields: lines === null ? fields : [...fields, lines.field],
    openWhen: null,
    modifiedField: modified?.replaceAll('/', '.') ?? null,
    linesModifiedField: null,
    shownAs: {
      number: findNamed(fields, ['number', 'documentNumber', ...key.map(({ path }) => path)]),
      name: findNamed(fields, ['displayName', 'customerName', 'vendorName', 'name', 'Name', 'description']),
      date: findNamed(fields, ['invoiceDate', 'orderDate', 'documentDate', 'postingDate']),
      amount: findNamed(fields, ['totalAmountIncludingTax', 'totalAmount', 'amount']),
    },
    reading: {
      curated: false,
      changes: modified === null ? 'full' : 'modified',
      deletions: 'compared',
      notes: lines === null ? [] : lineNotes,
    },
    definition: {
      ...{ set: set.name, key, modified, paging: 'key', tracksChanges: false, renamed },
      lines: lines?.of ?? null,
    },
  };
}

/** The record types of these names; absent are those that the metadata don't list. */
export function describeRecordTypes(csdl: Csdl, options: Options, only: readonly string[]): Described[] {
  const all = listEntitySets(csdl, options);
  return all
    .filter(({ name }) => only.includes(name))
    .map((entitySet) => toRecordType(csdl, entitySet, all, options));
}
