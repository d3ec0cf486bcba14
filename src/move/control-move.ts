// Moves schema public to another database in one announced pause. The order makes every interruption
// harmless: 1 the former database announces the pause · 2 each process of the service confirms that it has
// stopped to write · 3 locks there hold off stragglers until the end · 4 the copy is committed, unusable as
// yet · 5 the former database gives up writing for good: from here on the move counts · 6 the copy becomes
// usable. Before 5 the move can be repeated or cancelled, after it repeating does 6.
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientBase } from 'pg';
import { createId } from '../core/id.ts';
import { presenceClass } from '../db/presence.ts';
import { copyControlTables, lockControlTables, refuseWrites } from './control-tables.ts';
import { beginCopy } from './copy-table.ts';

/** The move can't be done as things are; the message, for the operator, says why and what to do. */
export class CannotMove extends Error {
  override readonly name = 'CannotMove';
}

export type Databases = {
  /** The former database, connected as portal_owner. */
  readonly source: ClientBase;
  /** The new one, connected as portal_owner. */
  readonly target: ClientBase;
  /** Their names without credentials. */
  readonly names: { readonly source: string; readonly target: string };
};

type Move = { id: string; other: string; isDone: boolean };

async function findMove(client: ClientBase, side: 'from' | 'to'): Promise<Move | undefined> {
  const { rows } = await client.query<Move>(
    'select id, other, moved_at is not null as "isDone" from control_moves where side = $1',
    [side],
  );
  return rows[0];
}

/** Rejects with CannotMove when the new database is used by anyone. */
async function assertEmpty({ target, names }: Databases): Promise<void> {
  const processes = await listProcesses(target);
  if (processes.length > 0)
    throw new CannotMove(`These processes use ${names.target}: ${processes.join(', ')}. Stop them first`);
  const { rows } = await target.query<{ used: boolean }>(
    'select exists (select from organizations) or exists (select from users) as used',
  );
  if (rows[0]?.used === true)
    throw new CannotMove(`${names.target} already has organizations or users: move to an empty database`);
}

/** An earlier move to the former database must be complete, or its records would be on a third server. */
async function assertNoneElsewhere({ source, names }: Databases): Promise<void> {
  const { rowCount } = await source.query('select from organizations_elsewhere()');
  if (rowCount !== 0)
    throw new CannotMove(
      `The records of ${rowCount} organizations of ${names.source} are still on another server: move them first`,
    );
}

/** Rejects what is no pair of this move. Returns the id of the move, of a new one if there is none yet. */
async function findOrCreateMove(databases: Databases) {
  const { source, target, names } = databases;
  const [left, arrived] = [await findMove(source, 'from'), await findMove(target, 'to')];
  if (left?.isDone === true && left.id !== arrived?.id)
    throw new CannotMove(`${names.source} was moved to another database than ${names.target}`);
  if (arrived?.isDone === true && left?.isDone !== true)
    throw new CannotMove(`${names.target} is in use and did not come from ${names.source}`);
  // Its copy may be complete: two databases must not both count.
  if (left?.isDone === false && left.other !== names.target)
    throw new CannotMove(
      `A move from ${names.source} to ${left.other} has begun: finish it, or end it with --cancel`,
    );
  if (left?.isDone !== true) await assertNoneElsewhere(databases);
  if (arrived === undefined) await assertEmpty(databases);
  return { id: left?.id ?? createId(), isLeft: left?.isDone === true, isDone: arrived?.isDone === true };
}

/** Processes that use the former database and have not confirmed the pause, by name; all without an id. */
async function listWriting(source: ClientBase, id: string | null): Promise<string[]> {
  const { rows } = await source.query<{ name: string }>(
    `select distinct replace(a.application_name, 'portal-service ', '') as name from pg_locks l join pg_stat_activity a using (pid)
     where l.locktype = 'advisory' and l.objsubid = 2 and l.granted and l.classid = ${presenceClass} and l.objid = 0
       and l.database = (select oid from pg_database where datname = current_database())
       and not exists (select from paused_processes p where p.move_id = $1
         and p.process = replace(a.application_name, 'portal-service ', '')) order by 1`,
    [id],
  );
  return rows.map(({ name }) => name);
}

