// The rows of a plan as bytes of whatever form, straight from PostgreSQL's COPY of one snapshot, and the watch over them: whoever
// reads must come for them, and must not keep others from their table.
import { once } from 'node:events';
import { to as copyTo } from 'pg-copy-streams';
import type { Settings } from '../core/settings.ts';
import type { CellColumn, RowWriter } from './copy-rows.ts';
import { copyStatement } from './export-sql.ts';
import type { Standing } from './give-way.ts';
import type { ListPlan } from './plan.ts';
import type { Snapshot } from './snapshot.ts';

/** Bytes read ahead of the caller, so that PostgreSQL writes while we send. */
const ahead = 1 << 20;

export type Lines = {
  /** Bytes that the reader's side took from PostgreSQL. */
  taken(): number;
  /** What went wrong while someone was still listening. */
  failure(): unknown;
  read(): AsyncGenerator<Buffer>;
};

export type Wanted = {
  readonly plan: ListPlan;
  readonly total: number;
  /** Aborted as soon as nobody listens any more. */
  readonly left: AbortSignal;
  readonly form: (columns: readonly CellColumn[]) => RowWriter;
};

/** Resolves when PostgreSQL has the first rows, so that whatever it refuses is still answered with an error. */
export async function startCopy({ client, place, giveBack }: Snapshot, { plan, total, left, form }: Wanted): Promise<Lines> {
  const { text, columns, settings } = copyStatement(place, plan);
  await client.query(settings.text, [...settings.values]);
  const copy = client.query(copyTo(text, { highWaterMark: ahead }));
  // It breaks with its connection, also after the last one who reads it went away.
  let failure: unknown;
  const note = (error: unknown): void => {
    if (!left.aborted) failure ??= error;
  };
  copy.on('error', note);
  await once(copy, 'readable');
  let taken = 0;
  return {
    taken: () => taken,
    failure: () => failure,
    async *read() {
      const { head, write } = form(columns);
      if (head.length > 0) yield head;
      for await (const piece of copy as AsyncIterable<Buffer>)
        for (const written of write(piece)) {
          taken += written.length;
          yield written;
        }
      // Only what PostgreSQL itself calls complete may end as if it were.
      try {
        await client.query('commit');
        if (copy.rowCount !== total) throw new Error(`an export of ${total} records gave ${copy.rowCount}`);
      } catch (error) {
        note(error);
        throw error;
      }
      giveBack();
    },
  };
}

export type Watched = {
  readonly lines: Lines;
  readonly snapshot: Snapshot;
  readonly standing: Standing;
  readonly limits: Pick<Settings['exports'], 'limitMs' | 'slowMs' | 'slowestBytesPerSecond'>;
  /** Something is ready for the reader and not taken; otherwise it is the database that is slow. */
  isWaiting(): boolean;
  cut(reason: string): void;
};

/** Cuts the rows off when they last too long, when their reader takes too little, and when someone waits for their table. */
export function watch({ lines, snapshot, standing, limits, isWaiting, cut }: Watched): () => void {
  const { limitMs, slowMs, slowestBytesPerSecond } = limits;
  let before = 0;
  const pace = setInterval(() => {
    const took = lines.taken() - before;
    before += took;
    if (took < (slowestBytesPerSecond * slowMs) / 1000 && isWaiting()) cut('slow caller');
  }, slowMs);
  const end = setTimeout(() => cut('time limit'), limitMs);
  const unwatch = standing.watch(snapshot.backend, () => cut('its table is wanted'));
  return () => {
    clearInterval(pace);
    clearTimeout(end);
    unwatch();
  };
}
