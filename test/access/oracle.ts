// What a limited reader must be answered: what an unlimited one is answered, filtered in memory. And what no
// answer may contain.
import { expect } from 'vitest';
import type { Answer, Call } from './call.ts';
import type { Fixture } from './fixture.ts';
import { isFound, isOfLines, matches } from './matching.ts';
import {
  type Access,
  allows,
  compareIds,
  type EndpointModel,
  type ExactRecord,
  type Hashes,
  listConditions,
  readability,
  seenBy,
  type VersionModel,
  visibleFields,
} from './model.ts';
import { filterText, orderText, type Query } from './queries.ts';
import { parseExact, tokensIn } from './random.ts';
import { unlimited } from './scopes.ts';
import type { Service } from './service.ts';

/** A credential and what it may read. */
export type Reader = {
  readonly access: Access;
  readonly secret: string;
  /** Of a key; undefined for a token. */
  readonly keyId?: string;
};

export type Oracle = {
  readonly fixture: Fixture;
  /** The service that answers. */
  readonly service: Service;
  readonly whole: Reader;
  readonly hashes: Hashes;
  /** The answer to GET `/api/public/<path>`. */
  get(reader: Reader, path: string, headers?: Record<string, string>): Promise<Answer>;
  /** Whole records of an unlimited reader in the order of the query, before any page. */
  wholeRecords(
    version: VersionModel,
    endpoint: EndpointModel,
    query: Pick<Query, 'filters' | 'q' | 'or' | 'sort' | 'order'>,
    /** The fields that `q` searches: all of the version when absent. */
    searched?: readonly string[],
  ): Promise<readonly ExactRecord[]>;
  /** Whole records of an unlimited reader before the data changed. */
  firstRecords(version: VersionModel, endpoint: EndpointModel): readonly ExactRecord[];
  /** To be called after the data has changed. */
  refresh(): Promise<void>;
};

/**
 * Throws an Error when a valid reader is answered 401 or 5xx, a tool fails, or an answer ends early that is
 * no export or stream: that says nothing about what they may read.
 */
const withoutFaults =
  (call: Call): Call =>
  async (sent) => {
    const answer = await call(sent);
    const mayEndEarly = /csv|ndjson|event-stream/.test(sent.headers?.['accept'] ?? '');
    const isFault =
      answer.status === 401 ||
      answer.status >= 500 ||
      !(answer.isWhole || mayEndEarly) ||
      (sent.path === '/mcp' && answer.text.includes('\\"code\\":\\"INTERNAL_ERROR'));
    if (isFault && !answer.text.includes('scope_field_stale'))
      throw new Error(`${sent.path}: ${answer.status} ${answer.text}`);
    return answer;
  };

const queryString = (parts: readonly string[]): string => (parts.length === 0 ? '' : `?${parts.join('&')}`);
export const buildPath = (
  { version }: VersionModel,
  { name }: EndpointModel,
  ...parts: readonly string[][]
): string => `${version}/${name}${queryString(parts.flat())}`;

