// Sessions: how long they last, how they end, and that a cookie alone can't change anything from another
// site.
import supertest from 'supertest';
import { beforeEach, describe, expect, it } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { createId } from '../../src/core/id.ts';
import { type Answer, base, createApi, listIds, pluck, refusal } from '../setup/api.ts';
import { makeKey, makeMember, makeOrganization, makeSession } from '../setup/organization.ts';
import { sessionApi } from '../setup/sessions.ts';
import { until } from '../setup/until.ts';
import { useOrganization } from '../setup/use-organization.ts';

const org = useOrganization({ name: 'Acme' });

beforeEach(async () => {
  await org.ctx.db.control.raw('delete from rate_limits');
  await org.admin('sessions').delete();
});

const signedIn = async (userId = org.owner.id, organizationId: string | null = org.id) => {
  const session = await makeSession(org.ctx, userId, organizationId);
  return { ...session, api: sessionApi(org.app, session.token) };
};
/** The use of a session is recorded in the background, after the response. */
const isNoted = (id: string) =>
  until(async () =>
    org
      .admin('sessions')
      .where({ id })
      .whereRaw("last_seen_at > now() - interval '1 minute'")
      .first<object | undefined>('id'),
  );
const audit = (organizationId = org.id) =>
  org.admin('audit_log').where('organization_id', organizationId).select('*').orderBy('at');
/** Sets times of a session to that long ago. */
const age = (id: string, times: { last_seen_at?: string; created_at?: string }) =>
  org
    .admin('sessions')
    .where({ id })
    .update(
      Object.fromEntries(
        Object.entries(times).map(([name, ago]) => [name, org.admin.raw('now() - ?::interval', [ago])]),
      ),
    );
/** Another organization of the same owner. */
async function secondOrganization(): Promise<{ id: string; slug: string; ownerId: string }> {
  const second = await makeOrganization(org.ctx, { name: 'Second' });
  const own = { organization_id: second.id };
  const { id } = await org
    .admin('roles')
    .where({ ...own, name: 'viewer' })
    .first('id');
  await org.admin('memberships').insert({ ...own, user_id: org.owner.id, role_id: id });
  return second;
}
const leave = (organizationId: string) =>
  org.admin('memberships').where({ organization_id: organizationId, user_id: org.owner.id }).delete();
/** A request with these headers alone. */
const askWith = (headers: Record<string, string>, path = `${base}/whoami`) =>
  supertest(org.app).get(path).set(headers);

