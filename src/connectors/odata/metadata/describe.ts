// From a metadata document to record types: one for each entity set, with the reason where it can't be synced.
// Pure; what the service supports of the queries is found by probe.ts.
import { hash } from 'node:crypto';
import type { FieldMetadata, RecordTypeMetadata } from '../../connector.ts';
import type { RecordTypeHead } from '../../discovery.ts';
import type { OdataDialect, OdataSettings } from '../connection.ts';
import { type Csdl, type CsdlProperty, type CsdlType, labelOf } from './csdl.ts';
import { idField, linesField, type OdataDefinition } from './definition.ts';
import { describeFields, plainField } from './fields.ts';

type Options = Pick<OdataSettings, 'dialect' | 'entitySets'>;
/** An entity set with the name of its record type; `own`: what the settings say of it. */
type EntitySet = ReturnType<typeof listEntitySets>[number];
type Sets = ReadonlyMap<CsdlType | undefined, readonly EntitySet[]>;
export type Described = RecordTypeMetadata &
  Required<Pick<RecordTypeMetadata, 'reading' | 'reason'>> & { readonly definition: OdataDefinition };

const modifiedNames = [
  ...['lastmodifieddatetime', 'systemmodifiedat', 'modifieddatetime', 'lastchangedatetime', 'lastmodifiedon'],
  ...['lastmodified', 'modifiedat', 'changedat'],
];
/** Calculated from other records, without a new time of this one, which is closed once the first of them is 0. */
const volatileNames: Partial<Record<OdataDialect, readonly string[]>> = {
  businessCentral: ['remainingAmount', 'status', 'balance', 'balanceDue', 'overdueAmount', 'inventory'],
  acumatica: ['DocBal', 'CuryDocBal', 'Status'],
};
const keyTypes = /^Edm\.(?:S?Byte|Int\d\d|String|Guid|Decimal|Date|DateTimeOffset|TimeOfDay|Boolean)$/;
/** Integer ids have up to 18 digits, Int64 up to 19. */
const integerKeys = /^Edm\.(?:S?Byte|Int(?:16|32))$/;
/** A word begins with a capital, or behind what is no letter: `Deadlines` aren't lines. */
const linesNames = [/(?:Line|Item)s?(?:Collection)?$/, /(?:^|[^a-z])(?:line|item)s?(?:collection)?$/i];
const plainName = /^[A-Za-z]\w{0,62}$/;

/** The name of a set's record type: its own, or one with a hash of it where that has other characters or a clash. */
function toRecordTypeName(set: string, hasClash: boolean): string {
  if (plainName.test(set) && !hasClash) return set;
  const folded = `${/^[A-Za-z]/.test(set) ? '' : 'x'}${set.replaceAll(/\W/g, '_')}`;
  return `${folded.slice(0, 54)}_${hash('sha256', set).slice(0, 8)}`;
}

/** The type of the property at a path of a type; empty where there is none. */
function typeOfPath(csdl: Csdl, type: string, path: string): string {
  const propertiesOf = (name: string) => csdl.findType(name)?.properties ?? [];
  const step = (owner: string, part: string) =>
    propertiesOf(owner).find(({ name }) => name === part)?.type ?? '';
  return csdl.toSimple(path.split('/').reduce(step, type)).name;
}

function findReason(csdl: Csdl, type: string, key: OdataDefinition['key']): string | null {
  if (csdl.findType(type) === undefined) return `The type ${type} is not described`;
  if (key.length === 0) return `The entity type ${type} has no key`;
  const unusable = key.find(
    (part) => !keyTypes.test(part.type) && csdl.toSimple(part.type).isFlags !== false,
  );
  return unusable === undefined ? null : `The key ${unusable.path} is of a type that can't be queried`;
}

