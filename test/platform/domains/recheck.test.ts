// Background checks of pending and verified domains. The tests move time by changing the timestamps in the rows.
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { JobWorker } from '../../../src/db/job-worker.ts';
import { startDomainChecks } from '../../../src/platform/domains/recheck.ts';
import { endsWithin, until } from '../../setup/until.ts';
import { useOrganization } from '../../setup/use-organization.ts';

const org = useOrganization({ dns: true });
let domains: string;
let running: JobWorker[] = [];

beforeAll(async () => {
  await org.admin.raw(noteLooks);
  domains = `${org.at}/domains`;
});
afterEach(async () => {
  await Promise.all(running.map((checks) => checks.stop()));
  running = [];
});
/** The worker polls at its start, so it is started after the rows were inserted. */
function startChecks(): JobWorker {
  const checks = startDomainChecks(org.ctx);
  running.push(checks);
  return checks;
}

type Domain = { id: string; hostname: string; verification: { name: string; value: string } };
let hostnames = 0;
/** Due immediately unless the columns say otherwise. */
async function add(columns: Columns = {}): Promise<Domain> {
  hostnames += 1;
  const { body } = await org.api('post', domains, { hostname: `pending-${hostnames}.example` });
  await change(body.id, { next_check_at: '2020-01-01', ...columns });
  return body;
}
type Columns = { readonly next_check_at?: Date | string; readonly [column: string]: unknown };
async function change(id: string, { next_check_at: due_at, ...columns }: Columns): Promise<void> {
  if (due_at !== undefined) await org.admin('jobs').where({ kind: 'domains', key: id }).update({ due_at });
  if (Object.keys(columns).length > 0) await org.admin('domains').where({ id }).update(columns);
}
const show = async ({ id }: Domain) => (await org.api('get', `${domains}/${id}`)).body;
const prove = ({ verification }: Domain): void =>
  org.dns.set(verification.name, { txt: [verification.value] });
const noteLooks = `
  create table looks (domain_id uuid);
  create function note_look() returns trigger language plpgsql security definer set search_path = public as $$ begin
    -- A test that holds this lock holds up what is written down of the look.
    perform pg_advisory_xact_lock(hashtextextended(new.id::text, 0));
    insert into looks values (new.id);
    return new;
  end $$;
  create trigger looked after update of last_checked_at on domains for each row
    when (new.last_checked_at is distinct from old.last_checked_at) execute function note_look();`;
const timesAsked = ({ verification }: Domain): number =>
  org.dns.asked.filter(({ name }) => name === verification.name).length;
/** The number of saved checks; the resolver may query the DNS twice for one. */
const looksAt = async ({ id }: Domain): Promise<number> =>
  (await org.admin('looks').where({ domain_id: id })).length;
/** The time of the next check. */
const nextCheck = async ({ id }: Domain): Promise<Date | null> =>
  (await org.admin('jobs').where({ kind: 'domains', key: id }).first<{ due_at: Date } | undefined>('due_at'))
    ?.due_at ?? null;
const readAudit = ({ id }: Domain) =>
  org
    .admin('audit_log')
    .where({ target_id: id, action: 'domain.verify' })
    .select('actor_id', 'actor_email', 'credential_kind', 'credential_id', 'ip', 'changes');
const hour = 3_600_000;
const day = 24 * hour;
const ago = (ms: number): Date => new Date(Date.now() - ms);
const isDue = { next_check_at: '2020-01-01' };
async function addVerified(columns: Columns = {}): Promise<Domain> {
  const domain = await add();
  prove(domain);
  const { body } = await org.api('post', `${domains}/${domain.id}/verify`);
  expect(body.status).toBe('verified');
  if (Object.keys(columns).length > 0) await change(domain.id, columns);
  return domain;
}
/** Makes it due, and waits until it was looked up. No earlier worker may take it: the wait wouldn't know of it. */
async function lookUp(domain: Domain): Promise<Record<string, unknown>> {
  await Promise.all(running.map((checks) => checks.stop()));
  await change(domain.id, isDue);
  await startChecks().waitUntilIdle();
  return show(domain);
}
/** The work ends between `began` and `ended`, and the next check is this long after it. */
async function expectNextCheck(domain: Domain, ms: number, work: () => Promise<unknown>): Promise<void> {
  const began = Date.now();
  await work();
  const lookedAt = Number(await nextCheck(domain)) - ms;
  expect([lookedAt >= began, lookedAt <= Date.now()]).toEqual([true, true]);
}

