// SQL functions that claim the next row of a queue claim exactly one, whatever statistics the planner has: a
// second row that is claimed but not returned would wait for its lease to expire.
import { expect, it } from 'vitest';
import { createId } from '../../src/core/id.ts';
import { asSuperuser } from '../setup/superuser.ts';
import { useOrganization } from '../setup/use-organization.ts';

const site = useOrganization();
const query = <Row extends object = object>(sql: string) =>
  asSuperuser(site.database.address.database, (client) => client.query<Row>(sql));

it('claims one row although statistics say that the table has one', async () => {
  const own = { organization_id: site.id };
  const account_id = createId();
  const add = (many: number) =>
    site.sql((tx) =>
      tx('pay_tasks').insert(
        Array.from({ length: many }, () => ({
          ...own,
          account_id,
          kind: 'payment',
          subject: createId(),
          due_at: new Date(0),
        })),
      ),
    );
  await site.sql((tx) => tx('pay_accounts').insert({ ...own, id: account_id, provider: 'sandbox' }));
  await add(1);
  await query('vacuum analyze pay_tasks');
  await add(7);
  await site.ctx.db.control.raw("select * from claim_pay_task(?, interval '1 minute')", [createId()]);
  expect((await query('select from pay_tasks where lease_id is not null')).rowCount).toBe(1);
});

it('no claim function leaves it to the planner how often its inner query runs', async () => {
  const { rows } = await query<{ proname: string; prosrc: string }>(
    "select proname, prosrc from pg_proc where prosrc ~ 'limit \\w+ for update'",
  );
  expect(rows.length).toBeGreaterThan(5);
  // A subquery in FROM may run once per row of the table; a materialized one runs once.
  const repeatable = rows.filter(({ prosrc }) => /for update[^)]*\)\s+(as )?\w+\s+where/.test(prosrc));
  expect(repeatable.map(({ proname }) => proname)).toEqual([]);
});
