// A list of one record type: filters, search, sort, pages and sums, all from the address, and the same selection as a
// file. Parameters that make no sense are left out.
import type { Request } from 'express';
import { isDay } from '../../core/text/calendar.ts';
import { parseExact } from '../../core/text/exact-json.ts';
import type { Meaning } from '../../core/text/portal-terms.ts';
import { recordsEndpoint } from '../../platform/index.ts';
import { nameType } from '../navigation.ts';
import { listAddress, readTable } from '../record-table.ts';
import {
  findMeaning,
  findShown,
  listShownFields,
  openQuery,
  type ShownField,
  toMoney,
} from '../shown-fields.ts';
import type { Column, ListFilters, ListPage } from '../view-model.ts';
import { notFoundHere, type Visit } from '../visit.ts';

const pageSize = 25;
const states = ['all', 'open', 'overdue'] as const;
type State = (typeof states)[number];

/** What the address asks for. */
export type ListRequest = {
  readonly recordType: string;
  readonly q: string | null;
  readonly state: State;
  readonly from: string | null;
  readonly to: string | null;
  /** With a leading `-` descending. */
  readonly sort: string | null;
  readonly page: number;
};

const textOf = ({ query }: Request, name: string): string | null => {
  const value = query[name];
  return typeof value === 'string' && value.trim() !== '' ? value.trim().slice(0, 200) : null;
};
const dateOf = (req: Request, name: string): string | null => {
  const text = textOf(req, name);
  return text !== null && isDay(text) ? text : null;
};

/** Throws 404 for a record type that the portal doesn't show. */
export function readListRequest(visit: Visit, recordType: string, req: Request): ListRequest {
  if (findShown(visit, recordType) === undefined) throw notFoundHere();
  const page = textOf(req, 'page') ?? '1';
  return {
    ...{ recordType, q: textOf(req, 'q'), from: dateOf(req, 'from'), to: dateOf(req, 'to') },
    state: listStates(visit, recordType).find((one) => one === textOf(req, 'state')) ?? 'all',
    sort: findSort(visit, recordType, textOf(req, 'sort')),
    page: /^[1-9]\d{0,6}$/.test(page) ? Number(page) : 1,
  };
}

const sorted: readonly Meaning[] = ['date', 'dueDate', 'amount', 'amountDue'];
const isSorted = (meaning: Meaning | undefined): boolean => meaning !== undefined && sorted.includes(meaning);

function findSort(visit: Visit, recordType: string, sort: string | null): string | null {
  const names = sorted.flatMap((meaning) => findMeaning(visit, recordType, meaning) ?? []);
  return sort !== null && names.includes(sort.replace(/^-/, '')) ? sort : null;
}

function listStates(visit: Visit, recordType: string): readonly State[] {
  const { fields = {} } = findShown(visit, recordType) ?? {};
  if (fields.amountDue === undefined) return [];
  return fields.dueDate === undefined ? ['all', 'open'] : states;
}

/** Texts that are too short to be searched are numbers. */
const minSearched = 3;

function selectionOf(visit: Visit, request: ListRequest): Record<string, string> {
  const { recordType, q, state, from, to } = request;
  const of = (meaning: Meaning): string | undefined => findMeaning(visit, recordType, meaning);
  const [number, date, dueDate] = [of('number'), of('date'), of('dueDate')];
  const isSearched = number !== undefined && q !== null;
  return {
    ...(isSearched && [...q].length >= minSearched && { q }),
    ...(isSearched && [...q].length < minSearched && { [number]: q }),
    ...(state !== 'all' && openQuery(visit, recordType)),
    ...(state === 'overdue' && { [`${dueDate}_before`]: visit.today }),
    ...(date !== undefined && from !== null && { [`${date}_gte`]: from }),
    ...(date !== undefined && to !== null && { [`${date}_lte`]: to }),
  };
}

/** For reads of what the address asks for: a search doesn't look in texts that the visitor doesn't see. */
export function withinShown(visit: Visit, { recordType, q }: ListRequest): Visit {
  if (q === null) return visit;
  const { endpoints, reads } = visit;
  const name = recordsEndpoint(recordType);
  const { fields = [], search = [] } = endpoints.get(name) ?? {};
  const seen = new Set([
    ...listShownFields(visit, recordType).map((field) => field.name),
    findMeaning(visit, recordType, 'number'),
  ]);
  const hidden = search.filter((one) => !seen.has(one));
  if (hidden.length === 0) return visit;
  const names = fields.map((field) => field.name).filter((one) => !hidden.includes(one));
  const layers = reads.layers.map((layer) => ({ ...layer, fields: { ...layer.fields, [name]: names } }));
  return { ...visit, reader: visit.openReader({ ...reads, layers }) };
}

