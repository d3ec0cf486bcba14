// Moves the tables of one organization to another server. While it runs, no one else writes them: the
// organization is `moving`, the service reads the former server without the right to write, and SHARE locks
// hold off any straggler until the right to write is revoked there. Interrupted anywhere it leaves a readable
// former schema, and either no copy or a complete one that the next attempt replaces.
import { type ClientBase, escapeIdentifier } from 'pg';
import { beginCopy, copyTable } from './copy-table.ts';
import { readStructure, type TableStructure } from './structure.ts';

export type Copied = { readonly tables: number; readonly rows: number };

/** Runs `work` in a transaction that `end` ends; a failure rolls back. */
async function within<T>(client: ClientBase, work: () => Promise<T>): Promise<T> {
  try {
    await beginCopy(client);
    const result = await work();
    await client.query('commit');
    return result;
  } catch (error) {
    // Fails when the connection is lost, which the error says.
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
}

const lockTables = (schema: string, tables: readonly TableStructure[]): string =>
  `lock table ${tables.map(({ name }) => `${schema}.${escapeIdentifier(name)}`).join(', ')} in share mode`;

/** Structure that is read before the locks may change until they are held. */
async function lockStructure(source: ClientBase, schema: string): Promise<TableStructure[]> {
  const found = await readStructure(source, schema);
  if (found.length > 0) await source.query(lockTables(schema, found));
  const locked = await readStructure(source, schema);
  if (JSON.stringify(found) !== JSON.stringify(locked))
    throw new Error(`The tables of ${schema} changed while they were being locked`);
  return locked;
}

/** Statements one by one: Citus refuses several in one string. */
async function build(target: ClientBase, statements: readonly string[]): Promise<void> {
  for (const statement of statements) await target.query(statement);
}

/**
 * Copies the schema from `source` to `target`, both connected as portal_service, and then revokes the right
 * to write it on `source`. A copy that an earlier attempt left is replaced. Rejects with the errors of both
 * servers, with CopyDiffers, with UnknownStructure, and with an Error when `source` has no such schema.
 */
export function copyOrganization(source: ClientBase, target: ClientBase, schema: string): Promise<Copied> {
  return within(source, async () => {
    await source.query("set local lock_timeout = '10s'");
    const tables = await lockStructure(source, schema);
    if (tables.length === 0) throw new Error(`${schema} has no tables on the former server`);
    await within(target, () => target.query(`drop schema if exists ${schema} cascade`));
    const rows = await within(target, () => buildCopy(source, target, schema, tables));
    await source.query(
      `revoke insert, update, delete, truncate on all tables in schema ${schema} from portal_service`,
    );
    return { tables: tables.length, rows };
  });
}

async function buildCopy(
  source: ClientBase,
  target: ClientBase,
  schema: string,
  tables: readonly TableStructure[],
): Promise<number> {
  // Ignored by plain PostgreSQL; on Citus it makes the schema a unit that is placed on one node.
  await build(target, [
    'set local citus.enable_schema_based_sharding to on',
    `create schema ${schema}`,
    ...tables.map(({ create }) => create),
  ]);
  let rows = 0;
  for (const table of tables) rows += await copyTable(source, target, { schema, ...table });
  await build(
    target,
    tables.flatMap(({ indexes }) => indexes),
  );
  for (const { name } of tables) await target.query(`analyze ${schema}.${escapeIdentifier(name)}`);
  return rows;
}
