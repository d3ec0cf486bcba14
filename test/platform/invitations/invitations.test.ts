// Invitations: who may grant which role, one open invitation per address, and a token that is only in the
// mail.
import { describe, expect, it } from 'vitest';
import { createId } from '../../../src/core/id.ts';
import { openKnex } from '../../../src/db/connect.ts';
import { createApi, listCodes, listIds, refusal } from '../../setup/api.ts';
import { makeMember, makeOrganization } from '../../setup/organization.ts';
import { until } from '../../setup/until.ts';
import { useStarted } from '../../setup/use-started.ts';
import { openInvitationSite } from './fixture.ts';

const site = useStarted(() => openInvitationSite());

const readAudit = (targetId: string) =>
  site.as(site.organization.id, (tx) =>
    tx('audit_log').where({ target_id: targetId }).orderBy('at').pluck('action'),
  );

describe('POST /organizations/{id}/invitations', () => {
  it('201, and a mail with the link, as text and as HTML for small and dark screens', async () => {
    const answer = await site.owner('post', site.invitations, {
      email: 'New.Person@Example.test',
      roleId: await site.roleId('editor'),
    });
    expect(answer.status).toBe(201);
    expect(answer.body).toEqual({
      id: expect.any(String),
      email: 'new.person@example.test',
      roleId: await site.roleId('editor'),
      role: { id: await site.roleId('editor'), name: 'editor' },
      status: 'pending',
      expiresAt: expect.any(String),
      createdAt: expect.any(String),
      invitedBy: { id: site.organization.ownerId, email: expect.any(String), name: expect.any(String) },
      delivery: { status: 'queued', error: null },
    });
    const days = (Date.parse(answer.body.expiresAt) - Date.now()) / 86_400_000;
    expect(days).toBeGreaterThan(6.99);
    expect(days).toBeLessThanOrEqual(7);
    const token = await site.getToken('new.person@example.test');
    const mail = site.mails.delivered.at(-1)?.mail;
    const link = `http://portal.example.test/invitations/accept#token=${token}`;
    expect(mail).toMatchObject({ subject: 'Invitation to Aster & Sons' });
    expect(mail?.text).toContain(link);
    expect(mail?.html).toContain(`href="${link}"`);
    expect(mail?.html).toContain('Aster &amp; Sons');
    expect(mail?.html).toMatch(/prefers-color-scheme:\s*dark/);
    await until(async () => {
      const shown = await site.owner('get', `${site.invitations}/${answer.body.id}`);
      return shown.body.delivery.status === 'sent' ? true : undefined;
    });
    expect(await readAudit(answer.body.id)).toEqual(['invitation.create']);
  });

  it('keeps the token only in the mail: in no table, log line or response', async () => {
    const made = await site.invite('secret@example.test');
    const token = await site.getToken('secret@example.test');
    const again = await site.owner(
      'post',
      `${site.invitations}/${made.id}/resend`,
      {},
      { 'idempotency-key': 'resend-secret' },
    );
    const second = await site.getToken('secret@example.test', 2);
    const person = await site.signIn('secret@example.test');
    const accepted = await createApi(site.app, null)(
      'post',
      '/invitations/accept',
      { token: second },
      { ...person.headers, 'idempotency-key': 'accept-secret' },
    );
    expect([again.status, accepted.status]).toEqual([200, 200]);
    const admin = openKnex(site.database.address, null, 1);
    try {
      const { rows } = await admin.raw(
        "select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'",
      );
      expect(rows.length).toBeGreaterThan(15);
      for (const { name } of rows) {
        const text = (await admin.raw(`select coalesce(string_agg(t::text, ' '), '') as text from ${name} t`))
          .rows[0].text;
        for (const hidden of [token, second, Buffer.from(token).toString('hex')])
          expect([name, text.includes(hidden)]).toEqual([name, false]);
      }
    } finally {
      await admin.destroy();
    }
    const listed = await site.owner('get', site.invitations);
    const shown = site.lines.join('') + JSON.stringify([made, again.body, accepted.body, listed.body]);
    expect(site.lines.length).toBeGreaterThan(3);
    for (const hidden of [token, second]) expect(shown).not.toContain(hidden);
  });

  it('renews the open invitation of an address with the new role; the old link stops working', async () => {
    const first = await site.invite('twice@example.test', 'viewer');
    const old = await site.getToken('twice@example.test');
    const answer = await site.owner('post', site.invitations, {
      email: 'TWICE@example.test',
      roleId: await site.roleId('editor'),
    });
    expect([answer.status, answer.body.id, answer.body.role.name]).toEqual([201, first.id, 'editor']);
    const fresh = await site.getToken('twice@example.test', 2);
    const person = await site.signIn('twice@example.test');
    expect((await site.accept(old, person.headers)).status).toBe(404);
    expect((await site.accept(fresh, person.headers)).body.role.name).toBe('editor');
    expect(await readAudit(first.id)).toEqual([
      'invitation.create',
      'invitation.resend',
      'invitation.accept',
    ]);
  });

  it('creates one invitation for concurrent requests', async () => {
    const roleId = await site.roleId('viewer');
    const answers = await Promise.all(
      Array.from({ length: 5 }, () =>
        site.owner('post', site.invitations, { email: 'race@example.test', roleId }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201]);
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect((await site.owner('get', `${site.invitations}?q=race@`)).body.pagination.total).toBe(1);
  });

  it('422 for a member, ignoring the case of the address', async () => {
    const member = await makeMember(site.ctx, site.organization.id, 'viewer');
    expect(
      await refusal(
        site.owner('post', site.invitations, {
          email: member.email.toUpperCase(),
          roleId: await site.roleId('viewer'),
        }),
      ),
    ).toEqual([422, 'already_member']);
  });

  it('422 for an unknown role and for a role of another organization', async () => {
    const other = await makeOrganization(site.ctx);
    for (const roleId of [createId(), await site.roleId('viewer', other.id)]) {
      expect(
        await refusal(site.owner('post', site.invitations, { email: 'x@example.test', roleId })),
      ).toEqual([422, 'unknown_role']);
    }
  });

  it('403 for a role with a permission that the caller does not have', async () => {
    const { api } = await site.memberApi([
      'invitation:create',
      'invitation:update',
      'invitation:read',
      'team:read',
    ]);
    const weaker = await site.makeRole(['team:read']);
    const stronger = await site.makeRole(['team:read', 'team:create']);
    expect((await api('post', site.invitations, { email: 'weak@example.test', roleId: weaker })).status).toBe(
      201,
    );
    const refused = await api('post', site.invitations, { email: 'strong@example.test', roleId: stronger });
    expect([refused.status, refused.body.error.message, listCodes(refused)]).toEqual([
      403,
      'You cannot grant what you do not hold',
      ['escalation'],
    ]);
    const admin = await site.memberApi('admin');
    expect(
      (
        await admin.api('post', site.invitations, {
          email: 'o@example.test',
          roleId: await site.roleId('owner'),
        })
      ).status,
    ).toBe(403);
    expect(
      (
        await admin.api('post', site.invitations, {
          email: 'o@example.test',
          roleId: await site.roleId('admin'),
        })
      ).status,
    ).toBe(201);
    // Nor by resending an invitation of someone with more permissions.
    const made = await site.invite('boss@example.test', 'owner');
    expect((await api('post', `${site.invitations}/${made.id}/resend`)).status).toBe(403);
    expect(
      (
        await api('post', site.invitations, {
          email: 'boss@example.test',
          roleId: await site.roleId('owner'),
        })
      ).status,
    ).toBe(403);
  });

  it('keeps a role from being deleted while an open invitation grants it', async () => {
    const roleId = await site.makeRole(['team:read']);
    await site.as(site.organization.id, (tx) => tx('memberships').where({ role_id: roleId }).delete());
    const made = (await site.owner('post', site.invitations, { email: 'kept@example.test', roleId })).body;
    const remove = () => site.as(site.organization.id, (tx) => tx('roles').where({ id: roleId }).delete());
    await expect(remove()).rejects.toThrow('open_invitation_uses_role');
    await site.owner('delete', `${site.invitations}/${made.id}`);
    expect(await remove()).toBe(1);
    expect((await site.owner('get', `${site.invitations}/${made.id}`)).body).toMatchObject({
      role: { id: roleId },
      status: 'revoked',
    });
  });
});

describe('GET /organizations/{id}/invitations', () => {
  it('finds by status and part of the address, newest first', async () => {
    const [a, b, c] = [
      await site.invite('find-a@example.test'),
      await site.invite('find-b@example.test'),
      await site.invite('find-c@example.test'),
    ];
    await site.owner('delete', `${site.invitations}/${b.id}`);
    await site.as(site.organization.id, (tx) =>
      tx('invitations')
        .where({ id: c.id })
        .update({ expires_at: new Date(Date.now() - 1_000) }),
    );
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
    await site.owner('post', `${site.invitations}/${id}/resend`);
    const shown = await until(async () => {
      const { delivery } = (await site.owner('get', `${site.invitations}/${id}`)).body;
      return delivery.status === 'failed' ? delivery : undefined;
    });
    expect(shown.error).toContain('no such person');
    expect(shown.error).not.toContain('token');
  });

  it('still names the sender after they left', async () => {
    const { id, api } = await site.memberApi('admin');
    const made = (
      await api('post', site.invitations, {
        email: 'orphan@example.test',
        roleId: await site.roleId('viewer'),
      })
    ).body;
    await site.as(site.organization.id, async (tx) => {
      await tx('api_keys').where({ created_by: id }).delete();
      await tx('memberships').where({ user_id: id }).delete();
    });
    expect((await site.owner('get', `${site.invitations}/${made.id}`)).body.invitedBy.id).toBe(id);
  });
});

describe('POST …/{invitationId}/resend and DELETE', () => {
  it('extend an expired invitation by seven days', async () => {
    const { id } = await site.invite('late@example.test');
    await site.getToken('late@example.test');
    await site.as(site.organization.id, (tx) =>
      tx('invitations')
        .where({ id })
        .update({ expires_at: new Date(Date.now() - 1_000) }),
    );
    expect(await site.owner('post', `${site.invitations}/${id}/resend`)).toMatchObject({
      status: 200,
      body: { status: 'pending', delivery: { status: 'queued' } },
    });
    const person = await site.signIn('late@example.test');
    expect((await site.accept(await site.getToken('late@example.test', 2), person.headers)).status).toBe(200);
    for (const [method, path, code] of [
      ['post', `${site.invitations}/${id}/resend`, 'accepted'],
      ['delete', `${site.invitations}/${id}`, 'accepted'],
    ] as const) {
      expect(await refusal(site.owner(method, path))).toEqual([422, code]);
    }
  });

  it('revoke permanently: the link stops working, the address can be invited again, revoking twice adds one audit entry', async () => {
    const { id } = await site.invite('gone@example.test');
    const token = await site.getToken('gone@example.test');
    expect((await site.owner('delete', `${site.invitations}/${id}`)).status).toBe(204);
    expect((await site.owner('delete', `${site.invitations}/${id}`)).status).toBe(204);
    expect(await readAudit(id)).toEqual(['invitation.create', 'invitation.revoke']);
    const person = await site.signIn('gone@example.test');
    expect(listCodes(await site.accept(token, person.headers))).toEqual(['revoked']);
    expect(listCodes(await site.owner('post', `${site.invitations}/${id}/resend`))).toEqual(['revoked']);
    expect((await site.invite('gone@example.test')).id).not.toBe(id);
  });

  it('429 after five mails to one address within an hour; other addresses are not affected', async () => {
    const { id } = await site.invite('pestered@example.test');
    for (let count = 2; count <= 5; count += 1) {
      await site.getToken('pestered@example.test', count - 1);
      expect((await site.owner('post', `${site.invitations}/${id}/resend`)).status).toBe(200);
    }
    await site.getToken('pestered@example.test', 5);
    expect(await site.owner('post', `${site.invitations}/${id}/resend`)).toMatchObject({
      status: 429,
      headers: { 'retry-after': '3600' },
    });
    await site.invite('unmolested@example.test');
    await site.as(site.organization.id, (tx) =>
      tx.raw("update outgoing_mails set created_at = created_at - interval '61 minutes'"),
    );
    expect((await site.owner('post', `${site.invitations}/${id}/resend`)).status).toBe(200);
  });

  it('withdraw a mail that was not sent yet', async () => {
    await site.sender.stop();
    const { id } = await site.invite('recalled@example.test');
    const mailIds = () =>
      site.as(site.organization.id, (tx) =>
        tx('outgoing_mails').where({ recipient: 'recalled@example.test' }).pluck('id'),
      );
    const before = await mailIds();
    await site.owner('post', `${site.invitations}/${id}/resend`);
    const after = await mailIds();
    expect([before.length, after.length, after.includes(before[0])]).toEqual([1, 1, false]);
    await site.owner('delete', `${site.invitations}/${id}`);
    expect(await mailIds()).toEqual([]);
    expect((await site.owner('get', `${site.invitations}/${id}`)).body.delivery).toBeNull();
  });
});

it('the field invited is true for an address while its invitation is open, ignoring case', async () => {
  const invited = async (email: string) =>
    (await site.ctx.db.control.raw('select invited(?) as yes', [email])).rows[0].yes;
  expect(await invited('asked@example.test')).toBe(false);
  const { id } = await site.invite('asked@example.test');
  expect(await invited('Asked@Example.test')).toBe(true);
  const set = (columns: object) =>
    site.as(site.organization.id, (tx) => tx('invitations').where({ id }).update(columns));
  await set({ expires_at: new Date(Date.now() - 1_000) });
  expect(await invited('asked@example.test')).toBe(false);
  await set({ expires_at: new Date(Date.now() + 60_000) });
  await site.owner('delete', `${site.invitations}/${id}`);
  expect(await invited('asked@example.test')).toBe(false);
});
