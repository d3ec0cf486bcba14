// Kills of worker processes and power failures of the service's database, at a chosen moment of a run; for
// failovers, see failover.ts.
import type { Knex } from 'knex';
import { openKnex } from '../../src/db/connect.ts';
import type { Stage } from './actions.ts';
import { patiently, waitFor } from './company.ts';
import { failOver } from './failover.ts';
import type { Action, DisasterKind, RecordTypeName } from './plan.ts';

/** As the superuser, which can see what other backends wait for. */
async function asAdmin<T>({ fixture }: Stage, work: (admin: Knex) => Promise<T>): Promise<T> {
  const admin = openKnex(fixture.address, null, 1);
  try {
    return await work(admin);
  } finally {
    await admin.destroy();
  }
}

const publishWithinMs = 1_200;

/**
 * Waits until a publish of that record type is just before its first change, and acts there, or with `after`
 * as soon as others see one of its changes; returns whether one came.
 */
async function strikePublish(
  stage: Stage,
  recordType: RecordTypeName,
  strike: () => Promise<void>,
  after: boolean,
): Promise<boolean> {
  const { fixture, company } = stage;
  const holder = await fixture.ctx.db.data.connect();
  holder.on('error', () => undefined);
  let lost: Error | undefined;
  try {
    await holder.query(
      `begin; select from ${company.schema}.record_state where record_type = '${recordType}' for update`,
    );
    const look = (admin: Knex) => async () => {
      const { rows } = await admin.raw<{ rows: unknown[] }>(
        `select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like ?`,
        [`%${company.schema}.record_state%for update%`],
      );
      return rows.length === 0 ? undefined : true;
    };
    const isMet = await asAdmin(stage, (admin) =>
      waitFor('a publish', look(admin), publishWithinMs).catch(() => false),
    );
    if (after) await strikeAfterPublish(stage, recordType, () => holder.query('rollback'), strike);
    else await strike();
    return isMet;
  } finally {
    await holder.query('rollback').catch((error: Error) => {
      lost = error;
    });
    holder.release(lost);
  }
}

/**
 * Lets the publish go on and acts when some of its rows or its outcome can be seen, while the run's row in
 * the queue can't be changed.
 */
async function strikeAfterPublish(
  stage: Stage,
  recordType: RecordTypeName,
  goOn: () => Promise<unknown>,
  strike: () => Promise<void>,
): Promise<void> {
  const { fixture, company } = stage;
  const { schema } = company;
  const { rows } = await fixture.ctx.db.data.query<{ name: string; ended: string[] }>(
    `select active_table as name, array(select run_id::text from ${schema}.run_state where outcome is not null) as ended
     from ${schema}.record_state where record_type = $1`,
    [recordType],
  );
  const [before] = rows;
  const seen = `select 1 from ${schema}.run_state where record_type = $1 and outcome is not null and run_id <> all($2::uuid[])
    union all select 1 from ${schema}."${before?.name}" t join ${schema}.record_state s on s.record_type = $1 and t.generation > s.generation`;
  await asAdmin(stage, async (admin) => {
    const queue = await admin.transaction();
    await queue('sync_runs').where({ organization_id: company.organizationId }).forUpdate().select('id');
    await goOn();
    const look = async () =>
      (await fixture.ctx.db.data.query(seen, [recordType, before?.ended])).rows.length === 0
        ? undefined
        : true;
    await waitFor('a publication', look, publishWithinMs);
    await strike();
    await queue.rollback();
  });
}

/** The processes that work on runs of this company. */
const busyWorkers = (stage: Stage): Promise<number[]> =>
  asAdmin(stage, async (admin) => {
    const rows = await admin('sync_runs')
      .where({ organization_id: stage.company.organizationId })
      .whereIn('status', ['running', 'publishing'])
      .whereNotNull('lease_owner')
      .select<{ lease_owner: string }[]>('lease_owner');
    return rows.map(({ lease_owner: owner }) => Number(owner.split('/').at(-2)));
  });

export type Disaster = Extract<Action, { do: DisasterKind }>;
type Strike = Exclude<Disaster, { do: 'failover' }>;
const kinds = { kill: 'kill -9', stop: 'immediate stop', freeze: 'frozen worker' } as const;

/** Longer than the lease and the time until another process looks for runs. */
const takeoverWithinMs = 4_000;

/** Until another process works on the company's runs, or none does. */
async function takeover(stage: Stage, frozen: number): Promise<void> {
  const isTakenOver = async (): Promise<true | undefined> =>
    (await busyWorkers(stage)).includes(frozen) ? undefined : true;
  const isMet = await waitFor('a takeover', isTakenOver, takeoverWithinMs).catch(() => false);
  stage.report.note(`a worker stood still; ${isMet ? 'its runs were taken over' : 'nothing was taken over'}`);
}

/** Strikes at once, and returns what follows. */
async function strike(stage: Stage, { do: kind, delayMs }: Strike): Promise<() => Promise<void>> {
  const { fixture, workers, report } = stage;
  const coverage = report.coverage[kinds[kind]];
  if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
  const busy = await patiently(() => busyWorkers(stage));
  coverage.injected += 1;
  if (busy.length > 0) coverage.hit += 1;
  const pid = workers.pids().find((known) => busy.includes(known)) ?? workers.pids()[0];
  if (kind === 'stop') await fixture.cluster.crash();
  if (kind === 'kill' && pid !== undefined) await workers.replace(pid);
  if (kind !== 'freeze' || pid === undefined) return async () => undefined;
  const goOn = await workers.freeze(pid);
  return async () => {
    await takeover(stage, pid);
    goOn();
  };
}

/** Rejects when no process or cluster can be started again. */
export async function strikeDisaster(stage: Stage, action: Disaster): Promise<void> {
  if (action.do === 'failover') return failOver(stage, action);
  let follow = async (): Promise<void> => undefined;
  const strikeNow = async (): Promise<void> => {
    follow = await strike(stage, action);
  };
  const isSetUp = await patiently(async () => {
    const { rows } = await stage.fixture.ctx.db.data.query<{ there: boolean }>(
      'select to_regclass($1) is not null as there',
      [`${stage.company.schema}.record_state`],
    );
    return rows[0]?.there === true;
  });
  if (action.when === 'reading' || !isSetUp) await strikeNow();
  else {
    const met = await strikePublish(stage, action.recordType, strikeNow, action.when === 'published');
    stage.report.note(
      `${action.do} while publishing ${action.recordType}: ${met ? 'met' : 'no publish came'}`,
    );
  }
  await follow();
}
