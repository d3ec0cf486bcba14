// The names of the entries that multiple selects choose. NetSuite's display text joins them by commas, which
// names may have themselves, so each is read from its list by id. Names are kept while they make up the
// display text; others are read again, since an entry was renamed.
import { nullWhenRefused } from './discovery/catalogue.ts';
import { entryNamesKey, entryNamesQuery, labelKey, type SuiteqlColumn, valueKey } from './queries.ts';
import { type KnownEntries, maxRowsPerQuery, type Suiteql, type SuiteqlRow } from './suiteql.ts';
import { chosenIds } from './values.ts';

const maxConfirmed = 10_000;

type Chosen = { readonly ids: readonly string[]; readonly pair: string; readonly label: unknown };

/**
 * The rows of a query with these columns, with the names as JSON arrays under `entryNamesKey`; without those
 * that can't be read. Rejects with `ErpError` for an outage, or with the signal's reason.
 */
export async function addEntryNames(
  suiteql: Suiteql,
  columns: readonly SuiteqlColumn[],
  rows: readonly SuiteqlRow[],
  signal: AbortSignal,
): Promise<readonly SuiteqlRow[]> {
  let named = rows;
  for (const { name, type, entries: list } of columns) {
    if (type !== 'multiselect' || list === undefined) continue;
    const entries = suiteql.entries.get(list) ?? { names: new Map(), confirmed: new Set() };
    suiteql.entries.set(list, entries);
    const chosen = rows.map((row) => chosenIn(row, name));
    const doubtful = chosen.flatMap((each) => (each !== null && isDoubtful(entries, each) ? [each] : []));
    if (doubtful.length > 0 && !(await readNames(suiteql, list, entries, doubtful, signal))) continue;
    const namesOf = ({ ids }: Chosen): string =>
      JSON.stringify(ids.map((id) => entries.names.get(id) ?? null));
    named = named.map((row, at) =>
      chosen[at] == null ? row : { ...row, [entryNamesKey(name)]: namesOf(chosen[at]) },
    );
  }
  return named;
}

function chosenIn(row: SuiteqlRow, name: string): Chosen | null {
  const { [valueKey(name)]: value, [labelKey(name)]: label } = row;
  const ids = typeof value === 'string' && value !== '' ? chosenIds(value) : undefined;
  return ids === undefined ? null : { ids, label, pair: JSON.stringify([value, label]) };
}

const isDoubtful = ({ names, confirmed }: KnownEntries, { ids, pair, label }: Chosen): boolean =>
  ids.some((id) => !names.has(id)) ||
  (label !== ids.map((id) => names.get(id) ?? '').join(', ') && !confirmed.has(pair));

/** False where this role may not read the list. */
async function readNames(
  suiteql: Suiteql,
  list: string,
  { names, confirmed }: KnownEntries,
  doubtful: readonly Chosen[],
  signal: AbortSignal,
): Promise<boolean> {
  const wanted = [...new Set(doubtful.flatMap(({ ids }) => ids))];
  for (let at = 0; at < wanted.length; at += maxRowsPerQuery) {
    const ids = wanted.slice(at, at + maxRowsPerQuery);
    const answer = await nullWhenRefused(suiteql.query(entryNamesQuery(list, ids), maxRowsPerQuery, signal));
    if (answer === null) return false;
    for (const id of ids) names.set(id, null);
    for (const { id, name } of answer.rows)
      if (typeof id === 'string' && typeof name === 'string') names.set(id, name);
  }
  if (confirmed.size > maxConfirmed) confirmed.clear();
  for (const { pair } of doubtful) confirmed.add(pair);
  return true;
}
