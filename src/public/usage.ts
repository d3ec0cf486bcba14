// Counts calls by key, day, version and resource. A request only adds to a number in memory; what was counted goes to the database
// every ten seconds in one statement, and once more at the end. Several processes add up there.
import type { Ctx } from '../core/ctx.ts';

export type Call = {
  readonly apiKeyId: string;
  /** Empty for one that was never published. */
  readonly version: string;
  /** Empty for the description of a version, or where nothing of that name is. */
  readonly resource: string;
};

export type Usage = {
  /** Never throws and never waits. */
  note(call: Call, status: number): void;
  /** Brings what was counted to the database. Counts that could not be brought are kept for the next time. */
  flush(): Promise<void>;
  /** Flushes once more, and no more after that. */
  stop(): Promise<void>;
};

export type UsageOptions = { readonly flushEveryMs?: number; readonly mostWaiting?: number };

type Counts = { succeeded: number; notModified: number; refused: number; failed: number };
type Entry = Call & Counts & { readonly day: string };

const flushEveryMs = 10_000;
/** Rows that may wait while the database is away; beyond them new ones are not counted. */
const mostWaiting = 50_000;
const dayMs = 86_400_000;

function add(entry: Counts, status: number): void {
  if (status === 304) entry.notModified += 1;
  else if (status < 400) entry.succeeded += 1;
  else if (status < 500) entry.refused += 1;
  else entry.failed += 1;
}

export function openUsage(ctx: Pick<Ctx, 'db' | 'log' | 'clock'>, options: UsageOptions = {}): Usage {
  const most = options.mostWaiting ?? mostWaiting;
  let counted = new Map<string, Entry>();
  let lost = 0;
  let flushing: Promise<void> = Promise.resolve();

  /** What is counted while the statement runs waits for the next one. */
  async function flushOnce(): Promise<void> {
    const batch = counted;
    if (batch.size === 0) return;
    counted = new Map();
    try {
      await ctx.db.control.raw('select add_api_key_usage(?::jsonb)', [JSON.stringify([...batch.values()].map(rowOf))]);
      if (lost > 0) ctx.log.error({ calls: lost }, 'calls were not counted: too many counts waited for the database');
      lost = 0;
    } catch (error) {
      ctx.log.warn({ err: error }, 'the use of keys could not be noted; it is tried again');
      keep(batch, counted);
    }
  }
  const flush = (): Promise<void> => {
    flushing = flushing.then(flushOnce);
    return flushing;
  };
  const timer = setInterval(() => void flush(), options.flushEveryMs ?? flushEveryMs);
  timer.unref();
  return {
    note(call, status) {
      const day = Math.floor(ctx.clock.now().getTime() / dayMs);
      const key = `${day} ${call.apiKeyId} ${call.version} ${call.resource}`;
      let entry = counted.get(key);
      if (entry === undefined) {
        if (counted.size >= most) {
          lost += 1;
          return;
        }
        entry = { ...call, day: new Date(day * dayMs).toISOString().slice(0, 10), succeeded: 0, notModified: 0, refused: 0, failed: 0 };
        counted.set(key, entry);
      }
      add(entry, status);
    },
    flush,
    stop: () => {
      clearInterval(timer);
      return flush();
    },
  };
}

function keep(batch: ReadonlyMap<string, Entry>, counted: Map<string, Entry>): void {
  for (const [key, entry] of batch) {
    const newer = counted.get(key);
    if (newer === undefined) counted.set(key, entry);
    else {
      newer.succeeded += entry.succeeded;
      newer.notModified += entry.notModified;
      newer.refused += entry.refused;
      newer.failed += entry.failed;
    }
  }
}

const rowOf = ({ apiKeyId, day, version, resource, succeeded, notModified, refused, failed }: Entry) => ({
  api_key_id: apiKeyId,
  day,
  version,
  resource,
  succeeded,
  not_modified: notModified,
  refused,
  failed,
});
