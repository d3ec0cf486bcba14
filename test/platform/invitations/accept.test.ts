// Accepting an invitation: by the invited person, once, while it is open and its sender could still grant the
// role.

import type { Knex } from 'knex';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openKnex } from '../../../src/db/connect.ts';
import { apiOf, codesOf } from '../../setup/api.ts';
import { makeKey, makeMember, makeOrganization, makeSession } from '../../setup/organization.ts';
import { until } from '../../setup/until.ts';
import { invitationWorld, type World } from './fixture.ts';

let world: World;
let admin: Knex;
beforeAll(async () => {
  world = await invitationWorld();
  admin = openKnex(world.database.address, null, 1);
});
afterAll(async () => {
  await admin.destroy();
  await world.close();
});

const membershipOf = (userId: string) =>
  world.as(world.organization.id, (tx) =>
    tx('memberships as m')
      .join('roles as r', 'r.id', 'm.role_id')
      .where('m.user_id', userId)
      .first<{ name: string } | undefined>('r.name'),
  );
const changeInvitation = (id: string, columns: object) =>
  world.as(world.organization.id, (tx) => tx('invitations').where({ id }).update(columns));

describe('POST /invitations/accept', () => {
  it('makes the person a member with the role, writes an audit entry, and activates the organization in their session', async () => {
    const { id } = await world.invite('joins@example.test', 'editor');
    const person = await world.signIn('joins@example.test');
    const before = await apiOf(world.app, null)('get', '/whoami', undefined, person.headers);
    expect([before.status, before.body.organization]).toEqual([200, null]);
    const answer = await world.accept(await world.tokenOf('joins@example.test'), person.headers);
    expect([answer.status, answer.body]).toEqual([
      200,
      {
        organization: { id: world.organization.id, slug: world.organization.slug, name: 'Aster & Sons' },
        role: { id: await world.roleId('editor'), name: 'editor' },
      },
    ]);
    const who = await apiOf(world.app, null)('get', '/whoami', undefined, person.headers);
    expect(who.body).toMatchObject({
      user: { id: person.id },
      organization: { id: world.organization.id },
      membership: { role: { name: 'editor' } },
    });
    const audit = await world.as(world.organization.id, (tx) =>
      tx('audit_log').where({ target_id: id, action: 'invitation.accept' }).first(),
    );
    expect(audit).toMatchObject({
      actor_id: person.id,
      actor_email: 'joins@example.test',
      credential_kind: 'session',
      credential_id: person.sessionId,
      ip: '127.0.0.1',
    });
    expect(audit.request_id).toBe(answer.headers['x-request-id']);
    expect((await world.owner('get', `${world.invitations}/${id}`)).body.status).toBe('accepted');
  });

  it('keeps the active organization of a session, and compares addresses without case', async () => {
    const other = await makeOrganization(world.ctx, { ownerEmail: 'Both.Sides@example.test' });
    await world.invite('both.sides@EXAMPLE.test');
    const session = await makeSession(world.ctx, other.ownerId, other.id);
    expect((await world.accept(await world.tokenOf('both.sides@example.test'), session.headers)).status).toBe(
      200,
    );
    const who = await apiOf(world.app, null)('get', '/whoami', undefined, session.headers);
    expect(who.body.organization.id).toBe(other.id);
    expect(await membershipOf(other.ownerId)).toEqual({ name: 'viewer' });
  });

  it('422 the second time; one of several concurrent requests succeeds', async () => {
    await world.invite('eager@example.test');
    const token = await world.tokenOf('eager@example.test');
    const person = await world.signIn('eager@example.test');
    const answers = await Promise.all(Array.from({ length: 5 }, () => world.accept(token, person.headers)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 422, 422, 422, 422]);
    const again = await world.accept(token, person.headers);
    expect([again.status, codesOf(again)]).toEqual([422, ['already_accepted']]);
    const audit = await world.as(world.organization.id, (tx) =>
      tx('audit_log').where({ action: 'invitation.accept', actor_id: person.id }),
    );
    expect(audit).toHaveLength(1);
  });

  it('404 for an unknown token', async () => {
    const person = await world.signIn('guess@example.test');
    const unknown = await world.accept('A'.repeat(43), person.headers);
    expect([unknown.status, unknown.body.error.code]).toEqual([404, 'NOT_FOUND']);
  });

  it('403 for another address, open or closed, without naming that address', async () => {
    const { id } = await world.invite('hers@example.test');
    const token = await world.tokenOf('hers@example.test');
    const thief = await world.signIn('thief@example.test');
    for (const prepare of [
      async () => undefined,
      () => world.owner('delete', `${world.invitations}/${id}`),
    ]) {
      await prepare();
      const answer = await world.accept(token, thief.headers);
      expect([answer.status, codesOf(answer)]).toEqual([403, ['other_address']]);
      expect(JSON.stringify(answer.body)).not.toMatch(/hers@|Aster/);
    }
    expect(await membershipOf(thief.id)).toBeUndefined();
  });

  it('422 when it has expired', async () => {
    const { id } = await world.invite('slow@example.test');
    const token = await world.tokenOf('slow@example.test');
    await changeInvitation(id, { expires_at: new Date(Date.now() - 1) });
    const person = await world.signIn('slow@example.test');
    expect(codesOf(await world.accept(token, person.headers))).toEqual(['expired']);
    expect(await membershipOf(person.id)).toBeUndefined();
  });

  it('422 for an existing member, whose role stays', async () => {
    await world.invite('inside@example.test', 'owner');
    const token = await world.tokenOf('inside@example.test');
    const person = await world.signIn('inside@example.test');
    const viewer = await world.roleId('viewer');
    await world.as(world.organization.id, (tx) =>
      tx('memberships').insert({
        organization_id: world.organization.id,
        user_id: person.id,
        role_id: viewer,
      }),
    );
    expect(codesOf(await world.accept(token, person.headers))).toEqual(['already_member']);
    expect(await membershipOf(person.id)).toEqual({ name: 'viewer' });
  });
});

