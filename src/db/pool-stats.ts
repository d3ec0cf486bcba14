// How busy the doors to PostgreSQL are, at the moment.
import type { Knex } from 'knex';
import type { Pool } from 'pg';
import type { Db } from '../core/ctx.ts';

type PoolFigures = { readonly size: number; readonly used: number; readonly idle: number; readonly waiting: number };
/** What knex keeps its connections in. */
type Tarn = { readonly max: number; numUsed(): number; numFree(): number; numPendingAcquires(): number };

function ofKnex({ client }: Knex): PoolFigures {
  const pool = client.pool as Tarn;
  return { size: pool.max, used: pool.numUsed(), idle: pool.numFree(), waiting: pool.numPendingAcquires() };
}
const ofPg = ({ options, totalCount, idleCount, waitingCount }: Pool): PoolFigures => ({
  size: options.max,
  used: totalCount - idleCount,
  idle: idleCount,
  waiting: waitingCount,
});

export const poolFigures = ({ control, lookups, data, exports }: Db): Readonly<Record<Exclude<keyof Db, 'isOwn'>, PoolFigures>> => ({
  control: ofKnex(control),
  lookups: ofKnex(lookups),
  data: ofPg(data),
  exports: ofPg(exports),
});
