import { describe, expect, it } from 'vitest';
import { allPermissions, assignablePermissions, builtInRoles } from '../../../src/core/permissions.ts';
import { platformRoutes } from '../../../src/platform/index.ts';
import { type Answer, pluck, refusal } from '../../setup/api.ts';
import { type Person, useOrganization } from '../../setup/use-organization.ts';

const org = useOrganization({ each: true });

const make = (body: object = {}, { api }: Pick<Person, 'api'> = org.owner) =>
  api('post', `${org.at}/roles`, { name: 'Clerk', permissions: [], ...body });
const change = (id: string, body: object, { api }: Pick<Person, 'api'> = org.owner) =>
  api('patch', `${org.at}/roles/${id}`, body);
const remove = (id: string) => org.api('delete', `${org.at}/roles/${id}`);

describe('POST /organizations/{id}/roles', () => {
  it('201 with the permissions in the order of the permission list', async () => {
    const made = await make({ name: ' Clerk ', permissions: ['team:read', 'member:read'] });
    expect([made.status, made.body]).toEqual([
      201,
      {
        ...{ id: expect.any(String), name: 'Clerk', description: '', createdAt: expect.any(String) },
        ...{ permissions: ['member:read', 'team:read'], builtIn: false, memberCount: 0 },
      },
    ]);
    expect((await org.api('get', `${org.at}/roles/${made.body.id}`)).body).toEqual(made.body);
  });

  it('422 for a permission that is unknown, repeated or not assignable, and for a name that is taken, ignoring case', async () => {
    const twice = ['team:read', 'team:read'];
    for (const permissions of [['team:fly'], ['organization:create'], twice, 'team:read'])
      expect((await make({ permissions })).status).toBe(422);
    await make();
    for (const name of ['clerk', 'CLERK', 'Owner'])
      expect([name, ...(await refusal(make({ name })))]).toEqual([name, 422, 'taken']);
    const other = await org.another();
    const same = await other.owner.api('post', `${other.at}/roles`, { name: 'Clerk', permissions: [] });
    expect(same.status).toBe(201);
  });

  it('403 for permissions that the caller does not have', async () => {
    const clerk = await org.join(['role:create', 'team:read']);
    const own = await make({ name: 'Own', permissions: ['role:create', 'team:read'] }, clerk);
    expect(own.status).toBe(201);
    const refused = await make({ permissions: ['team:read', 'team:delete'] }, clerk);
    expect(await refusal(refused)).toEqual([403, 'escalation']);
    expect(refused.body.error.message).toBe('You cannot grant what you do not hold');
    const admin = await org.join('admin');
    expect((await make({ permissions: ['organization:delete'] }, admin)).status).toBe(403);
    expect((await make({ permissions: [...assignablePermissions] })).status).toBe(201);
  });
});

describe('PATCH /organizations/{id}/roles/{roleId}', () => {
  it('takes effect with the next request of its members', async () => {
    const member = await org.join(['team:read']);
    const roleId = await org.readRoleId(member.id);
    expect((await member.api('post', '/teams', { name: 'x' })).status).toBe(403);
    const renamed = { name: 'Renamed', description: 'd', permissions: ['team:create'] };
    expect((await change(roleId, renamed)).body).toMatchObject({ ...renamed, memberCount: 1 });
    expect((await member.api('post', '/teams', { name: 'x' })).status).toBe(201);
    expect((await member.api('get', '/teams')).status).toBe(403);
    const undescribed = (await change(roleId, { description: null })).body;
    expect(undescribed).toMatchObject({ ...renamed, description: '' });
  });

  it('403 when a caller adds permissions that they lack, also to their own role; existing ones may stay or be removed', async () => {
    const clerk = await org.join(['role:update', 'team:read']);
    const own = await org.readRoleId(clerk.id);
    const setTo = (id: string, ...permissions: string[]) => change(id, { permissions }, clerk);
    const wider = setTo(own, 'role:update', 'team:read', 'team:delete');
    expect(await refusal(wider)).toEqual([403, 'escalation']);
    const { id } = (await make({ permissions: ['team:delete', 'sync:create'] })).body;
    expect((await setTo(id, 'team:delete', 'sync:create', 'team:read')).status).toBe(200);
    expect((await setTo(id, 'team:delete', 'team:read')).status).toBe(200);
    expect((await setTo(id, 'team:delete', 'team:read', 'sync:create')).status).toBe(403);
  });

  it('422 for a built-in role, for every caller', async () => {
    for (const role of Object.keys(builtInRoles).map(org.role))
      for (const refused of [change(role, { permissions: [] }), remove(role)])
        expect(await refusal(refused)).toEqual([422, 'built_in']);
  });
});

