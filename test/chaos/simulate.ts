// Plays one seed: rounds of changes and runs with everything that can go wrong, each run judged as it ends;
// then a quiet phase and the final check. Violations are reported, never thrown; an exception is a fault of
// the simulation.
import { type Actions, openActions, type Stage } from './actions.ts';
import { type Company, makeCompany } from './company.ts';
import { countHits } from './faults/requests.ts';
import type { Fixture } from './fixture.ts';
import { openLedger } from './oracle/ledger.ts';
import { type Oracle, openOracle } from './oracle/oracle.ts';
import { type Named, type RunView, readRun } from './oracle/run-report.ts';
import { type OtherSyncs, openOtherSyncs } from './other-erp.ts';
import { type Action, createPlan, has, least, type Plan, type RecordTypeName, type Round } from './plan.ts';
import { comeToRest } from './quiet.ts';
import { countEdits, countFaults, openReport, type Report } from './report.ts';
import { startWorkers } from './workers.ts';

/** For testing the checks: corrupts the warehouse or the account secretly. */
export type Tamper = {
  /** Before the runs of the last round. */
  readonly beforeLastRound?: (fixture: Fixture, company: Company) => Promise<void>;
  /** Before the last run is judged. */
  readonly beforeLastRun?: (fixture: Fixture, company: Company) => Promise<void>;
  /** After the last run, before the final check. */
  readonly beforeJudgement?: (fixture: Fixture, company: Company) => Promise<void>;
};
/** `untilRed`: ends with the first red round, where more violations would say nothing new. */
export type Conduct = Tamper & { readonly untilRed?: boolean };
type Ended = { readonly run: RunView; readonly named: Named };
export type Scene = Stage & {
  readonly actions: Actions;
  readonly oracle: Oracle;
  readonly others: OtherSyncs;
  /** Performs an action; the oracle reads the account before each step of its clock. */
  perform(action: Action): Promise<void>;
  /** Performs actions while no run is judged: the oracle reads the account once for all of them. */
  between(actions: readonly Action[]): Promise<void>;
  /** A run of one record type, judged at its end. */
  runOne(recordType: RecordTypeName, mode: 'incremental' | 'full'): Promise<Ended>;
};

/** One at a time: a change and its record belong together. */
function makeTurns(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const turn = last.then(work);
    last = turn.catch(() => undefined);
    return turn;
  };
}
type Turns = ReturnType<typeof makeTurns>;

async function judgeRun(
  { company, oracle, report }: Scene,
  recordType: RecordTypeName,
  id: string,
): Promise<Ended> {
  const run = await readRun(company.api, id);
  report.runEnded(run.status);
  report.note(
    `${recordType}: ${run.mode} ${run.status} ${run.error?.code ?? ''} generation ${run.generation} attempt ${run.attempt}`,
  );
  return { run, named: await oracle.ended(recordType, run) };
}

/** A run that a failover didn't lose, judged when it has ended. */
async function syncOne(
  scene: Scene,
  turns: Turns,
  recordType: RecordTypeName,
  full: boolean,
): Promise<Ended> {
  const { company, actions } = scene;
  for (;;) {
    const { id } = await company.sync(recordType, full ? 'full' : 'incremental');
    for (let ended: Ended | 'later' | 'lost' = 'later'; ended !== 'lost'; ) {
      await actions.failoversEnded();
      ended = await turns(async () => {
        if (actions.isFailingOver()) return 'later';
        return (await company.hasEnded(id)) ? judgeRun(scene, recordType, id) : 'lost';
      });
      if (typeof ended === 'object') return ended;
    }
  }
}

/** Every record type concurrently. */
async function syncAll(scene: Scene, turns: Turns, { full, green, published }: Round): Promise<void> {
  const { plan, report } = scene;
  await Promise.all(
    plan.recordTypes.map(async (recordType) => {
      const { run } = await syncOne(scene, turns, recordType, full);
      const isExpected =
        run.status === 'succeeded' ||
        (run.status === 'partial' ? green !== true : green !== true && published !== true);
      if (isExpected) return;
      const message = `${recordType}: a run that must ${green === true ? 'succeed' : 'be published'} is ${run.status}: ${JSON.stringify(run.error)}`;
      report.violations.push({ kind: 'stuck', message });
    }),
  );
}

/** What is still to happen during a round, by the requests seen so far. */
function openAhead(during: Round['during']) {
  const ahead = [...during]
    .sort((a, b) => a.afterRequests - b.afterRequests)
    .map((event) => ({ ...event, seen: 0 }));
  const take = (isDue: (event: (typeof ahead)[number]) => boolean): Action[] => {
    const due = ahead.filter(isDue);
    for (const event of due) ahead.splice(ahead.indexOf(event), 1);
    return due.map(({ action }) => action);
  };
  return {
    /** Before this request is answered. */
    due(question: string): Action[] {
      for (const event of ahead) if (question.includes(event.asking ?? '')) event.seen += 1;
      return take(({ seen, afterRequests }) => seen >= afterRequests);
    },
    left: (): Action[] => take(() => true),
  };
}