describe('a session', () => {
  it('is stored as a hash and ends when idle for 12 hours or after 7 days, by the database’s clock', async () => {
    expect(readConfig({}).settings.session).toEqual({ idleMs: 12 * 3_600_000, absoluteMs: 7 * 86_400_000 });
    const { id, token, api } = await signedIn();
    expect(JSON.stringify(await org.admin('sessions').where({ id }).first())).not.toContain(token);
    for (const [seen, made, status] of [
      ['11 hours 59 minutes', '12 hours', 200],
      ['12 hours 1 second', '12 hours 1 second', 401],
      ['1 minute', '6 days 23 hours 59 minutes', 200],
      ['1 minute', '7 days 1 second', 401],
    ] as const) {
      await age(id, { last_seen_at: seen, created_at: made });
      expect([seen, made, (await api('get', '/whoami')).status]).toEqual([seen, made, status]);
      if (status === 200) await isNoted(id);
    }
  });

  it('is deleted by pruning only after it has ended', async () => {
    const [alive, idle, old] = [await signedIn(), await signedIn(), await signedIn()];
    await age(alive.id, { last_seen_at: '11 hours 59 minutes' });
    await age(idle.id, { last_seen_at: '12 hours 1 minute' });
    await age(old.id, { created_at: '7 days 1 minute' });
    const used_at = org.admin.raw("now() - interval '61 minutes'");
    await org.admin('used_sign_ins').insert({ state_hash: Buffer.from('old'), used_at });
    await org.admin('used_sign_ins').insert({ state_hash: Buffer.from('new') });
    await org.ctx.db.control.raw('select prune_expired()');
    expect(await org.admin('sessions').pluck('id')).toEqual([alive.id]);
    expect((await org.admin('used_sign_ins').pluck('state_hash')).map(String)).toEqual(['new']);
  });

  it('continues while it is used', async () => {
    const { id, api } = await signedIn();
    await age(id, { last_seen_at: '11 hours' });
    await api('get', '/whoami');
    await isNoted(id);
  });

  it.each([
    ['empty', 'portal_session='],
    ['too short', 'portal_session=abc'],
    ['too long', `portal_session=${'a'.repeat(5_000)}`],
    ['of other characters', `portal_session=${'é'.repeat(43)}`],
    ['a broken escape', 'portal_session=%E0%A4%A'],
    ['NUL', 'portal_session=%00'],
    ['quoted', `portal_session="${'a'.repeat(43)}"`],
    ['unknown', `portal_session=${'a'.repeat(43)}`],
    ['no pair', ';;;portal_session'],
    ['an inherited name', '__proto__=x; constructor=y'],
  ])('401 for a cookie that is %s', async (_name, cookie) => {
    expect(await askWith({ cookie: Buffer.from(cookie, 'utf8').toString('latin1') })).toMatchObject({
      status: 401,
      body: { error: { code: 'UNAUTHORIZED' } },
    });
  });

  it('of two cookies the valid one counts, because a sibling domain may have set the other; 401 for two valid ones', async () => {
    const [mine, other] = [await signedIn(), await signedIn()];
    const asking = (...cookies: string[]) => askWith({ cookie: cookies.join('; ') });
    const own = `portal_session=${mine.token}`;
    for (const planted of ['x', 'a'.repeat(43), 'é'.repeat(43), '']) {
      const cookies = [own, `portal_session=${encodeURIComponent(planted)}`];
      for (const cookie of [cookies, cookies.toReversed()]) {
        const answer = await asking(...cookie);
        expect([planted, answer.status, answer.body.credential?.kind]).toEqual([planted, 200, 'session']);
      }
    }
    const many = Array.from({ length: 100 }, (_, n) => `portal_session=${String(n).padStart(43, 'a')}`);
    expect((await asking(...many, own)).status).toBe(200);
    expect((await asking(own, `portal_session=${other.token}`)).status).toBe(401);
    expect((await asking(own, own, 'x=1')).status).toBe(200);
  });

  it('an Authorization header takes precedence, even an invalid one', async () => {
    const { token, api } = await signedIn();
    const key = await makeKey(org.ctx, org.id);
    const both = await api('get', '/whoami', undefined, { authorization: `Bearer ${key.secret}` });
    expect(both.body.credential).toEqual({ kind: 'api-key', id: key.id });
    const cookie = `portal_session=${token}`;
    for (const authorization of ['Bearer psk_wrong', 'Bearer x', 'Basic abc', '']) {
      const { status } = await askWith({ authorization, cookie });
      expect([authorization, status]).toEqual([authorization, 401]);
    }
  });

  it('is not accepted by the public interface', async () => {
    const headers = { cookie: `portal_session=${(await signedIn()).token}`, 'x-tenant-id': org.id };
    expect((await askWith(headers, '/api/public/v1/invoices')).status).toBe(401);
  });
});

describe('a request with a session that may change data', () => {
  const create = (token: string, headers: Record<string, string>) =>
    sessionApi(org.app, token, null)('post', '/api-keys', { name: 'x' }, headers);

  it('403 unless it comes from a page of this service', async () => {
    const { token } = await signedIn();
    const before = (await org.admin('api_keys').pluck('id')).length;
    for (const headers of [
      {},
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: 'http://127.0.0.1:81' },
      { origin: 'https://127.0.0.1' },
      { origin: 'http://127.0.0.1.evil.example' },
      { referer: 'http://127.0.0.1/' },
    ] as Record<string, string>[]) {
      const answer = await create(token, headers);
      expect([headers, ...(await refusal(answer))]).toEqual([headers, 403, 'foreign_origin']);
      expect(answer.headers['ratelimit']).toBeDefined();
    }
    expect((await org.admin('api_keys').pluck('id')).length).toBe(before);
    expect((await create(token, { origin: 'http://127.0.0.1' })).status).toBe(201);
  });

  it('matters to writes alone, and a key needs none', async () => {
    const { token } = await signedIn();
    expect((await sessionApi(org.app, token, null)('get', '/api-keys')).status).toBe(200);
    expect((await sessionApi(org.app, token, 'https://evil.example')('get', '/api-keys')).status).toBe(200);
    const headers = { origin: 'https://evil.example', cookie: `portal_session=${token}` };
    expect((await org.api('post', '/api-keys', { name: 'x' }, headers)).status).toBe(201);
  });
});

