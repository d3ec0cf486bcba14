// Judges each published run by its status: a green one must be right, and a partial one must name what isn't.
// What may be out of date, and until when, is in bounds.ts.
import type { ViolationKind } from '../report.ts';
import { type Begun, concerns, isDue, isExcused } from './bounds.ts';
import { compareList, type Difference } from './compare.ts';
import type { History, Moment } from './history.ts';
import type { NotedSilent, Notes } from './ledger.ts';
import { acceptedFields, hiddenIds, problemsOfGone, problemsOfNames, unreadFields } from './names.ts';
import type { Named, RunView } from './run-report.ts';
import { type Snapshot, toContent } from './served.ts';

export type AddViolations = (kind: ViolationKind, messages: readonly string[]) => void;
/** What the service serves after a run that was published. */
export type Ended = {
  readonly run: RunView;
  readonly named: Named;
  readonly begun: Begun;
  readonly snapshot: Snapshot;
};
export type JudgeOptions = {
  readonly history: History;
  readonly notes: Notes;
  readonly addViolations: AddViolations;
  /**
   * Whether a few records that are merely absent are deleted without a person: with `reconcile`, and where
   * the list of deletions is hidden.
   */
  deletesAbsent(): boolean;
  /** What was served before the first judgement. */
  readonly before?: Snapshot | undefined;
};
export type Judge = {
  /** Compares with the account and with what was served before. */
  judge(ended: Ended): void;
  /** The list that was judged last. */
  last(): Snapshot | undefined;
};
type Bench = Omit<JudgeOptions, 'before'> & {
  before: Snapshot | undefined;
  /** When each note of the ledger was made. */
  readonly noted: Map<NotedSilent, Moment>;
  readonly expired: Set<NotedSilent>;
  /** Since when a field is gone from the account. */
  readonly goneSince: Map<string, Moment>;
  /** What could not be read in the run before. */
  unread: ReadonlySet<string>;
  /** The last calendar day, the rows when it began, and the living records that it lost. */
  day: { readonly day: string; readonly rows: number; living: number } | null;
};

export const few = (messages: readonly string[]): string[] =>
  messages.length <= 8 ? [...messages] : [...messages.slice(0, 8), `and ${messages.length - 8} more`];

/** The parts that notes in the ledger excuse after this run. */
function createExcuseCheck(
  bench: Bench,
  wrong: readonly Difference[],
  begun: Begun,
): (difference: Difference) => boolean {
  const { history, notes, noted, expired } = bench;
  const { shape } = history;
  const byId = new Map<string, NotedSilent[]>();
  for (const note of notes.silent(shape.recordType)) {
    const moment = noted.get(note);
    if (expired.has(note) || !isExcused(note, moment === undefined, moment ?? begun.begin, begun)) continue;
    byId.set(note.id, [...(byId.get(note.id) ?? []), note]);
  }
  const becameWrong = wrong.filter((difference) => !isAsBefore(bench, difference));
  const isFew = ({ fewerThan, ...note }: NotedSilent): boolean =>
    fewerThan === undefined ||
    new Set(
      becameWrong.filter(({ id, part }) => concerns({ ...note, id }, shape, id, part)).map(({ id }) => id),
    ).size < fewerThan;
  return ({ id, part }) =>
    (byId.get(id) ?? []).some((note) => concerns(note, shape, id, part) && isFew(note));
}

/** Forgets the notes whose time has passed with this run. */
function ageNotes({ history, notes, noted, expired }: Bench, begun: Begun): void {
  const now = history.states().at(-1)?.moment ?? begun.begin;
  for (const note of notes.silent(history.shape.recordType)) {
    const moment = noted.get(note);
    if (moment === undefined) noted.set(note, now);
    else if (!isExcused(note, false, moment, begun)) expired.add(note);
  }
}

/** Whether it is served as it was before the run, or empty where it was not served before. */
function isAsBefore({ before, history: { shape } }: Bench, { id, part, served }: Difference): boolean {
  if (served === undefined || part === 'presence') return false;
  const record = before?.records.get(id);
  if (record === undefined) return part === 'lines' || served.cells[part] === null;
  const old = toContent(shape, record);
  return part === 'lines'
    ? old.lines?.join() === served.lines?.join()
    : old.cells[part] === served.cells[part];
}

/** Whether the run names it, so that nobody takes it for right. */
function isNamed(bench: Bench, difference: Difference, { run, named }: Ended): boolean {
  const { id, part } = difference;
  if (run.status !== 'partial') return false;
  if (named.rejected.has(id) || named.held.has(id)) return true;
  if (part === 'presence') return false;
  const field = part === 'lines' ? 'lines' : (bench.history.shape.fields[part]?.field ?? '');
  const isStale =
    part === 'lines' ? [...named.stale].some((name) => name.startsWith('lines')) : named.stale.has(field);
  return isStale && isAsBefore(bench, difference);
}

