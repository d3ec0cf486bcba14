// Shrinking finds the steps that a failure needs, whatever else a plan has.
import { stripTypeScriptTypes } from 'node:module';
import { describe, expect, it } from 'vitest';
import { type Action, createPlan, type Plan } from './plan.ts';
import { buildTest, shrink } from './shrink.ts';

const always = (): boolean => true;
const listActions = ({ rounds }: Plan): Action[] =>
  rounds.flatMap(({ before, during }) => [...before, ...during.map(({ action }) => action)]);
const counting = (needs: (plan: Plan) => boolean) => {
  const played: Plan[] = [];
  const fails = async (plan: Plan): Promise<boolean> => {
    played.push(plan);
    return needs(plan);
  };
  return { played, fails };
};

describe('shrinking a plan', () => {
  const plan = createPlan(6);
  const actions = listActions(plan);
  const needed = [actions[3], actions.at(-2)];
  const needs = (candidate: Plan): boolean =>
    needed.every((action) => JSON.stringify(listActions(candidate)).includes(JSON.stringify(action)));

  it('leaves the actions that the failure needs, in their order, and one record type', async () => {
    const { played, fails } = counting(needs);
    const shortest = await shrink(plan, fails, always);
    expect(listActions(shortest)).toEqual(needed);
    expect(shortest).toMatchObject({ recordTypes: ['invoice'], processes: 1, workers: 1, reader: false });
    expect(played.length).toBeLessThan(150);
  });

  it('makes numbers smaller where the failure remains', async () => {
    const step: Action = { do: 'step-clock', minutes: 400 };
    const stepping = { ...plan, rounds: [{ full: true, before: [step], during: [] }] };
    const { fails } = counting((candidate) =>
      listActions(candidate).some((action) => action.do === 'step-clock' && action.minutes >= 90),
    );
    expect(listActions(await shrink(stepping, fails, always))).toEqual([{ do: 'step-clock', minutes: 100 }]);
  });

  it('returns the plan itself when everything is needed', async () => {
    const { fails } = counting((candidate) => JSON.stringify(candidate) === JSON.stringify(plan));
    expect(await shrink(plan, fails, always)).toEqual(plan);
  });

  it('ends when the time is up, with what it has', async () => {
    const { played, fails } = counting(needs);
    const shortest = await shrink(plan, fails, () => played.length < 5);
    expect(played).toHaveLength(5);
    expect(needs(shortest)).toBe(true);
  });
});

describe('the printed test', () => {
  it('is valid and has the whole plan', () => {
    const plan = createPlan(6);
    const text = buildTest(plan, undefined);
    expect(() => stripTypeScriptTypes(text)).not.toThrow();
    const [, written = ''] = /const plan: Plan = (\{.*?\n\});/s.exec(text) ?? [];
    expect(new Function(`return ${written}`)()).toEqual(plan);
    expect(buildTest(plan, 'full-count')).toContain('simulate({ ...fixture, mutant: "full-count" }, plan)');
  });
});
