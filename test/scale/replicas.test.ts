// Read replicas: whatever they lag behind and however they fail, callers get what the primary would answer.
// READS=1000000 reads more of every kind.
import { type IncomingMessage, request } from 'node:http';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fullAccess } from '../../src/core/record-access.ts';
import { getNewestRecordReader, type RecordReader } from '../../src/public/index.ts';
import { longReadKey } from '../../src/warehouse/table.ts';
import { freezeServer } from '../ops/machine.ts';
import { publishVersion } from '../public/fixture.ts';
import { makeKey } from '../setup/organization.ts';
import { until } from '../setup/until.ts';
import { memoryErp, syncFixture } from '../sync/fixture.ts';
import { openReaders, type Readers } from './harness/replica-readers.ts';
import { type ReplicatedService, startReplicatedService } from './harness/replicated-service.ts';
import type { Server } from './harness/servers.ts';

let site: ReplicatedService;
let readers: Readers;
let first: Server;
let second: Server;

beforeAll(async () => {
  site = await startReplicatedService({ replicas: 2 });
  [first, second] = site.servers.standbys as [Server, Server];
  // Shows everything a little later than the other.
  await second.query(`alter system set recovery_min_apply_delay = '150ms'`);
  await second.query('select pg_reload_conf()');
  readers = await openReaders(site);
  await bothInUse();
});
afterAll(async () => {
  await readers?.close();
  await site?.close();
});

const clients = 6;
const inUse = (replica: string) => site.metric('portal_replica_in_use', { replica });
const bothInUse = () => until(async () => (await inUse('1')) === 1 && (await inUse('2')) === 1);
const fallbacks = (reason: string, replica?: string) =>
  site.metric('portal_replica_fallbacks_total', { reason, ...(replica !== undefined && { replica }) });
const answered = (server: string) => site.metric('portal_reads_total', { server });
const ready = async () => {
  const answer = await fetch(`${site.service.localUrl}/readyz`);
  return {
    status: answer.status,
    checks: ((await answer.json()) as { checks: Record<string, string> }).checks,
  };
};
/** Until this many reads more. */
const more = (count: number) => {
  const end = readers.findings.reads + count;
  return () => readers.findings.reads >= end;
};
const expectCorrect = () =>
  expect(readers.findings).toMatchObject({ problems: [], wrong: 0, backward: 0, stale: 0, errors: 0 });

async function readDuring(work: () => Promise<unknown>): Promise<void> {
  let isOver = false;
  const reading = readers.run(clients, () => isOver);
  await work().finally(() => {
    isOver = true;
  });
  await reading;
}
const publishTimes = async (times: number) => {
  for (let time = 0; time < times; time += 1) await site.publish();
};

describe('reads of every kind while syncs publish', () => {
  it('show one state each, and none that is wrong, older than seen before, or stale, over replicas of different lag', async () => {
    const before = await Promise.all([answered('1'), answered('2'), answered('primary')]);
    const enough = more(Number(process.env['READS'] ?? 2_000));
    await Promise.all([
      readers.run(clients, enough),
      (async () => {
        while (!enough()) await site.publish();
      })(),
    ]);
    expectCorrect();
    expect(readers.findings.cut).toBe(0);
    expect(Object.keys(readers.findings.kinds)).toHaveLength(19);
    const [one = 0, two = 0, primary = 0] = (
      await Promise.all([answered('1'), answered('2'), answered('primary')])
    ).map((now, at) => now - (before[at] ?? 0));
    expect(Math.min(one, two)).toBeGreaterThan(100);
    expect(primary).toBeLessThan(one + two);
    expect(await fallbacks('behind')).toBeGreaterThan(0);
  });

  it('stay correct while one replica shows nothing new, which is then hardly asked', async () => {
    await site.servers.pauseReplay(first);
    await site.publish();
    const before = [await answered('1'), await fallbacks('behind', '1')];
    await Promise.all([readers.run(clients, more(1_500)), publishTimes(3)]);
    await until(async () => (await site.metric('portal_replica_lag_seconds', { replica: '1' })) > 0.5);
    expectCorrect();
    // One question for each kind of record and each generation; all the others go to the other servers.
    expect((await fallbacks('behind', '1')) - (before[1] ?? 0)).toBeLessThan(100);
    await site.servers.resumeReplay(first);
    await site.servers.caughtUp(first);
    const resumed = await answered('1');
    await readers.run(clients, more(300));
    expectCorrect();
    expect(await answered('1')).toBeGreaterThan(resumed);
  });
});

