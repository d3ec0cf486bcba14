// Leaving: what happens to the keys, and that no secret known to a former member ever gains permissions.
import supertest from 'supertest';
import { describe, expect, it } from 'vitest';
import { builtInRoles } from '../../../src/core/permissions.ts';
import { type Api, createApi, listCodes } from '../../setup/api.ts';
import { makeKey } from '../../setup/organization.ts';
import { type Person, useOrganization } from '../../setup/use-organization.ts';

const org = useOrganization({ each: true });

const remove = (by: { api: Api }, userId: string, query = '') =>
  by.api('delete', `${org.at}/members/${userId}${query}`);
const readStatus = async (secret: string): Promise<number> =>
  (await createApi(org.app, secret)('get', '/whoami')).status;
const publicStatus = async (secret: string): Promise<number> =>
  (
    await supertest(org.app)
      .get('/api/public/v1/invoices')
      .set({ authorization: `Bearer ${secret}`, 'x-tenant-id': org.id })
  ).status;
const sorted = (names: Iterable<string>): string[] => [...names].sort();
/** A key without `scopes.unmasked` can't use it. */
const ofKey = (role: readonly string[]) => role.filter((permission) => permission !== 'unmasked:read');

describe('DELETE /organizations/{id}/members/{userId}', () => {
  it('422 names each active key unless `keys` is given', async () => {
    const member = await org.join('editor');
    const answer = await remove(org.owner, member.id);
    expect([answer.status, listCodes(answer)]).toEqual([422, ['member_has_keys']]);
    expect(answer.body.error.details[0].message).toContain(`"test" (${member.secret.slice(0, 12)}…)`);
    expect(await readStatus(member.secret)).toBe(200);
    const bare = await org.joinBare('editor');
    expect((await remove(org.owner, bare.id)).status).toBe(204);
    expect((await remove(org.owner, bare.id)).status).toBe(404);
  });

  it('keys=revoke revokes them; sessions, team memberships and membership end as well', async () => {
    const member = await org.join('editor');
    const session = await org.session(member.id);
    const team = (await org.api('post', '/teams', { name: 'Team' })).body;
    await org.api('post', `/teams/${team.id}/members`, { userId: member.id });
    expect((await session('get', '/whoami')).status).toBe(200);
    expect((await remove(org.owner, member.id, '?keys=revoke')).status).toBe(204);
    expect(await readStatus(member.secret)).toBe(401);
    expect(listCodes(await session('get', '/teams'))).toEqual(['no_organization']);
    expect((await session('get', '/whoami')).body.nextStep.code).toBe('no_organization');
    expect((await org.api('get', `/teams/${team.id}`)).body.memberCount).toBe(0);
    const [row] = (await org.api('get', `${org.at}/audit-log?action=member.remove`)).body.data;
    expect(row).toMatchObject({
      target: { type: 'member', id: member.id },
      changes: { role: 'editor', keysRevoked: [{ id: member.keyId }] },
    });
  });

  it('422 when transferTo is no member or the leaving member, 400 for an unknown value of keys', async () => {
    const member = await org.join('editor');
    const other = await org.another();
    expect(
      listCodes(await remove(org.owner, member.id, `?keys=transfer&transferTo=${other.owner.id}`)),
    ).toEqual(['not_a_member']);
    expect(listCodes(await remove(org.owner, member.id, `?keys=transfer&transferTo=${member.id}`))).toEqual([
      'another_member_needed',
    ]);
    expect(listCodes(await remove(org.owner, member.id, `?keys=revoke&transferTo=${org.owner.id}`))).toEqual([
      'not_transferred',
    ]);
    expect((await remove(org.owner, member.id, '?keys=keep')).status).toBe(400);
    expect(await readStatus(member.secret)).toBe(200);
  });

  it('422 for the last owner', async () => {
    expect(listCodes(await remove(org.owner, org.owner.id, '?keys=revoke'))).toEqual(['last_owner']);
  });

  it('waits for a key that is being created, and none is created for someone who has left', async () => {
    const member = await org.join('admin');
    const [made, removed] = await Promise.all([
      member.api('post', '/api-keys', { name: 'late' }),
      remove(org.owner, member.id, '?keys=revoke'),
    ]);
    expect(removed.status).toBe(204);
    // The request may also have been authenticated after the removal.
    expect([201, 401, 403]).toContain(made.status);
    const { data } = (await org.api('get', '/api-keys?status=active&pageSize=100')).body;
    expect(data.filter((key: { createdBy: { id: string } }) => key.createdBy.id === member.id)).toEqual([]);
  });
});

