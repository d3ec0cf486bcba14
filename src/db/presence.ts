// Which processes use this database and which encryption keys they hold. Each process announces itself by
// advisory locks on its liveness connection, so that they disappear with the process and need no cleanup. A
// lock identifies a key by its fingerprint, never its bytes.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Knex } from 'knex';
import type { Client } from 'pg';
import type { Clock } from '../core/clock.ts';

export type Presence = {
  /** Tells an operator where the process runs, as `host:pid`. */
  readonly name: string;
  /** Of all keys that the process holds; see `Keyring`. */
  readonly keyFingerprints: readonly number[];
};

/** First half of the lock keys; the second half is a key's fingerprint, or 0 for the process itself. */
export const presenceClass = 0x6b657973;
/** A process that was suspended this long counts as gone until it queries again, as it does each second. */
const idleTimeout = '60s';
/** PostgreSQL truncates names to 63 bytes. */
const maxNameLength = 63 - 'portal-service '.length;
/** A process that has just ended remains visible for a moment. */
const maxWaitMs = 5_000;
const checkEveryMs = 250;

/** How others see the name of a process. */
export const shownName = (name: string): string => name.replaceAll(/[^\w.:-]/g, '_').slice(-maxNameLength);

/** Announces the process for as long as the connection lives. Rejects when a statement fails. */
export async function announcePresence(client: Client, { name, keyFingerprints }: Presence): Promise<void> {
  await client.query(
    "select set_config('application_name', $1, false), set_config('idle_session_timeout', $2, false)",
    [`portal-service ${shownName(name)}`, idleTimeout],
  );
  await client.query(
    'select pg_advisory_lock_shared($1, held.fingerprint) from unnest($2::integer[]) as held (fingerprint)',
    [presenceClass, [0, ...keyFingerprints]],
  );
}

/**
 * The names of the processes that hold none of the keys with these fingerprints. Versions of the service that
 * predate presence are not listed.
 */
export async function findProcessesWithoutKey(knex: Knex, ...fingerprints: readonly number[]) {
  const { rows } = await knex.raw<{ rows: { name: string }[] }>(
    `with held as (
       select pid, objid from pg_locks
       where locktype = 'advisory' and objsubid = 2 and granted and classid = ?
         and database = (select oid from pg_database where datname = current_database()))
     select replace(a.application_name, 'portal-service ', '') as name from held h join pg_stat_activity a using (pid)
     where h.objid = 0 and not exists (select from held k where k.pid = h.pid and k.objid = any(?::oid[])) order by 1`,
    // pg_locks shows both halves as unsigned numbers.
    [presenceClass, fingerprints.map((fingerprint) => fingerprint >>> 0)],
  );
  return rows.map(({ name }) => name);
}

/** As `findProcessesWithoutKey`, but waits up to five seconds until there are none. */
export async function waitForProcessesWithoutKey(
  knex: Knex,
  clock: Clock,
  ...fingerprints: readonly number[]
): Promise<string[]> {
  const end = clock.monotonicMs() + maxWaitMs;
  for (;;) {
    const lacking = await findProcessesWithoutKey(knex, ...fingerprints);
    if (lacking.length === 0 || clock.monotonicMs() > end) return lacking;
    await sleep(checkEveryMs);
  }
}
