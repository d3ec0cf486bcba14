// The Prometheus metrics. Label values come from the code, plus statuses and the ids of at most twenty late
// syncs: never from a caller's input, never a tenant or a key. docs/operations.md describes each metric.
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { HitCounter } from '../core/work/hit-counter.ts';
import type { OnServed } from '../http/served.ts';
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
  readonly sinceTickSeconds: () => number;
  readonly databaseStats: () => Promise<readonly DatabaseStat[] | undefined>;
};

export type Metrics = {
  readonly onServed: OnServed;
  readonly contentType: string;
  /** Never rejects because of the database. */
  text(): Promise<string>;
};

const bucketsSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120];

type Row = readonly [labels: Readonly<Record<string, string>>, value: number];

type Register = (
  name: string,
  help: string,
  labelNames: readonly string[],
  rows: () => readonly Row[],
) => void;
/** Both register a metric whose values are read at every scrape; those of a counter only grow. */
type Registers = { readonly gauge: Register; readonly counter: Register };

const createRegisters = (registers: Registry[]): Registers => ({
  gauge(name, help, labelNames, rows) {
    const collect = (): void => {
      gauge.reset();
      for (const [labels, value] of rows()) gauge.set(labels, value);
    };
    const gauge = new Gauge({ name, help, labelNames, registers, collect });
  },
  counter(name, help, labelNames, rows) {
    const collect = (): void => {
      counter.reset();
      for (const [labels, value] of rows()) counter.inc(labels, value);
    };
    const counter = new Counter({ name, help, labelNames, registers, collect });
  },
});

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
  gauge('portal_build_info', 'Always 1; the labels contain the versions.', ['version', 'node'], () => [
    [{ version, node: process.version }, 1],
  ]);
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
  gauge('portal_scheduler_tick_age_seconds', 'Seconds since the scheduler last completed a tick.', [], () => [
    [{}, sinceTickSeconds()],
  ]);
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
  gauge('portal_replica_in_use', 'Whether the replica responds; it is left out otherwise.', ['replica'], () =>
    toRows('replica', replicas(), ({ isInUse }) => [[{}, isInUse ? 1 : 0]]),
  );
  gauge('portal_replica_lag_seconds', 'Age of the oldest write that the replica lacks.', ['replica'], () =>
    toRows('replica', replicas(), ({ lagSeconds }) => (lagSeconds === undefined ? [] : [[{}, lagSeconds]])),
  );
}

/** By statistic: name, help text, label name, and the label values that are 0 when they have no row. */
const databaseMetrics: Readonly<
  Record<string, readonly [name: string, help: string, label: string | null, always?: readonly string[]]>
> = {
  sync_runs: [
    'portal_sync_runs',
    'Sync runs that have not ended, by state.',
    'state',
    ['queued', 'running', 'waiting', 'publishing'],
  ],
  sync_runs_ended: [
    'portal_sync_runs_ended_1h',
    'Sync runs that ended within the last hour, by state.',
    'state',
    ['succeeded', 'partial', 'failed', 'cancelled'],
  ],
  sync_runs_left: [
    'portal_sync_runs_left',
    'Sync runs with an expired lease that no process has taken over yet.',
    null,
  ],
  tables_pending: [
    'portal_tables_pending',
    'What waits to change tables until all servers of the warehouse respond, by kind.',
    'kind',
    ['runs', 'publications', 'deletions'],
  ],
  queue_waiting: ['portal_queue_waiting', 'Due items that are not claimed, by queue.', 'queue'],
  queue_oldest_seconds: [
    'portal_queue_oldest_seconds',
    'Seconds since the oldest item of a queue was due.',
    'queue',
  ],
  pay_write_backs: [
    'portal_pay_write_backs',
    'Payments and refunds that are not recorded in the ERP as intended, by state.',
    'state',
    ['waiting', 'failed', 'unapplied', 'off'],
  ],
  pay_write_back_oldest_seconds: [
    'portal_pay_write_back_oldest_seconds',
    'Age of the oldest of them in seconds.',
    'state',
  ],
  unknown_mails: [
    'portal_unknown_mails',
    'Mails that may have been sent before a failover or restore, until a person decides.',
    null,
  ],
  agent_answers: ['portal_agent_answers', 'Messages that agents are currently answering.', null],
  visitors: ['portal_visitors_1h', 'Visitors who used the portal within the last hour.', null],
  syncs_behind: [
    'portal_syncs_behind',
    'Syncs that are late by more than the number of seconds in the label.',
    'seconds',
  ],
  syncs_stale: ['portal_syncs_stale', 'Syncs whose data are older than their freshness target.', null],
  sync_lag_seconds: [
    'portal_sync_lag_seconds',
    'Delay of the twenty most delayed syncs in seconds, by id.',
    'sync_config',
  ],
};

function registerDatabaseMetrics({ gauge }: Registers, latest: () => readonly DatabaseStat[] | undefined) {
  gauge(
    'portal_database_figures_up',
    'Whether the query for the other database metrics succeeded.',
    [],
    () => [[{}, latest() === undefined ? 0 : 1]],
  );
  for (const [key, [name, help, label, always = []]] of Object.entries(databaseMetrics)) {
    gauge(name, help, label === null ? [] : [label], () => {
      const stats = latest();
      if (stats === undefined) return [];
      const rows = stats.filter(({ figure }) => figure === key);
      const absent = always
        .filter((state) => !rows.some((row) => row.label === state))
        .map((state) => ({ label: state, value: 0 }));
      return [...rows, ...absent].map(
        (row): Row => [label === null ? {} : { [label]: row.label }, row.value],
      );
    });
  }
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
  let stats: readonly DatabaseStat[] | undefined;
  registerDatabaseMetrics(register, () => stats);
  return {
    onServed: ({ route, kind }, method, status, seconds) => {
      requests.inc({ route, method, status });
      durations.observe({ kind }, seconds);
    },
    contentType: registry.contentType,
    text: async () => {
      stats = await sources.databaseStats();
      return registry.metrics();
    },
  };
}