describe('an invitation whose sender', () => {
  async function invitedBy(role: string | readonly string[], roleId: string, email: string) {
    const sender = await makeMember(world.ctx, world.organization.id, role);
    const api = apiOf(
      world.app,
      (await makeKey(world.ctx, world.organization.id, { permissions: ['write'], createdBy: sender.id }))
        .secret,
    );
    const answer = await api('post', world.invitations, { email, roleId });
    expect(answer.status, JSON.stringify(answer.body)).toBe(201);
    const person = await world.signIn(email);
    return {
      senderId: sender.id,
      id: answer.body.id as string,
      accept: async () => world.accept(await world.tokenOf(email), person.headers),
      person,
    };
  }

  it('left is no longer valid until someone else resends it', async () => {
    const { senderId, id, accept, person } = await invitedBy(
      'admin',
      await world.roleId('viewer'),
      'left@example.test',
    );
    await world.as(world.organization.id, (tx) => tx('memberships').where({ user_id: senderId }).delete());
    expect(codesOf(await accept())).toEqual(['no_longer_valid']);
    expect(await membershipOf(person.id)).toBeUndefined();
    await world.owner('post', `${world.invitations}/${id}/resend`);
    expect((await world.accept(await world.tokenOf('left@example.test', 2), person.headers)).status).toBe(
      200,
    );
  });

  it('was demoted is no longer valid', async () => {
    const { senderId, accept } = await invitedBy(
      'admin',
      await world.roleId('editor'),
      'demoted@example.test',
    );
    const viewer = await world.roleId('viewer');
    await world.as(world.organization.id, (tx) =>
      tx('memberships').where({ user_id: senderId }).update({ role_id: viewer }),
    );
    expect(codesOf(await accept())).toEqual(['no_longer_valid']);
  });

  it('lacks a permission that the role got since is no longer valid', async () => {
    const roleId = await world.makeRole(['team:read']);
    const { accept } = await invitedBy(['invitation:create', 'team:read'], roleId, 'widened@example.test');
    await world.as(world.organization.id, (tx) =>
      tx('roles')
        .where({ id: roleId })
        .update({ permissions: ['team:read', 'api-key:create'] }),
    );
    expect(codesOf(await accept())).toEqual(['no_longer_valid']);
    await world.as(world.organization.id, (tx) =>
      tx('roles')
        .where({ id: roleId })
        .update({ permissions: ['team:read'] }),
    );
    expect((await accept()).status).toBe(200);
  });

  it('is being demoted concurrently: acceptance waits for the outcome', async () => {
    const { senderId, accept, person } = await invitedBy(
      'admin',
      await world.roleId('editor'),
      'moment@example.test',
    );
    const viewer = await world.roleId('viewer');
    await world.tokenOf('moment@example.test');
    let answer: ReturnType<typeof accept> | undefined;
    await world.as(world.organization.id, async (tx) => {
      await tx('memberships').where({ user_id: senderId }).update({ role_id: viewer });
      answer = accept();
      await until(async () => {
        const { rows } = await admin.raw(
          "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
        );
        return rows.length > 0 ? true : undefined;
      });
    });
    expect(answer === undefined ? [] : codesOf(await answer)).toEqual(['no_longer_valid']);
    expect(await membershipOf(person.id)).toBeUndefined();
  });
});

describe('a concurrent acceptance and revocation', () => {
  it('end as accepted or as revoked, never in between', async () => {
    for (let round = 0; round < 8; round += 1) {
      const email = `torn-${round}@example.test`;
      const { id } = await world.invite(email);
      const token = await world.tokenOf(email);
      const person = await world.signIn(email);
      const [accepted, revoked] = await Promise.all([
        world.accept(token, person.headers),
        world.owner('delete', `${world.invitations}/${id}`),
      ]);
      const { status } = (await world.owner('get', `${world.invitations}/${id}`)).body;
      const member = (await membershipOf(person.id)) !== undefined;
      expect([accepted.status, revoked.status, status, member]).toEqual(
        status === 'accepted' ? [200, 422, 'accepted', true] : [422, 204, 'revoked', false],
      );
    }
  });
});