it('GET /whoami/sessions lists the active sessions of the caller, newest first, and marks the current one', async () => {
  const [first, second, dead] = [await signedIn(), await signedIn(), await signedIn()];
  await age(dead.id, { last_seen_at: '13 hours' });
  const member = await makeMember(org.ctx, org.id, 'viewer');
  await signedIn(member.id);
  await age(first.id, { created_at: '6 days 23 hours' });
  const { body } = await second.api('get', '/whoami/sessions');
  expect(body.pagination).toEqual({ total: 2, page: 1, pageSize: 25, totalPages: 1 });
  expect(pluck(body.data, 'id', 'current')).toEqual([
    [second.id, true],
    [first.id, false],
  ]);
  const at = expect.stringMatching(/Z$/);
  expect(body.data[0]).toEqual({
    ...{ id: second.id, createdAt: at, lastSeenAt: at, expiresAt: at },
    ...{ ip: '127.0.0.1', userAgent: 'test', current: true },
  });
  const hoursLeft = (until: string) => Math.round((Date.parse(until) - Date.now()) / 3_600_000);
  expect(pluck(body.data, 'expiresAt').map(hoursLeft)).toEqual([12, 1]);
  const next = await second.api('get', '/whoami/sessions?pageSize=1&page=2');
  expect(listIds(next)).toEqual([first.id]);
  expect(JSON.stringify(body)).not.toContain(second.token);
});

describe('DELETE /whoami/sessions', () => {
  it('ends one at once and writes an audit row; 404 the second time', async () => {
    const [mine, lost] = [await signedIn(), await signedIn()];
    expect((await lost.api('get', '/whoami')).status).toBe(200);
    expect((await mine.api('delete', `/whoami/sessions/${lost.id}`)).status).toBe(204);
    expect((await lost.api('get', '/whoami')).status).toBe(401);
    const by = { credential_id: mine.id, actor_id: org.owner.id };
    expect((await audit()).at(-1)).toMatchObject({ action: 'session.end', target_id: lost.id, ...by });
    expect((await mine.api('delete', `/whoami/sessions/${lost.id}`)).status).toBe(404);
    expect((await mine.api('delete', `/whoami/sessions/${mine.id}`)).status).toBe(204);
    expect((await mine.api('get', '/whoami')).status).toBe(401);
  });

  it('404 for another person’s session, which stays unchanged', async () => {
    const mine = await signedIn();
    const member = await makeMember(org.ctx, org.id, 'viewer');
    const theirs = await signedIn(member.id);
    const foreign = await mine.api('delete', `/whoami/sessions/${theirs.id}`);
    const unknown = await mine.api('delete', `/whoami/sessions/${createId()}`);
    expect([foreign.status, foreign.body.error.message]).toEqual([404, 'Session not found']);
    expect({ ...foreign.body.error, requestId: '' }).toEqual({ ...unknown.body.error, requestId: '' });
    expect((await theirs.api('get', '/whoami')).status).toBe(200);
  });

  it('ends all except the current one, each with an audit row in its organization', async () => {
    const second = await secondOrganization();
    const [mine, here, there, nowhere] = [
      await signedIn(),
      await signedIn(),
      await signedIn(org.owner.id, second.id),
      await signedIn(org.owner.id, null),
    ];
    const member = await makeMember(org.ctx, org.id, 'viewer');
    const theirs = await signedIn(member.id);
    expect((await mine.api('delete', '/whoami/sessions')).status).toBe(204);
    expect((await org.admin('sessions').pluck('id')).sort()).toEqual([mine.id, theirs.id].sort());
    expect((await audit()).at(-1)).toMatchObject({ action: 'session.end', target_id: here.id });
    expect(pluck(await audit(second.id), 'action', 'target_id')).toEqual([['session.end', there.id]]);
    expect(JSON.stringify(await audit())).not.toContain(nowhere.id);
    await leave(second.id);
  });

  it('writes no audit row in an organization that the person has left', async () => {
    const second = await secondOrganization();
    const [mine, there] = [await signedIn(), await signedIn(org.owner.id, second.id)];
    await leave(second.id);
    expect((await mine.api('delete', `/whoami/sessions/${there.id}`)).status).toBe(204);
    expect(await audit(second.id)).toEqual([]);
  });
});

