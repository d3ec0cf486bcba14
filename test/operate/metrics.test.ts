// docs/operations.md matches the metrics: it describes each metric with its labels, and its alerts use only
// metrics that exist.
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { createMetrics } from '../../src/operate/metrics.ts';

const document = readFileSync('docs/operations.md', 'utf8');
const row = (name: string, label = ''): { figure: string; label: string; value: number } => ({
  figure: name,
  label,
  value: 1,
});

/** Label names by metric; a histogram under its own name. */
async function collectLabels(): Promise<Map<string, Set<string>>> {
  const metrics = createMetrics({
    version: '1.0.0',
    pools: () => ({ data: { size: 1, used: 0, idle: 1, waiting: 0 } }),
    caches: () => ({ keys: { hits: 1, misses: 1 } }),
    queues: () => ({ reads: { running: 0, waiting: 0 } }),
    reads: () => ({ primary: 1 }),
    replicas: () => ({ 1: { isInUse: true, lagSeconds: 0.1, fallbacks: { behind: 1 } } }),
    signIns: () => ({ succeeded: 1, refused: 0, failed: 0 }),
    sinceTickSeconds: () => 0,
    databaseStats: async () => [
      ...[
        'sync_runs',
        'sync_runs_ended',
        'queue_waiting',
        'queue_oldest_seconds',
        'syncs_behind',
        'sync_lag_seconds',
      ].map((name) => row(name, 'x')),
      ...['pay_write_backs', 'pay_write_back_oldest_seconds'].map((name) => row(name, 'waiting')),
      row('sync_runs_left'),
      row('agent_answers'),
      row('visitors'),
    ],
  });
  metrics.onServed({ route: '/', kind: 'page' }, 'GET', '200', 0.01);
  const found = new Map<string, Set<string>>();
  for (const line of (await metrics.text()).split('\n')) {
    const [, name, labels = ''] = /^(portal_\w+?)(?:_bucket|_sum|_count)?(?:\{(.*)\})? \S+$/.exec(line) ?? [];
    if (name === undefined) continue;
    const names = [...labels.matchAll(/(\w+)="/g)].flatMap(([, label = '']) =>
      label === 'le' ? [] : [label],
    );
    found.set(name, new Set([...(found.get(name) ?? []), ...names]));
  }
  return found;
}

it('the documentation describes exactly the existing metrics, with their labels', async () => {
  const rows = document.split('\n').filter((line) => line.startsWith('| `portal_'));
  const described = rows.flatMap((line) =>
    [...(line.split(' | ')[0] ?? '').matchAll(/`(portal_\w+)(?:\{([\w,]+)\})?`/g)].map(
      ([, name = '', labels]) => [name, labels?.split(',').sort() ?? []],
    ),
  );
  const found = [...(await collectLabels())].map(([name, labels]) => [name, [...labels].sort()]);
  expect(described.sort()).toEqual(found.sort());
});

it('alerts use existing metrics and labels, and there is one for each way to get stuck', async () => {
  const metrics = await collectLabels();
  const rules = /```yaml\n(groups:.*?)```/s.exec(document)?.[1] ?? '';
  const used = [...rules.matchAll(/\b(portal_\w+?)(?:_bucket)?(?:\{([^}]*)\}|\b(?!_))/g)];
  expect(used.length).toBeGreaterThan(9);
  for (const [, name = '', labels = ''] of used) {
    expect([...metrics.keys()]).toContain(name);
    for (const [, label = ''] of labels.matchAll(/(\w+)(?:=|!=|=~|!~)"/g))
      expect([name, [...(metrics.get(name) ?? [])]]).toEqual([name, expect.arrayContaining([label])]);
  }
  const watched = new Set(used.map(([, name]) => name));
  for (const name of [
    'scheduler_tick_age_seconds',
    'syncs_behind',
    'queue_oldest_seconds',
    'sync_runs_left',
    'database_figures_up',
    'pay_write_backs',
  ])
    expect([...watched]).toContain(`portal_${name}`);
});
