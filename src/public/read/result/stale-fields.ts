// What callers learn about fields that the ERP doesn't deliver at the moment: their names and since when, and
// the time of the last sync that could read all of the fields that are shown. Readers of other fields see no
// difference.
import type { AcceptedField, StaleFields } from '../../../warehouse/record-state.ts';
import type { OutputField, ReadableSource } from '../../version/compile.ts';
import { scopeFieldStale } from '../connection/failures.ts';
import type { Freshness, ReadStates, ShownFreshness, ShownStaleField } from '../connection/reader.ts';
import { type Expansion, readExpansions } from '../plan/expand.ts';

/** Related records that a response embeds, and their states: those of `readExpansions`. */
export type Embedded = { readonly expansions: readonly Expansion[]; readonly related: readonly Freshness[] };
export const noneEmbedded: Embedded = { expansions: [], related: [] };

type NamedSource = { readonly name: string; readonly source: string };

/** Longer headers are rejected by some proxies. */
const maxHeaderLength = 4_000;

const byTime = (a: string, b: string): number => Date.parse(a) - Date.parse(b);
/** Null when one of the times isn't known. */
const findOldest = (times: readonly (string | null)[]): string | null =>
  times.reduce((oldest, time) =>
    oldest === null || time === null ? null : byTime(time, oldest) < 0 ? time : oldest,
  );

/** A label, `<field>.name`, is as stale as its field. */
const toField = (stale: StaleFields, source: string): string =>
  Object.hasOwn(stale, source) ? source : source.replace(/\.name$/, '');

/** `name; since="…"` for each field; `*` in place of the names when that would be too long. */
function formatHeader(stale: readonly ShownStaleField[]): string {
  const text = stale.map(({ name, since }) => `${name}; since="${since}"`).join(', ');
  if (text.length <= maxHeaderLength) return text;
  const [first] = stale.map(({ since }) => since).sort(byTime);
  return `*; since="${first}"`;
}

/**
 * Returns the freshness. Throws 503 when the row scope names a field that is stale or accepted as missing:
 * its stored values may no longer be those of the ERP.
 */
export function assertScopeFresh({ scope, scopable }: ReadableSource, freshness: Freshness): Freshness {
  const { stale, accepted } = freshness;
  if (scope.length === 0 || (stale === null && accepted === null)) return freshness;
  const missing: Readonly<Record<string, AcceptedField>>[] = [
    JSON.parse(stale?.text ?? '{}'),
    JSON.parse(accepted ?? '{}'),
  ];
  const columns = new Set(scope.map(({ column }) => column.column));
  const named = [...scopable].filter(([, { column }]) => columns.has(column)).map(([source]) => source);
  // A label can't be scopable.
  const isMissing = (source: string) =>
    missing.some((fields) => Object.hasOwn(fields, source) && fields[source]?.labelOnly !== true);
  const lacking = named.filter(isMissing);
  if (lacking.length === 0) return freshness;
  const isStale = lacking.every((source) => Object.hasOwn(missing[0] ?? {}, source));
  const sources = lacking.map((source) => ({ name: source, source }));
  throw scopeFieldStale(isStale ? freshnessOfSources(freshness, sources).syncedAt : null);
}

type Expanded = { readonly endpoint: ReadableSource; readonly expansions: readonly Expansion[] };

/** As `assertScopeFresh`, for a plan and the related records that it embeds. */
export function assertScopesFresh(
  { endpoint, expansions }: Expanded,
  { freshness, related }: ReadStates,
): void {
  assertScopeFresh(endpoint, freshness);
  for (const [position, { endpoint: other }] of readExpansions(expansions).entries()) {
    const state = related[position];
    if (state !== undefined) assertScopeFresh(other, state);
  }
}

/** The freshness of these sources, with stale ones under their names. */
export function freshnessOfSources(
  { syncedAt, stale }: Freshness,
  shown: readonly NamedSource[],
): ShownFreshness {
  if (stale === null) return { syncedAt, stale: [], header: '' };
  const all = JSON.parse(stale.text) as StaleFields;
  const found = shown.flatMap(({ name, source }) => {
    const field = toField(all, source);
    const entry = Object.hasOwn(all, field) ? all[field] : undefined;
    return entry === undefined ? [] : [{ name, ...entry }];
  });
  return {
    syncedAt: findOldest([...found.map((entry) => entry.syncedAt), syncedAt]),
    stale: found.map(({ name, since }) => ({ name, since })),
    header: formatHeader(found),
  };
}

/**
 * The freshness of the fields that an endpoint shows; computed once per state, because every response asks
 * for it.
 */
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

/**
 * The freshness of records that embed others: the oldest time, and the stale fields of the others as
 * `<relation>.<field>`. `related` has the states of `readExpansions`.
 */
export function freshnessWithRelated(
  freshness: Freshness,
  fields: readonly OutputField[],
  expansions: readonly Expansion[],
  related: readonly Freshness[],
): ShownFreshness {
  const own = freshnessOfFields(freshness, fields);
  const others = readExpansions(expansions).flatMap(({ relation, endpoint }, position) => {
    const state = related[position];
    return state === undefined
      ? []
      : [{ name: relation.name, shown: freshnessOfFields(state, endpoint.fields) }];
  });
  const syncedAt = findOldest([own.syncedAt, ...others.map(({ shown }) => shown.syncedAt)]);
  const named = others.flatMap(({ name, shown }) =>
    shown.stale.map((field) => ({ name: `${name}.${field.name}`, since: field.since })),
  );
  const stale = [...own.stale, ...named];
  return { syncedAt, stale, header: formatHeader(stale) };
}
