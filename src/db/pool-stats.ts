// The current usage of the connection pools, for the metrics.
import type { Knex } from 'knex';
import type { Pool } from 'pg';
import type { Db } from '../core/ctx.ts';

type PoolStats = { readonly size: number; readonly used: number; readonly idle: number; readonly waiting: number };
/** knex's connection pool. */
type Tarn = { readonly max: number; numUsed(): number; numFree(): number; numPendingAcquires(): number };

function ofKnex({ client }: Knex): PoolStats {
  const pool = client.pool as Tarn;
  return { size: pool.max, used: pool.numUsed(), idle: pool.numFree(), waiting: pool.numPendingAcquires() };
}
const ofPg = ({ options, totalCount, idleCount, waitingCount }: Pool): PoolStats => ({
  size: options.max,
  used: totalCount - idleCount,
  idle: idleCount,
  waiting: waitingCount,
});

export const poolStats = ({ control, lookups, data, exports }: Db): Readonly<Record<Exclude<keyof Db, 'isEmbedded'>, PoolStats>> => ({
  control: ofKnex(control),
  lookups: ofKnex(lookups),
  data: ofPg(data),
  exports: ofPg(exports),
});
