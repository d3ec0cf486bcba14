// The metrics of this process and the port for operators' programs. A child of a service with several processes
// has the metrics without the port, which its parent opens.
import { readFile } from 'node:fs/promises';
import type { Pool } from 'pg';
import type { ReadingCtx } from '../core/ctx.ts';
import { inRoot } from '../core/root.ts';
import { poolStats } from '../db/pool-stats.ts';
import type { OnServed } from '../http/served.ts';
import { publicMetrics, type UsageCounter } from '../public/index.ts';
import { createDatabaseStats } from './database-stats.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import { type MetricsAddress, type MetricsServer, openMetricsPort } from './metrics-port.ts';
import { createTlsCheck } from './tls-allowed.ts';

export type Monitoring = Pick<Metrics, 'json' | 'counters'> &
  Pick<MetricsServer, 'checkTls'> & { readonly onServed: OnServed; stop(): Promise<void> };

type Sources = {
  readonly ctx: ReadingCtx;
  readonly operators: Pick<Pool, 'query'>;
  readonly usage: Pick<UsageCounter, 'signIns'>;
  /** As in the readiness check. */
  readonly sinceTickMs: () => number | undefined;
  /** Whether a portal is served at a hostname. */
  readonly isServed: (hostname: string) => Promise<boolean>;
};

/** Rejects with advice when the port is in use. `isChild`: without the port, and the metrics from the database. */
export async function startMonitoring(
  address: MetricsAddress,
  { ctx, operators, usage, sinceTickMs, isServed }: Sources,
  isChild: boolean,
): Promise<Monitoring> {
  const { version } = JSON.parse(await readFile(inRoot('package.json'), 'utf8')) as {
    version: string;
  };
  const metrics = createMetrics({
    version,
    pools: () => poolStats(ctx.db),
    caches: () => publicMetrics(ctx).caches,
    queues: () => publicMetrics(ctx).queues,
    reads: () => publicMetrics(ctx).reads,
    replicas: () => publicMetrics(ctx).replicas,
    signIns: () => usage.signIns,
    sinceTickSeconds: () => {
      const ms = sinceTickMs();
      return ms === undefined ? undefined : ms / 1_000;
    },
    databaseStats: isChild ? undefined : createDatabaseStats(operators, ctx.clock, ctx.log),
  });
  const parts = { ...metrics, checkTls: createTlsCheck(isServed, ctx.log) };
  const stop = isChild ? () => Promise.resolve() : await openMetricsPort(address, parts, ctx.log);
  return { ...parts, stop };
}
