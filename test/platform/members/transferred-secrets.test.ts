// A transferred key's secret ends: the member who left may know it. No job runs in these tests except where
// one is started, so it is the look-up of the key that ends it.
import { beforeEach, describe, expect, it } from 'vitest';
import { createApp } from '../../../src/app.ts';
import { startMailSender } from '../../../src/mail/index.ts';
import { startSecretEndReports } from '../../../src/platform/api-keys/report-secret-ends.ts';
import { createCaller } from '../../public/fixture.ts';
import { type Api, listIds, refusal } from '../../setup/api.ts';
import { testClock, testSettings } from '../../setup/database.ts';
import { makeKey } from '../../setup/organization.ts';
import type { Delivered } from '../../setup/smtp.ts';
import { type Organization, type Person, useOrganization } from '../../setup/use-organization.ts';

const hour = 3_600_000;
const day = 24 * hour;
const org = useOrganization({
  each: true,
  mail: true,
  // No cached keys, except in the test about them.
  settings: { publicUrl: 'http://portal.example.test', cacheTtlMs: 0 },
});

type Options = { to?: string; by?: Api; seconds?: number };
const transfer = async (
  member: Person,
  { to = org.owner.id, by = org.api, seconds }: Options = {},
): Promise<void> => {
  const grace = seconds === undefined ? '' : `&gracePeriodSeconds=${seconds}`;
  const answer = await by('delete', `${org.at}/members/${member.id}?keys=transfer&transferTo=${to}${grace}`);
  expect(answer.status, JSON.stringify(answer.body)).toBe(204);
};
/** 404: no such version, so the key was accepted. */
const read = async (secret: string, through = org.app): Promise<number> =>
  (await createCaller(through, { secret, organizationId: org.id })('/v1/invoices')).status;
const readAll = (...secrets: string[]): Promise<number[]> =>
  Promise.all(secrets.map((secret) => read(secret)));
const change = (id: string, columns: object) => org.admin('api_keys').where({ id }).update(columns);
const ended = () => new Date(Date.now() - 1000);
const readGraceEnd = async (id: string): Promise<Date> =>
  (await org.admin('api_keys').where({ id }).first('previous_expires_at')).previous_expires_at;
const hourLong = { gracePeriodSeconds: 3600 };
const monthLong = { gracePeriodSeconds: 2_592_000 };
const shown = async (id: string) => (await org.api('get', `/api-keys/${id}`)).body;
const rotate = (id: string, body: object = {}, api = org.api) => api('post', `/api-keys/${id}/rotate`, body);
const keep = (id: string, api = org.api) => api('post', `/api-keys/${id}/keep-secret`);
const daysUntil = (instant: string | null): number => (Date.parse(String(instant)) - Date.now()) / day;
const readAudit = async (action: string, targetId: string) =>
  (await org.api('get', `${org.at}/audit-log?action=${action}&targetId=${targetId}`)).body.data;
const remove = (id: string, query: string) => org.api('delete', `${org.at}/members/${id}?${query}`);
const joinThree = async () =>
  [await org.join('editor'), await org.join('editor'), await org.join('editor')] as const;

