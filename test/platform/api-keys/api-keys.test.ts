import { beforeAll, describe, expect, it } from 'vitest';
import { hasApiKeyFormat } from '../../../src/identity/api-key.ts';
import { type Api, createApi, listCodes, listIds, refusal } from '../../setup/api.ts';
import { makeKey, makeMember } from '../../setup/organization.ts';
import { useOrganization } from '../../setup/use-organization.ts';

const org = useOrganization();

beforeAll(async () => {
  const invoices = {
    name: 'invoices',
    recordType: 'invoice',
    fields: [{ name: 'number', source: 'tranid' }],
  };
  expect((await org.api('post', '/api-schema', { endpoints: [invoices] })).body.version).toBe('v1');
});

const readStatus = async (secret: string): Promise<number> =>
  (await createApi(org.app, secret)('get', '/whoami')).status;
/** A management key of another person whose role has only these permissions. */
const memberKey = async (role: string | readonly string[]): Promise<Api> => (await org.join(role)).api;
const create = async (api: Api, body: object) => {
  const answer = await api('post', '/api-keys', { name: 'made', ...body });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body as { id: string; secret: string; prefix: string };
};
const change = (id: string, columns: object) => org.sql((tx) => tx('api_keys').where({ id }).update(columns));

describe('POST /api-keys', () => {
  it('201 returns the secret once, and stores neither it nor enough to derive it', async () => {
    const made = await create(org.api, { name: ' Reports ', scopes: { permissions: ['read'] } });
    expect(made).toMatchObject({
      name: 'Reports',
      status: 'active',
      prefix: made.secret.slice(0, 12),
      expiresAt: null,
      revokedAt: null,
    });
    expect(hasApiKeyFormat(made.secret)).toBe(true);
    const shown = JSON.stringify([
      (await org.api('get', `/api-keys/${made.id}`)).body,
      (await org.api('get', '/api-keys')).body,
    ]);
    expect(shown).not.toContain(made.secret);
    expect(shown).not.toContain('"secret"');
    const { rows } = await org.sql((tx) =>
      tx.raw(
        "select (select string_agg(k::text, '') from api_keys k) || (select string_agg(a::text, '') from audit_log a) as text",
      ),
    );
    expect(rows[0].text).not.toContain(made.secret);
    expect(rows[0].text).toContain(made.prefix);
    expect(await readStatus(made.secret)).toBe(200);
  });

  it('401 for a key with a wrong character, without a database lookup', async () => {
    const { secret } = await create(org.api, {});
    const last = secret.at(-1) === 'a' ? 'b' : 'a';
    expect(hasApiKeyFormat(secret.slice(0, -1) + last)).toBe(false);
    expect(await readStatus(secret.slice(0, -1) + last)).toBe(401);
    expect(await readStatus(`psk_${'0'.repeat(49)}`)).toBe(401);
  });

  it('422 for versions that do not exist; a version that the key already names may have been deleted', async () => {
    const scopes = { versions: ['v1', 'v8', 'v9'] };
    const refused = await org.api('post', '/api-keys', { name: 'for later', scopes });
    expect([refused.status, listCodes(refused)]).toEqual([422, ['unknown_version', 'unknown_version']]);
    expect(refused.body.error.details[0].message).toContain('v8');
    const { id } = await create(org.api, { scopes: { versions: ['v1'] } });
    expect(
      listCodes(await org.api('patch', `/api-keys/${id}`, { scopes: { versions: ['v1', 'v9'] } })),
    ).toEqual(['unknown_version']);
    await change(id, { scope_versions: ['v7', 'v1'] });
    expect((await org.api('patch', `/api-keys/${id}`, { scopes: { versions: ['v7'] } })).status).toBe(200);
  });

  it('422 when the key would already be expired', async () => {
    expect(
      await refusal(org.api('post', '/api-keys', { name: 'late', expiresAt: '2020-01-01T00:00:00Z' })),
    ).toEqual([422, 'in_the_past']);
  });

  it.each([
    '9999-12-31T23:59:59-23:59',
    '2999-01-01T00:00:00.123456789012345678901234567890Z',
    `2999-01-01T00:00:00.${'1'.repeat(2000)}Z`,
  ])('accepts or rejects %.40s, but never answers 500', async (expiresAt) => {
    expect((await org.api('post', '/api-keys', { name: 'far', expiresAt })).status).toBeLessThan(500);
    expect((await org.api('get', '/api-keys')).status).toBe(200);
  });
});

