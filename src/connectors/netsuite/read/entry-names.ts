// The names of the entries that multiple selects choose. NetSuite's display text joins them by commas, which
// names may have themselves, so each is read from its list by id. Names are kept while they make up the
// display text; others are read again, since an entry was renamed.
import { ErpError } from '../../connector.ts';
import { erpError } from '../requests/errors.ts';
import { type KnownEntries, maxRowsPerQuery, type Suiteql, type SuiteqlRow } from '../requests/suiteql.ts';
import { entryNamesKey, entryNamesQuery, labelKey, type SuiteqlColumn, valueKey } from '../types/queries.ts';
import { chosenIds } from '../types/values.ts';

const maxConfirmed = 10_000;

type Chosen = { readonly ids: readonly string[]; readonly value: unknown; readonly label: unknown };
const toPair = ({ value, label }: Chosen): string => JSON.stringify([value, label]);

/**
 * The rows of a query with these columns, with the names as JSON arrays under `entryNamesKey`. Rejects with
 * `ErpError`, with code `FIELD_NOT_SYNCABLE` where a list can no longer be read, or with the signal's reason.
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
    if (doubtful.length > 0) await readNames(suiteql, list, entries, doubtful, signal);
    const toNames = ({ ids }: Chosen) => JSON.stringify(ids.map((id) => entries.names.get(id) ?? null));
    named = named.map((row, at) =>
      chosen[at] == null ? row : { ...row, [entryNamesKey(name)]: toNames(chosen[at]) },
    );
  }
  return named;
}

function chosenIn(row: SuiteqlRow, name: string): Chosen | null {
  const { [valueKey(name)]: value, [labelKey(name)]: label } = row;
  const ids = typeof value === 'string' && value !== '' ? chosenIds(value) : undefined;
  return ids === undefined ? null : { ids, value, label };
}

const isDoubtful = ({ names, confirmed }: KnownEntries, chosen: Chosen): boolean =>
  chosen.ids.some((id) => !names.has(id)) ||
  (chosen.label !== chosen.ids.map((id) => names.get(id) ?? '').join(', ') && !confirmed.has(toPair(chosen)));

/** An entry that the list doesn't have is asked for twice: an answer may leave rows out. */
async function readNames(
  suiteql: Suiteql,
  list: string,
  { names, confirmed }: KnownEntries,
  doubtful: readonly Chosen[],
  signal: AbortSignal,
): Promise<void> {
  const ask = async (ids: readonly string[]): Promise<string[]> => {
    const { rows } = await suiteql
      .query(entryNamesQuery(list, ids), maxRowsPerQuery, signal)
      .catch((error: unknown) => rethrowHiddenList(list, error));
    for (const { id, name } of rows) names.set(String(id), typeof name === 'string' ? name : null);
    const found = new Set(rows.map(({ id }) => id));
    return ids.filter((id) => !found.has(id));
  };
  const wanted = [...new Set(doubtful.flatMap(({ ids }) => ids))];
  for (let at = 0; at < wanted.length; at += maxRowsPerQuery) {
    const lacking = await ask(wanted.slice(at, at + maxRowsPerQuery));
    for (const id of lacking.length === 0 ? [] : await ask(lacking)) names.set(id, null);
  }
  if (confirmed.size > maxConfirmed) confirmed.clear();
  for (const each of doubtful) confirmed.add(toPair(each));
}

/** The role could read the list when the metadata was read: it is read again, and says so. */
function rethrowHiddenList(list: string, error: unknown): never {
  if (!(error instanceof ErpError) || (error.kind !== 'query' && error.kind !== 'forbidden')) throw error;
  throw erpError(
    'query',
    'FIELD_NOT_SYNCABLE',
    `The entries of ${list} can no longer be read: ${error.message}`,
  );
}