describe('the secret of a transferred key', () => {
  it.each([
    ['after seven days by default', undefined, 7],
    ['after the given time', 3600, 1 / 24],
    ['after thirty days at most', 2_592_000, 30],
  ])('ends %s, and reads until then', async (_name, seconds, days) => {
    const member = await org.join('editor');
    expect(await shown(member.keyId)).toMatchObject({ secretEndsAt: null, transferredFrom: null });
    await transfer(member, seconds === undefined ? {} : { seconds });
    const key = await shown(member.keyId);
    const createdBy = { id: org.owner.id };
    expect(key).toMatchObject({ status: 'active', transferredFrom: member.email, createdBy });
    expect(daysUntil(key.secretEndsAt)).toBeCloseTo(days, 2);
    expect(await read(member.secret)).toBe(404);
    await change(member.keyId, { secret_ends_at: ended() });
    expect([await read(member.secret), (await member.api('get', '/whoami')).status]).toEqual([401, 401]);
    expect((await shown(member.keyId)).status).toBe('expired');
    const [removal] = await readAudit('member.remove', member.id);
    const gracePeriodSeconds = seconds ?? 604_800;
    const keysTransferred = [{ id: member.keyId }];
    expect(removal.changes).toMatchObject({ keysTransferred, gracePeriodSeconds });
  });

  it('ends immediately with 0; the key can still be rotated', async () => {
    const member = await org.join('editor');
    await transfer(member, { seconds: 0 });
    expect(await read(member.secret)).toBe(401);
    expect(listIds(await org.api('get', '/api-keys?status=active'))).toEqual([org.owner.keyId]);
    const { status, body } = await rotate(member.keyId, hourLong);
    expect([status, body.status]).toEqual([201, 'active']);
    expect(await readAll(member.secret, body.secret)).toEqual([401, 404]);
  });

  it('400 beyond the bounds, which are seven days for members who leave by themselves, 422 without a transfer', async () => {
    const member = await org.join('editor');
    for (const seconds of ['-1', '2592001', '1.5', 'x', ''])
      expect((await remove(member.id, `keys=transfer&gracePeriodSeconds=${seconds}`)).status).toBe(400);
    const revoked = remove(member.id, 'keys=revoke&gracePeriodSeconds=60');
    expect(await refusal(revoked)).toEqual([422, 'not_transferred']);
    const session = await org.session(member.id);
    const own = `/whoami/organizations/${org.id}?keys=transfer&transferTo=${org.owner.id}`;
    const leave = (seconds: string) => session('delete', `${own}&gracePeriodSeconds=${seconds}`);
    expect((await leave('604801')).status).toBe(400);
    expect((await leave('604800')).status).toBe(204);
    expect(daysUntil((await shown(member.keyId)).secretEndsAt)).toBeCloseTo(7, 2);
  });

  it('ends within a second in a process that has cached the key', async () => {
    const member = await org.join('editor');
    await transfer(member);
    const clock = testClock();
    const settings = { ...org.ctx.settings, cacheTtlMs: testSettings.cacheTtlMs };
    const trusting = createApp({ ...org.ctx, clock, settings });
    expect(await read(member.secret, trusting)).toBe(404);
    await change(member.keyId, { secret_ends_at: ended() });
    clock.advance(999);
    expect(await read(member.secret, trusting)).toBe(404);
    clock.advance(1);
    expect(await read(member.secret, trusting)).toBe(401);
  });

  it('never ends later because the key is transferred again', async () => {
    const [member, heir] = [await org.join('editor'), await org.joinBare('admin')];
    await transfer(member, { to: heir.id, seconds: 3600 });
    const { secretEndsAt } = await shown(member.keyId);
    await transfer({ ...member, id: heir.id }, { seconds: 2_592_000 });
    expect(await shown(member.keyId)).toMatchObject({ secretEndsAt, createdBy: { id: org.owner.id } });
  });

  it('cannot be given more scopes before it ends', async () => {
    const member = await org.joinBare('editor');
    const narrow = await makeKey(org.ctx, org.id, { createdBy: member.id, resources: ['invoices'] });
    expect((await remove(member.id, 'keys=transfer')).status).toBe(204);
    const patch = (scopes: object) => org.api('patch', `/api-keys/${narrow.id}`, { scopes });
    for (const scopes of [
      {},
      { resources: ['invoices', 'customers'] },
      { resources: ['invoices'], permissions: ['write'] },
    ])
      expect(await refusal(patch(scopes))).toEqual([422, 'grace_running']);
    expect((await rotate(narrow.id)).status).toBe(201);
    expect((await patch({})).status).toBe(200);
  });
});

it('rotation of a transferred key gives a secret without an end; a grace period keeps the old one no longer than its end', async () => {
  const member = await org.join('editor');
  await transfer(member, { seconds: 3600 });
  const rotated = await rotate(member.keyId, monthLong);
  expect(rotated.body).toMatchObject({ secretEndsAt: null, transferredFrom: null, status: 'active' });
  expect(daysUntil((await readGraceEnd(member.keyId)).toISOString())).toBeCloseTo(1 / 24, 2);
  expect(await readAll(member.secret, rotated.body.secret)).toEqual([404, 404]);
});

describe('old secrets in the grace period of a rotation', () => {
  it('of the member who leaves end with the current one', async () => {
    const member = await org.join('admin');
    const second = (await rotate(member.keyId, monthLong, member.api)).body.secret;
    await transfer(member, { seconds: 0 });
    expect(await readAll(member.secret, second)).toEqual([401, 401]);
  });

  it('of a key that someone else has rotated end as well, never later than before', async () => {
    const members = await joinThree();
    const secrets: string[] = [];
    for (const { keyId } of members) secrets.push((await rotate(keyId, hourLong)).body.secret);
    const before = await readGraceEnd(members[1].keyId);
    await transfer(members[0], { seconds: 0 });
    await transfer(members[1], { seconds: 2_592_000 });
    await transfer(members[2], { seconds: 60 });
    expect(await readAll(...members.map(({ secret }) => secret))).toEqual([401, 404, 404]);
    expect(await readGraceEnd(members[1].keyId)).toEqual(before);
    expect((await readGraceEnd(members[2].keyId)).getTime()).toBeLessThan(Date.now() + 61_000);
    expect(await readAll(...secrets)).toEqual([404, 404, 404]);
  });
});

