// What the oracle excuses, and until when: with an account of one record type whose states are given.
import { describe, expect, it } from 'vitest';
import type { ViolationKind } from '../report.ts';
import type { Field, Shape, TrueRecord, Truth } from './account.ts';
import type { Change, History, Moment } from './history.ts';
import { openJudge } from './judge.ts';
import { type Ledger, openLedger } from './ledger.ts';
import type { Named, RunView } from './run-report.ts';
import type { Snapshot } from './served.ts';

const field = (name: string, of: string, isLabel = false): Field => ({
  name,
  field: of,
  isLabel,
  isNumber: false,
});
const shape: Shape = {
  recordType: 'invoice',
  fields: [field('f0', 'memo'), field('f1', 'entity', true), field('f2', 'foreignamountunpaid')],
  lineFields: null,
};
const longAgo = '2011-01-01T00:00:00Z';
const createRecord = (cells: readonly string[], modified = longAgo): TrueRecord => ({
  cells,
  lines: null,
  modified,
  linesModified: '',
  raw: cells.join(),
});
const createMoment = (turn: number, day: string): Moment => ({
  turn,
  at: new Date(`${day}T12:00:00Z`),
  day,
  latest: new Date(`${day}T12:00:00Z`),
});

type Case = {
  readonly account: Readonly<Record<string, TrueRecord>>;
  readonly served: Readonly<Record<string, readonly string[]>>;
  readonly before?: Readonly<Record<string, readonly string[]>>;
  readonly change?: Change;
  readonly run?: Partial<Pick<RunView, 'mode' | 'status'>>;
  readonly named?: Partial<Named>;
  readonly deletesAbsent?: boolean;
  readonly note?: (ledger: Ledger) => void;
};

const createSnapshot = (rows: Case['served'] = {}): Snapshot => ({
  generation: '1',
  total: Object.keys(rows).length,
  ids: Object.keys(rows),
  records: new Map(Object.entries(rows).map(([id, [f0, f1, f2]]) => [id, { id, f0, f1, f2 }])),
  stale: [],
});

/** The kinds of violations of a run on 5 September, when the run before was the day before. */
function judged({
  account,
  served,
  before = served,
  change,
  run = {},
  named = {},
  deletesAbsent = false,
  note,
}: Case): ViolationKind[] {
  const truth: Truth = {
    at: new Date('2011-09-05T12:00:00Z'),
    records: new Map(Object.entries(account)),
    types: new Map(),
  };
  const begin = createMoment(9, '2011-09-05');
  const history: History = {
    shape,
    note: async () => undefined,
    begin: async () => begin,
    states: () => [{ truth, moment: begin, gone: new Set() }],
    change: () => change,
    settle: () => undefined,
  };
  const ledger = openLedger(() => truth.at);
  note?.(ledger);
  const found = new Set<ViolationKind>();
  const addViolations = (kind: ViolationKind, messages: readonly string[]): void => {
    if (messages.length > 0) found.add(kind);
  };
  const judge = openJudge({
    history,
    notes: ledger.notes,
    addViolations,
    deletesAbsent: () => deletesAbsent,
    before: createSnapshot(before),
  });
  const { mode = 'incremental', status = 'succeeded' } = run;
  const error = status === 'succeeded' ? null : { code: 'X', message: 'x', fix: 'x' };
  const counts = { fetched: 0, inserted: 0, updated: 0, unchanged: 0, deleted: 0, rejected: 0 };
  const none: Named = {
    stale: new Set(),
    accepted: new Set(),
    rejected: new Set(),
    held: new Set(),
    proposal: null,
    completeSince: null,
  };
  const all = { ...none, ...named };
  judge.judge({
    run: { id: 'r', syncConfigId: 'c', mode, status, attempt: 1, generation: '1', counts, error },
    named: all,
    begun: { mode, begin, previous: createMoment(1, '2011-09-04'), completeSince: all.completeSince },
    snapshot: createSnapshot(served),
  });
  return [...found].sort();
}

const right = ['same', 'Label', '5'];
const silently = (day: string): Change => ({
  since: createMoment(5, day),
  tracedSince: null,
  totalsSince: null,
  lineTimes: '',
});

