// A failover that loses commits: a standby is cut off, something is published, clients read it, the primary
// dies, and the standby is promoted.
import type { Knex } from 'knex';
import { type DatabaseAddress, openKnex } from '../../src/db/connect.ts';
import type { Stage } from './actions.ts';
import { patiently, waitFor } from './company.ts';
import type { Survivors } from './oracle/clients.ts';
import type { Action, RecordTypeName } from './plan.ts';

const publishWithinMs = 1_500;

async function generationsIn(address: DatabaseAddress, schema: string): Promise<Survivors> {
  const admin = openKnex(address, null, 1);
  try {
    const { rows: there } = await admin.raw<{ rows: { found: boolean }[] }>(
      'select to_regclass(?) is not null as found',
      [`${schema}.record_state`],
    );
    if (there[0]?.found !== true) return new Map();
    const rows = await admin
      .withSchema(schema)
      .from<{ record_type: RecordTypeName; generation: string }>('record_state')
      .select('*');
    return new Map(rows.map(({ record_type: recordType, generation }) => [recordType, BigInt(generation)]));
  } finally {
    await admin.destroy();
  }
}

/** Keeps any publish of the record type from its first change until the returned function is called. */
async function holdPublish(
  { fixture, company }: Stage,
  recordType: RecordTypeName,
): Promise<() => Promise<void>> {
  const admin: Knex = openKnex(fixture.address, null, 1);
  const holder = await admin.transaction();
  // Other faults shorten it for every session.
  await holder.raw('set local lock_timeout = 0');
  await holder
    .withSchema(company.schema)
    .from('record_state')
    .where({ record_type: recordType })
    .forUpdate()
    .select('record_type');
  return async () => {
    await holder.rollback().catch(() => undefined);
    await admin.destroy();
  };
}

const isHigher = (now: Survivors, before: Survivors): boolean =>
  [...now].some(([recordType, generation]) => generation > (before.get(recordType) ?? 0n));

/** Rejects when the standby can't be made or promoted. */
export async function failOver(
  stage: Stage,
  { recordType, when, delayMs }: Extract<Action, { do: 'failover' }>,
): Promise<void> {
  const { fixture, company, clients, report } = stage;
  const coverage = report.coverage['lost commits'];
  coverage.injected += 1;
  const { schema } = company;
  const before = await patiently(() => generationsIn(fixture.address, schema));
  const release =
    when === 'reading' || !before.has(recordType) ? undefined : await holdPublish(stage, recordType);
  const standby = await fixture.cluster.addStandby().finally(() => release?.());
  const survivors = await generationsIn({ ...standby.connection, database: fixture.database }, schema);
  const now = () => generationsIn(fixture.address, schema);
  await waitFor(
    'a publish',
    async () => (isHigher(await now(), survivors) ? true : undefined),
    publishWithinMs,
  ).catch(() => false);
  if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
  await clients.look();
  const goOn = await clients.pause();
  try {
    const isLost = isHigher(await now(), survivors);
    if (isLost) coverage.hit += 1;
    await fixture.cluster.failOver(standby);
    clients.lose(survivors);
    report.note(`failover: ${isLost ? 'a publish was lost' : 'no publish was lost'}`);
  } finally {
    goOn();
  }
}
