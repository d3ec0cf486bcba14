// What happens in an account between two runs: edits, deletions and inserts by SQL, around the account's
// midnight, and without the right to see deletions.
import { Client } from 'pg';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { tenantSchema } from '../../src/warehouse/tenant-schema.ts';
import { useCompany } from './company.ts';

describe('an account between two runs', () => {
  const company = useCompany();
  beforeAll(async () => {
    // Half past eleven in the evening in UTC is half past midnight in London.
    await company.erp.account.setBusinessTime(new Date('2011-09-05T23:30:00Z'));
    await company.expectSuccess('invoice', 'incremental', {}, { mode: 'full' });
  });

  /** In the account's own database, at its own time. */
  async function inTheErp(sql: string): Promise<void> {
    const client = new Client({ ...inject('pg'), database: company.erp.database });
    await client.connect();
    try {
      await client.query(
        sql.replaceAll(':now', `'${company.erp.account.businessTime().toISOString()}'::timestamptz`),
      );
    } finally {
      await client.end();
    }
  }
  const versions = async (): Promise<Map<string, string>> => {
    const { rows } = await company.database.ctx.db.data.query<{ id: string; version: string }>(
      `select id, concat_ws(' ', xmin, generation, encode(content_hash, 'hex')) as version from ${tenantSchema(company.organizationId)}.invoice_1`,
    );
    return new Map(rows.map(({ id, version }) => [id, version]));
  };
  const nth = (from: number, count: number) =>
    `select id from ledger.transaction where type = 'CustInvc' order by id offset ${from} limit ${count}`;

  it('100 edits, 10 deletions and 10 inserts change exactly those rows', async () => {
    const before = await versions();
    await company.erp.account.setBusinessTime(new Date('2011-09-05T23:45:00Z'));
    await inTheErp(`
      create table public.fresh as select * from ledger.transaction where id in (${nth(500, 10)});
      create table public.gone as ${nth(700, 10)};
      update ledger.transaction set memo = 'edited', lastmodifieddate = :now where id in (${nth(0, 100)});
      insert into ledger.deletedrecord (recordid, scriptid, type, deleteddate, iscustomlist, iscustomrecord, iscustomtransaction)
        select id, 'invoice', 'Invoice', :now, 'F', 'F', 'F' from public.gone;
      delete from ledger.transactionline where transaction in (table public.gone);
      delete from ledger.application where invoice in (table public.gone);
      delete from ledger.transaction where id in (table public.gone);
      update public.fresh set id = id + 90000000, tranid = 'N' || tranid, createddate = :now, lastmodifieddate = :now;
      insert into ledger.transaction table public.fresh`);
    await company.expectSuccess(
      'invoice',
      'incremental',
      { inserted: 10, updated: 100, deleted: 10 },
      { mode: 'incremental', generation: '2' },
    );
    const after = await versions();
    const changed = [...after].filter(([id, version]) => before.get(id) !== version);
    expect(changed).toHaveLength(110);
    expect(after.size).toBe(before.size);
    expect([...before.keys()].filter((id) => !after.has(id))).toHaveLength(10);

    await company.expectSuccess(
      'invoice',
      'incremental',
      { inserted: 0, updated: 0, deleted: 0 },
      { generation: '2' },
    );
    expect(await versions()).toEqual(after);
  });

  it("day or zone truncation that loses rows changed before the account's midnight: a change just before it and one just after it are both read", async () => {
    for (const at of ['2011-09-06T22:58:00Z', '2011-09-06T23:02:00Z']) {
      await company.erp.account.setBusinessTime(new Date(at));
      await inTheErp(
        `update ledger.transaction set memo = 'at ' || :now, lastmodifieddate = :now where id in (${nth(900, 3)})`,
      );
      await company.expectSuccess('invoice', 'incremental', { updated: 3 });
    }
  });

  it('a role that can no longer view deletions: what is absent waits for approval, because the list named deletions before', async () => {
    company.erp.account.setVisible('deletedrecord', false);
    await inTheErp(`delete from ledger.transactionline where transaction in (${nth(3, 1)});
      delete from ledger.transaction where id in (${nth(3, 1)})`);
    await company.expectPartial('invoice', 'incremental', 'DELETIONS_HELD', { deleted: 0 });
    company.erp.account.setVisible('deletedrecord', true);
  });
});
