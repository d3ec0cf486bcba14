// Leaving: what happens to the keys, and that no secret known to a former member ever gains permissions.
import { describe, expect, it } from 'vitest';
import { builtInRoles } from '../../../src/core/permissions.ts';
import { createCaller } from '../../public/fixture.ts';
import { type Api, createApi, pluck, refusal } from '../../setup/api.ts';
import { makeKey } from '../../setup/organization.ts';
import { type Person, useOrganization } from '../../setup/use-organization.ts';

const org = useOrganization({ each: true });

const remove = (userId: string, query = '', by: { api: Api } = org.owner) =>
  by.api('delete', `${org.at}/members/${userId}${query}`);
const rotate = (id: string, body: object = { gracePeriodSeconds: 3600 }, { api } = org.owner) =>
  api('post', `/api-keys/${id}/rotate`, body);
const widen = (id: string, { api } = org.owner) =>
  api('patch', `/api-keys/${id}`, { scopes: { permissions: ['write'] } });
const give = (id: string, role: string, { api } = org.owner) =>
  api('patch', `${org.at}/members/${id}`, { roleId: org.role(role) });
const readStatus = async (secret: string): Promise<number> =>
  (await createApi(org.app, secret)('get', '/whoami')).status;
const publicStatus = async (secret: string): Promise<number> =>
  (await createCaller(org.app, { secret, organizationId: org.id })('/v1/invoices')).status;
/** Expects that a secret has exactly these permissions. */
const expectPermissions = async (secret: string, permissions: Iterable<string>): Promise<void> =>
  expect((await org.readPermissions(secret)).sort()).toEqual([...permissions].sort());
/** A key without `scopes.unmasked` can't use it. */
const ofKey = (role: readonly string[]) => role.filter((permission) => permission !== 'unmasked:read');
const readLog = async (action: string) =>
  (await org.api('get', `${org.at}/audit-log?action=${action}`)).body.data[0];

describe('DELETE /organizations/{id}/members/{userId}', () => {
  it('422 names each active key unless `keys` is given', async () => {
    const member = await org.join('editor');
    const answer = await remove(member.id);
    expect(await refusal(answer)).toEqual([422, 'member_has_keys']);
    expect(answer.body.error.details[0].message).toContain(`"test" (${member.secret.slice(0, 12)}…)`);
    expect(await readStatus(member.secret)).toBe(200);
    const bare = await org.joinBare('editor');
    for (const status of [204, 404]) expect((await remove(bare.id)).status).toBe(status);
  });

  it('keys=revoke revokes them; sessions, team memberships and membership end as well', async () => {
    const member = await org.join('editor');
    const session = await org.session(member.id);
    const team = (await org.api('post', '/teams', { name: 'Team' })).body;
    await org.api('post', `/teams/${team.id}/members`, { userId: member.id });
    expect((await session('get', '/whoami')).status).toBe(200);
    expect((await remove(member.id, '?keys=revoke')).status).toBe(204);
    expect(await readStatus(member.secret)).toBe(401);
    expect(await refusal(session('get', '/teams'))).toEqual([403, 'no_organization']);
    expect((await session('get', '/whoami')).body.nextStep.code).toBe('no_organization');
    expect((await org.api('get', `/teams/${team.id}`)).body.memberCount).toBe(0);
    expect(await readLog('member.remove')).toMatchObject({
      target: { type: 'member', id: member.id },
      changes: { role: 'editor', keysRevoked: [{ id: member.keyId }] },
    });
  });

  it('422 when transferTo is no member or the leaving member, 400 for an unknown value of keys', async () => {
    const member = await org.join('editor');
    const other = await org.another();
    for (const [choice, to, code] of [
      ['transfer', other.owner.id, 'not_a_member'],
      ['transfer', member.id, 'another_member_needed'],
      ['revoke', org.owner.id, 'not_transferred'],
    ] as const)
      expect(await refusal(remove(member.id, `?keys=${choice}&transferTo=${to}`))).toEqual([422, code]);
    expect((await remove(member.id, '?keys=keep')).status).toBe(400);
    expect(await readStatus(member.secret)).toBe(200);
  });

  it('422 for the last owner', async () => {
    expect(await refusal(remove(org.owner.id, '?keys=revoke'))).toEqual([422, 'last_owner']);
  });

  it('waits for a key that is being created, and none is created for someone who has left', async () => {
    const member = await org.join('admin');
    const [made, removed] = await Promise.all([
      member.api('post', '/api-keys', { name: 'late' }),
      remove(member.id, '?keys=revoke'),
    ]);
    expect(removed.status).toBe(204);
    // The request may also have been authenticated after the removal.
    expect([201, 401, 403]).toContain(made.status);
    const { data } = (await org.api('get', '/api-keys?status=active&pageSize=100')).body;
    expect(pluck(pluck(data, 'createdBy'), 'id')).not.toContain(member.id);
  });
});