/** Processes that still use the former database, by name: they would read there what is out of date. */
export const listProcesses = (source: ClientBase): Promise<string[]> => listWriting(source, null);

export type Pace = { readonly waitSeconds: number; readonly progress: (line: string) => void };

/** Rejects with CannotMove when a process still writes after `waitSeconds`; the pause goes on. */
async function waitForPause(source: ClientBase, id: string, { waitSeconds, progress }: Pace): Promise<void> {
  for (let waited = 0; ; waited += 1) {
    const writing = await listWriting(source, id);
    if (writing.length === 0) return;
    if (waited >= waitSeconds)
      throw new CannotMove(
        `These processes have not stopped to write: ${writing.join(', ')}. They run an earlier version, or hang: stop them and repeat the ` +
          'command. The pause goes on until then; --cancel ends it.',
      );
    if (waited % 10 === 0)
      progress(
        `waiting for ${writing.length === 1 ? 'a process' : `${writing.length} processes`} to stop writing`,
      );
    await sleep(1_000);
  }
}

async function announcePause({ source, names }: Databases, id: string): Promise<void> {
  await source.query(
    "insert into control_moves (id, side, other) values ($1, 'from', $2) on conflict do nothing",
    [id, names.target],
  );
  await source.query('notify control_move');
}

/** Steps 3 and 4: returns the number of rows, while `source` is in a transaction that holds its locks. */
async function copyAll({ source, target, names }: Databases, id: string): Promise<number> {
  await beginCopy(source);
  await lockControlTables(source);
  // A failover that no one noted would be unknown to the new server: mails and payments might repeat.
  await source.query('select note_server_timeline()');
  await beginCopy(target);
  const rows = await copyControlTables(source, target);
  // Of the server, not of its contents: the new one starts without a failover.
  await target.query(
    `insert into server_timelines (timeline) select server_timeline()
     where server_timeline() is distinct from (select t.timeline from server_timelines t order by t.id desc limit 1)`,
  );
  const { rows: schemas } = await source.query<{ id: string }>(
    `select substr(nspname, 4)::uuid as id from pg_namespace where nspname ~ '^wh_[0-9a-f]{32}$'`,
  );
  await target.query(`update organizations set warehouse = 'former' where id = any($1::uuid[])`, [
    schemas.map((schema) => schema.id),
  ]);
  await target.query("delete from control_moves where side = 'to'");
  await target.query("insert into control_moves (id, side, other) values ($1, 'to', $2)", [id, names.source]);
  await target.query('commit');
  return rows;
}

const rollback = (client: ClientBase): Promise<unknown> => client.query('rollback').catch(() => undefined);

/**
 * Returns the number of copied rows; undefined when schema public had been moved already. Repeat it after any
 * interruption. Rejects with CannotMove, and with the errors of both databases.
 */
export async function moveControl(databases: Databases, pace: Pace): Promise<number | undefined> {
  const { source, target } = databases;
  const { id, isLeft, isDone } = await findOrCreateMove(databases);
  if (isDone) return undefined;
  let rows: number | undefined;
  if (!isLeft) {
    await announcePause(databases, id);
    await waitForPause(source, id, pace);
    pace.progress('every process has stopped writing; copying the configuration');
    try {
      rows = await copyAll(databases, id);
      await refuseWrites(source);
      const { rowCount } = await source.query(
        'update control_moves set moved_at = clock_timestamp() where id = $1',
        [id],
      );
      if (rowCount !== 1) throw new CannotMove('The move was cancelled meanwhile');
      await source.query('commit');
    } catch (error) {
      await Promise.all([rollback(source), rollback(target)]);
      throw error;
    }
    await source.query('notify control_move');
  }
  await target.query('update control_moves set moved_at = clock_timestamp() where id = $1', [id]);
  return rows ?? 0;
}

/** Ends the pause of a move that doesn't count yet. Rejects with CannotMove when it does. */
export async function cancelControlMove({ source, names }: Pick<Databases, 'source' | 'names'>) {
  const { rows } = await source.query<{ id: string }>(
    "delete from control_moves where side = 'from' and moved_at is null returning id",
  );
  await source.query('notify control_move');
  if (rows.length > 0) return true;
  if ((await findMove(source, 'from')) !== undefined)
    throw new CannotMove(`${names.source} was moved already: that can't be cancelled`);
  return false;
}
