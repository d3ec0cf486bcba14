// Invitations: who may grant which role, one open invitation per address, and a token that is only in the
// mail.
import { describe, expect, it } from 'vitest';
import { createId } from '../../../src/core/id.ts';
import { listIds, refusal } from '../../setup/api.ts';
import { makeMember, makeOrganization } from '../../setup/organization.ts';
import { until } from '../../setup/until.ts';
import { useStarted } from '../../setup/use-started.ts';
import { openInvitationSite } from './fixture.ts';

const site = useStarted(() => openInvitationSite());

/** What was done to an invitation: `create`, and so on. */
const readAudit = async (id: string): Promise<string[]> => {
  const actions = await site.auditLog().where({ target_id: id }).orderBy('at').pluck('action');
  return actions.map((action: string) => action.replace('invitation.', ''));
};
const past = () => ({ expires_at: new Date(Date.now() - 1_000) });

describe('POST /organizations/{id}/invitations', () => {
  it('201, and a mail with the link, as text and as HTML for small and dark screens', async () => {
    const roleId = await site.roleId('editor');
    const { status, body } = await site.tryInvite('New.Person@Example.test', roleId);
    expect(status).toBe(201);
    const text = expect.any(String);
    expect(body).toEqual({
      ...{ id: text, email: 'new.person@example.test', roleId, role: { id: roleId, name: 'editor' } },
      ...{ status: 'pending', expiresAt: text, createdAt: text, delivery: { status: 'queued', error: null } },
      invitedBy: { id: site.organization.ownerId, email: text, name: text },
    });
    const days = (Date.parse(body.expiresAt) - Date.now()) / 86_400_000;
    expect(days).toBeGreaterThan(6.99);
    expect(days).toBeLessThanOrEqual(7);
    const token = await site.getToken('new.person@example.test');
    const mail = site.mails.delivered.at(-1)?.mail;
    const link = `http://portal.example.test/invitations/accept#token=${token}`;
    expect(mail).toMatchObject({ subject: 'Invitation to Aster & Sons' });
    expect(mail?.text).toContain(link);
    for (const part of [`href="${link}"`, 'Aster &amp; Sons']) expect(mail?.html).toContain(part);
    expect(mail?.html).toMatch(/prefers-color-scheme:\s*dark/);
    await until(async () => (await site.read(body.id)).delivery.status === 'sent');
    expect(await readAudit(body.id)).toEqual(['create']);
  });

  it('keeps the token only in the mail: in no table, log line or response', async () => {
    const made = await site.invite('secret@example.test');
    const token = await site.getToken('secret@example.test');
    const own = { 'idempotency-key': 'resend-secret' };
    const again = await site.owner('post', `${site.invitations}/${made.id}/resend`, {}, own);
    const second = await site.getToken('secret@example.test', 2);
    const person = await site.signIn('secret@example.test');
    const headers = { ...person.headers, 'idempotency-key': 'accept-secret' };
    const accepted = await site.accept(second, headers);
    expect([again.status, accepted.status]).toEqual([200, 200]);
    const { rows } = await site.admin.raw(
      "select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'",
    );
    expect(rows.length).toBeGreaterThan(15);
    for (const { name } of rows) {
      const content = `select coalesce(string_agg(t::text, ' '), '') as text from ${name} t`;
      const { text } = (await site.admin.raw(content)).rows[0];
      for (const hidden of [token, second, Buffer.from(token).toString('hex')])
        expect([name, text.includes(hidden)]).toEqual([name, false]);
    }
    const listed = await site.owner('get', site.invitations);
    const shown = site.lines.join('') + JSON.stringify([made, again.body, accepted.body, listed.body]);
    expect(site.lines.length).toBeGreaterThan(3);
    for (const hidden of [token, second]) expect(shown).not.toContain(hidden);
  });

  it('renews the open invitation of an address with the new role; the old link stops working', async () => {
    const first = await site.invite('twice@example.test', 'viewer');
    const old = await site.getToken('twice@example.test');
    const answer = await site.tryInvite('TWICE@example.test', await site.roleId('editor'));
    expect([answer.status, answer.body.id, answer.body.role.name]).toEqual([201, first.id, 'editor']);
    const fresh = await site.getToken('twice@example.test', 2);
    const person = await site.signIn('twice@example.test');
    expect((await site.accept(old, person.headers)).status).toBe(404);
    expect((await site.accept(fresh, person.headers)).body.role.name).toBe('editor');
    expect(await readAudit(first.id)).toEqual(['create', 'resend', 'accept']);
  });

  it('creates one invitation for concurrent requests', async () => {
    const roleId = await site.roleId('viewer');
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => site.tryInvite('race@example.test', roleId)),
    );
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201]);
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect((await site.owner('get', `${site.invitations}?q=race@`)).body.pagination.total).toBe(1);
  });

  it('422 for a member, ignoring the case of the address', async () => {
    const member = await makeMember(site.ctx, site.organization.id, 'viewer');
    const again = site.tryInvite(member.email.toUpperCase(), await site.roleId('viewer'));
    expect(await refusal(again)).toEqual([422, 'already_member']);
  });

  it('422 for an unknown role and for a role of another organization', async () => {
    const other = await makeOrganization(site.ctx);
    for (const roleId of [createId(), await site.roleId('viewer', other.id)])
      expect(await refusal(site.tryInvite('x@example.test', roleId))).toEqual([422, 'unknown_role']);
  });

  it('403 for a role with a permission that the caller does not have', async () => {
    const rights = ['create', 'update', 'read'].map((right) => `invitation:${right}`);
    const { api } = await site.memberApi([...rights, 'team:read']);
    const weaker = await site.makeRole(['team:read']);
    const stronger = await site.makeRole(['team:read', 'team:create']);
    expect((await site.tryInvite('weak@example.test', weaker, api)).status).toBe(201);
    const refused = await site.tryInvite('strong@example.test', stronger, api);
    expect(await refusal(refused)).toEqual([403, 'escalation']);
    expect(refused.body.error.message).toBe('You cannot grant what you do not hold');
    const admin = await site.memberApi('admin');
    const [ownerRole, adminRole] = [await site.roleId('owner'), await site.roleId('admin')];
    expect((await site.tryInvite('o@example.test', ownerRole, admin.api)).status).toBe(403);
    expect((await site.tryInvite('o@example.test', adminRole, admin.api)).status).toBe(201);
    // Nor by resending an invitation of someone with more permissions.
    const made = await site.invite('boss@example.test', 'owner');
    expect((await site.resend(made.id, api)).status).toBe(403);
    expect((await site.tryInvite('boss@example.test', ownerRole, api)).status).toBe(403);
  });

  it('keeps a role from being deleted while an open invitation grants it', async () => {
    const roleId = await site.makeRole(['team:read']);
    await site.admin('memberships').where({ role_id: roleId }).delete();
    const { id } = (await site.tryInvite('kept@example.test', roleId)).body;
    const remove = () => site.admin('roles').where({ id: roleId }).delete();
    await expect(remove()).rejects.toThrow('open_invitation_uses_role');
    await site.revoke(id);
    expect(await remove()).toBe(1);
    expect(await site.read(id)).toMatchObject({ role: { id: roleId }, status: 'revoked' });
  });
});

