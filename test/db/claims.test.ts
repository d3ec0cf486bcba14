// SQL functions that claim the next row of a queue claim exactly one, whatever statistics the planner has: a
// second row that is claimed but not returned would wait for its lease to expire.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createId } from '../../src/core/id.ts';
import { inTransaction } from '../../src/db/transaction.ts';
import { type TestDatabase, testDatabase } from '../setup/database.ts';
import { makeOrganization } from '../setup/organization.ts';
import { asSuperuser } from '../setup/superuser.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());

it('claims one row although statistics say that the table has one', async () => {
  const { id: organizationId } = await makeOrganization(database.ctx);
  const own = { organization_id: organizationId };
  const account_id = createId();
  const add = (many: number) =>
    inTransaction({ db: database.ctx.db, organizationId }, (tx) =>
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
  await inTransaction({ db: database.ctx.db, organizationId }, (tx) =>
    tx('pay_accounts').insert({ ...own, id: account_id, provider: 'sandbox' }),
  );
  await add(1);
  await asSuperuser(database.address.database, (client) => client.query('vacuum analyze pay_tasks'));
  await add(7);
  await database.ctx.db.control.raw("select * from claim_pay_task(?, interval '1 minute')", [createId()]);
  const leased = await asSuperuser(database.address.database, (client) =>
    client.query('select from pay_tasks where lease_id is not null'),
  );
  expect(leased.rowCount).toBe(1);
});

it('no claim function leaves it to the planner how often its inner query runs', async () => {
  const { rows } = await asSuperuser(database.address.database, (client) =>
    client.query<{ proname: string; prosrc: string }>(
      "select proname, prosrc from pg_proc where prosrc ~ 'limit \\w+ for update'",
    ),
  );
  expect(rows.length).toBeGreaterThan(5);
  // A subquery in FROM may run once per row of the table; a materialized one runs once.
  expect(
    rows
      .filter(({ prosrc }) => /for update[^)]*\)\s+(as )?\w+\s+where/.test(prosrc))
      .map(({ proname }) => proname),
  ).toEqual([]);
});
