// The metrics of all children as those of one service. What children counted before they ended is kept, so that no
// counter falls; of one that was killed, as of the last time that the metrics were read.
import { AggregatorRegistry, collectDefaultMetrics, type MetricObject, Registry } from 'prom-client';
import { createRegisters, registerDatabaseMetrics } from '../operate/database-metrics.ts';
import type { DatabaseStat } from '../operate/database-stats.ts';
import type { Child } from './child-process.ts';

type Metrics = readonly MetricObject[];
/** Absent from the type that prom-client declares: counters, gauges and histograms by name. */
type Typed = MetricObject & { readonly type: string };

const add = (all: readonly Metrics[]): Registry => AggregatorRegistry.aggregate(all.map((one) => [...one]));
const counters = (metrics: Metrics): Metrics =>
  (metrics as readonly Typed[]).filter(({ type }) => type === 'counter' || type === 'histogram');

export type ChildMetrics = {
  readonly contentType: string;
  onLastMetrics(child: Child, metrics: Metrics): void;
  onEnded(child: Child): void;
  text(): Promise<string>;
};

/** `databaseStats` as of `createDatabaseStats`. */
export function createChildMetrics(
  listChildren: () => readonly Child[],
  databaseStats: () => Promise<readonly DatabaseStat[] | undefined>,
): ChildMetrics {
  const own = new Registry();
  collectDefaultMetrics({ register: own });
  let stats: readonly DatabaseStat[] | undefined;
  registerDatabaseMetrics(createRegisters([own]), () => stats);
  const latest = new Map<Child, Metrics>();
  /** Of these, `latest` doesn't change any more. */
  const complete = new WeakSet<Child>();
  let ended: Metrics = [];
  let adding = Promise.resolve();
  const read = async (child: Child): Promise<void> => {
    const metrics = await child.ask({ ask: 'metrics' });
    if (metrics !== undefined && !complete.has(child)) latest.set(child, metrics);
  };
  return {
    contentType: own.contentType,
    onLastMetrics: (child, metrics) => {
      if (!complete.has(child)) latest.set(child, metrics);
      complete.add(child);
    },
    onEnded: (child) => {
      complete.add(child);
      adding = adding.then(async () => {
        ended = await add([ended, counters(latest.get(child) ?? [])]).getMetricsAsJSON();
        latest.delete(child);
      });
    },
    text: async () => {
      [stats] = await Promise.all([databaseStats(), ...listChildren().map(read)]);
      const all = await Promise.all([own.getMetricsAsJSON(), ended, ...latest.values()]);
      return add(all).metrics();
    },
  };
}
