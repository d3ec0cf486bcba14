// What a credential may read, computed in memory from what an unlimited one reads. Shares nothing with the
// service.

export type FieldKind = 'text' | 'number' | 'integer' | 'boolean' | 'date' | 'time' | 'lines';
export type MaskKind = 'hash' | 'last4' | 'year';
export type LineModel = { readonly name: string; readonly source: string; readonly mask: MaskKind | null };
export type FieldModel = LineModel & {
  readonly kind: FieldKind;
  readonly scopable: boolean;
  readonly lines: readonly LineModel[];
};
export type FilterModel = { readonly parameter: string; readonly field: string; readonly operator: string };
export type EndpointModel = {
  readonly name: string;
  readonly recordType: string;
  readonly idType: 'integer' | 'text';
  readonly fields: readonly FieldModel[];
  readonly filters: readonly FilterModel[];
  readonly sorts: readonly string[];
  readonly defaultSort: { readonly field: string; readonly order: 'asc' | 'desc' } | null;
  readonly maxPageSize: number;
} & DeclarationsModel;
/**
 * What a version may offer beyond filters and sorts by one field. Empty or false: the endpoint doesn't
 * declare it.
 */
export type DeclarationsModel = {
  readonly search: readonly string[];
  readonly takesOr: boolean;
  /** As documents write them: a leading `-` means descending. */
  readonly sortSets: readonly (readonly string[])[];
  readonly aggregates: readonly {
    readonly field: string;
    readonly functions: readonly AggregateFunction[];
  }[];
  readonly groups: readonly GroupModel[];
  readonly relations: readonly RelationModel[];
};
export type AggregateFunction = 'sum' | 'avg' | 'min' | 'max' | 'count_distinct';
export type Period = 'day' | 'week' | 'month' | 'quarter' | 'year';
export type GroupModel = { readonly field: string; readonly periods: readonly Period[] | null };
export type RelationModel = { readonly name: string; readonly field: string; readonly resource: string };
export type VersionModel = { readonly version: string; readonly endpoints: readonly EndpointModel[] };

export type Condition = { readonly field: string; readonly source: string; readonly in: readonly string[] };
export type Layer = {
  readonly versions: readonly string[];
  readonly resources: readonly string[];
  readonly rows: {
    readonly resources: Readonly<
      Record<string, { readonly recordType: string; readonly conditions: readonly Condition[] }>
    >;
    readonly others: boolean;
  } | null;
  readonly fields: Readonly<Record<string, readonly string[]>> | null;
};
export type Access = { readonly layers: readonly Layer[]; readonly unmasked: boolean };

/** A record as `parseExact` reads it. */
export type ExactRecord = { readonly id: string } & Readonly<Record<string, unknown>>;

export type OutOfScope = 'version_out_of_scope' | 'resource_out_of_scope';

/**
 * What the 403 for a version, or a resource of that name, says, whether or not there is one; undefined when
 * the scopes allow it.
 */
export function outOfScope(
  { layers }: Access,
  version: string,
  resource: string | null,
): OutOfScope | undefined {
  for (const { versions } of layers)
    if (versions.length > 0 && !versions.includes(version)) return 'version_out_of_scope';
  if (resource === null) return undefined;
  const allowed = layers.every(
    ({ resources, rows }) =>
      (resources.length === 0 || resources.includes(resource)) &&
      (rows === null || rows.others || rows.resources[resource] !== undefined),
  );
  return allowed ? undefined : 'resource_out_of_scope';
}

/** Whether the resource is readable; otherwise what the 403 names. */
export function readability(
  access: Access,
  version: string,
  endpoint: EndpointModel,
): 'readable' | OutOfScope {
  const refused = outOfScope(access, version, endpoint.name);
  if (refused !== undefined) return refused;
  for (const { rows } of access.layers) {
    const named = rows?.resources[endpoint.name];
    if (named === undefined) continue;
    if (named.recordType !== endpoint.recordType) return 'resource_out_of_scope';
    const qualifies = ({ source }: Condition): boolean =>
      source === 'id' || endpoint.fields.some((field) => field.source === source && field.scopable);
    if (!named.conditions.every(qualifies)) return 'resource_out_of_scope';
  }
  return 'readable';
}

