// The list of mutants. `npm run chaos -- --mutations` plays histories and seeds against them.
import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { createPlan } from '../plan.ts';
import { histories, mutants } from './catalog.ts';
import { seedsFor } from './check.ts';
import { countContents } from './contents.ts';
import { root } from './mutant.ts';

const plans = Array.from({ length: 300 }, (_, index) => createPlan(index + 1));

function loadWith(mutant: string) {
  const args = ['--import', new URL('hooks.ts', import.meta.url).href, '--eval', ''];
  return spawnSync(process.execPath, args, {
    cwd: root,
    env: { ...process.env, CHAOS_MUTANT: mutant },
    encoding: 'utf8',
  });
}

describe('mutants', () => {
  it('have names of their own', () => {
    expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length);
  });

  it('have the histories that there are', () => {
    const names = new Set(mutants.map(({ name }) => name));
    expect(Object.keys(histories).filter((name) => !names.has(name))).toEqual([]);
  });

  it('concern only what plans have', () => {
    const contents = new Set(plans.flatMap((plan) => [...countContents(plan).keys()]));
    expect(mutants.flatMap(({ concerns }) => concerns).filter((concern) => !contents.has(concern))).toEqual(
      [],
    );
  });

  it('are played first with seeds that have what concerns them', () => {
    const [first = 0] = seedsFor({ concerns: ['narrow-role', 'stop'] }, plans);
    expect([...countContents(createPlan(first)).keys()]).toEqual(
      expect.arrayContaining(['narrow-role', 'stop']),
    );
  });

  it('are loaded into a process, which does not start with one that does not exist', () => {
    expect(loadWith('full-count')).toMatchObject({ status: 0 });
    const { status, stderr } = loadWith('no-such-mutant');
    expect(status).not.toBe(0);
    expect(stderr).toContain('there is no mutant no-such-mutant');
  });
});
