import { beforeAll, describe, expect, it } from 'vitest';
import { hasApiKeyFormat } from '../../../src/identity/api-key.ts';
import { type Api, createApi, listIds, refusal } from '../../setup/api.ts';
import { makeKey, makeMember } from '../../setup/organization.ts';
import { useOrganization } from '../../setup/use-organization.ts';
import { createKeyCalls } from './fixture.ts';

const org = useOrganization();
const { create, read, patch, rotate, revoke, change, readStatus } = createKeyCalls(org);

beforeAll(async () => {
  const fields = [{ name: 'number', source: 'tranid' }];
  const endpoints = [{ name: 'invoices', recordType: 'invoice', fields }];
  expect((await org.api('post', '/api-schema', { endpoints })).body.version).toBe('v1');
});

/** A management key of another person whose role has only these permissions. */
const memberKey = async (role: string | readonly string[]): Promise<Api> => (await org.join(role)).api;
const long = { gracePeriodSeconds: 3600 };
const ago = () => new Date(Date.now() - 1000);

describe('POST /api-keys', () => {
  it('201 returns the secret once, and stores neither it nor enough to derive it', async () => {
    const made = await create({ name: ' Reports ', scopes: { permissions: ['read'] } });
    const prefix = made.secret.slice(0, 12);
    const expected = { name: 'Reports', status: 'active', prefix, expiresAt: null, revokedAt: null };
    expect(made).toMatchObject(expected);
    expect(hasApiKeyFormat(made.secret)).toBe(true);
    const shown = JSON.stringify([await read(made.id), (await org.api('get', '/api-keys')).body]);
    expect(shown).not.toContain(made.secret);
    expect(shown).not.toContain('"secret"');
    const { rows } = await org.admin.raw(
      "select (select string_agg(k::text, '') from api_keys k) || (select string_agg(a::text, '') from audit_log a) as text",
    );
    expect(rows[0].text).not.toContain(made.secret);
    expect(rows[0].text).toContain(prefix);
    expect(await readStatus(made.secret)).toBe(200);
  });

  it('with the permission none, which a person with fewer permissions may not widen, and which excludes the others', async () => {
    const reader = await memberKey(['api-key:create', 'api-key:update', 'record:read']);
    const { id } = await create({ scopes: { permissions: ['none'] } });
    expect((await read(id)).scopes.permissions).toEqual(['none']);
    expect(await refusal(patch(id, { scopes: { permissions: ['write'] } }, reader))).toEqual([
      403,
      'escalation',
    ]);
    const both = org.api('post', '/api-keys', { name: 'x', scopes: { permissions: ['none', 'read'] } });
    const { status, body } = await both;
    expect([status, body.error.details]).toMatchObject([
      422,
      [{ path: 'scopes.permissions[0]', message: 'must be read or write, or the only entry and none' }],
    ]);
  });

  it('401 for a key with a wrong character, without a database lookup', async () => {
    const { secret } = await create();
    const wrong = secret.slice(0, -1) + (secret.at(-1) === 'a' ? 'b' : 'a');
    expect(hasApiKeyFormat(wrong)).toBe(false);
    for (const one of [wrong, `psk_${'0'.repeat(49)}`]) expect(await readStatus(one)).toBe(401);
  });

  it('422 for versions that do not exist; a version that the key already names may have been deleted', async () => {
    const scopes = { versions: ['v1', 'v8', 'v9'] };
    const refused = await org.api('post', '/api-keys', { name: 'for later', scopes });
    expect(await refusal(refused)).toEqual([422, 'unknown_version', 'unknown_version']);
    expect(refused.body.error.details[0].message).toContain('v8');
    const { id } = await create({ scopes: { versions: ['v1'] } });
    const wider = patch(id, { scopes: { versions: ['v1', 'v9'] } });
    expect(await refusal(wider)).toEqual([422, 'unknown_version']);
    await change(id, { scope_versions: ['v7', 'v1'] });
    expect((await patch(id, { scopes: { versions: ['v7'] } })).status).toBe(200);
  });

  it('422 when the key would already be expired', async () => {
    const late = org.api('post', '/api-keys', { name: 'late', expiresAt: '2020-01-01T00:00:00Z' });
    expect(await refusal(late)).toEqual([422, 'in_the_past']);
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
    const { permissions } = (await api('get', '/whoami')).body;
    expect(permissions).toContain('sync:create');
    expect(permissions).not.toContain('api-key:create');
    const membership = () => org.admin('memberships').where({ user_id: member.id });
    await membership().update({ role_id: org.role('viewer') });
    expect((await api('get', '/whoami')).body.permissions).not.toContain('sync:create');
    await membership().delete();
    const after = await api('get', '/whoami');
    expect([after.status, after.body.permissions, after.body.user.id]).toEqual([200, [], member.id]);
    expect((await api('get', '/api-keys')).status).toBe(403);
    expect((await org.api('get', '/api-keys')).status).toBe(200);
  });

  it('expires', async () => {
    const { id, secret } = await create({ expiresAt: new Date(Date.now() + 60_000).toISOString() });
    expect(await readStatus(secret)).toBe(200);
    await change(id, { expires_at: ago() });
    expect(await readStatus(secret)).toBe(401);
    expect((await read(id)).status).toBe('expired');
    expect(listIds(await org.api('get', '/api-keys?status=expired'))).toEqual([id]);
  });
});