export async function createOracle(fixture: Fixture, of: Service = fixture.service): Promise<Oracle> {
  const service: Service = { ...of, call: withoutFaults(of.call) };
  const whole: Reader = {
    access: { layers: [unlimited], unmasked: true },
    secret: (await fixture.key(unlimited, true)).secret,
  };
  const masked: Reader = {
    access: { layers: [unlimited], unmasked: false },
    secret: (await fixture.key(unlimited, false)).secret,
  };
  const known = new Map<string, Promise<readonly ExactRecord[]>>();
  const hashed = new Map<string, Map<string, string>>();
  const getFrom =
    (from: Service): Oracle['get'] =>
    ({ secret }, path, headers = {}) =>
      from.call({
        path: `/api/public/${path}`,
        headers: { authorization: `Bearer ${secret}`, 'x-tenant-id': fixture.organizationId, ...headers },
      });
  const get = getFrom(service);
  const exported = async (reader: Reader, path: string): Promise<readonly ExactRecord[]> => {
    const answer = await getFrom(fixture.service)(reader, path, { accept: 'application/x-ndjson' });
    expect(answer.status, answer.text).toBe(200);
    return answer.text
      .split('\n')
      .filter(Boolean)
      .map((line) => parseExact(line) as ExactRecord);
  };
  const wholeRecords: Oracle['wholeRecords'] = async (
    version,
    endpoint,
    query,
    searched = endpoint.search,
  ) => {
    const { q, or } = query;
    const asked = { filters: query.filters.filter(({ filter }) => !isOfLines(filter)), q: null, or: null };
    const path = buildPath(version, endpoint, filterText(asked), orderText(query));
    const found = known.get(path) ?? exported(whole, path);
    known.set(path, found);
    const ofLines = query.filters.filter(({ filter }) => isOfLines(filter));
    return (await found).filter(
      (record) =>
        ofLines.every((condition) => matches(endpoint, record, condition)) &&
        (q === null || isFound(record, q, searched)) &&
        (or === null || or.some((condition) => matches(endpoint, record, condition))),
    );
  };
  /**
   * The hashes are what the service answers to a reader who may see every record masked: a function of the
   * value, for each source.
   */
  const learn = async (): Promise<void> => {
    for (const version of fixture.versions)
      for (const endpoint of version.endpoints) {
        const [plain, hidden] = [
          await wholeRecords(version, endpoint, noQuery),
          await exported(masked, buildPath(version, endpoint, orderText(noQuery))),
        ];
        const path = buildPath(version, endpoint);
        if (!fixture.firstRecords.has(path)) fixture.firstRecords.set(path, plain);
        const byId = new Map(hidden.map((record) => [record.id, record]));
        for (const record of plain) learnRecord(hashed, endpoint, record, byId.get(record.id) ?? { id: '' });
      }
    for (const of of hashed.values()) expect(new Set(of.values()).size).toBe(of.size);
  };
  await learn();
  return {
    fixture,
    service,
    whole,
    get,
    wholeRecords,
    firstRecords: (version, endpoint) => fixture.firstRecords.get(buildPath(version, endpoint)) ?? [],
    hashes: (recordType, source) => hashed.get(`${recordType} ${source}`) ?? new Map(),
    refresh: async () => {
      known.clear();
      await learn();
    },
  };
}
const noQuery = { filters: [], q: null, or: null, sort: null, order: null } as const;

type Hashed = Map<string, Map<string, string>>;

