// Judges what the service serves over its public interface after every run, by what the account held
// meanwhile. See docs/guarantees.md for what each status of a run promises.
import type { RecordTypeName } from '../plan.ts';
import type { Report, ViolationKind } from '../report.ts';
import type { Shape } from './account.ts';
import type { Begun } from './bounds.ts';
import { type Clients, openClients } from './clients.ts';
import { type Copy, openCopy } from './copy.ts';
import { type History, type Moment, openHistory } from './history.ts';
import { type Judge, openJudge } from './judge.ts';
import type { Ledger } from './ledger.ts';
import { problemsOfFailure } from './names.ts';
import { publish } from './publish.ts';
import { readShape } from './published.ts';
import { type Reader, startReader } from './reader.ts';
import { openReceiver, type Receiver, type ReceiverStage } from './receiver.ts';
import { type Named, type RunView, readNamed } from './run-report.ts';
import { openService, readSnapshot, type Service, type Snapshot } from './served.ts';

export type OracleOptions = ReceiverStage & { readonly report: Report; readonly ledger: Ledger };
export type Oracle = {
  /** The account changed. */
  note(): Promise<void>;
  /** A run is about to begin. */
  begin(recordType: RecordTypeName): Promise<void>;
  /** A run ended. */
  ended(recordType: RecordTypeName, run: RunView): Promise<Named>;
  /** Publishes a version of everything, once it can be. */
  publish(): Promise<boolean>;
  readonly clients: Clients;
  /** The receiver of webhooks refuses everything until the returned function is called. */
  leave(): () => Promise<void>;
  /** How many changes those who follow got. */
  changes(): number;
  /** Those who follow have seen everything that is there now. */
  catchUp(): Promise<void>;
  /** Compares what is served now with the account, with nothing excused. */
  judgeFinal(recordTypes?: readonly RecordTypeName[]): Promise<void>;
  /** Stops those who follow, and judges what they saw. */
  finish(): Promise<void>;
  /** Stops those who follow. */
  stop(): Promise<void>;
};

type Watch = {
  readonly recordType: RecordTypeName;
  readonly history: History;
  readonly judge: Judge;
  readonly copy: Copy;
  readonly generations: Map<string, Snapshot>;
  begin: Moment | undefined;
  /** The start of the last run that was published. */
  previous: Moment | null;
  /** The last run, as long as nothing began since. */
  last: { readonly run: RunView; readonly named: Named; readonly begun: Begun } | undefined;
};
type Bench = OracleOptions & {
  readonly service: Service;
  readonly watches: ReadonlyMap<RecordTypeName, Watch>;
  reader?: Reader;
  receiver?: Receiver;
  /**
   * The account's clock when a run last asked it for its day, which each run does as it starts and before it
   * reads.
   */
  startedLast: Date;
  /** The label of the version that is served. */
  version: string;
  isPublished: boolean;
};

const addViolationsTo =
  ({ report }: Pick<OracleOptions, 'report'>) =>
  (kind: ViolationKind, messages: readonly string[]): void => {
    report.violations.push(...messages.map((message) => ({ kind, message })));
    for (const message of messages) report.note(`!! ${kind}: ${message}`);
  };

function openWatch(options: OracleOptions, service: Service, shape: Shape): Watch {
  const { fixture, plan, ledger } = options;
  const { recordType } = shape;
  const { books } = fixture;
  const history = openHistory(
    { pool: books.pool, now: books.account.businessTime, timeZone: books.timeZone },
    shape,
  );
  const deletesAbsent = (): boolean => plan.deletions === 'reconcile';
  const judge = openJudge({
    history,
    notes: ledger.notes,
    addViolations: addViolationsTo(options),
    deletesAbsent,
  });
  const copy = openCopy(service, recordType);
  return {
    recordType,
    history,
    judge,
    copy,
    generations: new Map(),
    begin: undefined,
    previous: null,
    last: undefined,
  };
}

