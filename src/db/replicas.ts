// The read replicas of READ_URL: the connection pools of each, whether it responds, and how far it is behind
// the primary. public/read/replicas.ts decides whether an answer may be used.
import type { Client, Pool } from 'pg';
import type { Clock } from '../core/clock.ts';
import type { Replica } from '../core/ctx.ts';
import type { Log } from '../core/log.ts';
import { startRecurring } from '../core/work/recurring.ts';
import { type DatabaseAddress, locate, openReadPools, poolConfig } from './connect.ts';
import { monitorDatabaseLiveness } from './liveness.ts';
import { isPooled } from './routed-client.ts';
import { readLoginPowers, tooPowerful } from './service-login.ts';
import { assertSession } from './session.ts';
import { UnusableDatabase } from './unusable-database.ts';

const probeEveryMs = 100;
/** Two seconds: a replica may be far away, and opening a connection takes many round trips. */
const maxChecksToConnect = 20;
/** Without a response for this long a replica is left out. */
const maxSilenceMs = 1_000;
const sampleEveryMs = 1_000;
/** An hour. */
const maxSamples = 3_600;
/** While replay waits between taking and releasing a table's exclusive lock, no read of it can start. */
const lockTimeoutMs = 250;
/** A replica that fails again and again is reported at most once in this time. */
const quietMs = 60_000;

type PositionRow = { position: string };
/** Bytes of the write-ahead log: those that a standby has replayed, or a primary has written. */
const readPosition = `select pg_wal_lsn_diff(case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end, '0/0')::text
  as position`;
const parsePosition = ([row]: readonly PositionRow[]): bigint => BigInt(row?.position ?? '0');

type Samples = {
  take(): Promise<void>;
  /** Milliseconds since the primary was where this position is; 0 when it is still there. */
  lagMs(position: bigint): number;
};

/** Where the primary was when: what a replica lacks is as old as the first sample beyond its position. */
function createSamples(primary: Pick<Pool, 'query'>, clock: Pick<Clock, 'monotonicMs'>): Samples {
  const samples: { readonly atMs: number; readonly position: bigint }[] = [];
  return {
    take: async () => {
      const atMs = clock.monotonicMs();
      const position = parsePosition((await primary.query<PositionRow>(readPosition)).rows);
      // After a failover that lost something, the new primary is behind the former one.
      while ((samples.at(-1)?.position ?? 0n) > position) samples.pop();
      if (samples.at(-1)?.position === position) return;
      samples.push({ atMs, position });
      if (samples.length > maxSamples) samples.shift();
    },
    lagMs: (position) => {
      const lacking = samples.find((sample) => sample.position > position);
      return lacking === undefined ? 0 : clock.monotonicMs() - lacking.atMs;
    },
  };
}

type IdentityRow = { server: string; database: string };
/** Equal on a primary and its standbys, and on no other server. */
const readIdentity =
  'select system_identifier::text as server, current_database() as database from pg_control_system()';

/**
 * Rejects with UnusableDatabase for a server or database other than the primary's, and while the primary
 * can't be asked which it is.
 */
type AssertStandby = (client: Client) => Promise<void>;

function createStandbyCheck(primary: Pick<Pool, 'query'>): AssertStandby {
  let known: IdentityRow | undefined;
  const isKnown = (row: IdentityRow | undefined): boolean =>
    row !== undefined && row.server === known?.server && row.database === known.database;
  return async (client) => {
    const [found] = (await client.query<IdentityRow>(readIdentity)).rows;
    if (isKnown(found)) return;
    [known] = (await primary.query<IdentityRow>(readIdentity)).rows;
    if (isKnown(found)) return;
    const shown = ({ server = '', database = '' }: Partial<IdentityRow> = {}) =>
      `database ${database} of the server ${server}`;
    throw new UnusableDatabase(
      `READ_URL names the ${shown(found)}, and the records are in the ${shown(known)} (system identifiers): name hot standbys of that server, ` +
        'and the same database. See docs/scaling.md#read-replicas.',
    );
  };
}