describe('a key that is transferred', () => {
  const transfer = async (member: Person, to = org.owner.id) =>
    expect((await remove(org.owner, member.id, `?keys=transfer&transferTo=${to}`)).status).toBe(204);

  it('keeps its permissions and its public reads', async () => {
    const member = await org.join('editor');
    const reading = await makeKey(org.ctx, org.id, { createdBy: member.id });
    expect(await publicStatus(reading.secret)).toBe(404);
    const before = await org.readPermissions(member.secret);
    expect(sorted(before)).toEqual(sorted(builtInRoles.editor));
    await transfer(member);
    const who = (await member.api('get', '/whoami')).body;
    expect([who.user.id, sorted(who.permissions)]).toEqual([org.owner.id, sorted(before)]);
    expect(sorted(await org.readPermissions(reading.secret))).toEqual(sorted(builtInRoles.viewer));
    expect(await publicStatus(reading.secret)).toBe(404);
  });

  it('never gains permissions from its new holder, and loses them with the holder', async () => {
    const [member, recipient] = [
      await org.join(['team:read', 'team:create']),
      await org.join(['member:delete', 'team:read']),
    ];
    expect((await remove(recipient, member.id, '?keys=transfer')).status).toBe(204);
    expect(await org.readPermissions(member.secret)).toEqual(['team:read']);
    await org.api('patch', `${org.at}/members/${recipient.id}`, { roleId: org.role('owner') });
    expect(await org.readPermissions(member.secret)).toEqual(['team:read', 'team:create']);
    await org.api('patch', `${org.at}/members/${recipient.id}`, { roleId: org.role('viewer') });
    // Transferred again, its ceiling is what it can do now.
    await remove(org.owner, recipient.id, '?keys=transfer');
    expect(await org.readPermissions(member.secret)).toEqual(['team:read']);
    expect(sorted(await org.readPermissions(recipient.secret))).toEqual(sorted(builtInRoles.viewer));
  });

  it('has no management permissions when the recipient did not agree, and keeps its public reads', async () => {
    const [member, leaver, recipient] = [
      await org.join('admin'),
      await org.join('admin'),
      await org.join('editor'),
    ];
    await transfer(member, recipient.id);
    const session = await org.session(leaver.id);
    expect(
      (await session('delete', `/whoami/organizations/${org.id}?keys=transfer&transferTo=${recipient.id}`))
        .status,
    ).toBe(204);
    for (const { secret, api } of [member, leaver]) {
      expect(await org.readPermissions(secret)).toEqual([]);
      expect((await api('post', '/teams', { name: 'in the name of another' })).status).toBe(403);
      expect(await publicStatus(secret)).toBe(404);
    }
  });

  it('cannot grant anything', async () => {
    const [member, candidate] = [await org.join('admin'), await org.joinBare('viewer')];
    await transfer(member);
    const { api } = member;
    for (const refused of [
      await api('post', `${org.at}/invitations`, {
        email: 'friend@example.test',
        roleId: org.role('viewer'),
      }),
      await api('patch', `${org.at}/members/${candidate.id}`, { roleId: org.role('admin') }),
      await api('post', `${org.at}/roles`, { name: 'mine', permissions: [] }),
    ])
      expect([refused.status, listCodes(refused)]).toEqual([403, ['handed_over']]);
  });

  it('an old secret in its grace period counts as a key of its former holder, and is revoked or restricted when they leave', async () => {
    for (const wish of ['revoke', 'transfer']) {
      const member = await org.join('admin');
      const rotated = await org.api('post', `/api-keys/${member.keyId}/rotate`, { gracePeriodSeconds: 3600 });
      expect((await org.api('get', `${org.at}/members/${member.id}`)).body.apiKeys).toHaveLength(1);
      expect(listCodes(await remove(org.owner, member.id))).toEqual(['member_has_keys']);
      expect((await remove(org.owner, member.id, `?keys=${wish}`)).status).toBe(204);
      expect(await publicStatus(member.secret)).toBe(wish === 'revoke' ? 401 : 404);
      expect(await org.readPermissions(rotated.body.secret)).not.toEqual([]);
      await org.sql((tx) =>
        tx('memberships').insert({ organization_id: org.id, user_id: member.id, role_id: org.role('admin') }),
      );
      expect((await member.api('post', '/teams', { name: `back ${wish}` })).status).toBe(
        wish === 'revoke' ? 401 : 403,
      );
    }
  });

  it('gains no permissions from wider scopes: its ceiling is what it could do before', async () => {
    const member = await org.join('admin');
    const restricted = await makeKey(org.ctx, org.id, {
      createdBy: member.id,
      permissions: ['write'],
      resources: ['invoices'],
    });
    const reading = await makeKey(org.ctx, org.id, { createdBy: member.id });
    await transfer(member);
    await org.api('patch', `/api-keys/${restricted.id}`, { scopes: { permissions: ['write'] } });
    await org.api('patch', `/api-keys/${reading.id}`, { scopes: { permissions: ['write'] } });
    expect(await org.readPermissions(restricted.secret)).toEqual([]);
    expect(sorted(await org.readPermissions(reading.secret))).toEqual(sorted(builtInRoles.viewer));
  });

  it('cannot create, rotate or widen keys, and does not act as an owner', async () => {
    const member = await org.join([...builtInRoles.owner]);
    const other = (await org.api('post', '/api-keys', { name: 'other', scopes: { permissions: ['read'] } }))
      .body;
    const candidate = await org.joinBare('viewer');
    await transfer(member);
    const { api } = member;
    for (const refused of [
      await api('post', '/api-keys', { name: 'x', scopes: { permissions: ['write'] } }),
      await api('post', '/api-keys', { name: 'x' }),
      await api('post', `/api-keys/${member.keyId}/rotate`, {}),
      await api('post', `/api-keys/${other.id}/rotate`, {}),
      await api('patch', `/api-keys/${other.id}`, { scopes: { permissions: ['write'] } }),
      await api('patch', `/api-keys/${other.id}`, { expiresAt: null }),
    ])
      expect([refused.status, listCodes(refused)]).toEqual([403, ['handed_over']]);
    expect((await api('patch', `/api-keys/${other.id}`, { name: 'renamed' })).status).toBe(200);
    for (const refused of [
      await api('patch', `${org.at}/members/${candidate.id}`, { roleId: org.role('owner') }),
      await api('patch', `${org.at}/members/${org.owner.id}`, { roleId: org.role('viewer') }),
      await remove(member, org.owner.id, '?keys=revoke'),
    ])
      expect([refused.status, listCodes(refused)]).toEqual([403, ['handed_over']]);
  });

  it('gets the permissions of its new holder only with a new secret; the old one keeps its ceiling', async () => {
    const member = await org.join('editor');
    await transfer(member);
    const rotated = await org.api('post', `/api-keys/${member.keyId}/rotate`, { gracePeriodSeconds: 3600 });
    expect(rotated.status).toBe(201);
    expect(sorted(await org.readPermissions(rotated.body.secret))).toEqual(sorted(ofKey(builtInRoles.owner)));
    expect(sorted(await org.readPermissions(member.secret))).toEqual(sorted(builtInRoles.editor));
    expect((await member.api('post', `/api-keys/${member.keyId}/rotate`, {})).status).toBe(403);
    const ended = await org.api('post', `/api-keys/${member.keyId}/rotate`, {});
    expect([ended.status, await readStatus(member.secret)]).toEqual([201, 401]);
  });

  it('transfers the old secret of a rotation as well, each with its own ceiling', async () => {
    const [maker, member] = [await org.join('viewer'), await org.join('admin')];
    const own = (await member.api('post', '/api-keys', { name: 'own', scopes: { permissions: ['write'] } }))
      .body;
    const second = (await member.api('post', `/api-keys/${own.id}/rotate`, { gracePeriodSeconds: 3600 })).body
      .secret;
    const takenOver = (
      await member.api('post', `/api-keys/${maker.keyId}/rotate`, { gracePeriodSeconds: 3600 })
    ).body.secret;
    await transfer(member);
    for (const secret of [own.secret, second, takenOver])
      expect(sorted(await org.readPermissions(secret))).toEqual(sorted(ofKey(builtInRoles.admin)));
    expect(sorted(await org.readPermissions(maker.secret))).toEqual(sorted(builtInRoles.viewer));
  });

  it('cannot be widened by callers with fewer permissions than its ceiling', async () => {
    const member = await org.join('viewer');
    const weak = await org.join(['api-key:update', 'api-key:read', 'team:create']);
    await transfer(member);
    // Write access adds nothing to a viewer's former key, so no permission is needed.
    const answer = await weak.api('patch', `/api-keys/${member.keyId}`, {
      scopes: { permissions: ['write', 'read'] },
    });
    expect(answer.status).toBe(200);
    expect(sorted(await org.readPermissions(member.secret))).toEqual(sorted(builtInRoles.viewer));
  });
});

