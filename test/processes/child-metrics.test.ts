// What a child counted is in the sum once, however its last messages and its end follow on each other.
import { Counter, Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { createChildMetrics } from '../../src/processes/child-metrics.ts';
import type { Child } from '../../src/processes/child-process.ts';

async function count(value: number) {
  const registry = new Registry();
  new Counter({ name: 'requests', help: 'Requests.', registers: [registry] }).inc(value);
  return registry.getMetricsAsJSON();
}

it('a slow scrape does not replace the last metrics, and after the end they are not added again', async () => {
  const asked = Promise.withResolvers<Awaited<ReturnType<typeof count>>>();
  const child = { ask: () => asked.promise } as unknown as Child;
  const living = new Set([child]);
  const metrics = createChildMetrics(
    () => [...living],
    async () => undefined,
  );
  const total = async () => /^requests (\d+)$/m.exec(await metrics.text())?.[1];
  const scraped = total();
  metrics.onLastMetrics(child, await count(5));
  asked.resolve(await count(3));
  expect(await scraped).toBe('5');
  living.delete(child);
  metrics.onEnded(child);
  metrics.onLastMetrics(child, await count(5));
  expect(await total()).toBe('5');
});