describe('keys that have expired', () => {
  it.each(['revoke', 'transfer'])(
    'read for no former member when someone extends them after keys=%s',
    async (choice) => {
      const member = await org.join('editor');
      await change(member.keyId, { expires_at: ended() });
      expect((await remove(member.id, `keys=${choice}`)).status).toBe(204);
      await org.api('patch', `/api-keys/${member.keyId}`, { expiresAt: null });
      if (choice === 'transfer')
        expect(daysUntil((await shown(member.keyId)).secretEndsAt)).toBeCloseTo(7, 2);
      else expect(await read(member.secret)).toBe(401);
    },
  );

  it('need no choice, and are revoked', async () => {
    const member = await org.join('editor');
    await change(member.keyId, { expires_at: ended() });
    expect((await org.api('delete', `${org.at}/members/${member.id}`)).status).toBe(204);
    expect((await shown(member.keyId)).status).toBe('revoked');
  });
});

describe('POST /api-keys/{id}/keep-secret', () => {
  it('200: the secret has no end any more, and the key keeps its ceiling', async () => {
    const [member, keeper] = [await org.join('admin'), await org.join('admin')];
    await transfer(member);
    const before = await org.readPermissions(member.secret);
    const { secretEndsAt } = await shown(member.keyId);
    const kept = await keep(member.keyId, keeper.api);
    expect(kept.status).toBe(200);
    expect(kept.body).toMatchObject({ secretEndsAt: null, transferredFrom: member.email });
    expect(kept.text).not.toContain('"secret"');
    expect(await read(member.secret)).toBe(404);
    expect(await org.readPermissions(member.secret)).toEqual(before);
    const [entry] = await readAudit('api-key.keep-secret', member.keyId);
    const changes = { secretEndsAt: { from: secretEndsAt, to: null } };
    expect(entry).toMatchObject({ actor: { id: keeper.id }, changes });
    expect(await refusal(keep(member.keyId))).toEqual([422, 'no_end']);
    expect(await refusal(member.api('post', '/api-keys', { name: 'x' }))).toEqual([403, 'handed_over']);
  });

  it('403 without api-key:update, without record:read, and for any secret of a former member', async () => {
    const [member, other] = [await org.join('admin'), await org.join('admin')];
    await transfer(member);
    await transfer(other);
    for (const [role, permission] of [
      ['viewer', 'api-key:update'],
      [['api-key:update'], 'record:read'],
    ] as const) {
      const { status, body } = await keep(member.keyId, (await org.join(role)).api);
      expect([status, body.error.message]).toEqual([403, `Missing required permission: ${permission}`]);
    }
    for (const { api } of [member, other])
      expect(await refusal(keep(member.keyId, api))).toEqual([403, 'handed_over']);
    expect((await shown(member.keyId)).secretEndsAt).not.toBeNull();
    expect(await readAudit('api-key.keep-secret', member.keyId)).toEqual([]);
  });

  it('403 for a caller who lacks a permission of the key', async () => {
    const member = await org.join('admin');
    await transfer(member);
    const weak = await org.join(['api-key:update', 'record:read']);
    expect(await refusal(keep(member.keyId, weak.api))).toEqual([403, 'escalation']);
  });

  it('is of no use to a member before they leave, nor while they do', async () => {
    const member = await org.join('admin');
    expect(await refusal(keep(member.keyId, member.api))).toEqual([422, 'no_end']);
    const session = await org.session(member.id);
    const [, kept] = await Promise.all([transfer(member), keep(member.keyId, session)]);
    // The removal comes first, or there is nothing to keep yet.
    expect([401, 403, 422]).toContain(kept.status);
    expect((await session('get', '/teams')).status).toBe(403);
    expect((await shown(member.keyId)).secretEndsAt).not.toBeNull();
  });

  it('422 for a secret that has ended, a key that has expired and a revoked one, 404 for an unknown one', async () => {
    const member = await org.join('editor');
    await transfer(member);
    await change(member.keyId, { secret_ends_at: ended() });
    expect(await refusal(keep(member.keyId))).toEqual([422, 'secret_ended']);
    expect(await read(member.secret)).toBe(401);
    await change(member.keyId, { expires_at: ended() });
    expect(await refusal(keep(member.keyId))).toEqual([422, 'expired']);
    await org.api('delete', `/api-keys/${member.keyId}`);
    expect(await refusal(keep(member.keyId))).toEqual([422, 'revoked']);
    const elsewhere = await org.another();
    expect((await keep(member.keyId, elsewhere.owner.api)).status).toBe(404);
  });
});

