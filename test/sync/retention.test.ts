// Data with a retention period is deleted when it has passed, and nothing else is.
import { expect, it } from 'vitest';
import { createId } from '../../src/core/id.ts';
import { inTransaction } from '../../src/db/transaction.ts';
import { pruneTombstones } from '../../src/sync/deletions/prune-tombstones.ts';
import { dropTenantSchema } from '../../src/warehouse/tenant-schema.ts';
import { makeOrganization } from '../setup/organization.ts';
import { noSignal, type SyncFixture, syncFixture } from './fixture.ts';
import { useSync } from './site.ts';

const site = useSync();

const bury = (fixture: SyncFixture, from: number, to: number, days: number) =>
  fixture.query(
    `insert into ${fixture.schema}.tombstones (record_type, id, generation, deleted_at)
     select 'thing', n::text, 1, now() - make_interval(days => $3) from generate_series($1::int, $2::int) n`,
    [from, to, days],
  );
const buried = async (fixture: SyncFixture) =>
  (await fixture.query<{ id: string }>(`select id from ${fixture.schema}.tombstones order by id::int`)).map(
    ({ id }) => id,
  );

it('tombstones are deleted after 30 days, however many, in every organization; one without a warehouse is skipped', async () => {
  const fixtures = [await syncFixture(site.ctx), await syncFixture(site.ctx)];
  await dropTenantSchema(site.ctx, (await makeOrganization(site.ctx)).id);
  for (const fixture of fixtures) {
    fixture.erp.put(1);
    await fixture.sync();
    await bury(fixture, 1, 2_500, 31);
    await bury(fixture, 3_001, 3_002, 29);
  }
  await pruneTombstones(site.ctx, noSignal);
  expect(await Promise.all(fixtures.map(buried))).toEqual([
    ['3001', '3002'],
    ['3001', '3002'],
  ]);
});

it('rejections stay until they are resolved', async () => {
  const fixture = await syncFixture(site.ctx);
  fixture.erp.rejects.set('2', { id: '2', code: 'X', message: 'no' });
  await fixture.sync();
  await fixture.query(
    `update ${fixture.schema}.rejections set first_seen_at = '2020-01-01', last_seen_at = '2020-01-01'`,
  );
  await pruneTombstones(site.ctx, noSignal);
  await site.ctx.db.control.raw('select prune_expired(), prune_mails(), prune_drift_events()');
  expect(await fixture.query(`select id from ${fixture.schema}.rejections`)).toEqual([{ id: '2' }]);
});

it('changes of fields are kept for a year', async () => {
  const fixture = await syncFixture(site.ctx);
  const about = {
    organization_id: fixture.organizationId,
    record_type: 'thing',
    kind: 'added',
    to_type: 'text',
    run_id: createId(),
  };
  const ages = { old: 366, new: 364 };
  await inTransaction(fixture.tenant, (tx) =>
    tx('drift_events').insert(
      Object.entries(ages).map(([field, days]) => ({
        ...{ ...about, id: createId(), field },
        at: tx.raw("now() - ? * interval '1 day'", [days]),
      })),
    ),
  );
  await site.ctx.db.control.raw('select prune_drift_events()');
  expect(await inTransaction(fixture.tenant, (tx) => tx('drift_events').select('field'))).toEqual([
    { field: 'new' },
  ]);
});