describe('what a green run may serve', () => {
  it('is what the account has', () => {
    expect(judged({ account: { 1: createRecord(right) }, served: { 1: right } })).toEqual([]);
    expect(judged({ account: { 1: createRecord(right) }, served: { 1: ['other', 'Label', '5'] } })).toEqual([
      'green',
    ]);
    expect(judged({ account: { 1: createRecord(right) }, served: {} })).toEqual(['green']);
    expect(judged({ account: {}, served: { 1: right } })).toEqual(['green']);
  });

  it('is older in a field that changed without a trace, until all records were read in full', () => {
    const wrong: Case = {
      account: { 1: createRecord(right) },
      served: { 1: ['old', 'Label', '5'] },
      change: silently('2011-09-03'),
    };
    expect(judged(wrong)).toEqual([]);
    expect(judged({ ...wrong, named: { completeSince: new Date('2011-09-04T00:00:00Z') } })).toEqual([
      'green',
    ]);
    expect(judged({ ...wrong, run: { mode: 'full' } })).toEqual(['green']);
    expect(
      judged({ ...wrong, change: { ...silently('2011-09-03'), tracedSince: createMoment(5, '2011-09-03') } }),
    ).toEqual(['green']);
    expect(judged({ ...wrong, account: { 1: createRecord(right, '2011-09-05T11:00:00Z') } })).toEqual([
      'green',
    ]);
  });

  it('has older labels until the next day, and no older amount due of an open document', () => {
    const label: Case = {
      account: { 1: createRecord(right) },
      served: { 1: ['same', 'Old', '5'] },
      change: silently('2011-09-05'),
    };
    expect(judged(label)).toEqual([]);
    expect(judged({ ...label, change: silently('2011-09-04') })).toEqual(['green']);
    expect(judged({ ...label, served: { 1: ['same', 'Label', '7'] } })).toEqual(['green']);
  });

  it('is what a false answer said, as long as few records became wrong', () => {
    const old = { 1: right, 2: right };
    const wrong: Case = {
      account: { 1: createRecord(right), 2: createRecord(right) },
      served: { 1: ['x', 'Label', '5'], 2: ['x', 'Label', '5'] },
      before: old,
    };
    const note =
      (fewerThan: number) =>
      (ledger: Ledger): void =>
        void ledger.misreports({
          recordType: 'invoice',
          ids: new Set(['1', '2']),
          field: 'memo',
          bound: 'full-read',
          fewerThan,
        });
    expect(judged({ ...wrong, note: note(3) })).toEqual([]);
    expect(judged({ ...wrong, note: note(2) })).toEqual(['green']);
  });
});

describe('what a partial run may serve', () => {
  const wrong: Case = {
    account: { 1: createRecord(right), 2: createRecord(right) },
    served: { 1: ['old', 'Label', '5'], 2: right },
    run: { status: 'partial' },
  };
  const spoiled =
    (id: string) =>
    (ledger: Ledger): void =>
      void ledger.spoiled({ recordType: 'invoice', id });

  it('is wrong where it says so', () => {
    expect(judged({ ...wrong, named: { rejected: new Set(['1']) }, note: spoiled('1') })).toEqual([]);
    expect(judged({ ...wrong, named: { rejected: new Set(['2']) }, note: spoiled('2') })).toEqual([
      'unnamed',
    ]);
  });

  it('says nothing that is not so, and not nothing', () => {
    const sound: Case = { ...wrong, served: { 1: right, 2: right } };
    expect(judged({ ...sound, named: { held: new Set(['1']) } })).toEqual(['unnamed']);
    expect(judged({ ...sound, named: { rejected: new Set(['1']) } })).toEqual(['unnamed']);
    expect(judged(sound)).toEqual(['unnamed']);
  });
});

describe('what a run may delete', () => {
  const account = Object.fromEntries(
    Array.from({ length: 20 }, (_unused, n) => [String(n), createRecord(right)]),
  );
  const all = Object.fromEntries(Object.keys(account).map((id) => [id, right]));
  const without = (count: number) => Object.fromEntries(Object.entries(all).slice(count));
  const hidden =
    (count: number) =>
    (ledger: Ledger): void =>
      void ledger.hides({ recordType: 'invoice', ids: Object.keys(account).slice(0, count) });

  it('is nothing that lives, unless the role hides a few, or a person approved it', () => {
    const lost: Case = { account, served: without(3), before: all, note: hidden(3) };
    expect(judged({ ...lost, note: hidden(2), deletesAbsent: true })).toEqual(['deleted', 'green']);
    expect(judged({ ...lost, deletesAbsent: true })).toEqual(['deleted']);
    expect(judged({ ...lost, served: without(2), deletesAbsent: true })).toEqual([]);
    expect(judged({ ...lost, served: without(2) })).toEqual(['deleted']);
    const approved = (ledger: Ledger): void => {
      hidden(3)(ledger);
      ledger.approved({ recordType: 'invoice', ids: ['0', '1', '2'] });
    };
    expect(judged({ ...lost, note: approved })).toEqual([]);
  });
});
