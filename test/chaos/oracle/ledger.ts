// Where the actions of a simulation note what the oracle can't see in the account's own tables: what a role
// hides, values that the service must reject, decisions of people, and answers that were false. Every note is
// bounded; none makes a run right by itself.
import type { RecordTypeName } from '../plan.ts';

/** When a change must be seen at the latest, as in docs/guarantees.md. */
export type Bound = 'next-run' | 'next-day' | 'full-read';

/**
 * A value that the service can't know yet. `field` null: the lines; `*`: everything about the record, also
 * whether it exists.
 */
export type Silent = {
  readonly recordType: RecordTypeName;
  readonly id: string;
  readonly field: string | null;
  readonly bound: Bound;
  /** Only while fewer than this many records became wrong in this field by one run. */
  readonly fewerThan?: number;
};
/**
 * What the role can't see: records, fields (`lines.` before a field of lines, `lines` for all lines), or the
 * whole record type.
 */
export type Hidden = {
  readonly recordType: RecordTypeName;
  readonly ids?: readonly string[];
  readonly fields?: readonly string[];
  readonly all?: true;
};
export type Ids = { readonly recordType: RecordTypeName; readonly ids: readonly string[] };
type End = () => void;

/** Answers that are false while it lasts, about records that may become more meanwhile. */
export type Misreport = {
  readonly recordType: RecordTypeName;
  readonly ids: ReadonlySet<string>;
  /** These as in `Silent`. */
  readonly field: string | null;
  readonly bound: Bound;
  readonly fewerThan?: number;
};

/** A silent change with the account's time when it happened. */
export type NotedSilent = Silent & { readonly at: Date };

export type Ledger = {
  /**
   * A change that leaves no trace, or an answer that was false: the record may stay as it was served until
   * the bound has passed.
   */
  silent(change: Silent): void;
  /**
   * Until it is ended, and from then on until the bound has passed, the records may be served as they were
   * answered. Returns how to end it.
   */
  misreports(misreport: Misreport): End;
  /** Returns how to end it. */
  hides(hidden: Hidden): End;
  /** A value that the service must reject. Returns how to end it. */
  spoiled(record: { readonly recordType: RecordTypeName; readonly id: string }): End;
  /** A person rejected the deletion: these stay served, although the account deleted them. */
  kept(records: Ids): void;
  /** A person approved the deletion: these may be deleted, although they live in the account. */
  approved(records: Ids): void;
  /** What was noted, for the oracle. */
  readonly notes: Notes;
};

export type Notes = {
  /** What is misreported is a silent change of this very moment. */
  silent(recordType: RecordTypeName): readonly NotedSilent[];
  /** What is hidden now, or was at any time since `forgetEnded`. */
  hidden(recordType: RecordTypeName): readonly Hidden[];
  spoiled(recordType: RecordTypeName): ReadonlySet<string>;
  kept(recordType: RecordTypeName): ReadonlySet<string>;
  approved(recordType: RecordTypeName): ReadonlySet<string>;
  /** Called when a run begins: what has ended before it no longer counts for it. */
  forgetEnded(recordType: RecordTypeName): void;
};

type Lasting<T> = { readonly note: T; ended: boolean };

/** Notes that last until they are ended, and count for the run in which they end. */
function openLasting<T extends { readonly recordType: RecordTypeName }>() {
  const held = new Set<Lasting<T>>();
  return {
    begin(note: T): End {
      const lasting: Lasting<T> = { note, ended: false };
      held.add(lasting);
      return () => {
        lasting.ended = true;
      };
    },
    of: (recordType: RecordTypeName): T[] =>
      [...held].filter(({ note }) => note.recordType === recordType).map(({ note }) => note),
    forgetEnded(recordType: RecordTypeName): void {
      for (const lasting of held)
        if (lasting.ended && lasting.note.recordType === recordType) held.delete(lasting);
    },
  };
}

function openIds() {
  const held = new Map<RecordTypeName, Set<string>>();
  return {
    add: ({ recordType, ids }: Ids): void => {
      held.set(recordType, new Set([...(held.get(recordType) ?? []), ...ids]));
    },
    of: (recordType: RecordTypeName): ReadonlySet<string> => held.get(recordType) ?? new Set(),
  };
}

/** `now` is the account's clock. */
export function openLedger(now: () => Date): Ledger {
  const silent: NotedSilent[] = [];
  const misreports = new Set<Misreport>();
  const toSilent = ({ ids, ...misreport }: Misreport): NotedSilent[] =>
    [...ids].map((id) => ({ ...misreport, id, at: now() }));
  const hidden = openLasting<Hidden>();
  const spoiled = openLasting<{ recordType: RecordTypeName; id: string }>();
  const [kept, approved] = [openIds(), openIds()];
  return {
    silent: (change) => void silent.push({ ...change, at: now() }),
    misreports(misreport) {
      misreports.add(misreport);
      return () => {
        misreports.delete(misreport);
        silent.push(...toSilent(misreport));
      };
    },
    hides: hidden.begin,
    spoiled: spoiled.begin,
    kept: kept.add,
    approved: approved.add,
    notes: {
      silent: (recordType) =>
        [...silent, ...[...misreports].flatMap(toSilent)].filter(
          (change) => change.recordType === recordType,
        ),
      hidden: hidden.of,
      spoiled: (recordType) => new Set(spoiled.of(recordType).map(({ id }) => id)),
      kept: kept.of,
      approved: approved.of,
      forgetEnded(recordType) {
        hidden.forgetEnded(recordType);
        spoiled.forgetEnded(recordType);
      },
    },
  };
}