describe('GET /whoami/organizations and POST /whoami/active-organization', () => {
  it('lists them newest first with role and selection, and switches the session between them', async () => {
    const second = await secondOrganization();
    const { api, id } = await signedIn();
    const readRoles = async (query = '') => {
      const { data } = (await api('get', `/whoami/organizations${query}`)).body;
      return data.map(({ id, role, active }: Answer['body']) => [id, role.name, active]);
    };
    const choose = (organizationId: string) => api('post', '/whoami/active-organization', { organizationId });
    expect(await readRoles()).toEqual([
      [second.id, 'viewer', false],
      [org.id, 'owner', true],
    ]);
    expect(await readRoles('?q=SECO')).toEqual([[second.id, 'viewer', false]]);
    expect(await readRoles('?pageSize=1&page=2')).toEqual([[org.id, 'owner', true]]);
    expect(await readRoles('?page=9')).toEqual([]);
    const chosen = await choose(second.id);
    const { slug } = second;
    expect([chosen.status, chosen.body]).toEqual([
      200,
      {
        organization: { id: second.id, slug, name: 'Second' },
        role: { id: expect.any(String), name: 'viewer' },
      },
    ]);
    expect((await api('get', '/whoami')).body).toMatchObject({
      organization: { id: second.id },
      membership: { role: { name: 'viewer' } },
    });
    const { message } = (await api('post', '/api-keys', { name: 'x' })).body.error;
    expect(message).toBe('Missing required permission: api-key:create');
    const changes = { organizationId: { from: org.id, to: second.id } };
    const choice = { action: 'session.choose-organization', target_id: id, changes };
    expect((await audit(second.id)).at(-1)).toMatchObject(choice);
    // A request meant for that organization must not take effect in the remaining one.
    await leave(second.id);
    const meant = api('post', '/teams', { name: 'meant for the second' });
    expect(await refusal(meant)).toEqual([400, 'organization_needed']);
    await choose(org.id);
    expect((await api('get', '/whoami')).body.organization.id).toBe(org.id);
  });

  it('422 for an organization that is not the person’s, as for an unknown one', async () => {
    const { api, id } = await signedIn();
    const foreign = await makeOrganization(org.ctx);
    for (const organizationId of [foreign.id, createId()]) {
      const chosen = api('post', '/whoami/active-organization', { organizationId });
      expect(await refusal(chosen)).toEqual([422, 'not_a_member']);
    }
    expect((await org.admin('sessions').where({ id }).first()).active_organization_id).toBe(org.id);
    expect(await audit(foreign.id)).toEqual([]);
  });

  it('shows a key only its own organization', async () => {
    const second = await secondOrganization();
    const { secret } = await makeKey(org.ctx, second.id, { createdBy: org.owner.id });
    const { body } = await createApi(org.app, secret)('get', '/whoami/organizations');
    const { id, slug } = second;
    const role = { id: expect.any(String), name: 'viewer' };
    expect(body.data).toEqual([{ id, slug, name: 'Second', role, active: true }]);
    await leave(second.id);
  });
});