describe('GET /organizations/{id}/invitations', () => {
  it('finds by status and part of the address, newest first', async () => {
    const [a, b, c] = [
      await site.invite('find-a@example.test'),
      await site.invite('find-b@example.test'),
      await site.invite('find-c@example.test'),
    ];
    await site.revoke(b.id);
    await site.change(c.id, past());
    const ids = async (query: string) => listIds(await site.owner('get', `${site.invitations}?${query}`));
    expect(await ids('q=FIND-')).toEqual([c.id, b.id, a.id]);
    expect(await ids('q=find-&status=pending')).toEqual([a.id]);
    expect(await ids('q=find-&status=revoked')).toEqual([b.id]);
    expect(await ids('q=find-&status=expired')).toEqual([c.id]);
    expect(await ids('q=find-&pageSize=1&page=2')).toEqual([b.id]);
  });

  it('reports the state of the mail, and redacts what a mail server quotes of it', async () => {
    const { id } = await site.invite('bounced@example.test');
    // The mail server refuses the next mail of any sender, so no other mail may be in transit.
    await site.sender.waitUntilIdle();
    site.mails.refuseNext.push({ code: 550, text: 'no such person http://portal.example.test/x#token=abc' });
    await site.resend(id);
    const shown = await until(async () => {
      const { delivery } = await site.read(id);
      return delivery.status === 'failed' && delivery;
    });
    expect(shown.error).toContain('no such person');
    expect(shown.error).not.toContain('token');
  });

  it('still names the sender after they left', async () => {
    const { id, api } = await site.memberApi('admin');
    const made = await site.invite('orphan@example.test', 'viewer', api);
    await site.admin('api_keys').where({ created_by: id }).delete();
    await site.admin('memberships').where({ user_id: id }).delete();
    expect((await site.read(made.id)).invitedBy.id).toBe(id);
  });
});

