// Writes db/schema.sql, the whole database as the migrations and db/functions leave it, for people to read,
// and raises the release of db/functions when a function changed. Run it after each change of either: `npm
// run generate`. A test compares the file with a database.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Knex } from 'knex';
import { openKnex } from '../src/db/connect.ts';
import { startEmbedded } from '../src/db/embedded/embedded.ts';
import { readFunctions, readReleases } from '../src/db/functions.ts';
import { migrate } from '../src/db/migrate.ts';
import { createTenantSchema, tenantSchema } from '../src/warehouse/tenant-schema.ts';

const resolveFile = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
export const schemaFile = resolveFile('schema.sql');
const organizationId = '00000000-0000-0000-0000-000000000000';

type Line = { readonly line: string };
type Table = { readonly oid: number; readonly name: string; readonly comment: string | null };

/** PostgreSQL prints a cast behind each text constant; readers don't need it. */
const list = async (knex: Knex, sql: string, bindings: readonly Knex.RawBinding[]): Promise<string[]> =>
  (await knex.raw<{ rows: Line[] }>(sql, bindings)).rows.map(({ line }) =>
    line.replaceAll(/('(?:[^']|'')*')::text\b(?!\[)/g, '$1'),
  );

const columnsSql = `
  select format('%I %s', a.attname, format_type(a.atttypid, a.atttypmod))
    || case when a.attidentity <> '' then ' generated ' || case a.attidentity when 'a' then 'always' else 'by default' end || ' as identity' else '' end
    || case when a.attgenerated = 's' then ' generated always as (' || pg_get_expr(d.adbin, d.adrelid, true) || ') stored'
            when d.adbin is not null then ' default ' || pg_get_expr(d.adbin, d.adrelid, true) else '' end
    || case when a.attnotnull then ' not null' else '' end as line
  from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
  where a.attrelid = ?::oid and a.attnum > 0 and not a.attisdropped order by a.attnum`;
const constraintsSql = `
  select format('constraint %I %s', c.conname, pg_get_constraintdef(c.oid, true)) as line
  from pg_constraint c where c.conrelid = ?::oid and c.contype in ('p', 'u', 'x', 'c', 'f')
  order by position(c.contype::text in 'puxcf'), c.conname`;
const indexesSql = `
  select pg_get_indexdef(i.indexrelid, 0, true) || ';' as line
  from pg_index i join pg_class c on c.oid = i.indexrelid
  where i.indrelid = ?::oid and not exists (select from pg_constraint k where k.conindid = i.indexrelid and k.contype in ('p', 'u', 'x'))
  order by c.relname`;
const securitySql = `
  select format('alter table %I enable row level security;', relname) as line from pg_class where oid = ?::oid and relrowsecurity
  union all select format('alter table %I force row level security;', relname) from pg_class where oid = ?::oid and relforcerowsecurity`;
const policiesSql = `
  select format('create policy %I on %I for %s to %s', p.polname, c.relname,
      case p.polcmd when '*' then 'all' when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' else 'delete' end,
      coalesce((select string_agg(r.rolname, ', ' order by r.rolname) from pg_roles r where r.oid = any(p.polroles)), 'public'))
    || coalesce(' using (' || pg_get_expr(p.polqual, p.polrelid, true) || ')', '')
    || coalesce(' with check (' || pg_get_expr(p.polwithcheck, p.polrelid, true) || ')', '') || ';' as line
  from pg_policy p join pg_class c on c.oid = p.polrelid where p.polrelid = ?::oid order by p.polname`;
const triggersSql = `select pg_get_triggerdef(oid, true) || ';' as line from pg_trigger where tgrelid = ?::oid and not tgisinternal order by tgname`;
const grantsSql = `
  select format('grant %s on %I to %I;', string_agg(lower(a.privilege_type), ', ' order by a.privilege_type), c.relname, r.rolname) as line
  from pg_class c cross join lateral aclexplode(c.relacl) a join pg_roles r on r.oid = a.grantee
  where c.oid = ?::oid and r.rolname like 'portal\\_%' and r.oid <> c.relowner group by c.relname, r.rolname order by r.rolname`;
const columnGrantsSql = `
  select format('grant %s (%s) on %I to %I;', lower(g.privilege_type), g.columns, g.relname, g.rolname) as line
  from (
    select a.privilege_type, string_agg(t.attname, ', ' order by t.attnum) as columns, c.relname, r.rolname
    from pg_attribute t join pg_class c on c.oid = t.attrelid cross join lateral aclexplode(t.attacl) a join pg_roles r on r.oid = a.grantee
    where t.attrelid = ?::oid group by a.privilege_type, c.relname, r.rolname) g
  order by g.rolname, g.privilege_type`;

