// Carries out a plan and records what each action hit. Changes of the account are reported to `onChange`
// before anything else continues.
import type { Company } from './company.ts';
import { type Disaster, strikeDisaster } from './disasters.ts';
import { edit } from './edits.ts';
import { beginExact, type ExactHold, write } from './exact.ts';
import { decideDeletions } from './faults/approval.ts';
import type { Ending, FaultStage } from './faults/fault.ts';
import { faults } from './faults/index.ts';
import { injectFault } from './faults/requests.ts';
import type { Fixture } from './fixture.ts';
import type { Clients } from './oracle/clients.ts';
import type { Ledger } from './oracle/ledger.ts';
import type { Action, Plan, RecordTypeName, StateFault } from './plan.ts';
import { createRandom } from './random.ts';
import type { Report } from './report.ts';
import type { Workers } from './workers.ts';

export type Stage = {
  readonly fixture: Fixture;
  readonly plan: Plan;
  readonly company: Company;
  readonly workers: Workers;
  readonly report: Report;
  /** What the oracle must know and can't read in the account. */
  readonly ledger: Ledger;
  /** Who reads what is served. */
  readonly clients: Clients;
  /** Records what the account holds now, for the runs in progress. */
  readonly onChange: () => Promise<void>;
};
type Held = {
  readonly fault: StateFault | null;
  readonly recordType: RecordTypeName;
  rounds: number;
  readonly end: Ending;
};
export type Actions = {
  /** Carries it out, or begins it. Rejects when the simulation itself can't. */
  perform(action: Action): Promise<void>;
  /** Ends the faults that are due now, or all of them. */
  endHolds(all: boolean): Promise<void>;
  holding(fault: StateFault, recordType: RecordTypeName): boolean;
  /** Kills and stops that are still in progress. */
  settled(): Promise<void>;
  /** Whether what is committed now may be lost. */
  isFailingOver(): boolean;
  failoversEnded(): Promise<void>;
};

/** With what faults need to follow the changes of the account. */
function stageForFaults({
  fixture,
  plan,
  company,
  workers,
  report,
  ledger,
  clients,
  onChange,
}: Stage): FaultStage {
  const watchers = new Set<() => Promise<void>>();
  return {
    fixture,
    plan,
    company,
    workers,
    report,
    ledger,
    clients,
    async onChange() {
      for (const look of watchers) await look();
      await onChange();
    },
    watchChanges(look) {
      watchers.add(look);
      return () => watchers.delete(look);
    },
  };
}

function openHolds(stage: FaultStage) {
  const { report } = stage;
  const holds: Held[] = [];
  return {
    async begin({ fault, recordType, rounds, seed }: Extract<Action, { do: 'hold' }>): Promise<void> {
      report.coverage[fault].injected += 1;
      const end = await faults[fault].begin(stage, recordType, createRandom(seed), () => {
        report.coverage[fault].hit += 1;
      });
      holds.push({ fault, recordType, rounds, end });
    },
    async beginExact(action: ExactHold): Promise<void> {
      holds.push({
        fault: null,
        recordType: action.recordType,
        rounds: action.rounds,
        end: await beginExact(stage, action),
      });
    },
    async end(all: boolean): Promise<void> {
      for (const held of holds) held.rounds -= 1;
      for (const held of holds.filter(({ rounds }) => all || rounds <= 0)) {
        holds.splice(holds.indexOf(held), 1);
        await held.end();
      }
    },
    holding: (fault: StateFault, recordType: RecordTypeName): boolean =>
      holds.some((held) => held.fault === fault && held.recordType === recordType),
  };
}

/**
 * Each disaster runs in parallel to the request that triggers it, because the affected work must continue; a
 * failover has no other next to it.
 */
function openDisasters(stage: FaultStage) {
  const disasters = new Set<Promise<void>>();
  const failovers = new Set<Promise<void>>();
  return {
    strike(action: Disaster): void {
      const before = [...(action.do === 'failover' ? disasters : failovers)];
      const groups = action.do === 'failover' ? [disasters, failovers] : [disasters];
      const striking = Promise.allSettled(before)
        .then(() => strikeDisaster(stage, action))
        .finally(() => {
          for (const group of groups) group.delete(striking);
        });
      for (const group of groups) group.add(striking);
      striking.catch(() => undefined);
    },
    isFailingOver: (): boolean => failovers.size > 0,
    failoversEnded: async (): Promise<void> => {
      await Promise.all(failovers);
    },
    settled: async (): Promise<void> => {
      await Promise.all(disasters);
    },
  };
}

export function openActions(given: Stage): Actions {
  const stage = stageForFaults(given);
  const { fixture, plan, report, onChange } = stage;
  const holds = openHolds(stage);
  const { strike, ...disasters } = openDisasters(stage);

  const decide = async (action: Extract<Action, { do: 'approve' }>): Promise<void> => {
    // The decision itself would be lost.
    if (disasters.isFailingOver()) return report.note('nobody decides during a failover');
    report.coverage.approve.injected += 1;
    await decideDeletions(stage, action, () => {
      report.coverage.approve.hit += 1;
    });
  };

  return {
    async perform(action) {
      report.note(JSON.stringify(action));
      switch (action.do) {
        case 'edit': {
          const done = await edit(fixture.books, action.kind, { ...plan, seed: action.seed });
          report.edits.set(done, (report.edits.get(done) ?? 0) + 1);
          return onChange();
        }
        case 'step-clock':
          await fixture.books.stepClock(action.minutes);
          report.coverage['clock-step'].injected += 1;
          report.coverage['clock-step'].hit += 1;
          return onChange();
        case 'fault':
          report.coverage[action.fault].injected += action.times;
          return injectFault(stage, action.fault, action.times);
        case 'hold':
          return holds.begin(action);
        case 'approve':
          return decide(action);
        case 'write':
          await write(fixture.control, action);
          return onChange();
        case 'refresh':
          await stage.company.ask([200, 202], () => stage.company.api('post', '/netsuite/metadata/refresh'));
          return;
        case 'lie':
        case 'hide':
          return holds.beginExact(action);
        default:
          return strike(action);
      }
    },
    endHolds: holds.end,
    holding: holds.holding,
    ...disasters,
  };
}