describe('PATCH /api-keys/{id}', () => {
  it('updates the given fields and leaves the others', async () => {
    const kept = { scopes: { versions: ['v1'] }, expiresAt: '2999-01-01T00:00:00Z' };
    const { id } = await create(kept);
    expect((await patch(id, { name: 'New name' })).body).toMatchObject({ name: 'New name', ...kept });
    expect((await patch(id, { expiresAt: null })).body.expiresAt).toBeNull();
  });

  it('403 when a caller widens a key of someone with more permissions', async () => {
    const helper = await memberKey(['api-key:update', 'api-key:read', 'team:create']);
    const wide = { scopes: { permissions: ['write'] } };
    const reading = await create({ scopes: { permissions: ['read'] } });
    const restricted = await create({ scopes: { resources: ['invoices'], permissions: ['write'] } });
    const expired = await create(wide);
    await change(expired.id, { expires_at: ago() });
    for (const [{ id }, body] of [
      [reading, wide],
      [restricted, wide],
      [expired, { expiresAt: null }],
    ] as const)
      expect(await refusal(patch(id, body, helper))).toEqual([403, 'escalation']);
    expect((await patch(restricted.id, { scopes: { resources: ['invoices'] } }, helper)).status).toBe(200);
    expect((await patch(reading.id, wide)).status).toBe(200);
  });

  it('422 for a revoked key', async () => {
    const { id } = await create();
    await revoke(id);
    expect(await refusal(patch(id, { name: 'x' }))).toEqual([422, 'revoked']);
  });
});

it('DELETE /api-keys/{id}: 204; the secret stops working immediately, the key stays listed, and revoking again changes nothing', async () => {
  const { id, secret } = await create();
  expect(await readStatus(secret)).toBe(200);
  expect((await revoke(id)).status).toBe(204);
  expect(await readStatus(secret)).toBe(401);
  const shown = await read(id);
  expect(shown.status).toBe('revoked');
  expect((await revoke(id)).status).toBe(204);
  expect((await read(id)).revokedAt).toBe(shown.revokedAt);
  const log = await org.api('get', `${org.at}/audit-log?targetId=${id}&action=api-key.revoke`);
  expect(log.body.pagination.total).toBe(1);
});

