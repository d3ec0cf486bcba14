// Accepting an invitation: by the invited person, once, while it is open and its sender could still grant the
// role.

import { describe, expect, it } from 'vitest';
import { createApi, refusal } from '../../setup/api.ts';
import { makeOrganization, makeSession } from '../../setup/organization.ts';
import { until } from '../../setup/until.ts';
import { useStarted } from '../../setup/use-started.ts';
import { openInvitationSite } from './fixture.ts';

const site = useStarted(() => openInvitationSite());

const membershipOf = (userId: string) => site.admin('memberships').where({ user_id: userId });
/** The names of a person's roles in the organization. */
const readRoles = (userId: string): Promise<string[]> =>
  membershipOf(userId).join('roles as r', 'r.id', 'memberships.role_id').pluck('r.name');
const whoami = (headers: Record<string, string>) =>
  createApi(site.app, null)('get', '/whoami', undefined, headers);

describe('POST /invitations/accept', () => {
  it('makes the person a member with the role, writes an audit entry, and activates the organization in their session', async () => {
    const { id } = await site.invite('joins@example.test', 'editor');
    const person = await site.signIn('joins@example.test');
    expect(await whoami(person.headers)).toMatchObject({ status: 200, body: { organization: null } });
    const answer = await site.accept(await site.getToken('joins@example.test'), person.headers);
    const { id: organizationId, slug } = site.organization;
    expect([answer.status, answer.body]).toEqual([
      200,
      {
        organization: { id: organizationId, slug, name: 'Aster & Sons' },
        role: { id: await site.roleId('editor'), name: 'editor' },
      },
    ]);
    expect((await whoami(person.headers)).body).toMatchObject({
      user: { id: person.id },
      organization: { id: organizationId },
      membership: { role: { name: 'editor' } },
    });
    const log = await site.auditLog().where({ target_id: id, action: 'invitation.accept' });
    expect(log).toMatchObject([
      {
        ...{ actor_id: person.id, actor_email: 'joins@example.test', ip: '127.0.0.1' },
        ...{ credential_kind: 'session', credential_id: person.sessionId },
        request_id: answer.headers['x-request-id'],
      },
    ]);
    expect((await site.read(id)).status).toBe('accepted');
  });

  it('keeps the active organization of a session, and compares addresses without case', async () => {
    const other = await makeOrganization(site.ctx, { ownerEmail: 'Both.Sides@example.test' });
    await site.invite('both.sides@EXAMPLE.test');
    const session = await makeSession(site.ctx, other.ownerId, other.id);
    const token = await site.getToken('both.sides@example.test');
    expect((await site.accept(token, session.headers)).status).toBe(200);
    expect((await whoami(session.headers)).body.organization.id).toBe(other.id);
    const own = membershipOf(other.ownerId).where('memberships.organization_id', site.organization.id);
    expect(await own.pluck('role_id')).toEqual([await site.roleId('viewer')]);
  });

  it('422 the second time; one of several concurrent requests succeeds', async () => {
    await site.invite('eager@example.test');
    const token = await site.getToken('eager@example.test');
    const person = await site.signIn('eager@example.test');
    const answers = await Promise.all(Array.from({ length: 5 }, () => site.accept(token, person.headers)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 422, 422, 422, 422]);
    expect(await refusal(site.accept(token, person.headers))).toEqual([422, 'already_accepted']);
    const log = site.auditLog().where({ action: 'invitation.accept', actor_id: person.id });
    expect(await log).toHaveLength(1);
  });

  it('404 for an unknown token', async () => {
    const person = await site.signIn('guess@example.test');
    expect(await site.accept('A'.repeat(43), person.headers)).toMatchObject({
      status: 404,
      body: { error: { code: 'NOT_FOUND' } },
    });
  });

  it('403 for another address, open or closed, without naming that address', async () => {
    const { id } = await site.invite('hers@example.test');
    const token = await site.getToken('hers@example.test');
    const thief = await site.signIn('thief@example.test');
    for (const prepare of [async () => undefined, () => site.revoke(id)]) {
      await prepare();
      const answer = await site.accept(token, thief.headers);
      expect(await refusal(answer)).toEqual([403, 'other_address']);
      expect(JSON.stringify(answer.body)).not.toMatch(/hers@|Aster/);
    }
    expect(await readRoles(thief.id)).toEqual([]);
  });

  it('422 when it has expired', async () => {
    const { id } = await site.invite('slow@example.test');
    const token = await site.getToken('slow@example.test');
    await site.change(id, { expires_at: new Date(Date.now() - 1) });
    const person = await site.signIn('slow@example.test');
    expect(await refusal(site.accept(token, person.headers))).toEqual([422, 'expired']);
    expect(await readRoles(person.id)).toEqual([]);
  });

  it('422 for an existing member, whose role stays', async () => {
    await site.invite('inside@example.test', 'owner');
    const token = await site.getToken('inside@example.test');
    const person = await site.signIn('inside@example.test');
    const own = { organization_id: site.organization.id, user_id: person.id };
    await site.admin('memberships').insert({ ...own, role_id: await site.roleId('viewer') });
    expect(await refusal(site.accept(token, person.headers))).toEqual([422, 'already_member']);
    expect(await readRoles(person.id)).toEqual(['viewer']);
  });
});

