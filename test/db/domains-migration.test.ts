// 0075 has the domains looked up again that were verified before it, not all of them at once.
import { expect, it } from 'vitest';
import { createId } from '../../src/core/id.ts';
import { migrate } from '../../src/db/migrate.ts';
import { useOrganization } from '../setup/use-organization.ts';

const site = useOrganization();

/** The database as the version before left it. */
async function goBack(): Promise<void> {
  await site.admin.raw(`
    alter table domains drop constraint failed_domain_is_not_checked_again, drop column missing_since;
    update domains set next_check_at = null where status <> 'pending';
    alter table domains add constraint pending_domain_is_checked_again check ((status = 'pending') = (next_check_at is not null));
    drop index domains_next_check_at_idx;
    create index on domains (next_check_at) where status = 'pending'`);
  await site.admin('knex_migrations').where('name', 'like', '0075_%').delete();
}

it('spreads the next checks of verified domains over a day, and leaves the others as they are', async () => {
  const make = (hostname: string, columns: object) => ({
    ...{ id: createId(), organization_id: site.id, hostname, verification_value: 'x' },
    ...columns,
  });
  const due = new Date('2030-01-01');
  const verified = { status: 'verified', verified_at: new Date() };
  await site
    .admin('domains')
    .insert([
      ...Array.from({ length: 50 }, (_, index) => make(`verified-${index}.example`, verified)),
      make('pending.example', { next_check_at: due }),
      make('failed.example', { status: 'failed' }),
    ]);
  await goBack();
  const began = Date.now();
  await migrate(site.database.address);

  const read = async (status: string): Promise<(Date | null)[]> =>
    site.admin('domains').where({ status }).orderBy('next_check_at').pluck('next_check_at');
  expect([await read('pending'), await read('failed')]).toEqual([[due], [null]]);
  const hours = (await read('verified')).map((at) => (Number(at) - began) / 3_600_000);
  expect(hours).toHaveLength(50);
  for (const at of hours) expect([at >= 0, at < 25]).toEqual([true, true]);
  expect(new Set(hours.map((at) => Math.floor(at / 8))).size).toBeGreaterThan(1);
});