async function readServed(
  { service, report }: Bench,
  { recordType, generations }: Watch,
  from: string | null,
): Promise<Snapshot | null> {
  const snapshot = await readSnapshot(service, recordType, from);
  if (snapshot === null)
    addViolationsTo({ report })('mixed', [`${recordType}: generation ${from} is not served in time`]);
  else generations.set(snapshot.generation, snapshot);
  return snapshot;
}

/** A run that published nothing changed nothing. */
function judgeUnchanged(bench: Bench, { recordType, judge }: Watch, run: RunView, snapshot: Snapshot): void {
  const before = judge.last();
  const isSame =
    before === undefined || before.generation !== snapshot.generation || sameList(before, snapshot);
  if (!isSame) addViolationsTo(bench)('green', [`${recordType}: a ${run.status} run changed what is served`]);
}
const sameList = (a: Snapshot, b: Snapshot): boolean =>
  JSON.stringify([...a.records]) === JSON.stringify([...b.records]);

async function judgeServed(bench: Bench, watch: Watch): Promise<void> {
  const { recordType, judge, copy, last } = watch;
  const isOver = last !== undefined && (last.run.status === 'succeeded' || last.run.status === 'partial');
  const snapshot = await readServed(bench, watch, isOver ? last.run.generation : null);
  if (snapshot === null) return;
  if (isOver) judge.judge({ ...last, snapshot });
  else if (last !== undefined) judgeUnchanged(bench, watch, last.run, snapshot);
  if (isOver && last.run.status === 'succeeded') bench.report.greenChecks += 1;
  addViolationsTo(bench)('skipped', await copy.problems(snapshot));
  bench.report.note(`  ${recordType}: ${snapshot.total} served in generation ${snapshot.generation}`);
}

/**
 * A run that failed before its first page was stored starts again, and reads by the account's clock of that
 * later time.
 */
function chooseStart(begin: Moment, { attempt }: RunView, { startedLast }: Bench): Moment {
  return attempt > 1 && startedLast > begin.latest ? { ...begin, latest: startedLast } : begin;
}

async function ended(bench: Bench, watch: Watch, run: RunView): Promise<Named> {
  const { recordType, history } = watch;
  await history.note();
  const named = await readNamed(bench.company.api, run);
  const begin = watch.begin ?? history.states()[0]?.moment;
  if (begin === undefined) throw new Error(`a run of ${recordType} ended that never began`);
  watch.last = {
    run,
    named,
    begun: { mode: run.mode, begin, previous: watch.previous, completeSince: named.completeSince },
  };
  if (bench.isPublished) await judgeServed(bench, watch);
  addViolationsTo(bench)(
    'unnamed',
    bench.isPublished ? [] : problemsOfFailure(run).map((text) => `${recordType}: ${text}`),
  );
  if (run.status === 'succeeded' || run.status === 'partial') watch.previous = chooseStart(begin, run, bench);
  return named;
}

async function publishAll(bench: Bench): Promise<boolean> {
  const { company, report, plan, service, watches } = bench;
  if (bench.isPublished) return true;
  const { version, problem } = await publish(
    company.api,
    [...watches.values()].map(({ history: { shape } }) => shape),
  );
  report.note(problem === null ? 'published' : `not published: ${problem}`);
  if (problem !== null) return false;
  bench.version = version;
  bench.isPublished = true;
  for (const watch of watches.values()) await judgeServed(bench, watch);
  bench.receiver = await openReceiver(bench, service, version);
  if (!plan.reader) return true;
  report.coverage.reader.injected += 1;
  bench.reader = startReader(service, plan.recordTypes, plan.pageSize);
  return true;
}

