// Finds the name that a mistyped one was probably meant to be. Its cost is bounded for any input.

const maxNameLength = 80;
const maxDistance = 3;

/** Levenshtein distance of two short names; any number above `limit` once the distance is known to exceed it. */
function distance(a: string, b: string, limit: number): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    let rowMin = i;
    for (let j = 1; j <= b.length; j += 1) {
      const substituted = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const edits = Math.min(substituted, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1);
      next.push(edits);
      rowMin = Math.min(rowMin, edits);
    }
    if (rowMin > limit) return limit + 1;
    row = next;
  }
  return row[b.length] ?? limit + 1;
}

/** The closest known name, ignoring case; undefined when none is close. */
export function nearestName(wanted: string, known: Iterable<string>): string | undefined {
  if (wanted.length > maxNameLength) return undefined;
  const lower = wanted.toLowerCase();
  let best: string | undefined;
  let bestDistance = Math.min(maxDistance, Math.floor(wanted.length / 2)) + 1;
  for (const candidate of known) {
    if (Math.abs(candidate.length - wanted.length) >= bestDistance) continue;
    const found = distance(lower, candidate.toLowerCase(), bestDistance - 1);
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
