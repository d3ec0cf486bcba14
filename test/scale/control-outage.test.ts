// The database at DATABASE_URL is killed, frozen, cut off or refuses the login, while WAREHOUSE_URL, a
// standby of it here, responds: public reads go on with known keys for TRUST_DURING_OUTAGE_SECONDS, without
// it they get 503, and no answer of the database is overruled.
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import type { Service } from '../../src/service.ts';
import { freezeServer } from '../ops/machine.ts';
import { makeKey } from '../setup/organization.ts';
import { until } from '../setup/until.ts';
import { type MovingAddress, startMovingAddress } from './harness/proxy.ts';
import { type ReplicatedService, startReplicatedService } from './harness/replicated-service.ts';

let site: ReplicatedService;
let control: MovingAddress;
const started: Service[] = [];

beforeAll(async () => {
  site = await startReplicatedService({ replicas: 1, records: 60 });
  control = await startMovingAddress(site.servers.primary.connection);
});
afterEach(async () => {
  control.moveTo(site.servers.primary.connection);
  for (const service of started.splice(0)) await service.stop();
});
afterAll(async () => {
  await control.close();
  await site.close();
});

const urlAt = (port: number): string => {
  const url = new URL(site.replicaUrls[0] ?? '');
  url.port = String(port);
  return url.href;
};
/**
 * A process that reaches its control database through `control`, and records at that port, by default of the
 * standby.
 */
async function startTrusting(
  seconds: number,
  warehousePort = site.servers.standby.connection.port,
  more = {},
): Promise<Service> {
  const trust = { TRUST_DURING_OUTAGE_SECONDS: String(seconds), READ_WAIT_MS: '3000', SHUTDOWN_SECONDS: '1' };
  const addresses = { READ_URL: '', DATABASE_URL: urlAt(control.port), WAREHOUSE_URL: urlAt(warehousePort) };
  const service = await site.startProcess({ ...addresses, ...trust, ...more });
  started.push(service);
  return service;
}

const changeKey = (id: string, change: string) =>
  site.servers.primary.query(`update api_keys set ${change} where id = $1`, [id], 'portal');
/** `work` while the control database is killed; then it is started again. */
async function whileKilled(work: () => Promise<void>): Promise<void> {
  await site.servers.killPrimary();
  await work().finally(() => site.servers.primary.start());
}
const newKey = () => makeKey(site.service.ctx, site.fixture.organizationId, { permissions: ['write'] });
const get = (service: Service, path: string, secret = site.secret, headers: Record<string, string> = {}) =>
  fetch(`${service.localUrl}${path}`, {
    headers: { authorization: `Bearer ${secret}`, 'x-tenant-id': site.fixture.organizationId, ...headers },
  });
const list = '/api/public/v1/things';
const readStatus = async (service: Service, path: string, secret?: string): Promise<number> => {
  const response = await get(service, path, secret);
  await response.arrayBuffer();
  return response.status;
};
const readiness = async (service: Service) => {
  const response = await get(service, '/readyz');
  const { checks } = (await response.json()) as { checks: Record<string, string> };
  return { status: response.status, checks };
};
const paths = [list, `${list}?part=1&sort=name`, `${list}/7`, `${list}/changes`, '/api/public/openapi/v1'];
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Reads all the time until the returned function is called, which returns how many reads there were by their
 * status.
 */
function startReading(service: Service): () => Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  let isOver = false;
  const read = async (): Promise<void> => {
    while (!isOver) {
      for (const path of paths) {
        const status = await readStatus(service, path);
        counts[status] = (counts[status] ?? 0) + 1;
      }
      await pause(10);
    }
  };
  const reading = read();
  return async () => {
    isOver = true;
    await reading;
    return counts;
  };
}

/** Waits until the process has noticed that the database is gone, or is back. */
const untilNoticed = (service: Service, isUnreachable: boolean) =>
  until(async () => (service.ctx.db.controlAvailability.unreachableForMs() !== undefined) === isUnreachable);