describe('a key that is transferred', () => {
  const transfer = async (member: Person, to = org.owner.id) =>
    expect((await remove(member.id, `?keys=transfer&transferTo=${to}`)).status).toBe(204);

  it('keeps its permissions and its public reads', async () => {
    const member = await org.join('editor');
    const reading = await makeKey(org.ctx, org.id, { createdBy: member.id });
    expect(await publicStatus(reading.secret)).toBe(404);
    await expectPermissions(member.secret, builtInRoles.editor);
    await transfer(member);
    expect((await member.api('get', '/whoami')).body.user.id).toBe(org.owner.id);
    await expectPermissions(member.secret, builtInRoles.editor);
    await expectPermissions(reading.secret, builtInRoles.viewer);
    expect(await publicStatus(reading.secret)).toBe(404);
  });

  it('never gains permissions from its new holder, and loses them with the holder', async () => {
    const member = await org.join(['team:read', 'team:create']);
    const recipient = await org.join(['member:delete', 'team:read']);
    expect((await remove(member.id, '?keys=transfer', recipient)).status).toBe(204);
    expect(await org.readPermissions(member.secret)).toEqual(['team:read']);
    await give(recipient.id, 'owner');
    expect(await org.readPermissions(member.secret)).toEqual(['team:read', 'team:create']);
    await give(recipient.id, 'viewer');
    // Transferred again, its ceiling is what it can do now.
    await remove(recipient.id, '?keys=transfer');
    expect(await org.readPermissions(member.secret)).toEqual(['team:read']);
    await expectPermissions(recipient.secret, builtInRoles.viewer);
  });

  it('has no management permissions when the recipient did not agree, and keeps its public reads', async () => {
    const [member, leaver] = [await org.join('admin'), await org.join('admin')];
    const recipient = await org.join('editor');
    await transfer(member, recipient.id);
    const session = await org.session(leaver.id);
    const own = `/whoami/organizations/${org.id}?keys=transfer&transferTo=${recipient.id}`;
    expect((await session('delete', own)).status).toBe(204);
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
    const guest = { email: 'friend@example.test', roleId: org.role('viewer') };
    for (const refused of [
      api('post', `${org.at}/invitations`, guest),
      give(candidate.id, 'admin', member),
      api('post', `${org.at}/roles`, { name: 'mine', permissions: [] }),
    ])
      expect(await refusal(refused)).toEqual([403, 'handed_over']);
  });

  it('an old secret in its grace period counts as a key of its former holder, and is revoked or restricted when they leave', async () => {
    for (const [wish, read, managed] of [
      ['revoke', 401, 401],
      ['transfer', 404, 403],
    ] as const) {
      const member = await org.join('admin');
      const rotated = await rotate(member.keyId);
      expect((await org.api('get', `${org.at}/members/${member.id}`)).body.apiKeys).toHaveLength(1);
      expect(await refusal(remove(member.id))).toEqual([422, 'member_has_keys']);
      expect((await remove(member.id, `?keys=${wish}`)).status).toBe(204);
      expect(await publicStatus(member.secret)).toBe(read);
      expect(await org.readPermissions(rotated.body.secret)).not.toEqual([]);
      const back = { organization_id: org.id, user_id: member.id, role_id: org.role('admin') };
      await org.admin('memberships').insert(back);
      expect((await member.api('post', '/teams', { name: `back ${wish}` })).status).toBe(managed);
    }
  });

  it('gains no permissions from wider scopes: its ceiling is what it could do before', async () => {
    const member = await org.join('admin');
    const own = { createdBy: member.id };
    const scopes = { ...own, permissions: ['write'], resources: ['invoices'] };
    const restricted = await makeKey(org.ctx, org.id, scopes);
    const reading = await makeKey(org.ctx, org.id, own);
    await transfer(member);
    for (const { id } of [restricted, reading]) await widen(id);
    expect(await org.readPermissions(restricted.secret)).toEqual([]);
    await expectPermissions(reading.secret, builtInRoles.viewer);
  });

  it('cannot create, rotate or widen keys, and does not act as an owner', async () => {
    const member = await org.join([...builtInRoles.owner]);
    const reads = { name: 'other', scopes: { permissions: ['read'] } };
    const { id } = (await org.api('post', '/api-keys', reads)).body;
    const candidate = await org.joinBare('viewer');
    await transfer(member);
    const { api } = member;
    for (const refused of [
      api('post', '/api-keys', { name: 'x', scopes: { permissions: ['write'] } }),
      api('post', '/api-keys', { name: 'x' }),
      rotate(member.keyId, {}, member),
      rotate(id, {}, member),
      widen(id, member),
      api('patch', `/api-keys/${id}`, { expiresAt: null }),
      give(candidate.id, 'owner', member),
      give(org.owner.id, 'viewer', member),
      remove(org.owner.id, '?keys=revoke', member),
    ])
      expect(await refusal(refused)).toEqual([403, 'handed_over']);
    expect((await api('patch', `/api-keys/${id}`, { name: 'renamed' })).status).toBe(200);
  });

  it('gets the permissions of its new holder only with a new secret; the old one keeps its ceiling', async () => {
    const member = await org.join('editor');
    await transfer(member);
    const rotated = await rotate(member.keyId);
    expect(rotated.status).toBe(201);
    await expectPermissions(rotated.body.secret, ofKey(builtInRoles.owner));
    await expectPermissions(member.secret, builtInRoles.editor);
    expect((await rotate(member.keyId, {}, member)).status).toBe(403);
    expect((await rotate(member.keyId, {})).status).toBe(201);
    expect(await readStatus(member.secret)).toBe(401);
  });

  it('transfers the old secret of a rotation as well, each with its own ceiling', async () => {
    const [maker, member] = [await org.join('viewer'), await org.join('admin')];
    const writes = { name: 'own', scopes: { permissions: ['write'] } };
    const own = (await member.api('post', '/api-keys', writes)).body;
    const second = (await rotate(own.id, undefined, member)).body.secret;
    const takenOver = (await rotate(maker.keyId, undefined, member)).body.secret;
    await transfer(member);
    for (const secret of [own.secret, second, takenOver])
      await expectPermissions(secret, ofKey(builtInRoles.admin));
    await expectPermissions(maker.secret, builtInRoles.viewer);
  });

  it('cannot be widened by callers with fewer permissions than its ceiling', async () => {
    const member = await org.join('viewer');
    const weak = await org.join(['api-key:update', 'api-key:read', 'team:create']);
    await transfer(member);
    // Write access adds nothing to a viewer's former key, so no permission is needed.
    const scopes = { permissions: ['write', 'read'] };
    expect((await weak.api('patch', `/api-keys/${member.keyId}`, { scopes })).status).toBe(200);
    await expectPermissions(member.secret, builtInRoles.viewer);
  });
});

