// Finds the name that a mistyped one was probably meant to be. Its cost is bounded for any input.

const maxNameLength = 80;
const maxDistance = 3;
/** Lower case may be longer: a candidate has at most three characters more than the name. */
const maxRowLength = 3 * (maxNameLength + maxDistance) + 1;

/** Two rows of the table of distances, for one comparison after the other. */
type Rows = { one: Uint8Array; other: Uint8Array };

/**
 * Levenshtein distance of two short names; any number above `limit` once the distance is known to exceed it.
 * Computes only the cells that are at most `limit` away from the diagonal: all others exceed it.
 */
function distance(a: string, b: string, limit: number, rows: Rows): number {
  const beyond = limit + 1;
  if (Math.abs(a.length - b.length) > limit) return beyond;
  let [row, next] = [rows.one, rows.other];
  for (let column = 0; column <= b.length; column += 1) row[column] = column < beyond ? column : beyond;
  for (let i = 1; i <= a.length; i += 1) {
    const from = Math.max(1, i - limit);
    next[from - 1] = from === 1 ? Math.min(i, beyond) : beyond;
    let rowMin = next[from - 1] ?? beyond;
    const to = Math.min(b.length, i + limit);
    for (let j = from; j <= to; j += 1) {
      const substituted = (row[j - 1] ?? beyond) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const edits = Math.min(substituted, (row[j] ?? beyond) + 1, (next[j - 1] ?? beyond) + 1);
      next[j] = edits;
      if (edits < rowMin) rowMin = edits;
    }
    if (to < b.length) next[to + 1] = beyond;
    if (rowMin > limit) return beyond;
    [row, next] = [next, row];
  }
  return row[b.length] ?? beyond;
}

/** The closest known name, ignoring case; undefined when none is close. */
export function nearestName(wanted: string, known: Iterable<string>): string | undefined {
  if (wanted.length > maxNameLength) return undefined;
  const lower = wanted.toLowerCase();
  const rows = { one: new Uint8Array(maxRowLength), other: new Uint8Array(maxRowLength) };
  let best: string | undefined;
  let bestDistance = Math.min(maxDistance, Math.floor(wanted.length / 2)) + 1;
  for (const candidate of known) {
    if (Math.abs(candidate.length - wanted.length) >= bestDistance) continue;
    const found = distance(lower, candidate.toLowerCase(), bestDistance - 1, rows);
    if (found >= bestDistance) continue;
    best = candidate;
    bestDistance = found;
    if (found === 0) break;
  }
  return best;
}

/** ` Did you mean "x"?`, or the empty string; appended to a sentence. */
export function didYouMean(wanted: string, known: Iterable<string>): string {
  const found = nearestName(wanted, known);
  return found === undefined ? '' : ` Did you mean "${found}"?`;
}

/** A name that matches none of a thousand long ones takes milliseconds to compare. */
const maxSuggestions = 5;

/**
 * As `didYouMean`, of one document: the empty string after the first names, because a document may have
 * thousands.
 */
export function createSuggestions(): (wanted: string, known: () => Iterable<string>) => string {
  let left = maxSuggestions;
  return (wanted, known) => {
    if (left === 0) return '';
    left -= 1;
    return didYouMean(wanted, known());
  };
}
