// What happens to pending domains without anyone asking. The moments come by changing what the rows say of them.
import type { Express } from 'express';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createApp } from '../../../src/app.ts';
import type { QueueWork } from '../../../src/db/queue-work.ts';
import { inTransaction } from '../../../src/db/transaction.ts';
import { startDomainChecks } from '../../../src/platform/domains/recheck.ts';
import { type Api, apiOf } from '../../setup/api.ts';
import { type TestDatabase, testDatabase } from '../../setup/database.ts';
import { type DnsServer, startDns } from '../../setup/dns.ts';
import { makeKey, makeOrganization } from '../../setup/organization.ts';

let dns: DnsServer;
let database: TestDatabase;
let app: Express;
let organizationId: string;
let api: Api;
let domains: string;
let checks: QueueWork;

beforeAll(async () => {
  dns = await startDns();
  database = await testDatabase({ settings: { dnsServers: [dns.address] } });
  app = createApp(database.ctx);
  organizationId = (await makeOrganization(database.ctx)).id;
  api = apiOf(app, (await makeKey(database.ctx, organizationId, { permissions: ['write'] })).secret);
  domains = `/organizations/${organizationId}/domains`;
});
afterAll(async () => {
  await database.close();
  await dns.stop();
});
beforeEach(() => {
  checks = startDomainChecks(database.ctx);
});
afterEach(() => checks.stop());

type Domain = { id: string; hostname: string; verification: { name: string; value: string } };
let hostnames = 0;
/** Due at once unless the columns say otherwise. */
async function add(columns: object = {}): Promise<Domain> {
  hostnames += 1;
  const { body } = await api('post', domains, { hostname: `pending-${hostnames}.example` });
  await change(body.id, { next_check_at: '2020-01-01', ...columns });
  return body;
}
const as = inTransaction;
const change = (id: string, columns: object) =>
  as({ db: database.ctx.db, organizationId }, (tx) => tx('domains').where({ id }).update(columns));
const show = async ({ id }: Domain) => (await api('get', `${domains}/${id}`)).body;
const prove = ({ verification }: Domain): void => dns.set(verification.name, { txt: [verification.value] });
const timesAsked = ({ verification }: Domain): number => dns.asked.filter(({ name }) => name === verification.name).length;
/** Seconds until the next look. */
const nextCheck = async ({ id }: Domain): Promise<number | null> => {
  const row = await as({ db: database.ctx.db, organizationId }, (tx) =>
    tx('domains').where({ id }).first<{ seconds: number | null }>(tx.raw('extract(epoch from next_check_at - now())::float8 as seconds')),
  );
  return row.seconds;
};
const auditOf = ({ id }: Domain) =>
  as({ db: database.ctx.db, organizationId }, (tx) =>
    tx('audit_log')
      .where({ target_id: id, action: 'domain.verify' })
      .select('actor_id', 'actor_email', 'credential_kind', 'credential_id', 'ip', 'changes'),
  );
const hour = 3_600_000;
const ago = (ms: number): Date => new Date(Date.now() - ms);