function learnRecord(
  hashed: Hashed,
  { recordType, fields }: EndpointModel,
  plain: ExactRecord,
  hidden: ExactRecord,
): void {
  const learnValue = (source: string, value: unknown, hash: unknown): void => {
    if (value === null || value === undefined) return;
    const text = String(value).replace(/^#/, '');
    expect(hash).toMatch(/^[0-9a-f]{64}$/);
    const of = hashed.get(`${recordType} ${source}`) ?? new Map<string, string>();
    hashed.set(`${recordType} ${source}`, of);
    expect(of.get(text) ?? hash).toBe(hash);
    of.set(text, String(hash));
  };
  for (const { name, source, mask, lines } of fields) {
    if (mask === 'hash') learnValue(source, plain[name], hidden[name]);
    for (const line of lines.filter((one) => one.mask === 'hash'))
      for (const [at, values] of ((plain[name] ?? []) as Record<string, unknown>[]).entries())
        learnValue(
          `lines.${line.source}`,
          values[line.name],
          ((hidden[name] ?? []) as Record<string, unknown>[])[at]?.[line.name],
        );
  }
}

export type Case = {
  readonly oracle: Oracle;
  readonly reader: Reader;
  readonly version: VersionModel;
  readonly endpoint: EndpointModel;
  readonly query: Query;
  /** Chooses within the case, so that a case can be repeated by itself. */
  readonly seed: number;
};

export type Expected =
  | { readonly kind: 'refused'; readonly statuses: readonly number[]; readonly codes: readonly string[] }
  | {
      readonly kind: 'answered';
      /** In the order of the query, with all visible fields. */
      readonly records: readonly Record<string, unknown>[];
      /** The same records as an unlimited reader sees them. */
      readonly whole: readonly ExactRecord[];
    };

const refused = (statuses: readonly number[], codes: readonly string[]): Expected => ({
  kind: 'refused',
  statuses,
  codes,
});

type Part = 'filters' | 'order' | 'fields';

/**
 * Why the reader may not ask this; undefined when they may. `parts`: what of the query is asked; `further`:
 * fields that are used besides.
 */
export function findRefusal(
  { reader: { access }, version, endpoint, query }: Case,
  parts: readonly Part[],
  further: readonly string[] = [],
): Expected | undefined {
  const found = readability(access, version.version, endpoint);
  if (found !== 'readable') return refused([403], [found]);
  const { or, q, sort, filters } = query;
  const named = [...further];
  if (parts.includes('filters')) named.push(...[...filters, ...(or ?? [])].map(({ filter }) => filter.field));
  if (parts.includes('order') && sort !== null)
    named.push(...sort.split(',').map((key) => key.replace(/^-/, '')));
  const usable = (name: string): 'usable' | 'hidden' | 'masked' => usability(access, endpoint, name);
  // Without any field to search, `q` is no parameter for this reader.
  const hasNoSearch = parts.includes('filters') && q !== null && searchedBy(access, endpoint).length === 0;
  const fields = parts.includes('fields') ? (query.fields ?? []) : [];
  const isHidden =
    hasNoSearch ||
    named.some((name) => usable(name) === 'hidden') ||
    fields.some((name) => usable(name) === 'hidden');
  const isMasked =
    named.some((name) => usable(name) === 'masked') ||
    (hasNoSearch && endpoint.search.some((name) => usable(name) === 'masked'));
  if (isHidden && isMasked) return refused([400, 403], [...unknownCodes, 'field_masked']);
  if (isHidden) return refused([400], unknownCodes);
  return isMasked ? refused([403], ['field_masked']) : undefined;
}
const unknownCodes = ['parameter', 'sort', 'field', 'filter', 'group', 'aggregate', 'relation'].map(
  (what) => `unknown_${what}`,
);

/** How the reader may use a field, or `<lines>.<field>`, in filters, sorts and summaries. */
export function usability(
  access: Access,
  endpoint: EndpointModel,
  field: string,
): 'usable' | 'hidden' | 'masked' {
  if (field === 'id') return 'usable';
  const [name, part] = field.split('.');
  const shown = visibleFields(access, endpoint).find((one) => one.name === name);
  if (shown === undefined) return 'hidden';
  const mask = part === undefined ? shown.mask : shown.lines.find((line) => line.name === part)?.mask;
  return access.unmasked || mask == null ? 'usable' : 'masked';
}

/** The fields that `q` searches for this reader. */
const searchedBy = (access: Access, endpoint: EndpointModel): string[] =>
  endpoint.search.filter((name) => usability(access, endpoint, name) === 'usable');

/** The scoped answer to the query: the unlimited one, filtered. */
export async function computeExpected(
  one: Case,
  parts: readonly Part[] = ['filters', 'order', 'fields'],
  further: readonly string[] = [],
): Promise<Expected> {
  const refusal = findRefusal(one, parts, further);
  if (refusal !== undefined) return refusal;
  const { oracle, reader, version, endpoint, query } = one;
  const { access } = reader;
  const asked = parts.includes('filters') ? query : { ...query, filters: [], q: null, or: null };
  const ordered = parts.includes('order') ? asked : { ...asked, sort: null, order: null };
  const records = await oracle.wholeRecords(version, endpoint, ordered, searchedBy(access, endpoint));
  const whole = records.filter((record) =>
    allows(access, endpoint, record, oracle.fixture.withheld(endpoint.recordType)),
  );
  const sorted =
    fallsBackToId(one) && parts.includes('order') ? sortById(endpoint, whole, query.order) : whole;
  return {
    kind: 'answered',
    whole: sorted,
    records: sorted.map((record) => seenBy(access, endpoint, record, oracle.hashes)),
  };
}

/** A default sort by a field that the reader doesn't see as it is reveals its values. */
function fallsBackToId({ reader: { access }, endpoint, query }: Case): boolean {
  if (query.sort !== null || endpoint.defaultSort === null) return false;
  const field = visibleFields(access, endpoint).find(({ name }) => name === endpoint.defaultSort?.field);
  return field === undefined || (field.mask !== null && !access.unmasked);
}

const sortById = (
  { idType }: EndpointModel,
  records: readonly ExactRecord[],
  order: Query['order'],
): ExactRecord[] => [...records].sort((a, b) => (order === 'desc' ? -1 : 1) * compareIds(idType, a.id, b.id));

/** The fields that the query selects, in the order of the resource. */
export const select = (
  { fields }: Pick<Query, 'fields'>,
  record: Record<string, unknown>,
): Record<string, unknown> =>
  fields === null
    ? record
    : Object.fromEntries(Object.entries(record).filter(([name]) => name === 'id' || fields.includes(name)));

/** Names that the reader may know of the resource, and of others that they can read. */
export function allowedNames(
  { reader: { access }, oracle, version, endpoint }: Case,
  of: 'resource' | 'version' | 'all',
): Set<string> {
  const versions = of === 'all' ? oracle.fixture.versions : [version];
  const readable = versions.flatMap((one) =>
    one.endpoints.filter((other) => readability(access, one.version, other) === 'readable'),
  );
  const described = of === 'resource' ? readable.filter(({ name }) => name === endpoint.name) : readable;
  const names = described.flatMap((one) => [
    ...visibleFields(access, one).flatMap(({ name, lines }) => [name, ...lines.map((line) => line.name)]),
    ...one.relations
      .filter(({ field }) => usability(access, one, field) === 'usable')
      .map(({ name }) => name),
  ]);
  return new Set([...readable.map(({ name }) => name), ...names]);
}

/** Headers with numbers that count no records. */
const sizes = new Set(['content-length', 'keep-alive', 'date', 'etag', 'x-request-id', 'x-data-generation']);

/**
 * Throws when an answer contains a value, name or count that neither its records, the names nor the request
 * have. `hasNumbers`: the answer has numbers that count no records, such as those of examples or sums.
 */
export function inspect(
  one: Case,
  answer: Answer,
  sent: string,
  allowed: {
    readonly names: ReadonlySet<string>;
    readonly records?: readonly unknown[];
    readonly hasNumbers?: true;
  },
): void {
  const { oracle, reader, endpoint } = one;
  const known = new Set([
    ...allowed.names,
    ...tokensIn(sent),
    ...tokensIn(JSON.stringify(allowed.records ?? [])),
  ]);
  const foreign = [...tokensIn(`${answer.head}\n${answer.text}`)].filter((token) => !known.has(token));
  expect(foreign, `foreign values in ${answer.status} ${answer.text.slice(0, 600)}`).toEqual([]);
  if (allowed.hasNumbers) return;
  if (listConditions(reader.access, endpoint).length === 0) return;
  const rows = oracle.fixture.kinds.find(({ name }) => name === endpoint.recordType)?.erp.records.size ?? 0;
  // Smaller numbers are those of pages as well.
  if (rows < 60) return;
  const headers = Object.entries(answer.headers).flatMap(([name, value]) => (sizes.has(name) ? [] : [value]));
  const isCounted = new RegExp(`(?<![\\w.:-])${rows}(?![\\w.:-])`).test([answer.text, ...headers].join('\n'));
  expect(isCounted, `the number of all records, ${rows}, in ${answer.text.slice(0, 600)}`).toBe(false);
}
