// Copies the tables of schema public into another database of the same version, within one transaction there.
// No one writes them meanwhile.
import { type ClientBase, escapeIdentifier } from 'pg';
import { type CopiedTable, copyTable } from './copy-table.ts';

/** They describe the database itself. */
const ownTables = ['control_moves', 'paused_processes', 'function_release'];

type TableRow = { name: string; columns: string[]; forced: boolean };

/** What portal_owner owns in schema public, by name, without generated columns: the target computes them. */
async function listTables(client: ClientBase): Promise<TableRow[]> {
  const { rows } = await client.query<TableRow>(
    `select c.relname as name, c.relforcerowsecurity as forced,
       (select array_agg(a.attname::text order by a.attname) from pg_attribute a
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '') as columns
     from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and pg_get_userbyid(c.relowner) = 'portal_owner'
       and c.relname <> all ($1) order by c.relname`,
    [ownTables],
  );
  return rows;
}

/** Blocks writes to the tables until the transaction ends; reads go on. Rejects with 55P03 after 10 s. */
export async function lockControlTables(source: ClientBase): Promise<void> {
  const names = (await listTables(source)).map(({ name }) => escapeIdentifier(name));
  await source.query("set local lock_timeout = '10s'");
  await source.query(`lock table ${names.join(', ')} in exclusive mode`);
}

/** Takes the right to write from the roles of the service, for good. */
export async function refuseWrites(source: ClientBase): Promise<void> {
  const names = (await listTables(source)).map(({ name }) => escapeIdentifier(name));
  await source.query(
    `revoke insert, update, delete, truncate on ${names.join(', ')} from portal_owner, portal_service`,
  );
}

type ForeignKey = { table: string; name: string };

/** Checked at the end, so that tables can be filled in any order. */
async function deferForeignKeys(target: ClientBase): Promise<() => Promise<void>> {
  const { rows } = await target.query<ForeignKey>(
    `select conrelid::regclass::text as "table", quote_ident(conname) as name from pg_constraint
     where contype = 'f' and connamespace = 'public'::regnamespace and not condeferrable`,
  );
  const alter = async (to: string): Promise<void> => {
    for (const { table, name } of rows)
      await target.query(`alter table ${table} alter constraint ${name} ${to}`);
  };
  await alter('deferrable initially deferred');
  return async () => {
    await target.query('set constraints all immediate');
    await alter('not deferrable');
  };
}

/** COPY isn't possible into a table whose row-level security binds its owner as well. */
async function setForced(target: ClientBase, tables: readonly TableRow[], force: 'force' | 'no force') {
  for (const { name, forced } of tables)
    if (forced) await target.query(`alter table ${escapeIdentifier(name)} ${force} row level security`);
}

async function copySequences(source: ClientBase, target: ClientBase): Promise<void> {
  const { rows } = await source.query<{ name: string; last: string | null }>(
    `select format('%I.%I', schemaname, sequencename) as name, last_value as last from pg_sequences
     where schemaname = 'public' and sequenceowner = 'portal_owner'`,
  );
  for (const { name, last } of rows)
    if (last !== null) await target.query('select setval($1::regclass, $2)', [name, last]);
}

/**
 * Replaces the contents of the target's tables by those of the source. Both are connected as portal_owner, in
 * a transaction. Returns the number of rows. Rejects with CopyDiffers, and with an Error when the two
 * databases don't have the same tables.
 */
export async function copyControlTables(source: ClientBase, target: ClientBase): Promise<number> {
  const [tables, there] = [await listTables(source), await listTables(target)];
  if (JSON.stringify(tables) !== JSON.stringify(there))
    throw new Error('The two databases do not have the same tables in schema public');
  const names = tables.map(({ name }) => escapeIdentifier(name)).join(', ');
  const checkForeignKeys = await deferForeignKeys(target);
  await setForced(target, tables, 'no force');
  await target.query(`truncate ${names}`);
  let rows = 0;
  for (const { name, columns } of tables) {
    const table: CopiedTable = { schema: 'public', name, columns };
    rows += await copyTable(source, target, table);
  }
  await copySequences(source, target);
  await checkForeignKeys();
  await setForced(target, tables, 'force');
  return rows;
}