it('payments read invoices as the last sync published them, while no replica shows it', async () => {
  const { ctx } = site.service;
  const query = { recordType: 'thing', columns: [{ name: 'total', source: 'total' }], filters: [], sort: [] };
  const stateShown = async (records: RecordReader) => {
    const { records: text } = await records.list(
      site.fixture.tenant,
      query,
      { page: 1, pageSize: 1 },
      fullAccess,
    );
    return Number((JSON.parse(text) as { total: number }[])[0]?.total);
  };
  for (const standby of site.servers.standbys) await site.servers.pauseReplay(standby);
  await readDuring(async () => {
    for (let time = 0; time < 4; time += 1) {
      const before = await site.fixture.state();
      const publishing = site.publish();
      await until(async () => (await site.fixture.state())?.generation !== before?.generation);
      const shown = await stateShown(getNewestRecordReader(ctx));
      await publishing;
      expect(shown).toBe(site.published.at(-1)?.state);
    }
  });
  expectCorrect();
  for (const standby of site.servers.standbys) {
    await site.servers.resumeReplay(standby);
    await site.servers.caughtUp(standby);
  }
});

/** Waits for further reads, which then began after now. */
const readsGoOn = (count = 100) => {
  const enough = more(count);
  return until(async () => enough());
};

describe('a replica that fails', () => {
  it('is left out when it is killed, without an error for any caller, and is read again after it started', async () => {
    const before = [await fallbacks('failed', '1'), await answered('1')];
    await readDuring(async () => {
      await first.kill();
      await until(async () => (await inUse('1')) === 0);
      const failed = await fallbacks('failed', '1');
      // Every connection fails once.
      expect(failed - (before[0] ?? 0)).toBeLessThan(40);
      await site.publish();
      await readsGoOn();
      expect(await fallbacks('failed', '1')).toBe(failed);
      expect(await ready()).toMatchObject({
        status: 200,
        checks: { database: 'ok', replicas: '1 of 2 in use' },
      });
      await first.start();
      await bothInUse();
      await site.servers.caughtUp(first);
      await readsGoOn();
    });
    expectCorrect();
    expect(await ready()).toMatchObject({ status: 200, checks: { replicas: 'ok' } });
    expect(await answered('1')).toBeGreaterThan(before[1] ?? 0);
  });

  it.runIf(process.platform === 'linux')(
    'is left out when it freezes, with the reads that wait for it',
    async () => {
      await readDuring(async () => {
        const thaw = await freezeServer(await second.pid());
        try {
          await until(async () => (await inUse('2')) === 0);
          await site.publish();
          await readsGoOn();
        } finally {
          thaw();
        }
        await bothInUse();
        await site.publish();
      });
      expectCorrect();
    },
  );
});

describe('the replay of a replica', () => {
  const activeTable = async () => `${site.fixture.schema}."${(await site.fixture.state())?.activeTable}"`;
  const onPrimary = (sql: string) => site.servers.primary.query(sql, [], 'portal');

  it('may cancel reads, which the primary then answers', async () => {
    const table = await activeTable();
    await first.query(`alter system set max_standby_streaming_delay = 0`);
    await first.query('select pg_reload_conf()');
    // On a replica, reads take so long that one is always in progress.
    await onPrimary(
      `create policy slow on ${table} using (case when pg_is_in_recovery() then pg_sleep(0.001) is not null else true end)`,
    );
    await onPrimary(`alter table ${table} enable row level security, force row level security`);
    const before = await fallbacks('conflict', '1');
    await readDuring(() =>
      until(async () => {
        await onPrimary(`begin; lock table ${table} in access exclusive mode; commit`);
        return (await fallbacks('conflict', '1')) > before;
      }),
    );
    expectCorrect();
    await onPrimary(`drop policy slow on ${table}`);
    await onPrimary(`alter table ${table} disable row level security`);
  });

  it('may keep a table locked: it is then read from the primary', async () => {
    const table = await activeTable();
    const holder = new Client({ ...site.servers.primary.connection, database: 'portal' });
    await holder.connect();
    const before = await fallbacks('behind', '1');
    try {
      await holder.query(`begin; lock table ${table} in access exclusive mode; select pg_current_xact_id()`);
      const isLocked = async () =>
        (
          await first.query(
            `select from pg_locks where mode = 'AccessExclusiveLock' and relation = '${table}'::regclass`,
            [],
            'portal',
          )
        ).length > 0;
      await until(async () => await isLocked());
      await site.servers.pauseReplay(first);
      await holder.query('commit');
      await readers.run(clients, more(300));
      expectCorrect();
      expect(await fallbacks('behind', '1')).toBeGreaterThan(before);
    } finally {
      await holder.end();
      await site.servers.resumeReplay(first);
    }
    await site.servers.caughtUp(first);
  });
});