describe('the control database is killed', () => {
  it('503 without TRUST_DURING_OUTAGE_SECONDS, once what was looked up is a second old', async () => {
    const service = await startTrusting(0);
    expect(await readStatus(service, list)).toBe(200);
    await whileKilled(async () => {
      await until(async () => (await readStatus(service, list)) === 503);
      expect((await readiness(service)).status).toBe(503);
    });
    await until(async () => (await readStatus(service, list)) === 200);
  });

  it('answers every read of a known key as before, with the same entity tags, and nothing else', async () => {
    const service = await startTrusting(60);
    const unused = await newKey();
    const before = await Promise.all(paths.map((path) => get(service, path)));
    expect(before.map(({ status }) => status)).toEqual(paths.map(() => 200));
    const stopReading = startReading(service);
    await whileKilled(async () => {
      await untilNoticed(service, true);
      await pause(2_500);
      const after = await Promise.all(paths.map((path) => get(service, path)));
      expect(after.map(({ status, headers }) => [status, headers.get('etag')])).toEqual(
        before.map(({ headers }) => [200, headers.get('etag')]),
      );
      const tag = before[0]?.headers.get('etag') ?? '';
      expect((await get(service, list, undefined, { 'if-none-match': tag })).status).toBe(304);
      const csv = await get(service, list, undefined, { accept: 'text/csv' });
      expect([csv.status, (await csv.text()).trimEnd().split('\n').length]).toEqual([
        200,
        site.countRecords(1) + 1,
      ]);
      expect(await readStatus(service, list, unused.secret)).toBe(503);
      expect(await readStatus(service, '/api/platform/v1/whoami')).toBe(503);
    });
    await until(async () => (await readStatus(service, '/api/platform/v1/whoami')) === 200);
    expect(Object.keys(await stopReading())).toEqual(['200']);
    await until(async () => (await readStatus(service, list, unused.secret)) === 200);
  });

  it('503 when the time is over', async () => {
    const service = await startTrusting(3);
    expect(await readStatus(service, list)).toBe(200);
    const lastMs = systemClock.monotonicMs();
    await whileKilled(async () => {
      expect(await readStatus(service, list)).toBe(200);
      await until(async () => (await readStatus(service, list)) === 503);
      expect(systemClock.monotonicMs() - lastMs).toBeGreaterThan(2_000);
    });
  });
});

describe('the control database is frozen', () => {
  it('answers all reads of known keys', async () => {
    const service = await startTrusting(60);
    expect(await readStatus(service, list)).toBe(200);
    const thaw = await freezeServer(await site.servers.primary.pid());
    const stopReading = startReading(service);
    try {
      await untilNoticed(service, true);
      await pause(500);
      expect(await readStatus(service, list)).toBe(200);
    } finally {
      thaw();
    }
    await untilNoticed(service, false);
    expect(Object.keys(await stopReading())).toEqual(['200']);
  });
});

