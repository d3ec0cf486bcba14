// The rows of a plan as bytes of whatever form, straight from PostgreSQL's COPY of one snapshot, and the watch over them: whoever
// reads must come for them, and must not keep others from their table.
import type { Settings } from '../core/settings.ts';

import { copyOut } from '../db/copy-out.ts';
import type { CellColumn, RowWriter } from './copy-rows.ts';
import { copyStatement } from './export-sql.ts';
import type { Standing } from './give-way.ts';
import { openPace } from './pace.ts';
import type { ListPlan } from './plan.ts';
import type { Snapshot } from './snapshot.ts';

export type Lines = {
  /** Bytes that the reader's side took from PostgreSQL. */
  taken(): number;
  /** What went wrong while someone was still listening. */
  failure(): unknown;
  /** Each piece holds only until the next is asked for. */
  read(): AsyncGenerator<Buffer>;
};

export type Wanted = {
  readonly plan: ListPlan;
  readonly total: number;
  /** Aborted as soon as nobody listens any more. */
  readonly left: AbortSignal;
  readonly form: (columns: readonly CellColumn[]) => RowWriter;
  /** Asked before each further piece. */
  readonly giveWay: () => Promise<void>;
};

/** Resolves when PostgreSQL has the first rows, so that whatever it refuses is still answered with an error. */
export async function startCopy({ client, place, giveBack }: Snapshot, { plan, total, left, form, giveWay }: Wanted): Promise<Lines> {
  const { text, columns, settings } = copyStatement(place, plan);
  await client.query(settings.text, [...settings.values]);
  const { pieces, rowCount } = copyOut(client, text);
  const first = await pieces.next();
  const { head, write } = form(columns);
  let taken = 0;
  let failure: unknown;
  async function* read(): AsyncGenerator<Buffer> {
    if (head.length > 0) yield head;
    for (let piece = first; piece.done !== true; piece = await pieces.next()) {
      for (const written of write(piece.value)) {
        taken += written.length;
        yield written;
        await giveWay();
      }
    }
    // Only what PostgreSQL itself calls complete may end as if it were.
    await client.query('commit');
    if (rowCount() !== total) throw new Error(`an export of ${total} records gave ${rowCount()}`);
    giveBack();
  }
  return {
    taken: () => taken,
    failure: () => failure,
    async *read() {
      try {
        yield* read();
      } catch (error) {
        // It breaks with its connection, also when the last one who reads it went away.
        if (!left.aborted) failure = error;
        throw error;
      }
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
  const { lookEveryMs, isSlow } = openPace(limits);
  const pace = setInterval(() => {
    if (isSlow(lines.taken()) && isWaiting()) cut('slow caller');
  }, lookEveryMs);
  const end = setTimeout(() => cut('time limit'), limits.limitMs);
  const unwatch = standing.watch(snapshot.backend, () => cut('its table is wanted'));
  return () => {
    clearInterval(pace);
    clearTimeout(end);
    unwatch();
  };
}
