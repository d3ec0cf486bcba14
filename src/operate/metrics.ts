// The Prometheus metrics. Label values come from the code, plus statuses and the ids of at most twenty late
// syncs: never from a caller's input, never a tenant or a key. docs/operations.md describes each metric.
import { Counter, collectDefaultMetrics, Histogram, type MetricObject, Registry } from 'prom-client';
import type { HitCounter } from '../core/work/hit-counter.ts';
import type { OnServed } from '../http/served.ts';
import { createRegisters, type Registers, type Row, registerDatabaseMetrics } from './database-metrics.ts';
import type { DatabaseStat } from './database-stats.ts';

export type PoolStats = {
  readonly size: number;
  readonly used: number;
  readonly idle: number;
  readonly waiting: number;
};
type ReplicaStats = {
  readonly isInUse: boolean;
  readonly lagSeconds: number | undefined;
  readonly fallbacks: Readonly<Record<string, number>>;
};
type Count = { readonly running: number; readonly waiting: number };

const signInResults = ['succeeded', 'refused', 'failed'] as const;

/** Where the values come from; each function is called at every scrape. */
export type MetricSources = {
  readonly version: string;
  readonly pools: () => Readonly<Record<string, PoolStats>>;
  readonly caches: () => Readonly<Record<string, Readonly<HitCounter>>>;
  readonly queues: () => Readonly<Record<string, Count>>;
  /** Reads of records by the server that answered; empty without replicas. */
  readonly reads: () => Readonly<Record<string, number>>;
  readonly replicas: () => Readonly<Record<string, ReplicaStats>>;
  readonly signIns: () => Readonly<Record<(typeof signInResults)[number], number>>;
  /** Undefined in a process that doesn't sync. */
  readonly sinceTickSeconds: () => number | undefined;
  /** Absent where another process reports them. */
  readonly databaseStats?: (() => Promise<readonly DatabaseStat[] | undefined>) | undefined;
};

export type Metrics = {
  readonly onServed: OnServed;
  readonly contentType: string;
  /** Never rejects because of the database. */
  text(): Promise<string>;
  /** For the process that adds up the metrics of several. */
  json(): Promise<MetricObject[]>;
  /** What only grows, also after the pools are closed. */
  counters(): Promise<MetricObject[]>;
};

const bucketsSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120];

const toRows = <T>(by: string, values: Readonly<Record<string, T>>, parts: (one: T) => readonly Row[]) =>
  Object.entries(values).flatMap(([name, one]) =>
    parts(one).map(([labels, value]): Row => [{ [by]: name, ...labels }, value]),
  );

function registerPoolMetrics({ gauge }: Registers, pools: MetricSources['pools']): void {
  gauge('portal_pool_connections', 'Connections to PostgreSQL, by pool and state.', ['pool', 'state'], () =>
    toRows('pool', pools(), ({ used, idle }) => [
      [{ state: 'used' }, used],
      [{ state: 'idle' }, idle],
    ]),
  );
  gauge('portal_pool_size', 'Maximum number of connections of a pool.', ['pool'], () =>
    toRows('pool', pools(), ({ size }) => [[{}, size]]),
  );
  gauge('portal_pool_waiting', 'Requests for a connection that wait for a pool.', ['pool'], () =>
    toRows('pool', pools(), ({ waiting }) => [[{}, waiting]]),
  );
}

function registerProcessMetrics(
  registers: Registers,
  { version, pools, caches, queues: turns, signIns, sinceTickSeconds }: MetricSources,
): void {
  const { gauge, counter } = registers;
  gauge(
    'portal_build_info',
    'Always 1; the labels contain the versions.',
    ['version', 'node'],
    () => [[{ version, node: process.version }, 1]],
    'max',
  );
  registerPoolMetrics(registers, pools);
  gauge(
    'portal_turns',
    'Reads and exports of the public interface that are running or queued.',
    ['kind', 'state'],
    () =>
      toRows('kind', turns(), ({ running, waiting }) => [
        [{ state: 'running' }, running],
        [{ state: 'waiting' }, waiting],
      ]),
  );
  gauge('portal_scheduler_tick_age_seconds', 'Seconds since the scheduler last completed a tick.', [], () => {
    const seconds = sinceTickSeconds();
    return seconds === undefined ? [] : [[{}, seconds]];
  });
  counter('portal_visitor_sign_ins_total', 'Sign-ins of visitors, by result.', ['result'], () => {
    const counts = signIns();
    return signInResults.map((result): Row => [{ result }, counts[result]]);
  });
  counter('portal_cache_requests_total', 'Cache lookups, by result.', ['cache', 'result'], () =>
    toRows('cache', caches(), ({ hits, misses }) => [
      [{ result: 'hit' }, hits],
      [{ result: 'miss' }, misses],
    ]),
  );
}

function registerReplicaMetrics({ gauge, counter }: Registers, { reads, replicas }: MetricSources): void {
  counter('portal_reads_total', 'Reads of records, by the server that answered.', ['server'], () =>
    toRows('server', reads(), (count) => [[{}, count]]),
  );
  counter(
    'portal_replica_fallbacks_total',
    'Reads repeated on the primary, by reason.',
    ['replica', 'reason'],
    () =>
      toRows('replica', replicas(), ({ fallbacks }) =>
        Object.entries(fallbacks).map(([reason, count]): Row => [{ reason }, count]),
      ),
  );
  gauge(
    'portal_replica_in_use',
    'Whether the replica responds; it is left out otherwise.',
    ['replica'],
    () => toRows('replica', replicas(), ({ isInUse }) => [[{}, isInUse ? 1 : 0]]),
    'min',
  );
  gauge(
    'portal_replica_lag_seconds',
    'Age of the oldest write that the replica lacks.',
    ['replica'],
    () =>
      toRows('replica', replicas(), ({ lagSeconds }) => (lagSeconds === undefined ? [] : [[{}, lagSeconds]])),
    'max',
  );
}

/** Creates a registry of its own with the metrics of Node.js and of the service. */
export function createMetrics(sources: MetricSources): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const requests = new Counter({
    name: 'portal_http_requests_total',
    help: 'Requests by response status; `cut` means that the response was not sent completely.',
    labelNames: ['route', 'method', 'status'],
    registers,
  });
  const durations = new Histogram({
    name: 'portal_http_request_duration_seconds',
    help: 'Duration from the request line to the last byte of the response, by kind of route.',
    labelNames: ['kind'],
    buckets: bucketsSeconds,
    registers,
  });
  const register = createRegisters(registers);
  registerProcessMetrics(register, sources);
  registerReplicaMetrics(register, sources);
  const { databaseStats } = sources;
  let stats: readonly DatabaseStat[] | undefined;
  if (databaseStats !== undefined) registerDatabaseMetrics(register, () => stats);
  return {
    onServed: ({ route, kind }, method, status, seconds) => {
      requests.inc({ route, method, status });
      durations.observe({ kind }, seconds);
    },
    contentType: registry.contentType,
    text: async () => {
      stats = await databaseStats?.();
      return registry.metrics();
    },
    json: () => registry.getMetricsAsJSON(),
    counters: async () => {
      const all = registry.getMetricsAsArray().map(({ name }) => registry.getSingleMetric(name));
      const growing = all.filter((metric) => metric instanceof Counter || metric instanceof Histogram);
      return Promise.all(growing.map((metric) => metric.get()));
    },
  };
}
