// Plays one seed: rounds of changes and runs with everything that can go wrong, each publish checked as it happens; then a quiet phase
// and the final check. Violations are reported, never thrown; an exception is a fault of the simulation.

import type { RunRow } from '../../src/sync/runs.store.ts';
import { readRecordState } from '../../src/warehouse/record-state.ts';
import { type Actions, countHits, openActions, type Stage } from './actions.ts';
import { type Company, makeCompany, patiently } from './company.ts';
import { type Claim, claimOf, differences } from './compare.ts';
import { type Consumer, openConsumer } from './consumer.ts';
import { has, least, type Plan, planOf, type RecordTypeName, type Round } from './plan.ts';
import { type Reader, startReader } from './reader.ts';
import { faultsOf, mutationsOf, openReport, type Report, type ViolationKind } from './report.ts';
import { hire } from './staff.ts';
import { readTruth, type Truth } from './truth.ts';
import { readView, type View } from './warehouse-view.ts';
import type { World } from './world.ts';

/** For testing the checks: corrupts the warehouse secretly. */
export type Tamper = {
  /** Before the last run is checked. */
  readonly beforeLastRun?: (world: World, company: Company) => Promise<void>;
  /** After the last run, before the final check. */
  readonly beforeJudgement?: (world: World, company: Company) => Promise<void>;
};

type Scene = Stage & {
  readonly actions: Actions;
  /** The states of the account since the current runs started, oldest first. */
  readonly versions: Map<RecordTypeName, Truth[]>;
  readonly generations: Map<RecordTypeName, Map<string, View>>;
  readonly tamper: Tamper;
};

