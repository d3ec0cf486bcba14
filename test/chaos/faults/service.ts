// Troubles of the service's own database: another session locks the rows of a run, so that one of its
// statements is cancelled by a timeout, or waits in a circle with it. PostgreSQL itself ends the statement;
// the transaction is rolled back.
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { poolConfig } from '../../../src/db/connect.ts';
import { patiently } from '../company.ts';
import type { RecordTypeName, StateFault } from '../plan-names.ts';
import type { Random } from '../random.ts';
import { type Ending, type FaultDefinition, type FaultStage, noEnding } from './fault.ts';

type Blocked = { readonly pid: number; readonly query: string };
/** What the session locks first, whom it waits for, and how it ends that session's statement. */
type Collision = {
  readonly lock: string;
  isVictim(blocked: Blocked): boolean;
  strike(holder: Client, watcher: Client, blocked: Blocked): Promise<unknown>;
};

const pollMs = 4;
/**
 * Then it is released for a moment: the row of a run that began meanwhile is locked only by the next attempt.
 */
const maxHoldMs = 40;
const lockTimeoutMs = 60;

async function connect({ fixture }: FaultStage): Promise<Client> {
  const client = new Client(poolConfig(fixture.address, null));
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

async function activeTable(
  { fixture, company }: FaultStage,
  recordType: RecordTypeName,
): Promise<string | undefined> {
  const { rows } = await fixture.ctx.db.data.query<{ table: string | null }>(
    `select active_table as "table" from ${company.schema}.record_state where record_type = $1`,
    [recordType],
  );
  return rows[0]?.table ?? undefined;
}

async function blockedBy(watcher: Client, holder: number): Promise<Blocked[]> {
  const { rows } = await watcher.query<Blocked>(
    'select pid, query from pg_stat_activity where $1 = any(pg_blocking_pids(pid))',
    [holder],
  );
  return rows;
}

async function readBackendPid(client: Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return rows[0]?.pid ?? 0;
}

/** Waits until the session no longer waits for the holder. */
async function untilFree(holder: Client, watcher: Client, pid: number): Promise<void> {
  const holderPid = await readBackendPid(holder);
  while ((await blockedBy(watcher, holderPid)).some((blocked) => blocked.pid === pid)) await pause(pollMs);
}

/**
 * Holds the lock until a victim waits for it, or another session, which must not wait; returns whether the
 * victim came.
 */
async function collide(
  holder: Client,
  watcher: Client,
  collision: Collision,
  isDone: () => boolean,
): Promise<boolean> {
  const pid = await readBackendPid(holder);
  await holder.query(`begin; set local lock_timeout = 0; ${collision.lock}`);
  try {
    for (const end = performance.now() + maxHoldMs; !isDone() && performance.now() < end; ) {
      const [blocked] = await blockedBy(watcher, pid);
      if (blocked !== undefined && !collision.isVictim(blocked)) return false;
      if (blocked !== undefined) {
        await collision.strike(holder, watcher, blocked);
        return true;
      }
      await pause(pollMs);
    }
    return false;
  } finally {
    await holder.query('rollback');
  }
}

/** Collides `times` times, in the background, until it is ended. */
async function startColliding(
  stage: FaultStage,
  collision: Collision,
  times: number,
  hit: () => void,
): Promise<Ending> {
  const [holder, watcher] = [await connect(stage), await connect(stage)];
  let left = times;
  let ended = false;
  const loop = (async () => {
    while (!ended && left > 0) {
      if (!(await collide(holder, watcher, collision, () => ended))) {
        await pause(pollMs);
        continue;
      }
      left -= 1;
      hit();
    }
  })()
    // The service's PostgreSQL was stopped meanwhile: the locks are gone.
    .catch((error: Error) => stage.report.note(`colliding ended: ${error.message}`))
    .finally(() => Promise.all([holder.end(), watcher.end()]).catch(() => undefined));
  return async () => {
    ended = true;
    await loop;
  };
}

const rowLock = (schema: string, recordType: RecordTypeName): string =>
  `select from ${schema}.record_state where record_type = '${recordType}' for update`;
const runLock = (schema: string, recordType: RecordTypeName): string =>
  `select from ${schema}.run_state where record_type = '${recordType}' for update`;

/** Locks what a publication locks second, and then what it has locked first. */
const deadlock: FaultDefinition = {
  async begin(stage, recordType, random, hit) {
    const table = await patiently(() => activeTable(stage, recordType));
    if (table === undefined) return noEnding;
    const { schema } = stage.company;
    const isOfRun = random.chance(0.5);
    const collision: Collision = {
      lock: isOfRun ? runLock(schema, recordType) : `select from ${schema}."${table}" for update`,
      isVictim: ({ query }) => !isOfRun || /run_state.*for update/s.test(query),
      strike: (holder) => holder.query(rowLock(schema, recordType)).catch(() => undefined),
    };
    return startColliding(stage, collision, random.between(1, 2), hit);
  },
};

/** A page that is staged, or a publication, waits for the lock. */
const pickLock = (random: Random, schema: string, recordType: RecordTypeName): string =>
  random.pick([runLock, rowLock])(schema, recordType);

const statementTimeout: FaultDefinition = {
  async begin(stage, recordType, random, hit) {
    if ((await patiently(() => activeTable(stage, recordType))) === undefined) return noEnding;
    const collision: Collision = {
      lock: pickLock(random, stage.company.schema, recordType),
      isVictim: () => true,
      strike: (_holder, watcher, { pid }) => watcher.query('select pg_cancel_backend($1)', [pid]),
    };
    return startColliding(stage, collision, random.between(1, 3), hit);
  },
};

const setLockTimeout = (stage: FaultStage, isOn: boolean): Promise<void> =>
  patiently(async () => {
    const admin = await connect(stage);
    try {
      await admin.query(
        isOn ? `alter system set lock_timeout = '${lockTimeoutMs}ms'` : 'alter system reset lock_timeout',
      );
      await admin.query('select pg_reload_conf()');
    } finally {
      await admin.end();
    }
  });

/** Every session of the service waits for locks for a short time only. */
const lockTimeout: FaultDefinition = {
  async begin(stage, recordType, random, hit) {
    if ((await patiently(() => activeTable(stage, recordType))) === undefined) return noEnding;
    const collision: Collision = {
      lock: pickLock(random, stage.company.schema, recordType),
      isVictim: () => true,
      strike: (holder, watcher, { pid }) => untilFree(holder, watcher, pid),
    };
    await setLockTimeout(stage, true);
    const end = await startColliding(stage, collision, random.between(1, 3), hit);
    return async () => {
      await end();
      await setLockTimeout(stage, false);
    };
  },
};

export const serviceFaults = {
  deadlock,
  'statement-timeout': statementTimeout,
  'lock-timeout': lockTimeout,
} as const satisfies Partial<Record<StateFault, FaultDefinition>>;
