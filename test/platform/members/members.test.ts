import { describe, expect, it } from 'vitest';
import { builtInRoles } from '../../../src/core/permissions.ts';
import { type Answer, pluck, refusal } from '../../setup/api.ts';
import { until } from '../../setup/until.ts';
import { type Person, useOrganization } from '../../setup/use-organization.ts';

const org = useOrganization({ each: true });

const give = (by: Pick<Person, 'api'>, userId: string, role: string) =>
  by.api('patch', `${org.at}/members/${userId}`, { roleId: org.role(role) });
const listUsers = ({ data }: Answer['body']) => pluck(pluck(data, 'user'), 'id');

describe('GET /organizations/{id}/members', () => {
  it('lists newest first, filtered by part of name or address and by role', async () => {
    const [a, b] = [await org.joinBare('viewer'), await org.joinBare('editor')];
    const list = async (query = '') => (await org.api('get', `${org.at}/members${query}`)).body;
    const all = await list();
    expect(listUsers(all)).toEqual([b.id, a.id, org.owner.id]);
    expect(all.data[0]).toEqual({
      user: { id: b.id, email: b.email, name: b.email },
      roleId: org.role('editor'),
      role: { id: org.role('editor'), name: 'editor' },
      joinedAt: expect.stringMatching(/^\d{4}-.*Z$/),
      lastActiveAt: null,
    });
    expect((await list(`?q=${a.email.toUpperCase()}`)).data).toHaveLength(1);
    expect(listUsers(await list(`?roleId=${org.role('viewer')}`))).toEqual([a.id]);
    expect((await list('?pageSize=1&page=3')).data[0].user.id).toBe(org.owner.id);
  });

  it('returns a member with the active keys that act for them', async () => {
    const member = await org.join('admin');
    const more = (await member.api('post', '/api-keys', { name: 'Second' })).body;
    const dead = (await member.api('post', '/api-keys', { name: 'Dead' })).body;
    await member.api('delete', `/api-keys/${dead.id}`);
    const shown = (await org.api('get', `${org.at}/members/${member.id}`)).body;
    expect(shown.apiKeys).toEqual([
      { id: more.id, name: 'Second', prefix: more.prefix },
      { id: member.keyId, name: 'test', prefix: member.secret.slice(0, 12) },
    ]);
  });
});

describe('PATCH /organizations/{id}/members/{userId}', () => {
  it('takes effect with the next request, also of their keys and sessions', async () => {
    const member = await org.join('admin');
    const session = await org.session(member.id);
    const makeTeam = async () => [
      (await member.api('post', '/teams', { name: `a ${Math.random()}` })).status,
      (await session('post', '/teams', { name: `b ${Math.random()}` })).status,
    ];
    expect(await makeTeam()).toEqual([201, 201]);
    const { status, body } = await give(org.owner, member.id, 'viewer');
    expect([status, body.role.name]).toEqual([200, 'viewer']);
    expect(await makeTeam()).toEqual([403, 403]);
    await give(org.owner, member.id, 'admin');
    expect(await makeTeam()).toEqual([201, 201]);
  });

  it('403 for a role with more permissions than the caller, also for their own membership', async () => {
    const clerk = await org.join(['member:update', 'member:read', 'team:read']);
    const other = await org.joinBare([]);
    for (const userId of [other.id, clerk.id])
      for (const role of ['viewer', 'admin'])
        expect([role, ...(await refusal(give(clerk, userId, role)))]).toEqual([role, 403, 'escalation']);
    const roleId = await org.readRoleId(clerk.id);
    expect((await clerk.api('patch', `${org.at}/members/${other.id}`, { roleId })).status).toBe(200);
  });

  it('403 when a non-owner makes, changes or removes an owner, regardless of permissions', async () => {
    const mighty = await org.join([...builtInRoles.owner]);
    const remove = mighty.api('delete', `${org.at}/members/${org.owner.id}?keys=revoke`);
    for (const refused of [give(mighty, mighty.id, 'owner'), give(mighty, org.owner.id, 'viewer'), remove])
      expect(await refusal(refused)).toEqual([403, 'owner_needed']);
    expect((await give(org.owner, mighty.id, 'owner')).status).toBe(200);
    expect((await give(mighty, org.owner.id, 'viewer')).status).toBe(200);
  });

  it('422 for the last owner, for an unknown role and for one of another organization', async () => {
    expect(await refusal(give(org.owner, org.owner.id, 'admin'))).toEqual([422, 'last_owner']);
    const other = await org.another();
    const member = await org.joinBare('viewer');
    for (const roleId of [other.role('viewer'), member.id])
      expect(await refusal(org.api('patch', `${org.at}/members/${member.id}`, { roleId }))).toEqual([
        ...[422, 'unknown'],
      ]);
    expect((await give(org.owner, other.owner.id, 'viewer')).status).toBe(404);
  });

  it('lets only one of two concurrent demotions of the last two owners succeed', async () => {
    const second = await org.join('owner');
    const answers = await Promise.all([
      give(org.owner, second.id, 'viewer'),
      give(second, org.owner.id, 'viewer'),
    ]);
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused).toHaveLength(1);
    // The second request came from a former owner, or would have removed the last one.
    expect([403, 422]).toContain(refused[0]?.status);
    const roles = [await org.readRoleId(org.owner.id), await org.readRoleId(second.id)];
    expect(roles.filter((id) => id === org.role('owner'))).toHaveLength(1);
  });

  it('lets only one of two owners step down concurrently, and only one leave', async () => {
    const second = await org.join('owner');
    const stepDown = await Promise.all(
      [org.owner, second].map((person) => give(person, person.id, 'viewer')),
    );
    expect(stepDown.map(({ status }) => status).sort()).toEqual([200, 422]);
    const third = await org.another();
    const fourth = await third.join('owner');
    const leave = await Promise.all(
      [third.owner.id, fourth.id].map(async (id) =>
        (await third.session(id))('delete', `/whoami/organizations/${third.id}?keys=revoke`),
      ),
    );
    expect(leave.map(({ status }) => status).sort()).toEqual([204, 422]);
  });

  it('is refused when the caller lost the permission while the request waited', async () => {
    const [admin, member] = [await org.join('admin'), await org.joinBare('viewer')];
    const change = await org.admin.transaction();
    await change('organizations').where({ id: org.id }).forNoKeyUpdate().select('id');
    const late = give(admin, member.id, 'editor');
    const waiting = 'select from pg_locks where not granted and transactionid = pg_current_xact_id()::xid';
    await until(async () => (await change.raw<{ rowCount: number }>(waiting)).rowCount > 0);
    await change('memberships')
      .where({ user_id: admin.id })
      .update({ role_id: org.role('viewer') });
    await change.commit();
    expect((await late).status).toBe(403);
    expect(await org.readRoleId(member.id)).toBe(org.role('viewer'));
  });
});