describe('mails', () => {
  /** Sent when two processes report at the same time. */
  async function mails(): Promise<Delivered[]> {
    const reports = [1, 2].map(() => startSecretEndReports(org.ctx, { everyMs: hour }));
    await Promise.all(reports.map((report) => report.tick()));
    for (const report of reports) await report.stop();
    const sender = startMailSender(org.ctx, { pollMs: hour });
    await sender.waitUntilIdle();
    await sender.stop();
    return org.mails.delivered.splice(0);
  }
  const subjects = async () => (await mails()).map(({ to, mail }) => `${to}: ${mail.subject}`).sort();
  const acme = 'Acme & Sons';
  /** The only mail that is sent. */
  const onlyMail = async (to: string, subject: string): Promise<Delivered> => {
    const [first, ...others] = await mails();
    expect([first?.to, first?.mail.subject, others]).toEqual([[to], subject, []]);
    return first as Delivered;
  };
  let heir: Awaited<ReturnType<Organization['joinBare']>>;
  beforeEach(async () => {
    await mails();
    await org.api('patch', org.at, { name: acme });
    heir = await org.joinBare('editor');
  });

  it('go to the member who takes the keys over: at the transfer and at the end, once each', async () => {
    const member = await org.join('admin');
    const second = (await member.api('post', '/api-keys', { name: 'Ledger <1>' })).body;
    await transfer(member, { to: heir.id });
    const start = await onlyMail(heir.email, `The secrets of 2 API keys of ${acme} will end`);
    const until = (await shown(member.keyId)).secretEndsAt.slice(0, 16).replace('T', ' ');
    const known = [member.email, 'Ledger <1>', second.prefix, member.secret.slice(0, 12), until];
    for (const words of [...known, '/api-keys/{id}/rotate', '/api-keys/{id}/keep-secret'])
      expect(start.mail.text).toContain(words);
    expect(start.raw).not.toContain(member.secret);
    expect(await subjects()).toEqual([]);
    for (const id of [member.keyId, second.id]) await change(id, { secret_ends_at: ended() });
    const end = await onlyMail(heir.email, `The secrets of 2 API keys of ${acme} have ended`);
    for (const words of ['Ledger <1>', member.email, '/rotate']) expect(end.mail.text).toContain(words);
    expect(await subjects()).toEqual([]);
    for (const id of [member.keyId, second.id])
      expect(await readAudit('api-key.secret-end', id)).toEqual([
        expect.objectContaining({ credential: { kind: 'system', id: null } }),
      ]);
  });

  it('at the end follow neither a rotation nor a decision to keep the secret nor a revocation', async () => {
    const members = await joinThree();
    for (const member of members) await transfer(member);
    expect(await subjects()).toHaveLength(3);
    expect((await rotate(members[0].keyId, hourLong)).status).toBe(201);
    expect((await keep(members[1].keyId)).status).toBe(200);
    expect((await org.api('delete', `/api-keys/${members[2].keyId}`)).status).toBe(204);
    await change(members[2].keyId, { secret_ends_at: ended() });
    expect(await subjects()).toEqual([]);
  });

  it('are one when the secret ends immediately', async () => {
    await transfer(await org.join('editor'), { to: heir.id, seconds: 0 });
    expect(await subjects()).toEqual([`${heir.email}: The secret of an API key of ${acme} has ended`]);
  });

  it('go to the member who had rotated the key when only an old secret ends', async () => {
    const [member, rotator] = [await org.join('editor'), await org.join('admin')];
    expect((await rotate(member.keyId, hourLong, rotator.api)).status).toBe(201);
    await transfer(member, { to: heir.id });
    const start = await onlyMail(rotator.email, `The secret of an API key of ${acme} will end`);
    expect(start.mail.text).toContain('the one before the last rotation');
  });

  it('are reported again for a secret that ends after the key was transferred once more', async () => {
    const member = await org.join('editor');
    await transfer(member, { to: heir.id });
    expect((await keep(member.keyId)).status).toBe(200);
    await transfer({ ...member, id: heir.id });
    await mails();
    await change(member.keyId, { secret_ends_at: ended() });
    expect(await subjects()).toEqual([expect.stringContaining('has ended')]);
  });
});
