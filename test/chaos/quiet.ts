// The quiet phase: all faults have ended. Every record type must become right in a bounded number of runs,
// and what may be unseen for a while must be seen when its time has passed.
import { approveOpenDeletions } from './faults/approval.ts';
import type { EditKind, RecordTypeName } from './plan-names.ts';
import type { Scene } from './simulate.ts';

const maxRuns = 6;
/** A pass of the rolling read takes one page a run at least, and the pass in progress ends first. */
const maxPassRuns = 40;
const dayMinutes = 24 * 60;
/** More than the full-read period. */
const periodDays = 8;

const stuck = ({ report }: Scene, message: string): void => {
  report.violations.push({ kind: 'stuck', message });
};

/** What a person does whom a failed run tells to refresh the metadata. */
async function follow({ company, report }: Scene, recordType: RecordTypeName, fix: string): Promise<void> {
  if (!fix.startsWith('Refresh the metadata')) return;
  await company.ask(200, () => company.api('post', '/netsuite/metadata/refresh'));
  report.note(`${recordType}: refreshed the metadata, as the run says`);
}

/** What a person does about a run that stays partial for a reason that only a person can end. */
async function decide(
  scene: Scene,
  recordType: RecordTypeName,
  attempt: number,
  stale: ReadonlySet<string>,
): Promise<void> {
  const { company } = scene;
  await approveOpenDeletions(scene, recordType);
  if (attempt < 3 || stale.size === 0) return;
  const path = `/sync-configs/${company.configId(recordType)}/accept-missing-fields`;
  await company.ask(202, () => company.api('post', path, { fields: [...stale] }));
  scene.report.note(`${recordType}: accepted that ${[...stale].join(', ')} stay empty`);
}

async function becomeGreen(scene: Scene, recordType: RecordTypeName): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const { run, named } = await scene.runOne(recordType, 'incremental');
    if (run.status === 'succeeded') return;
    if (attempt === maxRuns)
      return stuck(
        scene,
        `${recordType}: run ${attempt} after quiet is still ${run.status}: ${JSON.stringify(run.error)}`,
      );
    if (run.status === 'failed') await follow(scene, recordType, run.error?.fix ?? '');
    if (run.status === 'partial') await decide(scene, recordType, attempt, named.stale);
  }
}

/** Until all records were read in full since the account became quiet. */
async function endPass(scene: Scene, recordType: RecordTypeName, quietSince: Date): Promise<void> {
  for (let attempt = 1; attempt <= maxPassRuns; attempt += 1) {
    const { run, named } = await scene.runOne(recordType, 'incremental');
    if (run.status === 'failed')
      return stuck(scene, `${recordType}: a run after quiet is ${run.status}: ${JSON.stringify(run.error)}`);
    if (run.status === 'partial') await decide(scene, recordType, attempt, named.stale);
    else if (named.completeSince !== null && named.completeSince >= quietSince) return;
  }
  stuck(scene, `${recordType}: after ${maxPassRuns} runs, not all records were read in full`);
}

/** Changes that only time brings to light, when nothing else makes a run compare more than it must. */
const silentKinds = [
  ...[
    'silent-line-added',
    'silent-line-added',
    'silent-line-removed',
    'silent-line-removed',
    'silent-line-text',
  ],
  ...['silent-field', 'silent-field', 'rename-customer', 'rename-customer', 'rename-customer'],
] as readonly EditKind[];

async function changeSilently({ plan, actions }: Scene): Promise<void> {
  for (const [index, kind] of silentKinds.entries())
    await actions.perform({ do: 'edit', kind, seed: plan.seed * silentKinds.length + index });
}

export async function comeToRest(scene: Scene): Promise<void> {
  const { fixture, plan, actions, oracle, report } = scene;
  fixture.account.clearFaults();
  await actions.endHolds(true);
  await scene.onChange();
  report.note('quiet');
  await Promise.all(plan.recordTypes.map((recordType) => becomeGreen(scene, recordType)));
  if (!(await oracle.publish())) stuck(scene, 'no version can be published after quiet');
  await changeSilently(scene);
  await Promise.all(plan.recordTypes.map((recordType) => becomeGreen(scene, recordType)));
  const quietSince = fixture.account.businessTime();
  const comeBack = oracle.leave();
  report.note('the next day');
  await fixture.books.stepClock(dayMinutes);
  await Promise.all(plan.recordTypes.map((recordType) => becomeGreen(scene, recordType)));
  report.note('after the full-read period');
  await fixture.books.stepClock(periodDays * dayMinutes);
  await Promise.all(plan.recordTypes.map((recordType) => endPass(scene, recordType, quietSince)));
  await comeBack();
  await oracle.judgeFinal();
}