describe('POST /api-keys/{id}/rotate', () => {
  it('201 with a new secret; without a grace period the old one ends immediately', async () => {
    const made = await create();
    const { status, body } = await rotate(made.id);
    expect([status, body.prefix]).toEqual([201, body.secret.slice(0, 12)]);
    expect([await readStatus(made.secret), await readStatus(body.secret)]).toEqual([401, 200]);
  });

  it('keeps the old secret valid during the grace period only; a second rotation ends the oldest', async () => {
    const { id, secret: first } = await create();
    const readStatuses = (...secrets: string[]) => Promise.all(secrets.map(readStatus));
    const second = (await rotate(id, long)).body.secret;
    expect(await readStatuses(first, second)).toEqual([200, 200]);
    const third = (await rotate(id, long)).body.secret;
    expect(await readStatuses(first, second, third)).toEqual([401, 200, 200]);
    await change(id, { previous_expires_at: ago() });
    expect(await readStatuses(second, third)).toEqual([401, 200]);
  });

  it('shows until when the old secret works', async () => {
    const { id } = await create();
    const readGraceEnd = async () => (await read(id)).graceEndsAt;
    expect(await readGraceEnd()).toBeNull();
    const { graceEndsAt } = (await rotate(id, long)).body;
    const ms = new Date(graceEndsAt).getTime() - Date.now();
    expect(ms > 3_500_000 && ms <= 3_600_000, String(ms)).toBe(true);
    expect(await readGraceEnd()).toBe(graceEndsAt);
    for (const ended of [{ expires_at: ago() }, { expires_at: null, previous_expires_at: ago() }]) {
      await change(id, ended);
      expect(await readGraceEnd()).toBeNull();
    }
  });

  it('gives the old secret none of the permissions of the caller who rotated', async () => {
    const editor = await makeMember(org.ctx, org.id, 'editor');
    const old = await makeKey(org.ctx, org.id, { permissions: ['write'], createdBy: editor.id });
    const rotated = (await rotate(old.id, long)).body;
    expect(await org.readPermissions(rotated.secret)).toContain('api-key:create');
    const permissions = await org.readPermissions(old.secret);
    expect(permissions).not.toContain('api-key:create');
    expect(permissions).toContain('sync:create');
  });

  it('422 when the caller who rotated widens the scopes while the old secret acts for its former holder', async () => {
    const narrow = { versions: ['v1'], resources: ['invoices'], permissions: ['read'] };
    const { id, secret } = await create({ scopes: narrow });
    const holder = await memberKey(['api-key:read', 'api-key:update', 'record:read']);
    const wide = { scopes: { permissions: ['write'] } };
    expect((await patch(id, wide, holder)).status).toBe(403);
    expect((await rotate(id, long, holder)).status).toBe(201);
    for (const scopes of [wide.scopes, { permissions: ['read'] }, { versions: ['v1'], ...wide.scopes }])
      expect(await refusal(patch(id, { scopes }, holder))).toEqual([422, 'grace_running']);
    expect(await org.readPermissions(secret)).toEqual([]);
    expect((await rotate(id, {}, holder)).status).toBe(201);
    expect((await patch(id, wide, holder)).status).toBe(200);
  });

  it('422 for a revoked key and an expired key', async () => {
    const { id } = await create();
    await change(id, { expires_at: ago() });
    expect(await refusal(rotate(id))).toEqual([422, 'expired']);
    await revoke(id);
    expect(await refusal(rotate(id))).toEqual([422, 'revoked']);
  });
});

it('the lifetime of a key is extended only by callers with the permissions of the key, and shortened by anyone who may update it', async () => {
  const { id } = await create({ scopes: { permissions: ['write'] }, expiresAt: '2998-01-01T00:00:00Z' });
  const holder = await memberKey(['api-key:read', 'api-key:update']);
  for (const expiresAt of [null, '2999-01-01T00:00:00Z'])
    expect(await refusal(patch(id, { expiresAt }, holder))).toEqual([403, 'escalation']);
  expect((await patch(id, { expiresAt: '2997-01-01T00:00:00Z' }, holder)).status).toBe(200);
  expect((await patch(id, { expiresAt: null })).status).toBe(200);
});

it('GET /api-keys finds by name and status, newest first', async () => {
  const [a, b] = [await create({ name: 'Zebra one' }), await create({ name: 'zebra 100%' })];
  const ids = async (query: string) => listIds(await org.api('get', `/api-keys?${query}`));
  expect(await ids('q=ZEBRA')).toEqual([b.id, a.id]);
  expect(await ids('q=%25')).toEqual([b.id]);
  expect(await ids('q=zebra&pageSize=1&page=2')).toEqual([a.id]);
  await revoke(a.id);
  expect(await ids('q=zebra&status=revoked')).toEqual([a.id]);
});