describe('DELETE /whoami/organizations/{id}', () => {
  it('lets any member leave with their session, and transfers keys to the named member', async () => {
    const member = await org.join([]);
    const session = await org.session(member.id);
    const at = `/whoami/organizations/${org.id}`;
    expect(await refusal(session('delete', at))).toEqual([422, 'member_has_keys']);
    expect(await refusal(session('delete', `${at}?keys=transfer`))).toEqual([422, 'another_member_needed']);
    expect((await session('delete', `${at}?keys=transfer&transferTo=${org.owner.id}`)).status).toBe(204);
    expect(await refusal(session('get', '/teams'))).toEqual([403, 'no_organization']);
    expect((await session('get', '/whoami')).body.nextStep.code).toBe('no_organization');
    expect((await session('delete', at)).status).toBe(404);
    expect(await org.readPermissions(member.secret)).toEqual([]);
    expect(await readLog('member.leave')).toMatchObject({
      actor: { id: member.id },
      credential: { kind: 'session' },
      changes: { transferredTo: org.owner.id },
    });
  });

  it('403 for a key and for another origin, 404 for a non-member, 422 for the last owner', async () => {
    const at = `/whoami/organizations/${org.id}`;
    expect(await refusal(org.api('delete', at))).toEqual([403, 'sign_in_needed']);
    const session = await org.session(org.owner.id);
    const foreign = session('delete', at, undefined, { origin: 'https://elsewhere.example' });
    expect(await refusal(foreign)).toEqual([403, 'foreign_origin']);
    expect(await refusal(session('delete', `${at}?keys=revoke`))).toEqual([422, 'last_owner']);
    const other = await org.another();
    expect((await (await other.session(other.owner.id))('delete', at)).status).toBe(404);
    expect(await org.admin('memberships').where({ organization_id: org.id })).toHaveLength(1);
  });
});