/** Whether a person decided it, or the role has never shown the record. */
function isKnown({ history, notes }: Bench, { id, part, served }: Difference): boolean {
  const { recordType } = history.shape;
  const isHidden = hiddenIds(notes, recordType).has(id);
  if (part === 'presence' && served === undefined) return isHidden; // whether it was deleted is judged by itself
  return (
    notes.kept(recordType).has(id) &&
    (isHidden || history.states().some(({ truth }) => !truth.records.has(id)))
  );
}

/** No run takes this long. */
const steadyMs = 5 * 60_000;

function judgeValues(bench: Bench, ended: Ended): void {
  const { history, addViolations } = bench;
  const { run, named, begun, snapshot } = ended;
  const [first] = history.states();
  if (first === undefined) return;
  const isSteady = history
    .states()
    .every(({ moment }) => moment.at.getTime() - begun.begin.at.getTime() < steadyMs);
  const isBalanced = history.states().some(({ truth }) => truth.records.size === snapshot.total);
  const found = compareList(history, snapshot, acceptedFields(history, bench.notes, named));
  const isNoted = createExcuseCheck(bench, found, begun);
  const wrong = found.filter((difference) => {
    if (isNamed(bench, difference, ended) || isKnown(bench, difference) || isNoted(difference)) return false;
    const change = history.change(difference.id, difference.part);
    return isDue(history.shape, { ...difference, isBalanced, isSteady }, change, first.truth, begun);
  });
  addViolations(
    run.status === 'succeeded' ? 'green' : 'unnamed',
    few(wrong.map(({ message }) => `${run.mode} ${run.status} run: ${message}`)),
  );
}

/** What is merely absent may be deleted up to this share of the rows that a calendar day began with. */
const computeAllowance = (rows: number): number =>
  Math.max(Math.floor(rows * 0.02), Math.min(20, Math.floor(rows * 0.1)), 1);

/**
 * A record that lives in the account, whatever the role may see, stays served unless a person approved its
 * deletion.
 */
function judgeDeleted(bench: Bench, { snapshot, run, begun }: Ended): void {
  const { history, notes, addViolations, before, deletesAbsent } = bench;
  const { recordType } = history.shape;
  const removed = [...(before?.records.keys() ?? [])].filter((id) => !snapshot.records.has(id));
  const living = removed.filter(
    (id) =>
      history.states().every(({ truth }) => truth.records.has(id)) && !notes.approved(recordType).has(id),
  );
  // What the role can't see looks like it was deleted; the limit is what protects it.
  const hidden = hiddenIds(notes, recordType);
  const { day } = begun.begin;
  // A day with the first load begins with what that loaded.
  if (bench.day === null || bench.day.rows === 0 || day > bench.day.day)
    bench.day = { day, rows: before?.total ?? 0, living: 0 };
  bench.day.living += living.length;
  const isAllowed =
    deletesAbsent() &&
    bench.day.living <= computeAllowance(bench.day.rows) &&
    removed.length < (before?.total ?? 0);
  const wrong = living.filter((id) => !(isAllowed && hidden.has(id)));
  addViolations(
    'deleted',
    few(wrong.map((id) => `${recordType} ${id} was deleted by a ${run.status} run and lives in the account`)),
  );
}

function judgeList({ history, addViolations }: Bench, { total, ids, records }: Snapshot): void {
  if (total === ids.length && ids.length === records.size) return;
  addViolations('mixed', [
    `${history.shape.recordType}: the list says ${total}, has ${ids.length} rows and ${records.size} records`,
  ]);
}

function judgeNames({ history, notes, addViolations, goneSince, unread }: Bench, ended: Ended): void {
  const { recordType } = history.shape;
  addViolations(
    'unnamed',
    few(problemsOfNames(history, notes, ended, unread).map((text) => `${recordType}: ${text}`)),
  );
  const kind = ended.run.status === 'succeeded' ? 'green' : 'unnamed';
  addViolations(kind, few(problemsOfGone(history, goneSince, ended).map((text) => `${recordType}: ${text}`)));
}

/**
 * A clock that goes back across midnight during a run may show the run the day before: it is only due what
 * was due on that day.
 */
function withEarliestDay(begun: Begun, history: History): Begun {
  const days = history.states().map(({ moment }) => moment.today ?? moment.day);
  return {
    ...begun,
    begin: { ...begun.begin, day: [begun.begin.day, ...days].sort()[0] ?? begun.begin.day },
  };
}

export function openJudge(options: JudgeOptions): Judge {
  const bench: Bench = {
    ...options,
    before: options.before,
    noted: new Map(),
    expired: new Set(),
    goneSince: new Map(),
    unread: new Set(),
    day: null,
  };
  return {
    last: () => bench.before,
    judge(given) {
      const ended = { ...given, begun: withEarliestDay(given.begun, bench.history) };
      judgeList(bench, ended.snapshot);
      judgeDeleted(bench, given);
      judgeValues(bench, ended);
      judgeNames(bench, ended);
      bench.unread = unreadFields(bench.history, bench.notes);
      ageNotes(bench, ended.begun);
      bench.before = ended.snapshot;
    },
  };
}