describe('a pending domain', () => {
  it('is verified once its record is there, and the audit log says that the service did it', async () => {
    const domain = await add();
    prove(domain);
    await checks.settled();
    expect(await show(domain)).toMatchObject({ status: 'verified', lastError: null, verifiedAt: expect.any(String) });
    expect(await auditOf(domain)).toEqual([
      {
        actor_id: null,
        actor_email: null,
        credential_kind: 'system',
        credential_id: null,
        ip: null,
        changes: { hostname: domain.hostname, status: 'verified', lastError: null },
      },
    ]);
    await checks.settled();
    expect(timesAsked(domain)).toBe(1);
  });

  it('waits a minute in its first hour and 15 minutes after that, without filling the audit log', async () => {
    const [young, older] = [await add(), await add({ created_at: ago(hour + 60_000) })];
    await checks.settled();
    expect(await show(young)).toMatchObject({ status: 'pending', lastError: expect.stringContaining('no TXT record') });
    const [soon, later] = [await nextCheck(young), await nextCheck(older)];
    expect(soon).toBeGreaterThan(50);
    expect(soon).toBeLessThanOrEqual(60);
    expect(later).toBeGreaterThan(890);
    expect(later).toBeLessThanOrEqual(900);
    expect([await auditOf(young), await auditOf(older)]).toEqual([[], []]);
  });

  it('is not looked at before it is due', async () => {
    const { body: fresh } = await api('post', domains, { hostname: 'fresh.example' });
    expect(await nextCheck(fresh)).toBeGreaterThan(50);
    const almost = await add({ next_check_at: new Date(Date.now() + 60_000) });
    await checks.settled();
    expect([timesAsked(fresh), timesAsked(almost)]).toEqual([0, 0]);
  });

  it('fails after a week, whatever the DNS servers say, and is left alone then', async () => {
    const absent = await add({ created_at: ago(7 * 24 * hour + 1_000) });
    const broken = await add({ created_at: ago(7 * 24 * hour + 1_000) });
    const notYet = await add({ created_at: ago(7 * 24 * hour - 60_000) });
    dns.set(broken.verification.name, 'servfail');
    await checks.settled();
    expect([(await show(absent)).status, (await show(broken)).status, (await show(notYet)).status]).toEqual([
      'failed',
      'failed',
      'pending',
    ]);
    expect([await nextCheck(absent), await nextCheck(broken)]).toEqual([null, null]);
    expect(await auditOf(absent)).toMatchObject([{ credential_kind: 'system', changes: { status: 'failed' } }]);
  });

  it('fails where another organization has verified the hostname', async () => {
    const domain = await add();
    const rival = (await makeOrganization(database.ctx)).id;
    const rivalApi = apiOf(app, (await makeKey(database.ctx, rival, { permissions: ['write'] })).secret);
    const { body: theirs } = await rivalApi('post', `/organizations/${rival}/domains`, { hostname: domain.hostname });
    prove(theirs);
    expect((await rivalApi('post', `/organizations/${rival}/domains/${theirs.id}/verify`)).body.status).toBe('verified');
    prove(domain);
    await checks.settled();
    expect(await show(domain)).toMatchObject({ status: 'failed', lastError: 'Another organization has verified this hostname' });
  });

  it('keeps what was decided by hand while the background looked', async () => {
    const domain = await add();
    dns.set(domain.verification.name, 'nxdomain');
    const verified = { status: 'verified', verified_at: '2026-01-01T00:00:00Z', next_check_at: null };
    dns.onAsked((name) => name === domain.verification.name && change(domain.id, verified));
    await checks.settled();
    expect(timesAsked(domain)).toBe(1);
    const after = await show(domain);
    expect([after.status, after.verifiedAt, after.lastCheckedAt]).toEqual(['verified', '2026-01-01T00:00:00Z', null]);
  });
});

describe('many due domains', () => {
  it('are each looked at once by several processes, also across organizations', async () => {
    const second = (await makeOrganization(database.ctx)).id;
    const many = await Promise.all(Array.from({ length: 30 }, () => add()));
    const key = await makeKey(database.ctx, second, { permissions: ['write'] });
    const { body: foreign } = await apiOf(app, key.secret)('post', `/organizations/${second}/domains`, { hostname: 'foreign.example' });
    await as({ db: database.ctx.db, organizationId: second }, (tx) =>
      tx('domains').where({ id: foreign.id }).update({ next_check_at: '2020-01-01' }),
    );
    const others = [startDomainChecks(database.ctx), startDomainChecks(database.ctx)];
    try {
      await Promise.all([checks, ...others].map((process) => process.settled()));
    } finally {
      await Promise.all(others.map((process) => process.stop()));
    }
    expect([...many, foreign].map(timesAsked)).toEqual([...many, foreign].map(() => 1));
  });

  it('do not wait for one whose name server is silent', async () => {
    const silent = await add({ next_check_at: '2019-01-01' });
    dns.set(silent.verification.name, 'silent');
    const many = await Promise.all(Array.from({ length: 12 }, () => add()));
    for (const domain of many) prove(domain);
    await checks.settled();
    const { lastError, lastCheckedAt } = await show(silent);
    expect(lastError).toContain('no answer in time');
    for (const domain of many) {
      const { status, verifiedAt } = await show(domain);
      expect([status, Date.parse(verifiedAt) < Date.parse(lastCheckedAt)]).toEqual(['verified', true]);
    }
  });
});

describe('stopping', () => {
  it('ends at once, writes nothing of a look-up cut short, and another process goes on after the lease', async () => {
    const domain = await add();
    dns.set(domain.verification.name, 'silent');
    const asked = new Promise<void>((resolve) => dns.onAsked((name) => name === domain.verification.name && resolve()));
    const ticking = checks.settled();
    await asked;
    const start = performance.now();
    await checks.stop();
    await ticking;
    expect(performance.now() - start).toBeLessThan(3_000); // a look-up takes five seconds to give up
    expect((await show(domain)).lastCheckedAt).toBeNull();
    expect(await nextCheck(domain)).toBeGreaterThan(30);
    await checks.settled();
    expect(timesAsked(domain)).toBe(1);

    const next = startDomainChecks(database.ctx);
    try {
      await next.settled();
      expect(timesAsked(domain)).toBe(1);
      await change(domain.id, { next_check_at: '2020-01-01' });
      prove(domain);
      await next.settled();
      expect((await show(domain)).status).toBe('verified');
    } finally {
      await next.stop();
    }
  });
});
