// Keeps the children running: replaces those that end, one after the other on SIGHUP, and stops them all.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config.ts';
import { systemClock } from '../core/clock.ts';
import type { Log } from '../core/log.ts';
import { Stopped } from '../core/work/lifecycle.ts';
import { CannotRun } from '../run-command.ts';
import type { Child } from './child-process.ts';
import type { Role } from './messages.ts';

/** `current` is the one that serves or is to serve; `quickEnds` counts those in a row that ended soon. */
type Place = { readonly number: number; current: Child; quickEnds: number };

type State = {
  readonly processes: number;
  readonly fork: (role: Role) => Child;
  readonly log: Log;
  readonly shutdownMs: number;
  readonly stopping: AbortController;
  /** In order of their numbers. */
  readonly places: Place[];
  /** Those that have not ended, with the ones that are being replaced. */
  readonly living: Set<Child>;
  restarting: Promise<void> | undefined;
  again: boolean;
};

export type Children = {
  /** Those that serve requests, or start to. */
  current(): readonly Child[];
  living(): readonly Child[];
  /**
   * Resolves with the URL when all serve. Rejects with CannotRun when one ends before, which has printed why, and
   * with Stopped after `stop`.
   */
  start(): Promise<string>;
  /** Replaces them one after the other, and once more when called meanwhile. Never rejects. */
  restart(): Promise<void>;
  /** Stops them gracefully; those that take too long are killed. */
  stop(): Promise<void>;
};

/** A child that ends sooner is replaced after a pause, from the second one in a row on. */
const soonMs = 10_000;
const maxPauseMs = 30_000;
/** 0, 1, 2, 4 … 30 seconds. */
export const pauseMs = (quickEnds: number): number =>
  quickEnds < 2 ? 0 : Math.min(maxPauseMs, 1_000 * 2 ** (quickEnds - 2));

function forkInto(state: State, number: number, printsLink = false): Child {
  const child = state.fork({ number, of: state.processes, syncs: number === 1, printsLink });
  state.living.add(child);
  void child.ended.then(() => state.living.delete(child));
  return child;
}

/** Replaces the place's child when it ends without being replaced. */
async function keep(state: State, place: Place, child: Child): Promise<void> {
  const startedMs = systemClock.monotonicMs();
  const how = await child.ended;
  if (state.stopping.signal.aborted || place.current !== child) return;
  place.quickEnds = systemClock.monotonicMs() - startedMs < soonMs ? place.quickEnds + 1 : 0;
  const ms = pauseMs(place.quickEnds);
  state.log.error(
    { process: place.number, pid: child.pid, how, pauseMs: ms },
    'a process ended; it is replaced',
  );
  if (ms > 0) await sleep(ms, undefined, { signal: state.stopping.signal }).catch(() => undefined);
  if (state.stopping.signal.aborted || place.current !== child) return;
  place.current = forkInto(state, place.number);
  void keep(state, place, place.current);
}

/** The first one alone, so that what prevents the start is printed once. */
async function start(state: State): Promise<string> {
  let url = '';
  const begin = async (number: number): Promise<void> => {
    if (state.stopping.signal.aborted) throw new Stopped('stopping');
    const current = forkInto(state, number, number === 1);
    state.places.push({ number, current, quickEnds: 0 });
    url = await current.serving.catch((error: Error) => {
      if (state.stopping.signal.aborted) throw new Stopped('stopping');
      throw new CannotRun(`Process ${number} of ${state.processes} could not start: ${error.message}.`);
    });
  };
  await begin(1);
  await Promise.all(Array.from({ length: state.processes - 1 }, (_, index) => begin(index + 2)));
  for (const place of state.places) void keep(state, place, place.current);
  return url;
}

/** How much longer than its deadline a child may take. */
const graceMs = 5_000;

/** Kills it when it takes too long. */
async function stopChild(state: State, child: Child, replaced: boolean): Promise<void> {
  child.stop(replaced);
  const deadline = setTimeout(() => child.kill(), state.shutdownMs + graceMs);
  await child.ended;
  clearTimeout(deadline);
}

/** A new child that takes longer, because it waits for a lock of a migration for instance, is killed. */
const maxStartMs = 300_000;

/** Whether the place has a new child; the old one has ended then. */
async function replace(state: State, place: Place): Promise<boolean> {
  if (state.stopping.signal.aborted) return false;
  const fresh = forkInto(state, place.number);
  const deadline = setTimeout(() => fresh.kill(), maxStartMs);
  const how = await fresh.serving.then(
    () => undefined,
    (error: Error) => error.message,
  );
  clearTimeout(deadline);
  if (state.stopping.signal.aborted) return false;
  if (how !== undefined) {
    state.log.error(
      { process: place.number, pid: fresh.pid, how },
      'a new process could not start: the old ones go on, the restart ends here',
    );
    return false;
  }
  const old = place.current;
  place.current = fresh;
  void keep(state, place, fresh);
  await stopChild(state, old, true);
  return true;
}

async function replaceAll(state: State): Promise<void> {
  state.log.info({ processes: state.processes }, 'restarting');
  for (const place of state.places) if (!(await replace(state, place))) return;
  state.log.info({ processes: state.processes }, 'restarted');
}

async function restartAll(state: State): Promise<void> {
  do {
    state.again = false;
    await replaceAll(state);
  } while (state.again && !state.stopping.signal.aborted);
}

/** Starts none yet. When this process ends while they stop, it kills them. */
export function createChildren(
  { SHUTDOWN_SECONDS }: Pick<Config, 'SHUTDOWN_SECONDS'>,
  options: Pick<State, 'processes' | 'fork' | 'log'>,
): Children {
  const state: State = {
    ...options,
    shutdownMs: SHUTDOWN_SECONDS * 1_000,
    stopping: new AbortController(),
    places: [],
    living: new Set(),
    restarting: undefined,
    again: false,
  };
  process.on('exit', () => {
    if (state.stopping.signal.aborted) for (const child of state.living) child.kill();
  });
  return {
    current: () => state.places.map(({ current }) => current),
    living: () => [...state.living],
    start: () => start(state),
    restart: () => {
      state.again = true;
      state.restarting ??= restartAll(state).finally(() => {
        state.restarting = undefined;
      });
      return state.restarting;
    },
    stop: async () => {
      state.stopping.abort();
      await Promise.all([...state.living].map((child) => stopChild(state, child, false)));
    },
  };
}