type Parts = {
  readonly sizes: { readonly data: number; readonly exports: number };
  readonly readTimeoutMs: number;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly log: Pick<Log, 'warn'>;
};

/** Whether the replica responds, by probes on a connection of its own. Logs each change. */
function createUse(name: string, { clock, log }: Parts) {
  let respondedAtMs = Number.NEGATIVE_INFINITY;
  let reportedAtMs = Number.NEGATIVE_INFINITY;
  let isReported = false;
  return {
    isInUse: (): boolean => clock.monotonicMs() - respondedAtMs < maxSilenceMs,
    responded: () => {
      respondedAtMs = clock.monotonicMs();
      if (isReported) log.warn({ replica: name }, 'a read replica is in use again');
      isReported = false;
    },
    leaveOut: (err: unknown) => {
      respondedAtMs = Number.NEGATIVE_INFINITY;
      if (isReported || clock.monotonicMs() - reportedAtMs < quietMs) return;
      log.warn({ replica: name, err }, 'a read replica is left out until it responds');
      [isReported, reportedAtMs] = [true, clock.monotonicMs()];
    },
  };
}

/** Logs once what the login may do beyond portal_service. */
function createPowersWarning(name: string, { log }: Parts): (client: Client) => Promise<void> {
  let isReported = false;
  return async (client) => {
    const found = await readLoginPowers(client);
    if (isReported || found.powers.length === 0) return;
    isReported = true;
    log.warn({ replica: name, ...found }, tooPowerful('READ_URL'));
  };
}

type FromPrimary = { readonly samples: Samples; readonly assertStandby: AssertStandby };

function openReplica(
  given: DatabaseAddress,
  name: string,
  { samples, assertStandby }: FromPrimary,
  parts: Parts,
): Replica & { close(): Promise<void> } {
  const { isInUse, responded, leaveOut } = createUse(name, parts);
  let position = 0n;
  const ask = async (client: Client): Promise<void> => {
    position = parsePosition((await client.query<PositionRow>(readPosition)).rows);
    responded();
  };
  // Through a pooler, reads have the limits of the login as well.
  const limits = { statement_timeout: parts.readTimeoutMs, lock_timeout: lockTimeoutMs };
  const warnOfPowers = createPowersWarning(name, parts);
  const assertUsable = async (client: Client): Promise<void> => {
    await assertSession(client, 'portal_service', isPooled(client) ? limits : {});
    await assertStandby(client);
    await warnOfPowers(client);
  };
  const address = locate(given);
  const config = poolConfig(address, 'portal_service');
  const probing = { ask, onFailure: leaveOut, maxChecksToConnect };
  const liveness = monitorDatabaseLiveness(config, parts.log, probeEveryMs, assertUsable, probing);
  const onReplica = { stream: liveness.openSocket, lock_timeout: lockTimeoutMs };
  const { data, exports } = openReadPools(address, parts.sizes, parts.readTimeoutMs, onReplica);
  void liveness.check();
  return {
    name,
    data,
    exports,
    isInUse,
    leaveOut,
    position: () => position,
    lagSeconds: () => (isInUse() ? samples.lagMs(position) / 1_000 : undefined),
    close: async () => {
      await Promise.all([data.end(), exports.end()]);
      await liveness.close();
    },
  };
}

export type OpenReplicas = { readonly all: readonly Replica[]; close(): Promise<void> };

/**
 * Opens the pools of each replica; connects on first use, apart from the probes. `primary` is asked once a
 * second how far it is.
 */
export function openReplicas(
  addresses: readonly DatabaseAddress[],
  primary: Pick<Pool, 'query'>,
  parts: Parts,
): OpenReplicas {
  if (addresses.length === 0) return { all: [], close: async () => undefined };
  const samples = createSamples(primary, parts.clock);
  const fromPrimary = { samples, assertStandby: createStandbyCheck(primary) };
  const all = addresses.map((address, index) => openReplica(address, String(index + 1), fromPrimary, parts));
  const sampling = startRecurring(sampleEveryMs, samples.take, () => undefined);
  return {
    all,
    close: async () => {
      await sampling.stop();
      await Promise.all(all.map(({ close }) => close()));
    },
  };
}
