// What Prometheus is told. Labels are words of this code, statuses, and ids of at most twenty syncs that are behind: never what a caller
// sent, never a tenant or a key. docs/operations.md says what each number means.
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Tally } from '../core/tally.ts';
import type { OnServed } from '../http/served.ts';
import type { Figure } from './figures.ts';

export type PoolFigures = { readonly size: number; readonly used: number; readonly idle: number; readonly waiting: number };
type Count = { readonly running: number; readonly waiting: number };

/** Asked at each scrape. */
export type MetricSources = {
  readonly version: string;
  readonly pools: () => Readonly<Record<string, PoolFigures>>;
  readonly caches: () => Readonly<Record<string, Readonly<Tally>>>;
  readonly turns: () => Readonly<Record<string, Count>>;
  readonly sinceTickSeconds: () => number;
  readonly figures: () => Promise<readonly Figure[] | undefined>;
};

export type Metrics = {
  readonly onServed: OnServed;
  readonly contentType: string;
  /** Never rejects because of the database. */
  text(): Promise<string>;
};

const seconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120];

type Row = readonly [labels: Readonly<Record<string, string>>, value: number];

/** A gauge that is asked when it is told. */
function gauge(registers: Registry[], name: string, help: string, labelNames: readonly string[], rows: () => readonly Row[]): void {
  new Gauge({
    name,
    help,
    labelNames,
    registers,
    collect() {
      this.reset();
      for (const [labels, value] of rows()) this.set(labels, value);
    },
  });
}

const rowsOf = <T>(by: string, told: Readonly<Record<string, T>>, parts: (one: T) => readonly Row[]): Row[] =>
  Object.entries(told).flatMap(([name, one]) => parts(one).map(([labels, value]): Row => [{ [by]: name, ...labels }, value]));

function watchProcess(registers: Registry[], { version, pools, caches, turns, sinceTickSeconds }: MetricSources): void {
  gauge(registers, 'portal_build_info', 'Always 1; its labels say what runs.', ['version', 'node'], () => [
    [{ version, node: process.version }, 1],
  ]);
  gauge(registers, 'portal_pool_connections', 'Connections to PostgreSQL, by pool and whether they work.', ['pool', 'state'], () =>
    rowsOf('pool', pools(), ({ used, idle }) => [
      [{ state: 'used' }, used],
      [{ state: 'idle' }, idle],
    ]),
  );
  gauge(registers, 'portal_pool_size', 'The most connections that a pool may have.', ['pool'], () =>
    rowsOf('pool', pools(), ({ size }) => [[{}, size]]),
  );
  gauge(registers, 'portal_pool_waiting', 'Who waits for a connection of a pool.', ['pool'], () =>
    rowsOf('pool', pools(), ({ waiting }) => [[{}, waiting]]),
  );
  gauge(registers, 'portal_turns', 'Reads of the public interface that run, and that wait for their turn.', ['kind', 'state'], () =>
    rowsOf('kind', turns(), ({ running, waiting }) => [
      [{ state: 'running' }, running],
      [{ state: 'waiting' }, waiting],
    ]),
  );
  gauge(registers, 'portal_scheduler_tick_age_seconds', 'Since the schedules were last looked at.', [], () => [[{}, sinceTickSeconds()]]);
  new Counter({
    name: 'portal_cache_requests_total',
    help: 'Look-ups in a cache, by whether it had what was asked for.',
    labelNames: ['cache', 'result'],
    registers,
    collect() {
      this.reset();
      for (const [cache, { hits, misses }] of Object.entries(caches())) {
        this.inc({ cache, result: 'hit' }, hits);
        this.inc({ cache, result: 'miss' }, misses);
      }
    },
  });
}

/** The name of each figure of the database, what it says, what its label is called, and which labels are told as 0 where there is none. */
const databaseFigures: Readonly<Record<string, readonly [name: string, help: string, label: string | null, told?: readonly string[]]>> = {
  sync_runs: ['portal_sync_runs', 'Sync runs that have not ended, by state.', 'state', ['queued', 'running', 'waiting', 'publishing']],
  sync_runs_ended: [
    'portal_sync_runs_ended_1h',
    'Sync runs that ended within the last hour, by how.',
    'state',
    ['succeeded', 'partial', 'failed', 'cancelled'],
  ],
  sync_runs_left: ['portal_sync_runs_left', 'Sync runs whose process is gone and that no other has taken up yet.', null],
  queue_waiting: ['portal_queue_waiting', 'What is due and not taken up, by queue.', 'queue'],
  queue_oldest_seconds: ['portal_queue_oldest_seconds', 'For how long the first in a queue is due.', 'queue'],
  pay_write_backs: [
    'portal_pay_write_backs',
    'Payments and refunds that are not in the ERP as meant, by state.',
    'state',
    ['waiting', 'failed', 'unapplied', 'off'],
  ],
  pay_write_back_oldest_seconds: ['portal_pay_write_back_oldest_seconds', 'How long ago the oldest of them came about.', 'state'],
  agent_answers: ['portal_agent_answers', 'Messages that agents are answering.', null],
  syncs_behind: ['portal_syncs_behind', 'Syncs behind their schedule by more than so many seconds.', 'seconds'],
  sync_lag_seconds: ['portal_sync_lag_seconds', 'How long the twenty latest syncs are behind their schedule, by id.', 'sync_config'],
};

function watchDatabase(registers: Registry[], latest: () => readonly Figure[] | undefined): void {
  gauge(registers, 'portal_database_figures_up', 'Whether the database could be asked for the figures beside this one.', [], () => [
    [{}, latest() === undefined ? 0 : 1],
  ]);
  for (const [wanted, [name, help, label, always = []]] of Object.entries(databaseFigures)) {
    gauge(registers, name, help, label === null ? [] : [label], () => {
      const figures = latest();
      if (figures === undefined) return [];
      const rows = figures.filter(({ figure }) => figure === wanted);
      const absent = always.filter((state) => !rows.some((row) => row.label === state)).map((state) => ({ label: state, value: 0 }));
      return [...rows, ...absent].map((row): Row => [label === null ? {} : { [label]: row.label }, row.value]);
    });
  }
}

export function openMetrics(sources: MetricSources): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const requests = new Counter({
    name: 'portal_http_requests_total',
    help: 'Answered requests; the status `cut` is that of an answer which its caller has no whole of.',
    labelNames: ['route', 'method', 'status'],
    registers,
  });
  const durations = new Histogram({
    name: 'portal_http_request_duration_seconds',
    help: 'From the first line of a request to the last byte of its answer, by what was asked for.',
    labelNames: ['kind'],
    buckets: seconds,
    registers,
  });
  watchProcess(registers, sources);
  let figures: readonly Figure[] | undefined;
  watchDatabase(registers, () => figures);
  return {
    onServed: ({ route, kind }, method, status, took) => {
      requests.inc({ route, method, status });
      durations.observe({ kind }, took);
    },
    contentType: registry.contentType,
    text: async () => {
      figures = await sources.figures();
      return registry.metrics();
    },
  };
}
