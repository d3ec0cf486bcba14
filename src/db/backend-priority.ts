// The embedded PostgreSQL shares the machine's processors with this process and has no priorities among its
// connections: four sorting exports get as much processor time as everything else. So the backends of exports
// get a lower priority from the operating system.
import { writeFile } from 'node:fs/promises';
import { getPriority, setPriority } from 'node:os';
import type { PoolClient } from 'pg';
import { backendPid } from './driver/pg-client.ts';

/** About a tenth of the normal scheduling weight; less would starve exports while list requests come in. */
const niceness = 10;

/**
 * Lowers the priority of a connection's backend permanently (only root could raise it again). Only for a
 * server on this machine: elsewhere the process id would belong to another process. Does nothing when the
 * system doesn't permit it.
 */
export function lowerBackendPriority(client: PoolClient): void {
  const pid = backendPid(client);
  if (pid === undefined) return;
  try {
    setPriority(pid, Math.max(niceness, getPriority(pid)));
  } catch {
    return;
  }
  // With autogroups Linux divides processor time among sessions first, and each PostgreSQL backend is a
  // session of its own.
  if (process.platform === 'linux')
    void writeFile(`/proc/${pid}/autogroup`, String(niceness)).catch(() => undefined);
}