const blame = ({ report }: Scene, kind: ViolationKind, messages: readonly string[]): void => {
  report.violations.push(...messages.map((message) => ({ kind, message })));
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

const truthNow = ({ books, account }: World, recordType: RecordTypeName): Promise<Truth> =>
  readTruth(books.pool, recordType, account.businessTime());

/** A record that was deleted here must be deleted in the account; a deleted record never returns under its id. */
async function judgeDeletions(scene: Scene, recordType: RecordTypeName, before: View | undefined, view: View): Promise<void> {
  const removed = [...(before?.rows.keys() ?? [])].filter((id) => !view.rows.has(id));
  const alive = await scene.world.books.alive(recordType, [...new Set([...removed, ...view.tombstones.keys()])]);
  blame(
    scene,
    'deleted',
    alive.map((id) => `${recordType} ${id} was deleted and lives in the account`),
  );
}

/** Records what readers see after a run, and whether a green one is right. */
async function judgeRun(scene: Scene, recordType: RecordTypeName, run: RunRow): Promise<void> {
  const { world, company, report, actions } = scene;
  const view = await patiently(() => readView(world.ctx.db.data, company.schema, recordType));
  const known = scene.generations.get(recordType) ?? new Map<string, View>();
  scene.generations.set(recordType, known);
  if (view !== undefined) {
    await judgeDeletions(scene, recordType, [...known.values()].at(-1), view);
    known.delete(view.generation); // the same generation may have gained columns
    known.set(view.generation, view);
  }
  if (run.status === 'succeeded' || run.status === 'partial' || run.status === 'failed' || run.status === 'cancelled')
    report.runs[run.status] += 1;
  report.note(`${recordType}: ${run.mode} ${run.status} ${run.error?.code ?? ''} generation ${view?.generation} attempt ${run.attempt}`);
  for (const fault of ['narrow-role', 'bad-value'] as const)
    if (actions.holding(fault, recordType) && run.status === 'partial') report.coverage[fault].hit += 1;
  if (run.status !== 'succeeded') return;
  report.greenChecks += 1;
  if (view === undefined) return blame(scene, 'green', [`${recordType}: a run succeeded and nothing is published`]);
  blame(scene, 'green', differences(recordType, view, scene.versions.get(recordType) ?? [], claimOf(run)));
}

/** Every record type concurrently, each run checked when it ends. */
async function syncAll(scene: Scene, turns: Turns, full: boolean): Promise<void> {
  const { company, plan } = scene;
  await Promise.all(
    plan.recordTypes.map(async (recordType) => {
      const run = await company.sync(recordType, full ? 'full' : 'incremental');
      await turns(() => judgeRun(scene, recordType, run));
    }),
  );
}

/** While runs are in progress; between them no requests are made. */
async function noteTruth({ world, versions }: Scene): Promise<void> {
  for (const [recordType, seen] of versions) seen.push(await truthNow(world, recordType));
}

async function beginVersions(scene: Scene): Promise<void> {
  for (const recordType of scene.plan.recordTypes) scene.versions.set(recordType, [await truthNow(scene.world, recordType)]);
}

async function playRound(scene: Scene, turns: Turns, round: Round): Promise<void> {
  const { world, actions } = scene;
  for (const action of round.before) await actions.perform(action);
  await beginVersions(scene);
  const ahead = [...round.during].sort((a, b) => a.afterRequests - b.afterRequests);
  const performNext = async (count: number): Promise<void> => {
    for (let next = ahead[0]; next !== undefined && next.afterRequests <= count; next = ahead[0]) {
      ahead.shift();
      await actions.perform(next.action);
    }
  };
  world.wire.begin((count) => turns(() => performNext(count)));
  await syncAll(scene, turns, round.full);
  world.wire.begin(async () => undefined);
  scene.versions.clear();
  // The runs made fewer requests than expected: it happens between this round and the next.
  await turns(() => performNext(Number.POSITIVE_INFINITY));
  await actions.settled();
  await turns(() => actions.endHolds(false));
}

const maxQuietRuns = 5;
const dayMinutes = 25 * 60;

/** No more faults: a bounded number of runs must reach the account's state, without a complete read, and then with one. */
async function comeToRest(scene: Scene): Promise<Map<RecordTypeName, Claim>> {
  const { world, company, plan, actions, tamper } = scene;
  world.account.clearFaults();
  await actions.endHolds(true);
  scene.report.note('quiet');
  await company.refreshMetadata();
  await world.books.stepClock(dayMinutes); // a scan is due
  const claims = new Map<RecordTypeName, Claim>();
  for (const recordType of plan.recordTypes) {
    for (let attempt = 1; ; attempt += 1) {
      await beginVersions(scene);
      const run = await company.sync(recordType, 'incremental');
      await judgeRun(scene, recordType, run);
      claims.set(recordType, claimOf(run));
      if (run.status === 'succeeded') break;
      if (attempt < maxQuietRuns) continue;
      blame(scene, 'stuck', [`${recordType}: run ${attempt} after quiet is still ${run.status}: ${JSON.stringify(run.error)}`]);
      break;
    }
  }
  await judgeFinal(scene, claims);
  await tamper.beforeLastRun?.(world, company);
  await beginVersions(scene);
  await syncAll(scene, makeTurns(), true);
  return claims;
}

/** Row by row and field by field. */
async function judgeFinal(scene: Scene, claims: ReadonlyMap<RecordTypeName, Claim> | null): Promise<void> {
  const { world, company, plan } = scene;
  for (const recordType of plan.recordTypes) {
    const view = await readView(world.ctx.db.data, company.schema, recordType);
    const truth = await truthNow(world, recordType);
    const claim = claims?.get(recordType) ?? { lineLabels: true, closedRecords: true };
    if (view === undefined) {
      blame(scene, 'final', [`${recordType}: nothing was ever published`]);
      continue;
    }
    blame(scene, 'final', differences(recordType, view, [truth], claim));
    await judgeDeletions(scene, recordType, [...(scene.generations.get(recordType)?.values() ?? [])].at(-1), view);
  }
}

async function catchUp(consumer: Consumer): Promise<void> {
  while ((await consumer.poll()) > 0) {
    // to the end
  }
}

async function judgeConsumers(scene: Scene, consumers: ReadonlyMap<RecordTypeName, Consumer>): Promise<void> {
  for (const [recordType, consumer] of consumers) {
    await catchUp(consumer);
    const view = await readView(scene.world.ctx.db.data, scene.company.schema, recordType);
    const state = await readRecordState(scene.world.ctx.db.data, scene.company.schema, recordType);
    if (view !== undefined) blame(scene, 'skipped', consumer.problems(view, state?.shownColumns ?? null));
    scene.report.changes += consumer.changes();
  }
}

const consumerPaceMs = 60;

/** Consumers that follow continuously until they are stopped. */
function followAll({ world, company, plan }: Stage) {
  const consumers = new Map(
    plan.recordTypes.map((recordType) => [recordType, openConsumer(world.ctx.db.data, company.schema, recordType)]),
  );
  let done = false;
  const following = (async () => {
    while (!done) {
      for (const consumer of consumers.values()) await consumer.poll();
      await new Promise((resolve) => setTimeout(resolve, consumerPaceMs));
    }
  })();
  return {
    consumers,
    stop: async () => {
      done = true;
      await following;
    },
  };
}

function openReader({ world, company, plan, report }: Stage): Reader {
  report.coverage.reader.injected += 1;
  return startReader({
    base: `${world.url}/api/public/v1`,
    headers: { authorization: `Bearer ${company.secret}`, 'x-tenant-id': company.organizationId },
    recordTypes: plan.recordTypes,
    pageSize: plan.pageSize,
  });
}

async function finish(scene: Scene, reader: Reader | undefined, follow: ReturnType<typeof followAll>): Promise<void> {
  const { report } = scene;
  await comeToRest(scene);
  await scene.tamper.beforeJudgement?.(scene.world, scene.company);
  await judgeFinal(scene, null);
  await follow.stop();
  await judgeConsumers(scene, follow.consumers);
  await reader?.finish();
  if (reader === undefined) return;
  report.answers += reader.answers();
  report.coverage.reader.hit += reader.answers() > 0 ? 1 : 0;
  blame(scene, 'mixed', reader.problems(scene.generations));
}

async function play(stage: Omit<Stage, 'onChange'>, tamper: Tamper): Promise<void> {
  const versions = new Map<RecordTypeName, Truth[]>();
  let reader: Reader | undefined;
  /** The observers have seen the state before it. */
  const witnessed =
    (bend: Tamper['beforeLastRun']): NonNullable<Tamper['beforeLastRun']> =>
    async (world, company) => {
      if (bend === undefined) return;
      await reader?.lap();
      for (const consumer of follow.consumers.values()) await catchUp(consumer);
      await bend(world, company);
    };
  const scene: Scene = {
    ...stage,
    onChange: () => noteTruth(scene),
    get actions() {
      return actions;
    },
    versions,
    generations: new Map(),
    tamper: { beforeLastRun: witnessed(tamper.beforeLastRun), beforeJudgement: witnessed(tamper.beforeJudgement) },
  };
  const actions = openActions(scene);
  const { plan, company } = stage;
  const follow = followAll(scene);
  const turns = makeTurns();
  try {
    for (const [index, round] of plan.rounds.entries()) {
      stage.report.note(`round ${index + 1}`);
      await playRound(scene, turns, round);
      const isLoaded = plan.recordTypes.every((recordType) => (scene.generations.get(recordType)?.size ?? 0) > 0);
      if (plan.reader && reader === undefined && isLoaded) {
        await company.publish();
        reader = openReader(scene);
      }
    }
    await finish(scene, reader, follow);
  } finally {
    await follow.stop().catch(() => undefined);
    await reader?.finish().catch(() => undefined);
  }
}

/** Whether everything planned happened; otherwise it is a fault of the simulation. */
function checkPlan(plan: Plan, report: Report): void {
  const { coverage } = report;
  const short = [
    mutationsOf(report) < least.mutations && `${mutationsOf(report)} mutations`,
    faultsOf(report) < least.faults && `${faultsOf(report)} faults`,
    has(plan, 'kill') && coverage['kill -9'].injected === 0 && 'no kill',
    has(plan, 'stop') && coverage['immediate stop'].injected === 0 && 'no stop',
    plan.reader && report.answers === 0 && 'no reader',
  ].filter((word) => word !== false);
  if (short.length > 0) throw new Error(`seed ${plan.seed} did too little: ${short.join(', ')}`);
}

export async function simulate(world: World, plan: Plan, tamper: Tamper = {}): Promise<Report> {
  const startedMs = performance.now();
  const since = new Date();
  const report = openReport(plan.seed);
  await world.books.reset();
  const [company, staff] = await Promise.all([makeCompany(world, plan), hire(world, plan)]);
  report.note('company and workers are there');
  const stage = { world, plan, company, staff, report };
  try {
    await play(stage, tamper);
  } finally {
    await staff.dismiss();
    await company.leave();
  }
  countHits({ ...stage, onChange: async () => undefined }, since);
  report.tookMs = performance.now() - startedMs;
  return report;
}

export async function playSeed(world: World, seed: number): Promise<Report> {
  const plan = planOf(seed);
  const report = await simulate(world, plan);
  checkPlan(plan, report);
  return report;
}
