// The tables of an organization copied to another database: structure, rows, and what a repeated or refused
// copy leaves.
import type { Client, ClientBase } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectClient, poolConfig } from '../../src/db/connect.ts';
import { copyOrganization } from '../../src/move/copy-organization.ts';
import { readStructure, UnknownStructure } from '../../src/move/structure.ts';
import { createTenantSchema, tenantSchema } from '../../src/warehouse/tenant-schema.ts';
import { makeOrganization } from '../setup/organization.ts';
import { until } from '../setup/until.ts';
import { useDatabase } from '../setup/use-database.ts';
import { waitingFor } from '../sync/fixture.ts';

const former = useDatabase();
const target = useDatabase();
let source: Client;
let there: Client;
let schema: string;

const awkward = (into: string): string => `
  insert into ${into} select n, 1, decode(md5(n::text), 'hex'), '2026-03-01T10:00:00.123456Z'::timestamptz + n * interval '1 s',
    E'tab\\t back\\\\slash \\n line "quote" \\u00e9 ' || n, 12345678901234567890.1234567890 + n, array['a,b', null, '{}', E'\\\\N'],
    jsonb_build_object('lines', jsonb_build_array(n, null, 'x')), date '2026-02-28', case when n % 3 = 0 then null else n % 2 = 0 end, 0.1::float8 + n
  from generate_series(1, 500) n`;

beforeAll(async () => {
  const { id } = await makeOrganization(former.ctx);
  await createTenantSchema(former.ctx, id);
  schema = tenantSchema(id);
  source = await connectClient(poolConfig(former.service, 'portal_service'))();
  there = await connectClient(poolConfig(target.service, 'portal_service'))();
  await source.query(`create table ${schema}.invoice_1 (id bigint constraint own_key primary key, generation bigint not null, content_hash bytea not null,
    changed_at timestamptz not null default now(), "Odd ""name" text, total numeric, tags text[], lines jsonb, due date, paid boolean,
    rate double precision, constraint positive check (total > 0)) with (fillfactor = 90)`);
  await source.query(`create index by_total on ${schema}.invoice_1 (total desc nulls last, id) where paid`);
  await source.query(
    `create index by_text on ${schema}.invoice_1 using gin (lower("Odd ""name") gin_trgm_ops)`,
  );
  await source.query(awkward(`${schema}.invoice_1`));
});
afterAll(() => Promise.all([source.end(), there.end()]));

/** The schema of a new organization. */
const newSchema = async () => tenantSchema((await makeOrganization(former.ctx)).id);
const readRows = async (client: ClientBase): Promise<unknown[]> =>
  (await client.query<{ line: string }>(`select t::text as line from ${schema}.invoice_1 t order by id`))
    .rows;

describe('copyOrganization', () => {
  it('builds the same tables with the same rows, owned by the service', async () => {
    const tables = await readStructure(source, schema);
    expect(await copyOrganization(source, there, schema)).toEqual({ tables: tables.length, rows: 500 });
    expect(await readStructure(there, schema)).toEqual(tables);
    expect(await readRows(there)).toEqual(await readRows(source));
    const { rows } = await there.query(
      'select distinct pg_get_userbyid(relowner) as owner from pg_class where relnamespace = to_regnamespace($1)',
      [schema],
    );
    expect(rows).toEqual([{ owner: 'portal_service' }]);
  });

  it('takes the right to write from the former server, and replaces the copy when it is repeated', async () => {
    await expect(source.query(`delete from ${schema}.invoice_1`)).rejects.toThrow('permission denied');
    await there.query(`delete from ${schema}.invoice_1 where id > 10`);
    expect(await copyOrganization(source, there, schema)).toMatchObject({ rows: 500 });
    expect(await readRows(there)).toEqual(await readRows(source));
  });

  it('waits for a writer, and copies what it committed', async () => {
    const other = await newSchema();
    const writer = await former.ctx.db.data.connect();
    await writer.query(`begin; insert into ${other}.retired_tables (table_name) values ('late')`);
    const copying = copyOrganization(source, there, other);
    await until(async () => (await waitingFor(former.admin, `${other}."retired_tables"`)).length > 0);
    await writer.query('commit');
    writer.release();
    expect(await copying).toMatchObject({ rows: 1 });
  });

  it('fails with the error of the new server when that refuses rows, and both connections work on', async () => {
    const other = await newSchema();
    // More rows than fit into the buffers on the way; one in the middle breaks a rule that is checked at the
    // new server alone.
    await source.query(`create table ${other}.large_1 (id bigint primary key, memo text not null)`);
    await source.query(
      `insert into ${other}.large_1 select n, repeat(md5(n::text), 30) from generate_series(1, 40000) n`,
    );
    await source.query(`alter table ${other}.large_1 add constraint no_middle check (id <> 1000) not valid`);
    await expect(copyOrganization(source, there, other)).rejects.toThrow('no_middle');
    await source.query(`delete from ${other}.large_1 where id = 1000`);
    expect(await copyOrganization(source, there, other)).toMatchObject({ rows: 39_999 });
  });

  it('takes as long as it needs, whatever the servers allow to a transaction that waits', async () => {
    const other = await newSchema();
    const limits = ['idle_in_transaction_session_timeout', 'transaction_timeout'];
    const set = async (to: string) => {
      for (const client of [source, there])
        for (const limit of limits) await client.query(`set ${limit} = ${to}`);
    };
    await set("'1s'");
    const writer = await former.ctx.db.data.connect();
    await writer.query(`begin; insert into ${other}.retired_tables (table_name) values ('late')`);
    const copying = copyOrganization(source, there, other);
    await writer.query('select pg_sleep(1.5)');
    await writer.query('commit');
    writer.release();
    expect(await copying).toMatchObject({ rows: 1 });
    await set('default');
  });

  it('refuses what it can not build, and leaves the former server as it was', async () => {
    const other = await newSchema();
    await source.query(`create view ${other}.mine as select 1 as one; create sequence ${other}.numbers`);
    const refused = await copyOrganization(source, there, other).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(UnknownStructure);
    expect(String(refused)).toMatch(
      /the relation mine, the relation numbers|the relation numbers, the relation mine/,
    );
    await source.query(`insert into ${other}.retired_tables (table_name) values ('still writable')`);
    expect((await there.query('select to_regnamespace($1) is null as absent', [other])).rows).toEqual([
      { absent: true },
    ]);
  });
});
