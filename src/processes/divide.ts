// How the processes of a service divide what one process may use, so that together they use about as much.
import type { Config } from '../config.ts';

/** Rounded up; `min` is what a process needs to work. */
const share = (total: number, processes: number, min = 1): number =>
  Math.max(min, Math.ceil(total / processes));

/**
 * The configuration of each of `processes` children. Not divided: what only the syncing child uses, such as
 * SYNC_WORKERS, and limits that the parent counts for all children.
 */
export function divideConfig(config: Config, processes: number): Config {
  const { settings } = config;
  const { publicLoad, exports, changeStreams, cacheBytes } = settings;
  const of = (total: number, min?: number): number => share(total, processes, min);
  const cache = (bytes: number): number => share(bytes, processes, 0);
  return {
    ...config,
    CONTROL_POOL_SIZE: of(config.CONTROL_POOL_SIZE, 2),
    DATA_POOL_SIZE: of(config.DATA_POOL_SIZE, 2),
    LOOKUP_POOL_SIZE: of(config.LOOKUP_POOL_SIZE),
    EXPORT_POOL: of(config.EXPORT_POOL),
    HTTP_CONNECTIONS: of(config.HTTP_CONNECTIONS),
    settings: {
      ...settings,
      publicLoad: {
        ...publicLoad,
        maxRequests: of(publicLoad.maxRequests),
        maxLargeReads: of(publicLoad.maxLargeReads),
      },
      exports: {
        ...exports,
        maxRunning: of(exports.maxRunning),
        maxWaiting: of(exports.maxWaiting, 0),
      },
      changeStreams: { ...changeStreams, maxPollsPerSecond: of(changeStreams.maxPollsPerSecond) },
      cacheBytes: {
        bodies: cache(cacheBytes.bodies),
        totals: cache(cacheBytes.totals),
        anchors: cache(cacheBytes.anchors),
        statements: cache(cacheBytes.statements),
        lookups: cache(cacheBytes.lookups),
        tokens: cache(cacheBytes.tokens),
        versions: cache(cacheBytes.versions),
      },
    },
  };
}

/** For notifications, health checks (2), liveness, and attaching to the embedded server. */
const fixedConnections = 5;
/** Of the parent: metrics (2), and attaching to the embedded server. */
const parentConnections = 3;

/**
 * Connections that `processes` children and their parent hold at the server of DATABASE_URL at most, with one
 * child more during a rolling restart. `holdsRecords`: it is also the server of the records.
 */
export function countConnections(config: Config, processes: number, holdsRecords: boolean): number {
  const { CONTROL_POOL_SIZE, LOOKUP_POOL_SIZE, DATA_POOL_SIZE, EXPORT_POOL } = divideConfig(
    config,
    processes,
  );
  const forRecords = holdsRecords ? DATA_POOL_SIZE + EXPORT_POOL : 0;
  const each = CONTROL_POOL_SIZE + LOOKUP_POOL_SIZE + forRecords + fixedConnections;
  return (processes + 1) * each + parentConnections;
}
