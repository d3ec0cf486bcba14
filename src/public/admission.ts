// What the public interface may take of this process at once. None of it is counted per client: a caller is refused only while the
// process itself is full, and then at once, with words and a time to come back. So its queues are bounded in number and in time, one
// organization can't fill them, and what else the process does keeps connections of its own.
import { availableParallelism } from 'node:os';
import type { Ctx } from '../core/ctx.ts';
import { type AppError, unavailable } from '../core/errors.ts';
import { half, openTurns, type Turns } from './turns.ts';

const retryAfterSeconds = 1;

/** Beyond this more statements at once answer no more of them, and whoever asks the database for something else waits among them. */
const readsPerProcessor = 2;

/**
 * Lists, records and changes in turns on the connections for synced records; a part of those stays with syncs and management. A server of
 * our own is on these processors; how many another one has is not known.
 */
export function openReadTurns({ db, settings }: Pick<Ctx, 'db' | 'settings'>): Turns {
  const { requests, waitMs } = settings.publicLoad;
  const all = db.data.options.max;
  const useful = db.isOwn ? readsPerProcessor * availableParallelism() + 1 : all;
  const running = Math.max(1, Math.min(useful, all - Math.max(1, Math.floor(all / 4))));
  return openTurns({ running, waiting: requests, limitMs: waitMs, ofOne: Math.max(1, running - 1), retryAfterSeconds }, 'reads');
}

/** Runs what asks for keys and versions, in turn. Throws 503 when too many ask. */
export type LookUp = <T>(owner: string, ask: () => Promise<T>) => Promise<T>;

/** The owner of look-ups for callers whom nobody knows yet: together they have one share. */
export const strangers = '';

export function openLookUp({ db, settings }: Pick<Ctx, 'db' | 'settings'>): LookUp {
  const { requests, waitMs } = settings.publicLoad;
  const turns = openTurns({ running: db.lookups.client.pool.max, waiting: requests, limitMs: waitMs, retryAfterSeconds }, 'look-ups');
  return async (owner, ask) => {
    const end = turns.begin(owner) ?? (await turns.await(owner));
    try {
      return await ask();
    } finally {
      end();
    }
  };
}

export type Places = {
  /** Takes a place for a request, until it leaves. Rejects with 503, a moment later, when there is none. */
  enter(): Place | Promise<never>;
};
export type Place = {
  /** Counts the place as this organization's from now on. Gives it up and rejects with 503, a moment later, when that has its share. */
  belongsTo(organizationId: string): Promise<never> | undefined;
  /** May be called again, to no effect. */
  leave(): void;
};

/** Made once: whoever is full has no time for more. */
const full = unavailable('Too many requests are under way; try again later', retryAfterSeconds);
const fullForOne = unavailable('Too many requests of this organization are under way; try again later', retryAfterSeconds);

/**
 * Places for requests from their first line to the last byte of their answer, whatever they wait for meanwhile. Whoever is refused and asks
 * again at once would take the time of those who are served, so a refusal is told `refuseAfterMs` later, to as many as there are places.
 */
export function openPlaces(most: number, refuseAfterMs = 500): Places {
  const mostOfOne = half(most);
  const held = new Map<string, number>();
  let taken = 0;
  let refusing = 0;
  const refuse = async (error: AppError): Promise<never> => {
    if (refusing < most) {
      refusing += 1;
      await new Promise((resolve) => setTimeout(resolve, refuseAfterMs));
      refusing -= 1;
    }
    throw error;
  };
  const take = (): Place => {
    taken += 1;
    let owner: string | undefined;
    let left = false;
    const leave = (): void => {
      if (left) return;
      left = true;
      taken -= 1;
      if (owner === undefined) return;
      const others = (held.get(owner) ?? 1) - 1;
      if (others === 0) held.delete(owner);
      else held.set(owner, others);
    };
    return {
      leave,
      belongsTo(organizationId) {
        const count = held.get(organizationId) ?? 0;
        if (count >= mostOfOne) {
          leave();
          return refuse(fullForOne);
        }
        owner = organizationId;
        held.set(organizationId, count + 1);
        return undefined;
      },
    };
  };
  return { enter: () => (taken < most ? take() : refuse(full)) };
}
