// What a credential may read of the published records: as API keys store it and tokens carry it.

/** One condition of a row scope: the field equals one of the values. A null value never matches. */
export type RowCondition = {
  /** The public name under which the condition was given; shown again, never looked up. */
  readonly field: string;
  /** The field of the record type behind it; `id` for the record's id. */
  readonly source: string;
  /** 1 to 100 texts, as a filter parameter would have them. */
  readonly in: readonly string[];
};

/** Which records of a resource are readable, in versions in which the resource has this record type. */
export type ResourceRows = {
  readonly recordType: string;
  /** All of them must hold; empty: every record. */
  readonly conditions: readonly RowCondition[];
};

export type RowScopes = {
  /** By resource name. */
  readonly resources: Readonly<Record<string, ResourceRows>>;
  /** Whether resources that aren't named are readable as a whole (`"*": []`) or not at all. */
  readonly others: boolean;
};

/** The scopes of one credential. */
export type AccessLayer = {
  /** Empty lists mean all. */
  readonly versions: readonly string[];
  readonly resources: readonly string[];
  /** Null: no row scope. */
  readonly rows: RowScopes | null;
  /** Names of readable fields by resource; a resource that isn't named is not limited. Null: no limit. */
  readonly fields: Readonly<Record<string, readonly string[]>> | null;
};

/**
 * What a caller may read: what every layer allows. A token has two layers, its key's present scopes and its
 * own; a person has none.
 */
export type RecordAccess = {
  readonly layers: readonly AccessLayer[];
  /** Whether masked fields are read as they are. */
  readonly unmasked: boolean;
};

export const unlimitedLayer: AccessLayer = { versions: [], resources: [], rows: null, fields: null };

/** Whether the layer limits anything: such a key has no permission in the management interface. */
export const isRestricted = ({ versions, resources, rows, fields }: AccessLayer): boolean =>
  versions.length > 0 || resources.length > 0 || rows !== null || fields !== null;

/** Of a person: every record, masked fields only with `unmasked:read`. */
export const accessOfPerson = (permissions: ReadonlySet<string>): RecordAccess => ({
  layers: [],
  unmasked: permissions.has('unmasked:read'),
});

/** Of code inside the service whose results no caller sees as they are. */
export const fullAccess: RecordAccess & { readonly rows: 'all' } = {
  layers: [],
  unmasked: true,
  rows: 'all',
};

export const allowsVersion = ({ layers }: RecordAccess, version: string): boolean =>
  layers.every(({ versions }) => versions.length === 0 || versions.includes(version));

/** Whether the resource of that name may be readable in some version. */
export const allowsResource = ({ layers }: RecordAccess, resource: string): boolean =>
  layers.every(
    ({ resources, rows }) =>
      (resources.length === 0 || resources.includes(resource)) &&
      (rows === null || rows.others || Object.hasOwn(rows.resources, resource)),
  );

export const allowsField = ({ layers }: RecordAccess, resource: string, field: string): boolean =>
  layers.every(
    ({ fields }) =>
      fields === null || !Object.hasOwn(fields, resource) || fields[resource]?.includes(field) === true,
  );
