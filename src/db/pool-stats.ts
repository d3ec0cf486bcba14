// The current usage of the connection pools, for the metrics.
import type { Pool } from 'pg';
import type { Db } from '../core/ctx.ts';
import { knexPoolUsage } from './driver/knex-pool.ts';

type PoolUsage = { readonly used: number; readonly idle: number; readonly waiting: number };

const pgPoolUsage = ({ totalCount, idleCount, waitingCount }: Pool): PoolUsage => ({
  used: totalCount - idleCount,
  idle: idleCount,
  waiting: waitingCount,
});

const replicaStats = ({ replicas, maxConnections }: Db) =>
  replicas.flatMap(({ name, data, exports }) => [
    [`replica_${name}`, { size: maxConnections.data, ...pgPoolUsage(data) }],
    [`replica_${name}_exports`, { size: maxConnections.exports, ...pgPoolUsage(exports) }],
  ]);

/** By pool; those of replicas are numbered as in READ_URL. */
export const poolStats = (
  db: Db,
): Readonly<Record<keyof Db['maxConnections'] | (string & {}), PoolUsage & { readonly size: number }>> => ({
  control: { size: db.maxConnections.control, ...knexPoolUsage(db.control) },
  lookups: { size: db.maxConnections.lookups, ...knexPoolUsage(db.lookups) },
  data: { size: db.maxConnections.data, ...pgPoolUsage(db.data) },
  exports: { size: db.maxConnections.exports, ...pgPoolUsage(db.exports) },
  ...Object.fromEntries(replicaStats(db)),
});