function listEntitySets(csdl: Csdl, { entitySets }: Options) {
  const byCase = Map.groupBy(csdl.sets, ({ name }) => name.toLowerCase());
  return csdl.sets
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map((set) => {
      const type = csdl.findType(set.type);
      const own = Object.hasOwn(entitySets, set.name) ? (entitySets[set.name] ?? {}) : {};
      const paths = own.keyField === undefined ? type?.key : [own.keyField.replaceAll('.', '/')];
      const key = (paths ?? []).map((path) => ({ path, type: typeOfPath(csdl, set.type, path) }));
      const name = toRecordTypeName(set.name, byCase.get(set.name.toLowerCase())?.length !== 1);
      const label = labelOf(set) ?? (type && labelOf(type)) ?? set.name;
      return { set, name, label, type, key, own, reason: findReason(csdl, set.type, key) };
    });
}

/** The record types that the metadata list, without their fields. */
export const listHeads = (csdl: Csdl, options: Options): RecordTypeHead[] =>
  listEntitySets(csdl, options).map(({ set, name, label, reason }) => ({
    ...{ name, label, reason, family: 'list', custom: false, table: set.name, source: '$metadata' },
    syncable: reason === null ? null : false,
  }));

/** The record types that foreign keys name, by the path of the key. */
function findReferences(csdl: Csdl, { set, type }: EntitySet, sets: Sets): Map<string, string> {
  const targets = (type?.navigations ?? []).flatMap(({ name, type: target, isCollection, constraints }) => {
    const [pair, ...more] = constraints;
    const ofType = sets.get(csdl.findType(target)) ?? [];
    const bound = ofType.find((one) => one.set.name === set.bindings.get(name));
    const found = bound ?? (ofType.length === 1 ? ofType[0] : undefined);
    if (isCollection || pair === undefined || more.length > 0 || found?.reason !== null) return [];
    return found.key.length === 1 && found.key[0]?.path === pair[1] ? [[pair[0], found.name] as const] : [];
  });
  return new Map(targets);
}

const isSame = (name: string, other: string): boolean => name.toLowerCase() === other.toLowerCase();
const toPath = (name: string): string => name.replaceAll('.', '/');

/** The collection with the lines of a record: by name; of several, that of the type's own name or a contained one. */
function findLines({ type, own }: EntitySet): CsdlProperty | undefined {
  const collections = (type?.navigations ?? []).filter(({ isCollection }) => isCollection);
  if (own?.linesField !== undefined) return collections.find(({ name }) => name === own.linesField);
  const stem = (type?.name.split('.').at(-1) ?? '').replace(/_?type$/i, '');
  const named = collections.filter(({ name }) => linesNames.some((pattern) => pattern.test(name)));
  const ofType = named.filter(({ name }) => isSame(name.replace(/^_|^to_/, '').slice(0, stem.length), stem));
  const contained = named.filter(({ isContained }) => isContained);
  return [ofType, contained, named].find(({ length }) => length === 1)?.[0];
}

function describeLines(csdl: Csdl, entitySet: EntitySet) {
  const navigation = findLines(entitySet);
  const type = navigation && csdl.findType(navigation.type);
  if (type === undefined || navigation === undefined) return null;
  const label = labelOf(navigation) ?? navigation.name;
  const field = { ...plainField(linesField, label, 'lines'), fields: describeFields(csdl, type) };
  return { field, of: { navigation: navigation.name, key: type.key, isCounted: true } };
}

/** Of these fields, the one with the time of the last modification, by its name. */
export function findModified(fields: readonly FieldMetadata[], chosen?: string | null) {
  const times = fields.filter((field) => field.type === 'time' && field.syncable);
  const names = chosen === undefined ? modifiedNames : [chosen ?? ''];
  return names.flatMap((wanted) => times.find(({ name }) => isSame(name, wanted)) ?? [])[0];
}