async function describeTable(knex: Knex, { oid, name, comment }: Table): Promise<string> {
  const of = (sql: string, bindings: readonly Knex.RawBinding[] = [oid]) => list(knex, sql, bindings);
  const parts = [...(await of(columnsSql)), ...(await of(constraintsSql))];
  const after = [
    ...(await of(indexesSql)),
    ...(await of(securitySql, [oid, oid])),
    ...(await of(policiesSql)),
    ...(await of(triggersSql)),
    ...(await of(grantsSql)),
    ...(await of(columnGrantsSql)),
  ];
  const heading = comment === null ? '' : `-- ${comment.replaceAll('\n', '\n-- ')}\n`;
  return `${heading}create table ${name} (\n  ${parts.join(',\n  ')}\n);\n${after.map((line) => `${line}\n`).join('')}`;
}

/**
 * The tables of a PostgreSQL schema with all that belongs to them, in the order of their names, as SQL text.
 */
export async function describeTables(knex: Knex, schema: string): Promise<string> {
  return knex.transaction(async (tx) => {
    // Names in this schema are printed without it.
    await tx.raw("select set_config('search_path', ?, true)", [schema]);
    const { rows } = await tx.raw<{ rows: Table[] }>(
      `select c.oid, quote_ident(c.relname) as name, obj_description(c.oid, 'pg_class') as comment
       from pg_class c where c.relnamespace = ?::regnamespace and c.relkind in ('r', 'p') and c.relname not like 'knex\\_%' order by c.relname`,
      [schema],
    );
    const texts: string[] = [];
    for (const table of rows) texts.push(await describeTable(tx, table));
    return texts.join('\n');
  });
}

async function describeFunctions(knex: Knex): Promise<string> {
  const lines = await list(
    knex,
    `select '-- ' || format('%s(%s) returns %s', p.proname, pg_get_function_identity_arguments(p.oid), t.typname)
       || case when p.prosecdef then '  [security definer]' else '' end as line
     from pg_proc p join pg_type t on t.oid = p.prorettype
     where p.pronamespace = 'public'::regnamespace and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
     order by p.proname`,
    [],
  );
  return `${lines.join('\n')}\n`;
}

const introduction = `-- The whole database as it is today, generated by \`npm run generate\`; don't edit it. Nothing runs this file: a database is made by the
-- migrations, in order, then by db/functions.
--
-- Roles: portal_owner owns everything here; portal_service is what the service connects as; portal_simulator is no longer used.
-- Extension: pg_trgm.
`;

/**
 * The text of db/schema.sql for a migrated database. `schema` is the PostgreSQL schema of any organization in
 * it.
 */
export async function describeDatabase(knex: Knex, schema: string): Promise<string> {
  const tenant = (await describeTables(knex, schema)).replaceAll(schema, 'wh_<organization>');
  return [
    introduction,
    '\n-- ===== Schema public: configuration =====\n\n',
    await describeTables(knex, 'public'),
    '\n-- ===== Functions: their definitions are in db/functions, one file each =====\n\n',
    await describeFunctions(knex),
    "\n-- ===== Schema wh_<organization id in hex>: one organization's records (src/warehouse/tenant-schema.ts) =====\n",
    '-- Each record type adds a table of its own, with a column for each synced field (src/warehouse/table.ts).\n\n',
    tenant,
  ].join('');
}

/** Creates an organization's schema for `describeDatabase`; returns its name. */
export async function createSampleTenant(knex: Knex): Promise<string> {
  await knex('organizations')
    .insert({ id: organizationId, slug: 'sample', name: 'Sample' })
    .onConflict()
    .ignore();
  await createTenantSchema(
    { db: { control: knex } } as Parameters<typeof createTenantSchema>[0],
    organizationId,
  );
  return tenantSchema(organizationId);
}

async function raiseRelease(): Promise<void> {
  const { sha256 } = await readFunctions();
  const releases = await readReleases();
  const latest = releases.at(-1);
  if (latest?.sha256 === sha256) return;
  releases.push({ release: (latest?.release ?? 0) + 1, sha256 });
  await writeFile(
    resolveFile('functions/releases.json'),
    `[\n${releases.map((each) => `  ${JSON.stringify(each)}`).join(',\n')}\n]\n`,
  );
}

async function writeSchema(): Promise<void> {
  await raiseRelease();
  const folder = await mkdtemp(path.join(tmpdir(), 'portal-schema-'));
  const server = await startEmbedded(path.join(folder, 'data'), { settings: { fsync: 'off' } });
  try {
    await migrate(server.connection);
    const knex = openKnex(server.connection, null, 1);
    try {
      await writeFile(schemaFile, await describeDatabase(knex, await createSampleTenant(knex)));
    } finally {
      await knex.destroy();
    }
  } finally {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

if (import.meta.main) await writeSchema();
