// Turns a seed into everything that will happen: pure, so that a failing seed can be shown and replayed. What hits a running run
// is triggered by the count of its requests to the ERP, not by time.
import { type Random, randomOf } from './random.ts';

export const recordTypes = ['customer', 'item', 'invoice', 'creditMemo', 'customerPayment'] as const;
export type RecordTypeName = (typeof recordTypes)[number];

export const mutationKinds = [
  'edit-invoice',
  'edit-lines',
  'insert-invoice',
  'delete-invoice',
  'edit-customer',
  'rename-customer',
  'insert-customer',
  'delete-customer',
  'edit-item',
  'rename-item',
  'insert-item',
  'delete-item',
  'pay-invoice',
  'undo-payment',
  'edit-credit',
  'insert-credit',
  'delete-credit',
  'silent-amount',
  'touch-all',
  'delete-unlisted',
] as const;
export type MutationKind = (typeof mutationKinds)[number];

/** Faults that meet single requests. */
export const requestFaults = ['429', '500', 'cut', 'slow'] as const;
export type RequestFault = (typeof requestFaults)[number];
/** Faults that last for a round or two. */
export const stateFaults = ['hidden-table', 'hidden-deletions', 'narrow-role', 'locked-record', 'bad-column', 'bad-value'] as const;
export type StateFault = (typeof stateFaults)[number];

export type Moment = { readonly when: 'reading' | 'publishing'; readonly delayMs: number };
export type Action =
  | { readonly do: 'mutate'; readonly kind: MutationKind; readonly seed: number }
  | { readonly do: 'step-clock'; readonly minutes: number }
  | { readonly do: 'fault'; readonly fault: RequestFault; readonly times: number }
  | { readonly do: 'hold'; readonly fault: StateFault; readonly recordType: RecordTypeName; readonly rounds: number; readonly seed: number }
  | ({ readonly do: 'kill'; readonly recordType: RecordTypeName } & Moment)
  | ({ readonly do: 'stop'; readonly recordType: RecordTypeName } & Moment);
export type Round = {
  readonly full: boolean;
  readonly before: readonly Action[];
  readonly during: readonly { readonly afterRequests: number; readonly action: Action }[];
};
export type Plan = {
  readonly seed: number;
  readonly recordTypes: readonly RecordTypeName[];
  readonly deletions: 'feed' | 'reconcile';
  readonly signIn: 'oauth2' | 'tba';
  readonly processes: number;
  readonly workers: number;
  readonly pageSize: number;
  readonly paymentTouchesInvoice: boolean;
  readonly reader: boolean;
  readonly rounds: readonly Round[];
};

export const has = ({ rounds }: Plan, kind: 'kill' | 'stop'): boolean =>
  rounds.some(({ during }) => during.some(({ action }) => action.do === kind));

/** In half of the seeds, in every combination with each other. */
const isKilled = (seed: number): boolean => seed % 2 === 1;
const isRead = (seed: number): boolean => seed % 4 >= 2;
/** In a quarter of the seeds: with and without a kill, with and without a reader. */
const isStopped = (seed: number): boolean => [1, 6, 8, 15].includes(seed % 16);

const mutateOf = (random: Random, kinds: readonly MutationKind[]): Action => ({
  do: 'mutate',
  kind: random.pick(kinds),
  seed: random.between(1, 2 ** 31),
});

/** Minutes. Back by no more than the overlap that every incremental run reads again. */
const stepOf = (random: Random): Action => ({
  do: 'step-clock',
  minutes: random.chance(0.3) ? -random.between(1, 8) : random.chance(0.7) ? random.between(1, 90) : random.between(120, 3_000),
});

/** Several in a row, except slow ones: each of these takes a caller's whole timeout. */
function faultOf(random: Random): Action {
  const [fault, times] = [random.pick(requestFaults), random.between(1, 3)];
  return { do: 'fault', fault, times: fault === 'slow' ? 1 : times };
}

type Frame = Pick<Plan, 'recordTypes' | 'deletions'>;

/**
 * Up to twenty merely absent records are deleted by design. So where a role that sees fewer records could look like that,
 * nothing else that hides deletions happens in the same seed, and under `reconcile` it begins between two runs.
 */
function holdOf(random: Random, fault: StateFault, frame: Frame): Action {
  const withBadValue = frame.recordTypes.filter((name) => name === 'customer' || name === 'invoice');
  const narrowed = frame.recordTypes.filter((name) => name === 'customer' || name === 'invoice');
  const among = fault === 'bad-value' ? withBadValue : fault === 'narrow-role' ? narrowed : frame.recordTypes;
  return { do: 'hold', fault, recordType: random.pick(among), rounds: random.between(1, 2), seed: random.between(1, 2 ** 31) };
}

function kindsOf(frame: Frame, narrows: boolean): readonly MutationKind[] {
  return mutationKinds.filter((kind) => kind !== 'delete-unlisted' || (frame.deletions === 'reconcile' && !narrows));
}

