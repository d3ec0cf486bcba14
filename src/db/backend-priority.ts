// A PostgreSQL of our own shares the machine's processors with this process, and has no priorities among its connections: four exports
// that sort take as many turns as all the rest. The operating system has them, so there the backends of exports step back.
import { writeFile } from 'node:fs/promises';
import { getPriority, setPriority } from 'node:os';
import type { PoolClient } from 'pg';

/** Of the usual weight a tenth: less would leave exports nothing at all beside lists that never end. */
const niceness = 10;

/**
 * Lowers the priority of a connection's backend, for good: only the superuser of a machine could raise it again. Only for a server on
 * this machine: the number of its process would mean another one elsewhere. Where the system refuses, all stays as it is.
 */
export function standBack(client: PoolClient): void {
  const { processID } = client as PoolClient & { readonly processID?: number };
  if (processID === undefined) return;
  try {
    setPriority(processID, Math.max(niceness, getPriority(processID)));
  } catch {
    return;
  }
  // Linux may share the processors among sessions first, and PostgreSQL makes each backend one of its own.
  if (process.platform === 'linux') void writeFile(`/proc/${processID}/autogroup`, String(niceness)).catch(() => undefined);
}
