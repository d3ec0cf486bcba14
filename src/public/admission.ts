// What the public interface may take of this process at once. None of it is counted per client: a caller is refused only while the
// process itself is full, and then at once, with words and a time to come back. So its queues are bounded in number and in time, one
// organization can't fill them, and what else the process does keeps connections of its own.
import type { Ctx } from '../core/ctx.ts';
import { unavailable } from '../core/errors.ts';
import { openTurns, type Turns } from './turns.ts';

const retryAfterSeconds = 1;

/** Lists, records and changes in turns on the connections for synced records; a part of those stays with syncs and management. */
export function openReadTurns({ db, settings }: Pick<Ctx, 'db' | 'settings'>): Turns {
  const { waiting, waitMs } = settings.publicLoad;
  const all = db.data.options.max;
  const running = Math.max(1, all - Math.max(1, Math.floor(all / 4)));
  return openTurns({ running, waiting, limitMs: waitMs, ofOne: Math.max(1, running - 1), retryAfterSeconds }, 'reads');
}

/** Runs what asks for keys and versions, in turn. Throws 503 when too many ask. */
export type LookUp = <T>(owner: string, ask: () => Promise<T>) => Promise<T>;

/** The owner of look-ups for callers whom nobody knows yet: together they have one share. */
export const strangers = '';

export function openLookUp({ db, settings }: Pick<Ctx, 'db' | 'settings'>): LookUp {
  const { waiting, waitMs } = settings.publicLoad;
  const turns = openTurns({ running: db.lookups.client.pool.max, waiting, limitMs: waitMs, retryAfterSeconds }, 'look-ups');
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
  /** Takes a place for a request, until the returned function is called. Throws 503 when there is none. */
  enter(): Place;
};
export type Place = {
  /** Counts the place as this organization's from now on. Throws 503 when it has its share already. */
  belongsTo(organizationId: string): void;
  leave(): void;
};

const full = (whose: string) => unavailable(`Too many requests ${whose}are under way; try again later`, retryAfterSeconds);

/** Places for requests from their first line to the last byte of their answer, whatever they wait for meanwhile. */
export function openPlaces(most: number): Places {
  const mostOfOne = Math.ceil((most * 3) / 4);
  const held = new Map<string, number>();
  let taken = 0;
  return {
    enter() {
      if (taken >= most) throw full('');
      taken += 1;
      let owner: string | undefined;
      return {
        belongsTo(organizationId) {
          const count = held.get(organizationId) ?? 0;
          if (count >= mostOfOne) throw full('of this organization ');
          owner = organizationId;
          held.set(organizationId, count + 1);
        },
        leave() {
          taken -= 1;
          if (owner === undefined) return;
          const left = (held.get(owner) ?? 1) - 1;
          if (left === 0) held.delete(owner);
          else held.set(owner, left);
        },
      };
    },
  };
}
