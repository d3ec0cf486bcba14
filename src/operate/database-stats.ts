// Numbers that only the database knows. However many ask at once, it is asked once, and again after a few seconds at the earliest.
import type { Pool } from 'pg';
import type { Clock } from '../core/clock.ts';
import type { Log } from '../core/log.ts';

export type Figure = { readonly figure: string; readonly label: string; readonly value: number };

const trustMs = 5_000;

/** Resolves with nothing while the database can't be asked; never rejects. */
export function openFigures(
  pool: Pick<Pool, 'query'>,
  clock: Pick<Clock, 'monotonicMs'>,
  log: Log,
): () => Promise<readonly Figure[] | undefined> {
  let asking: Promise<readonly Figure[] | undefined> | undefined;
  let answer: { readonly atMs: number; readonly figures: readonly Figure[] } | undefined;
  const ask = async (): Promise<readonly Figure[] | undefined> => {
    try {
      const { rows } = await pool.query<Figure>('select figure, label, value from operational_figures()');
      answer = { atMs: clock.monotonicMs(), figures: rows };
      return rows;
    } catch (error) {
      log.warn({ err: error }, 'the figures of the database could not be read');
      return undefined;
    } finally {
      asking = undefined;
    }
  };
  return async () => {
    if (answer !== undefined && clock.monotonicMs() - answer.atMs < trustMs) return answer.figures;
    asking ??= ask();
    return asking;
  };
}