describe('POST …/{invitationId}/resend and DELETE', () => {
  it('extend an expired invitation by seven days', async () => {
    const { id } = await site.invite('late@example.test');
    await site.getToken('late@example.test');
    await site.change(id, past());
    expect(await site.resend(id)).toMatchObject({
      status: 200,
      body: { status: 'pending', delivery: { status: 'queued' } },
    });
    const person = await site.signIn('late@example.test');
    expect((await site.accept(await site.getToken('late@example.test', 2), person.headers)).status).toBe(200);
    for (const refused of [site.resend(id), site.revoke(id)])
      expect(await refusal(refused)).toEqual([422, 'accepted']);
  });

  it('revoke permanently: the link stops working, the address can be invited again, revoking twice adds one audit entry', async () => {
    const { id } = await site.invite('gone@example.test');
    const token = await site.getToken('gone@example.test');
    for (let time = 0; time < 2; time += 1) expect((await site.revoke(id)).status).toBe(204);
    expect(await readAudit(id)).toEqual(['create', 'revoke']);
    const person = await site.signIn('gone@example.test');
    expect(await refusal(site.accept(token, person.headers))).toEqual([422, 'revoked']);
    expect(await refusal(site.resend(id))).toEqual([422, 'revoked']);
    expect((await site.invite('gone@example.test')).id).not.toBe(id);
  });

  it('429 after five mails to one address within an hour; other addresses are not affected', async () => {
    const { id } = await site.invite('pestered@example.test');
    for (let count = 2; count <= 5; count += 1) {
      await site.getToken('pestered@example.test', count - 1);
      expect((await site.resend(id)).status).toBe(200);
    }
    await site.getToken('pestered@example.test', 5);
    expect(await site.resend(id)).toMatchObject({ status: 429, headers: { 'retry-after': '3600' } });
    await site.invite('unmolested@example.test');
    await site.admin.raw("update outgoing_mails set created_at = created_at - interval '61 minutes'");
    expect((await site.resend(id)).status).toBe(200);
  });

  it('withdraw a mail that was not sent yet', async () => {
    await site.sender.stop();
    const { id } = await site.invite('recalled@example.test');
    const mailIds = () =>
      site.admin('outgoing_mails').where({ recipient: 'recalled@example.test' }).pluck('id');
    const before = await mailIds();
    await site.resend(id);
    const after = await mailIds();
    expect([before.length, after.length, after.includes(before[0])]).toEqual([1, 1, false]);
    await site.revoke(id);
    expect(await mailIds()).toEqual([]);
    expect((await site.read(id)).delivery).toBeNull();
  });
});

it('the field invited is true for an address while its invitation is open, ignoring case', async () => {
  const invited = async (email: string) =>
    (await site.ctx.db.control.raw('select invited(?) as yes', [email])).rows[0].yes;
  expect(await invited('asked@example.test')).toBe(false);
  const { id } = await site.invite('asked@example.test');
  expect(await invited('Asked@Example.test')).toBe(true);
  await site.change(id, past());
  expect(await invited('asked@example.test')).toBe(false);
  await site.change(id, { expires_at: new Date(Date.now() + 60_000) });
  await site.revoke(id);
  expect(await invited('asked@example.test')).toBe(false);
});