async function judgeFinal(bench: Bench, watch: Watch): Promise<void> {
  const { history, recordType, copy } = watch;
  await history.begin();
  const snapshot = await readServed(bench, watch, null);
  const { begin, previous } = { begin: history.states()[0]?.moment, previous: null };
  if (snapshot === null || begin === undefined || watch.last === undefined) return;
  const { notes } = bench.ledger;
  const addViolations = (kind: ViolationKind, messages: readonly string[]): void =>
    addViolationsTo(bench)(kind === 'green' || kind === 'unnamed' ? 'final' : kind, messages);
  // A judge who knows nothing of earlier runs excuses nothing but decisions of people.
  const judge = openJudge({
    history,
    notes: { ...notes, silent: () => [] },
    addViolations,
    deletesAbsent: () => false,
    before: watch.judge.last(),
  });
  const { run, named } = watch.last;
  judge.judge({
    run: { ...run, status: 'succeeded' },
    named,
    begun: { mode: 'full', begin, previous, completeSince: null },
    snapshot,
  });
  addViolationsTo(bench)('skipped', [
    ...(await copy.problems(snapshot)),
    ...((await bench.receiver?.problems(recordType, snapshot)) ?? []),
  ]);
  bench.report.note(`${recordType}: compared at the end`);
}

const changesIn = ({ watches }: Bench): number =>
  [...watches.values()].reduce((sum, { copy }) => sum + copy.changes(), 0);

async function finish(bench: Bench): Promise<void> {
  const { report, reader, watches } = bench;
  await reader?.finish();
  report.changes += changesIn(bench);
  report.webhooks += bench.receiver?.count() ?? 0;
  if (reader === undefined) return;
  report.answers += reader.answers();
  report.coverage.reader.hit += reader.answers() > 0 ? 1 : 0;
  const generations = new Map([...watches].map(([recordType, watch]) => [recordType, watch.generations]));
  addViolationsTo(bench)('mixed', reader.problems(generations));
}

/** Rejects with an Error when the management interface doesn't offer a record type of the plan. */
export async function openOracle(options: OracleOptions): Promise<Oracle> {
  const { fixture, plan, company, ledger } = options;
  const service = openService(() => `${fixture.url}/api/public/${bench.version}`, {
    authorization: `Bearer ${company.secret}`,
    'x-tenant-id': company.organizationId,
  });
  const watches = new Map<RecordTypeName, Watch>();
  for (const recordType of plan.recordTypes)
    watches.set(recordType, openWatch(options, service, await readShape(company.api, recordType)));
  const bench: Bench = {
    ...options,
    service,
    watches,
    startedLast: new Date(0),
    version: 'v1',
    isPublished: false,
  };
  const stopWatching = fixture.wire.watch(({ question }) => {
    if (question.includes(' AS today FROM dual')) bench.startedLast = fixture.books.account.businessTime();
  });
  const getWatch = (recordType: RecordTypeName): Watch => {
    const watch = watches.get(recordType);
    if (watch === undefined) throw new Error(`${recordType} isn't synced`);
    return watch;
  };
  const note = async (): Promise<void> => {
    for (const { history } of watches.values()) await history.note();
  };
  await note();
  const clients = openClients(
    () => watches.values(),
    () => bench.isPublished,
    () => bench.reader,
    () => bench.receiver,
  );
  return {
    note,
    clients,
    async begin(recordType) {
      const watch = getWatch(recordType);
      ledger.notes.forgetEnded(recordType);
      watch.last = undefined;
      watch.begin = await watch.history.begin();
    },
    ended: (recordType, run) => ended(bench, getWatch(recordType), run),
    leave() {
      bench.receiver?.leave();
      return async () => bench.receiver?.comeBack();
    },
    publish: () => publishAll(bench),
    changes: () => changesIn(bench),
    async catchUp() {
      await bench.reader?.lap();
      for (const watch of watches.values()) {
        const snapshot = bench.isPublished ? await readServed(bench, watch, null) : null;
        if (snapshot !== null) await watch.copy.problems(snapshot);
      }
    },
    async judgeFinal(recordTypes = plan.recordTypes) {
      if (bench.isPublished)
        for (const recordType of recordTypes) await judgeFinal(bench, getWatch(recordType));
    },
    finish: () => finish(bench),
    stop: async () => {
      stopWatching();
      await bench.reader?.finish().catch(() => undefined);
      await bench.receiver?.stop();
    },
  };
}