describe('a pending domain', () => {
  it('is verified when its record exists, and the audit log names the service as the actor', async () => {
    const domain = await add();
    prove(domain);
    const checks = startChecks();
    await checks.waitUntilIdle();
    const verified = { status: 'verified', lastError: null };
    expect(await show(domain)).toMatchObject({ ...verified, verifiedAt: expect.any(String) });
    const nobody = { actor_id: null, actor_email: null, credential_id: null, ip: null };
    expect(await readAudit(domain)).toEqual([
      { ...nobody, credential_kind: 'system', changes: { hostname: domain.hostname, ...verified } },
    ]);
    await checks.waitUntilIdle();
    expect(await looksAt(domain)).toBe(1);
  });

  it('waits a minute in its first hour and 15 minutes after that, without filling the audit log', async () => {
    const [young, older] = [await add(), await add({ created_at: ago(hour + 60_000) })];
    const began = Date.now();
    await startChecks().waitUntilIdle();
    const ended = Date.now();
    const lastError = expect.stringContaining('no TXT record');
    expect(await show(young)).toMatchObject({ status: 'pending', lastError });
    for (const [domain, seconds] of [
      [young, 60],
      [older, 900],
    ] as const) {
      const lookedAt = Number(await nextCheck(domain)) - seconds * 1_000;
      expect([lookedAt >= began, lookedAt <= ended]).toEqual([true, true]);
    }
    expect([await readAudit(young), await readAudit(older)]).toEqual([[], []]);
  });

  it('is not checked before it is due', async () => {
    const began = Date.now();
    const { body: fresh } = await org.api('post', domains, { hostname: 'fresh.example' });
    expect(Number(await nextCheck(fresh))).toBeGreaterThanOrEqual(began + 60_000);
    const almost = await add({ next_check_at: new Date(Date.now() + 60_000) });
    await startChecks().waitUntilIdle();
    expect([timesAsked(fresh), timesAsked(almost)]).toEqual([0, 0]);
  });

  it('fails after a week regardless of the DNS result, and is not checked again', async () => {
    const absent = await add({ created_at: ago(7 * 24 * hour + 1_000) });
    const broken = await add({ created_at: ago(7 * 24 * hour + 1_000) });
    const notYet = await add({ created_at: ago(7 * 24 * hour - 60_000) });
    org.dns.set(broken.verification.name, 'servfail');
    await startChecks().waitUntilIdle();
    for (const [domain, status] of [
      [absent, 'failed'],
      [broken, 'failed'],
      [notYet, 'pending'],
    ] as const)
      expect((await show(domain)).status).toBe(status);
    expect([await nextCheck(absent), await nextCheck(broken)]).toEqual([null, null]);
    expect(await readAudit(absent)).toMatchObject([
      { credential_kind: 'system', changes: { status: 'failed' } },
    ]);
  });

  it('fails when another organization has verified the hostname', async () => {
    const domain = await add();
    const rival = await org.another();
    const { hostname } = domain;
    const { body: theirs } = await rival.api('post', `${rival.at}/domains`, { hostname });
    prove(theirs);
    const proved = await rival.api('post', `${rival.at}/domains/${theirs.id}/verify`);
    expect(proved.body.status).toBe('verified');
    prove(domain);
    await startChecks().waitUntilIdle();
    const lastError = 'Another organization has verified this hostname';
    expect(await show(domain)).toMatchObject({ status: 'failed', lastError });
  });

  it('keeps the result of a manual verification during a background check', async () => {
    const domain = await add();
    org.dns.set(domain.verification.name, 'nxdomain');
    const verifiedAt = '2026-01-01T00:00:00Z';
    const verified = { status: 'verified', verified_at: verifiedAt, next_check_at: ago(-day) };
    org.dns.onAsked((name) => name === domain.verification.name && change(domain.id, verified));
    await startChecks().waitUntilIdle();
    expect(timesAsked(domain)).toBeGreaterThan(0);
    expect(await show(domain)).toMatchObject({ status: 'verified', verifiedAt, lastCheckedAt: null });
  });
});

