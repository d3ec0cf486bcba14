// Stops the cluster's server, never while another process is attached to it.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { type Attached, classifyConnectError, connect, GATE, LEAVING } from './attach.ts';
import type { Cluster } from './cluster.ts';
import { runProgram, withView } from './run-program.ts';
import { isStopping, lockedBy, RECOVERY_MS } from './start-server.ts';

/** Returns whether it stopped the server. Rejects when the server doesn't stop within two minutes. */
export async function stopServer(cluster: Cluster, presence: Attached): Promise<boolean> {
  presence.socket.ref();
  await presence.client.end().catch(() => {});
  const leaving = await connect(cluster, LEAVING);
  if (typeof leaving === 'string') return false;
  try {
    // First without the lock, so that attaching processes don't have to wait for this check.
    if (await remainsUsed(leaving.client)) return false;
    await leaving.client.query('select pg_advisory_lock($1)', [GATE]);
    if (await isUsed(leaving.client)) return false;
    const { programs, folder } = cluster;
    // Another process stops it: the lock came free because the server ended the backend that held it.
    if (await isStopping(folder)) return false;
    const pid = await lockedBy(folder);
    await withView(folder, programs.account, (view, inherited) =>
      runProgram(programs.pg_ctl, ['stop', '-D', view, '-m', 'fast', '-W'], programs.account, inherited),
    );
    // pg_ctl's own waiting would mistake a server that another process starts right away for the old one.
    for (let waitedMs = 0; (await lockedBy(folder)) === pid; waitedMs += 25) {
      if (waitedMs > RECOVERY_MS)
        throw new Error(`PostgreSQL did not stop within ${RECOVERY_MS / 1000} s. See ${cluster.logFile}.`);
      await sleep(25);
    }
    return true;
  } catch (error) {
    // Another process may have stopped it in the meantime; any other error is thrown again.
    classifyConnectError(error);
    return false;
  } finally {
    await leaving.client.end().catch(() => {});
  }
}

async function isUsed(client: Client): Promise<boolean> {
  const { rowCount } = await client.query(
    `select from pg_stat_activity where backend_type in ('client backend', 'walsender')
    and pid <> pg_backend_pid() and application_name <> $1`,
    [LEAVING],
  );
  return rowCount !== 0;
}

/** Checks for up to a second: the backends of connections that were just closed take a moment to end. */
async function remainsUsed(client: Client): Promise<boolean> {
  for (let attempt = 0; attempt < 40; attempt += 1) {
    if (!(await isUsed(client))) return false;
    await sleep(25);
  }
  return true;
}