async function playRound(scene: Scene, turns: Turns, round: Round): Promise<void> {
  const { fixture, plan, actions, oracle, report } = scene;
  report.beginRound();
  await scene.between(round.before);
  for (const recordType of plan.recordTypes) await oracle.begin(recordType);
  const changes = oracle.changes();
  const ahead = openAhead(round.during);
  const perform = async (due: readonly Action[]): Promise<void> => {
    for (const action of due) await scene.perform(action);
  };
  fixture.wire.begin((_count, question) => turns(() => perform(ahead.due(question))));
  await Promise.all([syncAll(scene, turns, round), scene.others.playRound(round.full)]);
  fixture.wire.begin(async () => undefined);
  // The runs made fewer requests than expected: it happens between this round and the next.
  await turns(() => perform(ahead.left()));
  await actions.settled();
  const more = oracle.changes() - changes;
  if (round.unchanged && more > 0)
    report.violations.push({
      kind: 'needless',
      message: `${more} changes for followers of what no version shows`,
    });
  await oracle.publish();
  await turns(() => actions.endHolds(false));
}

async function finish(scene: Scene, tamper: Tamper): Promise<void> {
  const { fixture, company, plan, oracle, others } = scene;
  if (plan.quiet === false) return oracle.finish();
  await comeToRest(scene);
  await others.finish();
  /** Those who follow have seen the state before it. */
  const bend = async (how: Tamper['beforeLastRun']): Promise<void> => {
    if (how === undefined) return;
    await oracle.catchUp();
    await how(fixture, company);
  };
  await bend(tamper.beforeLastRun);
  for (const recordType of plan.recordTypes) await scene.runOne(recordType, 'full');
  await bend(tamper.beforeJudgement);
  await oracle.judgeFinal();
  await oracle.finish();
}

async function play(
  stage: Omit<Stage, 'onChange' | 'clients'>,
  { untilRed = false, ...tamper }: Conduct,
): Promise<void> {
  const { fixture, plan, company, report } = stage;
  const oracle = await openOracle(stage);
  const others = await openOtherSyncs(fixture, company, plan, report);
  let isBetween = false;
  const scene: Scene = {
    ...stage,
    oracle,
    others,
    clients: oracle.clients,
    onChange: async () => {
      if (!isBetween) await oracle.note();
    },
    get actions() {
      return actions;
    },
    async between(before) {
      isBetween = true;
      for (const action of before) await scene.perform(action);
      isBetween = false;
    },
    async perform(action) {
      if (action.do === 'step-clock') await oracle.note(); // the latest time that the clock showed before
      await actions.perform(action);
    },
    async runOne(recordType, mode) {
      await oracle.begin(recordType);
      return judgeRun(scene, recordType, (await company.sync(recordType, mode)).id);
    },
  };
  const actions = openActions(scene);
  const turns = makeTurns();
  try {
    for (const [index, round] of plan.rounds.entries()) {
      report.note(`round ${index + 1}`);
      if (index === plan.rounds.length - 1) await tamper.beforeLastRound?.(stage.fixture, company);
      await playRound(scene, turns, round);
      if (untilRed && report.violations.length > 0) return;
    }
    await finish(scene, tamper);
  } finally {
    await actions.settled();
    await actions.endHolds(true);
    await oracle.stop();
  }
}

/** What was planned and didn't happen. */
function findMissing(plan: Plan, report: Report): string[] {
  const { coverage } = report;
  return [
    countEdits(report) < least.edits && `${countEdits(report)} edits`,
    countFaults(report) < least.faults && `${countFaults(report)} faults`,
    has(plan, 'kill') && coverage['kill -9'].injected === 0 && 'no kill',
    has(plan, 'stop') && coverage['immediate stop'].injected === 0 && 'no stop',
    has(plan, 'freeze') && coverage['frozen worker'].injected === 0 && 'no frozen worker',
    has(plan, 'failover') && coverage['lost commits'].injected === 0 && 'no failover',
    plan.reader && report.answers === 0 && 'no reader',
  ].filter((word) => word !== false);
}

/** A run may be over before a kill meets it. */
const maxPlays = 5;

export async function simulate(fixture: Fixture, plan: Plan, conduct: Conduct = {}): Promise<Report> {
  const startedMs = performance.now();
  const since = new Date();
  const report = openReport(plan.seed);
  await fixture.books.reset(plan);
  const [company, workers] = await Promise.all([makeCompany(fixture, plan), startWorkers(fixture, plan)]);
  report.note('company and workers are there');
  const stage = { fixture, plan, company, workers, report, ledger: openLedger(fixture.account.businessTime) };
  try {
    await play(stage, conduct);
  } finally {
    await workers.stop();
    await company.leave();
  }
  countHits(stage, since);
  report.tookMs = performance.now() - startedMs;
  return report;
}

/** Throws an Error when not all that was planned happens, several times over. */
export async function playSeed(fixture: Fixture, seed: number): Promise<Report> {
  const plan = createPlan(seed);
  let missing: string[] = [];
  for (let plays = 0; plays < maxPlays; plays += 1) {
    const report = await simulate(fixture, plan);
    missing = findMissing(plan, report);
    if (missing.length === 0 || report.violations.length > 0) return report;
  }
  throw new Error(`seed ${seed} did too little: ${missing.join(', ')}`);
}
