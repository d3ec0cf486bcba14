// An export may last minutes, and all that time it holds a lock on its table that every reader holds. Whoever wants to change or
// drop that table would wait for it, and every list would wait behind him. So exports are cut off when someone waits for them: for
// the key of long reads, which comes before the table's own lock, or for that lock itself.
import type { Pool } from 'pg';
import type { Log } from '../core/log.ts';

export type Standing = {
  /** Watches over the backend of this id until the returned function is called; `cut` is called when someone waits for it. */
  watch(backend: number, cut: () => void): () => void;
};

const lookEveryMs = 250;
/** Whoever asks for a lock and gives up within this time, as those do who drop what is no longer read, moves nobody. */
const patienceMs = 200;

const blockers = `select distinct b.pid from pg_locks w cross join lateral unnest(pg_blocking_pids(w.pid)) as b(pid)
  where not w.granted and w.locktype in ('relation', 'advisory') and w.waitstart < clock_timestamp() - make_interval(secs => $1) and b.pid = any($2::int[])`;

/** `pool` is asked while something is watched, and never by more than one question at once. */
export function openStanding(pool: Pick<Pool, 'query'>, log: Log): Standing {
  const watched = new Map<number, () => void>();
  let looking = false;
  const lookSoon = (): void => {
    looking = watched.size > 0;
    if (looking) setTimeout(look, lookEveryMs);
  };
  const look = async (): Promise<void> => {
    // The last one may have ended since, and the pool with it.
    if (watched.size === 0) return lookSoon();
    try {
      const { rows } = await pool.query<{ pid: number }>(blockers, [patienceMs / 1000, [...watched.keys()]]);
      for (const { pid } of rows) watched.get(pid)?.();
    } catch (error) {
      log.warn({ err: error }, 'who waits for an export can not be seen for the moment');
    }
    lookSoon();
  };
  return {
    watch(backend, cut) {
      watched.set(backend, cut);
      if (!looking) lookSoon();
      return () => {
        watched.delete(backend);
      };
    },
  };
}