function roundOf(random: Random, kinds: readonly MutationKind[], index: number): Round {
  const before: Action[] = [];
  const during: Round['during'][number][] = [];
  if (index > 0) {
    for (let n = random.between(3, 9); n > 0; n -= 1) before.push(mutateOf(random, kinds));
    if (random.chance(0.4)) before.push(stepOf(random));
  }
  const isCalm = random.chance(0.35);
  for (let n = isCalm ? 0 : random.between(1, 4); n > 0; n -= 1)
    during.push({ afterRequests: random.between(1, 16), action: mutateOf(random, kinds) });
  if (!isCalm && random.chance(0.2)) during.push({ afterRequests: random.between(1, 12), action: stepOf(random) });
  for (let n = random.between(0, 2); n > 0; n -= 1) during.push({ afterRequests: random.between(1, 12), action: faultOf(random) });
  return { full: index === 0 || random.chance(0.12), before, during };
}

function addHolds(random: Random, frame: Frame, rounds: Round[], holds: readonly StateFault[]): void {
  for (const fault of holds) {
    const action = holdOf(random, fault, frame);
    const index = random.between(1, rounds.length - 1);
    const round = rounds[index];
    if (round === undefined) continue;
    const between = fault === 'narrow-role' || fault === 'bad-value' || random.chance(0.5);
    rounds[index] = between
      ? { ...round, before: [...round.before, action] }
      : { ...round, during: [...round.during, { afterRequests: random.between(1, 12), action }] };
  }
}

function addDisaster(random: Random, frame: Frame, rounds: Round[], kind: 'kill' | 'stop'): void {
  const index = random.between(0, rounds.length - 1);
  const round = rounds[index];
  if (round === undefined) return;
  const action: Action = {
    do: kind,
    recordType: random.pick(frame.recordTypes),
    when: random.chance(0.4) ? 'publishing' : 'reading',
    delayMs: random.pick([0, 0, 5, 15, 40]),
  };
  rounds[index] = { ...round, during: [...round.during, { afterRequests: random.between(1, 14), action }] };
}

function countOf(rounds: readonly Round[], kind: Action['do']): number {
  const actions = rounds.flatMap(({ before, during }) => [...before, ...during.map(({ action }) => action)]);
  return actions.filter((action) => action.do === kind).length;
}

/**
 * Hours back, in the last round, and forward again only after all its runs started: a clock that goes back and forward again between
 * two runs leaves edits that no modification time reveals, which only the daily scan can find.
 */
function stepFarBack(random: Random, rounds: Round[]): void {
  const last = rounds.pop();
  if (last === undefined) return;
  const action: Action = { do: 'step-clock', minutes: -random.between(60, 2_880) };
  const { before, during } = last;
  rounds.push({
    ...last,
    before: [action, ...before.filter((other) => other.do !== 'step-clock')],
    during: during.filter((event) => event.action.do !== 'step-clock'),
  });
}

/** What a seed must have at least. */
export const least = { mutations: 20, faults: 3 };

export function planOf(seed: number): Plan {
  const random = randomOf(seed);
  const others: readonly RecordTypeName[] = ['item', 'creditMemo', 'customerPayment'];
  const frame: Frame = {
    recordTypes: ['invoice', 'customer', ...(random.chance(0.7) ? [random.pick(others)] : [])],
    deletions: random.chance(0.5) ? 'feed' : 'reconcile',
  };
  const holds = random.sample(stateFaults, random.between(1, 3));
  const narrows = holds.includes('narrow-role');
  const kinds = kindsOf(frame, narrows);
  const rounds = Array.from({ length: random.between(3, 4) }, (_unused, index) => roundOf(random, kinds, index));
  const fits = holds.filter((fault) => !(narrows && fault === 'hidden-deletions'));
  addHolds(random, frame, rounds, fits);
  const fill = (action: () => Action, missing: () => boolean): void => {
    while (missing()) {
      const index = random.between(1, rounds.length - 1);
      const round = rounds[index];
      if (round !== undefined)
        rounds[index] = { ...round, during: [...round.during, { afterRequests: random.between(1, 8), action: action() }] };
    }
  };
  fill(
    () => mutateOf(random, kinds),
    () => countOf(rounds, 'mutate') < least.mutations,
  );
  fill(
    () => faultOf(random),
    () => countOf(rounds, 'fault') + countOf(rounds, 'hold') < least.faults,
  );
  if (random.chance(0.25)) stepFarBack(random, rounds);
  if (isKilled(seed)) addDisaster(random, frame, rounds, 'kill');
  if (isStopped(seed)) addDisaster(random, frame, rounds, 'stop');
  return {
    seed,
    ...frame,
    signIn: random.chance(0.5) ? 'oauth2' : 'tba',
    processes: random.chance(0.3) ? 2 : 1,
    workers: random.between(1, 2),
    pageSize: random.pick([15, 25, 40]),
    paymentTouchesInvoice: random.chance(0.5),
    reader: isRead(seed),
    rounds,
  };
}
