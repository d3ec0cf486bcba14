import type { Express } from 'express';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createApp } from '../../../src/app.ts';
import { allPermissions, assignablePermissions, builtInRoles } from '../../../src/core/permissions.ts';
import { platformRoutes } from '../../../src/platform/index.ts';
import { codesOf } from '../../setup/api.ts';
import { type TestDatabase, testDatabase } from '../../setup/database.ts';
import { type World, world } from '../members/world.ts';

let database: TestDatabase;
let app: Express;
let w: World;

beforeAll(async () => {
  database = await testDatabase();
  app = createApp(database.ctx);
});
beforeEach(async () => {
  w = await world(database.ctx, app);
});
afterAll(() => database.close());

const make = (by: { api: World['owner']['api'] }, body: object) =>
  by.api('post', `${w.at}/roles`, { name: 'Clerk', permissions: [], ...body });
const change = (by: { api: World['owner']['api'] }, id: string, body: object) =>
  by.api('patch', `${w.at}/roles/${id}`, body);

describe('POST /organizations/{id}/roles', () => {
  it('201 with the permissions in the order of the permission list', async () => {
    const made = await make(w.owner, { name: ' Clerk ', permissions: ['team:read', 'member:read'] });
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
    expect((await w.owner.api('get', `${w.at}/roles/${made.body.id}`)).body).toEqual(made.body);
  });

  it('422 for a permission that is unknown, repeated or not assignable, and for a name that is taken, ignoring case', async () => {
    for (const permissions of [
      ['team:fly'],
      ['organization:create'],
      ['team:read', 'team:read'],
      'team:read',
    ])
      expect((await make(w.owner, { permissions })).status).toBe(422);
    await make(w.owner, {});
    for (const name of ['clerk', 'CLERK', 'Owner'])
      expect([name, codesOf(await make(w.owner, { name }))]).toEqual([name, ['taken']]);
    const other = await world(database.ctx, app);
    expect(
      (await other.owner.api('post', `${other.at}/roles`, { name: 'Clerk', permissions: [] })).status,
    ).toBe(201);
  });

  it('403 for permissions that the caller does not have', async () => {
    const clerk = await w.join(['role:create', 'team:read']);
    expect((await make(clerk, { name: 'Own', permissions: ['role:create', 'team:read'] })).status).toBe(201);
    const refused = await make(clerk, { permissions: ['team:read', 'team:delete'] });
    expect([refused.status, refused.body.error.message, codesOf(refused)]).toEqual([
      403,
      'You cannot grant what you do not hold',
      ['escalation'],
    ]);
    const admin = await w.join('admin');
    expect((await make(admin, { permissions: ['organization:delete'] })).status).toBe(403);
    expect((await make(w.owner, { permissions: [...assignablePermissions] })).status).toBe(201);
  });
});

describe('PATCH /organizations/{id}/roles/{roleId}', () => {
  it('takes effect with the next request of its members', async () => {
    const member = await w.join(['team:read']);
    const roleId = await w.roleIdOf(member.id);
    expect((await member.api('post', '/teams', { name: 'x' })).status).toBe(403);
    const changed = await change(w.owner, roleId, {
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
    expect((await change(w.owner, roleId, { description: null })).body).toMatchObject({
      description: '',
      permissions: ['team:create'],
    });
  });

  it('403 when a caller adds permissions that they lack, also to their own role; existing ones may stay or be removed', async () => {
    const clerk = await w.join(['role:update', 'team:read']);
    const own = await w.roleIdOf(clerk.id);
    expect(
      codesOf(await change(clerk, own, { permissions: ['role:update', 'team:read', 'team:delete'] })),
    ).toEqual(['escalation']);
    const strong = (await make(w.owner, { permissions: ['team:delete', 'sync:create'] })).body;
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
      expect(codesOf(await change(w.owner, w.role(name), { permissions: [] }))).toEqual(['built_in']);
      expect(codesOf(await w.owner.api('delete', `${w.at}/roles/${w.role(name)}`))).toEqual(['built_in']);
    }
  });
});

describe('DELETE /organizations/{id}/roles/{roleId}', () => {
  it('422 while members have it, and 204 afterwards', async () => {
    const member = await w.joinBare(['team:read']);
    const roleId = await w.roleIdOf(member.id);
    const refused = await w.owner.api('delete', `${w.at}/roles/${roleId}`);
    expect([refused.status, codesOf(refused), refused.body.error.details[0].message]).toEqual([
      422,
      ['in_use'],
      '1 member has this role',
    ]);
    await w.owner.api('patch', `${w.at}/members/${member.id}`, { roleId: w.role('viewer') });
    expect((await w.owner.api('delete', `${w.at}/roles/${roleId}`)).status).toBe(204);
    expect((await w.owner.api('delete', `${w.at}/roles/${roleId}`)).status).toBe(404);
  });

  it('never leaves a member with a deleted role when both happen concurrently', async () => {
    const member = await w.joinBare('viewer');
    const { id } = (await make(w.owner, {})).body;
    const [given, deleted] = await Promise.all([
      w.owner.api('patch', `${w.at}/members/${member.id}`, { roleId: id }),
      w.owner.api('delete', `${w.at}/roles/${id}`),
    ]);
    expect([
      [200, 422],
      [422, 204],
    ]).toContainEqual([given.status, deleted.status]);
  });
});

describe('GET /organizations/{id}/roles', () => {
  it('lists newest first, filtered by name; another organization’s role is unknown', async () => {
    const { id } = (await make(w.owner, { name: 'Auditor' })).body;
    const list = async (query = '') => (await w.owner.api('get', `${w.at}/roles${query}`)).body;
    expect((await list()).data[0].id).toBe(id);
    expect((await list('?q=AUDIT')).data.map((role: { name: string }) => role.name)).toEqual(['Auditor']);
    const viewer = (await list('?q=viewer')).data[0];
    expect(viewer).toMatchObject({ builtIn: true, permissions: [...builtInRoles.viewer], memberCount: 0 });
    const other = await world(database.ctx, app);
    for (const answer of [
      await w.owner.api('get', `${w.at}/roles/${other.role('viewer')}`),
      await change(w.owner, other.role('viewer'), { name: 'x' }),
      await w.owner.api('delete', `${w.at}/roles/${other.role('viewer')}`),
    ])
      expect([answer.status, answer.body.error.message]).toEqual([404, 'Role not found']);
  });
});

describe('GET /organizations/{id}/permissions', () => {
  it('describes every permission, whether a role can have it, and which operations need it', async () => {
    const viewer = await w.join('viewer');
    const { body } = await viewer.api('get', `${w.at}/permissions?pageSize=100`);
    expect(body.data.map((entry: { name: string }) => entry.name)).toEqual(allPermissions);
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
    expect((await viewer.api('get', `${w.at}/permissions?page=2`)).body.data).toHaveLength(25);
  });
});