function describeHeader(csdl: Csdl, entitySet: EntitySet, sets: Sets, options: Options): FieldMetadata[] {
  const { type, key } = entitySet;
  const references = findReferences(csdl, entitySet, sets);
  return (type === undefined ? [] : describeFields(csdl, type)).map((field) => {
    const path = toPath(field.name);
    const target = field.syncable ? references.get(path) : undefined;
    const isLongKey = key.some((part) => part.path === path && part.type === 'Edm.Int64');
    const own = isLongKey ? 'text' : field.type;
    const volatile = volatileNames[options.dialect]?.includes(field.name) === true;
    return { ...field, volatile, ...(target === undefined ? { type: own } : { type: 'reference', target }) };
  });
}

/** With a name of its own where the warehouse has another meaning for that of the property. */
function nameFields(fields: readonly FieldMetadata[], key: OdataDefinition['key']) {
  const isKey = key.length === 1 && key[0]?.path === idField;
  const taken = isKey ? [linesField] : [linesField, idField];
  const toName = (name: string) => (taken.includes(name) ? `${name}Property` : name);
  const named = fields.map((field) => ({ ...field, name: toName(field.name) }));
  const changed = fields.flatMap(({ name }) => (taken.includes(name) ? [[toName(name), name]] : []));
  const own = isKey ? [] : [plainField(idField, 'Record key', 'text')];
  return { renamed: Object.fromEntries(changed), fields: [...own, ...named] };
}

const findNamed = (fields: readonly FieldMetadata[], names: readonly string[]): string | null =>
  names.find((name) => fields.some((field) => field.name === name && field.syncable)) ?? null;

/** The record type, of which nothing can be read for this reason. */
export const exclude = (described: Described, reason: string): Described => ({
  ...described,
  ...{ reason, openWhen: null, modifiedField: null },
  fields: described.fields.map((field) => ({ ...field, syncable: false, reason })),
});

/** As the metadata describe it; ids other than integers are in the order of the service. */
function toRecordType(csdl: Csdl, entitySet: EntitySet, sets: Sets, options: Options): Described {
  const { set, name, label, key, own, reason } = entitySet;
  const header = describeHeader(csdl, entitySet, sets, options);
  const lines = describeLines(csdl, entitySet);
  const modified = findModified(header, own?.changedField);
  const { renamed, fields } = nameFields(header, key);
  const isInteger = key.length === 1 && integerKeys.test(key[0]?.type ?? '');
  const open = findNamed(fields, volatileNames[options.dialect]?.slice(0, 1) ?? []);
  const described: Described = {
    ...{ name, label, reason: null, table: set.name, source: '$metadata', family: 'list', custom: false },
    idType: isInteger ? 'integer' : 'text',
    ...(!isInteger && { keyOrder: 'server' as const }),
    fields: lines === null ? fields : [...fields, lines.field],
    openWhen: open === null ? null : { field: open, isNoneOf: ['0'], closedOn: null },
    modifiedField: modified?.name ?? null,
    linesModifiedField: null,
    shownAs: {
      number: findNamed(fields, ['number', 'documentNumber', ...key.map(({ path }) => path)]),
      name: findNamed(fields, ['displayName', 'customerName', 'vendorName', 'name', 'Name', 'description']),
      date: findNamed(fields, ['invoiceDate', 'orderDate', 'documentDate', 'postingDate']),
      amount: findNamed(fields, ['totalAmountIncludingTax', 'totalAmount', 'amount']),
    },
    reading: { curated: false, changes: 'full', deletions: 'compared', notes: [] },
    definition: {
      ...{ set: set.name, key, renamed, paging: 'key', tracksChanges: false, lines: lines?.of ?? null },
    },
  };
  return reason === null ? described : exclude(described, reason);
}

/** The record types of these names; absent are those that the metadata don't list. */
export function describeRecordTypes(csdl: Csdl, options: Options, only: readonly string[]): Described[] {
  const all = listEntitySets(csdl, options);
  const sets = Map.groupBy(all, ({ type }) => type);
  return all.filter(({ name }) => only.includes(name)).map((one) => toRecordType(csdl, one, sets, options));
}
