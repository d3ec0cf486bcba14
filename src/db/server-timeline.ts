// The timelines of the control database, recorded in `server_timelines`:
// db/functions/note_server_timeline.sql says what a new one changes.
import type { Knex } from 'knex';
import type { Tx } from './transaction.ts';

/** A change of the database server that may have lost commits. */
export type Failover = {
  /**
   * The service is known to have worked until then, by a commit that was not lost; at most ten seconds before
   * the last such commit.
   */
  readonly usedUntil: Date;
  /** When the service first saw the new timeline. */
  readonly seenAt: Date;
};

/** Call it before anything leaves the service: what a lost commit may have sent is then `unknown`. */
export const recordServerTimeline = (tx: Tx): Promise<unknown> => tx.raw('select note_server_timeline()');

/** The last failover, after recording the current timeline; undefined when there was none. */
export async function findLastFailover(tx: Tx): Promise<Failover | undefined> {
  const { rows } = await tx.raw<{ rows: { used_until: Date; seen_at: Date }[] }>(
    'select * from last_failover()',
  );
  const [row] = rows;
  return row === undefined ? undefined : { usedUntil: row.used_until, seenAt: row.seen_at };
}

/**
 * After a restore: records it, and the timeline, which may be a new one, without a failover, since the
 * operator's command does itself what a failover needs. `owner` is connected as portal_owner.
 */
export const recordRestore = (owner: Knex): Promise<unknown> =>
  owner.raw('insert into server_timelines (timeline, restored) select server_timeline(), true');
