// What a profile describes: types, entity sets and the vendor's habits.

/** Generated texts: a template (`{n}` is the record's number, `{n:5}` padded with zeros), or one of a list. */
type Sample = string | readonly string[];

export type Property = {
  /** `Edm.…`, an enum or complex type of the profile, or a `Collection(Edm.…)`. */
  readonly type: string;
  readonly isRequired?: true;
  readonly MaxLength?: number;
  readonly Precision?: number;
  readonly Scale?: number | 'variable';
  /** How many decimals generated values have, where Scale doesn't say it. */
  readonly decimals?: number;
  readonly label?: string;
  readonly sample?: Sample;
  /** Generated values are keys of this set. */
  readonly refers?: string;
  /** Generated values are the sum of this property of the lines. */
  readonly sumOf?: string;
};
export type Properties = Readonly<Record<string, Property>>;

/** Own property → property of the other entity. */
type Constraint = Readonly<Record<string, string>>;

export type EntitySet = {
  readonly name: string;
  readonly type: string;
  readonly keys: readonly string[];
  readonly properties: Properties;
  /** The property with the time of the last modification. */
  readonly changed?: string;
  /** Navigation properties to one entity. */
  readonly references?: Readonly<Record<string, { readonly set: string; readonly by: Constraint }>>;
  readonly lines?: { readonly navigation: string; readonly set: string };
  /** Of a set of lines: their header, and the property that numbers the lines of one header, in steps. */
  readonly header?: {
    readonly set: string;
    readonly by: Constraint;
    readonly number: string;
    readonly step: number;
  };
  /** Lines are read through their header or with its key in the filter. */
  readonly isOnlyByHeader?: true;
  readonly refusesDeltas?: true;
};

export type Profile = {
  readonly name: string;
  /** The path of the service root, which ends with a slash. */
  readonly root: string;
  readonly namespace: string;
  readonly container: string;
  readonly version: '4.0' | '4.01';
  readonly signIn: 'oauth2' | 'basic' | 'header';
  readonly maxPageSize: number;
  /** nextLink, deltaLink and context are relative to the service root. */
  readonly hasRelativeLinks: boolean;
  /** Digits of a second in modification times; without `keepsZeros` zeros at their end are left out. */
  readonly timeDigits: number;
  readonly keepsZeros: boolean;
  /** What names a deleted entity of a delta: its relative URL, or its bare key. OData 4.01 has its key properties. */
  readonly deletedEntities: 'url' | 'bareKey';
  /** How labels are written: an annotation, SAP's attribute, or none. */
  readonly labels: 'annotation' | 'attribute' | 'none';
  /** Empty texts, days and keys instead of null. */
  readonly hasNoNulls: boolean;
  /** The set whose entities contain all other sets. */
  readonly companies?: string;
  readonly enums: Readonly<Record<string, readonly string[]>>;
  readonly complexTypes: Readonly<Record<string, Properties>>;
  readonly sets: readonly EntitySet[];
};

type More = Partial<Property>;
export const property = (type: string, more: More = {}): Property => ({ type: `Edm.${type}`, ...more });
export const text = (MaxLength: number, sample?: Sample, more: More = {}): Property =>
  property('String', { MaxLength, ...(sample === undefined ? {} : { sample }), ...more });
export const decimal = (decimals: number, more: More = {}): Property =>
  property('Decimal', { Scale: 'variable', decimals, ...more });
export const guid = (more: More = {}): Property => property('Guid', more);
export const guidKey: Property = guid({ isRequired: true });
