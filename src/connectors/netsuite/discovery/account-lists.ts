// What an account lists of itself: entries of the metadata catalogue, custom record types, lists and fields,
// and the types of its transactions. Each list is read at most once, when it is first needed. A refused list
// is null and no error.

import { assertIdOrder } from '../read/rows.ts';
import { maxRowsPerQuery, type Suiteql, type SuiteqlRow } from '../requests/suiteql.ts';
import { customFieldsQuery, entryListsQuery, isColumnName } from '../types/queries.ts';
import { type AccountParts, listCatalogue, nullWhenRefused } from './catalogue.ts';

/**
 * A row of `customfield`: `name` is its script id in lower case, `belongsTo` one of BODY, COLUMN, ENTITY,
 * ITEM, RECORD and others.
 */
export type ListedField = {
  /** The internal id, which a field that is deleted and created again doesn't keep. */
  readonly id: string;
  readonly name: string;
  readonly label: string;
  readonly belongsTo: string;
  readonly valueType: string;
};

/**
 * All methods reject with `ErpError` for an outage, a refused login or an unreadable response, or with the
 * signal's reason.
 */
export type AccountLists = {
  /** As the catalogue spells them. */
  catalogue(): Promise<readonly string[] | null>;
  /** Labels of custom record types and lists, by script id in lower case; empty if both are refused. */
  customTypes(): Promise<ReadonlyMap<string, string>>;
  customFields(): Promise<readonly ListedField[] | null>;
  /**
   * The custom list or custom record type of multiple selects, by name of the field; without those that say
   * two, or that aren't known.
   */
  entryLists(): Promise<ReadonlyMap<string, string>>;
  /** `recordtype` of every type of transactions that has records, in lower case. */
  transactionTypes(): Promise<ReadonlySet<string> | null>;
};

/** `n`: how many there are of each type, by its name in lower case. */
export const transactionTypesQuery =
  'SELECT t.recordtype AS recordtype, COUNT(*) AS n FROM transaction t GROUP BY t.recordtype';

/** Makes no request yet. */
export function createAccountLists(parts: AccountParts): AccountLists {
  const { suiteql, signal } = parts;
  return {
    catalogue: once(() => listCatalogue(parts)),
    customTypes: once(async () => {
      const read = (...tables: readonly string[]) =>
        nullWhenRefused(parts, () => readCustomTypes(suiteql, tables, signal));
      const both = await read('customrecordtype', 'customlist');
      return (
        both ?? new Map([...((await read('customrecordtype')) ?? []), ...((await read('customlist')) ?? [])])
      );
    }),
    customFields: once(() => nullWhenRefused(parts, () => readCustomFields(suiteql, customPrefixes, signal))),
    entryLists: once(async () => {
      const read = (from: 'customlist' | 'customrecordtype') =>
        nullWhenRefused(parts, () =>
          readByIdPages(suiteql, (afterId) => entryListsQuery(from, afterId), signal),
        );
      const rows = [...((await read('customlist')) ?? []), ...((await read('customrecordtype')) ?? [])];
      const named = rows.map(
        (row) => [toText(row, 'scriptid').toLowerCase(), toText(row, 'list').toLowerCase()] as const,
      );
      const isOne = ([field]: readonly [string, string]): boolean =>
        named.filter(([other]) => other === field).length === 1;
      return new Map(
        named.filter(isOne).filter(([, list]) => /^custom(?:list|record)/.test(list) && isColumnName(list)),
      );
    }),
    transactionTypes: once(async () => {
      const answer = await nullWhenRefused(parts, () =>
        suiteql.query(transactionTypesQuery, maxRowsPerQuery, signal),
      );
      return (
        answer &&
        new Set(
          answer.rows.map((row) => toText(row, 'recordtype').toLowerCase()).filter((name) => name !== ''),
        )
      );
    }),
  };
}

function once<T>(read: () => Promise<T>): () => Promise<T> {
  let reading: Promise<T> | undefined;
  return () => (reading ??= read());
}

const toText = (row: SuiteqlRow | undefined, name: string): string => {
  const value = row?.[name];
  return typeof value === 'string' ? value : '';
};

/** Pages by script id, which is unique. Stops behind a name that can't be put into the next query. */
async function readCustomTypes(
  suiteql: Suiteql,
  tables: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const all = tables.map((table) => `SELECT scriptid, name FROM ${table}`).join(' UNION ALL ');
  const labels = new Map<string, string>();
  let last = '';
  for (let hasMore = true; hasMore; ) {
    const behind: string = last === '' ? '' : ` WHERE c.scriptid > '${last}'`;
    const query = `SELECT c.scriptid AS scriptid, c.name AS name FROM (${all}) c${behind} ORDER BY c.scriptid ASC`;
    const page = await suiteql.query(query, maxRowsPerQuery, signal);
    for (const row of page.rows)
      labels.set(toText(row, 'scriptid').toLowerCase(), toText(row, 'name') || toText(row, 'scriptid'));
    const next = toText(page.rows.at(-1), 'scriptid');
    hasMore = page.hasMore && /^\w{1,100}$/.test(next) && next !== last;
    last = next;
  }
  return labels;
}

export const customPrefixes: readonly string[] = [
  'custbody',
  'custcol',
  'custentity',
  'custitem',
  'custrecord',
];

/**
 * Those whose names have one of the prefixes. Rejects with `ErpError` also where the list is refused, or with
 * the signal's reason.
 */
export async function readCustomFields(
  suiteql: Suiteql,
  prefixes: readonly string[],
  signal: AbortSignal,
): Promise<readonly ListedField[]> {
  const rows = await readByIdPages(suiteql, (afterId) => customFieldsQuery(prefixes, afterId), signal);
  return rows.map(toField).filter(({ name }) => name !== '');
}

/** All rows of a query whose pages are in the order of `id`, behind the last id of the page before. */
async function readByIdPages(
  suiteql: Suiteql,
  queryBehind: (afterId: string | null) => string,
  signal: AbortSignal,
): Promise<SuiteqlRow[]> {
  const rows: SuiteqlRow[] = [];
  let afterId: string | null = null;
  for (let hasMore = true; hasMore; ) {
    const page = await suiteql.query(queryBehind(afterId), maxRowsPerQuery, signal);
    if (page.hasMore) assertIdOrder(page.rows, { afterId });
    rows.push(...page.rows);
    afterId = toText(page.rows.at(-1), 'id') || afterId;
    hasMore = page.hasMore;
  }
  return rows;
}

function toField(row: SuiteqlRow): ListedField {
  const name = toText(row, 'scriptid').toLowerCase();
  return {
    id: toText(row, 'id'),
    name,
    label: toText(row, 'name') || name,
    belongsTo: toText(row, 'fieldtype').toUpperCase(),
    valueType: toText(row, 'fieldvaluetype'),
  };
}
