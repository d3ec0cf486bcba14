// The SQL functions as they are today: one file each in db/functions, applied after the migrations.
// Migrations that define a function show how it was at that time; they are history.
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import type { Knex } from 'knex';
import { inRoot } from '../core/root.ts';

const directory = inRoot('db/functions');

/** One entry of db/functions/releases.json: the number rises with each change of any function. */
export type FunctionRelease = { readonly release: number; readonly sha256: string };

/** Reads every definition, in the order of the names, as one text, and its SHA-256 in hex. */
export async function readFunctions(): Promise<{ readonly sql: string; readonly sha256: string }> {
  const names = (await readdir(directory)).filter((name) => name.endsWith('.sql')).sort();
  const texts = await Promise.all(names.map((name) => readFile(`${directory}/${name}`, 'utf8')));
  const sql = texts.join('\n');
  return { sql, sha256: createHash('sha256').update(sql).digest('hex') };
}

/** The releases so far, oldest first. */
export const readReleases = async (): Promise<FunctionRelease[]> =>
  JSON.parse(await readFile(`${directory}/releases.json`, 'utf8')) as FunctionRelease[];

/** The release of this code's functions. Throws when releases.json is empty. */
export async function currentRelease(): Promise<number> {
  const latest = (await readReleases()).at(-1);
  if (latest === undefined) throw new Error('db/functions/releases.json names no release');
  return latest.release;
}

/** The highest release that was ever applied to the database; 0 when none was. */
export async function appliedRelease(knex: Knex): Promise<number> {
  const { rows } = await knex.raw<{ rows: { present: boolean }[] }>(
    "select to_regclass('public.function_release') is not null as present",
  );
  if (rows[0]?.present !== true) return 0;
  const row = await knex('public.function_release').first<{ release: number } | undefined>('release');
  return row?.release ?? 0;
}

/** Only the service may call a function that runs with its owner's rights. */
const restrictDefiners = `do $$
declare f regprocedure;
begin
  for f in select p.oid from pg_proc p where p.pronamespace = 'public'::regnamespace and p.prosecdef loop
    execute format('revoke all on function %s from public', f);
    execute format('grant execute on function %s to portal_service', f);
  end loop;
end $$`;

/**
 * Applies this code's functions when their release is higher than any that was applied before, and records
 * it; otherwise changes nothing. Call it in a transaction that holds the migration lock. Returns whether they
 * were applied.
 */
export async function applyFunctions(tx: Knex.Transaction): Promise<boolean> {
  const release = await currentRelease();
  if ((await appliedRelease(tx)) >= release) return false;
  const { sql } = await readFunctions();
  await tx.raw('set local role portal_owner');
  // A function may be created before one that it calls.
  await tx.raw('set local check_function_bodies = off');
  // As one string: a `?` in a function is no binding.
  await tx.raw(sql.replaceAll('?', '\\?'));
  await tx.raw(restrictDefiners);
  await tx('public.function_release').update({ release, applied_at: tx.raw('clock_timestamp()') });
  await tx.raw('reset role');
  return true;
}