describe('DELETE /organizations/{id}/roles/{roleId}', () => {
  it('422 while members have it, and 204 afterwards', async () => {
    const member = await org.joinBare(['team:read']);
    const roleId = await org.readRoleId(member.id);
    const refused = await remove(roleId);
    expect(await refusal(refused)).toEqual([422, 'in_use']);
    expect(refused.body.error.details[0].message).toBe('1 member has this role');
    await org.api('patch', `${org.at}/members/${member.id}`, { roleId: org.role('viewer') });
    for (const status of [204, 404]) expect((await remove(roleId)).status).toBe(status);
  });

  it('never leaves a member with a deleted role when both happen concurrently', async () => {
    const member = await org.joinBare('viewer');
    const { id } = (await make()).body;
    const [given, deleted] = await Promise.all([
      org.api('patch', `${org.at}/members/${member.id}`, { roleId: id }),
      remove(id),
    ]);
    expect([
      [200, 422],
      [422, 204],
    ]).toContainEqual([given.status, deleted.status]);
  });
});

it('GET /organizations/{id}/roles lists newest first, filtered by name', async () => {
  const { id } = (await make({ name: 'Auditor' })).body;
  const list = async (query = '') => (await org.api('get', `${org.at}/roles${query}`)).body;
  expect((await list()).data[0].id).toBe(id);
  expect(pluck((await list('?q=AUDIT')).data, 'name')).toEqual(['Auditor']);
  const viewer = (await list('?q=viewer')).data[0];
  expect(viewer).toMatchObject({ builtIn: true, permissions: [...builtInRoles.viewer], memberCount: 0 });
});

it('GET /organizations/{id}/permissions describes every permission, whether a role can have it, and which operations need it', async () => {
  const viewer = await org.join('viewer');
  const { body } = await viewer.api('get', `${org.at}/permissions?pageSize=100`);
  expect(pluck(body.data, 'name')).toEqual(allPermissions);
  const entry = (name: string) => body.data.find((one: Answer['body']) => one.name === name);
  const expected = (grantable: boolean, held: boolean, operations?: string[]) =>
    expect.objectContaining({ grantable, held, ...(operations !== undefined && { operations }) });
  expect(entry('organization:create')).toEqual(expected(false, false, ['createOrganization']));
  expect(entry('team:update')).toEqual({
    ...{ name: 'team:update', description: 'update teams', grantable: true, held: false },
    operations: ['updateTeam', 'addTeamMember', 'removeTeamMember'],
  });
  expect(entry('role:read')).toMatchObject({ held: true });
  const readingRecords = platformRoutes.flatMap((route) =>
    route.access !== 'public' && (route.readsRecords === true || route.permission === 'record:read')
      ? [route.id]
      : [],
  );
  expect(entry('record:read')).toEqual(expected(true, true, readingRecords));
  expect(entry('record:read').description).toBe('read records');
  expect(readingRecords).toEqual(expect.arrayContaining(['mintApiKeyTokens', 'listApiSchemaRecords']));
  expect(entry('unmasked:read')).toEqual(expected(true, false));
  expect(entry('unmasked:read').description).toBe('read masked fields as they are');
  const named = new Set(pluck(body.data, 'operations').flat());
  const needing = platformRoutes.filter(
    (route) => route.access !== 'public' && route.permission.includes(':'),
  );
  expect(needing.filter(({ id }) => !named.has(id))).toEqual([]);
  expect((await viewer.api('get', `${org.at}/permissions?page=2`)).body.data).toHaveLength(25);
});