describe('a verified domain', () => {
  const missing = expect.stringContaining('no TXT record');

  it('is looked up once a day, without filling the audit log', async () => {
    const domain = await addVerified();
    await expectNextCheck(domain, day, () => lookUp(domain));
    expect(await looksAt(domain)).toBe(2);
    await startChecks().waitUntilIdle();
    expect(await looksAt(domain)).toBe(2);
    expect(await readAudit(domain)).toHaveLength(1);
  });

  it('is looked up when a process of an earlier version has set no next check', async () => {
    const domain = await addVerified();
    await org.admin('jobs').where({ key: domain.id }).delete();
    await org.ctx.db.control.raw('select adopt_older_work()');
    await expectNextCheck(domain, day, () => startChecks().waitUntilIdle());
    expect(await looksAt(domain)).toBe(2);
  });

  it('stays verified and primary while its record is missing, and says since when until it is there again', async () => {
    const domain = await addVerified({ is_primary: true });
    org.dns.set(domain.verification.name, 'nxdomain');
    const kept = { status: 'verified', isPrimary: true, verifiedAt: expect.any(String) };
    const readSince = async (): Promise<Date> =>
      (await org.admin('domains').where({ id: domain.id }).first('missing_since')).missing_since;
    const began = Date.now();
    expect(await lookUp(domain)).toMatchObject({ ...kept, lastError: missing });
    const since = await readSince();
    expect([Number(since) >= began, Number(since) <= Date.now()]).toEqual([true, true]);
    org.dns.set(domain.verification.name, { txt: ['other'] });
    await expectNextCheck(domain, day, () => lookUp(domain));
    const lastError = expect.stringContaining('has another value');
    const changed = await show(domain);
    expect(changed).toMatchObject({ ...kept, lastError, missingSince: expect.any(String) });
    expect(await readSince()).toEqual(since);
    prove(domain);
    expect(await lookUp(domain)).toMatchObject({ ...kept, lastError: null, missingSince: null });
    await change(domain.id, { is_primary: false });
  });

  it('fails after seven days without its record, is no longer primary, and the audit log says so', async () => {
    const notYet = await addVerified({ missing_since: ago(7 * day - 60_000) });
    const domain = await addVerified({ missing_since: ago(7 * day + 1_000), is_primary: true });
    for (const { verification } of [notYet, domain]) org.dns.set(verification.name, 'nxdomain');
    expect(await lookUp(notYet)).toMatchObject({ status: 'verified', lastError: missing });
    const failed = { status: 'failed', lastError: missing };
    const without = { isPrimary: false, verifiedAt: null, missingSince: null };
    expect(await lookUp(domain)).toMatchObject({ ...failed, ...without });
    expect(await nextCheck(domain)).toBeNull();
    const changes = { hostname: domain.hostname, ...failed, isPrimary: false };
    const byTheService = (await readAudit(domain)).filter((row) => row.credential_kind === 'system');
    expect(byTheService).toMatchObject([{ changes }]);
    prove(domain);
    const again = (await org.api('post', `${domains}/${domain.id}/verify`)).body;
    expect(again).toMatchObject({ status: 'verified', isPrimary: false, lastError: null });
  });

  it('keeps its state while the DNS gives no answer, and is looked up again within an hour', async () => {
    const [found, lost] = [await addVerified(), await addVerified({ missing_since: ago(8 * day) })];
    const { missingSince } = await show(lost);
    for (const { verification } of [found, lost]) org.dns.set(verification.name, 'servfail');
    const kept = { status: 'verified', lastError: expect.stringContaining('SERVFAIL') };
    await expectNextCheck(found, hour, () => lookUp(found));
    expect(await show(found)).toMatchObject({ ...kept, missingSince: null });
    expect(await lookUp(lost)).toMatchObject({ ...kept, missingSince });
    prove(lost);
    expect(await lookUp(lost)).toMatchObject({ status: 'verified', lastError: null, missingSince: null });
  });

  it('starts again with a verification on request', async () => {
    const domain = await addVerified({ missing_since: ago(6 * day), ...isDue });
    const verifyNow = () => org.api('post', `${domains}/${domain.id}/verify`);
    await expectNextCheck(domain, day, verifyNow);
    expect(await show(domain)).toMatchObject({ lastError: null, missingSince: null });
    // A background check that began before it doesn't count.
    org.dns.set(domain.verification.name, 'nxdomain');
    await change(domain.id, isDue);
    let requested: Promise<unknown> | undefined;
    org.dns.onAsked(async (name) => {
      if (name !== domain.verification.name || requested !== undefined) return;
      requested = Promise.resolve();
      prove(domain);
      await verifyNow();
      org.dns.set(name, 'nxdomain');
    });
    await startChecks().waitUntilIdle();
    org.dns.onAsked(() => undefined);
    expect(requested).toBeDefined();
    expect(await show(domain)).toMatchObject({ lastError: null, missingSince: null });
  });
});

