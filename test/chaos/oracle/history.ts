// The account's states since a run began, and since when each value of the account is what it is: by these
// two, what a version serves is right, not yet due, or wrong.
import {
  type Account,
  computeTotals,
  readTruth,
  type Shape,
  type TrueRecord,
  type Truth,
} from './account.ts';

/**
 * A moment of the account. Its clock may go back: `day` and `latest` are the latest seen until then, `today`
 * is the day at that moment, and `turn` counts what was seen.
 */
export type Moment = {
  readonly turn: number;
  readonly at: Date;
  readonly day: string;
  readonly latest: Date;
  readonly today?: string;
};
/** When a value became other than it had last been served. */
export type Change = {
  readonly since: Moment;
  /** Since when a later modification time of the record or of its lines shows that something changed. */
  tracedSince: Moment | null;
  /** Of lines: since when their number or sums are other than they had last been served. */
  totalsSince: Moment | null;
  /** The modification times of the lines as they had last been served, with commas. */
  readonly lineTimes: string;
};

/** What a change concerns: a field by its place in the shape, the lines, or whether the record exists. */
export type Part = number | 'lines' | 'presence';
export type State = {
  readonly truth: Truth;
  readonly moment: Moment;
  /**
   * The fields that the account doesn't have any more, or has with another type than at the beginning; those
   * of lines as `lines.memo`.
   */
  readonly gone: ReadonlySet<string>;
};

export type History = {
  readonly shape: Shape;
  /** Reads the account now. */
  note(): Promise<void>;
  /** Forgets all states but the present one; before a run begins. */
  begin(): Promise<Moment>;
  /** Since the run began, oldest first. */
  states(): readonly State[];
  change(id: string, part: Part): Change | undefined;
  /**
   * Says that a part, or the whole record, is served as the account had it in this state since the run began.
   */
  settle(id: string, part: Part | 'all', state: number): void;
};

export function toDay(at: Date, timeZone: string): string {
  return new Intl.DateTimeFormat('en-CA', {
    timeZone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  }).format(at);
}

const findLatest = ({ linesModified }: TrueRecord): string => linesModified.split(',').sort().at(-1) ?? '';
/**
 * Whether some modification time shows that the record changed: a line that came or went with an old time
 * doesn't.
 */
const isTraced = (old: TrueRecord | undefined, now: TrueRecord | undefined): boolean =>
  old !== undefined &&
  now !== undefined &&
  (old.modified !== now.modified || findLatest(now) > findLatest(old));

const haveOtherTotals = (shape: Shape, old: TrueRecord | undefined, now: TrueRecord | undefined): boolean =>
  computeTotals(shape, old?.lines ?? []) !== computeTotals(shape, now?.lines ?? []);

const linesText = (record: TrueRecord): string => record.lines?.join() ?? '';

/** The parts of a record that differ. */
function listChangedParts(before: TrueRecord | undefined, after: TrueRecord | undefined): Part[] {
  if (before === undefined && after === undefined) return [];
  if (before === undefined || after === undefined) return ['presence'];
  const parts: Part[] = [];
  for (const [index, cell] of after.cells.entries()) if (cell !== before.cells[index]) parts.push(index);
  if (linesText(after) !== linesText(before)) parts.push('lines');
  return parts;
}

export function openHistory(account: Account, shape: Shape): History {
  let states: State[] = [];
  let firstTypes: Truth['types'] | undefined;
  let present: Moment = { turn: 0, at: new Date(0), day: '', latest: new Date(0) };
  const changes = new Map<string, Map<Part, Change>>();
  const vanished = new Map<string, { readonly record: TrueRecord; readonly since: Moment }>();

  const compare = (before: Truth, after: Truth, since: Moment): void => {
    for (const id of new Set([...before.records.keys(), ...after.records.keys()])) {
      const [held, now] = [before.records.get(id), after.records.get(id)];
      if (held === now) continue;
      if (held !== undefined && now === undefined) vanished.set(id, { record: held, since });
      // A record that returns is compared with what it was when it disappeared, which may still be served.
      const gone = held === undefined ? vanished.get(id) : undefined;
      const old = held ?? gone?.record;
      const seen = {
        tracedSince: isTraced(old, now) ? since : null,
        totalsSince: haveOtherTotals(shape, old, now) ? since : null,
        lineTimes: old?.linesModified ?? '',
      };
      const known = changes.get(id) ?? new Map<Part, Change>();
      for (const change of known.values()) {
        change.tracedSince ??= seen.tracedSince;
        change.totalsSince ??= seen.totalsSince;
      }
      if (held === undefined && !known.has('presence')) known.set('presence', { since, ...seen });
      for (const part of listChangedParts(old, now))
        if (!known.has(part)) known.set(part, { since: gone?.since ?? since, ...seen });
      if (known.size > 0) changes.set(id, known);
    }
  };
  const history: History = {
    shape,
    async note() {
      const truth = await readTruth(account, shape, states.at(-1)?.truth);
      const day = toDay(truth.at, account.timeZone());
      present = {
        turn: present.turn + 1,
        at: truth.at,
        today: day,
        day: day > present.day ? day : present.day,
        latest: truth.at > present.latest ? truth.at : present.latest,
      };
      const before = states.at(-1);
      if (before !== undefined) compare(before.truth, truth, present);
      firstTypes ??= truth.types;
      const gone = new Set(
        [...firstTypes].filter(([field, type]) => truth.types.get(field) !== type).map(([field]) => field),
      );
      states.push({ truth, moment: present, gone });
    },
    async begin() {
      await history.note();
      states = states.slice(-1);
      return present;
    },
    states: () => states,
    change: (id, part) => changes.get(id)?.get(part),
    settle(id, part, index) {
      const known = changes.get(id);
      if (known === undefined) return;
      const [then, next, last] = [states[index], states[index + 1], states.at(-1)];
      for (const settled of part === 'all' ? [...known.keys()] : [part]) {
        if (then === undefined || next === undefined || last === undefined) known.delete(settled);
        else if (known.has(settled)) {
          const [old, now] = [then.truth.records.get(id), last.truth.records.get(id)];
          const { moment: since } = next;
          known.set(settled, {
            since,
            tracedSince: isTraced(old, now) ? since : null,
            totalsSince: haveOtherTotals(shape, old, now) ? since : null,
            lineTimes: old?.linesModified ?? '',
          });
        }
      }
      if (known.size === 0) changes.delete(id);
    },
  };
  return history;
}
