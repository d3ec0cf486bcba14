// SQL functions that claim the next row of a queue claim exactly one, whatever statistics the planner has: a
// second row that is claimed but not returned would wait for its lease to expire.
import { expect, it } from 'vitest';
import { createId } from '../../src/core/id.ts';
import { claimJob, enqueueJob } from '../../src/db/jobs.ts';
import { asSuperuser } from '../setup/superuser.ts';
import { useOrganization } from '../setup/use-organization.ts';

const site = useOrganization();
const query = <Row extends object = object>(sql: string) =>
  asSuperuser(site.database.address.database, (client) => client.query<Row>(sql));

it('claims one job although statistics say that the table has one', async () => {
  const add = (many: number) =>
    site.sql(async (tx) => {
      for (let n = 0; n < many; n += 1)
        await enqueueJob(tx, { kind: 'pay_tasks', organizationId: site.id, key: createId() });
    });
  await add(1);
  await query('vacuum analyze jobs');
  await add(7);
  await claimJob(site.ctx, 'pay_tasks', 60_000);
  expect((await query('select from jobs where lease_id is not null')).rowCount).toBe(1);
});

it('no claim function leaves it to the planner how often its inner query runs', async () => {
  const { rows } = await query<{ proname: string; prosrc: string }>(
    "select proname, prosrc from pg_proc where prosrc ~ 'limit \\w+ for update'",
  );
  expect(rows.map(({ proname }) => proname)).toContain('claim_job');
  // A subquery in FROM may run once per row of the table; a materialized one runs once.
  const repeatable = rows.filter(({ prosrc }) => /for update[^)]*\)\s+(as )?\w+\s+where/.test(prosrc));
  expect(repeatable.map(({ proname }) => proname)).toEqual([]);
});
