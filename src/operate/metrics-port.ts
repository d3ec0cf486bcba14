// Opens the port for operators' programs.
import type { Config } from '../config.ts';
import type { Log } from '../core/log.ts';
import { listen } from '../http/server/listen.ts';
import { createMetricsServer } from './metrics-server.ts';

export type MetricsServer = Parameters<typeof createMetricsServer>[0];
export type MetricsAddress = Pick<Config, 'METRICS_HOST'> & { readonly METRICS_PORT: number };

/** Rejects with advice when the port is in use. */
export async function openMetricsPort(
  { METRICS_HOST: host, METRICS_PORT }: MetricsAddress,
  parts: MetricsServer,
  log: Log,
): Promise<() => Promise<void>> {
  const server = createMetricsServer(parts, log);
  const { port } = await listen(server, host, METRICS_PORT, 'METRICS_PORT');
  log.info({ host, port }, 'metrics are served');
  return () =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
}
