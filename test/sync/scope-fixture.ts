// A synced world whose versions allow row scopes by `customer`, and readers of its list and its changes under
// a row scope, written from the description of the tables alone.
import type { FieldMetadata } from '../../src/connectors/connector.ts';
import type { Ctx } from '../../src/core/ctx.ts';
import { fetchAndStoreMetadata } from '../../src/sync/connection.ts';
import { enterShownColumns } from '../../src/sync/index.ts';
import {
  type ConfigOptions,
  datedFields,
  field,
  memoryErp,
  noSignal,
  type SyncWorld,
  syncWorld,
} from './fixture.ts';

export const start = new Date('2026-05-01T08:00:00Z');
export const wait = ({ erp }: SyncWorld, minutes = 10): void => {
  erp.at = new Date((erp.at ?? start).getTime() + minutes * 60_000);
};

/** Enters a version that shows these columns. */
export const enter = (
  world: SyncWorld,
  version: string,
  scopable: readonly string[],
  shown: readonly string[] = [],
): Promise<void> =>
  enterShownColumns(world.tenant, {
    thing: {
      [version]: [
        ...scopable.map((column) => ({ column, scopable: true as const })),
        ...shown.map((column) => ({ column })),
      ],
    },
  });

export const scopedFields = [...datedFields, field('customer'), field('site')];

/** Records with these customers by id, synced, with row scopes by customer. */
export async function scopedWorld(
  ctx: Ctx,
  customers: Readonly<Record<string, string | null>>,
  options: ConfigOptions = {},
): Promise<SyncWorld> {
  const world = await syncWorld(ctx, memoryErp(scopedFields), { maxDeleteShare: 1, ...options });
  world.erp.at = start;
  world.erp.deleted = new Map();
  for (const [id, customer] of Object.entries(customers)) world.erp.put(id, { customer });
  wait(world);
  await world.sync();
  await enter(world, 'v1', ['f_customer'], ['f_name']);
  wait(world);
  return world;
}

/** What the ERP offers from now on. */
export async function setFields(world: SyncWorld, fields: readonly FieldMetadata[]): Promise<void> {
  world.erp.fields = [...fields];
  await fetchAndStoreMetadata(world.tenant, world.erp.connector, noSignal);
}

export type ScopeEntry = { generation: string; id: string; before: Record<string, unknown> };
export const entries = (world: SyncWorld): Promise<ScopeEntry[]> =>
  world.query<ScopeEntry>(
    `select generation, id, before from ${world.schema}.scope_changes order by generation, id`,
  );
export const withheldIds = async (world: SyncWorld): Promise<string[]> =>
  (await world.query<{ id: string }>(`select id from ${world.schema}.withheld_records order by id`)).map(
    ({ id }) => id,
  );
export const scopeState = async (world: SyncWorld) => {
  const [row] = await world.query<{
    generation: string;
    epoch: string;
    columns: Record<string, string>;
    pruned: string;
  }>(
    `select generation, epoch, scope_columns as columns, scope_pruned as pruned from ${world.schema}.record_state`,
  );
  if (row === undefined) throw new Error('nothing was synced');
  return row;
};

type Table = { readonly world: SyncWorld; readonly customers: readonly string[] };
const shownSql = async ({ world }: Table): Promise<string> =>
  `select t.id::text as id, t.generation from ${world.schema}.${(await world.state())?.activeTable} t where t.f_customer = any($1)
     and not exists (select from ${world.schema}.withheld_records w where w.record_type = 'thing' and w.id = t.id::text)`;

/** The ids of the list under the scope. */
export const scopedList = async (table: Table): Promise<string[]> =>
  (await table.world.query<{ id: string }>(`${await shownSql(table)} order by t.id`, [table.customers])).map(
    ({ id }) => id,
  );

export type ScopedChanges = {
  readonly upserts: readonly string[];
  readonly deletes: Readonly<Record<string, string>>;
};
/**
 * What the feed under the scope reports since a generation: upserted ids, and the generation of each deletion
 * by id.
 */
export async function scopedChanges(table: Table, since: string): Promise<ScopedChanges> {
  const { world, customers } = table;
  const shown = await shownSql(table);
  const upserts = await world.query<{ id: string }>(`${shown} and t.generation > $2 order by t.id`, [
    customers,
    since,
  ]);
  const deletes = await world.query<{ id: string; generation: string }>(
    `select c.id, max(c.generation)::text as generation from ${world.schema}.scope_changes c
     where c.record_type = 'thing' and c.generation > $2 and c.before ->> 'f_customer' = any($1) and c.id not in (select s.id from (${shown}) s)
     group by c.id`,
    [customers, since],
  );
  return {
    upserts: upserts.map(({ id }) => id),
    deletes: Object.fromEntries(deletes.map(({ id, generation }) => [id, generation])),
  };
}

export const readList = (world: SyncWorld, ...customers: string[]) => scopedList({ world, customers });
export const readChanges = (world: SyncWorld, since: string, ...customers: string[]) =>
  scopedChanges({ world, customers }, since);
export const sync = async (world: SyncWorld, mode: 'incremental' | 'full' = 'incremental') => {
  wait(world);
  return world.sync(mode);
};
/** The ERP has these values of a record that can't be stored. */
export function reject(world: SyncWorld, id: string, values?: Record<string, string | null>): void {
  world.erp.put(id, values ?? {});
  world.erp.rejects.set(id, {
    id,
    code: 'LINE_UNREADABLE',
    message: 'line 1',
    ...(values !== undefined && { values }),
  });
}
export function mend(world: SyncWorld, id: string, customer: string | null): void {
  world.erp.rejects.delete(id);
  world.erp.put(id, { customer });
}