describe('a key', () => {
  it('has at most the permissions of its creator, and loses them with its creator', async () => {
    const member = await makeMember(org.ctx, org.id, 'editor');
    const { secret } = await makeKey(org.ctx, org.id, { permissions: ['write'], createdBy: member.id });
    const api = createApi(org.app, secret);
    const before = (await api('get', '/whoami')).body;
    expect(before.permissions).toContain('sync:create');
    expect(before.permissions).not.toContain('api-key:create');
    await org.sql(async (tx) => {
      const viewer = await tx('roles').where({ name: 'viewer' }).first<{ id: string }>('id');
      await tx('memberships').where({ user_id: member.id }).update({ role_id: viewer.id });
    });
    expect((await api('get', '/whoami')).body.permissions).not.toContain('sync:create');
    await org.sql((tx) => tx('memberships').where({ user_id: member.id }).delete());
    const after = await api('get', '/whoami');
    expect([after.status, after.body.permissions, after.body.user.id]).toEqual([200, [], member.id]);
    expect((await api('get', '/api-keys')).status).toBe(403);
    expect((await org.api('get', '/api-keys')).status).toBe(200);
  });

  it('expires', async () => {
    const { id, secret } = await create(org.api, { expiresAt: new Date(Date.now() + 60_000).toISOString() });
    expect(await readStatus(secret)).toBe(200);
    await change(id, { expires_at: new Date(Date.now() - 1000) });
    expect(await readStatus(secret)).toBe(401);
    expect((await org.api('get', `/api-keys/${id}`)).body.status).toBe('expired');
    expect(listIds(await org.api('get', '/api-keys?status=expired'))).toEqual([id]);
  });
});

describe('PATCH /api-keys/{id}', () => {
  it('updates the given fields and leaves the others', async () => {
    const { id } = await create(org.api, { scopes: { versions: ['v1'] }, expiresAt: '2999-01-01T00:00:00Z' });
    const answer = await org.api('patch', `/api-keys/${id}`, { name: 'New name' });
    expect(answer.body).toMatchObject({
      name: 'New name',
      scopes: { versions: ['v1'] },
      expiresAt: '2999-01-01T00:00:00Z',
    });
    expect((await org.api('patch', `/api-keys/${id}`, { expiresAt: null })).body.expiresAt).toBeNull();
  });

  it('403 when a caller widens a key of someone with more permissions', async () => {
    const helper = await memberKey(['api-key:update', 'api-key:read', 'team:create']);
    const reading = await create(org.api, { scopes: { permissions: ['read'] } });
    expect(
      await refusal(helper('patch', `/api-keys/${reading.id}`, { scopes: { permissions: ['write'] } })),
    ).toEqual([403, 'escalation']);
    const restricted = await create(org.api, { scopes: { resources: ['invoices'], permissions: ['write'] } });
    expect(
      (await helper('patch', `/api-keys/${restricted.id}`, { scopes: { permissions: ['write'] } })).status,
    ).toBe(403);
    const expired = await create(org.api, { scopes: { permissions: ['write'] } });
    await change(expired.id, { expires_at: new Date(Date.now() - 1000) });
    expect((await helper('patch', `/api-keys/${expired.id}`, { expiresAt: null })).status).toBe(403);
    expect(
      (await helper('patch', `/api-keys/${restricted.id}`, { scopes: { resources: ['invoices'] } })).status,
    ).toBe(200);
    expect(
      (await org.api('patch', `/api-keys/${reading.id}`, { scopes: { permissions: ['write'] } })).status,
    ).toBe(200);
  });

  it('422 for a revoked key', async () => {
    const { id } = await create(org.api, {});
    await org.api('delete', `/api-keys/${id}`);
    expect(await refusal(org.api('patch', `/api-keys/${id}`, { name: 'x' }))).toEqual([422, 'revoked']);
  });
});

it('DELETE /api-keys/{id}: 204; the secret stops working immediately, the key stays listed, and revoking again changes nothing', async () => {
  const { id, secret } = await create(org.api, {});
  expect(await readStatus(secret)).toBe(200);
  expect((await org.api('delete', `/api-keys/${id}`)).status).toBe(204);
  expect(await readStatus(secret)).toBe(401);
  const shown = (await org.api('get', `/api-keys/${id}`)).body;
  expect(shown.status).toBe('revoked');
  expect((await org.api('delete', `/api-keys/${id}`)).status).toBe(204);
  expect((await org.api('get', `/api-keys/${id}`)).body.revokedAt).toBe(shown.revokedAt);
  const log = await org.api('get', `${org.at}/audit-log?targetId=${id}&action=api-key.revoke`);
  expect(log.body.pagination.total).toBe(1);
});

