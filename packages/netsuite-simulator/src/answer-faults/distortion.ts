// What faults of the control interface change in the answer to one request. The middleware in
// answer-faults.ts decides it once per request; the query compiler, the snapshot and the response writer
// apply it. The books themselves are never changed.
import type { Response } from 'express';

/** The SQL condition that every row meets. */
export const ALL_ROWS = 'TRUE';

/** Changes to the SQL of a query. `table` is the query's main table. */
export type QueryDistortion = {
  table: string;
  /** SQL conditions that the main table's rows must meet to be in the answer. */
  conditions: readonly string[];
  /**
   * Columns of the main table that are null in the select list, each with the SQL condition of the rows in
   * which it is.
   */
  nullColumns: ReadonlyMap<string, (alias: string) => string>;
  /** Added to what COUNT returns. */
  countOffset: number;
};

export type Distortion = {
  query?: QueryDistortion;
  /** An exported PostgreSQL snapshot of earlier books to read from. */
  snapshot?: string;
  /** Changes the body of a successful response. */
  changeBody?: (body: unknown) => unknown;
  /** Closes the connection after this many bytes of the body. */
  cutAfterBytes?: number;
};

const KEY = 'distortion';

export function setDistortion(response: Response, distortion: Distortion): void {
  response.locals[KEY] = distortion;
}

export const getDistortion = (response: Response): Distortion =>
  (response.locals[KEY] as Distortion | undefined) ?? {};
