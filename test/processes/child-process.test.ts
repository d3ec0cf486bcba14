// A child as its parent sees it, with real processes.
import cluster from 'node:cluster';
import { expect, it, onTestFinished } from 'vitest';
import { forkChild } from '../../src/processes/child-process.ts';
import { createPermits } from '../../src/processes/permits.ts';

it('one that cannot be spawned has ended, and says why', async () => {
  cluster.setupPrimary({ cwd: '/missing' });
  onTestFinished(() => cluster.setupPrimary({ cwd: process.cwd() }));
  const role = { number: 1, of: 2, syncs: true, printsLink: false };
  const child = forkChild(role, createPermits(), () => undefined);
  const asked = child.ask({ ask: 'metrics' });
  expect(await child.ended).toContain('ENOENT');
  await expect(child.serving).rejects.toThrow('ENOENT');
  expect([child.pid, await asked]).toEqual([undefined, undefined]);
});
