// Turns a seed into everything that will happen: pure, so that a failing seed can be shown, replayed and
// shortened. What hits a running run is triggered by the count of its requests to the ERP, not by time. Each
// action brings the seed of its own details: without some of its actions a plan means the same as before.
import { profile } from '../setup/account-profile.ts';
import type { ExactAction } from './exact.ts';
import {
  type EditKind,
  editKinds,
  editWeights,
  genericEdits,
  genericTypes,
  getTraits,
  type RecordTypeName,
  type RequestFault,
  requestFaults,
  type StateFault,
  stateFaults,
} from './plan-names.ts';
import { createRandom, type Random } from './random.ts';

export type { EditKind, RecordTypeName, RequestFault, StateFault } from './plan-names.ts';

/** `published`: changed rows are there, and the queue doesn't know yet; seeds don't draw it. */
export type Moment = { readonly when: 'reading' | 'publishing' | 'published'; readonly delayMs: number };
export type Action =
  | { readonly do: 'edit'; readonly kind: EditKind; readonly seed: number }
  | { readonly do: 'step-clock'; readonly minutes: number }
  | { readonly do: 'fault'; readonly fault: RequestFault; readonly times: number }
  | {
      readonly do: 'hold';
      readonly fault: StateFault;
      readonly recordType: RecordTypeName;
      readonly rounds: number;
      readonly seed: number;
    }
  /** A person decides about the deletions that wait for approval, and accepts missing fields. */
  | {
      readonly do: 'approve';
      readonly recordType: RecordTypeName;
      readonly seed: number;
      readonly decision?: Decision;
    }
  | ({ readonly do: 'kill'; readonly recordType: RecordTypeName } & Moment)
  | ({ readonly do: 'stop'; readonly recordType: RecordTypeName } & Moment)
  /** A worker process stands still for longer than its lease; another one takes over, and both go on. */
  | ({ readonly do: 'freeze'; readonly recordType: RecordTypeName } & Moment)
  /** A standby is cut off, what is published then is seen by clients and lost, and the standby takes over. */
  | ({ readonly do: 'failover'; readonly recordType: RecordTypeName } & Moment)
  | ExactAction;
export type Decision = 'all' | 'part' | 'reject' | 'look' | 'take back';
/** `asking`: only requests whose body, or path when they have none, contains this text are counted. */
export type During = { readonly afterRequests: number; readonly asking?: string; readonly action: Action };
export type Round = {
  readonly full: boolean;
  readonly before: readonly Action[];
  readonly during: readonly During[];
  /** Each of its runs must succeed. */
  readonly green?: true;
  /** Each of its runs must succeed or be partial. */
  readonly published?: true;
  /** They give callers no change to follow. */
  readonly unchanged?: true;
};
export const timeZones = ['Europe/London', 'America/Los_Angeles'] as const;
export type Plan = {
  readonly seed: number;
  readonly recordTypes: readonly RecordTypeName[];
  readonly deletions: 'feed' | 'reconcile';
  readonly signIn: 'oauth2' | 'tba';
  readonly processes: number;
  readonly workers: number;
  /** `large`: some documents have hundreds of lines, and pages have the service's real size. */
  readonly data: 'small' | 'large';
  readonly pageSize: number;
  readonly timeZone: (typeof timeZones)[number];
  /** The account's clock at the beginning, as an ISO time. */
  readonly startsAt: string;
  readonly paymentTouchesInvoice: boolean;
  readonly reader: boolean;
  readonly rounds: readonly Round[];
  /** Without the quiet phase at the end. */
  readonly quiet?: false;
};

export type DisasterKind = 'kill' | 'stop' | 'freeze' | 'failover';
export const has = ({ rounds }: Plan, kind: DisasterKind): boolean =>
  rounds.some(({ during }) => during.some(({ action }) => action.do === kind));

/** In half of the seeds, in every combination with each other. */
const isKilled = (seed: number): boolean => seed % 2 === 1;
const isRead = (seed: number): boolean => seed % 4 >= 2;
/** In a quarter of the seeds: with and without a kill, with and without a reader. */
const isStopped = (seed: number): boolean => [1, 6, 8, 15].includes(seed % 16);
const isFrozen = (seed: number): boolean => seed % 8 === 4 || seed % 16 === 11;
/** In a quarter of the seeds, with and without a reader, a kill and a frozen worker. */
const isFailedOver = (seed: number): boolean => [2, 5, 7, 12].includes(seed % 16);
const isLarge = (seed: number): boolean => [3, 4, 9, 14].includes(seed % 16);

const maxSeed = 2 ** 31;
const pickSeed = (random: Random): number => random.between(1, maxSeed);

const totalWeight = editKinds.reduce((sum, kind) => sum + editWeights[kind], 0);

