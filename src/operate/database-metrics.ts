// The metrics whose values come from the database, the same for every process of the service.
import { Counter, Gauge, type Registry } from 'prom-client';
import type { DatabaseStat } from './database-stats.ts';

export type Row = readonly [labels: Readonly<Record<string, string>>, value: number];

type Register = (
  name: string,
  help: string,
  labelNames: readonly string[],
  rows: () => readonly Row[],
  /** How the values of several processes become one. */
  aggregator?: 'sum' | 'max' | 'min',
) => void;
/** Both register a metric whose values are read at every scrape; those of a counter only grow. */
export type Registers = { readonly gauge: Register; readonly counter: Register };

export const createRegisters = (registers: Registry[]): Registers => ({
  gauge(name, help, labelNames, rows, aggregator = 'sum') {
    const collect = (): void => {
      gauge.reset();
      for (const [labels, value] of rows()) gauge.set(labels, value);
    };
    const gauge = new Gauge({ name, help, labelNames, registers, aggregator, collect });
  },
  counter(name, help, labelNames, rows) {
    const collect = (): void => {
      counter.reset();
      for (const [labels, value] of rows()) counter.inc(labels, value);
    };
    const counter = new Counter({ name, help, labelNames, registers, collect });
  },
});

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

/** `latest`: undefined when the query failed. */
export function registerDatabaseMetrics(
  { gauge }: Registers,
  latest: () => readonly DatabaseStat[] | undefined,
): void {
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