describe('POST /api-keys/{id}/rotate', () => {
  it('201 with a new secret; without a grace period the old one ends immediately', async () => {
    const made = await create(org.api, {});
    const rotated = await org.api('post', `/api-keys/${made.id}/rotate`, {});
    expect(rotated.status).toBe(201);
    expect(rotated.body.prefix).toBe(rotated.body.secret.slice(0, 12));
    expect([await readStatus(made.secret), await readStatus(rotated.body.secret)]).toEqual([401, 200]);
  });

  it('keeps the old secret valid during the grace period only; a second rotation ends the oldest', async () => {
    const made = await create(org.api, {});
    const second = (await org.api('post', `/api-keys/${made.id}/rotate`, { gracePeriodSeconds: 3600 })).body
      .secret;
    expect([await readStatus(made.secret), await readStatus(second)]).toEqual([200, 200]);
    const third = (await org.api('post', `/api-keys/${made.id}/rotate`, { gracePeriodSeconds: 3600 })).body
      .secret;
    expect([await readStatus(made.secret), await readStatus(second), await readStatus(third)]).toEqual([
      401, 200, 200,
    ]);
    await change(made.id, { previous_expires_at: new Date(Date.now() - 1000) });
    expect([await readStatus(second), await readStatus(third)]).toEqual([401, 200]);
  });

  it('shows until when the old secret works', async () => {
    const { id } = await create(org.api, {});
    const readGraceEnd = async () => (await org.api('get', `/api-keys/${id}`)).body.graceEndsAt;
    expect(await readGraceEnd()).toBeNull();
    const { graceEndsAt } = (await org.api('post', `/api-keys/${id}/rotate`, { gracePeriodSeconds: 3600 }))
      .body;
    expect(new Date(graceEndsAt).getTime() - Date.now()).toSatisfy(
      (ms: number) => ms > 3_500_000 && ms <= 3_600_000,
    );
    expect(await readGraceEnd()).toBe(graceEndsAt);
    await change(id, { expires_at: new Date(Date.now() - 1000) });
    expect(await readGraceEnd()).toBeNull();
    await change(id, { expires_at: null, previous_expires_at: new Date(Date.now() - 1000) });
    expect(await readGraceEnd()).toBeNull();
  });

  it('gives the old secret none of the permissions of the caller who rotated', async () => {
    const editor = await makeMember(org.ctx, org.id, 'editor');
    const old = await makeKey(org.ctx, org.id, { permissions: ['write'], createdBy: editor.id });
    const rotated = await org.api('post', `/api-keys/${old.id}/rotate`, { gracePeriodSeconds: 3600 });
    const permissions = async (secret: string) =>
      (await createApi(org.app, secret)('get', '/whoami')).body.permissions;
    expect(await permissions(rotated.body.secret)).toContain('api-key:create');
    expect(await permissions(old.secret)).not.toContain('api-key:create');
    expect(await permissions(old.secret)).toContain('sync:create');
  });

  it('422 when the caller who rotated widens the scopes while the old secret acts for its former holder', async () => {
    const old = await create(org.api, {
      scopes: { versions: ['v1'], resources: ['invoices'], permissions: ['read'] },
    });
    const holder = await memberKey(['api-key:read', 'api-key:update', 'record:read']);
    const wide = { scopes: { permissions: ['write'] } };
    expect((await holder('patch', `/api-keys/${old.id}`, wide)).status).toBe(403);
    expect((await holder('post', `/api-keys/${old.id}/rotate`, { gracePeriodSeconds: 3600 })).status).toBe(
      201,
    );
    for (const scopes of [
      { permissions: ['write'] },
      { permissions: ['read'] },
      { versions: ['v1'], permissions: ['write'] },
    ])
      expect(listCodes(await holder('patch', `/api-keys/${old.id}`, { scopes }))).toEqual(['grace_running']);
    expect((await createApi(org.app, old.secret)('get', '/whoami')).body.permissions).toEqual([]);
    expect((await holder('post', `/api-keys/${old.id}/rotate`, {})).status).toBe(201);
    expect((await holder('patch', `/api-keys/${old.id}`, wide)).status).toBe(200);
  });

  it('422 for a revoked key and an expired key', async () => {
    const { id } = await create(org.api, {});
    await change(id, { expires_at: new Date(Date.now() - 1000) });
    expect(listCodes(await org.api('post', `/api-keys/${id}/rotate`, {}))).toEqual(['expired']);
    await org.api('delete', `/api-keys/${id}`);
    expect(listCodes(await org.api('post', `/api-keys/${id}/rotate`, {}))).toEqual(['revoked']);
  });
});

it('the lifetime of a key is extended only by callers with the permissions of the key, and shortened by anyone who may update it', async () => {
  const made = await create(org.api, {
    scopes: { permissions: ['write'] },
    expiresAt: '2998-01-01T00:00:00Z',
  });
  const holder = await memberKey(['api-key:read', 'api-key:update']);
  for (const expiresAt of [null, '2999-01-01T00:00:00Z'])
    expect(listCodes(await holder('patch', `/api-keys/${made.id}`, { expiresAt }))).toEqual(['escalation']);
  expect((await holder('patch', `/api-keys/${made.id}`, { expiresAt: '2997-01-01T00:00:00Z' })).status).toBe(
    200,
  );
  expect((await org.api('patch', `/api-keys/${made.id}`, { expiresAt: null })).status).toBe(200);
});

it('GET /api-keys finds by name and status, newest first', async () => {
  const [a, b] = [
    await create(org.api, { name: 'Zebra one' }),
    await create(org.api, { name: 'zebra 100%' }),
  ];
  const ids = async (query: string) => listIds(await org.api('get', `/api-keys?${query}`));
  expect(await ids('q=ZEBRA')).toEqual([b.id, a.id]);
  expect(await ids('q=%25')).toEqual([b.id]);
  expect(await ids('q=zebra&pageSize=1&page=2')).toEqual([a.id]);
  await org.api('delete', `/api-keys/${a.id}`);
  expect(await ids('q=zebra&status=revoked')).toEqual([a.id]);
});
