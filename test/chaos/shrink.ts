// Finds the shortest plan that still fails in the same way: leaves out rounds, actions and everything else
// that isn't needed, one attempt after the other (delta debugging). A plan without some of its actions means
// the same for the others.
import type { Action, Plan, Round } from './plan.ts';

/** Whether a plan fails in the way that is looked for. */
export type Fails = (plan: Plan) => Promise<boolean>;
/** Whether there is time for another attempt. */
export type MayGoOn = () => boolean;

const countActions = ({ rounds }: Plan): number =>
  rounds.reduce((sum, { before, during }) => sum + before.length + during.length, 0);

/** The plan without the actions with these numbers, counted in the order of the plan. */
export function withoutActions(plan: Plan, numbers: ReadonlySet<number>): Plan {
  let next = 0;
  const keep = <T>(items: readonly T[]): T[] =>
    items.filter(() => {
      next += 1;
      return !numbers.has(next - 1);
    });
  const rounds = plan.rounds.map(
    (round): Round => ({ ...round, before: keep(round.before), during: keep(round.during) }),
  );
  return { ...plan, rounds };
}

/** Plans with simpler surroundings: fewer record types and processes, no reader, incremental rounds. */
function simplerFrames(plan: Plan): Plan[] {
  const alone =
    plan.recordTypes.length > 1
      ? plan.recordTypes.map((name): Plan => ({ ...plan, recordTypes: [name] }))
      : [];
  const fewer =
    alone.length > 1
      ? plan.recordTypes.map((name) => ({
          ...plan,
          recordTypes: plan.recordTypes.filter((one) => one !== name),
        }))
      : [];
  const full = plan.rounds.flatMap((round, index): Plan[] =>
    round.full && index > 0 ? [{ ...plan, rounds: plan.rounds.with(index, { ...round, full: false }) }] : [],
  );
  return [
    ...alone,
    ...fewer,
    ...(plan.reader ? [{ ...plan, reader: false }] : []),
    ...(plan.processes > 1 ? [{ ...plan, processes: 1 }] : []),
    ...(plan.workers > 1 ? [{ ...plan, workers: 1 }] : []),
    ...full,
  ];
}

const fewerRounds = (plan: Plan): Plan[] =>
  plan.rounds.length < 2
    ? []
    : plan.rounds.map((_, index): Plan => ({ ...plan, rounds: plan.rounds.toSpliced(index, 1) })).reverse();

/** The action with a smaller number, where it has one that isn't as small as it can be. */
function smallerActions(action: Action): Action[] {
  const smaller = (name: string, value: number): Action[] => {
    const candidates = [...new Set([1, Math.trunc(value / 2)])].filter(
      (one) => Math.abs(one) < Math.abs(value) && one !== 0,
    );
    return candidates.map((one) => ({ ...action, [name]: one }));
  };
  return Object.entries(action).flatMap(([name, value]) =>
    typeof value === 'number' && name !== 'seed' && Math.abs(value) > 1 ? smaller(name, value) : [],
  );
}

function smallerNumbers(plan: Plan): Plan[] {
  const inRound = (round: Round): Round[] => [
    ...round.before.flatMap((action, index) =>
      smallerActions(action).map(
        (smaller): Round => ({ ...round, before: round.before.with(index, smaller) }),
      ),
    ),
    ...round.during.flatMap((event, index) => [
      ...(event.afterRequests > 1
        ? [{ ...round, during: round.during.with(index, { ...event, afterRequests: 1 }) }]
        : []),
      ...smallerActions(event.action).map(
        (action): Round => ({ ...round, during: round.during.with(index, { ...event, action }) }),
      ),
    ]),
  ];
  return plan.rounds.flatMap((round, index) =>
    inRound(round).map((smaller): Plan => ({ ...plan, rounds: plan.rounds.with(index, smaller) })),
  );
}

/** Takes the first candidate that fails, and starts again with its own candidates. */
async function descend(
  plan: Plan,
  candidates: (plan: Plan) => Plan[],
  fails: Fails,
  mayGoOn: MayGoOn,
): Promise<Plan> {
  for (const candidate of candidates(plan)) {
    if (!mayGoOn()) return plan;
    if (await fails(candidate)) return descend(candidate, candidates, fails, mayGoOn);
  }
  return plan;
}

/** Leaves out actions in ever smaller groups: first half of them, at the end single ones. */
async function fewerActions(plan: Plan, fails: Fails, mayGoOn: MayGoOn): Promise<Plan> {
  let current = plan;
  for (let size = Math.ceil(countActions(plan) / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let start = 0; start < countActions(current); ) {
      if (!mayGoOn()) return current;
      const numbers = new Set(Array.from({ length: size }, (_, offset) => start + offset));
      const candidate = withoutActions(current, numbers);
      if (await fails(candidate)) current = candidate;
      else start += size;
    }
  }
  return current;
}

/**
 * Repeats until nothing more can be left out, or `mayGoOn` says no. Returns the shortest plan found, which is
 * `plan` itself when nothing could be left out. Rejects as `fails` does.
 */
export async function shrink(plan: Plan, fails: Fails, mayGoOn: MayGoOn): Promise<Plan> {
  let current = plan;
  for (;;) {
    const before = JSON.stringify(current);
    current = await descend(current, fewerRounds, fails, mayGoOn);
    current = await fewerActions(current, fails, mayGoOn);
    current = await descend(current, simplerFrames, fails, mayGoOn);
    current = await descend(current, smallerNumbers, fails, mayGoOn);
    if (JSON.stringify(current) === before || !mayGoOn()) return current;
  }
}

/**
 * A test that plays the plan, to be pasted as a file of `test/ops`. With `mutant`, the workers run with that
 * mutant.
 */
export function buildTest(plan: Plan, mutant: string | undefined): string {
  const { rounds, ...frame } = plan;
  const listed = rounds.map(({ full, before, during }) => {
    const items = (name: string, all: readonly unknown[]): string =>
      all.length === 0
        ? `${name}: []`
        : `${name}: [\n${all.map((one) => `        ${JSON.stringify(one)},`).join('\n')}\n      ]`;
    return `    {\n      full: ${full},\n      ${items('before', before)},\n      ${items('during', during)},\n    },`;
  });
  const fixture = mutant === undefined ? 'fixture' : `{ ...fixture, mutant: ${JSON.stringify(mutant)} }`;
  return `// As test/ops/seed-${plan.seed}.test.ts: npm test -- --project ops seed-${plan.seed}
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import type { Plan } from '../chaos/plan.ts';
import { simulate } from '../chaos/simulate.ts';
import { openFixture, type Fixture } from '../chaos/fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture({ accountServer: inject('pg') });
});
afterAll(() => fixture.close());

const plan: Plan = {
${Object.entries(frame)
  .map(([name, value]) => `  ${name}: ${JSON.stringify(value)},`)
  .join('\n')}
  rounds: [
${listed.join('\n')}
  ],
};

it('keeps every promise in the shortest form of seed ${plan.seed}', async () => {
  const { violations, diary } = await simulate(${fixture}, plan);
  expect(violations, diary.join('\\n')).toEqual([]);
});
`;
}
