// Accepting an invitation: by the invited person, once, while it is open and its sender could still grant the
// role.

import type { Knex } from 'knex';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openKnex } from '../../../src/db/connect.ts';
import { createApi, listCodes, refusal } from '../../setup/api.ts';
import { makeKey, makeMember, makeOrganization, makeSession } from '../../setup/organization.ts';
import { until } from '../../setup/until.ts';
import { type InvitationSite, openInvitationSite } from './fixture.ts';

let site: InvitationSite;
let admin: Knex;
beforeAll(async () => {
  site = await openInvitationSite();
  admin = openKnex(site.database.address, null, 1);
});
afterAll(async () => {
  await admin.destroy();
  await site.close();
});

const findMembership = (userId: string) =>
  site.as(site.organization.id, (tx) =>
    tx('memberships as m')
      .join('roles as r', 'r.id', 'm.role_id')
      .where('m.user_id', userId)
      .first<{ name: string } | undefined>('r.name'),
  );
const changeInvitation = (id: string, columns: object) =>
  site.as(site.organization.id, (tx) => tx('invitations').where({ id }).update(columns));

describe('POST /invitations/accept', () => {
  it('makes the person a member with the role, writes an audit entry, and activates the organization in their session', async () => {
    const { id } = await site.invite('joins@example.test', 'editor');
    const person = await site.signIn('joins@example.test');
    expect(await createApi(site.app, null)('get', '/whoami', undefined, person.headers)).toMatchObject({
      status: 200,
      body: { organization: null },
    });
    const answer = await site.accept(await site.getToken('joins@example.test'), person.headers);
    expect([answer.status, answer.body]).toEqual([
      200,
      {
        organization: { id: site.organization.id, slug: site.organization.slug, name: 'Aster & Sons' },
        role: { id: await site.roleId('editor'), name: 'editor' },
      },
    ]);
    const who = await createApi(site.app, null)('get', '/whoami', undefined, person.headers);
    expect(who.body).toMatchObject({
      user: { id: person.id },
      organization: { id: site.organization.id },
      membership: { role: { name: 'editor' } },
    });
    const audit = await site.as(site.organization.id, (tx) =>
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
    expect((await site.owner('get', `${site.invitations}/${id}`)).body.status).toBe('accepted');
  });

  it('keeps the active organization of a session, and compares addresses without case', async () => {
    const other = await makeOrganization(site.ctx, { ownerEmail: 'Both.Sides@example.test' });
    await site.invite('both.sides@EXAMPLE.test');
    const session = await makeSession(site.ctx, other.ownerId, other.id);
    expect((await site.accept(await site.getToken('both.sides@example.test'), session.headers)).status).toBe(
      200,
    );
    const who = await createApi(site.app, null)('get', '/whoami', undefined, session.headers);
    expect(who.body.organization.id).toBe(other.id);
    expect(await findMembership(other.ownerId)).toEqual({ name: 'viewer' });
  });

  it('422 the second time; one of several concurrent requests succeeds', async () => {
    await site.invite('eager@example.test');
    const token = await site.getToken('eager@example.test');
    const person = await site.signIn('eager@example.test');
    const answers = await Promise.all(Array.from({ length: 5 }, () => site.accept(token, person.headers)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 422, 422, 422, 422]);
    expect(await refusal(site.accept(token, person.headers))).toEqual([422, 'already_accepted']);
    const audit = await site.as(site.organization.id, (tx) =>
      tx('audit_log').where({ action: 'invitation.accept', actor_id: person.id }),
    );
    expect(audit).toHaveLength(1);
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
    for (const prepare of [async () => undefined, () => site.owner('delete', `${site.invitations}/${id}`)]) {
      await prepare();
      const answer = await site.accept(token, thief.headers);
      expect([answer.status, listCodes(answer)]).toEqual([403, ['other_address']]);
      expect(JSON.stringify(answer.body)).not.toMatch(/hers@|Aster/);
    }
    expect(await findMembership(thief.id)).toBeUndefined();
  });

  it('422 when it has expired', async () => {
    const { id } = await site.invite('slow@example.test');
    const token = await site.getToken('slow@example.test');
    await changeInvitation(id, { expires_at: new Date(Date.now() - 1) });
    const person = await site.signIn('slow@example.test');
    expect(listCodes(await site.accept(token, person.headers))).toEqual(['expired']);
    expect(await findMembership(person.id)).toBeUndefined();
  });

  it('422 for an existing member, whose role stays', async () => {
    await site.invite('inside@example.test', 'owner');
    const token = await site.getToken('inside@example.test');
    const person = await site.signIn('inside@example.test');
    const viewer = await site.roleId('viewer');
    await site.as(site.organization.id, (tx) =>
      tx('memberships').insert({
        organization_id: site.organization.id,
        user_id: person.id,
        role_id: viewer,
      }),
    );
    expect(listCodes(await site.accept(token, person.headers))).toEqual(['already_member']);
    expect(await findMembership(person.id)).toEqual({ name: 'viewer' });
  });
});

describe('an invitation whose sender', () => {
  async function invitedBy(role: string | readonly string[], roleId: string, email: string) {
    const sender = await makeMember(site.ctx, site.organization.id, role);
    const api = createApi(
      site.app,
      (await makeKey(site.ctx, site.organization.id, { permissions: ['write'], createdBy: sender.id }))
        .secret,
    );
    const answer = await api('post', site.invitations, { email, roleId });
    expect(answer.status, JSON.stringify(answer.body)).toBe(201);
    const person = await site.signIn(email);
    return {
      senderId: sender.id,
      id: answer.body.id as string,
      accept: async () => site.accept(await site.getToken(email), person.headers),
      person,
    };
  }

  it('left is no longer valid until someone else resends it', async () => {
    const { senderId, id, accept, person } = await invitedBy(
      'admin',
      await site.roleId('viewer'),
      'left@example.test',
    );
    await site.as(site.organization.id, (tx) => tx('memberships').where({ user_id: senderId }).delete());
    expect(listCodes(await accept())).toEqual(['no_longer_valid']);
    expect(await findMembership(person.id)).toBeUndefined();
    await site.owner('post', `${site.invitations}/${id}/resend`);
    expect((await site.accept(await site.getToken('left@example.test', 2), person.headers)).status).toBe(200);
  });

  it('was demoted is no longer valid', async () => {
    const { senderId, accept } = await invitedBy(
      'admin',
      await site.roleId('editor'),
      'demoted@example.test',
    );
    const viewer = await site.roleId('viewer');
    await site.as(site.organization.id, (tx) =>
      tx('memberships').where({ user_id: senderId }).update({ role_id: viewer }),
    );
    expect(listCodes(await accept())).toEqual(['no_longer_valid']);
  });

  it('lacks a permission that the role got since is no longer valid', async () => {
    const roleId = await site.makeRole(['team:read']);
    const { accept } = await invitedBy(['invitation:create', 'team:read'], roleId, 'widened@example.test');
    await site.as(site.organization.id, (tx) =>
      tx('roles')
        .where({ id: roleId })
        .update({ permissions: ['team:read', 'api-key:create'] }),
    );
    expect(listCodes(await accept())).toEqual(['no_longer_valid']);
    await site.as(site.organization.id, (tx) =>
      tx('roles')
        .where({ id: roleId })
        .update({ permissions: ['team:read'] }),
    );
    expect((await accept()).status).toBe(200);
  });

  it('is being demoted concurrently: acceptance waits for the outcome', async () => {
    const { senderId, accept, person } = await invitedBy(
      'admin',
      await site.roleId('editor'),
      'moment@example.test',
    );
    const viewer = await site.roleId('viewer');
    await site.getToken('moment@example.test');
    let answer: ReturnType<typeof accept> | undefined;
    await site.as(site.organization.id, async (tx) => {
      await tx('memberships').where({ user_id: senderId }).update({ role_id: viewer });
      answer = accept();
      await until(async () => {
        const { rows } = await admin.raw(
          "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
        );
        return rows.length > 0 ? true : undefined;
      });
    });
    expect(answer === undefined ? [] : listCodes(await answer)).toEqual(['no_longer_valid']);
    expect(await findMembership(person.id)).toBeUndefined();
  });
});

it('a concurrent acceptance and revocation end as accepted or as revoked, never in between', async () => {
  for (let round = 0; round < 8; round += 1) {
    const email = `torn-${round}@example.test`;
    const { id } = await site.invite(email);
    const token = await site.getToken(email);
    const person = await site.signIn(email);
    const [accepted, revoked] = await Promise.all([
      site.accept(token, person.headers),
      site.owner('delete', `${site.invitations}/${id}`),
    ]);
    const { status } = (await site.owner('get', `${site.invitations}/${id}`)).body;
    const member = (await findMembership(person.id)) !== undefined;
    expect([accepted.status, revoked.status, status, member]).toEqual(
      status === 'accepted' ? [200, 422, 'accepted', true] : [422, 204, 'revoked', false],
    );
  }
});
