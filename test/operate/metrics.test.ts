// What operators read of the numbers is what they get: docs/operations.md names each of them with its labels, and its alerts ask for
// nothing that isn't told.
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { openMetrics } from '../../src/operate/metrics.ts';

const document = readFileSync('docs/operations.md', 'utf8');
const figure = (name: string, label = ''): { figure: string; label: string; value: number } => ({ figure: name, label, value: 1 });

/** Label names of each number of ours; a histogram by its own name. */
async function told(): Promise<Map<string, Set<string>>> {
  const metrics = openMetrics({
    version: '1.0.0',
    pools: () => ({ data: { size: 1, used: 0, idle: 1, waiting: 0 } }),
    caches: () => ({ keys: { hits: 1, misses: 1 } }),
    turns: () => ({ reads: { running: 0, waiting: 0 } }),
    sinceTickSeconds: () => 0,
    figures: async () => [
      ...['sync_runs', 'sync_runs_ended', 'queue_waiting', 'queue_oldest_seconds', 'syncs_behind', 'sync_lag_seconds'].map((name) =>
        figure(name, 'x'),
      ),
      ...['pay_write_backs', 'pay_write_back_oldest_seconds'].map((name) => figure(name, 'waiting')),
      figure('sync_runs_left'),
      figure('agent_answers'),
    ],
  });
  metrics.onServed({ route: '/', kind: 'page' }, 'GET', '200', 0.01);
  const found = new Map<string, Set<string>>();
  for (const line of (await metrics.text()).split('\n')) {
    const [, name, labels = ''] = /^(portal_\w+?)(?:_bucket|_sum|_count)?(?:\{(.*)\})? \S+$/.exec(line) ?? [];
    if (name === undefined) continue;
    const names = [...labels.matchAll(/(\w+)="/g)].flatMap(([, label = '']) => (label === 'le' ? [] : [label]));
    found.set(name, new Set([...(found.get(name) ?? []), ...names]));
  }
  return found;
}

it('every number is described with its labels, and none that is not told', async () => {
  const rows = document.split('\n').filter((line) => line.startsWith('| `portal_'));
  const described = rows.flatMap((row) =>
    [...(row.split(' | ')[0] ?? '').matchAll(/`(portal_\w+)(?:\{([\w,]+)\})?`/g)].map(([, name = '', labels]) => [
      name,
      labels?.split(',').sort() ?? [],
    ]),
  );
  const found = [...(await told())].map(([name, labels]) => [name, [...labels].sort()]);
  expect(described.sort()).toEqual(found.sort());
});

it('alerts ask for numbers that are told, by labels that they have; and one watches each way to stand still', async () => {
  const numbers = await told();
  const rules = /```yaml\n(groups:.*?)```/s.exec(document)?.[1] ?? '';
  const asked = [...rules.matchAll(/\b(portal_\w+?)(?:_bucket)?(?:\{([^}]*)\}|\b(?!_))/g)];
  expect(asked.length).toBeGreaterThan(9);
  for (const [, name = '', labels = ''] of asked) {
    expect([...numbers.keys()]).toContain(name);
    for (const [, label = ''] of labels.matchAll(/(\w+)(?:=|!=|=~|!~)"/g))
      expect([name, [...(numbers.get(name) ?? [])]]).toEqual([name, expect.arrayContaining([label])]);
  }
  const watched = new Set(asked.map(([, name]) => name));
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