describe('many due domains', () => {
  it('are each checked once by several processes, also across organizations', async () => {
    const second = await org.another();
    const many = await Promise.all(Array.from({ length: 30 }, () => add()));
    const hostname = 'foreign.example';
    const { body: foreign } = await second.api('post', `${second.at}/domains`, { hostname });
    await change(foreign.id, isDue);
    await Promise.all([1, 2, 3].map(() => startChecks().waitUntilIdle()));
    expect(await Promise.all([...many, foreign].map(looksAt))).toEqual([...many, foreign].map(() => 1));
  });

  it('do not wait for one whose name server does not respond', async () => {
    const silent = await add({ next_check_at: '2019-01-01' });
    org.dns.set(silent.verification.name, 'silent');
    const many = await Promise.all(Array.from({ length: 12 }, () => add()));
    for (const domain of many) prove(domain);
    // Regardless of timing: the result of the unresponsive one cannot be saved before the others are done.
    const holder = await org.admin.transaction();
    await holder.raw('select pg_advisory_xact_lock(hashtextextended(?, 0))', [silent.id]);
    const checks = startChecks();
    try {
      await until(async () =>
        (await Promise.all(many.map(show))).every(({ status }) => status === 'verified'),
      );
      expect((await show(silent)).lastCheckedAt).toBeNull();
    } finally {
      await holder.rollback();
    }
    await checks.waitUntilIdle();
    expect((await show(silent)).lastError).toContain('no answer in time');
  });
});

it('stopping ends immediately, saves nothing of an aborted lookup, and another process continues after the lease', async () => {
  const domain = await add();
  org.dns.set(domain.verification.name, 'silent');
  const asked = new Promise<void>((resolve) =>
    org.dns.onAsked((name) => name === domain.verification.name && resolve()),
  );
  const began = Date.now();
  const checks = startChecks();
  await asked;
  const claimed = Date.now();
  expect(await endsWithin(checks.stop(), 3_000)).toBe(true); // a look-up takes nearly five seconds to give up
  const times = timesAsked(domain);
  expect((await show(domain)).lastCheckedAt).toBeNull();
  const leasedAt = Number(await nextCheck(domain)) - 60_000;
  expect([leasedAt >= began, leasedAt <= claimed]).toEqual([true, true]);
  await checks.waitUntilIdle();
  expect(timesAsked(domain)).toBe(times);

  const next = startChecks();
  await next.waitUntilIdle();
  expect(timesAsked(domain)).toBe(times);
  prove(domain);
  await change(domain.id, { next_check_at: '2020-01-01' });
  await next.waitUntilIdle();
  expect((await show(domain)).status).toBe('verified');
});
