import { describe, expect, it } from 'vitest';
import { allPermissions, assignablePermissions, builtInRoles } from '../../../src/core/permissions.ts';
import { platformRoutes } from '../../../src/platform/index.ts';
import { listCodes, pluck } from '../../setup/api.ts';
import { type Organization, useOrganization } from '../../setup/use-organization.ts';

const org = useOrganization({ each: true });

const make = (by: { api: Organization['owner']['api'] }, body: object) =>
  by.api('post', `${org.at}/roles`, { name: 'Clerk', permissions: [], ...body });
const change = (by: { api: Organization['owner']['api'] }, id: string, body: object) =>
  by.api('patch', `${org.at}/roles/${id}`, body);

describe('POST /organizations/{id}/roles', () => {
  it('201 with the permissions in the order of the permission list', async () => {
    const made = await make(org.owner, { name: ' Clerk ', permissions: ['team:read', 'member:read'] });
    expect([made.status, made.body]).toEqual([
      201,
      {
        id: expect.any(String),
        name: 'Clerk',
        description: '',
        permissions: ['member:read', 'team:read'],
        builtIn: false,
        memberCount: 0,
        createdAt: expect.any(String),
      },
    ]);
    expect((await org.api('get', `${org.at}/roles/${made.body.id}`)).body).toEqual(made.body);
  });

  it('422 for a permission that is unknown, repeated or not assignable, and for a name that is taken, ignoring case', async () => {
    for (const permissions of [
      ['team:fly'],
      ['organization:create'],
      ['team:read', 'team:read'],
      'team:read',
    ])
      expect((await make(org.owner, { permissions })).status).toBe(422);
    await make(org.owner, {});
    for (const name of ['clerk', 'CLERK', 'Owner'])
      expect([name, listCodes(await make(org.owner, { name }))]).toEqual([name, ['taken']]);
    const other = await org.another();
    expect(
      (await other.owner.api('post', `${other.at}/roles`, { name: 'Clerk', permissions: [] })).status,
    ).toBe(201);
  });

  it('403 for permissions that the caller does not have', async () => {
    const clerk = await org.join(['role:create', 'team:read']);
    expect((await make(clerk, { name: 'Own', permissions: ['role:create', 'team:read'] })).status).toBe(201);
    const refused = await make(clerk, { permissions: ['team:read', 'team:delete'] });
    expect([refused.status, refused.body.error.message, listCodes(refused)]).toEqual([
      403,
      'You cannot grant what you do not hold',
      ['escalation'],
    ]);
    const admin = await org.join('admin');
    expect((await make(admin, { permissions: ['organization:delete'] })).status).toBe(403);
    expect((await make(org.owner, { permissions: [...assignablePermissions] })).status).toBe(201);
  });
});

describe('PATCH /organizations/{id}/roles/{roleId}', () => {
  it('takes effect with the next request of its members', async () => {
    const member = await org.join(['team:read']);
    const roleId = await org.readRoleId(member.id);
    expect((await member.api('post', '/teams', { name: 'x' })).status).toBe(403);
    const changed = await change(org.owner, roleId, {
      name: 'Renamed',
      description: 'd',
      permissions: ['team:create'],
    });
    expect(changed.body).toMatchObject({
      name: 'Renamed',
      description: 'd',
      permissions: ['team:create'],
      memberCount: 1,
    });
    expect((await member.api('post', '/teams', { name: 'x' })).status).toBe(201);
    expect((await member.api('get', '/teams')).status).toBe(403);
    expect((await change(org.owner, roleId, { description: null })).body).toMatchObject({
      description: '',
      permissions: ['team:create'],
    });
  });

  it('403 when a caller adds permissions that they lack, also to their own role; existing ones may stay or be removed', async () => {
    const clerk = await org.join(['role:update', 'team:read']);
    const own = await org.readRoleId(clerk.id);
    expect(
      listCodes(await change(clerk, own, { permissions: ['role:update', 'team:read', 'team:delete'] })),
    ).toEqual(['escalation']);
    const strong = (await make(org.owner, { permissions: ['team:delete', 'sync:create'] })).body;
    expect(
      (await change(clerk, strong.id, { permissions: ['team:delete', 'sync:create', 'team:read'] })).status,
    ).toBe(200);
    expect((await change(clerk, strong.id, { permissions: ['team:delete', 'team:read'] })).status).toBe(200);
    expect(
      (await change(clerk, strong.id, { permissions: ['team:delete', 'team:read', 'sync:create'] })).status,
    ).toBe(403);
  });

  it('422 for a built-in role, for every caller', async () => {
    for (const name of Object.keys(builtInRoles)) {
      expect(listCodes(await change(org.owner, org.role(name), { permissions: [] }))).toEqual(['built_in']);
      expect(listCodes(await org.api('delete', `${org.at}/roles/${org.role(name)}`))).toEqual(['built_in']);
    }
  });
});

