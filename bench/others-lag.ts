// What a benchmark of large records measures of the others: the lag of the service's event loop, and small
// lists of another organization.
import type { Workload, WorkloadResult } from './callers.ts';
import type { Invoices } from './reads-data.ts';
import { buildHeaders, listPaths } from './reads-measure.ts';
import { type Line, toLine } from './table.ts';
import type { LoopLag } from './watched-service.ts';

const maxLagMs = 50;

/**
 * Seconds per measurement, from the command line; ends the process with code 2 when it isn't a number of
 * them.
 */
export function readSeconds(name: string, fallback: string): number {
  const [seconds = fallback] = process.argv.slice(2);
  if (/^[1-9]\d{0,2}$/.test(seconds)) return Number(seconds);
  console.error(`Usage: npm run bench -- ${name} [seconds per measurement]`);
  process.exit(2);
}

export const smallLists = (url: string, invoices: Invoices): Workload => ({
  name: 'lists',
  url,
  headers: buildHeaders(invoices),
  paths: listPaths,
  connections: 8,
  perSecond: 50,
});

export const lagLines = (name: string, lag: LoopLag, lists: WorkloadResult): Line[] => [
  toLine(`${name}: lag of the event loop, p99`, lag.p99Ms, ' ms', 1, {
    target: maxLagMs,
    floor: maxLagMs,
    lowerIsBetter: true,
  }),
  toLine(`${name}: the longest`, lag.maxMs, ' ms', 1),
  toLine(`${name}: CPU time of what a request waits for, p99`, lag.cpuP99Ms, ' ms', 1),
  toLine(`${name}: the longest CPU time`, lag.cpuMaxMs, ' ms', 1),
  toLine(`${name}: small lists, p50`, lists.p50Ms, ' ms', 1),
  toLine(`${name}: small lists, p99`, lists.p99Ms, ' ms', 1),
];

/** Of the service's process. */
export const peakLine = (name: string, { peakBytes }: LoopLag): Line =>
  toLine(`${name}: peak memory so far`, peakBytes / (1024 * 1024), ' MB', 0);
