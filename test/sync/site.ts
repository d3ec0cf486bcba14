// The service on a database of its own for one test file of syncs, without runs that another test left.
import type { Knex } from 'knex';
import { afterEach, beforeAll } from 'vitest';
import { createApp } from '../../src/app.ts';
import type { FieldMetadata } from '../../src/connectors/connector.ts';
import type { Ctx } from '../../src/core/ctx.ts';
import type { Settings } from '../../src/core/settings.ts';
import { type Api, createApi } from '../setup/api.ts';
import { type TestDatabase, type TestDatabaseOptions, testSettings } from '../setup/database.ts';
import { makeKey } from '../setup/organization.ts';
import { useDatabase } from '../setup/use-database.ts';
import {
  type ConfigOptions,
  type CreateRecord,
  datedFields,
  endOpenRuns,
  memoryErp,
  type SyncFixture,
  start,
  syncFixture,
  wait,
} from './fixture.ts';

export type SyncSite = {
  readonly ctx: Ctx;
  readonly database: TestDatabase;
  /** The database with the login of the superuser. */
  readonly admin: Knex;
  /** A fixture whose ERP has records 1 to `count`; without fields, records have no modification time. */
  withRecords(
    count: number,
    options?: ConfigOptions,
    fields?: readonly FieldMetadata[],
  ): Promise<SyncFixture>;
  /** Records that changed hours ago; the ERP's clock is stopped, and it has listed no deletion. */
  dated(
    count: number,
    options?: ConfigOptions,
    fields?: readonly FieldMetadata[],
    create?: CreateRecord,
  ): Promise<SyncFixture>;
  /** The same, read in full an hour ago. */
  loaded(count: number, options?: ConfigOptions, fields?: readonly FieldMetadata[]): Promise<SyncFixture>;
  /** Calls the management interface with a key of the fixture's organization. */
  api(fixture: SyncFixture): Promise<Api>;
  /** The database refuses such writes until the end of the test, as if the worker died right before them. */
  refuse(table: string, pattern?: string): Promise<unknown>;
  /** Ends all refusals. */
  allow(): Promise<unknown>;
};

type Options = TestDatabaseOptions & {
  /** Writes that can be refused, such as `insert on drift_events`. */
  readonly refusable?: readonly string[];
};

const refusing = (writes: readonly string[]): string => `
  create table refusals (table_name text, pattern text);
  create function refuse() returns trigger language plpgsql security definer as $$
  begin
    if exists (select from refusals r where r.table_name = tg_table_name and to_jsonb(new)::text like r.pattern) then
      raise exception 'refused by the test';
    end if;
    return new;
  end $$;
  ${writes.map((write) => `create trigger refusing before ${write} for each row execute function refuse();`).join('\n')}`;

/** For the top level of a test file; `sync` are settings of syncs. */
export function useSync(
  sync: Partial<Settings['sync']> = {},
  { refusable = [], ...options }: Options = {},
): SyncSite {
  const site: SyncSite = {
    ctx: {} as Ctx,
    database: {} as TestDatabase,
    admin: {} as Knex,
    async withRecords(count, given, fields) {
      const fixture = await syncFixture(site.ctx, memoryErp(fields), given);
      fixture.erp.fill(count);
      return fixture;
    },
    async dated(count, given, fields = datedFields, create) {
      const fixture = await syncFixture(site.ctx, memoryErp(fields), given);
      fixture.erp.at = start;
      fixture.erp.deleted = new Map();
      fixture.erp.fill(count, create);
      wait(fixture, 5);
      return fixture;
    },
    async loaded(count, given, fields) {
      const fixture = await site.dated(count, given, fields);
      await fixture.expectSuccess('incremental', { inserted: count }, { mode: 'full' });
      wait(fixture, 1);
      fixture.erp.calls.length = 0;
      return fixture;
    },
    async api({ organizationId }) {
      const { secret } = await makeKey(site.ctx, organizationId, { permissions: ['write'] });
      return createApi(createApp(site.ctx), secret);
    },
    refuse: async (table, pattern = '%') => site.admin('refusals').insert({ table_name: table, pattern }),
    allow: async () => site.admin('refusals').delete(),
  };
  const settings = { ...options.settings, sync: { ...testSettings.sync, ...sync } };
  const database = useDatabase({ ...options, settings });
  beforeAll(async () => {
    const { ctx, admin } = database;
    Object.assign(site, { database, ctx, admin });
    if (refusable.length > 0) await admin.raw(refusing(refusable));
  });
  afterEach(async () => {
    if (refusable.length > 0) await site.allow();
    await endOpenRuns(site.database);
  });
  return site;
}