function pickEditKind(random: Random): EditKind {
  let left = random.next() * totalWeight;
  for (const kind of editKinds) {
    left -= editWeights[kind];
    if (left < 0) return kind;
  }
  return 'edit-invoice';
}
const createEdit = (random: Random): Action => ({
  do: 'edit',
  kind: pickEditKind(random),
  seed: pickSeed(random),
});

/** Minutes. At any time up to an hour forward or back; forward by more as well, up to two days. */
const createClockStep = (random: Random): Action => ({
  do: 'step-clock',
  minutes: random.chance(0.4)
    ? -random.between(1, 60)
    : random.chance(0.7)
      ? random.between(1, 60)
      : random.between(61, 3_000),
});

/** Several in a row, except slow ones: each of these takes a caller's whole timeout. */
function createFault(random: Random): Action {
  const [fault, times] = [random.pick(requestFaults), random.between(1, 3)];
  return { do: 'fault', fault, times: fault === 'slow' ? 1 : times };
}

const createApproval = (random: Random, recordTypes: readonly RecordTypeName[]): Action => ({
  do: 'approve',
  recordType: random.pick(recordTypes),
  seed: pickSeed(random),
});

/** It happens before the round, or after some requests of its runs. */
function placeIn(
  random: Random,
  rounds: Round[],
  index: number,
  action: Action,
  isBetween: boolean,
  maxRequests = 12,
): void {
  const round = rounds[index];
  if (round === undefined) return;
  rounds[index] = isBetween
    ? { ...round, before: [...round.before, action] }
    : { ...round, during: [...round.during, { afterRequests: random.between(1, maxRequests), action }] };
}

/** In any round from the `first` on. */
const place = (
  random: Random,
  rounds: Round[],
  first: number,
  action: Action,
  isBetween: boolean,
  maxRequests?: number,
): void => placeIn(random, rounds, random.between(first, rounds.length - 1), action, isBetween, maxRequests);

function createRound(random: Random, recordTypes: readonly RecordTypeName[], index: number): Round {
  const before: Action[] = [];
  const during: During[] = [];
  if (index > 0) {
    for (let n = random.between(3, 9); n > 0; n -= 1) before.push(createEdit(random));
    if (random.chance(0.4)) before.push(createClockStep(random));
    if (random.chance(0.4)) before.push(createApproval(random, recordTypes));
  }
  const isCalm = random.chance(0.35);
  for (let n = isCalm ? 0 : random.between(1, 4); n > 0; n -= 1)
    during.push({ afterRequests: random.between(1, 16), action: createEdit(random) });
  if (!isCalm && random.chance(0.2))
    during.push({ afterRequests: random.between(1, 12), action: createClockStep(random) });
  if (index > 0 && random.chance(0.2))
    during.push({ afterRequests: random.between(1, 12), action: createApproval(random, recordTypes) });
  for (let n = random.between(0, 2); n > 0; n -= 1)
    during.push({ afterRequests: random.between(1, 12), action: createFault(random) });
  return { full: index === 0 || random.chance(0.12), before, during };
}

/**
 * Three in turn, so that each fault occurs equally often and with changing others, and one more in half of
 * the seeds.
 */
function pickStateFaults(random: Random, seed: number): Set<StateFault> {
  const cycle = Math.floor(seed / stateFaults.length);
  const turns = [0, 1, 2].map(
    (n) => stateFaults[(seed + n * 11 + cycle * (2 * n + 1)) % stateFaults.length] ?? 'narrow-role',
  );
  return new Set([...turns, ...random.sample(stateFaults, random.between(0, 1))]);
}

/** The record types of a seed: invoices and customers, and one that its faults need. */
function pickRecordTypes(random: Random): readonly RecordTypeName[] {
  const others: readonly RecordTypeName[] = ['item', 'creditMemo', 'customerPayment'];
  return ['invoice', 'customer', ...(random.chance(0.7) ? [random.pick(others)] : [])];
}

/** One that the connector doesn't know by name, in accounts that have records of it. */
const chooseGenericTypes = (seed: number): readonly RecordTypeName[] =>
  profile === undefined ? [] : [genericTypes[seed % genericTypes.length] ?? 'purchaseOrder'];

function addHold(
  random: Random,
  rounds: Round[],
  recordTypes: readonly RecordTypeName[],
  fault: StateFault,
): void {
  const { fits, betweenRuns = false, needsPages = false } = getTraits(fault);
  const among = recordTypes.filter((recordType) => fits?.includes(recordType) ?? true);
  const action: Action = {
    do: 'hold',
    fault,
    recordType: random.pick(among),
    rounds: random.between(1, 2),
    seed: pickSeed(random),
  };
  const isBetween = betweenRuns || random.chance(0.5);
  const index = random.between(1, rounds.length - 1);
  placeIn(random, rounds, index, action, isBetween);
  const round = rounds[index];
  if (needsPages && round !== undefined) rounds[index] = { ...round, full: true };
}

