// The parent of several processes that serve requests at one port (PROCESSES). It opens the port and hands the
// connections to its children in turn, and has what they share: the database, the port for metrics, the limits
// that hold for all. It serves no requests and doesn't load the service.
import type { Config } from '../config.ts';
import { systemClock } from '../core/clock.ts';
import { createLog, type Log } from '../core/log.ts';
import type { Lifecycle } from '../core/work/lifecycle.ts';
import type { OpenedDatabase } from '../open-database.ts';
import { type Child, forkChild } from './child-process.ts';
import { type Children, createChildren } from './children.ts';
import { logListening } from './log-listening.ts';
import type { Role } from './messages.ts';
import { createPermits } from './permits.ts';

type ChildMetrics = Awaited<ReturnType<typeof openMetrics>>;

/** Opens the port for operators' programs. Rejects with advice when it is in use. */
async function openMetrics(
  { METRICS_HOST, METRICS_PORT }: Config & { readonly METRICS_PORT: number },
  { control }: OpenedDatabase,
  children: () => Pick<Children, 'current' | 'living'>,
  log: Log,
) {
  const [{ openOperatorPool }, { createDatabaseStats }, { openMetricsPort }, { createChildMetrics }] =
    await Promise.all([
      import('../db/connect.ts'),
      import('../operate/database-stats.ts'),
      import('../operate/metrics-port.ts'),
      import('./child-metrics.ts'),
    ]);
  const pool = openOperatorPool(control);
  const stats = createDatabaseStats(pool, systemClock, log);
  const metrics = createChildMetrics(() => children().living(), stats);
  const { text, contentType } = metrics;
  const checkTls = async (domains: readonly string[]) => {
    const answers = children()
      .current()
      .map(async (child) => (await child.ask({ ask: 'tls', domains })) ?? Promise.reject(new Error('none')));
    // The first one.
    return Promise.any(answers).catch(
      () => ({ status: 503, text: 'No process answers. Try again.\n' }) as const,
    );
  };
  const address = { METRICS_HOST, METRICS_PORT };
  const close = await openMetricsPort(address, { text, contentType, checkTls }, log).catch(async (error) => {
    await pool.end();
    throw error;
  });
  return { ...metrics, close: () => Promise.all([close(), pool.end()]) };
}

/**
 * Resolves when all `processes` serve. Rejects with CannotRun when one can't start, which has printed why, and
 * with advice when the port for metrics is in use.
 */
export async function serveWithChildren(
  config: Config,
  opened: OpenedDatabase,
  processes: number,
  life: Lifecycle,
): Promise<void> {
  const log = createLog(config.LOG_LEVEL);
  const permits = createPermits();
  let metrics: ChildMetrics | undefined;
  const { METRICS_PORT } = config;
  if (METRICS_PORT !== undefined)
    metrics = await life.open(
      () => openMetrics({ ...config, METRICS_PORT }, opened, () => children, log),
      ({ close }) => close(),
    );
  const fork = (role: Role): Child => {
    const child = forkChild(role, permits, (from, last) => metrics?.onLastMetrics(from, last));
    void child.ended.then(() => metrics?.onEnded(child));
    return child;
  };
  const children = createChildren(config, { processes, fork, log });
  await life.open(
    () => Promise.resolve(),
    () => children.stop(),
  );
  const starting = children.start();
  process.on('SIGHUP', () => void starting.then(children.restart, () => undefined));
  const url = await starting;
  logListening(log, config, opened, url, { processes, pid: process.pid });
}