const shown = (value: unknown): string =>
  typeof value === 'string' ? value.replace(/^#/, '') : String(value);
const decimal = (text: string): string => {
  const [, sign = '', whole = '', fraction = ''] = /^(-?)0*(\d+?)(?:\.(\d*?)0*)?$/.exec(text) ?? [];
  const digits = fraction === '' ? whole : `${whole}.${fraction}`;
  return digits === '0' ? '0' : `${sign}${digits}`;
};

export function equals(kind: FieldKind, value: unknown, wanted: string): boolean {
  if (value === null || value === undefined) return false;
  const text = shown(value);
  if (kind === 'number' || kind === 'integer') return decimal(text) === decimal(wanted);
  if (kind !== 'time') return text === wanted;
  return wanted.length === 10
    ? new Date(text).toISOString().slice(0, 10) === wanted
    : Date.parse(text) === Date.parse(wanted);
}

export const listConditions = ({ layers }: Access, { name }: EndpointModel): Condition[] =>
  layers.flatMap(({ rows }) => rows?.resources[name]?.conditions ?? []);

/**
 * Whether each layer's conditions hold for a record of an unlimited reader, and, if there are any, the record
 * isn't withheld.
 */
export function allows(
  access: Access,
  endpoint: EndpointModel,
  record: ExactRecord,
  withheld: ReadonlySet<string>,
): boolean {
  const conditions = listConditions(access, endpoint);
  return (
    (conditions.length === 0 || !withheld.has(record.id)) &&
    conditions.every(({ source, in: wanted }) => {
      const field = endpoint.fields.find((one) => one.source === source && one.scopable);
      const kind = source === 'id' ? endpoint.idType : (field?.kind ?? 'text');
      const value = source === 'id' ? record.id : record[field?.name ?? ''];
      return wanted.some((one) => equals(kind, value, one));
    })
  );
}

export const visibleFields = ({ layers }: Access, endpoint: EndpointModel): FieldModel[] =>
  endpoint.fields.filter(({ name }) =>
    layers.every(({ fields }) => {
      const allowed = fields?.[endpoint.name];
      return allowed === undefined || allowed.includes(name);
    }),
  );

/**
 * The masked text of a value as an unlimited reader sees it. `hashes` has what the service answers for hashed
 * values.
 */
export function masked(value: unknown, mask: MaskKind, hashes: ReadonlyMap<string, string>): unknown {
  if (value === null || value === undefined) return value;
  const text = shown(value);
  if (mask === 'year') return /^\d+/.exec(text)?.[0];
  if (mask === 'last4') return `****${[...text].length >= 8 ? [...text].slice(-4).join('') : ''}`;
  return hashes.get(text) ?? `no hash known for ${text}`;
}

export type Hashes = (recordType: string, source: string) => ReadonlyMap<string, string>;

/** The record as this reader sees it. */
export function seenBy(
  access: Access,
  endpoint: EndpointModel,
  record: ExactRecord,
  hashes: Hashes,
): Record<string, unknown> {
  const seen: Record<string, unknown> = { id: record.id };
  for (const { name, mask, source, kind, lines } of visibleFields(access, endpoint)) {
    const value = record[name];
    if (kind === 'lines')
      seen[name] =
        access.unmasked || value === null
          ? value
          : (value as Record<string, unknown>[]).map((line) => seenLine(endpoint, lines, line, hashes));
    else
      seen[name] =
        access.unmasked || mask === null ? value : masked(value, mask, hashes(endpoint.recordType, source));
  }
  return seen;
}

const seenLine = (
  { recordType }: EndpointModel,
  lines: readonly LineModel[],
  line: Record<string, unknown>,
  hashes: Hashes,
) =>
  Object.fromEntries(
    lines.map(({ name, mask, source }) => [
      name,
      mask === null ? line[name] : masked(line[name], mask, hashes(recordType, `lines.${source}`)),
    ]),
  );

/** By id, as the service orders it. */
export const compareIds = (idType: 'integer' | 'text', a: string, b: string): number => {
  if (idType === 'text') return Buffer.compare(Buffer.from(a), Buffer.from(b));
  const [left, right] = [BigInt(a), BigInt(b)];
  return left < right ? -1 : left > right ? 1 : 0;
};

type Sum = { readonly digits: bigint; readonly scale: number };
const parseSum = (text: string): Sum => {
  const [whole = '', fraction = ''] = text.split('.');
  return { digits: BigInt(`${whole}${fraction}`), scale: fraction.length };
};
/** Exact, with the most decimals that a value has, as PostgreSQL writes it. */
export function sumDecimals(texts: readonly string[]): string {
  const values = texts.map(parseSum);
  const scale = Math.max(0, ...values.map((value) => value.scale));
  const total = values.reduce((sum, value) => sum + value.digits * 10n ** BigInt(scale - value.scale), 0n);
  const digits = String(total < 0n ? -total : total).padStart(scale + 1, '0');
  const text = scale === 0 ? digits : `${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
  return total < 0n ? `-${text}` : text;
}
