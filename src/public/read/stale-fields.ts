// What callers learn about fields that the ERP doesn't deliver at the moment: their names and since when, and the time of the last sync that
// could read all of the fields that are shown. Readers of other fields see no difference.
import type { AcceptedField, StaleFields } from '../../warehouse/record-state.ts';
import type { OutputField, ReadableEndpoint } from '../version/compile.ts';
import { scopeFieldStale } from './failures.ts';
import type { Freshness, ShownFreshness, ShownStaleField } from './reader.ts';

type NamedSource = { readonly name: string; readonly source: string };

/** Longer headers are rejected by some proxies. */
const maxHeaderLength = 4_000;

const byTime = (a: string, b: string): number => Date.parse(a) - Date.parse(b);

/** A label, `<field>.name`, is as stale as its field. */
const fieldOf = (stale: StaleFields, source: string): string => (Object.hasOwn(stale, source) ? source : source.replace(/\.name$/, ''));

/** `name; since="…"` for each field; `*` in place of the names when that would be too long. */
function headerOf(stale: readonly ShownStaleField[]): string {
  const text = stale.map(({ name, since }) => `${name}; since="${since}"`).join(', ');
  if (text.length <= maxHeaderLength) return text;
  const [first] = stale.map(({ since }) => since).sort(byTime);
  return `*; since="${first}"`;
}

/**
 * Returns the freshness. Throws 503 when the row scope names a field that is stale or accepted as missing: its stored values may no longer
 * be those of the ERP.
 */
export function assertScopeFresh({ scope, scopable }: ReadableEndpoint, freshness: Freshness): Freshness {
  const { stale, accepted } = freshness;
  if (scope.length === 0 || (stale === null && accepted === null)) return freshness;
  const missing: Readonly<Record<string, AcceptedField>>[] = [JSON.parse(stale?.text ?? '{}'), JSON.parse(accepted ?? '{}')];
  const columns = new Set(scope.map(({ column }) => column.column));
  const named = [...scopable].filter(([, { column }]) => columns.has(column)).map(([source]) => source);
  // A label can't be scopable.
  const isMissing = (source: string) => missing.some((fields) => Object.hasOwn(fields, source) && fields[source]?.labelOnly !== true);
  if (named.some(isMissing)) throw scopeFieldStale();
  return freshness;
}

/** The freshness of these sources, with stale ones under their names. */
export function freshnessOfSources({ syncedAt, stale }: Freshness, shown: readonly NamedSource[]): ShownFreshness {
  if (stale === null) return { syncedAt, stale: [], header: '' };
  const all = JSON.parse(stale.text) as StaleFields;
  const found = shown.flatMap(({ name, source }) => {
    const field = fieldOf(all, source);
    const entry = Object.hasOwn(all, field) ? all[field] : undefined;
    return entry === undefined ? [] : [{ name, ...entry }];
  });
  const times = [...found.map((entry) => entry.syncedAt), syncedAt];
  const known = times.filter((time) => time !== null).sort(byTime);
  return {
    syncedAt: known.length < times.length ? null : (known[0] ?? null),
    stale: found.map(({ name, since }) => ({ name, since })),
    header: headerOf(found),
  };
}

/** The freshness of the fields that an endpoint shows; computed once per state, because every response asks for it. */
export function freshnessOfFields(freshness: Freshness, fields: readonly OutputField[]): ShownFreshness {
  const known = freshness.stale?.byFields.get(fields);
  if (known !== undefined) return known;
  const shown = freshnessOfSources(
    freshness,
    fields.flatMap((field) => (field.kind === 'absent' ? [] : [{ name: field.name, source: field.source }])),
  );
  freshness.stale?.byFields.set(fields, shown);
  return shown;
}