describe('the control database is cut off from one process', () => {
  it('is ready while it trusts what it knows, and no longer', async () => {
    const service = await startTrusting(5, site.servers.primary.connection.port);
    expect(await readStatus(service, list)).toBe(200);
    expect((await readiness(service)).status).toBe(200);
    control.moveTo(null);
    await until(async () => {
      const { status, checks } = await readiness(service);
      return status === 200 && checks['database'] === "can't be reached; known API keys stay trusted";
    });
    expect(await readStatus(service, list)).toBe(200);
    await until(async () => (await readiness(service)).status === 503);
    control.moveTo(site.servers.primary.connection);
    await until(async () => (await readiness(service)).checks['database'] === 'ok');
  });

  it('trusts a key that is revoked meanwhile until the database responds again', async () => {
    const service = await startTrusting(60);
    const key = await newKey();
    expect(await readStatus(service, list, key.secret)).toBe(200);
    control.moveTo(null);
    await untilNoticed(service, true);
    await changeKey(key.id, 'revoked_at = now()');
    await pause(1_500);
    expect(await readStatus(service, list, key.secret)).toBe(200);
    control.moveTo(site.servers.primary.connection);
    await untilNoticed(service, false);
    await pause(1_000);
    expect(await readStatus(service, list, key.secret)).toBe(401);
  });

  it('trusts a known token until its expiry, and no token that was not used before', async () => {
    const service = await startTrusting(60);
    const { id, secret } = await newKey();
    const wanted = [15, 600, 600].map((expiresInSeconds) => ({ expiresInSeconds, scopes: {} }));
    const minted = await fetch(`${service.localUrl}/api/platform/v1/api-keys/${id}/tokens`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({ tokens: wanted }),
    });
    const { tokens } = (await minted.json()) as { tokens: { token: string }[] };
    const [ending, lasting, unused] = tokens.map(({ token }) => token);
    for (const token of [ending, lasting]) expect(await readStatus(service, list, token)).toBe(200);
    control.moveTo(null);
    await untilNoticed(service, true);
    await pause(1_500);
    for (const token of [ending, lasting]) expect(await readStatus(service, list, token)).toBe(200);
    expect(await readStatus(service, list, unused)).toBe(503);
    await until(async () => (await readStatus(service, list, ending)) === 401);
    expect(await readStatus(service, list, lasting)).toBe(200);
  });

  it('503 for a key that was revoked before: only the database can say that it is invalid', async () => {
    const service = await startTrusting(60);
    const key = await newKey();
    await changeKey(key.id, 'revoked_at = now()');
    expect(await readStatus(service, list, key.secret)).toBe(401);
    control.moveTo(null);
    await untilNoticed(service, true);
    expect(await readStatus(service, list, key.secret)).toBe(503);
  });

  it('401 for a key whose end passes meanwhile', async () => {
    const service = await startTrusting(60);
    const key = await newKey();
    await changeKey(key.id, "expires_at = now() + interval '3 seconds'");
    expect(await readStatus(service, list, key.secret)).toBe(200);
    control.moveTo(null);
    await untilNoticed(service, true);
    expect(await readStatus(service, list, key.secret)).toBe(200);
    await until(async () => (await readStatus(service, list, key.secret)) === 401);
  });

  it('503 at once during a move of the warehouse: where the records are can not be confirmed', async () => {
    const { port } = site.servers.standby.connection;
    const service = await startTrusting(60, port, { WAREHOUSE_FROM_URL: urlAt(port) });
    expect(await readStatus(service, list)).toBe(200);
    control.moveTo(null);
    await untilNoticed(service, true);
    await pause(1_100);
    expect(await readStatus(service, list)).toBe(503);
    expect((await readiness(service)).status).toBe(503);
  });

  it('is no outage when single connections are lost: a key that was revoked before stays invalid', async () => {
    const service = await startTrusting(60);
    const asAdmin = <Row extends object>(sql: string) => site.servers.primary.query<Row>(sql, [], 'portal');
    const changes: boolean[] = [];
    service.ctx.db.controlAvailability.watch((isUnreachable) => changes.push(isUnreachable));
    const key = await newKey();
    expect(await readStatus(service, list, key.secret)).toBe(200);
    await changeKey(key.id, 'revoked_at = now()');
    await pause(1_100);
    // Its lookup waits for a lock, and an administrator ends the waiting session.
    const blocker = new Client({ ...site.servers.primary.connection, database: 'portal' });
    await blocker.connect();
    await blocker.query('begin; lock table api_keys in access exclusive mode');
    const answer = readStatus(service, list, key.secret);
    await until(async () => {
      const ended = await asAdmin(
        "select pg_terminate_backend(pid) from pg_locks where not granted and relation = 'api_keys'::regclass",
      );
      return ended.length > 0;
    });
    expect(await answer).not.toBe(200);
    await blocker.end();
    // Those of the probes as well.
    await asAdmin("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'portal_login'");
    await pause(2_500);
    expect(changes).toEqual([]);
    expect(await readStatus(service, list, key.secret)).toBe(401);
  });

  it('is no outage when the database refuses the login', async () => {
    const service = await startTrusting(60);
    expect(await readStatus(service, list)).toBe(200);
    const asAdmin = (sql: string) => site.servers.primary.query(sql, [], 'portal');
    await asAdmin('alter role portal_login nologin');
    try {
      control.moveTo(site.servers.primary.connection);
      await untilNoticed(service, false);
      await until(async () => (await readStatus(service, list)) >= 500);
      await pause(1_500);
      expect(await readStatus(service, list)).toBeGreaterThanOrEqual(500);
    } finally {
      await asAdmin('alter role portal_login login');
    }
    await until(async () => (await readStatus(service, list)) === 200);
  });
});