/** More records disappear than may be deleted without approval, and a person decides in the next round. */
function addProposal(random: Random, rounds: Round[], recordTypes: readonly RecordTypeName[]): void {
  const index = random.between(1, rounds.length - 2);
  const isBetween = random.chance(0.6);
  for (let n = 2; n > 0; n -= 1)
    placeIn(
      random,
      rounds,
      index,
      { do: 'edit', kind: 'delete-many-unlisted', seed: pickSeed(random) },
      true,
    );
  for (const recordType of recordTypes)
    placeIn(random, rounds, index + 1, { do: 'approve', recordType, seed: pickSeed(random) }, isBetween);
}

function addDisaster(
  random: Random,
  rounds: Round[],
  recordTypes: readonly RecordTypeName[],
  kind: DisasterKind,
): void {
  const when = random.chance(0.4) ? 'publishing' : 'reading';
  place(
    random,
    rounds,
    0,
    { do: kind, recordType: random.pick(recordTypes), when, delayMs: random.pick([0, 0, 5, 15, 40]) },
    false,
    14,
  );
}

function countActions(rounds: readonly Round[], kind: Action['do']): number {
  const actions = rounds.flatMap(({ before, during }) => [...before, ...during.map(({ action }) => action)]);
  return actions.filter((action) => action.do === kind).length;
}

/** Hours or days back, in the last round. */
function stepFarBack(random: Random, rounds: Round[]): void {
  const last = rounds.pop();
  if (last === undefined) return;
  const action: Action = { do: 'step-clock', minutes: -random.between(60, 2_880) };
  rounds.push({ ...last, before: [action, ...last.before] });
}

/** What a seed must have at least. */
export const least = { edits: 20, faults: 3 };

const minuteMs = 60_000;
/**
 * Clocks go forward and back within three hours before or after these times, by zone. The account's books end
 * in August 2011.
 */
const clockChanges: Readonly<Record<Plan['timeZone'], readonly string[]>> = {
  'Europe/London': ['2011-10-30T01:00:00Z', '2012-03-25T01:00:00Z'],
  'America/Los_Angeles': ['2011-11-06T09:00:00Z', '2012-03-11T10:00:00Z'],
};

function pickStart(random: Random, timeZone: Plan['timeZone']): string {
  if (random.chance(0.5)) return '2011-09-05T09:00:00Z';
  return new Date(
    Date.parse(random.pick(clockChanges[timeZone])) + random.between(-180, 100) * minuteMs,
  ).toISOString();
}

function drawRounds(random: Random, seed: number, recordTypes: readonly RecordTypeName[]): Round[] {
  const rounds = Array.from({ length: random.between(3, 4) }, (_unused, index) =>
    createRound(random, recordTypes, index),
  );
  for (const fault of pickStateFaults(random, seed)) addHold(random, rounds, recordTypes, fault);
  while (countActions(rounds, 'edit') < least.edits) place(random, rounds, 1, createEdit(random), false, 8);
  while (countActions(rounds, 'fault') + countActions(rounds, 'hold') < least.faults)
    place(random, rounds, 1, createFault(random), false, 8);
  if (seed % 3 === 0) addProposal(random, rounds, recordTypes);
  if (random.chance(0.25)) stepFarBack(random, rounds);
  if (isKilled(seed)) addDisaster(random, rounds, recordTypes, 'kill');
  if (isStopped(seed)) addDisaster(random, rounds, recordTypes, 'stop');
  if (isFrozen(seed)) addDisaster(random, rounds, recordTypes, 'freeze');
  if (isFailedOver(seed)) addDisaster(random, rounds, recordTypes, 'failover');
  if (chooseGenericTypes(seed).length > 0) addGenericEdits(seed, rounds);
  return rounds;
}

/** In each round, one edit before it and one during it; drawn apart from everything else. */
function addGenericEdits(seed: number, rounds: Round[]): void {
  const random = createRandom(maxSeed - seed);
  for (let index = 1; index < rounds.length; index += 1)
    for (const isBetween of [true, false])
      placeIn(
        random,
        rounds,
        index,
        { do: 'edit', kind: random.pick(genericEdits), seed: pickSeed(random) },
        isBetween,
      );
}

export function createPlan(seed: number): Plan {
  const random = createRandom(seed);
  const recordTypes = [...pickRecordTypes(random), ...chooseGenericTypes(seed)];
  const data = isLarge(seed) ? 'large' : 'small';
  const timeZone = random.pick(timeZones);
  return {
    seed,
    recordTypes,
    deletions: random.chance(0.4) ? 'feed' : 'reconcile',
    signIn: random.chance(0.5) ? 'oauth2' : 'tba',
    processes: random.chance(0.3) ? 2 : 1,
    workers: random.between(1, 2),
    data,
    pageSize: data === 'large' ? 1_000 : random.pick([15, 25, 40]),
    timeZone,
    startsAt: pickStart(random, timeZone),
    paymentTouchesInvoice: random.chance(0.5),
    reader: isRead(seed),
    rounds: drawRounds(random, seed, recordTypes),
  };
}