describe('an export from a replica', () => {
  it('keeps its table on the primary until a change of the table waits for it, and is cut off then', async () => {
    const { ctx, localUrl } = site.service;
    const erp = memoryErp();
    for (let id = 1; id <= 600; id += 1) erp.put(id, { name: 'x'.repeat(30_000) });
    const fixture = await syncFixture(ctx, erp);
    await fixture.sync();
    await publishVersion(ctx, fixture.organizationId, {
      endpoints: [{ name: 'things', recordType: 'thing', fields: [{ name: 'name', source: 'name' }] }],
    });
    const { secret } = await makeKey(ctx, fixture.organizationId);
    for (const replica of [first, second]) await site.servers.caughtUp(replica);
    const before = await Promise.all([answered('primary'), answered('1'), answered('2')]);
    const headers = {
      authorization: `Bearer ${secret}`,
      'x-tenant-id': fixture.organizationId,
      accept: 'application/x-ndjson',
    };
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      request(`${localUrl}/api/public/v1/things`, { headers }, resolve).once('error', reject).end();
    });
    expect(response.statusCode).toBe(200);
    const [primary = 0, ...replicas] = (
      await Promise.all([answered('primary'), answered('1'), answered('2')])
    ).map((now, at) => now - (before[at] ?? 0));
    expect([primary, replicas.toSorted()]).toEqual([0, [0, 1]]);
    const key = longReadKey(fixture.schema, (await fixture.state())?.activeTable ?? '');
    const tryLock = () =>
      site.servers.primary.query<{ free: boolean }>(
        'select pg_try_advisory_xact_lock(hashtextextended($1, 2)) as free',
        [key],
        'portal',
      );
    expect(await tryLock()).toEqual([{ free: false }]);
    const closed = new Promise((resolve) => response.on('error', () => undefined).once('close', resolve));
    await site.servers.primary.query(
      'select pg_advisory_xact_lock(hashtextextended($1, 2))',
      [key],
      'portal',
    );
    response.resume();
    await closed;
    expect(response.complete).toBe(false);
    expect(await tryLock()).toEqual([{ free: true }]);
  });
});

describe('a replica that shows what a lost primary published', () => {
  it('is not read, before and after the promoted server publishes', async () => {
    const other = await startReplicatedService({ replicas: 2, allHosts: true });
    const [promoted, ahead] = other.servers.standbys as [Server, Server];
    const reading = await openReaders(other);
    const readMore = async (): Promise<void> => {
      const end = reading.findings.reads + 200;
      await reading.run(clients, () => reading.findings.reads >= end);
      expect(reading.findings).toMatchObject({ problems: [], wrong: 0, backward: 0, stale: 0, errors: 0 });
    };
    try {
      await readMore();
      await other.servers.stopReceiving(promoted);
      await other.publish();
      await other.servers.caughtUp(ahead);
      await readMore();
      await other.servers.killPrimary();
      other.lose();
      await promoted.query('select pg_promote()');
      const list = `${other.service.localUrl}/api/public/v1/things?pageSize=1`;
      const headers = {
        authorization: `Bearer ${other.secret}`,
        'x-tenant-id': other.fixture.organizationId,
      };
      await until(async () => {
        const response = await fetch(list, { headers });
        const { data } = (await response.json()) as { data?: { total: number }[] };
        return data?.[0]?.total === 1;
      });
      await readMore();
      expect(
        await other.metric('portal_replica_fallbacks_total', { replica: '2', reason: 'behind' }),
      ).toBeGreaterThan(0);
      // What the former primary wrote is nothing that the promoted server lacks.
      await until(async () => (await other.metric('portal_replica_lag_seconds', { replica: '1' })) === 0);
      await other.publish();
      await readMore();
    } finally {
      await reading.close();
      await other.close();
    }
  });
});

describe('readiness', () => {
  it('fails when the address for writing is a replica', async () => {
    const other = await site.startProcess({ WAREHOUSE_URL: site.replicaUrls[0] ?? '', READ_URL: '' });
    try {
      const answer = await fetch(`${other.localUrl}/readyz`);
      expect(answer.status).toBe(503);
      expect(await answer.json()).toMatchObject({ checks: { database: 'ok', warehouse: 'is read-only' } });
    } finally {
      await other.stop();
    }
  });
});
