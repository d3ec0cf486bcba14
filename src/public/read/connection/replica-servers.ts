// The replicas as the reads of one process use them: a queue and prepared statements for each, what it is
// known to lack, and how often it answered.

import type { Replica } from '../../../core/ctx.ts';
import { type Cache, createCache } from '../../../core/work/cache.ts';
import type { Semaphore } from '../../../core/work/semaphore.ts';
import type { StatementRunner } from './statements.ts';

/**
 * Why the primary was asked: the replica had another state, cancelled the read in favour of its replay, or
 * could not answer.
 */
export type FallbackReason = 'behind' | 'conflict' | 'failed';
export type ReplicaCounts = { answered: number } & Record<FallbackReason, number>;

export type ReplicaServer = {
  readonly replica: Replica;
  readonly queue: Semaphore;
  readonly statements: StatementRunner;
  readonly counts: ReplicaCounts;
  /**
   * The states that the replica did not have, with its position at that time: until it moves, it is not asked
   * again.
   */
  readonly lacking: Cache<bigint>;
};

/** What all reads of the process share about the replicas. */
export type ReplicaReads = {
  readonly servers: readonly ReplicaServer[];
  /** Reads that the primary answered. */
  answeredByPrimary: number;
  /** The replica that is asked first when all are equally busy. */
  turn: number;
};

/** Undefined without replicas. `statements` and `createQueue` are those of the primary. */
export function createReplicaReads(
  replicas: readonly Replica[],
  statements: StatementRunner,
  createQueue: () => Semaphore,
  maxBytes: number,
): ReplicaReads | undefined {
  if (replicas.length === 0) return undefined;
  const servers = replicas.map((replica): ReplicaServer => {
    const queue = createQueue();
    return {
      replica,
      queue,
      statements: statements.on(replica.data, queue),
      counts: { answered: 0, behind: 0, conflict: 0, failed: 0 },
      lacking: createCache<bigint>({ maxBytes, countBytes: () => 0 }),
    };
  });
  return { servers, answeredByPrimary: 0, turn: 0 };
}

/** The least busy replica that may have the state. */
export function chooseServer(reads: ReplicaReads, key: string): ReplicaServer | undefined {
  const { servers } = reads;
  reads.turn = (reads.turn + 1) % servers.length;
  let best: { readonly server: ReplicaServer; readonly load: number } | undefined;
  for (const server of [...servers.slice(reads.turn), ...servers.slice(0, reads.turn)]) {
    if (!server.replica.isInUse() || server.lacking.findAny(key) === server.replica.position()) continue;
    const { running, waiting } = server.queue.stats();
    if (best === undefined || running + waiting < best.load) best = { server, load: running + waiting };
  }
  return best?.server;
}