function orderOf({ sort }: ListRequest): Record<string, string> {
  if (sort === null) return {};
  return { sort: sort.replace(/^-/, ''), order: sort.startsWith('-') ? 'desc' : 'asc' };
}

/** The parameters of an address of this list. */
function toParameters({ q, state, from, to, sort, page }: ListRequest): Record<string, string> {
  const given = {
    q,
    state: state === 'all' ? null : state,
    from,
    to,
    sort,
    page: page === 1 ? null : String(page),
  };
  return Object.fromEntries(Object.entries(given).filter((one): one is [string, string] => one[1] !== null));
}

/** Sums of everything that is selected, by currency. */
async function readSums(visit: Visit, request: ListRequest): Promise<ListPage['sums']> {
  const { recordType } = request;
  const wanted = (['amount', 'amountDue'] as const).flatMap((meaning) => {
    const name = findMeaning(visit, recordType, meaning);
    return name === undefined ? [] : [{ meaning, name }];
  });
  if (wanted.length === 0) return [];
  const currency = findMeaning(visit, recordType, 'currency');
  const { rows } = await visit.reader.summarize(recordsEndpoint(recordType), {
    ...selectionOf(visit, request),
    sum: wanted.map(({ name }) => name).join(','),
    ...(currency !== undefined && { by: currency }),
  });
  const groups = parseExact(rows) as {
    readonly sum: Readonly<Record<string, unknown>>;
    [name: string]: unknown;
  }[];
  return wanted.map(({ meaning, name }) => ({
    label: { meaning },
    values: groups.map(({ sum, ...group }) => toMoney(sum[name], currency && group[currency])),
  }));
}

function filtersOf(visit: Visit, request: ListRequest): ListFilters {
  const { recordType, q, state, from, to, sort } = request;
  const { fields = {} } = findShown(visit, recordType) ?? {};
  const offered = listStates(visit, recordType);
  const isNarrowed = q !== null || state !== 'all' || from !== null || to !== null;
  return {
    q,
    state: offered.length === 0 ? null : { now: state, offered },
    period: fields.date === undefined ? null : { from, to },
    canSearch: fields.number !== undefined,
    kept: sort === null ? {} : { sort },
    cleared: isNarrowed ? listAddress(visit, recordType, sort === null ? {} : { sort }) : null,
  };
}

/** Rejects as lists of the public interface do. */
export async function readList(visitor: Visit, request: ListRequest): Promise<ListPage> {
  const { recordType } = request;
  const visit = withinShown(visitor, request);
  const at = (change: Partial<ListRequest>): string =>
    listAddress(visit, recordType, toParameters({ ...request, page: 1, ...change }));
  const sortOf = ({ meaning, name }: ShownField): Column['sort'] => {
    if (!isSorted(meaning)) return null;
    const now = request.sort === name ? 'ascending' : request.sort === `-${name}` ? 'descending' : null;
    return { href: at({ sort: now === 'descending' ? name : `-${name}` }), now };
  };
  const query = { ...selectionOf(visit, request), ...orderOf(request), pageSize: String(pageSize) };
  const [{ table, total, syncedAt }, sums] = await Promise.all([
    readTable(visit, { recordType, query: { ...query, page: String(request.page) }, sort: sortOf }),
    readSums(visit, request),
  ]);
  const totalPages = Math.max(1, Math.ceil(total / pageSize));
  const { page } = request;
  const file = (form: string): string =>
    `${visit.site.base}/files/${encodeURIComponent(recordType)}.${form}${at({}).slice(listAddress(visit, recordType).length)}`;
  return {
    ...{ kind: 'list', title: nameType(visit, recordType), asOf: syncedAt, sums, table },
    address: listAddress(visit, recordType),
    filters: filtersOf(visit, request),
    pages: {
      ...{ page, totalPages, total },
      previous: page > 1 ? at({ page: Math.min(page - 1, totalPages) }) : null,
      next: page < totalPages ? at({ page: page + 1 }) : null,
    },
    downloads: { csv: file('csv'), xlsx: file('xlsx') },
  };
}

/** What the file of the list reads. */
export const fileQueryOf = (visit: Visit, request: ListRequest): Record<string, string> => ({
  ...selectionOf(visit, request),
  ...orderOf(request),
});