describe('DELETE /whoami/organizations/{id}', () => {
  it('lets any member leave with their session, and transfers keys to the named member', async () => {
    const member = await org.join([]);
    const session = await org.session(member.id);
    const at = `/whoami/organizations/${org.id}`;
    expect(listCodes(await session('delete', at))).toEqual(['member_has_keys']);
    expect(listCodes(await session('delete', `${at}?keys=transfer`))).toEqual(['another_member_needed']);
    expect((await session('delete', `${at}?keys=transfer&transferTo=${org.owner.id}`)).status).toBe(204);
    expect(listCodes(await session('get', '/teams'))).toEqual(['no_organization']);
    expect((await session('get', '/whoami')).body.nextStep.code).toBe('no_organization');
    expect((await session('delete', at)).status).toBe(404);
    expect(await org.readPermissions(member.secret)).toEqual([]);
    const [row] = (await org.api('get', `${org.at}/audit-log?action=member.leave`)).body.data;
    expect(row).toMatchObject({
      actor: { id: member.id },
      credential: { kind: 'session' },
      changes: { transferredTo: org.owner.id },
    });
  });

  it('403 for a key and for another origin, 404 for a non-member, 422 for the last owner', async () => {
    const at = `/whoami/organizations/${org.id}`;
    expect(listCodes(await org.api('delete', at))).toEqual(['sign_in_needed']);
    const session = await org.session(org.owner.id);
    expect(
      listCodes(await session('delete', at, undefined, { origin: 'https://elsewhere.example' })),
    ).toEqual(['foreign_origin']);
    expect(listCodes(await session('delete', `${at}?keys=revoke`))).toEqual(['last_owner']);
    const other = await org.another();
    expect((await (await other.session(other.owner.id))('delete', at)).status).toBe(404);
    const rows = await org.sql((tx) => tx('memberships').select('user_id'));
    expect(rows).toHaveLength(1);
  });
});
