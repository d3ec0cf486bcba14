// Plans are pure, and every hundred seeds contain every fault and every edit.
import { describe, expect, it } from 'vitest';
import { type Action, createPlan, type Plan } from './plan.ts';
import { editKinds, getTraits, recordTypes, requestFaults, stateFaults } from './plan-names.ts';

const listActions = ({ rounds }: Plan): Action[] =>
  rounds.flatMap(({ before, during }) => [...before, ...during.map(({ action }) => action)]);

function toName(action: Action): string {
  if (action.do === 'edit') return action.kind;
  return action.do === 'hold' || action.do === 'fault' ? action.fault : action.do;
}

describe('a plan', () => {
  it('is the same for the same seed, and is JSON', () => {
    expect(createPlan(7)).toEqual(createPlan(7));
    expect(createPlan(7)).not.toEqual({ ...createPlan(8), seed: 7 });
    expect(JSON.parse(JSON.stringify(createPlan(7)))).toEqual(createPlan(7));
  });

  it.each([1, 101, 70_001])('contains every kind of event in at least 5 of 100 seeds from %i', (first) => {
    const plans = Array.from(
      { length: 100 },
      (_unused, index) => new Set(listActions(createPlan(first + index)).map(toName)),
    );
    const seeds = (name: string): number => plans.filter((names) => names.has(name)).length;
    const rare = [
      ...editKinds,
      ...requestFaults,
      ...stateFaults,
      'approve',
      'kill',
      'stop',
      'failover',
      'step-clock',
    ].filter((name) => seeds(name) < 5);
    expect(rare).toEqual([]);
  });

  it('holds each fault only about record types that it fits, and that are synced', () => {
    for (let seed = 1; seed <= 200; seed += 1) {
      const plan = createPlan(seed);
      for (const action of listActions(plan)) {
        if (action.do !== 'hold') continue;
        expect(plan.recordTypes).toContain(action.recordType);
        expect(getTraits(action.fault).fits ?? recordTypes).toContain(action.recordType);
      }
    }
  });
});