describe('DELETE /organizations/{id}/roles/{roleId}', () => {
  it('422 while members have it, and 204 afterwards', async () => {
    const member = await org.joinBare(['team:read']);
    const roleId = await org.readRoleId(member.id);
    const refused = await org.api('delete', `${org.at}/roles/${roleId}`);
    expect([refused.status, listCodes(refused), refused.body.error.details[0].message]).toEqual([
      422,
      ['in_use'],
      '1 member has this role',
    ]);
    await org.api('patch', `${org.at}/members/${member.id}`, { roleId: org.role('viewer') });
    expect((await org.api('delete', `${org.at}/roles/${roleId}`)).status).toBe(204);
    expect((await org.api('delete', `${org.at}/roles/${roleId}`)).status).toBe(404);
  });

  it('never leaves a member with a deleted role when both happen concurrently', async () => {
    const member = await org.joinBare('viewer');
    const { id } = (await make(org.owner, {})).body;
    const [given, deleted] = await Promise.all([
      org.api('patch', `${org.at}/members/${member.id}`, { roleId: id }),
      org.api('delete', `${org.at}/roles/${id}`),
    ]);
    expect([
      [200, 422],
      [422, 204],
    ]).toContainEqual([given.status, deleted.status]);
  });
});

it('GET /organizations/{id}/roles lists newest first, filtered by name', async () => {
  const { id } = (await make(org.owner, { name: 'Auditor' })).body;
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
  const entry = (name: string) => body.data.find((one: { name: string }) => one.name === name);
  expect(entry('organization:create')).toMatchObject({
    grantable: false,
    held: false,
    operations: ['createOrganization'],
  });
  expect(entry('team:update')).toEqual({
    name: 'team:update',
    description: 'update teams',
    grantable: true,
    held: false,
    operations: ['updateTeam', 'addTeamMember', 'removeTeamMember'],
  });
  expect(entry('role:read')).toMatchObject({ held: true });
  const readingRecords = platformRoutes.flatMap((route) =>
    route.access !== 'public' && (route.readsRecords === true || route.permission === 'record:read')
      ? [route.id]
      : [],
  );
  expect(entry('record:read')).toMatchObject({
    description: 'read records',
    grantable: true,
    held: true,
    operations: readingRecords,
  });
  expect(readingRecords).toEqual(expect.arrayContaining(['mintApiKeyTokens', 'listApiSchemaRecords']));
  expect(entry('unmasked:read')).toMatchObject({
    description: 'read masked fields as they are',
    grantable: true,
    held: false,
  });
  const named = new Set(body.data.flatMap((one: { operations: string[] }) => one.operations));
  const needing = platformRoutes.filter(
    (route) => route.access !== 'public' && route.permission.includes(':'),
  );
  expect(needing.filter(({ id }) => !named.has(id))).toEqual([]);
  expect((await viewer.api('get', `${org.at}/permissions?page=2`)).body.data).toHaveLength(25);
});