describe('an invitation whose sender', () => {
  async function invitedBy(role: string | readonly string[], roleId: string, email: string) {
    const sender = await site.memberApi(role);
    const answer = await site.tryInvite(email, roleId, sender.api);
    expect(answer.status, answer.text).toBe(201);
    const person = await site.signIn(email);
    const accept = async () => site.accept(await site.getToken(email), person.headers);
    return { senderId: sender.id, id: answer.body.id as string, accept, person };
  }
  const invalid = [422, 'no_longer_valid'];

  it('left is no longer valid until someone else resends it', async () => {
    const viewer = await site.roleId('viewer');
    const { senderId, id, accept, person } = await invitedBy('admin', viewer, 'left@example.test');
    await membershipOf(senderId).delete();
    expect(await refusal(accept())).toEqual(invalid);
    expect(await readRoles(person.id)).toEqual([]);
    await site.resend(id);
    expect((await site.accept(await site.getToken('left@example.test', 2), person.headers)).status).toBe(200);
  });

  it('was demoted is no longer valid', async () => {
    const { senderId, accept } = await invitedBy(
      'admin',
      await site.roleId('editor'),
      'demoted@example.test',
    );
    await membershipOf(senderId).update({ role_id: await site.roleId('viewer') });
    expect(await refusal(accept())).toEqual(invalid);
  });

  it('lacks a permission that the role got since is no longer valid', async () => {
    const roleId = await site.makeRole(['team:read']);
    const { accept } = await invitedBy(['invitation:create', 'team:read'], roleId, 'widened@example.test');
    const setPermissions = (...permissions: string[]) =>
      site.admin('roles').where({ id: roleId }).update({ permissions });
    await setPermissions('team:read', 'api-key:create');
    expect(await refusal(accept())).toEqual(invalid);
    await setPermissions('team:read');
    expect((await accept()).status).toBe(200);
  });

  it('is being demoted concurrently: acceptance waits for the outcome', async () => {
    const email = 'moment@example.test';
    const { senderId, accept, person } = await invitedBy('admin', await site.roleId('editor'), email);
    const viewer = await site.roleId('viewer');
    await site.getToken(email);
    const demotion = await site.admin.transaction();
    await demotion('memberships').where({ user_id: senderId }).update({ role_id: viewer });
    const answer = accept();
    const waiting =
      "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
    await until(async () => (await site.admin.raw(waiting)).rows.length > 0);
    await demotion.commit();
    expect(await refusal(answer)).toEqual(invalid);
    expect(await readRoles(person.id)).toEqual([]);
  });
});

it('a concurrent acceptance and revocation end as accepted or as revoked, never in between', async () => {
  for (let round = 0; round < 8; round += 1) {
    const email = `torn-${round}@example.test`;
    const { id } = await site.invite(email);
    const token = await site.getToken(email);
    const person = await site.signIn(email);
    const [accepted, revoked] = await Promise.all([site.accept(token, person.headers), site.revoke(id)]);
    const { status } = await site.read(id);
    const member = (await readRoles(person.id)).length > 0;
    expect([accepted.status, revoked.status, status, member]).toEqual(
      status === 'accepted' ? [200, 422, 'accepted', true] : [422, 204, 'revoked', false],
    );
  }
});
