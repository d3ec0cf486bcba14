// Reads how the tables of a schema are built from the catalog, as statements that build them on another
// server. It knows what the service creates: tables with columns, defaults, constraints within a table, and
// indexes. It refuses anything else instead of losing it.
import type { ClientBase } from 'pg';
import { escapeIdentifier } from 'pg';

export type TableStructure = {
  readonly name: string;
  /** In the order of the table. */
  readonly columns: readonly string[];
  /** CREATE TABLE with all constraints. */
  readonly create: string;
  /** CREATE INDEX, one statement each: run them when the rows are there. */
  readonly indexes: readonly string[];
};

/** The schema holds something that this code can't build on another server; the message names it. */
export class UnknownStructure extends Error {
  override readonly name = 'UnknownStructure';
}

const readTables = `select c.relname as name, array_to_string(c.reloptions, ', ') as options,
  (select array_agg(a.attname::text order by a.attnum) from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as columns,
  (select array_agg(format('%I %s', a.attname, format_type(a.atttypid, a.atttypmod))
       || case when a.attcollation <> t.typcollation then ' collate ' || a.attcollation::regcollation else '' end
       || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '') || case when a.attnotnull then ' not null' else '' end order by a.attnum)
     from pg_attribute a join pg_type t on t.oid = a.atttypid left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
     where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as definitions,
  (select array_agg(format('constraint %I %s', k.conname, pg_get_constraintdef(k.oid)) order by k.contype desc, k.conname)
     from pg_constraint k where k.conrelid = c.oid and k.contype in ('p', 'u', 'c')) as constraints,
  -- An invalid index is one whose build failed; the service builds it again.
  (select array_agg(pg_get_indexdef(i.indexrelid) order by i.indexrelid) from pg_index i
     where i.indrelid = c.oid and i.indisvalid and not exists (select from pg_constraint k where k.conindid = i.indexrelid)) as indexes
  from pg_class c where c.relnamespace = to_regnamespace($1) and c.relkind = 'r' order by c.relname`;

const readUnknown = `select 'the relation ' || c.relname as what from pg_class c
    where c.relnamespace = to_regnamespace($1) and (c.relkind not in ('r', 'i') or c.relpersistence <> 'p')
  union all select format('the constraint %s of %s', k.conname, k.conrelid::regclass) from pg_constraint k
    where k.connamespace = to_regnamespace($1) and k.contype not in ('p', 'u', 'c', 'n')
  union all select format('the trigger %s of %s', g.tgname, g.tgrelid::regclass) from pg_trigger g join pg_class c on c.oid = g.tgrelid
    where c.relnamespace = to_regnamespace($1) and not g.tgisinternal
  union all select format('the column %s of %s', a.attname, a.attrelid::regclass) from pg_attribute a join pg_class c on c.oid = a.attrelid
    where c.relnamespace = to_regnamespace($1) and c.relkind = 'r' and (a.attidentity <> '' or a.attgenerated <> '')
  union all select 'the function ' || p.oid::regprocedure from pg_proc p where p.pronamespace = to_regnamespace($1)`;

type TableRow = {
  name: string;
  options: string | null;
  columns: string[] | null;
  definitions: string[] | null;
  constraints: string[] | null;
  indexes: string[] | null;
};

/** Tables of the schema, by name; none when it doesn't exist. Rejects with UnknownStructure for others. */
export async function readStructure(client: ClientBase, schema: string): Promise<TableStructure[]> {
  const { rows: unknown } = await client.query<{ what: string }>(readUnknown, [schema]);
  if (unknown.length > 0)
    throw new UnknownStructure(
      `${schema} holds ${unknown.map(({ what }) => what).join(', ')}, which can't be moved`,
    );
  const { rows } = await client.query<TableRow>(readTables, [schema]);
  return rows.map(({ name, options, columns, definitions, constraints, indexes }) => {
    const storage = options === null || options === '' ? '' : ` with (${options})`;
    const parts = [...(definitions ?? []), ...(constraints ?? [])].join(', ');
    return {
      name,
      columns: columns ?? [],
      create: `create table ${schema}.${escapeIdentifier(name)} (${parts})${storage}`,
      indexes: indexes ?? [],
    };
  });
}
