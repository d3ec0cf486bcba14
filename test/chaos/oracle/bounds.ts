// How long a change may stay unseen, as docs/guarantees.md says. Everything else must be served by the first
// run that began after it.
import { getTable } from '../books.ts';
import type { RecordTypeName } from '../plan.ts';
import { computeTotals, isDocument, type Shape, type Truth, toOrigin, toSource } from './account.ts';
import type { Change, Moment, Part } from './history.ts';
import type { Bound, NotedSilent } from './ledger.ts';
import type { Content } from './served.ts';

/** What is known about a run when it has ended. */
export type Begun = {
  readonly mode: 'incremental' | 'full';
  readonly begin: Moment;
  /** When the last published run before it began; null when there was none. */
  readonly previous: Moment | null;
  readonly completeSince: Date | null;
};

const minuteMs = 60_000;
/** What is read again in each run: ten minutes before the mark, which is at most the start less five. */
const rereadMs = 15 * minuteMs;
/** How much earlier the list of changed ids begins. */
const relistedMs = rereadMs + 60 * minuteMs;
/** The same for a run that finds its clock earlier than the mark, which then is no later than that clock. */
const relistedAfterSetBackMs = relistedMs - 10 * minuteMs;
const recentlyClosedMs = 7 * 24 * 60 * minuteMs;

const volatileFields = {
  document: ['closedate', 'foreignamountpaid', 'foreignamountunpaid', 'status', 'voided'],
  customer: ['balancesearch', 'overduebalancesearch', 'unbilledorderssearch', 'consolbalancesearch'],
} as const;
const isVolatile = (recordType: RecordTypeName, field: string): boolean =>
  (getTable(recordType) === 'transaction'
    ? volatileFields.document
    : recordType === 'customer'
      ? volatileFields.customer
      : []
  ).some((name) => name === field);

/** Open, or closed within the last seven days, as it was served. */
function isWatched({ recordType, fields }: Shape, { cells }: Content, now: Date): boolean {
  if (getTable(recordType) !== 'transaction') return true;
  const cell = (name: string): string | null =>
    cells[fields.findIndex(({ field, isLabel }) => field === name && !isLabel)] ?? null;
  const unpaid = cell('foreignamountunpaid');
  // Which other documents are open, the service finds out from the account: without an unpaid amount that is
  // not judged.
  if (!isDocument(recordType)) return unpaid !== null && unpaid !== '0';
  const isOpen =
    recordType === 'customerPayment' ? !['C', 'R'].includes(cell('status') ?? '') : unpaid !== '0';
  const closed = cell('closedate') ?? cell('lastmodifieddate');
  // A day of closing has no time: a day more or less is not judged.
  return (
    isOpen || (closed !== null && now.getTime() - Date.parse(closed) < recentlyClosedMs - 24 * 60 * minuteMs)
  );
}

function chooseBound(
  shape: Shape,
  part: Exclude<Part, 'presence'>,
  served: Content | undefined,
  truth: Truth,
  id: string,
  now: Date,
): Bound {
  if (part === 'lines') {
    const lines = truth.records.get(id)?.lines ?? [];
    return computeTotals(shape, served?.lines ?? []) === computeTotals(shape, lines)
      ? 'full-read'
      : 'next-day';
  }
  const field = shape.fields[part];
  if (field === undefined || served === undefined) return 'next-run';
  // The value of a volatile field decides about its display text, too.
  if (isVolatile(shape.recordType, toOrigin(field.field)))
    return isWatched(shape, served, now) ? 'next-run' : 'next-day';
  return field.isLabel ? 'next-day' : 'full-read';
}

const hasPassed = (bound: Bound, since: Moment, { begin, completeSince }: Begun): boolean =>
  bound === 'next-run' ||
  (bound === 'next-day' ? begin.day > since.day : completeSince !== null && completeSince > since.latest);

export type Questioned = {
  readonly id: string;
  readonly part: Part;
  readonly served: Content | undefined;
  /**
   * Whether the service has as many records as the account: then counts don't show that one came and another
   * one went.
   */
  readonly isBalanced: boolean;
  /**
   * Whether the account's clock only went on during the run: then the run's own clock says at least what it
   * began with.
   */
  readonly isSteady: boolean;
};

/** What the service compares of the times of lines: their number, the latest, and how many are recent. */
function describeTimes(times: string, sinceMs: number): string {
  const all = times.split(',').sort();
  return [all.length, all.at(-1), all.filter((time) => Date.parse(time) >= sinceMs).length].join();
}

/**
 * Whether some line has a modification time no earlier than `sinceMs` that it didn't have as it was served:
 * the times of lines are listed, too.
 */
function haveNewTime({ lineTimes }: Change, times: string, sinceMs: number): boolean {
  const left = lineTimes.split(',');
  // Edited again while the clock was set back: neither the latest time nor the number of recent ones shows
  // it.
  if (describeTimes(lineTimes, sinceMs) === describeTimes(times, sinceMs)) return false;
  return times.split(',').some((time) => {
    const index = left.indexOf(time);
    if (index >= 0) left.splice(index, 1);
    return index < 0 && Date.parse(time) >= sinceMs;
  });
}

/**
 * Whether a value that differs from the account may do so no longer, after this run. `truth` is the state in
 * which the run began.
 */
export function isDue(
  shape: Shape,
  { id, part, served, isBalanced, isSteady }: Questioned,
  change: Change | undefined,
  truth: Truth,
  run: Begun,
): boolean {
  if (change === undefined || run.previous === null) return true;
  if (change.since.turn > run.begin.turn || run.mode === 'full') return true;
  const modified = Date.parse(truth.records.get(id)?.modified ?? '');
  const mark = run.previous.latest.getTime();
  if (modified >= mark - (change.tracedSince === null ? rereadMs : relistedMs)) return true;
  if (change.tracedSince !== null && isSteady && modified >= run.begin.at.getTime() - relistedAfterSetBackMs)
    return true;
  if (part === 'lines' && haveNewTime(change, truth.records.get(id)?.linesModified ?? '', mark - relistedMs))
    return true;
  if (part === 'presence') return hasPassed(isBalanced ? 'next-day' : 'next-run', change.since, run);
  const { since, tracedSince, totalsSince } = change;
  if (tracedSince !== null && hasPassed('next-day', tracedSince, run)) return true;
  const bound = chooseBound(shape, part, served, truth, id, run.begin.at);
  // Lines that had been wrong otherwise before their totals were.
  if (part === 'lines' && bound === 'next-day' && totalsSince !== null && hasPassed(bound, totalsSince, run))
    return true;
  if (part === 'lines' && bound === 'next-day' && totalsSince !== since)
    return hasPassed('full-read', since, run);
  return hasPassed(bound === 'next-run' && tracedSince !== null ? 'next-day' : bound, since, run);
}

/** Whether a note in the ledger excuses the part after this run; `isNew`: it was made since the run began. */
export function isExcused(note: NotedSilent, isNew: boolean, noted: Moment, run: Begun): boolean {
  if (isNew) return true;
  return note.bound !== 'next-run' && run.mode !== 'full' && !hasPassed(note.bound, noted, run);
}

/** Whether a note is about this part. */
export function concerns(note: NotedSilent, shape: Shape, id: string, part: Part): boolean {
  if (note.id !== id) return false;
  if (note.field === '*') return true;
  if (typeof part !== 'number')
    return part === 'lines' && (note.field === null || note.field.startsWith('lines'));
  const field = shape.fields[part];
  return field !== undefined && [toOrigin(field.field), toSource(field)].includes(note.field ?? '');
}
