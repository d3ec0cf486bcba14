// A synced fixture whose versions allow row scopes by `customer`, and readers of its list and its changes under
// a row scope, written from the description of the tables alone.
import type { FieldMetadata } from '../../src/connectors/connector.ts';
import type { Ctx } from '../../src/core/ctx.ts';
import { enterShownColumns } from '../../src/sync/index.ts';
import { listAccount } from '../setup/erp-account.ts';
import {
  type ConfigOptions,
  datedFields,
  field,
  memoryErp,
  type SyncFixture,
  syncFixture,
} from './fixture.ts';

export const start = new Date('2026-05-01T08:00:00Z');
export const wait = ({ erp }: SyncFixture, minutes = 10): void => {
  erp.at = new Date((erp.at ?? start).getTime() + minutes * 60_000);
};

/** Enters a version that shows these columns. */
export const enter = (
  fixture: SyncFixture,
  version: string,
  scopable: readonly string[],
  shown: readonly string[] = [],
): Promise<void> =>
  enterShownColumns(fixture.tenant, {
    thing: {
      [version]: [
        ...scopable.map((column) => ({ column, scopable: true as const })),
        ...shown.map((column) => ({ column })),
      ],
    },
  });

export const scopedFields = [...datedFields, field('customer'), field('site')];

/** Records with these customers by id, synced, with row scopes by customer. */
export async function scopedFixture(
  ctx: Ctx,
  customers: Readonly<Record<string, string | null>>,
  options: ConfigOptions = {},
): Promise<SyncFixture> {
  const fixture = await syncFixture(ctx, memoryErp(scopedFields), { maxDeleteShare: 1, ...options });
  fixture.erp.at = start;
  fixture.erp.deleted = new Map();
  for (const [id, customer] of Object.entries(customers)) fixture.erp.put(id, { customer });
  wait(fixture);
  await fixture.sync();
  await enter(fixture, 'v1', ['f_customer'], ['f_name']);
  wait(fixture);
  return fixture;
}

/** What the ERP offers from now on. */
export async function setFields(fixture: SyncFixture, fields: readonly FieldMetadata[]): Promise<void> {
  fixture.erp.fields = [...fields];
  await listAccount(fixture.tenant, fixture.erp.connector);
}

export type ScopeEntry = { generation: string; id: string; before: Record<string, unknown> };
export const entries = (fixture: SyncFixture): Promise<ScopeEntry[]> =>
  fixture.query<ScopeEntry>(
    `select generation, id, before from ${fixture.schema}.scope_changes order by generation, id`,
  );
export const withheldIds = async (fixture: SyncFixture): Promise<string[]> =>
  (await fixture.query<{ id: string }>(`select id from ${fixture.schema}.withheld_records order by id`)).map(
    ({ id }) => id,
  );
export const scopeState = async (fixture: SyncFixture) => {
  const [row] = await fixture.query<{
    generation: string;
    epoch: string;
    columns: Record<string, string>;
    pruned: string;
  }>(
    `select generation, epoch, scope_columns as columns, scope_pruned as pruned from ${fixture.schema}.record_state`,
  );
  if (row === undefined) throw new Error('nothing was synced');
  return row;
};

type Table = { readonly fixture: SyncFixture; readonly customers: readonly string[] };
const shownSql = async ({ fixture }: Table): Promise<string> =>
  `select t.id::text as id, t.generation from ${fixture.schema}.${(await fixture.state())?.activeTable} t where t.f_customer = any($1)
     and not exists (select from ${fixture.schema}.withheld_records w where w.record_type = 'thing' and w.id = t.id::text)`;

/** The ids of the list under the scope. */
export const scopedList = async (table: Table): Promise<string[]> =>
  (
    await table.fixture.query<{ id: string }>(`${await shownSql(table)} order by t.id`, [table.customers])
  ).map(({ id }) => id);

export type ScopedChanges = {
  readonly upserts: readonly string[];
  readonly deletes: Readonly<Record<string, string>>;
};
/**
 * What the feed under the scope reports since a generation: upserted ids, and the generation of each deletion
 * by id.
 */
export async function scopedChanges(table: Table, since: string): Promise<ScopedChanges> {
  const { fixture, customers } = table;
  const shown = await shownSql(table);
  const upserts = await fixture.query<{ id: string }>(`${shown} and t.generation > $2 order by t.id`, [
    customers,
    since,
  ]);
  const deletes = await fixture.query<{ id: string; generation: string }>(
    `select c.id, max(c.generation)::text as generation from ${fixture.schema}.scope_changes c
     where c.record_type = 'thing' and c.generation > $2 and c.before ->> 'f_customer' = any($1) and c.id not in (select s.id from (${shown}) s)
     group by c.id`,
    [customers, since],
  );
  return {
    upserts: upserts.map(({ id }) => id),
    deletes: Object.fromEntries(deletes.map(({ id, generation }) => [id, generation])),
  };
}

export const readList = (fixture: SyncFixture, ...customers: string[]) => scopedList({ fixture, customers });
export const readChanges = (fixture: SyncFixture, since: string, ...customers: string[]) =>
  scopedChanges({ fixture, customers }, since);
export const sync = async (fixture: SyncFixture, mode: 'incremental' | 'full' = 'incremental') => {
  wait(fixture);
  return fixture.sync(mode);
};
/** The ERP has these values of a record that can't be stored. */
export function reject(fixture: SyncFixture, id: string, values?: Record<string, string | null>): void {
  fixture.erp.put(id, values ?? {});
  fixture.erp.rejects.set(id, {
    id,
    code: 'LINE_UNREADABLE',
    message: 'line 1',
    ...(values !== undefined && { values }),
  });
}
export function mend(fixture: SyncFixture, id: string, customer: string | null): void {
  fixture.erp.rejects.delete(id);
  fixture.erp.put(id, { customer });
}
