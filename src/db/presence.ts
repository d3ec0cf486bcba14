// Which processes live beside this one, and which encryption keys they hold. Each says so by advisory locks on a connection that it keeps
// anyway: they go with it, whatever becomes of the process, and nobody has to tidy up. A lock names a key by its mark, never its bytes.
import type { Knex } from 'knex';
import type { Client } from 'pg';

export type Presence = {
  /** Where an operator finds it, such as `host:pid`. */
  readonly name: string;
  /** Of the keys it holds: see `Keyring`. */
  readonly marks: readonly number[];
};

/** The first half of the locks' keys; the second is a key's mark, or 0 for the process itself. */
const lockClass = 0x6b657973;
/** A process that stood still for so long counts as gone, until it asks again: usually it asks each second. */
const goneAfter = '60s';
/** PostgreSQL keeps 63 bytes of a name. */
const longestName = 63 - 'portal-service '.length;

/** Shows the process for as long as the connection lasts. */
export async function showPresence(client: Client, { name, marks }: Presence): Promise<void> {
  const shown = name.replaceAll(/[^\w.:-]/g, '_').slice(-longestName);
  await client.query("select set_config('application_name', $1, false), set_config('idle_session_timeout', $2, false)", [
    `portal-service ${shown}`,
    goneAfter,
  ]);
  await client.query('select pg_advisory_lock_shared($1, held.mark) from unnest($2::integer[]) as held (mark)', [lockClass, [0, ...marks]]);
}

/** The names of the processes on this database that don't hold the key of this mark. Those of a version before this one are not seen. */
export async function findWithoutKey(knex: Knex, mark: number): Promise<string[]> {
  const { rows } = await knex.raw<{ rows: { name: string }[] }>(
    `with held as (
       select pid, objid from pg_locks
       where locktype = 'advisory' and objsubid = 2 and granted and classid = ?
         and database = (select oid from pg_database where datname = current_database()))
     select replace(a.application_name, 'portal-service ', '') as name from held h join pg_stat_activity a using (pid)
     where h.objid = 0 and not exists (select from held k where k.pid = h.pid and k.objid = ?) order by 1`,
    // The server keeps both halves without a sign.
    [lockClass, mark >>> 0],
  );
  return rows.map(({ name }) => name);
}
